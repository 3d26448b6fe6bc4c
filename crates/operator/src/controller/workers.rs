//! How many reconciles may be at work: of one watch, and of all.

use std::sync::Arc;
use std::time::Duration;

use tokio::sync::{OwnedSemaphorePermit, Semaphore};

/// A reconcile that takes longer waits for something: memory, a slow webhook. Its worker goes to another.
const PATIENCE: Duration = Duration::from_secs(5);

/// How many reconciles of a watch may go on without a worker.
const MOST_WAITING: usize = 256;

/// The workers for the reconciles of one watch, as `maxConcurrentReconciles` says.
///
/// Each reconcile begins with a worker. One that has not ended after five seconds goes on without, so that resources
/// that hang do not block others.
#[derive(Clone, Debug)]
pub(super) struct Workers {
    limit: usize,
    own: Arc<Semaphore>,
    all: Option<Arc<Semaphore>>,
    /// One more, where a worker stays with its reconcile to the end: for what is being deleted.
    of_deletions: Option<Arc<Semaphore>>,
}

/// A free worker, for one reconcile.
#[derive(Debug)]
pub(super) struct Worker {
    own: OwnedSemaphorePermit,
    all: Option<Arc<Semaphore>>,
    is_kept: bool,
}

impl Workers {
    /// So many workers for a watch; each also takes one of `all`, the limit over all kinds.
    pub(super) fn new(limit: usize, all: Option<Arc<Semaphore>>) -> Self {
        let limit = limit.clamp(1, Semaphore::MAX_PERMITS);
        Self {
            limit,
            own: Arc::new(Semaphore::new(limit)),
            all,
            of_deletions: None,
        }
    }

    /// The same, where no reconcile goes on without a worker. Those that hang would keep all of them, so there is one besides
    /// for deletions, which is not counted among those of all kinds.
    pub(super) fn kept(self) -> Self {
        Self {
            of_deletions: Some(Arc::new(Semaphore::new(1))),
            ..self
        }
    }

    /// A worker, if one is free while `running` reconciles of the watch go on.
    pub(super) fn take(&self, running: usize) -> Option<Worker> {
        if self.are_exhausted(running) {
            return None;
        }
        let own = Arc::clone(&self.own).try_acquire_owned().ok()?;
        Some(Worker {
            own,
            all: self.all.clone(),
            is_kept: self.of_deletions.is_some(),
        })
    }

    /// The worker that is there for deletions alone, if there is one and it is free.
    pub(super) fn take_for_deletion(&self) -> Option<Worker> {
        let own = Arc::clone(self.of_deletions.as_ref()?);
        Some(Worker {
            own: own.try_acquire_owned().ok()?,
            all: None,
            is_kept: true,
        })
    }

    /// Whether so many reconciles go on that another one would not start with a free worker either.
    pub(super) fn are_exhausted(&self, running: usize) -> bool {
        running >= self.limit.saturating_add(MOST_WAITING)
    }

    /// Returns when a worker is free.
    pub(super) async fn available(&self) {
        // The semaphore is never closed; the permit is given back at once.
        let _ = self.own.acquire().await;
    }
}

impl Worker {
    /// Does `work`. Once that has taken too long, the worker is free again, and the work goes on.
    pub(super) async fn run<T>(self, work: impl Future<Output = T>) -> T {
        let all = match self.all {
            Some(all) => all.acquire_owned().await.ok(),
            None => None,
        };
        let permits = (self.own, all);
        if self.is_kept {
            let done = work.await;
            drop(permits);
            return done;
        }
        tokio::pin!(work);
        tokio::select! {
            biased;
            done = &mut work => return done,
            () = tokio::time::sleep(PATIENCE) => drop(permits),
        }
        work.await
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn what_hangs_gives_its_worker_away() {
        let all = Arc::new(Semaphore::new(1));
        let workers = Workers::new(1, Some(Arc::clone(&all)));
        let worker = workers.take(0).unwrap();
        assert!(workers.take(1).is_none());
        let hanging = tokio::spawn(worker.run(std::future::pending::<()>()));
        workers.available().await;
        let next = workers.take(1).unwrap();
        assert_eq!(next.run(async { 7 }).await, 7);
        assert!(!hanging.is_finished());
        hanging.abort();
    }

    #[tokio::test(start_paused = true)]
    async fn a_worker_that_is_kept_is_free_at_the_end() {
        let workers = Workers::new(1, None).kept();
        let working = tokio::spawn(workers.take(0).unwrap().run(tokio::time::sleep(PATIENCE * 10)));
        tokio::time::sleep(PATIENCE * 5).await;
        assert!(workers.take(1).is_none());
        working.await.unwrap();
        assert!(workers.take(0).is_some());
    }

    #[test]
    fn where_workers_are_kept_one_is_for_deletions() {
        assert!(Workers::new(4, None).take_for_deletion().is_none());
        let workers = Workers::new(1, Some(Arc::new(Semaphore::new(1)))).kept();
        let working = workers.take(0);
        let deleting = workers.take_for_deletion();
        assert!(working.is_some() && deleting.is_some());
        assert!(workers.take_for_deletion().is_none());
        drop(deleting);
        assert!(workers.take_for_deletion().is_some());
    }

    #[tokio::test(start_paused = true)]
    async fn watches_share_the_workers_of_all() {
        let all = Arc::new(Semaphore::new(1));
        let (one, other) = (
            Workers::new(4, Some(Arc::clone(&all))),
            Workers::new(4, Some(Arc::clone(&all))),
        );
        let working = tokio::spawn(
            one.take(0)
                .unwrap()
                .run(tokio::time::sleep(Duration::from_secs(2))),
        );
        tokio::task::yield_now().await;
        let begun = tokio::time::Instant::now();
        other.take(0).unwrap().run(async {}).await;
        assert_eq!(begun.elapsed(), Duration::from_secs(2));
        working.await.unwrap();
    }

    #[test]
    fn those_that_hang_are_bounded() {
        assert!(Workers::new(1, None).take(MOST_WAITING + 1).is_none());
    }
}

//! How many reconciles may be at work: of one watch, and of all.

use std::sync::Arc;
use std::time::Duration;

use tokio::sync::{OwnedSemaphorePermit, Semaphore};

/// A reconcile that takes longer waits for something: a hook, a slow webhook. It gives its place to another.
const PATIENCE: Duration = Duration::from_secs(5);

/// How many reconciles of a watch may go on without a place.
const MOST_WAITING: usize = 256;

/// The places for the reconciles of one watch.
///
/// At most as many as there are places work at a time. One that has not ended after five seconds keeps going without
/// its place, so that resources that hang hold up no others.
#[derive(Clone, Debug)]
pub(super) struct Slots {
    limit: usize,
    own: Arc<Semaphore>,
    all: Option<Arc<Semaphore>>,
}

/// A place of a watch.
#[derive(Debug)]
pub(super) struct Slot {
    own: OwnedSemaphorePermit,
    all: Option<Arc<Semaphore>>,
}

impl Slots {
    /// So many places of a watch, each of which takes one of `all` as well.
    pub(super) fn new(limit: usize, all: Option<Arc<Semaphore>>) -> Self {
        let limit = limit.clamp(1, Semaphore::MAX_PERMITS);
        Self {
            limit,
            own: Arc::new(Semaphore::new(limit)),
            all,
        }
    }

    /// A place, if one is free while `running` reconciles of the watch go on.
    pub(super) fn take(&self, running: usize) -> Option<Slot> {
        if self.are_full(running) {
            return None;
        }
        let own = Arc::clone(&self.own).try_acquire_owned().ok()?;
        Some(Slot {
            own,
            all: self.all.clone(),
        })
    }

    /// Whether so many reconciles go on that another one would not start in a free place either.
    pub(super) fn are_full(&self, running: usize) -> bool {
        running >= self.limit.saturating_add(MOST_WAITING)
    }

    /// Returns when a place is free.
    pub(super) async fn freed(&self) {
        // The semaphore is never closed; the permit is given back at once.
        let _ = self.own.acquire().await;
    }
}

impl Slot {
    /// Does `work` in this place, until it is done or has taken too long; then it goes on without.
    pub(super) async fn hold<T>(self, work: impl Future<Output = T>) -> T {
        let all = match self.all {
            Some(all) => all.acquire_owned().await.ok(),
            None => None,
        };
        let places = (self.own, all);
        tokio::pin!(work);
        tokio::select! {
            biased;
            done = &mut work => return done,
            () = tokio::time::sleep(PATIENCE) => drop(places),
        }
        work.await
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn what_hangs_gives_its_place_away() {
        let all = Arc::new(Semaphore::new(1));
        let slots = Slots::new(1, Some(Arc::clone(&all)));
        let slot = slots.take(0).unwrap();
        assert!(slots.take(1).is_none());
        let hanging = tokio::spawn(slot.hold(std::future::pending::<()>()));
        slots.freed().await;
        let next = slots.take(1).unwrap();
        assert_eq!(next.hold(async { 7 }).await, 7);
        assert!(!hanging.is_finished());
        hanging.abort();
    }

    #[tokio::test(start_paused = true)]
    async fn watches_share_the_places_of_all() {
        let all = Arc::new(Semaphore::new(1));
        let (one, other) = (
            Slots::new(4, Some(Arc::clone(&all))),
            Slots::new(4, Some(Arc::clone(&all))),
        );
        let working = tokio::spawn(
            one.take(0)
                .unwrap()
                .hold(tokio::time::sleep(Duration::from_secs(2))),
        );
        tokio::task::yield_now().await;
        let begun = tokio::time::Instant::now();
        other.take(0).unwrap().hold(async {}).await;
        assert_eq!(begun.elapsed(), Duration::from_secs(2));
        working.await.unwrap();
    }

    #[test]
    fn those_that_hang_are_bounded() {
        assert!(Slots::new(1, None).take(MOST_WAITING + 1).is_none());
    }
}

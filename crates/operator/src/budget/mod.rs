//! How much memory is taken at a time.
//!
//! The memory of the cgroup is read once ([`memory_limit`]) and divided ([`Shares`]). A reconcile that reads revisions or
//! renders takes its share first, and waits while others have it. Most need little; one for which that does not do takes
//! a large share, of which there is one, and where that does not do either, it fails with the figure.

mod cgroup;
mod runs;
mod shares;

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

pub use cgroup::memory_limit;
pub use runs::runs_at_a_time;
pub use shares::{Allowance, Shares};
use steersman_model::in_words;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

/// A permit stands for so many bytes.
const UNIT: usize = 1024;

/// How often a resource is there while it is reconciled.
const COPIES: usize = 4;

/// Who waits longer for a share says so.
const PATIENCE: Duration = Duration::from_secs(5);

/// What is kept at no cost: the plan of a usual release, while its requests are answered.
const SMALL: usize = 128 * 1024;

/// The memory of all reconciles.
#[derive(Debug)]
pub struct Budget {
    shares: Shares,
    free: Arc<Semaphore>,
    /// One permit, for the large share.
    large: Arc<Semaphore>,
    texts: Arc<Semaphore>,
    releases: Arc<Semaphore>,
}

impl Budget {
    /// A budget of which nothing is taken.
    pub fn new(shares: Shares) -> Self {
        let semaphore = |bytes: usize| {
            let permits = (bytes / UNIT).clamp(1, Semaphore::MAX_PERMITS);
            Arc::new(Semaphore::new(permits))
        };
        Self {
            shares,
            free: semaphore(shares.reconciles),
            large: Arc::new(Semaphore::new(1)),
            texts: semaphore(shares.resources),
            releases: semaphore(shares.releases),
        }
    }

    /// The division of the memory.
    pub fn shares(&self) -> &Shares {
        &self.shares
    }

    /// The share of a reconcile, of which nothing is taken yet. Its resource takes so many bytes: it is there as values, as
    /// those of its chart, and as text.
    pub fn share(self: &Arc<Self>, resource: usize) -> Share {
        let resource = resource.saturating_mul(COPIES);
        Share {
            budget: Arc::clone(self),
            resource,
            taken: Mutex::new(Taken {
                is_large: resource > self.shares.usual.all / 2,
                ..Taken::default()
            }),
        }
    }

    /// Room for a text of a custom resource, if there is any; it is free again when what is given is dropped.
    pub fn room_for_text(&self, bytes: usize) -> Option<OwnedSemaphorePermit> {
        room(&self.texts, bytes)
    }

    /// The same for what is remembered of a release.
    pub fn room_for_release(&self, bytes: usize) -> Option<OwnedSemaphorePermit> {
        room(&self.releases, bytes)
    }
}

impl Default for Budget {
    /// For commands, which do one thing at a time and have the machine's memory.
    fn default() -> Self {
        Self::new(Shares::of(None))
    }
}

/// The share of one reconcile, which ends with it.
#[derive(Debug)]
pub struct Share {
    budget: Arc<Budget>,
    /// What the resource takes.
    resource: usize,
    taken: Mutex<Taken>,
}

#[derive(Debug, Default)]
struct Taken {
    is_large: bool,
    permit: Option<OwnedSemaphorePermit>,
    /// Beside the permit of a large share.
    large: Option<OwnedSemaphorePermit>,
}

impl Share {
    /// Takes the share, unless it is taken, as soon as it is free. Gives what comes of it.
    pub async fn take(&self) -> Allowance {
        let (is_large, allowance) = {
            let mut taken = self.lock();
            let allowance = self.allowance_of(&taken);
            let permits = permits(allowance.all);
            if taken
                .permit
                .as_ref()
                .is_some_and(|permit| permit.num_permits() >= permits)
            {
                return allowance;
            }
            // Who has a part and waits for the rest would keep others from getting theirs.
            (taken.permit, taken.large) = (None, None);
            (taken.is_large, allowance)
        };
        let permits = async {
            // Neither is ever closed.
            let large = if is_large {
                Arc::clone(&self.budget.large).acquire_owned().await.ok()
            } else {
                None
            };
            let all = u32::try_from(permits(allowance.all)).unwrap_or(u32::MAX);
            let permit = Arc::clone(&self.budget.free).acquire_many_owned(all).await.ok();
            (permit, large)
        };
        let (permit, large) = said_if_slow(permits, in_words(allowance.all)).await;
        let mut taken = self.lock();
        (taken.permit, taken.large) = (permit, large);
        allowance
    }

    /// What comes of the share.
    pub fn allowance(&self) -> Allowance {
        self.allowance_of(&self.lock())
    }

    /// Gives back all but so many bytes, and those of the resource, before something is waited for.
    pub fn keep(&self, bytes: usize) {
        let bytes = bytes.saturating_add(self.resource);
        let mut taken = self.lock();
        taken.large = None;
        let Some(mut permit) = taken.permit.take().filter(|_| bytes > SMALL) else {
            return;
        };
        let kept = permits(bytes).min(permit.num_permits());
        taken.permit = permit.split(kept);
    }

    /// Makes it the large share from now on, which is to be taken anew. Gives whether it was not, and whether that is more.
    pub fn enlarge(&self) -> bool {
        let shares = &self.budget.shares;
        let mut taken = self.lock();
        (taken.permit, taken.large) = (None, None);
        !std::mem::replace(&mut taken.is_large, true) && shares.large != shares.usual
    }

    /// Whether no more than this can be had.
    pub fn is_large(&self) -> bool {
        self.lock().is_large
    }

    fn allowance_of(&self, taken: &Taken) -> Allowance {
        let shares = &self.budget.shares;
        if taken.is_large {
            shares.large
        } else {
            shares.usual
        }
    }

    fn lock(&self) -> MutexGuard<'_, Taken> {
        self.taken.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn room(free: &Arc<Semaphore>, bytes: usize) -> Option<OwnedSemaphorePermit> {
    let permits = u32::try_from(permits(bytes)).ok()?;
    Arc::clone(free).try_acquire_many_owned(permits).ok()
}

/// Waits for memory; says so in the log where that takes long, and when it is over.
async fn said_if_slow<T>(permits: impl Future<Output = T>, bytes: String) -> T {
    tokio::pin!(permits);
    if let Ok(permits) = tokio::time::timeout(PATIENCE, &mut permits).await {
        return permits;
    }
    tracing::info!(memory = bytes, "Waiting for memory, which other reconciles have");
    let permits = permits.await;
    tracing::info!(memory = bytes, "There is memory again");
    permits
}

fn permits(bytes: usize) -> usize {
    bytes.div_ceil(UNIT)
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use tokio::time::timeout;

    use super::*;

    fn budget() -> Arc<Budget> {
        Arc::new(Budget::new(Shares::of(Some(128 << 20))))
    }

    async fn waits(share: &Share) -> bool {
        timeout(Duration::from_secs(1), share.take()).await.is_err()
    }

    #[tokio::test(start_paused = true)]
    async fn who_comes_late_waits_for_those_who_have_it() {
        let budget = budget();
        let first: Vec<Share> = (0..12).map(|_| budget.share(1000)).collect();
        for share in &first {
            assert!(!waits(share).await);
            assert!(!waits(share).await, "it is taken once");
        }
        let late = budget.share(1000);
        assert!(waits(&late).await);
        first[3].keep(1000);
        assert!(!waits(&late).await);
        drop(late);
        assert!(!waits(&first[3]).await, "it is taken again");
    }

    #[tokio::test(start_paused = true)]
    async fn one_has_the_large_share_and_a_few_go_on_beside_it() {
        let budget = budget();
        let large = budget.share(0);
        assert!(large.enlarge() && !large.enlarge());
        assert_eq!(large.take().await, budget.shares().large);
        let usual = budget.share(0);
        assert_eq!(usual.take().await, budget.shares().usual);
        let other = budget.share(1 << 20);
        assert!(other.is_large());
        assert!(waits(&other).await);
        large.keep(5 << 20);
        assert!(waits(&other).await, "there is no room beside what is kept");
        drop(large);
        assert!(!waits(&other).await);
    }

    #[test]
    fn texts_are_kept_while_there_is_room() {
        let budget = budget();
        let all = budget.room_for_text(8 << 20).unwrap();
        assert!(budget.room_for_text(1).is_none());
        drop(all);
        assert!(budget.room_for_text(1).is_some());
        assert!(budget.room_for_text(9 << 20).is_none());
    }
}

//! Whose turn it is to run.

use std::num::NonZeroUsize;
use std::sync::Arc;

use tokio::sync::{OwnedSemaphorePermit, Semaphore};

/// Lets so many run at a time, in the order in which they come. Clones share the turns.
#[derive(Clone, Debug, Default)]
pub struct Turns(Option<Arc<Semaphore>>);

/// Somebody's turn, until it is dropped.
#[derive(Debug)]
pub struct Turn(
    #[expect(dead_code, reason = "it is given back when it is dropped")] Option<OwnedSemaphorePermit>,
);

impl Turns {
    /// So many at a time; as many as come where there is no limit.
    pub fn of(limit: Option<NonZeroUsize>) -> Self {
        let most = |limit: NonZeroUsize| limit.get().min(Semaphore::MAX_PERMITS);
        Self(limit.map(|limit| Arc::new(Semaphore::new(most(limit)))))
    }

    /// Waits for a turn.
    ///
    /// # Cancellation
    /// Safe to drop; others go ahead then.
    pub async fn next(&self) -> Turn {
        let Some(turns) = &self.0 else {
            return Turn(None);
        };
        // It is never closed.
        Turn(Arc::clone(turns).acquire_owned().await.ok())
    }
}

#[cfg(test)]
mod tests {
    use std::num::NonZeroUsize;

    use futures::FutureExt as _;

    use super::Turns;

    #[test]
    fn who_comes_later_waits_until_a_turn_is_over() {
        let turns = Turns::of(NonZeroUsize::new(2));
        let first = turns.next().now_or_never().expect("a turn");
        let _second = turns.clone().next().now_or_never().expect("a turn");
        assert!(turns.next().now_or_never().is_none());
        drop(first);
        assert!(turns.next().now_or_never().is_some());
    }

    #[test]
    fn without_a_limit_nobody_waits() {
        let turns = Turns::default();
        let all: Vec<_> = (0..1000).filter_map(|_| turns.next().now_or_never()).collect();
        assert_eq!(all.len(), 1000);
    }
}

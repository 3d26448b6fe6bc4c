//! For how long this process may write.

use std::sync::{Arc, Mutex, PoisonError};

use tokio::time::Instant;

/// For how long this process may act, as far as it knows. Clones share it.
///
/// A process that was stopped for a while learns late that somebody else acts; what it was about to write must not be
/// written then.
///
/// ```
/// use std::time::Duration;
/// use steersman_cluster::client::Tenure;
/// use tokio::time::Instant;
///
/// let tenure = Tenure::default();
/// assert!(!tenure.is_over());
/// tenure.clone().extend(Instant::now() + Duration::from_secs(10));
/// assert!(!tenure.is_over());
/// tenure.extend(Instant::now());
/// assert!(tenure.is_over());
/// ```
#[derive(Clone, Debug, Default)]
pub struct Tenure {
    end: Arc<Mutex<Option<Instant>>>,
}

impl Tenure {
    /// Whether the lease has run out since it was last renewed. Without a lease there is nothing to run out.
    pub fn is_over(&self) -> bool {
        let end = self.end.lock().unwrap_or_else(PoisonError::into_inner);
        end.is_some_and(|end| end <= Instant::now())
    }

    /// The lease is held until `end`.
    pub fn extend(&self, end: Instant) {
        *self.end.lock().unwrap_or_else(PoisonError::into_inner) = Some(end);
    }
}

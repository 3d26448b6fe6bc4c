//! When something is looked at again: the queue of a controller, pauses after failures, lists that come each hour.

mod period;
mod queue;
mod resync;
mod retry;

pub use period::period_of;
pub use queue::Queue;
pub use resync::{RESYNC_PERIOD, in_pages, resynced};
pub use retry::{backoff, jitter, spread};

//! Whose an object is: taking it over, leaving it to others, deleting what the release no longer has.

mod marked;
mod prune;
mod retain;
pub(super) mod takeover;

pub use prune::{Deletion, ObjectsOwned, PruneError};
pub(super) use prune::{may_delete, with_finalizers};
pub use retain::Handover;
pub use takeover::take_over_fields;

//! Whose an object is: taking it over, leaving it to others, deleting what nobody wants any longer.

mod prune;
mod retain;
mod sweep;
pub(super) mod takeover;

pub use prune::{Deletion, PruneError};
pub use retain::Handover;
pub use takeover::take_over_fields;

//! Everything that is written to the cluster on behalf of a chart.
//!
//! Objects are applied by the server under one field manager. An object that exists is written
//! only when it is ours by its marks ([`ownership`](steersman_cluster::Owner::ownership)), under its UID; one that does
//! not exist is created without force, so that nobody's values are overwritten. Nothing is deleted that does
//! not carry our mark, and only under its UID.

mod applier;
mod apply_error;
mod conflicts;
mod crds;
mod dropped;
mod dry_run;
mod heal;
mod hook_error;
mod hook_order;
mod hook_progress;
mod hook_run;
mod hooks;
mod leftover;
mod mend;
mod moment;
mod plan;
mod prune;
mod recreate;
mod retain;
mod sweep;
mod takeover;

pub use applier::{Applier, ApplyOptions};
pub use apply_error::ApplyError;
pub use crds::{CrdError, ESTABLISH_TIMEOUT, established};
pub use dry_run::Tried;
pub use hook_error::HookError;
pub use moment::Moment;
pub use prune::{Deletion, PruneError};
pub use retain::Handover;
pub use takeover::take_over_fields;

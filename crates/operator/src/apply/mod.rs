//! Everything that is written to the cluster on behalf of a chart.
//!
//! Objects are applied by the server under one field manager. An object that exists is written
//! only when it is ours by its marks ([`ownership`](steersman_cluster::Owner::ownership)), under its UID; one that does
//! not exist is created without force, so that nobody's values are overwritten. Nothing is deleted that does
//! not carry our mark, and only under its UID.

mod address;
mod applier;
mod conflicts;
mod crds;
mod dry_run;
mod error;
mod hook;
mod ownership;
mod repair;
mod request;

pub use applier::{Applier, ApplyOptions};
pub use crds::{CrdError, DryRunDefined, ESTABLISH_TIMEOUT, established};
pub use dry_run::{DryRunApplied, DryRunApply};
pub use error::ApplyError;
pub use hook::{
    HookEnd, HookEnds, HookError, HookRun, HookWait, HooksLeft, LeftOut, event_name, has_an_end,
    hooks_in_order, is_ours_to_run,
};
pub(crate) use hook::{end_of_job, last_words, message_of};
pub use ownership::{Deletion, Handover, ObjectsOwned, PruneError, take_over_fields};
pub use repair::claims::{ClaimNotes, ClaimPolicy, ClaimsError};
pub use repair::interrupted::SetState;
pub(crate) use request::{apply_new, delete, find};

//! Everything that is written to the cluster on behalf of a chart.
//!
//! Objects are applied by the server under one field manager. An object that exists is written
//! only when it is ours by its marks ([`Owner::judge`]), under its UID; one that does not exist
//! is created without force, so that nobody's values are overwritten. Nothing is deleted that does
//! not carry our mark, and only under its UID.

mod applier;
mod apply_error;
mod conflicts;
mod crds;
mod documents;
mod dropped;
mod dry_run;
mod fields;
mod heal;
mod hook_error;
mod hook_order;
mod hook_progress;
mod hook_run;
mod hooks;
mod leftover;
mod mark;
mod mend;
mod moment;
mod object;
mod plan;
mod prune;
mod recreate;
mod request;
mod retain;
mod schema_fault;
mod sweep;
mod takeover;

pub use applier::{Applied, Applier, ApplyOptions, Change, ChangeSet};
pub use apply_error::ApplyError;
pub use conflicts::ConflictPolicy;
pub use crds::{CrdError, CrdPolicy};
pub(crate) use crds::{ESTABLISH_TIMEOUT, established};
pub(crate) use documents::split;
pub use documents::{DocumentsError, objects_of_manifest, values_of_text};
pub use dry_run::Tried;
pub use fields::{FIELD_MANAGER, own_entry, owned_fields};
pub use hook_error::HookError;
pub use mark::{CHART_LABEL, OWNER_UID_LABEL, Owner, Ownership};
pub(crate) use mark::{disowning, is_named, owner_kind};
pub use moment::Moment;
pub use object::{ApiKind, DocumentError, ObjectId, RESOURCE_POLICY, RenderedObject, is_keep};
pub(crate) use plan::kinds_defined_by;
pub use prune::{Deletion, PruneError};
pub(crate) use request::one_line;
pub use request::{Cause, RequestError, chain};
pub use retain::Handover;
pub use schema_fault::{FaultKind, SchemaFault};
pub(crate) use takeover::take_over_fields;

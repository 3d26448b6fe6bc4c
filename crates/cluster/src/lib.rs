//! The way to a Kubernetes cluster: clients with an end to each request, what the server serves and allows, what it said,
//! and the marks by which objects of a release are known.
//!
//! Nothing here decides what a release needs, and nothing applies it.

pub mod client;
pub mod discovery;
pub mod lookup;
mod managed_fields;
mod mark;
pub mod permissions;
mod request;
mod schema_fault;
mod watch_error;

pub use managed_fields::{own_entry, owned_fields};
pub use mark::{CHART_LABEL, OWNER_UID_LABEL, Owner, Ownership, disowning, is_named, owner_kind};
pub use request::{Cause, RequestError, is_forbidden};
pub use schema_fault::{FaultKind, SchemaFault};
pub use watch_error::watch_error;

/// The target of spans that are for traces alone.
pub const TRACE: &str = "trace";

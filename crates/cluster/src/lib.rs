//! The way to a Kubernetes cluster: clients with an end to each request, what the server serves and allows, what it said,
//! and the marks by which objects of a release are known.
//!
//! Nothing here decides what a release needs, and nothing applies it.
//!
//! ```
//! use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
//! use serde_json::json;
//! use steersman_cluster::{Owner, Ownership};
//!
//! let owner = Owner {
//!     api_version: "example.com/v1".to_owned(),
//!     kind: "Web".to_owned(),
//!     namespace: Some("default".to_owned()),
//!     name: "shop".to_owned(),
//!     uid: "0b53".to_owned(),
//!     chart: "web".to_owned(),
//!     release: "shop".to_owned(),
//!     release_namespace: "default".to_owned(),
//! };
//! let service = json!({"apiVersion": "v1", "kind": "Service", "metadata": {"name": "shop"}});
//! let marked = owner.mark(&service, Some("default"), false);
//! let metadata: ObjectMeta = serde_json::from_value(marked["metadata"].clone())?;
//! assert_eq!(owner.ownership(&metadata), Ownership::Ours);
//!
//! let stranger: ObjectMeta = serde_json::from_value(service["metadata"].clone())?;
//! assert!(matches!(owner.ownership(&stranger), Ownership::Foreign(_)));
//! # Ok::<(), serde_json::Error>(())
//! ```

pub mod client;
pub mod discovery;
pub mod lookup;
mod managed_fields;
mod mark;
pub mod permissions;
mod primary;
mod proof;
mod request;
mod schema_fault;
mod too_large;
mod watch_error;

pub use managed_fields::{fields_of_all, own_entry, owned_fields, status_written_at};
pub use mark::{CHART_LABEL, HOOK_RUN, Owner, Ownership, orphan_patch, owner_kind, without_marks};
pub use primary::{PRIMARY_RESOURCE, PRIMARY_RESOURCE_TYPE, PrimaryResource, is_named};
pub use proof::{OWNER_UID_LABEL, is_kept, marked_uid, owner_uid};
pub use request::{Cause, RequestError, is_forbidden};
pub use schema_fault::{FaultKind, SchemaFault};
pub use too_large::is_too_large;
pub use watch_error::{watch_error, watch_refusal};

/// The target of spans that are for traces alone.
pub const TRACE: &str = "trace";

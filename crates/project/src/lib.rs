//! Operator projects: what a chart becomes before it meets a cluster.
//!
//! A project is a folder with charts, `watches.yaml`, and the manifests that bring its operator into a cluster. Nothing
//! here asks a cluster or the network.

pub mod bundle;
pub mod check;
mod custom_kind;
pub mod definition;
pub mod layout;
mod operator_image;
pub mod rbac;
pub mod yaml;

pub use custom_kind::{CustomKind, Scope};
pub use operator_image::{OperatorImageError, set_operator_image};

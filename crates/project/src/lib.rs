//! Operator projects: what charts, roles and playbooks become before they meet a cluster.
//!
//! A project is a folder with charts or roles, `watches.yaml`, and the manifests that bring its operator into a cluster. Nothing
//! here asks a cluster or the network.
//!
//! ```
//! use std::collections::BTreeMap;
//! use steersman_chart::Chart;
//! use steersman_project::{CustomKind, definition::{Definition, Options}, layout};
//!
//! let files: BTreeMap<String, Vec<u8>> = layout::starter_chart("Web");
//! let chart = Chart::from_files(files.iter().map(|(path, text)| (path.as_str(), text.as_slice())))?;
//! let kind = CustomKind::new("apps.example.com", "v1alpha1", "Web");
//! let definition = Definition::of(&kind, &chart, &Options::default())?;
//! assert_eq!(definition.value()["metadata"]["name"], "webs.apps.example.com");
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod added_status;
pub mod bundle;
pub mod check;
mod custom_kind;
pub mod definition;
pub mod layout;
mod operator_image;
mod procedure;
pub mod rbac;
mod role;
pub mod tasks;
pub mod yaml;

pub use added_status::{AddedColumn, AddedField, AddedStatus, ScalePaths};
pub use custom_kind::{CustomKind, Scope};
pub use operator_image::{OperatorImageError, set_operator_image};
pub use procedure::{Parameter, Procedure};
pub use role::{Role, RoleError, roles_of_playbook};

//! Helm charts: loading them, their values, and what they render.
//!
//! ```text
//! directory or .tgz --Chart::load--> Chart            files, metadata and parsed templates, immutable
//! Chart + values --dependencies--> enabled subcharts   conditions, tags, aliases, import-values
//!                --coalesce--> .Values                 defaults of all charts under the user's values
//!                --schema--> checked values
//!                --templates--> text of each file
//!                --manifest--> Rendered                manifests in install order, hooks, notes
//! ```
//!
//! Behaviour is that of Helm 4.3.1. The crate opens the files of the chart that it is told to
//! load and nothing else; clock, random numbers and cluster come in through a [`World`].

mod capabilities;
mod chart;
mod error;
pub mod manifest;
mod metadata;
mod release;
pub mod values;

pub use capabilities::{ApiVersions, Capabilities, HelmVersion, KubeVersion};
pub use chart::{Chart, CrdFile, Digest, Limits, RenderInput};
pub use error::{LoadError, RenderError, RenderErrorKind, ValuesError};
pub use manifest::{Hook, HookEvent, Manifest, Rendered};
pub use metadata::{Dependency, Maintainer, Metadata};
pub use release::{Operation, ReleaseInfo};
pub use steersman_gotemplate::{Failure, LookupQuery, Timestamp, Value, World};
pub use values::Values;

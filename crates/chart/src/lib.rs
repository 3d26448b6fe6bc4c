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
//!
//! ```
//! use steersman_chart::{Capabilities, Chart, Limits, Operation, ReleaseInfo, RenderInput, values};
//! # use steersman_chart::{Failure, LookupQuery, Timestamp, Value, World};
//! # struct Nowhere;
//! # impl World for Nowhere {
//! #     fn now(&self) -> Timestamp { Timestamp::default() }
//! #     fn fill_random(&self, buffer: &mut [u8]) { buffer.fill(0) }
//! #     fn lookup(&self, _: LookupQuery<'_>) -> Result<Value, Failure> { Ok(Value::Nil) }
//! # }
//!
//! let chart = Chart::from_files([
//!     ("Chart.yaml", b"{apiVersion: v2, name: web, version: 1.0.0}".as_slice()),
//!     ("values.yaml", b"port: 80"),
//!     (
//!         "templates/service.yaml",
//!         b"apiVersion: v1\nkind: Service\nmetadata: {name: {{ .Release.Name }}}\n\
//!           spec: {ports: [{port: {{ .Values.port }}}]}",
//!     ),
//! ])?;
//! let rendered = chart.render(&RenderInput {
//!     release: &ReleaseInfo {
//!         name: "museum".to_owned(),
//!         namespace: "default".to_owned(),
//!         revision: 1,
//!         operation: Operation::Install,
//!     },
//!     values: &values::read(b"port: 8080")?,
//!     capabilities: &Capabilities::default(),
//!     world: &Nowhere,
//!     limits: Limits::default(),
//!     expired: None,
//!     skip_schema_validation: false,
//!     subchart_notes: false,
//! })?;
//! let service = &rendered.manifests[0];
//! assert_eq!((service.kind.as_str(), service.name.as_str()), ("Service", "museum"));
//! assert_eq!(service.object()["spec"]["ports"][0]["port"], 8080);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod capabilities;
mod chart;
mod context;
mod dependencies;
mod engine;
mod error;
mod execution_error;
mod functions;
mod input;
pub mod json_path;
pub mod lint;
mod load;
pub mod manifest;
mod metadata;
mod notice;
mod outline;
mod package;
mod release;
mod render;
mod schema;
pub mod show;
mod source;
pub mod survey;
pub mod template;
pub mod values;
mod version;

pub use capabilities::{ApiVersions, Capabilities, HelmVersion, KubeVersion};
pub use chart::{Chart, Digest};
pub use error::{LoadError, RenderError, RenderErrorKind, ValuesError};
pub use functions::table as functions;
pub use input::RenderInput;
pub use load::{files_of_archive, files_of_chart};
pub use manifest::{CrdFile, Hook, HookEvent, Manifest, Rendered, Revised, SkippedHook};
pub use metadata::{Dependency, Lock, Maintainer, Metadata};
pub use notice::{Notice, NoticeLevel};
pub use outline::Outline;
pub use release::{Operation, ReleaseInfo, check_name as check_release_name};
pub use render::Salvage;
pub use steersman_gotemplate::{Complaint, Failure, Limits, LookupQuery, Timestamp, Value, World};
pub use steersman_sprig::is_expression;
pub use values::Values;

#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;

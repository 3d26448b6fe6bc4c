//! watches.yaml: which custom resources are released from which chart, or made by which role or playbook.
//!
//! The file is the one of operator-sdk's helm-operator and of ansible-operator: the same fields, read as YAML 1.1, keys in any
//! case. Entries of both may stand in one file.
//! Unlike there, everything in it is checked before the operator starts, and every problem is reported at once
//! with its line. Nothing behind this module checks again.
//!
//! ```
//! use steersman_model::Environment;
//! use steersman_watches::Watches;
//!
//! let folder = tempfile::tempdir()?;
//! let chart = folder.path().join("web");
//! std::fs::create_dir(&chart)?;
//! std::fs::write(chart.join("Chart.yaml"), "{apiVersion: v2, name: web, version: 1.0.0}")?;
//! let file = folder.path().join("watches.yaml");
//! let entry = format!(
//!     "- {{group: example.com, version: v1, kind: Web, chart: {}, overrideValues: {{image.tag: $TAG}}}}",
//!     chart.display()
//! );
//! std::fs::write(&file, &entry)?;
//!
//! let environment: Environment = [("TAG".to_owned(), "v7".to_owned())].into_iter().collect();
//! let watches = Watches::load(&file, &environment)?;
//! let watch = watches.iter().next().expect("there is one entry");
//! assert_eq!((watch.gvk.kind.as_str(), watch.chart.version()), ("Web", "1.0.0"));
//! assert_eq!(watch.values.override_values["image.tag"], "v7");
//!
//! std::fs::write(&file, entry.replace("version: v1", "version: V1"))?;
//! let error = Watches::load(&file, &environment).unwrap_err().to_string();
//! assert!(error.contains("watches.yaml:1:") && error.contains("[0].version"), "{error}");
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod ansible;
mod ansible_paths;
mod confinement;
pub mod controls;
mod dependency;
pub mod drift;
mod error;
mod health;
mod load;
mod name_template;
mod names;
pub mod order;
mod policy;
pub mod post_render;
pub mod procedure;
mod release_view;
mod selectors;
mod status_fields;
mod text_template;
pub mod values;
mod values_from;
mod watch;
pub mod world;

pub use ansible::{AnsibleContent, AnsibleFinalizer, AnsibleSources, AnsibleWatch};
pub use ansible_paths::AnsiblePaths;
pub use confinement::{AllowedNamespace, Confinement, KindPattern, LookupScope, OutOfBounds};
pub use dependency::{Dependency, Reference};
pub use error::{Notice, Problem, WatchesError};
pub use health::{CheckVerdict, HealthCheck};
pub use load::read_value_sources;
pub use name_template::{NameError, NameTemplate};
pub use names::is_service_account;
pub use policy::{ConflictPolicy, CrdPolicy, TestPolicy};
pub use release_view::{
    MAX_LOOKED_AT, ReadsOfKinds, ReleaseExpression, ReleaseExpressionError, ReleaseFacts, ReleaseView,
};
pub use selectors::Selectors;
pub use status_fields::{FieldError, RESERVED_STATUS, Scale, StatusColumn, StatusField, StatusFields};
pub use text_template::{Subject, TextError, TextTemplate};
pub use values_from::{NamedSource, SourceError, SourceKind, ValueSource, ValuesFrom};
pub use watch::{HelmOperatorCompat, Watch, Watches};

/// The JSON schema (draft 2020-12) of the file, for editors.
///
/// ```
/// assert!(steersman_watches::SCHEMA.contains("\"maxConcurrentReconciles\""));
/// ```
pub const SCHEMA: &str = include_str!("watches.schema.json");

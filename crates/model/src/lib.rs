//! The objects of releases, without a cluster: identities, documents, digests, revisions, changes.
//!
//! ```text
//! text of several documents --objects_of_manifest--> RenderedObject --ObjectId--> what a release owns
//! inputs of a rendering     --digest_of_json-------> Digest         --Inputs----> whether an upgrade is due
//! ```
//!
//! Nothing here knows a cluster, a file or a clock. The environment is handed in as [`Environment`].
//!
//! ```
//! use steersman_model::{Inputs, Digest, digest_of_json, objects_of_manifest};
//!
//! let manifest = "---\n# Source: web/templates/service.yaml\n\
//!     {apiVersion: v1, kind: Service, metadata: {name: shop}}\n\
//!     ---\n# Source: web/templates/deployment.yaml\n\
//!     {apiVersion: apps/v1, kind: Deployment, metadata: {name: shop}}\n";
//! let objects = objects_of_manifest(manifest)?;
//! let names: Vec<String> = objects.iter().map(|object| format!("{} {}", object.api, object.name)).collect();
//! assert_eq!(names, ["v1, Kind=Service shop", "apps/v1, Kind=Deployment shop"]);
//! assert_eq!(objects[1].source, "web/templates/deployment.yaml");
//!
//! let inputs = Inputs {
//!     chart: Digest::of(b"the files of web 1.0.0"),
//!     values: digest_of_json(&serde_json::json!({"replicas": 2})),
//!     identity: Digest::of(b"shop"),
//!     post_render: None,
//! };
//! let scaled = Inputs { values: digest_of_json(&serde_json::json!({"replicas": 3})), ..inputs };
//! assert_ne!(scaled, inputs, "an upgrade is due");
//! # Ok::<(), steersman_model::DocumentsError>(())
//! ```

mod change;
mod definition;
mod digest;
mod documents;
mod duration;
mod environment;
mod error;
mod harmless;
mod object;
mod release_name;
mod revision;
mod suggest;
pub mod version;
mod weight;

pub use change::{Applied, Change, ChangeSet, ClaimChange, OwnedFields};
pub use definition::{is_definition, kinds_defined_by};
pub use digest::{Digest, Inputs, digest_of_json};
pub use documents::{
    DocumentsError, check_weight, objects_of_manifest, objects_of_text, objects_of_text_or_called,
    objects_within, split,
};
pub use duration::{DurationError, parse_duration};
pub use environment::Environment;
pub use error::{CUT, CUT_OFF, chain, old_certificate, one_line};
pub use harmless::harmless;
pub use object::{
    ApiKind, DocumentError, FIELD_MANAGER, ObjectId, RESOURCE_POLICY, RenderedObject, is_keep,
    is_part_of_a_path,
};
pub use release_name::{InvalidReleaseName, ReleaseName};
pub use revision::{ReleaseStatus, Revision};
pub use suggest::suggest;
pub use weight::{Weight, in_words, weight_of};

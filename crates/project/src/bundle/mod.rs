//! Bundles of the Operator Lifecycle Manager (OLM): what `operator-sdk generate bundle` writes.
//!
//! A bundle is a folder: `manifests/` with a `ClusterServiceVersion` and what the operator needs beside it, `metadata/`
//! with the package and its channels, and `tests/scorecard/`. [`generate()`] makes one from the objects that would be
//! applied to a cluster, however those were built. Nothing here reads a file, a clock or the network.
//!
//! The format is defined by
//! [operator-registry](https://github.com/operator-framework/operator-registry/blob/master/docs/design/operator-bundle.md),
//! the `ClusterServiceVersion` by `github.com/operator-framework/api`.
//!
//! ```
//! use serde_json::json;
//! use steersman_project::bundle::{Manifests, Request, generate};
//!
//! let container = json!({"name": "manager", "image": "registry.example.com/web-operator:v0.1.0"});
//! let deployment = json!({
//!     "apiVersion": "apps/v1",
//!     "kind": "Deployment",
//!     "metadata": {"name": "web-operator", "namespace": "web-system"},
//!     "spec": {
//!         "selector": {"matchLabels": {"app": "web-operator"}},
//!         "template": {"metadata": {"labels": {"app": "web-operator"}}, "spec": {"containers": [container]}},
//!     },
//! });
//! let request = Request {
//!     package: "web-operator".to_owned(),
//!     version: Some("0.1.0".to_owned()),
//!     ..Request::default()
//! };
//! let bundle = generate(Manifests::collect([deployment])?, &request)?;
//! assert_eq!(bundle.service_version["metadata"]["name"], "web-operator.v0.1.0");
//! assert!(bundle.files().contains_key("manifests/web-operator.clusterserviceversion.yaml"));
//! # Ok::<(), steersman_project::bundle::BundleError>(())
//! ```

mod base;
pub mod catalog;
mod error;
mod generate;
mod images;
mod install_modes;
mod manifests;
mod metadata;
mod owned;
mod permissions;
mod upgrade;
pub mod validate;
mod value;

pub use base::{CapabilityLevel, ChartFacts, base};
pub use error::BundleError;
pub use generate::{Bundle, Request, generate};
pub use images::{image_names, pin_images};
pub use manifests::Manifests;
pub use metadata::{MetadataRequest, annotations, dockerfile, image_labels, is_in_image};
pub use owned::{MAX_DESCRIPTORS, ResourceReference};
pub use upgrade::{Replaces, check_version};

/// What the file of a package's `ClusterServiceVersion` is called.
pub fn service_version_file(package: &str) -> String {
    format!("{}.clusterserviceversion.yaml", package.to_lowercase())
}

/// Whether a package can be called so: a label of DNS, as catalogs want it, and as files are called after it.
pub fn is_package_name(name: &str) -> bool {
    let is_fine = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-';
    let is_whole = !name.is_empty() && name.len() <= 63 && name.bytes().all(is_fine);
    is_whole && !name.starts_with('-') && !name.ends_with('-')
}

/// An object in the YAML that Go programs of Kubernetes write: keys sorted, lists not indented.
pub fn to_yaml(object: &serde_json::Value) -> String {
    steersman_yaml::to_string(object)
}

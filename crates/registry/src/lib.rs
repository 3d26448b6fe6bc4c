//! Charts and images that are elsewhere: repositories, registries, URLs.
//!
//! ```text
//! settings.rs    files and folders that Helm keeps: repositories.yaml, indexes, credentials    read only, but for indexes
//! client.rs      GET, bounded in size and time, with credentials only for whom they are meant
//! index.rs       index.yaml of a repository: which versions of which charts
//! oci/           OCI: tokens, tags, manifests, blobs; what brings an image there
//! locate.rs      from what a user calls a chart to the chart
//! advice.rs      what is there instead of a chart that was not found
//! dependency/    what fills charts/: Chart.lock, resolution, downloads
//! ```
//!
//! The network is asked here and nowhere else on behalf of a chart, and only by commands whose user names what is
//! fetched; rendering never comes here. The rules and texts are those of Helm's `pkg/downloader`, `pkg/repo` and
//! `pkg/registry`.

mod address;
mod advice;
mod client;
pub mod dependency;
mod index;
mod locate;
mod oci;
mod settings;

pub use client::{Access, FetchError};
pub use locate::{Located, Locator, fetch_file};
pub use oci::{PushError, Pushing, image_digest, push};
pub use settings::Settings;

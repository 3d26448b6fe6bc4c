//! Charts and images that are elsewhere: repositories, registries, URLs.
//!
//! ```text
//! settings.rs    files and folders that Helm keeps: repositories.yaml, indexes, credentials    read only, but for indexes
//! client.rs      GET, bounded in size and time, with credentials only for whom they are meant
//! index.rs       index.yaml of a repository: which versions of which charts
//! oci/           OCI: tokens, tags, manifests, blobs; what brings an image there, and what fetches the one below it
//! locate.rs      from what a user calls a chart to the chart
//! advice.rs      what is there instead of a chart that was not found
//! dependency/    what fills charts/: Chart.lock, resolution, downloads
//! ```
//!
//! The network is asked here and nowhere else on behalf of a chart, and only by commands whose user names what is
//! fetched; rendering never comes here. The rules and texts are those of Helm's `pkg/downloader`, `pkg/repo` and
//! `pkg/registry`.
//!
//! ```
//! use futures::executor::block_on;
//! use steersman_registry::{Access, Locator, Settings};
//!
//! let folder = tempfile::tempdir()?;
//! let config = folder.path().join("repositories.yaml");
//! std::fs::write(&config, "repositories: [{name: stable, url: https://charts.example.com}]")?;
//! let index = "{apiVersion: v1, entries: {web: [{name: web, version: 1.2.0, urls: [web-1.2.0.tgz]}]}}";
//! std::fs::write(folder.path().join("stable-index.yaml"), index)?;
//!
//! let settings = Settings {
//!     repository_config: config,
//!     repository_cache: folder.path().to_owned(),
//!     ..Settings::default()
//! };
//! let locator = Locator {
//!     settings: &settings,
//!     repository: None,
//!     version: "^2",
//!     access: Access::default(),
//!     notice: &|_| {},
//!     say: &|_| {},
//! };
//! let error = block_on(locator.locate("stable/web")).expect_err("there is no such version");
//! assert!(error.starts_with(r#"chart "web" matching ^2 not found in stable index."#));
//! let advice = block_on(locator.advice("stable/web"));
//! assert_eq!(advice.as_deref(), Some("there are the versions 1.2.0"));
//! # Ok::<(), std::io::Error>(())
//! ```

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
pub use oci::{ImageSource, PullError, PushError, PushStep, image_digest, push};
pub use settings::Settings;

//! The image that another one is built upon: its documents are read, and its layers are left as they are.
//!
//! ```text
//! name.rs        what a user calls a base: a name in a registry, an archive, a layout
//! search.rs      from the document that the name stands for to the manifest for a platform
//! config.rs      what of its configuration is taken over
//! extend.rs      from a base to the image upon it
//! files.rs       a base on this machine
//! archive.rs     `docker save`'s archives from before they were layouts
//! ```
//!
//! Who wrote a base is not trusted with more than its own content: documents and layers are bounded, digests are those of
//! their descriptors, and no path is taken from it.

mod archive;
mod config;
mod extend;
mod files;
mod name;
mod search;

use std::collections::BTreeMap;
use std::io;
use std::path::PathBuf;

pub use files::read_base;
pub use name::BaseName;
pub use search::{BaseManifest, BaseSearch, Found};
use serde_json::Value;

use crate::image::Step;
use crate::{Layer, Platform, Settings};

/// The largest manifest, index or configuration that is read.
pub(crate) const MAX_DOCUMENT: u64 = 4 << 20;
/// The largest base, by the sum of its layers.
pub(crate) const MAX_LAYERS_SIZE: u64 = 16 << 30;
/// Docker allows 127; each of them is an open file.
pub(crate) const MAX_LAYERS: usize = 500;
/// How much of a text from a base an error shows.
const MAX_SHOWN: usize = 120;

/// An image for one platform, with what it leaves to those that are built upon it.
///
/// ```
/// use steersman_image::{BaseSearch, Found, Settings};
///
/// let config = r#"{"os":"linux","architecture":"arm64","config":{"User":"1001","Cmd":["python3"]},"rootfs":{"#.to_owned()
///     + r#""type":"layers","diff_ids":["sha256:ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"]}}"#;
/// let manifest = r#"{
///     "schemaVersion": 2,
///     "config": {
///         "mediaType": "application/vnd.oci.image.config.v1+json", "size": 194,
///         "digest": "sha256:183272300bcf51b57eeee6a0a98bf4a14c6c7d0afa933e4eea1cccf2c7d7a5a2"
///     },
///     "layers": [{
///         "mediaType": "application/vnd.oci.image.layer.v1.tar+gzip", "size": 9000,
///         "digest": "sha256:08d9a9d2e5a4f1b05d3cd0a1d3a3c7d0e1f4b5a69788796a5b4c3d2e1f001122"
///     }]
/// }"#;
/// let mut search = BaseSearch::new("linux/arm64".parse()?);
/// let Found::Manifest(manifest) = search.look(manifest.as_bytes())? else { panic!("an index") };
/// let base = manifest.image(config.as_bytes())?;
/// assert_eq!(base.user(), "1001");
///
/// let image = base.extended(vec![], &Settings::default());
/// assert_eq!(image.layers()[0].blob().size(), 9000);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug)]
pub struct BaseImage {
    pub(crate) platform: Platform,
    /// The digest of its manifest, where it has one.
    pub(crate) digest: Option<String>,
    pub(crate) layers: Vec<Layer>,
    /// What it says of containers; what it starts is left out.
    pub(crate) settings: Settings,
    pub(crate) volumes: BTreeMap<String, Value>,
    pub(crate) history: Vec<Step>,
}

/// Why an image can't be built upon.
#[derive(Debug, thiserror::Error)]
pub enum BaseError {
    /// A document is no JSON, or has other types of values.
    #[error("its {document} can't be read")]
    Document {
        /// Such as `manifest.json`.
        document: &'static str,
        /// What is wrong with it.
        source: serde_json::Error,
    },
    /// It is something else that lies in registries.
    #[error("it is no image: {0}")]
    NotAnImage(String),
    /// There are images, for others.
    #[error("it has no image for {wanted}, only for {found}")]
    Platform {
        /// What the program runs on.
        wanted: Platform,
        /// The platforms of its images.
        found: String,
    },
    /// A content is not the one that was asked for.
    #[error("its {document} has the digest {found}, not {wanted}")]
    Digest {
        /// Such as `manifest.json`.
        document: &'static str,
        /// What was asked for.
        wanted: String,
        /// The digest of the bytes that have come.
        found: String,
    },
    /// More than any image has.
    #[error("its {what}: more than the maximum of {limit}")]
    TooLarge {
        /// What there is too much of.
        what: &'static str,
        /// The most that is taken.
        limit: u64,
    },
    /// A layer that nobody else may give away, or that no runtime here unpacks.
    #[error("its layer {digest} can't be taken over: {reason}")]
    Layer {
        /// The digest that the manifest names.
        digest: String,
        /// What keeps it from being taken.
        reason: String,
    },
    /// What is on this machine is not what its documents say.
    #[error("failed to read `{}`", path.display())]
    Read {
        /// The archive or folder, or a file of it.
        path: PathBuf,
        /// What the system says.
        source: io::Error,
    },
}

impl BaseImage {
    /// What it runs on.
    pub fn platform(&self) -> &Platform {
        &self.platform
    }

    /// The digest of its manifest; archives of docker may have none.
    pub fn digest(&self) -> Option<&str> {
        self.digest.as_deref()
    }

    /// The user that its containers run as, as it is written: a number or a name, with or without a group; empty for root.
    pub fn user(&self) -> &str {
        &self.settings.user
    }

    /// Its layers, the lowest first.
    pub fn layers(&self) -> &[Layer] {
        &self.layers
    }

    /// The value of a variable of its environment.
    pub(crate) fn variable(&self, name: &str) -> Option<&str> {
        let variables = self.settings.environment.iter();
        let mut values = variables.filter_map(|variable| variable.strip_prefix(name)?.strip_prefix('='));
        values.next_back()
    }
}

/// What a base says, short and on one line.
fn shown(text: &str) -> String {
    let start: String = text.chars().take(MAX_SHOWN).collect();
    start.escape_debug().to_string()
}

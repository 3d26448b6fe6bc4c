//! The image for one platform.

use std::collections::BTreeMap;

use jiff::Timestamp;
use serde::Serialize;

use crate::{Blob, Descriptor, Layer, Platform};

const CONFIG: &str = "application/vnd.oci.image.config.v1+json";
pub(crate) const MANIFEST: &str = "application/vnd.oci.image.manifest.v1+json";

/// How a container of an image starts.
#[derive(Clone, Debug, Default)]
pub struct Settings {
    /// User and group, by their numbers.
    pub user: String,
    /// Variables of the environment, each as NAME=VALUE.
    pub environment: Vec<String>,
    /// The program with its first arguments. Those of the container follow.
    pub entrypoint: Vec<String>,
    /// The folder in which it starts.
    pub working_directory: String,
    /// What is said about the image.
    pub labels: BTreeMap<String, String>,
    /// When it was made, in seconds since 1970.
    pub created: u64,
}

/// The image for one platform.
///
/// ```
/// use steersman_image::{Image, Settings};
///
/// let settings = Settings {
///     user: "65532:65532".to_owned(),
///     environment: vec!["HOME=/opt/helm".to_owned()],
///     ..Settings::default()
/// };
/// let image = Image::new("linux/amd64".parse()?, vec![], &settings);
/// let config: serde_json::Value = serde_json::from_slice(image.config().content())?;
/// assert_eq!(config["architecture"], "amd64");
/// assert_eq!(config["config"]["User"], "65532:65532");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug)]
pub struct Image {
    platform: Platform,
    layers: Vec<Layer>,
    config: Blob,
    manifest: Blob,
}

#[derive(Serialize)]
struct Configuration<'a> {
    created: &'a str,
    #[serde(flatten)]
    platform: &'a Platform,
    config: Container<'a>,
    rootfs: RootFilesystem<'a>,
    history: Vec<Step<'a>>,
}

/// These names are written in capitals in the specification.
#[derive(Serialize)]
#[serde(rename_all = "PascalCase")]
struct Container<'a> {
    #[serde(skip_serializing_if = "str::is_empty")]
    user: &'a str,
    #[serde(skip_serializing_if = "<[String]>::is_empty")]
    env: &'a [String],
    #[serde(skip_serializing_if = "<[String]>::is_empty")]
    entrypoint: &'a [String],
    #[serde(skip_serializing_if = "str::is_empty")]
    working_dir: &'a str,
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    labels: &'a BTreeMap<String, String>,
}

#[derive(Serialize)]
struct RootFilesystem<'a> {
    #[serde(rename = "type")]
    kind: &'static str,
    diff_ids: Vec<&'a str>,
}

#[derive(Serialize)]
struct Step<'a> {
    created: &'a str,
    created_by: &'static str,
    comment: &'a str,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Manifest {
    schema_version: u8,
    media_type: &'static str,
    config: Descriptor,
    layers: Vec<Descriptor>,
}

impl Image {
    /// The image of these layers, the lowest first.
    pub fn new(platform: Platform, layers: Vec<Layer>, settings: &Settings) -> Self {
        let config = configuration(&platform, &layers, settings);
        let manifest = Blob::json(
            MANIFEST,
            &Manifest {
                schema_version: 2,
                media_type: MANIFEST,
                config: config.descriptor(),
                layers: layers.iter().map(|layer| layer.blob.descriptor()).collect(),
            },
        );
        Self {
            platform,
            layers,
            config,
            manifest,
        }
    }

    /// The only one that it can run on; an index tells images apart by it.
    pub fn platform(&self) -> &Platform {
        &self.platform
    }

    /// Its layers, the lowest first.
    pub fn layers(&self) -> &[Layer] {
        &self.layers
    }

    /// How a container starts, and the digests of the layers before compression, as JSON.
    pub fn config(&self) -> &Blob {
        &self.config
    }

    /// The manifest, whose digest is the image's.
    pub fn manifest(&self) -> &Blob {
        &self.manifest
    }

    /// How many bytes a node fetches.
    pub fn size(&self) -> u64 {
        let blobs = self.layers.iter().map(Layer::blob);
        let blobs = blobs.chain([&self.config, &self.manifest]);
        blobs.map(|blob| blob.content().len() as u64).sum()
    }

    /// How many bytes a node unpacks.
    pub fn unpacked(&self) -> u64 {
        self.layers.iter().map(Layer::unpacked).sum()
    }
}

fn configuration(platform: &Platform, layers: &[Layer], settings: &Settings) -> Blob {
    let created = i64::try_from(settings.created)
        .ok()
        .and_then(|seconds| Timestamp::from_second(seconds).ok())
        .unwrap_or(Timestamp::UNIX_EPOCH)
        .to_string();
    let step = |layer| Step {
        created: &created,
        created_by: "steersman build",
        comment: Layer::purpose(layer),
    };
    Blob::json(
        CONFIG,
        &Configuration {
            created: &created,
            platform,
            config: Container {
                user: &settings.user,
                env: &settings.environment,
                entrypoint: &settings.entrypoint,
                working_dir: &settings.working_directory,
                labels: &settings.labels,
            },
            rootfs: RootFilesystem {
                kind: "layers",
                diff_ids: layers.iter().map(|layer| layer.diff_id.as_str()).collect(),
            },
            history: layers.iter().map(step).collect(),
        },
    )
}

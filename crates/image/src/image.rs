//! The image for one platform.

use std::collections::BTreeMap;

use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::{Blob, Descriptor, Layer, Platform};

pub(crate) const CONFIG: &str = "application/vnd.oci.image.config.v1+json";
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
/// let config: serde_json::Value = serde_json::from_reader(image.config().open()?)?;
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
    history: Vec<Step>,
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
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    volumes: &'a BTreeMap<String, Value>,
}

#[derive(Serialize)]
struct RootFilesystem<'a> {
    #[serde(rename = "type")]
    kind: &'static str,
    diff_ids: Vec<&'a str>,
}

/// What was done to make an image, in its history.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub(crate) struct Step {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) created: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) created_by: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) author: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) comment: Option<String>,
    /// Whether it has changed the configuration alone.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub(crate) empty_layer: bool,
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
        Self::with_history(platform, layers, settings, &BTreeMap::new(), Vec::new())
    }

    /// The image with the history and the volumes that a base has. The history is that of the lowest layers; the others are
    /// added to it.
    pub(crate) fn with_history(
        platform: Platform,
        layers: Vec<Layer>,
        settings: &Settings,
        volumes: &BTreeMap<String, Value>,
        mut history: Vec<Step>,
    ) -> Self {
        let created = time(settings.created);
        let known = history.iter().filter(|step| !step.empty_layer).count();
        history.extend(layers.iter().skip(known).map(|layer| Step {
            created: Some(created.clone()),
            created_by: Some("steersman build".to_owned()),
            comment: Some(layer.purpose.clone()),
            ..Step::default()
        }));
        let config = Blob::json(
            CONFIG,
            &Configuration {
                created: &created,
                platform: &platform,
                config: Container {
                    user: &settings.user,
                    env: &settings.environment,
                    entrypoint: &settings.entrypoint,
                    working_dir: &settings.working_directory,
                    labels: &settings.labels,
                    volumes,
                },
                rootfs: RootFilesystem {
                    kind: "layers",
                    diff_ids: layers.iter().map(|layer| layer.diff_id.as_str()).collect(),
                },
                history,
            },
        );
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
        blobs.map(Blob::size).sum()
    }

    /// How many bytes a node unpacks; `None` upon a base, whose layers are not looked into.
    pub fn unpacked(&self) -> Option<u64> {
        self.layers.iter().map(Layer::unpacked).sum()
    }
}

fn time(seconds: u64) -> String {
    i64::try_from(seconds)
        .ok()
        .and_then(|seconds| Timestamp::from_second(seconds).ok())
        .unwrap_or(Timestamp::UNIX_EPOCH)
        .to_string()
}

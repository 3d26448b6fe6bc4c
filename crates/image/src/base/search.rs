//! From the document that a name stands for to the manifest for a platform.

use std::borrow::Cow;
use std::collections::BTreeMap;

use serde::Deserialize;
use serde_json::Value;

use super::config::Configuration;
use super::{BaseError, BaseImage, MAX_DOCUMENT, MAX_LAYERS, MAX_LAYERS_SIZE, shown};
use crate::blob::{digest, is_digest};
use crate::image::CONFIG;
use crate::{Blob, Descriptor, Layer, Platform};

/// What the configurations of images are called.
const CONFIGS: &[&str] = &[CONFIG, "application/vnd.docker.container.image.v1+json"];

/// What layers are called, by docker and in the image specification: the same bytes by two names.
const LAYERS: &[(&str, &str)] = &[
    (
        "application/vnd.docker.image.rootfs.diff.tar.gzip",
        "application/vnd.oci.image.layer.v1.tar+gzip",
    ),
    (
        "application/vnd.docker.image.rootfs.diff.tar.zstd",
        "application/vnd.oci.image.layer.v1.tar+zstd",
    ),
    (
        "application/vnd.docker.image.rootfs.diff.tar",
        "application/vnd.oci.image.layer.v1.tar",
    ),
];
/// Layers that are fetched from their owner's servers alone.
const FOREIGN: &[&str] = &[
    "application/vnd.docker.image.rootfs.foreign.diff.tar",
    "application/vnd.oci.image.layer.nondistributable.v1.tar",
];

/// How many documents may lie between a name and a manifest: an index of indexes is the most that anybody has.
const MAX_DOCUMENTS: usize = 4;
/// How many platforms an error names.
const MAX_PLATFORMS: usize = 12;

/// The search for the manifest for a platform. Whoever searches fetches what is named: documents come from a registry, or
/// from files.
#[derive(Clone, Debug)]
pub struct BaseSearch {
    platform: Platform,
    /// The digest of the next document, where it is known.
    wanted: Option<String>,
    seen: usize,
}

/// Where a document leads to.
#[derive(Clone, Debug)]
pub enum Found {
    /// To this document.
    Next(Descriptor),
    /// Of the platform that was asked for.
    Manifest(BaseManifest),
}

/// The manifest of an image, checked: its layers are of known types, and there are not too many.
#[derive(Clone, Debug)]
pub struct BaseManifest {
    platform: Platform,
    digest: String,
    config: Descriptor,
    layers: Vec<Descriptor>,
}

#[derive(Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
struct Document {
    manifests: Option<Vec<Entry>>,
    config: Option<Entry>,
    layers: Option<Vec<Entry>>,
    fs_layers: Option<Value>,
}

#[derive(Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
struct Entry {
    media_type: String,
    digest: String,
    size: u64,
    platform: Option<EntryPlatform>,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct EntryPlatform {
    os: String,
    architecture: String,
    variant: String,
}

impl BaseSearch {
    /// A search that starts with whatever document comes first.
    pub fn new(platform: Platform) -> Self {
        Self {
            platform,
            wanted: None,
            seen: 0,
        }
    }

    /// A search that starts with the document of this digest.
    #[must_use]
    pub fn pinned(self, digest: Option<String>) -> Self {
        Self {
            wanted: digest,
            ..self
        }
    }

    /// Looks at a document: first the one that the name stands for, then those that were found.
    ///
    /// # Errors
    /// It has another digest, is no image, or none for the platform, or none that can be taken over.
    pub fn look(&mut self, content: &[u8]) -> Result<Found, BaseError> {
        let found = digest(content);
        if let Some(wanted) = self.wanted.take_if(|wanted| *wanted != found) {
            return Err(BaseError::Digest {
                document: "manifest",
                wanted,
                found,
            });
        }
        self.seen += 1;
        if self.seen > MAX_DOCUMENTS {
            return Err(BaseError::NotAnImage(
                "it is an index of indexes of indexes".to_owned(),
            ));
        }
        let document: Document = serde_json::from_slice(content).map_err(|source| BaseError::Document {
            document: "manifest",
            source,
        })?;
        if let Some(manifests) = document.manifests {
            let next = self.choose(manifests)?;
            self.wanted = Some(next.digest.clone());
            return Ok(Found::Next(next));
        }
        match (document.config, document.layers) {
            (Some(config), Some(layers)) => {
                let manifest = BaseManifest::new(self.platform.clone(), found, config, layers);
                manifest.map(Found::Manifest)
            }
            _ if document.fs_layers.is_some() => Err(BaseError::NotAnImage(
                "its manifest is of docker's first format, which registries have given up".to_owned(),
            )),
            _ => Err(BaseError::NotAnImage(
                "there is neither a manifest nor an index of them".to_owned(),
            )),
        }
    }

    /// The image for the platform. Of several, the one for each processor of the sort comes first.
    fn choose(&self, manifests: Vec<Entry>) -> Result<Descriptor, BaseError> {
        if let [only] = manifests.as_slice()
            && only.platform.is_none()
        {
            // The entry of a layout: the configuration says what it runs on.
            return only.descriptor();
        }
        let is_wanted = |entry: &&Entry| {
            let platform = entry.platform.as_ref();
            platform.is_some_and(|platform| platform.is(&self.platform))
        };
        let rank = |entry: &&Entry| {
            let variant = entry.platform.as_ref().map(|platform| platform.variant.as_str());
            !matches!(variant, Some("" | "v8"))
        };
        match manifests.iter().filter(is_wanted).min_by_key(rank) {
            Some(entry) => entry.descriptor(),
            None => Err(BaseError::Platform {
                wanted: self.platform.clone(),
                found: platforms(&manifests),
            }),
        }
    }
}

impl BaseManifest {
    fn new(platform: Platform, digest: String, config: Entry, layers: Vec<Entry>) -> Result<Self, BaseError> {
        if !CONFIGS.contains(&config.media_type.as_str()) {
            let reason = format!("its configuration is {}", shown(&config.media_type));
            return Err(BaseError::NotAnImage(reason));
        }
        if layers.len() > MAX_LAYERS {
            return Err(BaseError::TooLarge {
                what: "layers",
                limit: MAX_LAYERS as u64,
            });
        }
        let layers = layers.iter().map(Entry::layer).collect::<Result<Vec<_>, _>>()?;
        let size = layers
            .iter()
            .try_fold(0_u64, |sum, layer| sum.checked_add(layer.size));
        if size.is_none_or(|size| size > MAX_LAYERS_SIZE) {
            return Err(BaseError::TooLarge {
                what: "bytes of layers",
                limit: MAX_LAYERS_SIZE,
            });
        }
        Ok(Self {
            platform,
            digest,
            config: config.document("configuration")?,
            layers,
        })
    }

    /// The configuration, which has to be fetched.
    pub fn config(&self) -> &Descriptor {
        &self.config
    }

    /// The image with this configuration. Its layers are not fetched.
    ///
    /// # Errors
    /// The configuration has another digest, is for another platform, or does not fit to the manifest.
    pub fn image(self, config: &[u8]) -> Result<BaseImage, BaseError> {
        let found = digest(config);
        if found != self.config.digest {
            return Err(BaseError::Digest {
                document: "configuration",
                wanted: self.config.digest,
                found,
            });
        }
        let config = Configuration::read(config, &self.platform)?;
        if config.diff_ids.len() != self.layers.len() {
            let (names, layers) = (config.diff_ids.len(), self.layers.len());
            let reason = format!("its configuration names {names} layers, and its manifest {layers}");
            return Err(BaseError::NotAnImage(reason));
        }
        let layers = self.layers.iter().zip(&config.diff_ids);
        let layers = layers.map(|(layer, diff_id)| Layer::of_base(Blob::elsewhere(layer), diff_id.clone()));
        let layers = layers.collect();
        Ok(config.image(self.platform, Some(self.digest), layers))
    }
}

impl Entry {
    /// A reference to a document.
    fn descriptor(&self) -> Result<Descriptor, BaseError> {
        self.document("manifest")
    }

    fn document(&self, document: &'static str) -> Result<Descriptor, BaseError> {
        if self.size > MAX_DOCUMENT {
            return Err(BaseError::TooLarge {
                what: "bytes of a document",
                limit: MAX_DOCUMENT,
            });
        }
        self.with_type(self.media_type.clone().into(), document)
    }

    /// A reference to a layer, by the name of its type in the image specification: manifests of both sorts stay as they are,
    /// and ours is of that one.
    fn layer(&self) -> Result<Descriptor, BaseError> {
        let refused = |reason: String| BaseError::Layer {
            digest: shown(&self.digest),
            reason,
        };
        if FOREIGN.iter().any(|start| self.media_type.starts_with(start)) {
            let reason = format!("it must not be distributed ({})", shown(&self.media_type));
            return Err(refused(reason));
        }
        let is_this = |name: &str| name == self.media_type;
        let known = LAYERS
            .iter()
            .find(|(docker, oci)| is_this(docker) || is_this(oci));
        let Some((_, oci)) = known else {
            let reason = format!("its type is not known: {}", shown(&self.media_type));
            return Err(refused(reason));
        };
        self.with_type(Cow::Borrowed(*oci), "layer")
    }

    fn with_type(&self, media_type: Cow<'static, str>, what: &str) -> Result<Descriptor, BaseError> {
        if !is_digest(&self.digest) {
            let reason = format!("the digest of its {what} is {:?}", shown(&self.digest));
            return Err(BaseError::NotAnImage(reason));
        }
        Ok(Descriptor {
            media_type,
            digest: self.digest.clone(),
            size: self.size,
            annotations: BTreeMap::new(),
            platform: None,
        })
    }
}

impl EntryPlatform {
    fn is(&self, platform: &Platform) -> bool {
        self.os == platform.os && self.architecture == platform.architecture
    }
}

/// Which platforms there are, as far as they are some: attestations are for `unknown/unknown`.
fn platforms(manifests: &[Entry]) -> String {
    let known = manifests.iter().filter_map(|entry| entry.platform.as_ref());
    let known = known.filter(|platform| platform.os != "unknown");
    let mut names: Vec<String> = known
        .map(|platform| shown(&format!("{}/{}", platform.os, platform.architecture)))
        .take(MAX_PLATFORMS)
        .collect();
    names.sort();
    names.dedup();
    if names.is_empty() {
        return "platforms that it does not name".to_owned();
    }
    names.join(", ")
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    const DIGEST: &str = "sha256:ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad";

    fn look(document: &Value) -> Result<Found, BaseError> {
        BaseSearch::new("linux/arm64".parse().unwrap()).look(document.to_string().as_bytes())
    }

    fn entry(number: usize, os: &str, architecture: &str, variant: &str) -> Value {
        json!({
            "mediaType": "application/vnd.oci.image.manifest.v1+json",
            "digest": format!("sha256:{number:064}"),
            "size": 7,
            "platform": {"os": os, "architecture": architecture, "variant": variant},
        })
    }

    /// Which of these entries of an index is chosen, or why none is.
    fn choose(entries: &[Value]) -> Result<String, String> {
        match look(&json!({"manifests": entries})) {
            Ok(Found::Next(next)) => Ok(next.digest.chars().next_back().into_iter().collect()),
            Ok(Found::Manifest(_)) => panic!("an index"),
            Err(error) => Err(error.to_string()),
        }
    }

    fn manifest(layer: &str) -> Value {
        json!({
            "config": {"mediaType": CONFIG, "digest": DIGEST, "size": 3},
            "layers": [{"mediaType": layer, "digest": DIGEST, "size": 3}],
        })
    }

    #[track_caller]
    fn check_refusal(document: &Value, expect: &str) {
        let error = look(document).unwrap_err().to_string();
        assert!(error.contains(expect), "{error}");
    }

    #[test]
    fn of_an_index_the_image_for_the_platform_is_taken() {
        let many = [
            entry(1, "linux", "amd64", ""),
            entry(3, "windows", "arm64", ""),
            entry(4, "linux", "arm64", "v9"),
            entry(7, "linux", "arm64", "v8"),
            entry(8, "unknown", "unknown", ""),
        ];
        assert_eq!(choose(&many).as_deref(), Ok("7"));
        assert_eq!(choose(&many[..3]).as_deref(), Ok("4"));
        let error = choose(&[many[0].clone(), many[1].clone(), many[4].clone()]).unwrap_err();
        assert_eq!(
            error,
            "it has no image for linux/arm64, only for linux/amd64, windows/arm64"
        );
        let mut only = entry(9, "", "", "");
        only["platform"].take();
        assert_eq!(choose(&[only]).as_deref(), Ok("9"));
        assert!(
            choose(&[])
                .unwrap_err()
                .contains("platforms that it does not name")
        );
    }

    #[test]
    fn indexes_of_indexes_come_to_an_end() {
        let mut search = BaseSearch::new("linux/arm64".parse().unwrap());
        let error = (0..10).find_map(|number| {
            let index = json!({"manifests": [entry(number, "linux", "arm64", "")]});
            search.wanted = None;
            search.look(index.to_string().as_bytes()).err()
        });
        assert!(error.unwrap().to_string().contains("index of indexes"));
    }

    #[test]
    fn layers_get_the_names_of_the_image_specification() {
        let name = |layer: &str| match look(&manifest(layer)) {
            Ok(Found::Manifest(manifest)) => manifest.layers[0].media_type.clone().into_owned(),
            other => panic!("{other:?}"),
        };
        let oci = "application/vnd.oci.image.layer.v1.tar+gzip";
        assert_eq!(name("application/vnd.docker.image.rootfs.diff.tar.gzip"), oci);
        assert_eq!(name(oci), oci);
    }

    #[test]
    fn what_is_no_image_or_has_other_layers_is_refused() {
        check_refusal(
            &manifest("application/vnd.docker.image.rootfs.foreign.diff.tar.gzip"),
            "must not be distributed",
        );
        check_refusal(
            &manifest("application/vnd.oci.image.layer.nondistributable.v1.tar+zstd"),
            "must not be distributed",
        );
        check_refusal(
            &manifest("application/vnd.cncf.helm.chart.content.v1.tar+gzip"),
            "its type is not known: application/vnd.cncf.helm",
        );
        let mut chart = manifest(LAYERS[0].1);
        chart["config"]["mediaType"] = json!("application/vnd.cncf.helm.config.v1+json");
        check_refusal(
            &chart,
            "it is no image: its configuration is application/vnd.cncf.helm",
        );
        check_refusal(
            &json!({"schemaVersion": 1, "fsLayers": []}),
            "docker's first format",
        );
        check_refusal(&json!({"errors": []}), "neither a manifest nor an index");
        check_refusal(&json!("text"), "its manifest can't be read");
        let mut large = manifest(LAYERS[0].1);
        large["config"]["size"] = json!(MAX_DOCUMENT + 1);
        check_refusal(&large, "more than the maximum of 4194304");
        large["config"]["size"] = json!(3);
        large["layers"][0]["size"] = json!(u64::MAX);
        check_refusal(&large, "bytes of layers");
        let mut path = manifest(LAYERS[0].1);
        path["layers"][0]["digest"] = json!("sha256:../../secret");
        check_refusal(&path, "the digest of its layer is");
    }

    #[test]
    fn a_document_of_another_digest_is_refused() {
        let content = manifest(LAYERS[0].1).to_string();
        let search = BaseSearch::new("linux/arm64".parse().unwrap());
        let error = search
            .clone()
            .pinned(Some(DIGEST.to_owned()))
            .look(content.as_bytes());
        let error = error.unwrap_err().to_string();
        assert!(
            error.starts_with("its manifest has the digest sha256:"),
            "{error}"
        );
        assert!(
            search
                .pinned(Some(digest(content.as_bytes())))
                .look(content.as_bytes())
                .is_ok()
        );
    }
}

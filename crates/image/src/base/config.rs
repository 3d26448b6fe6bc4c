//! What of the configuration of a base is taken over.

use std::collections::BTreeMap;

use serde::Deserialize;
use serde_json::Value;

use super::{BaseError, BaseImage, shown};
use crate::blob::is_digest;
use crate::image::Step;
use crate::{Layer, Platform, Settings};

/// A configuration, checked: it is for the platform, and its layers have digests.
#[derive(Debug)]
pub(super) struct Configuration {
    pub(super) diff_ids: Vec<String>,
    container: Container,
    history: Vec<Step>,
}

#[derive(Deserialize)]
struct Document {
    #[serde(default)]
    os: String,
    #[serde(default)]
    architecture: String,
    config: Option<Container>,
    rootfs: Option<RootFilesystem>,
    history: Option<Vec<Step>>,
}

/// These names are written in capitals in the specification.
#[derive(Debug, Default, Deserialize)]
#[serde(default, rename_all = "PascalCase")]
struct Container {
    user: Option<String>,
    env: Option<Vec<String>>,
    working_dir: Option<String>,
    labels: Option<BTreeMap<String, String>>,
    volumes: Option<BTreeMap<String, Value>>,
}

#[derive(Deserialize)]
struct RootFilesystem {
    diff_ids: Option<Vec<String>>,
}

impl Configuration {
    pub(super) fn read(content: &[u8], platform: &Platform) -> Result<Self, BaseError> {
        let document: Document = serde_json::from_slice(content).map_err(|source| BaseError::Document {
            document: "configuration",
            source,
        })?;
        if (&document.os, &document.architecture) != (&platform.os, &platform.architecture) {
            return Err(BaseError::Platform {
                wanted: platform.clone(),
                found: shown(&format!("{}/{}", document.os, document.architecture)),
            });
        }
        let diff_ids = document.rootfs.and_then(|root| root.diff_ids).unwrap_or_default();
        if let Some(wrong) = diff_ids.iter().find(|digest| !is_digest(digest)) {
            let reason = format!("the digest of a layer is {:?}", shown(wrong));
            return Err(BaseError::NotAnImage(reason));
        }
        Ok(Self {
            diff_ids,
            container: document.config.unwrap_or_default(),
            history: document.history.unwrap_or_default(),
        })
    }

    pub(super) fn image(self, platform: Platform, digest: Option<String>, layers: Vec<Layer>) -> BaseImage {
        let Self {
            container,
            mut history,
            ..
        } = self;
        // Docker refuses an image with more steps than layers; too few are filled up.
        if history.iter().filter(|step| !step.empty_layer).count() > layers.len() {
            history.clear();
        }
        BaseImage {
            platform,
            digest,
            layers,
            settings: Settings {
                user: container.user.unwrap_or_default(),
                environment: container.env.unwrap_or_default(),
                working_directory: container.working_dir.unwrap_or_default(),
                labels: container.labels.unwrap_or_default(),
                ..Settings::default()
            },
            volumes: container.volumes.unwrap_or_default(),
            history,
        }
    }
}

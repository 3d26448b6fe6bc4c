//! A base written by hand, document by document, so that each can be wrong.

use std::fs;
use std::path::Path;

use serde_json::{Value, json};

use crate::repository::digest;

/// The documents of an image with one layer.
pub(crate) struct Base {
    pub(crate) layer: Vec<u8>,
    pub(crate) config: Value,
    pub(crate) manifest: Value,
    /// What configuration and layer were called at first.
    names: [String; 2],
}

impl Base {
    /// An image that can be built upon.
    pub(crate) fn new() -> Self {
        let layer = b"the content of a layer is looked at by those who unpack it".to_vec();
        let config = json!({
            "os": "linux",
            "architecture": "amd64",
            "config": {"User": "1001"},
            "rootfs": {"type": "layers", "diff_ids": [digest(b"unpacked")]},
        });
        let manifest = json!({
            "schemaVersion": 2,
            "mediaType": "application/vnd.oci.image.manifest.v1+json",
            "config": {
                "mediaType": "application/vnd.oci.image.config.v1+json",
                "digest": digest(config.to_string().as_bytes()),
                "size": config.to_string().len(),
            },
            "layers": [{
                "mediaType": "application/vnd.oci.image.layer.v1.tar+gzip",
                "digest": digest(&layer),
                "size": layer.len(),
            }],
        });
        Self {
            names: [digest(config.to_string().as_bytes()), digest(&layer)],
            layer,
            config,
            manifest,
        }
    }

    /// What the layer is called, whatever it has become.
    pub(crate) fn layer_name(&self) -> &str {
        &self.names[1]
    }

    /// Lays it out as a registry has it, as `team/python:1`.
    pub(crate) fn lay_out_registry(&self, folder: &Path) {
        let repository = folder.join("v2/team/python");
        let manifest = self.manifest.to_string();
        for name in ["1", &digest(manifest.as_bytes())] {
            write(&repository.join("manifests").join(name), manifest.as_bytes());
        }
        for (name, content) in self.blobs() {
            write(&repository.join("blobs").join(name), &content);
        }
    }

    /// Lays it out as a folder.
    pub(crate) fn lay_out_folder(&self, folder: &Path) {
        let manifest = self.manifest.to_string();
        let index = json!({
            "schemaVersion": 2,
            "manifests": [{
                "mediaType": "application/vnd.oci.image.manifest.v1+json",
                "digest": digest(manifest.as_bytes()),
                "size": manifest.len(),
            }],
        });
        write(&folder.join("index.json"), index.to_string().as_bytes());
        write(&folder.join("oci-layout"), br#"{"imageLayoutVersion":"1.0.0"}"#);
        let manifest = (digest(manifest.as_bytes()), manifest.into_bytes());
        for (name, content) in self.blobs().into_iter().chain([manifest]) {
            write(&folder.join("blobs").join(name.replace(':', "/")), &content);
        }
    }

    fn blobs(&self) -> [(String, Vec<u8>); 2] {
        let [config, layer] = self.names.clone();
        [
            (config, self.config.to_string().into_bytes()),
            (layer, self.layer.clone()),
        ]
    }
}

fn write(path: &Path, content: &[u8]) {
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(path, content).unwrap();
}

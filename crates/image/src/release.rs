//! Images for several platforms under one name.

use serde::Serialize;

use crate::{Blob, Descriptor, Image, Layer, Reference};

const INDEX: &str = "application/vnd.oci.image.index.v1+json";

/// What a name stands for: an image, or an index of images for several platforms.
///
/// ```
/// use steersman_image::{Image, Release, Settings};
///
/// let platforms = ["linux/arm64".parse()?, "linux/amd64".parse()?];
/// let images = platforms.map(|platform| Image::new(platform, vec![], &Settings::default()));
/// let release = Release::new("web:v1".parse()?, images.to_vec());
/// assert_eq!(release.images()[0].platform().to_string(), "linux/amd64");
/// let index = release.root().expect("it has images");
/// assert_eq!(index.media_type(), "application/vnd.oci.image.index.v1+json");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug)]
pub struct Release {
    reference: Reference,
    images: Vec<Image>,
    index: Option<Blob>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Index {
    schema_version: u8,
    media_type: &'static str,
    manifests: Vec<Descriptor>,
}

impl Index {
    pub(crate) fn new(manifests: Vec<Descriptor>) -> Self {
        Self {
            schema_version: 2,
            media_type: INDEX,
            manifests,
        }
    }
}

impl Release {
    /// These images, sorted by their platforms. Of several images for a platform, the first counts.
    pub fn new(reference: Reference, mut images: Vec<Image>) -> Self {
        images.sort_by(|a, b| a.platform().cmp(b.platform()));
        images.dedup_by(|a, b| a.platform() == b.platform());
        let index = (images.len() != 1).then(|| {
            let describe = |image: &Image| Descriptor {
                platform: Some(image.platform().clone()),
                ..image.manifest().descriptor()
            };
            Blob::json(INDEX, &Index::new(images.iter().map(describe).collect()))
        });
        Self {
            reference,
            images,
            index,
        }
    }

    /// With registry and tag, as it is pulled.
    pub fn reference(&self) -> &Reference {
        &self.reference
    }

    /// The images, by their platforms.
    pub fn images(&self) -> &[Image] {
        &self.images
    }

    /// What the name stands for: the manifest of the only image, or the index. Its digest is that of the whole.
    pub fn root(&self) -> Option<&Blob> {
        let only = self.images.first().map(Image::manifest);
        self.index.as_ref().or(only)
    }

    /// Layers and configurations, each once, those that others need first.
    pub fn blobs(&self) -> Vec<&Blob> {
        let mut blobs: Vec<&Blob> = Vec::new();
        for image in &self.images {
            let layers = image.layers().iter().map(Layer::blob);
            for blob in layers.chain([image.config()]) {
                if !blobs.iter().any(|known| known.digest() == blob.digest()) {
                    blobs.push(blob);
                }
            }
        }
        blobs
    }

    /// Manifests, and after them the index of them.
    pub fn manifests(&self) -> Vec<&Blob> {
        let manifests = self.images.iter().map(Image::manifest);
        manifests.chain(&self.index).collect()
    }
}

//! Images of files that no program in them reads: bundles and catalogs for OLM.

use std::collections::BTreeMap;

use crate::{Image, Layer, LayerError, Platform, Settings, Tree};

/// What goes into an image of files, the same for every platform.
///
/// ```
/// use steersman_image::{DataImage, Tree};
///
/// let mut files = Tree::default();
/// files.file("metadata/annotations.yaml", b"annotations: {}\n".as_slice())?;
/// let bundle = DataImage { purpose: "a bundle".to_owned(), files, ..DataImage::default() };
/// let images = bundle.for_platforms(&["linux/amd64".parse()?, "linux/arm64".parse()?])?;
/// assert_eq!(images[0].layers()[0].blob().digest(), images[1].layers()[0].blob().digest());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, Default)]
pub struct DataImage {
    /// What the files are, in the history of the image.
    pub purpose: String,
    /// What lies where: `manifests/` and `metadata/` of a bundle, for example.
    pub files: Tree,
    /// What is said about the image.
    pub labels: BTreeMap<String, String>,
    /// The time of everything in it, in seconds since 1970.
    pub created: u64,
}

impl DataImage {
    /// The image for each of these platforms, all with the one layer.
    ///
    /// # Errors
    /// A path does not fit into an archive.
    pub fn for_platforms(&self, platforms: &[Platform]) -> Result<Vec<Image>, LayerError> {
        let layer = Layer::new(&self.purpose, &self.files, self.created)?;
        let settings = Settings {
            labels: self.labels.clone(),
            created: self.created,
            ..Settings::default()
        };
        let image = |platform: &Platform| Image::new(platform.clone(), vec![layer.clone()], &settings);
        Ok(platforms.iter().map(image).collect())
    }
}

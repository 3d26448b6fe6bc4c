//! The image of an operator.
//!
//! Everything is where the images of operator-sdk's helm-operator have it, so that a Deployment or a Dockerfile that was
//! written for those works with these.

use std::collections::BTreeMap;

use crate::{Binary, Image, Layer, LayerError, Settings, Tree, TreeError};

/// Where the program is, without the first slash.
pub const PROGRAM: &str = "usr/local/bin/steersman";
/// The home folder, from which the operator starts, without the first slash.
pub const HOME: &str = "opt/helm";

/// The name that helm-operator's images know the program by.
const OTHER_NAME: &str = "usr/local/bin/helm-operator";
/// Where programs that talk to servers look for authorities.
const CERTIFICATES: &str = "etc/ssl/certs/ca-certificates.crt";
/// Nobody in particular, by a number that systems leave free.
const USER: &str = "65532:65532";
/// The C library keeps freed memory apart for each thread that ever needed some; an operator has less if it is used again by
/// all of them.
const ONE_ARENA: &str = "MALLOC_ARENA_MAX=1";

/// What goes into the image of an operator, for every platform.
#[derive(Clone, Debug, Default)]
pub struct OperatorImage {
    /// The files of the project by their paths in [`HOME`]; empty for an image that others build upon.
    pub project: Tree,
    /// Certificates of the authorities that are trusted besides the cluster's, as a PEM bundle.
    pub certificates: Option<Vec<u8>>,
    /// What is said about the image.
    pub labels: BTreeMap<String, String>,
    /// The time of everything in it, in seconds since 1970.
    pub created: u64,
}

/// Why an image could not be put together.
#[derive(Debug, thiserror::Error)]
pub enum OperatorError {
    /// Two files want the same place.
    #[error(transparent)]
    Tree(#[from] TreeError),
    /// A path does not fit into an archive.
    #[error(transparent)]
    Layer(#[from] LayerError),
}

impl OperatorImage {
    /// The image with this program. What changes often, the charts, is in a layer of its own, so that a new version of a
    /// chart costs kilobytes.
    ///
    /// # Errors
    /// A path of the project does not fit into an archive.
    pub fn with(&self, binary: &Binary) -> Result<Image, OperatorError> {
        let mut layers = vec![self.program(binary)?];
        if !self.project.is_empty() {
            layers.push(Layer::new(
                "watches.yaml and charts",
                &self.project,
                self.created,
            )?);
        }
        let settings = Settings {
            user: USER.to_owned(),
            environment: vec![
                "PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin".to_owned(),
                format!("HOME=/{HOME}"),
                ONE_ARENA.to_owned(),
            ],
            entrypoint: vec![
                format!("/{PROGRAM}"),
                "run".to_owned(),
                "--watches-file=./watches.yaml".to_owned(),
            ],
            working_directory: format!("/{HOME}"),
            labels: self.labels.clone(),
            created: self.created,
        };
        Ok(Image::new(binary.platform().clone(), layers, &settings))
    }

    fn program(&self, binary: &Binary) -> Result<Layer, OperatorError> {
        let mut tree = Tree::default();
        tree.folder(HOME)?;
        tree.program(PROGRAM, binary.content())?;
        tree.link(OTHER_NAME, PROGRAM)?;
        if let Some(certificates) = &self.certificates {
            tree.file(CERTIFICATES, certificates.as_slice())?;
        }
        Ok(Layer::new("the operator", &tree, self.created)?)
    }
}

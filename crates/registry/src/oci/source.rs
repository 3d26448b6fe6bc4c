//! The image in a registry that another one is built upon.
//!
//! Its documents are fetched first; its layers only where something needs their bytes, as a registry that has them takes
//! their digests for it.

use reqwest::header::{ACCEPT, HeaderMap, HeaderValue};
use reqwest::{Method, StatusCode};
use steersman_image::{BaseError, BaseImage, BaseSearch, Blob, BlobError, Descriptor, Found, Platform};

use super::digest::ANY_IMAGE;
use super::push::is_this_machine;
use super::upload::Content;
use super::{MAX_DOCUMENT, Reference, Registries, read};
use crate::client::{Access, Client, FetchError, chunk};
use crate::settings::Settings;

/// An image in a registry, by its tag or digest, and how it is reached.
#[derive(Clone, Debug)]
pub struct ImageSource {
    reference: Reference,
    access: Access,
    settings: Settings,
}

/// Why an image could not be fetched.
#[derive(Debug, thiserror::Error)]
pub enum PullError {
    /// The registry is not reached, does not let us in, or has no such image.
    #[error("failed to fetch {image}")]
    Ask {
        /// `registry.example.com/team/python:1`
        image: String,
        /// What went wrong.
        source: FetchError,
    },
    /// It is none that can be built upon.
    #[error("{image} can't be built upon")]
    Base {
        /// `registry.example.com/team/python:1`
        image: String,
        /// What the image's own reader says.
        source: BaseError,
    },
    /// A layer is another one than its manifest says.
    #[error("failed to fetch a layer of {image}")]
    Layer {
        /// `registry.example.com/team/python:1`
        image: String,
        /// What arrived.
        source: BlobError,
    },
}

impl ImageSource {
    /// The image of this name, or of this digest in its repository.
    ///
    /// Registries on this machine are talked to without TLS, as by [`push`](super::push()).
    pub fn new(
        image: &steersman_image::Reference,
        digest: Option<String>,
        mut access: Access,
        settings: &Settings,
    ) -> Self {
        let mut reference = Reference::of_image(image);
        if digest.is_some() {
            reference.tag = None;
        }
        access.plain_http |= is_this_machine(&reference.host);
        Self {
            reference: Reference { digest, ..reference },
            access,
            settings: settings.clone(),
        }
    }

    /// The image for a platform, without its layers.
    ///
    /// # Errors
    /// The registry is not reached, does not let us in, or has no such image, or none that can be built upon.
    pub async fn find(&self, platform: &Platform) -> Result<BaseImage, PullError> {
        let registries = self.connect()?;
        let base = |source| PullError::Base {
            image: self.reference.to_string(),
            source,
        };
        let mut search = BaseSearch::new(platform.clone()).pinned(self.reference.digest.clone());
        let mut document = self
            .document(&registries, "manifests", self.reference.version())
            .await?;
        let manifest = loop {
            match search.look(&document).map_err(base)? {
                Found::Next(Descriptor { digest, .. }) => {
                    document = self.document(&registries, "manifests", &digest).await?;
                }
                Found::Manifest(manifest) => break manifest,
            }
        };
        let config = self
            .document(&registries, "blobs", &manifest.config().digest)
            .await?;
        manifest.image(&config).map_err(base)
    }

    /// Fetches those of these layers that are not here. They are kept in files without a name, which are gone with the
    /// process. `progress` is told the size of each before it comes.
    ///
    /// # Errors
    /// The registry is not reached or gives others.
    pub async fn fetch(&self, layers: &[&Blob], progress: &dyn Fn(u64)) -> Result<(), PullError> {
        let missing: Vec<&&Blob> = layers.iter().filter(|blob| !blob.is_here()).collect();
        if missing.is_empty() {
            return Ok(());
        }
        let registries = self.connect()?;
        for blob in missing {
            // A copy of it may have come meanwhile.
            if !blob.is_here() {
                progress(blob.size());
                self.layer(&registries, blob).await?;
            }
        }
        Ok(())
    }

    /// The repository, as it is called in the registry at this host; `None` where the image is in another registry.
    pub(super) fn repository_at(&self, host: &str) -> Option<&str> {
        (self.reference.host == host).then_some(self.reference.repository.as_str())
    }

    fn connect(&self) -> Result<Registries, PullError> {
        let client = Client::new(&self.access).map_err(|source| self.failed(source))?;
        Ok(Registries::new(client, &self.settings))
    }

    async fn document(&self, registries: &Registries, kind: &str, name: &str) -> Result<Vec<u8>, PullError> {
        let fetch = async {
            let url = registries.url(&self.reference, &format!("{kind}/{name}"));
            let response = registries.get(&url, &self.reference, ANY_IMAGE).await?;
            read(response, &url, &self.reference.to_string(), MAX_DOCUMENT).await
        };
        fetch.await.map_err(|source| self.failed(source))
    }

    async fn layer(&self, registries: &Registries, blob: &Blob) -> Result<(), PullError> {
        let url = registries.url(&self.reference, &format!("blobs/{}", blob.digest()));
        let wrong = |source| PullError::Layer {
            image: self.reference.to_string(),
            source,
        };
        let headers: HeaderMap = [(ACCEPT, HeaderValue::from_static("*/*"))].into_iter().collect();
        let answer = registries.send(Method::GET, &url, &self.reference, headers, Content::AskForLayer);
        let mut answer = answer.await.map_err(|source| self.failed(source))?;
        let status = answer.status();
        if status != StatusCode::OK {
            return Err(self.failed(FetchError::Status { url, status }));
        }
        let mut writer = blob.begin().map_err(wrong)?;
        while let Some(bytes) = chunk(&mut answer, &url)
            .await
            .map_err(|source| self.failed(source))?
        {
            writer.write(&bytes).map_err(wrong)?;
        }
        writer.finish().map_err(wrong)
    }

    fn failed(&self, source: FetchError) -> PullError {
        PullError::Ask {
            image: self.reference.to_string(),
            source,
        }
    }
}

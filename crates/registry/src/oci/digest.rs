//! The digest of what a tag names.

use super::push::is_this_machine;
use super::{MAX_DOCUMENT, Reference, Registries, digest, read};
use crate::client::Client;
use crate::{Access, FetchError, Settings};

/// What an image can be: one for several platforms, or one.
pub(super) const ANY_IMAGE: &str = "application/vnd.oci.image.index.v1+json, \
                                    application/vnd.docker.distribution.manifest.list.v2+json, \
                                    application/vnd.oci.image.manifest.v1+json, \
                                    application/vnd.docker.distribution.manifest.v2+json";

/// The digest of the image that a tag names now: of its index, if it is for several platforms.
///
/// Registries on this machine are talked to without TLS, as by [`push`](super::push()).
///
/// # Errors
/// The registry is not reached, does not let us in, or has no such image.
pub async fn image_digest(
    image: &steersman_image::Reference,
    mut access: Access,
    settings: &Settings,
) -> Result<String, FetchError> {
    let reference = Reference::of_image(image);
    access.plain_http |= is_this_machine(&reference.host);
    let registries = Registries::new(Client::new(&access)?, settings);
    let url = registries.url(&reference, &format!("manifests/{}", reference.version()));
    let response = registries.get(&url, &reference, ANY_IMAGE).await?;
    let manifest = read(response, &url, &reference.to_string(), MAX_DOCUMENT).await?;
    Ok(digest(&manifest))
}

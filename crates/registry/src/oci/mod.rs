//! Charts in OCI registries, images of operators on their way there, and the images that those are built upon.
//!
//! The protocol is that of the OCI distribution specification: for charts a manifest, its blob, tags; for images what
//! brings blobs and manifests there, and for their bases what `source.rs` fetches.

mod credentials;
mod digest;
mod push;
mod reference;
mod source;
mod token;
mod upload;

use std::sync::Mutex;

use credentials::Credentials;
pub use digest::image_digest;
pub use push::{PushError, PushStep, push};
pub(super) use reference::Reference;
use reqwest::header::{ACCEPT, AUTHORIZATION, HeaderMap, HeaderValue, LINK, WWW_AUTHENTICATE};
use reqwest::{Method, Response, StatusCode, Url};
use serde::Deserialize;
use sha2::{Digest as _, Sha256};
pub use source::{ImageSource, PullError};
use steersman_sprig::semver::{Constraint, Version};
use token::Actions;
use upload::Content;

use super::address::is_same_server;
use super::client::{Client, FetchError, body};
use super::index::newest_first;
use super::settings::Settings;

/// The largest manifest or list of tags that is read.
const MAX_DOCUMENT: u64 = 4 << 20;
/// The largest archive of a chart that is read; it is the limit for what is inside.
const MAX_CHART: u64 = 100 << 20;
/// How many pages of tags are read.
const MAX_PAGES: usize = 1000;

const CONFIG: &str = "application/vnd.cncf.helm.config.v1+json";
const CHART: &str = "application/vnd.cncf.helm.chart.content.v1.tar+gzip";
const OLD_CHART: &str = "application/tar+gzip";
const MANIFEST: &str = "application/vnd.oci.image.manifest.v1+json";

/// A way to registries, with the credentials that there are for them.
#[derive(Debug)]
pub(super) struct Registries {
    client: Client,
    credentials: Credentials,
    /// What is to be done there, in the words of tokens.
    actions: Actions,
    /// The last thing that let us in, which will do so again.
    authorization: Mutex<Option<(String, HeaderValue)>>,
}

/// A chart from a registry.
#[derive(Debug)]
pub(super) struct Pulled {
    pub(super) content: Vec<u8>,
    /// What Helm says of it: its reference and the digest of its manifest.
    pub(super) report: String,
}

#[derive(Debug, Deserialize)]
struct Manifest {
    config: Option<Descriptor>,
    layers: Option<Vec<Descriptor>>,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Descriptor {
    #[serde(default)]
    media_type: String,
    #[serde(default)]
    digest: String,
    #[serde(default)]
    size: u64,
}

#[derive(Debug, Deserialize)]
struct Tags {
    tags: Option<Vec<String>>,
}

impl Registries {
    /// A way to read.
    pub(super) fn new(client: Client, settings: &Settings) -> Self {
        Self {
            credentials: Credentials::new(client.access(), settings),
            client,
            actions: Actions {
                own: "pull",
                pull_from: None,
            },
            authorization: Mutex::default(),
        }
    }

    /// The chart that a reference with a tag or digest names.
    ///
    /// # Errors
    /// The registry is not reached, does not let us in, or has something else there.
    pub(super) async fn pull(&self, reference: &Reference) -> Result<Pulled, FetchError> {
        let name = reference.to_string();
        let url = self.url(reference, &format!("manifests/{}", reference.version()));
        let response = self.get(&url, reference, MANIFEST).await?;
        let text = read(response, &url, &name, MAX_DOCUMENT).await?;
        let digest = digest(&text);
        if reference.digest.as_ref().is_some_and(|wanted| *wanted != digest) {
            return Err(FetchError::Answer(format!(
                "{name}: the manifest has the digest {digest}"
            )));
        }
        let manifest: Manifest = serde_json::from_slice(&text)
            .map_err(|error| FetchError::Answer(format!("{name}: the manifest cannot be read: {error}")))?;
        let blob = chart_layer(&manifest)?;
        let url = self.url(reference, &format!("blobs/{}", blob.digest));
        if blob.size > MAX_CHART {
            return Err(FetchError::TooLarge {
                url,
                limit: MAX_CHART,
            });
        }
        let response = self.get(&url, reference, "*/*").await?;
        let content = read(response, &url, &name, MAX_CHART).await?;
        if self::digest(&content) != blob.digest {
            return Err(FetchError::Answer(format!(
                "{name}: the chart has not the digest {}",
                blob.digest
            )));
        }
        Ok(Pulled {
            content,
            report: format!("Pulled: {name}\nDigest: {digest}\n"),
        })
    }

    /// The tags of a repository that are versions, the newest first, with `+` where tags have `_`.
    ///
    /// # Errors
    /// The registry is not reached, does not let us in, or answers something else.
    pub(super) async fn tags(&self, reference: &Reference) -> Result<Vec<String>, FetchError> {
        let mut versions = Vec::new();
        let mut url = self.url(reference, "tags/list");
        for _ in 0..MAX_PAGES {
            let response = self.get(&url, reference, "application/json").await?;
            let next = response.headers().get(LINK).and_then(next_page);
            let text = read(response, &url, &reference.to_string(), MAX_DOCUMENT).await?;
            let page: Tags = serde_json::from_slice(&text)
                .map_err(|error| FetchError::Answer(format!("{url}: the tags cannot be read: {error}")))?;
            let tags = page.tags.unwrap_or_default().into_iter();
            versions.extend(tags.map(|tag| tag.replace('_', "+")).filter(|tag| is_strict(tag)));
            match next {
                Some(path) if path.starts_with("/v2/") => url = self.on_host(reference, &path),
                _ => break,
            }
        }
        versions.sort_by(|a, b| newest_first(a, b));
        Ok(versions)
    }

    /// The reference with the tag of the newest version that fits; a version that is wanted is believed to be there.
    ///
    /// # Errors
    /// No tag fits, or the reference has another tag than the one that is wanted.
    pub(super) async fn resolve(&self, reference: &Reference, wanted: &str) -> Result<Reference, FetchError> {
        let own = reference.tag.clone().unwrap_or_default();
        if !wanted.is_empty() && !own.is_empty() && own != wanted.replace('+', "_") {
            return Err(FetchError::Answer(format!(
                "chart reference and version mismatch: {wanted} is not {own}"
            )));
        }
        if reference.digest.is_some() {
            return Ok(reference.clone());
        }
        let wanted = if wanted.is_empty() { own.as_str() } else { wanted };
        if Version::parse(wanted).is_ok() {
            return Ok(reference.with_tag(wanted));
        }
        let tags = self.tags(reference).await?;
        if tags.is_empty() {
            return Err(FetchError::Answer(format!(
                "unable to locate any tags in provided repository: oci://{reference}"
            )));
        }
        let range = Constraint::parse(if wanted.is_empty() { "*" } else { wanted });
        let range = range.map_err(|error| FetchError::Answer(error.to_string()))?;
        let fits = |tag: &&String| Version::parse(tag).is_ok_and(|version| range.check(&version));
        let found = tags
            .iter()
            .find(|tag| *tag == wanted)
            .or_else(|| tags.iter().find(fits));
        found.map(|tag| reference.with_tag(tag)).ok_or_else(|| {
            FetchError::Answer(format!(
                "could not locate a version matching provided version string {wanted}"
            ))
        })
    }

    fn url(&self, reference: &Reference, rest: &str) -> String {
        self.on_host(reference, &format!("/v2/{}/{rest}", reference.repository))
    }

    fn on_host(&self, reference: &Reference, path: &str) -> String {
        let scheme = if self.client.access().plain_http {
            "http"
        } else {
            "https"
        };
        let host = match reference.host.as_str() {
            "docker.io" => "registry-1.docker.io",
            host => host,
        };
        format!("{scheme}://{host}{path}")
    }

    /// Asks, and logs in where that is asked for.
    async fn get(
        &self,
        url: &str,
        reference: &Reference,
        accept: &'static str,
    ) -> Result<Response, FetchError> {
        let headers = [(ACCEPT, HeaderValue::from_static(accept))].into_iter().collect();
        self.send(Method::GET, url, reference, headers, Content::Nothing)
            .await
    }

    /// Sends a request, and once more where the registry asks for a login. A redirect to another server is followed; a login
    /// that this one asks for is not given.
    async fn send(
        &self,
        method: Method,
        url: &str,
        reference: &Reference,
        mut headers: HeaderMap,
        content: Content<'_>,
    ) -> Result<Response, FetchError> {
        let scope = format!("{}/{}", reference.host, reference.repository);
        if let Some(value) = self.known_authorization(&scope) {
            headers.insert(AUTHORIZATION, value);
        }
        let whole = content.duration();
        let first = self
            .client
            .send(method.clone(), url, headers.clone(), content.body()?, whole);
        let response = first.await?;
        if response.status() != StatusCode::UNAUTHORIZED {
            return Ok(response);
        }
        let Some(challenge) = response
            .headers()
            .get(WWW_AUTHENTICATE)
            .and_then(|value| value.to_str().ok())
        else {
            return Ok(response);
        };
        // Whom a redirect has led to is not who the credentials are for.
        if !Url::parse(url).is_ok_and(|asked| is_same_server(&asked, response.url())) {
            return Ok(response);
        }
        let login = self.credentials.of(&reference.host);
        let value =
            token::authorization(&self.client, challenge, reference, &self.actions, login.as_ref()).await?;
        let Some(value) = value else { return Ok(response) };
        headers.insert(AUTHORIZATION, value.clone());
        let again = self.client.send(method, url, headers, content.body()?, whole);
        let response = again.await?;
        if let Ok(mut known) = self.authorization.lock() {
            *known = Some((scope, value));
        }
        Ok(response)
    }

    fn known_authorization(&self, scope: &str) -> Option<HeaderValue> {
        let known = self.authorization.lock().ok()?;
        known
            .as_ref()
            .filter(|(known, _)| known == scope)
            .map(|(_, value)| value.clone())
    }
}

/// The layer with the archive, among others such as the provenance file.
fn chart_layer(manifest: &Manifest) -> Result<&Descriptor, FetchError> {
    if manifest
        .config
        .as_ref()
        .is_none_or(|config| config.media_type != CONFIG)
    {
        return Err(FetchError::Answer(format!(
            "could not load config with mediatype {CONFIG}"
        )));
    }
    let layers = manifest.layers.as_deref().unwrap_or_default();
    let find = |kind: &str| layers.iter().find(|layer| layer.media_type == kind);
    let found = find(CHART).or_else(|| find(OLD_CHART));
    found.ok_or_else(|| {
        FetchError::Answer(format!(
            "manifest does not contain a layer with mediatype {CHART}"
        ))
    })
}

async fn read(response: Response, url: &str, name: &str, limit: u64) -> Result<Vec<u8>, FetchError> {
    match response.status() {
        StatusCode::OK => body(response, url, limit).await,
        StatusCode::NOT_FOUND => Err(FetchError::Answer(format!("{name}: not found"))),
        status => Err(FetchError::Status {
            url: url.to_owned(),
            status,
        }),
    }
}

fn digest(content: &[u8]) -> String {
    let bytes = Sha256::digest(content);
    bytes
        .iter()
        .fold("sha256:".to_owned(), |text, byte| format!("{text}{byte:02x}"))
}

/// Whether a tag is a whole version, with three numbers.
fn is_strict(tag: &str) -> bool {
    let core = tag.split(['-', '+']).next().unwrap_or_default();
    core.split('.').count() == 3
        && tag.starts_with(|first: char| first.is_ascii_digit())
        && Version::parse(tag).is_ok()
}

/// The path of the next page that a `Link` header names, on the same host.
fn next_page(header: &HeaderValue) -> Option<String> {
    let text = header.to_str().ok()?;
    let (link, parameters) = text.strip_prefix('<')?.split_once('>')?;
    parameters.contains("rel=\"next\"").then(|| link.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tags_are_whole_versions() {
        for (tag, expect) in [
            ("1.2.3", true),
            ("1.2", false),
            ("v1.2.3", false),
            ("1.2.3-rc.1+b", true),
            ("latest", false),
        ] {
            assert_eq!(is_strict(tag), expect, "{tag}");
        }
    }

    #[test]
    fn the_next_page_is_on_the_same_host() {
        let next = |text: &str| next_page(&HeaderValue::from_str(text).unwrap());
        let link = "</v2/a/tags/list?last=1&n=2>; rel=\"next\"";
        assert_eq!(next(link).as_deref(), Some("/v2/a/tags/list?last=1&n=2"));
        assert_eq!(next("</v2/a>; rel=\"last\""), None);
    }
}

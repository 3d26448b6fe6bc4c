//! Bringing an image into a registry.
//!
//! Blobs come first, then the manifests that name them, then the one that the tag shall name: whoever asks for the tag
//! meanwhile gets the old image or the new one, whole.

use std::net::IpAddr;

use reqwest::header::{CONTENT_TYPE, HeaderMap, HeaderValue, LOCATION};
use reqwest::{Method, Response, StatusCode, Url};
use serde::Deserialize;
use steersman_image::{Blob, Release};

use super::source::{ImageSource, PullError};
use super::token::Actions;
use super::upload::Content;
use super::{Reference, Registries};
use crate::address::is_same_server;
use crate::client::{Access, Client, FetchError, body};
use crate::settings::Settings;

/// The longest complaint of a registry that is read.
const MAX_COMPLAINT: u64 = 64 << 10;
/// How much of a complaint is passed on.
const MAX_MESSAGE: usize = 300;

/// Reported for each blob of an image while it is pushed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PushStep {
    /// The registry has this blob already.
    Exists {
        /// The size of the blob.
        bytes: u64,
    },
    /// The registry has this blob in the repository of the base, and takes it from there.
    Mounted {
        /// The size of the blob.
        bytes: u64,
    },
    /// The blob, a layer of the base, is being fetched: the registry that gets it does not have it.
    Fetching {
        /// The size of the blob.
        bytes: u64,
    },
    /// The blob is being sent.
    Sending {
        /// The size of the blob.
        bytes: u64,
    },
}

/// Why an image could not be pushed.
#[derive(Debug, thiserror::Error)]
pub enum PushError {
    /// The registry is not reached, or tokens are not given.
    #[error("failed to push {image}")]
    Ask {
        /// `registry.example.com/team/web:1.2.3`
        image: String,
        /// What went wrong.
        source: FetchError,
    },
    /// The registry says no.
    #[error("failed to push {image}: the registry answers {status} to {attempt}{complaint}")]
    Refused {
        /// `registry.example.com/team/web:1.2.3`
        image: String,
        /// What was tried.
        attempt: String,
        /// The answer.
        status: StatusCode,
        /// What the registry says about it.
        complaint: String,
    },
    /// The registry does not say where a blob goes to, or says that it got another one.
    #[error("failed to push {image}: {reason}")]
    Answer {
        /// `registry.example.com/team/web:1.2.3`
        image: String,
        /// What is wrong with the answer.
        reason: String,
    },
    /// A layer of the base is needed, and does not come.
    #[error("failed to push {image}")]
    Base {
        /// `registry.example.com/team/web:1.2.3`
        image: String,
        /// What went wrong.
        source: PullError,
    },
}

#[derive(Deserialize)]
struct Complaints {
    #[serde(default)]
    errors: Vec<Complaint>,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct Complaint {
    code: String,
    message: String,
}

/// Pushes an image under its name. What the registry has already is not sent: layers of a base that lies in the same
/// registry are taken from there, and those of one that lies elsewhere are fetched from `base` when they are missing.
///
/// Registries on this machine are talked to without TLS, as every tool does; `access` says so for others.
///
/// # Errors
/// The registry is not reached, does not let us in, or takes it not.
pub async fn push(
    release: &Release,
    base: Option<&ImageSource>,
    mut access: Access,
    settings: &Settings,
    progress: &dyn Fn(PushStep),
) -> Result<(), PushError> {
    let reference = Reference::of_image(release.reference());
    access.plain_http |= is_this_machine(&reference.host);
    let client = Client::new(&access).map_err(|source| PushError::Ask {
        image: reference.to_string(),
        source,
    })?;
    let neighbour = base.and_then(|base| base.repository_at(&reference.host));
    let neighbour = neighbour.filter(|repository| *repository != reference.repository);
    let registries = Registries {
        actions: Actions {
            own: "pull,push",
            pull_from: neighbour.map(str::to_owned),
        },
        ..Registries::new(client, settings)
    };
    let push = Push {
        registries,
        base,
        reference,
    };
    for blob in release.blobs() {
        push.blob(blob, progress).await?;
    }
    let root = release.root();
    for manifest in release.manifests() {
        let is_root = root.is_some_and(|root| root.digest() == manifest.digest());
        let name = if is_root {
            release.reference().tag()
        } else {
            manifest.digest()
        };
        push.manifest(manifest, name).await?;
    }
    Ok(())
}

/// A host that is this machine, by its name.
pub(super) fn is_this_machine(host: &str) -> bool {
    let Ok(url) = Url::parse(&format!("http://{host}")) else {
        return false;
    };
    let host = url.host_str().unwrap_or_default();
    let address: Result<IpAddr, _> = host.trim_matches(['[', ']']).parse();
    host == "localhost" || address.is_ok_and(|address| address.is_loopback())
}

/// A push under way: the client of the registry, what the image is called there, and where the layers below it come from.
struct Push<'a> {
    registries: Registries,
    base: Option<&'a ImageSource>,
    reference: Reference,
}

impl Push<'_> {
    async fn blob(&self, blob: &Blob, progress: &dyn Fn(PushStep)) -> Result<(), PushError> {
        let bytes = blob.size();
        let url = self.url(&format!("blobs/{}", blob.digest()));
        let answer = self
            .send(Method::HEAD, &url, HeaderMap::new(), Content::Nothing)
            .await?;
        if answer.status() == StatusCode::OK {
            progress(PushStep::Exists { bytes });
            return Ok(());
        }
        if self.mount(blob).await? {
            progress(PushStep::Mounted { bytes });
            return Ok(());
        }
        if let (Some(base), false) = (self.base, blob.is_here()) {
            let on_layer = |bytes| progress(PushStep::Fetching { bytes });
            let layers = [blob];
            let fetched = base.fetch(&layers, &on_layer).await;
            fetched.map_err(|source| PushError::Base {
                image: self.reference.to_string(),
                source,
            })?;
        }
        progress(PushStep::Sending { bytes });
        let url = self.url("blobs/uploads/");
        let answer = self.send(Method::POST, &url, HeaderMap::new(), Content::Empty);
        let answer = answer.await?;
        let answer = self.expect(StatusCode::ACCEPTED, answer, "an upload").await?;
        let answer = self.upload(&url, &answer, blob).await?;
        let attempt = format!("the blob {}", blob.digest());
        self.expect(StatusCode::CREATED, answer, &attempt).await?;
        Ok(())
    }

    /// Whether the registry takes a layer of the base from the repository where that is. One that does not know of it, or
    /// does not let us read there, begins an upload or refuses: then it is sent as others are. An upload that was begun is
    /// left to the registry, which forgets those that nobody goes on with.
    async fn mount(&self, blob: &Blob) -> Result<bool, PushError> {
        let Some(repository) = &self.registries.actions.pull_from else {
            return Ok(false);
        };
        if blob.content().is_some() {
            return Ok(false);
        }
        let Ok(mut url) = Url::parse(&self.url("blobs/uploads/")) else {
            return Ok(false);
        };
        url.query_pairs_mut()
            .append_pair("mount", blob.digest())
            .append_pair("from", repository);
        let answer = self.send(Method::POST, url.as_str(), HeaderMap::new(), Content::Empty);
        Ok(answer.await?.status() == StatusCode::CREATED)
    }

    /// Sends a blob to where the registry wants it. Credentials go to the registry's own server alone.
    async fn upload(&self, asked: &str, answer: &Response, blob: &Blob) -> Result<Response, PushError> {
        let wrong = |reason: &str| PushError::Answer {
            image: self.reference.to_string(),
            reason: reason.to_owned(),
        };
        let base = Url::parse(asked).map_err(|_| wrong("its registry is none"))?;
        let place = answer
            .headers()
            .get(LOCATION)
            .and_then(|place| place.to_str().ok());
        let place = place.and_then(|place| base.join(place).ok());
        let mut place = place.ok_or_else(|| wrong("the registry does not say where blobs go to"))?;
        place.query_pairs_mut().append_pair("digest", blob.digest());
        let headers = content_type("application/octet-stream");
        if is_same_server(&base, &place) {
            return self
                .send(Method::PUT, place.as_str(), headers, Content::Blob(blob))
                .await;
        }
        if place.scheme() != "https" {
            return Err(wrong("the registry sends blobs to another server, without TLS"));
        }
        let content = Content::Blob(blob);
        let body = content.body().map_err(|source| self.failed(source))?;
        let answer =
            self.registries
                .client
                .send(Method::PUT, place.as_str(), headers, body, content.duration());
        answer.await.map_err(|source| self.failed(source))
    }

    async fn manifest(&self, manifest: &Blob, name: &str) -> Result<(), PushError> {
        let url = self.url(&format!("manifests/{name}"));
        let headers = content_type(manifest.media_type());
        let answer = self
            .send(Method::PUT, &url, headers, Content::Blob(manifest))
            .await?;
        let answer = self.expect(StatusCode::CREATED, answer, "the manifest").await?;
        match answer.headers().get("docker-content-digest") {
            Some(digest) if digest.as_bytes() != manifest.digest().as_bytes() => Err(PushError::Answer {
                image: self.reference.to_string(),
                reason: format!(
                    "the registry has the manifest {} as {}",
                    manifest.digest(),
                    digest.to_str().unwrap_or("something else")
                ),
            }),
            _ => Ok(()),
        }
    }

    fn url(&self, rest: &str) -> String {
        self.registries.url(&self.reference, rest)
    }

    async fn send(
        &self,
        method: Method,
        url: &str,
        headers: HeaderMap,
        content: Content<'_>,
    ) -> Result<Response, PushError> {
        let answer = self
            .registries
            .send(method, url, &self.reference, headers, content);
        answer.await.map_err(|source| self.failed(source))
    }

    fn failed(&self, source: FetchError) -> PushError {
        PushError::Ask {
            image: self.reference.to_string(),
            source,
        }
    }

    async fn expect(
        &self,
        expected: StatusCode,
        answer: Response,
        attempt: &str,
    ) -> Result<Response, PushError> {
        let status = answer.status();
        if status == expected {
            return Ok(answer);
        }
        let text = body(answer, "", MAX_COMPLAINT).await.unwrap_or_default();
        Err(PushError::Refused {
            image: self.reference.to_string(),
            attempt: attempt.to_owned(),
            status,
            complaint: complaint(&text),
        })
    }
}

fn content_type(media_type: &str) -> HeaderMap {
    let value = HeaderValue::from_str(media_type).ok();
    value.map(|value| (CONTENT_TYPE, value)).into_iter().collect()
}

/// What a registry says of the reason, on one line.
fn complaint(text: &[u8]) -> String {
    let complaints: Option<Complaints> = serde_json::from_slice(text).ok();
    let Some(first) = complaints.and_then(|complaints| complaints.errors.into_iter().next()) else {
        return String::new();
    };
    let said = format!(": {} {}", first.code, first.message);
    said.chars()
        .map(|letter| if letter.is_control() { ' ' } else { letter })
        .take(MAX_MESSAGE)
        .collect::<String>()
        .trim_end()
        .to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn this_machine_is_known_by_its_names() {
        for (host, expect) in [
            ("localhost:5000", true),
            ("127.0.0.1", true),
            ("[::1]:80", true),
            ("127.0.0.1.example.com", false),
            ("localhost.example.com", false),
            ("10.0.0.1:5000", false),
            ("", false),
        ] {
            assert_eq!(is_this_machine(host), expect, "{host}");
        }
    }

    #[test]
    fn complaints_are_one_line() {
        let text = br#"{"errors":[{"code":"DENIED","message":"no\nway"},{"code":"X"}]}"#;
        assert_eq!(complaint(text), ": DENIED no way");
        assert_eq!(complaint(br#"{"errors":[]}"#), "");
        assert_eq!(complaint(b"<html>"), "");
    }
}

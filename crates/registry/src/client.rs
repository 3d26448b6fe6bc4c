//! Asking servers for charts and indexes.

use std::path::{Path, PathBuf};
use std::time::Duration;

use bytes::Bytes;
use reqwest::header::{ACCEPT, HeaderMap};
use reqwest::{Body, Certificate, Identity, Method, Response, StatusCode, Url};
use steersman_model::{chain, old_certificate};

use super::address::is_same_server;

/// How long a server may take to accept a connection.
const CONNECT: Duration = Duration::from_secs(30);
/// How long a server may send nothing.
const SILENCE: Duration = Duration::from_mins(1);
/// How long one answer may take as a whole.
pub(super) const WHOLE: Duration = Duration::from_mins(10);
/// How long the layer of an image may take, which may be some hundred megabytes.
pub(super) const LAYER: Duration = Duration::from_hours(2);

/// How a server is talked to, and as whom.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Access {
    /// User name.
    pub username: String,
    /// Sent with the user name, as basic authentication; empty for none.
    pub password: String,
    /// Whether other servers than the repository's get user name and password, too.
    pub pass_credentials: bool,
    /// Certificate to show.
    pub cert_file: Option<PathBuf>,
    /// Key of that certificate.
    pub key_file: Option<PathBuf>,
    /// Certificate authority of the server, in place of the system's.
    pub ca_file: Option<PathBuf>,
    /// Whether the server's certificate is not checked.
    pub insecure: bool,
    /// Whether registries are talked to without TLS.
    pub plain_http: bool,
}

/// Why something could not be fetched.
#[derive(Debug, thiserror::Error)]
pub enum FetchError {
    /// The address is none that can be asked.
    #[error("{0}")]
    Address(String),
    /// A certificate or key cannot be used.
    #[error("can't create TLS config for client: {0}")]
    Tls(String),
    /// The server is not reached, or it ends the answer before its end.
    #[error("Get {url:?}: {reason}")]
    Request {
        /// What was asked for.
        url: String,
        /// What went wrong.
        reason: String,
    },
    /// The server refuses.
    #[error("failed to fetch {url} : {status}")]
    Status {
        /// What was asked for.
        url: String,
        /// The answer.
        status: StatusCode,
    },
    /// The answer is larger than anything that is useful.
    #[error("the answer from {url} is larger than the maximum size {limit}")]
    TooLarge {
        /// What was asked for.
        url: String,
        /// How large it may be.
        limit: u64,
    },
    /// The answer is not what it should be.
    #[error("{0}")]
    Answer(String),
    /// What is to be sent can't be read.
    #[error("failed to read the blob {digest}")]
    Content {
        /// What a manifest calls it.
        digest: String,
        /// What the system says.
        source: std::io::Error,
    },
}

/// A client for one [`Access`].
#[derive(Clone, Debug)]
pub(super) struct Client {
    http: reqwest::Client,
    access: Access,
}

impl Client {
    /// A client that talks like this.
    ///
    /// # Errors
    /// A certificate or key cannot be read.
    pub(super) fn new(access: &Access) -> Result<Self, FetchError> {
        let mut builder = reqwest::Client::builder()
            .user_agent(concat!("steersman/", env!("CARGO_PKG_VERSION")))
            .connect_timeout(CONNECT)
            .read_timeout(SILENCE)
            .timeout(WHOLE)
            .tls_danger_accept_invalid_certs(access.insecure);
        if let (Some(cert), Some(key)) = (&access.cert_file, &access.key_file) {
            let pem = [read(cert)?, b"\n".to_vec(), read(key)?].concat();
            let identity = Identity::from_pem(&pem).map_err(|error| FetchError::Tls(chain(&error)))?;
            builder = builder.identity(identity);
        }
        if let Some(file) = &access.ca_file {
            let roots = Certificate::from_pem_bundle(&read(file)?);
            let roots = roots.map_err(|error| FetchError::Tls(chain(&error)))?;
            builder = builder.tls_certs_only(roots);
        }
        let http = builder
            .build()
            .map_err(|error| unusable(access, &chain(&error)))?;
        Ok(Self {
            http,
            access: access.clone(),
        })
    }

    pub(super) fn access(&self) -> &Access {
        &self.access
    }

    /// The body of what `url` gives, of at most `limit` bytes. User name and password go along if `url` is on the
    /// server of `owner`, or if they are for all.
    ///
    /// # Errors
    /// The server is not reached, refuses, or gives too much.
    pub(super) async fn get(
        &self,
        url: &str,
        owner: &str,
        accept: Option<&str>,
        limit: u64,
    ) -> Result<Vec<u8>, FetchError> {
        let parse = |text: &str| {
            Url::parse(text)
                .map_err(|error| FetchError::Address(format!("unable to parse URL {text:?}: {error}")))
        };
        let target = parse(url)?;
        if !matches!(target.scheme(), "http" | "https") {
            let scheme = target.scheme();
            return Err(FetchError::Address(format!("scheme {scheme:?} not supported")));
        }
        let Access {
            username,
            password,
            pass_credentials,
            ..
        } = &self.access;
        let mut request = self.http.get(target.clone());
        if let Some(accept) = accept {
            request = request.header(ACCEPT, accept);
        }
        let is_meant = *pass_credentials || is_same_server(&parse(owner)?, &target);
        if is_meant && !username.is_empty() && !password.is_empty() {
            request = request.basic_auth(username, Some(password));
        }
        let response = request.send().await.map_err(|error| failed(url, error))?;
        if response.status() != StatusCode::OK {
            return Err(FetchError::Status {
                url: url.to_owned(),
                status: response.status(),
            });
        }
        body(response, url, limit).await
    }

    /// The answer to a GET with these headers and nothing else, of whatever status.
    pub(super) async fn ask(&self, url: &str, headers: HeaderMap) -> Result<Response, FetchError> {
        self.send(Method::GET, url, headers, None, WHOLE).await
    }

    /// The answer to any request, of whatever status, which may take so long as a whole.
    pub(super) async fn send(
        &self,
        method: Method,
        url: &str,
        headers: HeaderMap,
        content: Option<Body>,
        whole: Duration,
    ) -> Result<Response, FetchError> {
        let mut request = self.http.request(method, url).headers(headers).timeout(whole);
        if let Some(content) = content {
            request = request.body(content);
        }
        request.send().await.map_err(|error| failed(url, error))
    }
}

/// Reads an answer, but no more of it than is allowed.
pub(super) async fn body(mut response: Response, url: &str, limit: u64) -> Result<Vec<u8>, FetchError> {
    let mut content = Vec::new();
    while let Some(chunk) = chunk(&mut response, url).await? {
        content.extend_from_slice(&chunk);
        if content.len() as u64 > limit {
            return Err(FetchError::TooLarge {
                url: url.to_owned(),
                limit,
            });
        }
    }
    Ok(content)
}

/// What arrives next of an answer; `None` at its end.
pub(super) async fn chunk(response: &mut Response, url: &str) -> Result<Option<Bytes>, FetchError> {
    response.chunk().await.map_err(|error| failed(url, error))
}

/// Why there is no client: of what can be wrong, a certificate has a name.
fn unusable(access: &Access, said: &str) -> FetchError {
    match (&access.cert_file, old_certificate(said)) {
        (Some(file), Some(reason)) => FetchError::Tls(format!("{} can't be used: {reason}", file.display())),
        _ => FetchError::Tls(said.to_owned()),
    }
}

/// The error without the URL, which may hold a password and is named already.
fn failed(url: &str, error: reqwest::Error) -> FetchError {
    let said = chain(&error.without_url());
    FetchError::Request {
        url: without_password(url),
        reason: match old_certificate(&said) {
            Some(reason) => format!("the server's certificate can't be used: {reason}"),
            None => said,
        },
    }
}

fn without_password(url: &str) -> String {
    match Url::parse(url) {
        Ok(mut parsed) if parsed.password().is_some() => {
            let _ = parsed.set_password(Some("xxxxx"));
            parsed.into()
        }
        _ => url.to_owned(),
    }
}

fn read(path: &Path) -> Result<Vec<u8>, FetchError> {
    std::fs::read(path)
        .map_err(|error| FetchError::Tls(format!("unable to read {}: {error}", path.display())))
}

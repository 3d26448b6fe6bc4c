//! The way to the API server: connections that are shared, and nothing that changes what goes over them.

mod connector;

use std::pin::Pin;

use hyper::body::Incoming;
use hyper::header::{ACCEPT, HeaderName, HeaderValue, InvalidHeaderValue};
use hyper::http::uri::PathAndQuery;
use hyper::{Method, Request, Response};
use kube::client::AuthError;
use steersman_cluster::client::ServiceAccount;
use steersman_model::chain;
use tower::ServiceExt as _;
use tower::util::BoxCloneSyncService;

use crate::body::{Body, BoxError, empty};
use crate::refusal::{ANSWER, Refusal};

const IMPERSONATE_USER: HeaderName = HeaderName::from_static("impersonate-user");

pub(crate) type Service = BoxCloneSyncService<Request<Body>, Response<Incoming>, BoxError>;

type Answering = Pin<Box<dyn Future<Output = Result<Response<Incoming>, BoxError>> + Send>>;

/// Why requests can't be sent on. No text of these holds a credential.
#[derive(Debug, thiserror::Error)]
pub enum UpstreamError {
    /// The credentials or certificates can't be used.
    #[error("failed to set up connections to the API server")]
    Configuration(#[source] Box<kube::Error>),
    /// The configuration names a proxy of a kind that is not known.
    #[error(
        "failed to set up connections to the API server: its proxy is reached by `{0}`, and not by http or https"
    )]
    Proxy(String),
}

/// Where requests go on to: the API server, as the operator itself or as an account that it may impersonate.
///
/// Answers come as they are, whatever they say: nothing is sent again that the server has refused.
///
/// ```
/// use steersman_proxy::Upstream;
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// // The operator's own: `steersman_cluster::client::configuration` reads it.
/// let configuration = kube::Config::new("https://10.0.0.1".parse()?);
/// let upstream = Upstream::new(&configuration)?;
/// # let _ = upstream;
/// # Ok(())
/// # }
/// ```
#[derive(Clone)]
pub struct Upstream {
    service: Service,
    /// Whether the configuration names a user to act as: then nobody else can be acted as.
    is_another: bool,
}

impl std::fmt::Debug for Upstream {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Upstream").finish_non_exhaustive()
    }
}

impl Upstream {
    /// Sends requests by this configuration. Nothing is sent yet.
    ///
    /// # Errors
    /// The credentials or certificates of the configuration can't be used.
    pub fn new(configuration: &kube::Config) -> Result<Self, UpstreamError> {
        let identity = &configuration.auth_info;
        Ok(Self {
            service: connector::service(configuration)?,
            is_another: identity.impersonate.is_some() || identity.impersonate_groups.is_some(),
        })
    }

    /// Whether requests can be those of an account: the server would see one of two users.
    pub(crate) fn may_impersonate(&self) -> bool {
        !self.is_another
    }

    /// Sends a request, whose URI is a path. Without patience its answer may begin at any time.
    pub(crate) async fn send(
        &self,
        mut request: Request<Body>,
        account: Option<&Impersonated>,
        patience: Patience,
    ) -> Result<Response<Incoming>, Refusal> {
        if let Some(Impersonated(user)) = account {
            request.headers_mut().insert(IMPERSONATE_USER, user.clone());
        }
        let answer = self.begin(request);
        let answer = match patience {
            Patience::Usual => tokio::time::timeout(ANSWER, answer)
                .await
                .map_err(|_| Refusal::Late)?,
            Patience::Endless => answer.await,
        };
        answer.map_err(|error| Refusal::Unreachable(presentable(error)))
    }

    /// A future without the type of the client in it, of which the compiler could not tell that it goes from thread to
    /// thread.
    fn begin(&self, request: Request<Body>) -> Answering {
        Box::pin(self.service.clone().oneshot(request))
    }

    /// Reads something for the proxy itself.
    pub(crate) async fn get(
        &self,
        path: PathAndQuery,
        accept: &'static str,
        account: Option<&Impersonated>,
    ) -> Result<Response<Incoming>, Refusal> {
        let mut request = Request::new(empty());
        *request.method_mut() = Method::GET;
        *request.uri_mut() = path.into();
        request
            .headers_mut()
            .insert(ACCEPT, HeaderValue::from_static(accept));
        self.send(request, account, Patience::Usual).await
    }
}

/// How long the beginning of an answer is waited for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Patience {
    /// As long as the API server needs at most.
    Usual,
    /// What answers is a pod, or what a pod prints.
    Endless,
}

/// As whom requests are sent. Groups are not named: the API server adds those of a `ServiceAccount`.
#[derive(Clone, Debug)]
pub(crate) struct Impersonated(HeaderValue);

impl Impersonated {
    pub(crate) fn new(account: &ServiceAccount) -> Result<Self, InvalidHeaderValue> {
        HeaderValue::try_from(account.user()).map(Self)
    }
}

/// The error without what a credential plugin prints.
fn presentable(error: BoxError) -> BoxError {
    if error.is::<AuthError>() {
        return "the credentials of the operator can't be had".into();
    }
    tracing::debug!(error = chain(error.as_ref()), "A request has no answer");
    error
}

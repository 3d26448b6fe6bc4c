//! The client that requests go through, of the parts that kube's client is made of.

use std::time::Duration;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use hyper::Request;
use hyper::header::HeaderValue;
use hyper::http::Uri;
use hyper::rt::{Read, Write};
use hyper_util::client::legacy;
use hyper_util::client::legacy::connect::proxy::Tunnel;
use hyper_util::client::legacy::connect::{Connection, HttpConnector};
use hyper_util::rt::{TokioExecutor, TokioTimer};
use kube::client::ConfigExt as _;
use tower::{BoxError, ServiceBuilder};

use super::{Service, UpstreamError};
use crate::body::Body;
use crate::request::decoded;

/// How long a connection may take to be there.
const CONNECT: Duration = Duration::from_secs(10);

/// How long an unused connection is kept. The API server keeps it for 90 seconds, and a request must not meet its end.
const UNUSED: Duration = Duration::from_mins(1);

/// How long a connection may be silent until the system asks whether the other side is still there.
const KEEPALIVE: Duration = Duration::from_secs(30);

/// The client for a configuration: its server, its proxy, its certificates, its credentials.
pub(super) fn service(configuration: &kube::Config) -> Result<Service, UpstreamError> {
    let mut plain = HttpConnector::new();
    plain.enforce_http(false);
    plain.set_nodelay(true);
    plain.set_connect_timeout(Some(CONNECT));
    plain.set_keepalive(Some(KEEPALIVE));
    plain.set_keepalive_interval(Some(KEEPALIVE));
    let Some(proxy) = &configuration.proxy_url else {
        return over(plain, configuration);
    };
    match proxy.scheme_str().unwrap_or("http") {
        "http" => over(tunnel(proxy, plain), configuration),
        "https" => {
            let connector = configuration
                .rustls_https_connector_with_connector(plain)
                .map_err(unusable)?;
            over(tunnel(proxy, connector), configuration)
        }
        other => Err(UpstreamError::Proxy(other.to_owned())),
    }
}

fn over<C>(connector: C, configuration: &kube::Config) -> Result<Service, UpstreamError>
where
    C: tower::Service<Uri> + Clone + Send + Sync + 'static,
    C::Response: Connection + Read + Write + Send + Unpin,
    C::Future: Send,
    C::Error: Into<BoxError> + Send,
{
    let secure = configuration
        .rustls_https_connector_with_connector(connector)
        .map_err(unusable)?;
    let client: legacy::Client<_, Body> = legacy::Client::builder(TokioExecutor::new())
        .pool_timer(TokioTimer::new())
        .pool_idle_timeout(UNUSED)
        .build(secure);
    let stack = ServiceBuilder::new()
        .layer(configuration.base_uri_layer())
        .option_layer(configuration.auth_layer().map_err(unusable)?)
        .layer(configuration.extra_headers_layer().map_err(unusable)?)
        .map_err(BoxError::from)
        .service(client);
    let stack = ServiceBuilder::new()
        .map_err(BoxError::from)
        .map_request(|request: Request<Body>| request)
        .service(stack);
    Ok(Service::new(stack))
}

/// A connector through a proxy, with the user that its URL names.
fn tunnel<C>(proxy: &Uri, connector: C) -> Tunnel<C> {
    let tunnel = Tunnel::new(proxy.clone(), connector);
    let user = proxy
        .authority()
        .and_then(|authority| authority.as_str().rsplit_once('@'));
    let user = user.and_then(|(user, _)| decoded(user));
    let header = user.and_then(|user| HeaderValue::try_from(format!("Basic {}", STANDARD.encode(user))).ok());
    match header {
        Some(header) => tunnel.with_auth(header),
        None => tunnel,
    }
}

fn unusable(error: kube::Error) -> UpstreamError {
    UpstreamError::Configuration(Box::new(error))
}

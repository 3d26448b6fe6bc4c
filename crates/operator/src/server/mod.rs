//! The ports of the operator: `/healthz` and `/readyz` on one, `/metrics` on another, and one on which roles leave values for
//! metrics.

mod access;
mod answer;
mod connections;
mod readiness;
mod reviews;
mod role_metrics;
mod tls;

use std::convert::Infallible;
use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::time::Duration;

pub use access::{Guard, Review, ReviewError, Verdict};
use answer::Content;
use connections::{Activity, Connections};
use hyper::Request;
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::{TokioIo, TokioTimer};
pub use readiness::Readiness;
pub use reviews::ApiReviews;
pub use tls::{Tls, TlsError};
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::{TcpListener, TcpStream};

use crate::metrics::Metrics;

const HEALTH: &str = "/healthz and /readyz";
const METRICS: &str = "/metrics";
pub(crate) const ROLE_METRICS: &str = "values of osdk_metric";

/// How long a client may take to send the head of a request.
const HEAD_TIMEOUT: Duration = Duration::from_secs(10);

/// Why a port cannot be served.
#[derive(Debug, thiserror::Error)]
#[error("failed to listen on {address} for {purpose}")]
pub struct BindError {
    /// The address, as it was asked for.
    pub address: SocketAddr,
    /// The paths, such as `/healthz and /readyz`.
    pub purpose: &'static str,
    /// What the operating system says.
    pub source: io::Error,
}

/// A port that is open and not served yet.
#[derive(Debug)]
pub struct Port {
    listener: TcpListener,
    content: Content,
    tls: Option<Tls>,
}

impl Port {
    /// Opens the port of the probes.
    ///
    /// # Errors
    /// The address is in use, or is not ours.
    pub async fn health(address: SocketAddr, readiness: Readiness) -> Result<Self, BindError> {
        let listener = bind(address, HEALTH).await?;
        Ok(Self {
            listener,
            content: Content::Health(readiness),
            tls: None,
        })
    }

    /// Opens the port of the metrics, for whom the guard lets in; without one, for everybody.
    ///
    /// # Errors
    /// The address is in use, or is not ours.
    pub async fn metrics(
        address: SocketAddr,
        metrics: Metrics,
        guard: Option<Guard>,
    ) -> Result<Self, BindError> {
        let listener = bind(address, METRICS).await?;
        Ok(Self {
            listener,
            content: Content::Metrics(metrics, guard),
            tls: None,
        })
    }

    /// Opens the port of the loopback address on which roles leave values for metrics; 0 is any one that is free.
    ///
    /// # Errors
    /// It is in use.
    pub async fn role_metrics(port: u16, metrics: Metrics) -> Result<Self, BindError> {
        let address = SocketAddr::from((Ipv4Addr::LOCALHOST, port));
        Ok(Self {
            listener: bind(address, ROLE_METRICS).await?,
            content: Content::RoleMetrics(metrics),
            tls: None,
        })
    }

    /// The same port, for clients that speak TLS.
    #[must_use]
    pub fn over_tls(self, tls: Tls) -> Self {
        Self {
            tls: Some(tls),
            ..self
        }
    }

    /// Where the port really is: of interest where port 0 was asked for.
    ///
    /// # Errors
    /// The operating system does not know, which does not happen to a port that listens.
    pub fn address(&self) -> io::Result<SocketAddr> {
        self.listener.local_addr()
    }

    /// The paths that the port serves, for people.
    pub fn purpose(&self) -> &'static str {
        match self.content {
            Content::Health(_) => HEALTH,
            Content::Metrics(..) => METRICS,
            Content::RoleMetrics(_) => ROLE_METRICS,
        }
    }

    /// Answers requests for as long as it is polled.
    ///
    /// # Cancellation
    /// Safe to drop; connections end with it.
    pub async fn serve(self) {
        let mut connections = Connections::default();
        loop {
            match self.listener.accept().await {
                Ok((stream, peer)) => {
                    let (content, tls) = (self.content.clone(), self.tls.clone());
                    let serve = |activity| async move {
                        match tls {
                            Some(tls) => answer_tls_connection(stream, &tls, &content, &activity).await,
                            None => answer_connection(stream, &content, &activity).await,
                        }
                    };
                    connections.serve(peer.ip(), serve).await;
                }
                Err(error) => {
                    // Out of file descriptors, mostly: that ends when other connections do.
                    tracing::warn!(
                        error = &error as &dyn std::error::Error,
                        "Failed to accept a connection"
                    );
                    tokio::time::sleep(Duration::from_millis(100)).await;
                }
            }
        }
    }
}

async fn bind(address: SocketAddr, purpose: &'static str) -> Result<TcpListener, BindError> {
    let listener = match TcpListener::bind(address).await {
        // A kernel without IPv6 knows no address of both families.
        Err(error) if address.ip() == Ipv6Addr::UNSPECIFIED && error.kind() != io::ErrorKind::AddrInUse => {
            TcpListener::bind((IpAddr::V4(Ipv4Addr::UNSPECIFIED), address.port())).await
        }
        result => result,
    };
    listener.map_err(|source| BindError {
        address,
        purpose,
        source,
    })
}

async fn answer_tls_connection(stream: TcpStream, tls: &Tls, content: &Content, activity: &Activity) {
    match tls.accept(stream).await {
        Ok(stream) => answer_connection(stream, content, activity).await,
        Err(error) => tracing::debug!(
            error = &error as &dyn std::error::Error,
            "Failed to agree on TLS with a client"
        ),
    }
}

async fn answer_connection<S>(stream: S, content: &Content, activity: &Activity)
where
    S: AsyncRead + AsyncWrite + Unpin,
{
    let service = service_fn(|request: Request<Incoming>| {
        let (head, body) = request.into_parts();
        let answering = activity.begin();
        async move {
            let answer = content.answer(&head, body).await;
            drop(answering);
            Ok::<_, Infallible>(answer)
        }
    });
    let connection = http1::Builder::new()
        .timer(TokioTimer::new())
        .header_read_timeout(HEAD_TIMEOUT)
        .serve_connection(TokioIo::new(stream), service);
    if let Err(error) = connection.await {
        tracing::debug!(
            error = &error as &dyn std::error::Error,
            "Failed to answer a request"
        );
    }
}

#[cfg(test)]
mod tests {
    use std::net::{Ipv4Addr, SocketAddr};

    use expect_test::{Expect, expect};
    use kube::core::GroupVersionKind;
    use tokio::io::{AsyncReadExt, AsyncWriteExt};
    use tokio::net::TcpStream;

    use super::{ApiReviews, Guard, Port, Readiness};
    use crate::metrics::Metrics;

    const ANY_PORT: SocketAddr = SocketAddr::new(std::net::IpAddr::V4(Ipv4Addr::LOCALHOST), 0);

    /// The answer to one request, without its date.
    async fn ask(address: SocketAddr, request_line: &str) -> String {
        let mut stream = TcpStream::connect(address).await.unwrap();
        let request = format!("{request_line} HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n");
        stream.write_all(request.as_bytes()).await.unwrap();
        let mut answer = String::new();
        stream.read_to_string(&mut answer).await.unwrap();
        let lines = answer.lines().filter(|line| !line.starts_with("date:"));
        lines.flat_map(|line| [line.trim(), "\n"]).collect()
    }

    async fn check(readiness: &Readiness, request_line: &str, expect: &Expect) {
        let port = Port::health(ANY_PORT, readiness.clone()).await.unwrap();
        let address = port.address().unwrap();
        let server = tokio::spawn(port.serve());
        expect.assert_eq(&ask(address, request_line).await);
        server.abort();
    }

    #[tokio::test]
    async fn a_healthy_operator_says_ok() {
        let readiness = Readiness::default();
        let ok = expect![[r"
            HTTP/1.1 200 OK
            content-type: text/plain; charset=utf-8
            connection: close
            content-length: 2

            ok
        "]];
        check(&readiness, "GET /healthz", &ok).await;
        check(&readiness, "GET /readyz", &ok).await;
    }

    #[tokio::test]
    async fn an_operator_that_waits_says_for_what() {
        let readiness = Readiness::default();
        let memcached = GroupVersionKind::gvk("cache.example.com", "v1", "Memcached");
        readiness.waiting(&memcached, "its CustomResourceDefinition is not there yet");
        readiness.ready(&GroupVersionKind::gvk("web.example.com", "v1", "Site"));
        let waits = expect![[r"
            HTTP/1.1 500 Internal Server Error
            content-type: text/plain; charset=utf-8
            connection: close
            content-length: 149

            [-]Memcached.v1.cache.example.com failed: its CustomResourceDefinition is not there yet
            [+]Site.v1.web.example.com ok
            [+]ping ok
            readyz check failed
        "]];
        check(&readiness, "GET /readyz", &waits).await;
        readiness.ready(&memcached);
        let verbose = expect![[r"
            HTTP/1.1 200 OK
            content-type: text/plain; charset=utf-8
            connection: close
            content-length: 98

            [+]Memcached.v1.cache.example.com ok
            [+]Site.v1.web.example.com ok
            [+]ping ok
            readyz check passed
        "]];
        check(&readiness, "GET /readyz?verbose=1", &verbose).await;
    }

    #[tokio::test]
    async fn other_paths_and_methods_are_refused() {
        let not_found = expect![[r"
            HTTP/1.1 404 Not Found
            content-type: text/plain; charset=utf-8
            connection: close
            content-length: 19

            404 page not found
        "]];
        check(&Readiness::default(), "GET /metrics", &not_found).await;
        let refused = expect![[r"
            HTTP/1.1 405 Method Not Allowed
            content-type: text/plain; charset=utf-8
            connection: close
            content-length: 19

            method not allowed
        "]];
        check(&Readiness::default(), "DELETE /readyz", &refused).await;
    }

    #[tokio::test]
    async fn metrics_are_served_in_the_text_format() {
        let port = Port::metrics(ANY_PORT, Metrics::new([]).unwrap(), None)
            .await
            .unwrap();
        let address = port.address().unwrap();
        let server = tokio::spawn(port.serve());
        let answer = ask(address, "GET /metrics").await;
        assert!(
            answer.contains("content-type: text/plain; version=0.0.4; charset=utf-8\n"),
            "{answer}"
        );
        assert!(answer.contains("helm_operator_build_info{commit="), "{answer}");
        server.abort();
    }

    #[tokio::test]
    async fn guarded_metrics_are_for_nobody_before_the_api_server_is_reached() {
        let guard = Guard::new(ApiReviews::default());
        let port = Port::metrics(ANY_PORT, Metrics::new([]).unwrap(), Some(guard))
            .await
            .unwrap();
        let address = port.address().unwrap();
        let server = tokio::spawn(port.serve());
        expect![[r"
            HTTP/1.1 401 Unauthorized
            content-type: text/plain; charset=utf-8
            www-authenticate: Bearer
            connection: close
            content-length: 13

            unauthorized
        "]]
        .assert_eq(&ask(address, "GET /metrics").await);
        let with_token = "GET /metrics HTTP/1.1\r\nAuthorization: Bearer x\r\nX-Rest:";
        let answer = ask(address, with_token).await;
        assert!(
            answer.contains("HTTP/1.1 500 Internal Server Error\n"),
            "{answer}"
        );
        assert!(answer.ends_with("\n\ninternal server error\n"), "{answer}");
        server.abort();
    }

    #[tokio::test]
    async fn a_busy_port_is_named() {
        let first = Port::health(ANY_PORT, Readiness::default()).await.unwrap();
        let address = first.address().unwrap();
        let error = Port::metrics(address, Metrics::new([]).unwrap(), None)
            .await
            .unwrap_err();
        let text = steersman_model::chain(&error).replace(&address.port().to_string(), "PORT");
        expect!["failed to listen on 127.0.0.1:PORT for /metrics: Address already in use (os error 98)"]
            .assert_eq(&text);
    }
}

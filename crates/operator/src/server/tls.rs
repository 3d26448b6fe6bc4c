//! TLS with a certificate that is made at the start, as controller-runtime does where it is given none.

use std::io;
use std::sync::Arc;
use std::time::Duration;

use tokio::net::TcpStream;
use tokio_rustls::TlsAcceptor;
use tokio_rustls::rustls::crypto::aws_lc_rs;
use tokio_rustls::rustls::pki_types::PrivatePkcs8KeyDer;
use tokio_rustls::rustls::{self, ServerConfig};
use tokio_rustls::server::TlsStream;

/// How long a client may take to agree on keys.
const HANDSHAKE_TIMEOUT: Duration = Duration::from_secs(10);

/// The names in the certificate. They are those of controller-runtime; nobody can check a certificate that is new
/// at every start.
const NAMES: [&str; 2] = ["localhost", "127.0.0.1"];

/// The server's side of TLS 1.2 and 1.3. Clones share the certificate.
#[derive(Clone)]
pub struct Tls {
    acceptor: TlsAcceptor,
}

/// Why there is no TLS.
#[derive(Debug, thiserror::Error)]
pub enum TlsError {
    /// No key or certificate can be made.
    #[error("failed to make a certificate for TLS")]
    Certificate(#[from] rcgen::Error),
    /// The key and the certificate cannot be used.
    #[error("failed to set up TLS")]
    Setup(#[from] rustls::Error),
}

impl Tls {
    /// With a new key, and a certificate that it signs itself. The key is in memory alone.
    ///
    /// # Errors
    /// The system gives no randomness.
    pub fn self_signed() -> Result<Self, TlsError> {
        let names = NAMES.map(str::to_owned);
        // It is valid for as long as any process runs: rcgen's default has no end to speak of.
        let made = rcgen::generate_simple_self_signed(names)?;
        let key = PrivatePkcs8KeyDer::from(made.signing_key.serialize_der());
        let mut config = ServerConfig::builder_with_provider(Arc::new(aws_lc_rs::default_provider()))
            .with_safe_default_protocol_versions()?
            .with_no_client_auth()
            .with_single_cert(vec![made.cert.der().clone()], key.into())?;
        config.alpn_protocols = vec![b"http/1.1".to_vec()];
        Ok(Self {
            acceptor: Arc::new(config).into(),
        })
    }

    /// Agrees with a client on keys.
    ///
    /// # Errors
    /// The client does not speak TLS, or takes too long.
    pub(super) async fn accept(&self, stream: TcpStream) -> io::Result<TlsStream<TcpStream>> {
        tokio::time::timeout(HANDSHAKE_TIMEOUT, self.acceptor.accept(stream)).await?
    }
}

impl std::fmt::Debug for Tls {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Tls")
    }
}

#[cfg(test)]
mod tests {
    use std::net::{IpAddr, Ipv4Addr, SocketAddr};

    use hyper::Request;
    use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
    use tokio::net::TcpStream;

    use super::Tls;
    use crate::metrics::Metrics;
    use crate::server::Port;

    #[tokio::test]
    async fn metrics_are_served_over_tls_and_not_in_the_clear() {
        let any_port = SocketAddr::new(IpAddr::V4(Ipv4Addr::LOCALHOST), 0);
        let port = Port::metrics(any_port, Metrics::new([]).unwrap(), None)
            .await
            .unwrap();
        let address = port.address().unwrap();
        let server = tokio::spawn(port.over_tls(Tls::self_signed().unwrap()).serve());

        let mut stream = TcpStream::connect(address).await.unwrap();
        stream
            .write_all(b"GET /metrics HTTP/1.1\r\nHost: x\r\n\r\n")
            .await
            .unwrap();
        let mut answer = Vec::new();
        // An alert, or a connection that is reset.
        let _ = stream.read_to_end(&mut answer).await;
        assert!(!answer.starts_with(b"HTTP"));

        let mut config = kube::Config::new(format!("https://{address}").parse().unwrap());
        config.accept_invalid_certs = true;
        let client = kube::Client::try_from(config).unwrap();
        let page = client
            .request_text(Request::get("/metrics").body(Vec::new()).unwrap())
            .await
            .unwrap();
        assert!(page.contains("helm_operator_build_info{commit="), "{page}");
        server.abort();
    }
}

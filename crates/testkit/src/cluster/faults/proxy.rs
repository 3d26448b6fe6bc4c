//! The proxy itself: TLS on one side, a client of the API server on the other.

use std::fs;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use http::header::{AUTHORIZATION, CONNECTION, CONTENT_LENGTH, HOST, TRANSFER_ENCODING};
use http::{Request, Response};
use http_body_util::BodyExt as _;
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::TokioIo;
use kube::Client;
use tokio::net::{TcpListener, TcpStream};
use tokio::task::{JoinHandle, JoinSet};
use tokio_rustls::TlsAcceptor;
use tokio_rustls::rustls::ServerConfig;
use tokio_rustls::rustls::crypto::aws_lc_rs;
use tokio_rustls::rustls::pki_types::PrivatePkcs8KeyDer;

use super::super::control_plane::ControlPlane;
use super::super::error::{ControlPlaneError, io_failed};
use super::super::kubeconfig::{self, User};
use super::answer::{Body, Closed, closed, made, passed, trickled, truncated, watched};
use super::call::Call;
use super::fault::{Action, Fault};
use super::script::{FaultId, Script};

/// Stands between an operator and the API server. It speaks HTTP/1.1 over TLS, as kube's client does.
///
/// It ends when this value is dropped, and with it every connection.
#[derive(Debug)]
pub struct FaultProxy {
    user: User,
    script: Arc<Script>,
    serving: JoinHandle<()>,
}

impl FaultProxy {
    /// Starts a proxy on a free loopback port, in the async runtime of the caller. No fault is in force.
    ///
    /// # Errors
    ///
    /// No port is to be had, or the user's credentials are unusable.
    pub async fn start(control_plane: &ControlPlane, user: &User) -> Result<Self, ControlPlaneError> {
        static STARTED: AtomicU32 = AtomicU32::new(0);
        let listener = TcpListener::bind("127.0.0.1:0")
            .await
            .map_err(io_failed("listen on", Path::new("127.0.0.1")))?;
        let port = listener
            .local_addr()
            .map_err(io_failed("listen on", Path::new("127.0.0.1")))?
            .port();
        let folder = control_plane.folder();
        let number = STARTED.fetch_add(1, Ordering::Relaxed);
        let authority = folder.join(format!("fault-proxy-{number}.crt"));
        let acceptor = acceptor(&authority)?;
        let path = folder.join(format!("fault-proxy-{number}.kubeconfig"));
        let server = format!("https://127.0.0.1:{port}");
        kubeconfig::write_for_server(&path, user.kubeconfig(), &server, &authority)?;

        let mut config = user.config().await?;
        // Trouble is passed on as it is.
        config.default_retry = false;
        let client = Client::try_from(config).map_err(|error| ControlPlaneError::Kubeconfig {
            path: user.kubeconfig().to_path_buf(),
            source: Box::new(error),
        })?;
        let script = Arc::new(Script::default());
        let serving = tokio::spawn(serve(listener, acceptor, client, Arc::clone(&script)));
        Ok(Self {
            user: User::new(user.name(), path),
            script,
            serving,
        })
    }

    /// The same user, with a kubeconfig that leads here.
    #[must_use]
    pub fn user(&self) -> &User {
        &self.user
    }

    /// Puts a fault in force.
    pub fn inject(&self, fault: Fault) -> FaultId {
        self.script.inject(fault)
    }

    /// Ends a fault; what it held up goes on.
    pub fn take_back(&self, fault: FaultId) {
        self.script.take_back(fault);
    }

    /// How often a fault has struck.
    #[must_use]
    pub fn struck(&self, fault: FaultId) -> usize {
        self.script.struck(fault)
    }

    /// Every request so far, in the order in which they came.
    #[must_use]
    pub fn trace(&self) -> Vec<Call> {
        self.script.trace()
    }

    /// The process that [`Fault::kill_before`] and [`Fault::kill_after`] kill.
    pub fn attach(&self, process: Option<u32>) {
        self.script.attach(process);
    }
}

impl Drop for FaultProxy {
    fn drop(&mut self) {
        self.serving.abort();
    }
}

async fn serve(listener: TcpListener, acceptor: TlsAcceptor, client: Client, script: Arc<Script>) {
    let mut connections = JoinSet::new();
    loop {
        // Without a descriptor there is nothing to be done but to try again.
        if let Ok((stream, _)) = listener.accept().await {
            let (acceptor, client, script) = (acceptor.clone(), client.clone(), Arc::clone(&script));
            connections.spawn(answer_connection(stream, acceptor, client, script));
        }
        while connections.try_join_next().is_some() {}
    }
}

async fn answer_connection(stream: TcpStream, acceptor: TlsAcceptor, client: Client, script: Arc<Script>) {
    let Ok(stream) = acceptor.accept(stream).await else {
        return;
    };
    let service = service_fn(|request| answer(request, client.clone(), Arc::clone(&script)));
    // An error is a fault of ours, or the operator has gone.
    let _ = http1::Builder::new()
        .serve_connection(TokioIo::new(stream), service)
        .await;
}

async fn answer(
    request: Request<Incoming>,
    client: Client,
    script: Arc<Script>,
) -> Result<Response<Body>, Closed> {
    let (mut head, body) = request.into_parts();
    let body = body.collect().await.map_err(closed)?.to_bytes();
    let call = Call::new(&head.method, &head.uri, &body);
    for header in [HOST, CONNECTION, CONTENT_LENGTH, TRANSFER_ENCODING, AUTHORIZATION] {
        head.headers.remove(header);
    }
    let (fault, action) = script.met(&call).unzip();
    match &action {
        Some(Action::Answer(answer)) => return Ok(made(answer)),
        Some(Action::Drop) => return Err(closed("the request is dropped")),
        Some(Action::Hang) => std::future::pending().await,
        Some(Action::Hold) => {
            if let Some(fault) = fault {
                script.taken_back(fault).await;
            }
        }
        Some(Action::Delay(pause)) => tokio::time::sleep(*pause).await,
        Some(Action::KillBefore) => {
            kill(&script);
            return Err(closed("the operator is killed"));
        }
        _ => {}
    }
    let request = Request::from_parts(head, kube::client::Body::from(body.to_vec()));
    // What the API server has begun it ends, whether or not the operator is there to hear of it.
    let sent = tokio::spawn(async move { client.send(request).await });
    let answer = sent.await.map_err(closed)?.map_err(closed)?;
    match action {
        Some(Action::Lose) => {
            answer.into_body().collect().await.map_err(closed)?;
            Err(closed("the answer is lost"))
        }
        Some(Action::KillAfter) => {
            answer.into_body().collect().await.map_err(closed)?;
            kill(&script);
            Err(closed("the operator is killed"))
        }
        Some(Action::Replace(replacement)) => {
            answer.into_body().collect().await.map_err(closed)?;
            Ok(made(&replacement))
        }
        Some(Action::Truncate) => truncated(answer).await,
        Some(Action::Trickle(pieces, pause)) => trickled(answer, pieces, pause).await,
        _ if call.verb == "watch" && answer.status().is_success() => Ok(watched(answer, call, script)),
        _ => Ok(passed(answer)),
    }
}

/// The standard library can kill only what it has started here.
fn kill(script: &Script) {
    if let Some(process) = script.process() {
        let _ = std::process::Command::new("kill")
            .args(["-KILL", &process.to_string()])
            .status();
    }
}

/// A certificate of its own, which the kubeconfig trusts.
fn acceptor(authority: &Path) -> Result<TlsAcceptor, ControlPlaneError> {
    let failed = |source| ControlPlaneError::Certificate {
        subject: "the fault proxy".to_owned(),
        source,
    };
    let made = rcgen::generate_simple_self_signed(["127.0.0.1".to_owned()]).map_err(failed)?;
    fs::write(authority, made.cert.pem()).map_err(io_failed("write", authority))?;
    let key = PrivatePkcs8KeyDer::from(made.signing_key.serialize_der());
    let config = ServerConfig::builder_with_provider(Arc::new(aws_lc_rs::default_provider()))
        .with_safe_default_protocol_versions()
        .and_then(|builder| {
            builder
                .with_no_client_auth()
                .with_single_cert(vec![made.cert.der().clone()], key.into())
        });
    let mut config = config.map_err(|error| ControlPlaneError::Kubeconfig {
        path: authority.to_path_buf(),
        source: Box::new(error),
    })?;
    config.alpn_protocols = vec![b"http/1.1".to_vec()];
    Ok(Arc::new(config).into())
}

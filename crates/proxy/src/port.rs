//! Where the proxy listens.

use std::convert::Infallible;
use std::io;
use std::net::{Ipv4Addr, SocketAddr};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper::{Request, Response};
use hyper_util::rt::{TokioIo, TokioTimer};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::watch;
use tokio_util::sync::CancellationToken;

use crate::body::{Body, watched};
use crate::connections::{Activity, Connections};
use crate::exchange::Session;
use crate::proxy::Proxy;
use crate::refusal::Refusal;

/// How long a client may take to send the head of a request, and how long its connection may wait for the next one.
const HEAD_TIMEOUT: Duration = Duration::from_mins(1);

/// How large a head may be.
const MAX_HEAD: usize = 128 << 10;

/// The port is not to be had.
#[derive(Debug, thiserror::Error)]
#[error("failed to listen on {address} for the proxy of roles")]
pub struct BindError {
    /// As it was asked for.
    pub address: SocketAddr,
    /// What the operating system says.
    pub source: io::Error,
}

/// A port of the loopback address that is open and not served yet.
#[derive(Debug)]
pub struct Port {
    listener: TcpListener,
    number: u16,
}

impl Port {
    /// Opens a port, or any one that is free where it is 0.
    ///
    /// # Errors
    /// It is in use.
    pub async fn bind(port: u16) -> Result<Self, BindError> {
        let address = SocketAddr::from((Ipv4Addr::LOCALHOST, port));
        let failed = |source| BindError { address, source };
        let listener = TcpListener::bind(address).await.map_err(failed)?;
        let number = listener.local_addr().map_err(failed)?.port();
        Ok(Self { listener, number })
    }

    /// Which one it is, for [`kubeconfig`](crate::kubeconfig()).
    pub fn number(&self) -> u16 {
        self.number
    }

    /// Answers requests for as long as it is polled.
    ///
    /// # Cancellation
    /// Safe to drop; connections end with it.
    pub async fn serve(self, proxy: Proxy) {
        let mut connections = Connections::default();
        loop {
            match self.listener.accept().await {
                Ok((stream, _)) => {
                    let proxy = proxy.clone();
                    connections
                        .serve(|activity| answer_connection(stream, proxy, activity))
                        .await;
                }
                Err(error) => {
                    // Out of file descriptors, mostly: that ends when other connections do.
                    tracing::warn!(
                        error = &error as &dyn std::error::Error,
                        "Failed to accept a connection of a role"
                    );
                    tokio::time::sleep(Duration::from_millis(100)).await;
                }
            }
        }
    }
}

/// What is known of a connection while it is served.
struct Served {
    proxy: Proxy,
    activity: Activity,
    /// The end of the run of the latest request: the connection ends with it.
    end: watch::Sender<Option<CancellationToken>>,
    session: Mutex<Option<Session>>,
}

async fn answer_connection(stream: TcpStream, proxy: Proxy, activity: Activity) {
    let _ = stream.set_nodelay(true);
    let (end, ended) = watch::channel(None);
    let served = Arc::new(Served {
        proxy,
        activity,
        end,
        session: Mutex::default(),
    });
    let service = service_fn(|request| {
        let served = Arc::clone(&served);
        async move { Ok::<_, Infallible>(served.answer(request).await) }
    });
    let connection = http1::Builder::new()
        .timer(TokioTimer::new())
        .header_read_timeout(HEAD_TIMEOUT)
        .max_buf_size(MAX_HEAD)
        .serve_connection(TokioIo::new(stream), service)
        .with_upgrades();
    let work = async {
        connection.await?;
        let session = served
            .session
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .take();
        match session {
            Some(session) => {
                let _working = served.activity.begin();
                session.copy().await.map_err(BoxError::from)
            }
            None => Ok(()),
        }
    };
    let outcome: Result<(), BoxError> = tokio::select! {
        // What has ended does nothing more.
        biased;
        () = end_of_run(ended) => Ok(()),
        outcome = work => outcome,
    };
    if let Err(error) = outcome {
        tracing::debug!(
            error = error.as_ref() as &dyn std::error::Error,
            "A connection of a role breaks off"
        );
    }
}

type BoxError = Box<dyn std::error::Error + Send + Sync>;

impl Served {
    async fn answer(&self, request: Request<Incoming>) -> Response<Body> {
        let answering = self.activity.begin();
        let Some(run) = self.proxy.runs.of(request.headers()) else {
            return Refusal::Unauthorized.answer();
        };
        self.activity.is_known();
        self.end.send_replace(Some(run.end.clone()));
        let (answer, session) = self.proxy.exchange.answer(&run, request).await;
        *self.session.lock().unwrap_or_else(PoisonError::into_inner) = session;
        // The connection is in use until the body has gone.
        answer.map(|body| {
            watched(body, move |_| {
                let _ = &answering;
            })
        })
    }
}

/// Returns when the run of the latest request has ended.
async fn end_of_run(mut ended: watch::Receiver<Option<CancellationToken>>) {
    loop {
        let end = ended.borrow_and_update().clone();
        let Some(end) = end else {
            if ended.changed().await.is_err() {
                return std::future::pending().await;
            }
            continue;
        };
        tokio::select! {
            () = end.cancelled() => return,
            changed = ended.changed() => {
                if changed.is_err() {
                    return end.cancelled().await;
                }
            }
        }
    }
}

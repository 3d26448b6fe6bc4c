//! The server: what it is told, where it listens, and who answers what.

use std::io;
use std::net::SocketAddr;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use axum::Router;
use axum::extract::{DefaultBodyLimit, Request};
use axum::http::{Method, StatusCode};
use axum::middleware::{self, Next};
use axum::response::{IntoResponse, Response};
use axum::routing::{get, post};
use hyper::rt::{Read, ReadBufCursor, Write};
use hyper::server::conn::http1;
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::service::TowerToHyperService;
use kube::Client;
use steersman_cluster::discovery::DiscoveryError;
use steersman_operator::budget::Shares;
use steersman_watches::Watches;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::Semaphore;
use tokio::time::Sleep;
use tokio_util::sync::CancellationToken;

use crate::access::{Hosts, Sessions, Tokens};
use crate::app::{App, Door};
use crate::scope::Scope;
use crate::site::{Common, Site};
use crate::{answers, guards};

/// A form has at most so many bytes.
const MOST_SENT: usize = 64 * 1024;
/// So many connections are answered at a time; others wait. A tab that is told of changes is one.
const MOST_CONNECTIONS: usize = 512;
/// How long the head of a request may take, and how long a connection lasts without one.
const HEAD_TIMEOUT: Duration = Duration::from_secs(15);
/// A head is at most so long, and so much of a body is read ahead, in bytes. A token is in it.
const MOST_BUFFERED: usize = 64 * 1024;
/// How long who is answered may take nothing of it.
const TAKE_TIMEOUT: Duration = Duration::from_secs(20);
/// How long a form may take with what it asks for.
const FORM_TIMEOUT: Duration = Duration::from_mins(1);
const AFTER_FAILURE: Duration = Duration::from_millis(100);
/// How long a session lasts that nobody uses: one that a code has begun, and one of a token.
const IDLE: [Duration; 2] = [Duration::from_hours(12), Duration::from_hours(1)];

/// What the page is served with.
#[derive(Clone, Debug)]
pub struct Config {
    /// Where it listens. Port 0 is one that is free.
    pub address: SocketAddr,
    /// Names that it answers to besides those of this machine, with their ports, as browsers write them.
    pub hosts: Vec<String>,
    /// The namespaces whose resources are shown, as far as they may be; all where none is named.
    pub namespaces: Vec<String>,
    /// The one that is shown where none is named, and neither all resources nor all namespaces may be listed.
    pub home: String,
    /// What the cluster is called, for people.
    pub cluster: String,
    /// The memory of all looks together, besides what the rows of lists take.
    pub shares: Shares,
}

/// With whose rights the cluster is seen.
pub enum Login {
    /// With those of this client, by whoever has the code that the address carries.
    Code(Client),
    /// With those of the token that each brings, at this cluster; whom the configuration names does not count.
    Token(Box<kube::Config>),
}

impl std::fmt::Debug for Login {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Self::Code(_) => "Code",
            Self::Token(_) => "Token",
        })
    }
}

/// Why there is no page.
#[derive(Debug, thiserror::Error)]
pub enum UiError {
    /// The address is another program's, or none of this machine.
    #[error("failed to listen at {address}")]
    Listen {
        /// Where that was tried.
        address: SocketAddr,
        /// What the system said.
        source: std::io::Error,
    },
    /// Nobody knows which kinds there are.
    #[error("failed to ask which kinds the API server has")]
    Discovery(#[from] DiscoveryError),
    /// The system gives no random bytes.
    #[error("failed to make a secret for the page")]
    Randomness(#[source] getrandom::Error),
}

/// The page, listening.
///
/// # Guarantees
/// It answers to the names of [`Config`] alone, and nobody without a session is shown anything of the cluster. A session begins by
/// a code that counts once, or by a token that the cluster takes, whose rights it has. Nothing is changed by a GET, nothing without
/// a form of the session, and nothing of another host is loaded.
#[derive(Debug)]
pub struct Ui {
    listener: TcpListener,
    address: SocketAddr,
    app: Arc<App>,
}

impl Ui {
    /// Listens, and begins to look at the resources of the kinds of `watches`; where people bring tokens, when they do.
    ///
    /// # Errors
    /// See [`UiError`].
    pub async fn start(config: Config, login: Login, watches: Watches) -> Result<Self, UiError> {
        let listen = |source| UiError::Listen {
            address: config.address,
            source,
        };
        let listener = TcpListener::bind(config.address).await.map_err(listen)?;
        let address = listener.local_addr().map_err(listen)?;
        let scope = Scope {
            namespaces: config.namespaces,
            home: config.home,
        };
        let [by_code, by_token] = IDLE;
        let (door, idle) = match login {
            Login::Code(client) => {
                let common = Arc::new(Common::new(config.shares));
                let site = Site::start(client, &watches, &scope, &common).await?;
                (Door::Code(Arc::new(site)), by_code)
            }
            Login::Token(base) => {
                let tokens = Tokens::new(*base, config.shares).map_err(UiError::Randomness)?;
                (Door::Token(Box::new(tokens)), by_token)
            }
        };
        let app = App {
            cluster: config.cluster,
            hosts: Hosts::new(address.port(), &config.hosts),
            sessions: Sessions::new(address.port(), idle),
            door,
            watches,
            scope,
        };
        Ok(Self {
            listener,
            address,
            app: Arc::new(app),
        })
    }

    /// Where the page is; with a code that begins one session, where that is how people come in. The one before counts no longer.
    ///
    /// # Errors
    /// The system gives no random bytes.
    pub fn url(&self) -> Result<String, UiError> {
        if matches!(self.app.door, Door::Token(_)) {
            return Ok(format!("http://{}/", self.address));
        }
        let code = self.app.sessions.code().map_err(UiError::Randomness)?;
        Ok(format!("http://{}/login?code={code}", self.address))
    }

    /// Serves the page until `stop`.
    pub async fn serve(self, stop: CancellationToken) {
        let (service, leave) = (router(self.app), Arc::new(Semaphore::new(MOST_CONNECTIONS)));
        loop {
            let Some(Ok(held)) = stop.run_until_cancelled(Arc::clone(&leave).acquire_owned()).await else {
                return;
            };
            let stream = match stop.run_until_cancelled(self.listener.accept()).await {
                None => return,
                Some(Ok((stream, _))) => stream,
                Some(Err(error)) => {
                    // As where there are too many open files: those who are there leave some.
                    tracing::warn!(
                        error = &error as &dyn std::error::Error,
                        "failed to accept a connection"
                    );
                    tokio::time::sleep(AFTER_FAILURE).await;
                    continue;
                }
            };
            let (service, stop) = (service.clone(), stop.clone());
            tokio::spawn(async move {
                // Streams of events have no end of their own.
                stop.run_until_cancelled(answer_connection(stream, service)).await;
                drop(held);
            });
        }
    }
}

async fn answer_connection(stream: TcpStream, service: Router) {
    let connection = http1::Builder::new()
        .timer(TokioTimer::new())
        .header_read_timeout(HEAD_TIMEOUT)
        .max_buf_size(MOST_BUFFERED)
        .serve_connection(Taken::new(stream), TowerToHyperService::new(service));
    if let Err(error) = connection.await {
        tracing::debug!(
            error = &error as &dyn std::error::Error,
            "failed to answer a request"
        );
    }
}

/// A connection that fails where its peer takes nothing of what it has asked for: else who never reads keeps a place for good.
struct Taken {
    io: TokioIo<TcpStream>,
    /// Until when something has to be taken, while anything waits for that.
    until: Option<Pin<Box<Sleep>>>,
}

impl Taken {
    fn new(stream: TcpStream) -> Self {
        Self {
            io: TokioIo::new(stream),
            until: None,
        }
    }
}

impl Read for Taken {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: ReadBufCursor<'_>,
    ) -> Poll<io::Result<()>> {
        Pin::new(&mut self.io).poll_read(context, buffer)
    }
}

impl Write for Taken {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        let written = Pin::new(&mut self.io).poll_write(context, bytes);
        if written.is_ready() {
            self.until = None;
            return written;
        }
        let until = self
            .until
            .get_or_insert_with(|| Box::pin(tokio::time::sleep(TAKE_TIMEOUT)));
        until
            .as_mut()
            .poll(context)
            .map(|()| Err(io::ErrorKind::TimedOut.into()))
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.io).poll_flush(context)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.io).poll_shutdown(context)
    }
}

/// A form comes at once, or is not taken.
async fn in_time(request: Request, next: Next) -> Response {
    if request.method() == Method::GET {
        return next.run(request).await;
    }
    let answer = tokio::time::timeout(FORM_TIMEOUT, next.run(request)).await;
    answer.unwrap_or_else(|_| (StatusCode::REQUEST_TIMEOUT, "it has taken too long\n").into_response())
}

fn router(app: Arc<App>) -> Router {
    let release = "/releases/{kind}/{namespace}/{name}";
    let below = |page: &str| format!("{release}/{page}");
    let looks = Router::new()
        .route(release, get(answers::release))
        .route(&below("plan"), get(answers::plan))
        .route(&below("values"), get(answers::values))
        .route(&below("compare"), get(answers::compared))
        .route(&below("object"), get(answers::object))
        .route(&below("logs"), get(answers::logs))
        .route(
            &below("actions/{action}"),
            get(answers::confirm).post(answers::done),
        )
        .layer(middleware::from_fn_with_state(Arc::clone(&app), guards::in_turn));
    Router::new()
        .route("/", get(answers::list))
        .route("/events", get(answers::list_events))
        .route(&below("events"), get(answers::release_events))
        .route(&below("logs/events"), get(answers::log_events))
        .merge(looks)
        .fallback(answers::nothing)
        .layer(middleware::from_fn_with_state(
            Arc::clone(&app),
            guards::with_session,
        ))
        .route("/login", get(guards::login).post(guards::login_by_token))
        .route("/logout", post(guards::logout))
        .route("/assets/{name}", get(answers::asset))
        .layer(DefaultBodyLimit::max(MOST_SENT))
        .layer(middleware::from_fn(in_time))
        .layer(middleware::from_fn_with_state(
            Arc::clone(&app),
            guards::with_host,
        ))
        // Of who watches over the program, and knows it by an address alone.
        .route("/healthz", get(async || "ok\n"))
        .with_state(app)
}

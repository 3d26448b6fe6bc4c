//! The server: what it is told, where it listens, and who answers what.

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use axum::extract::DefaultBodyLimit;
use axum::middleware;
use axum::routing::{get, post};
use kube::Client;
use steersman_cluster::discovery::DiscoveryError;
use steersman_watches::Watches;
use tokio::net::TcpListener;
use tokio_util::sync::CancellationToken;

use crate::access::{Hosts, Sessions, Tokens};
use crate::app::{App, Door};
use crate::site::{Scope, Site};
use crate::{answers, guards};

/// A form has at most so many bytes.
const MOST_SENT: usize = 64 * 1024;
/// How long a session lasts that nobody uses: one that a code has begun, and one of a token.
const IDLE: [Duration; 2] = [Duration::from_hours(12), Duration::from_hours(1)];

/// What the page is served with.
#[derive(Clone, Debug)]
pub struct Config {
    /// Where it listens. Port 0 is one that is free.
    pub address: SocketAddr,
    /// Names that it answers to besides those of this machine, with their ports, as browsers write them.
    pub hosts: Vec<String>,
    /// The namespaces whose resources are shown; all where none is named.
    pub namespaces: Vec<String>,
    /// The one that is shown where all may not be looked at.
    pub home: String,
    /// What the cluster is called, for people.
    pub cluster: String,
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
    /// The server has stopped.
    #[error("the page is served no longer")]
    Served(#[source] std::io::Error),
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
                let site = Site::start(client, &watches, &scope).await?;
                (Door::Code(Arc::new(site)), by_code)
            }
            Login::Token(base) => {
                let tokens = Tokens::new(*base).map_err(UiError::Randomness)?;
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
    ///
    /// # Errors
    /// The listener has failed.
    pub async fn serve(self, stop: CancellationToken) -> Result<(), UiError> {
        // Streams of events have no end of their own.
        let served = stop
            .run_until_cancelled(axum::serve(self.listener, router(self.app)).into_future())
            .await;
        served.unwrap_or(Ok(())).map_err(UiError::Served)
    }
}

fn router(app: Arc<App>) -> Router {
    let release = "/releases/{kind}/{namespace}/{name}";
    let below = |page: &str| format!("{release}/{page}");
    Router::new()
        .route("/", get(answers::list))
        .route("/events", get(answers::list_events))
        .route(release, get(answers::release))
        .route(&below("events"), get(answers::release_events))
        .route(&below("plan"), get(answers::plan))
        .route(&below("values"), get(answers::values))
        .route(&below("compare"), get(answers::compared))
        .route(&below("object"), get(answers::object))
        .route(&below("logs"), get(answers::logs))
        .route(&below("logs/events"), get(answers::log_events))
        .route(
            &below("actions/{action}"),
            get(answers::confirm).post(answers::done),
        )
        .fallback(answers::nothing)
        .layer(middleware::from_fn_with_state(
            Arc::clone(&app),
            guards::with_session,
        ))
        .route("/login", get(guards::login).post(guards::login_by_token))
        .route("/logout", post(guards::logout))
        .route("/assets/{name}", get(answers::asset))
        .layer(DefaultBodyLimit::max(MOST_SENT))
        .layer(middleware::from_fn_with_state(
            Arc::clone(&app),
            guards::with_host,
        ))
        // Of who watches over the program, and knows it by an address alone.
        .route("/healthz", get(async || "ok\n"))
        .with_state(app)
}

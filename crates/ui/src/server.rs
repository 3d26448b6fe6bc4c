//! The server: what it is told, where it listens, and who answers what.

use std::net::SocketAddr;
use std::sync::Arc;

use axum::Router;
use axum::middleware;
use axum::routing::get;
use kube::Client;
use kube::core::GroupVersionKind;
use steersman_cluster::discovery::{Discovery, DiscoveryError, Resource};
use steersman_model::ApiKind;
use steersman_watches::Watches;
use tokio::net::TcpListener;
use tokio_util::sync::CancellationToken;

use crate::access::{Hosts, Sessions};
use crate::app::App;
use crate::feed::Feed;
use crate::page::Kind;
use crate::{answers, guards};

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
    #[error("failed to make a code for the page")]
    Randomness(#[source] getrandom::Error),
    /// The server has stopped.
    #[error("the page is served no longer")]
    Served(#[source] std::io::Error),
}

/// The page, listening.
///
/// # Guarantees
/// It answers to the names of [`Config`] alone, and nobody without a session is shown anything of the cluster. A session begins by
/// a code that counts once. Nothing is changed by a GET, and nothing of another host is loaded.
#[derive(Debug)]
pub struct Ui {
    listener: TcpListener,
    address: SocketAddr,
    app: Arc<App>,
    stop: CancellationToken,
}

impl Ui {
    /// Listens, and begins to look at the resources of the kinds of `watches`.
    ///
    /// # Errors
    /// See [`UiError`].
    pub async fn start(config: Config, client: Client, watches: Watches) -> Result<Self, UiError> {
        let listen = |source| UiError::Listen {
            address: config.address,
            source,
        };
        let listener = TcpListener::bind(config.address).await.map_err(listen)?;
        let address = listener.local_addr().map_err(listen)?;
        let discovery = Discovery::new(client.clone());
        let served = discovery.served().await?;
        let mut kinds = Vec::new();
        for gvk in kinds_of(&watches) {
            let api = ApiKind {
                group: gvk.group.clone(),
                version: gvk.version.clone(),
                kind: gvk.kind.clone(),
            };
            if let Some(resource) = served.resource(&api) {
                let name = format!("{}.{}", resource.api.plural, api.group);
                let resource = resource.clone();
                kinds.push(Kind { api, resource, name });
            }
        }
        let stop = CancellationToken::new();
        let resources: Vec<Resource> = kinds.iter().map(|kind| kind.resource.clone()).collect();
        let feed = Feed::start(&client, &resources, &config.namespaces, &config.home, &stop);
        let app = App {
            cluster: config.cluster,
            hosts: Hosts::new(address.port(), &config.hosts),
            sessions: Sessions::new(address.port()),
            client,
            discovery,
            watches,
            kinds,
            feed,
        };
        Ok(Self {
            listener,
            address,
            app: Arc::new(app),
            stop,
        })
    }

    /// Where the page is, with a code that begins one session. The one before counts no longer.
    ///
    /// # Errors
    /// The system gives no random bytes.
    pub fn url(&self) -> Result<String, UiError> {
        let code = self.app.sessions.code().map_err(UiError::Randomness)?;
        Ok(format!("http://{}/login?code={code}", self.address))
    }

    /// Serves the page until `stop`.
    ///
    /// # Errors
    /// The listener has failed.
    pub async fn serve(self, stop: CancellationToken) -> Result<(), UiError> {
        let (app, ended) = (Arc::clone(&self.app), self.stop.clone());
        let router = Router::new()
            .route("/", get(answers::list))
            .route("/events", get(answers::list_events))
            .route("/releases/{kind}/{namespace}/{name}", get(answers::release))
            .route(
                "/releases/{kind}/{namespace}/{name}/events",
                get(answers::release_events),
            )
            .fallback(answers::nothing)
            .layer(middleware::from_fn_with_state(
                Arc::clone(&app),
                guards::with_session,
            ))
            .route("/login", get(guards::login))
            .route("/assets/{name}", get(answers::asset))
            .layer(middleware::from_fn_with_state(
                Arc::clone(&app),
                guards::with_host,
            ))
            .with_state(app);
        // Streams of events have no end of their own.
        let served = stop
            .run_until_cancelled(axum::serve(self.listener, router).into_future())
            .await;
        ended.cancel();
        served.unwrap_or(Ok(())).map_err(UiError::Served)
    }
}

/// The kinds of entries, each once.
fn kinds_of(watches: &Watches) -> Vec<&GroupVersionKind> {
    let charts = watches.into_iter().map(|watch| &watch.gvk);
    let mut kinds: Vec<&GroupVersionKind> = charts
        .chain(watches.ansible().iter().map(|watch| &watch.gvk))
        .collect();
    kinds.sort_by_key(|gvk| (&gvk.group, &gvk.kind, &gvk.version));
    kinds.dedup();
    kinds
}

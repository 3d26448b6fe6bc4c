//! What the answers are made of: the cluster as it is known, and as it is asked.

use std::sync::Arc;

use askama::Template;
use axum::http::StatusCode;
use axum::response::{Html, IntoResponse, Response};
use jiff::Timestamp;
use kube::Client;
use kube::api::DynamicObject;
use steersman_cluster::RequestError;
use steersman_cluster::discovery::Discovery;
use steersman_tree::{Resources, TreeError, checks_of, revision_view};
use steersman_watches::Watches;

use crate::access::{Hosts, Sessions};
use crate::feed::Feed;
use crate::page::{Kind, List, Message, Release};
use crate::rows::{Query, Row};

/// What all answers are made of.
pub(crate) struct App {
    pub(crate) cluster: String,
    pub(crate) hosts: Hosts,
    pub(crate) sessions: Sessions,
    pub(crate) client: Client,
    pub(crate) discovery: Discovery,
    pub(crate) watches: Watches,
    pub(crate) kinds: Vec<Kind>,
    pub(crate) feed: Arc<Feed>,
}

impl std::fmt::Debug for App {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("App")
            .field("kinds", &self.kinds)
            .finish_non_exhaustive()
    }
}

impl App {
    /// The rows that somebody looks for.
    pub(crate) fn list(&self, query: &Query) -> List {
        List::of(&self.feed.state(), query, &self.kinds, Timestamp::now())
    }

    /// The kind of this name.
    pub(crate) fn named(&self, name: &str) -> Option<&Kind> {
        self.kinds.iter().find(|kind| kind.name == name)
    }

    /// What the list has of a resource now.
    pub(crate) fn row(&self, of: &Kind, namespace: &str, name: &str) -> Option<Row> {
        let place = self.kinds.iter().position(|kind| kind.name == of.name)?;
        // The address of one without a namespace says so.
        let namespace = if of.resource.namespaced { namespace } else { "" };
        self.feed
            .state()
            .rows
            .get(&(place, namespace.into(), name.into()))
            .cloned()
    }

    /// A release as it is now; `None` where there is no such resource.
    pub(crate) async fn release(
        &self,
        Kind { api, resource, .. }: &Kind,
        namespace: &str,
        name: &str,
    ) -> Result<Option<Release>, TreeError> {
        let resources = resource.objects(&self.client, Some(namespace));
        let found: Option<DynamicObject> = resources.get_opt(name).await.map_err(RequestError::from)?;
        let Some(object) = found else {
            return Ok(None);
        };
        let served = self.discovery.served().await?;
        let tree = Resources {
            client: &self.client,
            served: &served,
        };
        let revisions = tree.revisions(api, &object).await?;
        let view = tree
            .judge(api, &object, &revisions, checks_of(Some(&self.watches), api))
            .await?;
        let history = revisions.iter().map(revision_view).collect();
        Ok(Some(Release::of(view, history)))
    }

    /// A page with a few words. Nobody without a session is told which cluster it is.
    pub(crate) fn message(&self, status: StatusCode, title: &str, text: &str) -> Response {
        let cluster = if status == StatusCode::UNAUTHORIZED {
            ""
        } else {
            &self.cluster
        };
        let message = Message { cluster, title, text };
        answer(status, &message)
    }
}

/// A page, or the word that there is none.
pub(crate) fn answer(status: StatusCode, page: &impl Template) -> Response {
    match page.render() {
        Ok(text) => (status, Html(text)).into_response(),
        Err(error) => {
            tracing::error!(%error, "a page can't be made");
            StatusCode::INTERNAL_SERVER_ERROR.into_response()
        }
    }
}

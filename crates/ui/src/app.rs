//! What the answers are made of.

use std::sync::Arc;

use askama::Template;
use axum::http::{HeaderMap, StatusCode};
use axum::response::{Html, IntoResponse, Response};
use kube::core::GroupVersionKind;
use steersman_watches::{Watch, Watches};

use crate::access::{Hosts, Session, Sessions, Tokens};
use crate::address::Kind;
use crate::pages::{Head, Message};
use crate::scope::Scope;
use crate::site::Site;

/// What all answers are made of.
pub(crate) struct App {
    pub(crate) cluster: String,
    pub(crate) hosts: Hosts,
    pub(crate) sessions: Sessions<Arc<Site>>,
    pub(crate) door: Door,
    pub(crate) watches: Watches,
    pub(crate) scope: Scope,
}

/// How people come in.
pub(crate) enum Door {
    /// By a code, to the cluster as who has started the page sees it.
    Code(Arc<Site>),
    /// By a token of theirs, to the cluster as they see it.
    Token(Box<Tokens>),
}

/// Who asks.
pub(crate) type Visitor = Session<Arc<Site>>;

impl std::fmt::Debug for App {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("App")
            .field("cluster", &self.cluster)
            .finish_non_exhaustive()
    }
}

impl App {
    /// Who asks: by a session, or by the token that a proxy sends with each request.
    ///
    /// # Errors
    /// There is no session; or a token was sent that the server does not take: why, for people.
    pub(crate) async fn visitor(&self, headers: &HeaderMap) -> Result<Visitor, Option<String>> {
        if headers.get_all("authorization").iter().count() > 1 {
            return Err(Some("there are several".to_owned()));
        }
        if let Door::Token(tokens) = &self.door
            && let Some(token) = bearer(headers)
        {
            let site = tokens.site(token, &self.watches, &self.scope).await?;
            let visitor = tokens.session(site, token);
            let is_taken = visitor.of.is_taken().await;
            return is_taken
                .then_some(visitor)
                .ok_or_else(|| Some("it counts no longer".to_owned()));
        }
        let visitor = self.sessions.admit(headers).ok_or(None)?;
        if visitor.of.is_taken().await {
            return Ok(visitor);
        }
        self.sessions.end(headers);
        Err(None)
    }

    /// The entry of a kind that is released from a chart.
    pub(crate) fn watch(&self, kind: &Kind) -> Option<&Watch> {
        let api = &kind.api;
        self.watches
            .get(&GroupVersionKind::gvk(&api.group, &api.version, &api.kind))
    }

    /// A page with a few words. Nobody without a session is told which cluster it is.
    pub(crate) fn message(&self, status: StatusCode, title: &str, text: &str) -> Response {
        let mut head = Head::default();
        if status != StatusCode::UNAUTHORIZED {
            head.cluster = &self.cluster;
        }
        answer(status, &Message { head, title, text })
    }

    /// What stands above the pages of a visitor.
    pub(crate) fn head<'a>(&'a self, visitor: &'a Visitor) -> Head<'a> {
        Head {
            cluster: &self.cluster,
            user: visitor.of.user.as_deref().unwrap_or_default(),
            can_log_out: visitor.is_by_cookie && matches!(self.door, Door::Token(_)),
        }
    }
}

/// The token of a request that carries one.
fn bearer(headers: &HeaderMap) -> Option<&str> {
    let text = headers.get("authorization")?.to_str().ok()?;
    let (scheme, token) = text.split_once(' ')?;
    scheme.eq_ignore_ascii_case("bearer").then_some(token.trim())
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

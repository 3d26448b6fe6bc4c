//! The list of resources.

use std::sync::Arc;

use askama::Template as _;
use axum::Extension;
use axum::extract::{Query as QueryOf, State};
use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use futures::stream;
use jiff::Timestamp;

use super::{LOOK, PACE, events};
use crate::app::{App, Visitor, answer};
use crate::pages::{List, ListPage};
use crate::rows::{Health, Query};
use crate::site::Site;

fn rows(site: &Site, query: &Query) -> List {
    List::of(&site.feed.state(), query, &site.kinds, Timestamp::now())
}

pub(crate) async fn list(
    State(app): State<Arc<App>>,
    Extension(visitor): Extension<Visitor>,
    QueryOf(query): QueryOf<Query>,
) -> Response {
    let site = &visitor.of;
    let page = ListPage {
        head: app.head(&visitor),
        query: &query,
        kinds: site.kinds.iter().map(|kind| kind.name.as_str()).collect(),
        healths: Health::ALL,
        address: query.address(),
        list: rows(site, &query),
    };
    answer(StatusCode::OK, &page)
}

/// Tells of the list when it has changed.
pub(crate) async fn list_events(
    Extension(visitor): Extension<Visitor>,
    QueryOf(query): QueryOf<Query>,
) -> impl IntoResponse {
    let Visitor { of: site, ended, .. } = visitor;
    let (changes, of) = (site.feed.changes(), Arc::clone(&site));
    let texts = stream::unfold((changes, site, query), |(mut changes, site, query)| async {
        // Ages change, too.
        let _ = tokio::time::timeout(LOOK, changes.changed()).await;
        tokio::time::sleep(PACE).await;
        if !site.is_open().await {
            return None;
        }
        changes.mark_unchanged();
        let text = rows(&site, &query).render().ok();
        Some((text, (changes, site, query)))
    });
    events(("list", &of), ended, texts)
}

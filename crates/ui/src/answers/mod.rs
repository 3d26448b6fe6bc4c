//! What is answered to those who are let in.

use std::convert::Infallible;
use std::sync::Arc;
use std::time::Duration;

use askama::Template as _;
use axum::extract::{Path, Query as QueryOf, State};
use axum::http::StatusCode;
use axum::http::header::{CACHE_CONTROL, CONTENT_TYPE};
use axum::response::sse::{Event, KeepAlive, Sse};
use axum::response::{IntoResponse, Response};
use futures::{Stream, StreamExt as _, stream};
use steersman_model::chain;

use crate::app::{App, answer};
use crate::assets;
use crate::page::{ListPage, ReleasePage};
use crate::rows::{Health, Query};

/// Changes are told of at most so often.
const PACE: Duration = Duration::from_millis(400);
/// A release that somebody looks at is looked at anew after so long, whatever is told of it.
const LOOK: Duration = Duration::from_secs(5);

pub(crate) async fn asset(Path(name): Path<String>) -> Response {
    match assets::find(&name) {
        Some((kind, content)) => {
            ([(CONTENT_TYPE, kind), (CACHE_CONTROL, "max-age=3600")], content).into_response()
        }
        None => StatusCode::NOT_FOUND.into_response(),
    }
}

pub(crate) async fn nothing(State(app): State<Arc<App>>) -> Response {
    app.message(
        StatusCode::NOT_FOUND,
        "There is nothing here",
        "Releases are on the first page.",
    )
}

pub(crate) async fn list(State(app): State<Arc<App>>, QueryOf(query): QueryOf<Query>) -> Response {
    let page = ListPage {
        cluster: &app.cluster,
        query: &query,
        kinds: app.kinds.iter().map(|kind| kind.name.as_str()).collect(),
        healths: Health::ALL,
        address: query.address(),
        list: app.list(&query),
    };
    answer(StatusCode::OK, &page)
}

/// Tells of the list when it has changed.
pub(crate) async fn list_events(
    State(app): State<Arc<App>>,
    QueryOf(query): QueryOf<Query>,
) -> impl IntoResponse {
    let changes = app.feed.changes();
    let texts = stream::unfold((changes, app, query), |(mut changes, app, query)| async {
        // Ages change, too.
        let _ = tokio::time::timeout(LOOK, changes.changed()).await;
        tokio::time::sleep(PACE).await;
        changes.mark_unchanged();
        let text = app.list(&query).render().ok();
        Some((text, (changes, app, query)))
    });
    events("list", texts)
}

type Named = Path<(String, String, String)>;

pub(crate) async fn release(State(app): State<Arc<App>>, Path((kind, namespace, name)): Named) -> Response {
    let Some(of) = app.named(&kind) else {
        return nothing(State(app)).await;
    };
    match app.release(of, &namespace, &name).await {
        Ok(Some(release)) => {
            let page = ReleasePage {
                cluster: &app.cluster,
                events: of.events(&namespace, &name),
                release,
            };
            answer(StatusCode::OK, &page)
        }
        Ok(None) => {
            let text = format!("There is no {} {name} in namespace {namespace}.", of.api.kind);
            app.message(StatusCode::NOT_FOUND, "It is not there", &text)
        }
        Err(error) => app.message(StatusCode::BAD_GATEWAY, "It can't be looked at", &chain(&error)),
    }
}

/// Tells of a release when it has changed. What becomes of others has it not looked at.
pub(crate) async fn release_events(
    State(app): State<Arc<App>>,
    Path((kind, namespace, name)): Named,
) -> impl IntoResponse {
    let changes = app.feed.changes();
    let state = (changes, app, (kind, namespace, name));
    let texts = stream::unfold(state, |(mut changes, app, named)| async {
        let (kind, namespace, name) = &named;
        let of = app.named(kind)?;
        let before = app.row(of, namespace, name);
        let is_changed =
            async { while changes.changed().await.is_ok() && app.row(of, namespace, name) == before {} };
        let _ = tokio::time::timeout(LOOK, is_changed).await;
        tokio::time::sleep(PACE).await;
        // What fails now is tried again: what was seen last stays.
        let release = app.release(of, namespace, name).await.ok().flatten();
        let text = release.and_then(|release| release.render().ok());
        Some((text, (changes, app, named)))
    });
    events("release", texts)
}

/// Tells of each text that is another one than the last.
fn events(
    name: &'static str,
    texts: impl Stream<Item = Option<String>> + Send + 'static,
) -> Sse<impl Stream<Item = Result<Event, Infallible>>> {
    let mut last = String::new();
    let news = texts.filter_map(move |text| {
        let news = text.filter(|text| *text != last);
        if let Some(news) = &news {
            last.clone_from(news);
        }
        std::future::ready(news.map(|news| Ok(Event::default().event(name).data(news))))
    });
    Sse::new(news).keep_alive(KeepAlive::default())
}

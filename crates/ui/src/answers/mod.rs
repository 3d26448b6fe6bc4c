//! What is answered to those who are let in.

mod actions;
mod list;
mod logs;
mod object;
mod release;
mod views;

use std::convert::Infallible;
use std::sync::Arc;
use std::time::Duration;

use axum::extract::{Path, State};
use axum::http::header::{ACCEPT_ENCODING, CACHE_CONTROL, CONTENT_ENCODING, CONTENT_TYPE, VARY};
use axum::http::{HeaderMap, StatusCode};
use axum::response::sse::{Event, KeepAlive, Sse};
use axum::response::{IntoResponse, Response};
use futures::{Stream, StreamExt as _};
use steersman_model::{Digest, ObjectId, chain, harmless};
use steersman_operator::status::Redactor;
use steersman_tree::{Condition, EventView, ObjectView, TreeError};
use tokio_util::sync::CancellationToken;

use crate::address::{Kind, Place};
use crate::app::App;
use crate::assets::Asset;
use crate::site::{Found, Site};

pub(crate) use actions::{confirm, done};
pub(crate) use list::{list, list_events};
pub(crate) use logs::{log_events, logs};
pub(crate) use object::object;
pub(crate) use release::{release, release_events};
pub(crate) use views::{compared, plan, values};

/// Changes are told of at most so often.
const PACE: Duration = Duration::from_millis(400);
/// What somebody looks at is looked at anew after so long, whatever is told of it.
const LOOK: Duration = Duration::from_secs(5);

/// A file that is the same for everybody, in a third of its size where the browser knows gzip. Pages are not packed: by how small
/// they get, one can tell what is in them.
pub(crate) async fn asset(Path(name): Path<String>, asked: HeaderMap) -> Response {
    let Some(asset) = Asset::find(&name) else {
        return StatusCode::NOT_FOUND.into_response();
    };
    let head = [
        (CONTENT_TYPE, asset.kind),
        (CACHE_CONTROL, "max-age=3600"),
        (VARY, "accept-encoding"),
    ];
    let known = asked.get(ACCEPT_ENCODING).and_then(|known| known.to_str().ok());
    let mut known = known.unwrap_or_default().split(',').map(str::trim);
    if known.any(|encoding| encoding == "gzip") {
        let packed = [(CONTENT_ENCODING, "gzip")];
        return (head, packed, asset.packed()).into_response();
    }
    (head, asset.content).into_response()
}

pub(crate) async fn nothing(State(app): State<Arc<App>>) -> Response {
    app.message(
        StatusCode::NOT_FOUND,
        "There is nothing here",
        "Releases are on the first page.",
    )
}

/// What is said of something that is not there.
fn gone(app: &App, what: &str) -> Response {
    app.message(
        StatusCode::NOT_FOUND,
        "It is not there",
        &format!("There is no {what}."),
    )
}

fn failed(app: &App, error: &TreeError) -> Response {
    app.message(StatusCode::BAD_GATEWAY, "It can't be looked at", &chain(error))
}

/// A resource with its revisions, or the answer that there is none.
async fn found<'a>(app: &Arc<App>, site: &'a Site, place: &Place) -> Result<(&'a Kind, Found), Response> {
    let Some(kind) = site.kind(place) else {
        return Err(nothing(State(Arc::clone(app))).await);
    };
    match site.find(kind, place).await {
        Ok(Some(found)) => Ok((kind, found)),
        Ok(None) => Err(gone(app, &format!("{} {}", kind.api.kind, place.name))),
        Err(error) => Err(failed(app, &error)),
    }
}

/// An object among those of a release, or below them.
fn within<'a>(objects: &'a [ObjectView], is_meant: &dyn Fn(&ObjectId) -> bool) -> Option<&'a ObjectView> {
    objects.iter().find_map(|object| {
        let below = || within(&object.children, is_meant);
        if is_meant(&object.id) {
            Some(object)
        } else {
            below()
        }
    })
}

/// Does what takes its time, such as masking, while another thread serves others.
fn at_length<T>(work: impl FnOnce() -> T) -> T {
    tokio::task::block_in_place(work)
}

/// Masks texts that others have written, all together: that takes not much longer than one of them.
fn mask_each(mut texts: Vec<&mut String>, redactor: &Redactor) {
    let all: Vec<&str> = texts.iter().map(|text| text.as_str()).collect();
    let masked = at_length(|| redactor.mask_all(&all));
    for (text, masked) in texts.iter_mut().zip(masked) {
        **text = harmless(&masked);
    }
}

/// What conditions and events say.
fn words_of<'a>(
    conditions: &'a mut [Condition],
    events: &'a mut [EventView],
    texts: &mut Vec<&'a mut String>,
) {
    for condition in conditions {
        texts.extend([&mut condition.kind, &mut condition.reason, &mut condition.message]);
    }
    for event in events {
        texts.extend([&mut event.object, &mut event.reason, &mut event.message]);
    }
}

/// What objects and all below them say.
fn messages_of<'a>(objects: &'a mut [ObjectView], texts: &mut Vec<&'a mut String>) {
    for object in objects {
        texts.push(&mut object.message);
        messages_of(&mut object.children, texts);
    }
}

/// Tells of each text that is another one than the last, until the session ends.
fn events(
    (name, site): (&'static str, &Site),
    ended: CancellationToken,
    texts: impl Stream<Item = Option<String>> + Send + 'static,
) -> Response {
    let Some(leave) = site.stream() else {
        return (StatusCode::TOO_MANY_REQUESTS, "too many tabs are open\n").into_response();
    };
    // Digests, as there are many tabs.
    let mut last: Option<Digest> = None;
    let texts = texts.take_until(ended.cancelled_owned());
    let news = texts.filter_map(move |text| {
        let _held = &leave;
        let news = text.filter(|text| {
            let this = Some(Digest::of(text.as_bytes()));
            std::mem::replace(&mut last, this) != this
        });
        std::future::ready(news.map(|news| Ok::<_, Infallible>(Event::default().event(name).data(news))))
    });
    Sse::new(news).keep_alive(KeepAlive::default()).into_response()
}

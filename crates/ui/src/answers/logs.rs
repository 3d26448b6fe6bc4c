//! What a container of a release has written.

use std::sync::Arc;

use askama::Template as _;
use axum::Extension;
use axum::extract::{Path, Query as QueryOf, State};
use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use futures::stream;
use steersman_model::{ObjectId, chain, harmless};
use steersman_operator::status::Redactor;
use steersman_tree::{TreeError, last_lines};

use super::object::shown;
use super::{PACE, at_length, events, failed, gone, within};
use crate::address::{LogQuery, Place};
use crate::app::{App, Visitor, answer};
use crate::pages::{Lines, LogPage};
use crate::site::Site;

/// How often it is looked whether there is more.
const AGAIN: std::time::Duration = std::time::Duration::from_secs(2);

/// So often lines are looked at before it is asked anew what is secret in them.
const LOOKS: u32 = 15;

/// What masks the lines of a pod, if that is one of the release.
async fn redactor(
    app: &App,
    site: &Site,
    place: &Place,
    query: &LogQuery,
) -> Result<Option<Redactor>, TreeError> {
    let Some(kind) = site.kind(place) else {
        return Ok(None);
    };
    let Some(shown) = shown(app, site, kind, place).await? else {
        return Ok(None);
    };
    let is_pod = |id: &ObjectId| {
        let named = (id.namespace.as_deref().unwrap_or_default(), id.name.as_str());
        (id.group.as_str(), id.kind.as_str()) == ("", "Pod") && named == (&query.namespace, &query.pod)
    };
    Ok(within(&shown.objects, &is_pod).map(|_| shown.redactor))
}

async fn lines(site: &Site, query: &LogQuery, redactor: &Redactor) -> Lines {
    let of = (
        query.namespace.as_str(),
        query.pod.as_str(),
        query.container.as_str(),
    );
    match last_lines(&site.client, of, query.former).await {
        Ok(text) => Lines {
            text: at_length(|| harmless(&redactor.mask(&text))),
            problem: String::new(),
        },
        Err(error) => Lines {
            text: String::new(),
            problem: format!("The lines can't be read: {}", harmless(&chain(&error))),
        },
    }
}

pub(crate) async fn logs(
    State(app): State<Arc<App>>,
    Extension(visitor): Extension<Visitor>,
    Path(place): Path<Place>,
    QueryOf(query): QueryOf<LogQuery>,
) -> Response {
    let redactor = match redactor(&app, &visitor.of, &place, &query).await {
        Ok(Some(redactor)) => redactor,
        Ok(None) => return gone(&app, &format!("Pod {} of {}", query.pod, place.name)),
        Err(error) => return failed(&app, &error),
    };
    let page = LogPage {
        head: app.head(&visitor),
        release: &place.name,
        address: place.address(),
        title: format!("Logs of {} in Pod {}", query.container, query.pod),
        events: place.below("logs/events", &query),
        lines: lines(&visitor.of, &query, &redactor).await,
    };
    answer(StatusCode::OK, &page)
}

/// Tells of the lines when there are others.
pub(crate) async fn log_events(
    State(app): State<Arc<App>>,
    Extension(visitor): Extension<Visitor>,
    Path(place): Path<Place>,
    QueryOf(query): QueryOf<LogQuery>,
) -> impl IntoResponse {
    let Visitor { of: site, ended, .. } = visitor;
    let known = site.look(Box::pin(redactor(&app, &site, &place, &query))).await;
    let known = known.and_then(|known| known.ok().flatten());
    let (told, of) = (Arc::clone(&site), (app, site, place, query));
    let texts = stream::unfold((of, known, 0), |(of, mut known, mut looks)| async move {
        let (app, site, place, query) = &of;
        tokio::time::sleep(AGAIN.max(PACE)).await;
        if !site.is_open().await {
            return None;
        }
        // The pod may be another's by now, and Secrets may have been changed.
        looks += 1;
        if looks % LOOKS == 0 {
            let look = site.look(Box::pin(redactor(app, site, place, query))).await;
            known = look.and_then(|known| known.ok().flatten());
        }
        let lines = lines(site, query, known.as_ref()?).await;
        let text = lines.render().ok();
        Some((text, (of, known, looks)))
    });
    events(("logs", &told), ended, texts)
}

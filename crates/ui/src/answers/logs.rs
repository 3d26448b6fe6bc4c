//! What a container of a release has written.

use std::sync::Arc;

use askama::Template as _;
use axum::Extension;
use axum::extract::{Path, Query as QueryOf, State};
use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use futures::stream;
use serde_json::json;
use steersman_model::{Digest, ObjectId, chain, harmless};
use steersman_operator::status::Redactor;
use steersman_tree::{LastLines, TreeError, last_lines, learn_secrets_of_pod};

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
    if within(&shown.objects, &is_pod).is_none() {
        return Ok(None);
    }
    let mut redactor = shown.redactor;
    // What a pod has of other Secrets it may write.
    learn_secrets_of_pod(&site.client, (&query.namespace, &query.pod), &mut redactor).await?;
    Ok(Some(redactor))
}

/// What there is now, unmasked.
async fn read(site: &Site, query: &LogQuery) -> Result<LastLines, String> {
    let of = (
        query.namespace.as_str(),
        query.pod.as_str(),
        query.container.as_str(),
    );
    let lines = last_lines(&site.client, of, query.former).await;
    lines.map_err(|error| format!("The lines can't be read: {}", harmless(&chain(&error))))
}

fn digest(lines: &Result<LastLines, String>) -> Digest {
    let text = match lines {
        Ok(LastLines { text, missing }) => json!([text, missing]).to_string(),
        Err(problem) => problem.clone(),
    };
    Digest::of(text.as_bytes())
}

fn masked(lines: &Result<LastLines, String>, redactor: &Redactor) -> Lines {
    match lines {
        Ok(lines) => Lines {
            text: at_length(|| harmless(&redactor.mask(&lines.text))),
            missing: lines.missing,
            problem: String::new(),
        },
        Err(problem) => Lines {
            text: String::new(),
            missing: "",
            problem: problem.clone(),
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
        lines: masked(&read(&visitor.of, &query).await, &redactor),
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
    let told = Arc::clone(&site);
    let followed = Followed {
        redactor: known.and_then(|known| known.ok().flatten()),
        app,
        site,
        place,
        query,
        looks: 0,
        last: None,
    };
    events(("logs", &told), ended, stream::unfold(followed, Followed::next))
}

/// The lines of a container, which somebody is told of as they come.
struct Followed {
    app: Arc<App>,
    site: Arc<Site>,
    place: Place,
    query: LogQuery,
    /// None where the pod is not of the release.
    redactor: Option<Redactor>,
    looks: u32,
    /// A digest of what there was.
    last: Option<Digest>,
}

impl Followed {
    /// What there is after a while, where that is something else than before.
    async fn next(mut self) -> Option<(Option<String>, Self)> {
        tokio::time::sleep(AGAIN.max(PACE)).await;
        let site = &self.site;
        if !site.is_open().await {
            return None;
        }
        // The pod may be another's by now, and Secrets may have been changed.
        self.looks += 1;
        let is_anew = self.looks.is_multiple_of(LOOKS);
        if is_anew {
            let known = redactor(&self.app, site, &self.place, &self.query);
            let known = site.look(Box::pin(known)).await;
            self.redactor = known.and_then(|known| known.ok().flatten());
        }
        let redactor = self.redactor.as_ref()?;
        let lines = site.look(read(site, &self.query)).await;
        let digest = lines.as_ref().map(digest);
        // To mask what is there already takes its time.
        let text = lines.filter(|_| digest != self.last || is_anew);
        let text = text.and_then(|lines| masked(&lines, redactor).render().ok());
        self.last = digest.or(self.last);
        Some((text, self))
    }
}

//! One object of a release.

use std::collections::BTreeSet;
use std::sync::Arc;

use axum::Extension;
use axum::extract::{Path, Query as QueryOf, State};
use axum::http::StatusCode;
use axum::response::Response;
use kube::api::DynamicObject;
use steersman_cluster::RequestError;
use steersman_operator::status::Redactor;
use steersman_tree::{ContainerView, ObjectView, TreeError, checks_of, conditions, containers, owners, yaml};

use super::release::redactor_of_release;
use super::{at_length, failed, gone, mask_each, nothing, within, words_of};
use crate::address::{Kind, LogQuery, ObjectQuery, Place};
use crate::app::{App, Visitor, answer};
use crate::pages::{ContainerLine, ObjectPage};
use crate::site::{Found, Site};

/// What is shown of a release, and what masks its secrets.
pub(super) struct Shown {
    pub(super) found: Found,
    pub(super) objects: Vec<ObjectView>,
    pub(super) redactor: Redactor,
}

/// Reads a release; `None` where there is no such resource.
pub(super) async fn shown(
    app: &App,
    site: &Site,
    kind: &Kind,
    place: &Place,
) -> Result<Option<Shown>, TreeError> {
    let Some(found) = site.find(kind, place).await? else {
        return Ok(None);
    };
    let checks = checks_of(Some(&app.watches), &kind.api);
    let view = site.view(kind, &found, checks).await?;
    let (redactor, _) = redactor_of_release(&site.client, &found).await;
    Ok(Some(Shown {
        objects: view.objects,
        redactor,
        found,
    }))
}

pub(crate) async fn object(
    State(app): State<Arc<App>>,
    Extension(visitor): Extension<Visitor>,
    Path(place): Path<Place>,
    QueryOf(query): QueryOf<ObjectQuery>,
) -> Response {
    let site = &visitor.of;
    let Some(kind) = site.kind(&place) else {
        return nothing(State(app)).await;
    };
    let what = format!("{} {} of {}", query.kind, query.name, place.name);
    let shown = match shown(&app, site, kind, &place).await {
        Ok(Some(shown)) => shown,
        Ok(None) => return gone(&app, &format!("{} {}", kind.api.kind, place.name)),
        Err(error) => return failed(&app, &error),
    };
    let Some(view) = within(&shown.objects, &|id| query.is_for(id)) else {
        return gone(&app, &what);
    };
    let live = match live(site, &shown.found, &query).await {
        Ok(Some(live)) => live,
        Ok(None) => return gone(&app, &what),
        Err(error) => return failed(&app, &error),
    };
    let text = serde_json::to_value(&live).unwrap_or_default();
    let about = BTreeSet::from([view.id.clone()]);
    let namespace = Some(query.namespace.as_str()).filter(|namespace| !namespace.is_empty());
    let events = match namespace {
        Some(namespace) => steersman_tree::events(&site.client, namespace, &about).await,
        None => Ok(Vec::new()),
    };
    let (mut why, mut owners) = (view.message.clone(), owners(&live));
    let is_pod = (query.group.as_str(), query.kind.as_str()) == ("", "Pod");
    let mut containers = if is_pod { containers(&live) } else { Vec::new() };
    let mut conditions = conditions(&live.data);
    // Who may see objects need not be allowed to see events.
    let mut events = events.unwrap_or_default();
    let mut texts = vec![&mut why];
    words_of(&mut conditions, &mut events, &mut texts);
    for ContainerView {
        image,
        state,
        message,
        former,
        ..
    } in &mut containers
    {
        texts.extend([image, state, message, former]);
    }
    // An item of a set is named by its value.
    texts.extend(owners.iter_mut().flat_map(|owner| &mut owner.fields));
    mask_each(texts, &shown.redactor);
    let page = ObjectPage {
        head: app.head(&visitor),
        release: &place.name,
        address: place.address(),
        title: view.label(place.namespace()),
        why,
        containers: lines_of(&place, &query, containers),
        conditions,
        events,
        owners,
        text: at_length(|| yaml(&text, &shown.redactor)),
    };
    answer(StatusCode::OK, &page)
}

async fn live(site: &Site, found: &Found, query: &ObjectQuery) -> Result<Option<DynamicObject>, TreeError> {
    let Some(resource) = found.served.any_version(&query.group, &query.kind) else {
        return Ok(None);
    };
    let namespace = Some(query.namespace.as_str()).filter(|namespace| !namespace.is_empty());
    let objects = resource.objects::<DynamicObject>(&site.client, namespace);
    Ok(objects.get_opt(&query.name).await.map_err(RequestError::from)?)
}

/// The containers of a pod, each with where its logs are.
fn lines_of(place: &Place, query: &ObjectQuery, containers: Vec<ContainerView>) -> Vec<ContainerLine> {
    let lines = containers.into_iter().map(|view| {
        let of = |former| LogQuery {
            namespace: query.namespace.clone(),
            pod: query.name.clone(),
            container: view.name.clone(),
            former,
        };
        let former = (view.restarts > 0).then(|| place.below("logs", &of(true)));
        ContainerLine {
            logs: place.below("logs", &of(false)),
            former: former.unwrap_or_default(),
            view,
        }
    });
    lines.collect()
}

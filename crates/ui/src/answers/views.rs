//! What a release is made of, and what differs.

use std::sync::Arc;

use axum::Extension;
use axum::extract::{Path, Query as QueryOf, State};
use axum::http::StatusCode;
use axum::response::Response;
use kube::api::DynamicObject;
use serde::Deserialize;
use serde_json::Value;
use steersman_model::{ReleaseStatus, Revision, chain};
use steersman_operator::status::Redactor;
use steersman_tree::{PlanView, compare, dry_run, learn_secrets, values_by_source};
use steersman_watches::Watch;

use super::release::redactor_of_release;
use super::{at_length, failed, found, gone, nothing};
use crate::address::{Kind, Place};
use crate::app::{App, Visitor, answer};
use crate::pages::{ComparePage, Plan, PlanPage, ValuesPage};
use crate::site::Site;

/// So many values are shown.
const MOST_VALUES: usize = 2000;

/// What the operator would do with a resource, tried with the rights of who looks: as no account of the entry.
pub(super) async fn planned(site: &Site, watch: &Watch, kind: &Kind, object: DynamicObject) -> Plan {
    let watch = Watch {
        service_account: None,
        ..watch.clone()
    };
    let spec = object.data.get("spec").cloned().unwrap_or_default();
    // Whoever looks is not told what the environment of the page gives the entry.
    let mut redactor = Redactor::default();
    redactor.add_all(&of_environment(&watch));
    let tried = dry_run(&site.client, &watch, kind.resource.clone(), object, site.memory()).await;
    Plan::of(match tried {
        Ok(mut dry_run) => {
            dry_run.redactor.extend(redactor);
            Ok(at_length(|| PlanView::of(&dry_run)))
        }
        Err(error) => {
            // It may have what the chart was given.
            redactor.add_values(&spec);
            Err(redactor.mask(&chain(&error)))
        }
    })
}

/// The values that an entry has from the environment of this process.
fn of_environment(watch: &Watch) -> Value {
    let values = &watch.values;
    let typed = values.typed_overrides();
    let all = typed.iter().chain(&values.override_values);
    let all = all.filter(|(key, _)| values.from_environment.contains(*key));
    all.map(|(_, value)| Value::from(value.clone())).collect()
}

pub(crate) async fn plan(
    State(app): State<Arc<App>>,
    Extension(visitor): Extension<Visitor>,
    Path(place): Path<Place>,
) -> Response {
    let site = &visitor.of;
    let Some((kind, watch)) = site.kind(&place).and_then(|kind| Some((kind, app.watch(kind)?))) else {
        return nothing(State(app)).await;
    };
    let object = match site.object(kind, &place).await {
        Ok(Some(object)) => object,
        Ok(None) => return gone(&app, &format!("{} {}", kind.api.kind, place.name)),
        Err(error) => return failed(&app, &error.into()),
    };
    let page = PlanPage {
        head: app.head(&visitor),
        release: &place.name,
        address: place.address(),
        plan: planned(site, watch, kind, object).await,
    };
    answer(StatusCode::OK, &page)
}

pub(crate) async fn values(
    State(app): State<Arc<App>>,
    Extension(visitor): Extension<Visitor>,
    Path(place): Path<Place>,
) -> Response {
    let site = &visitor.of;
    let (kind, found) = match found(&app, site, &place).await {
        Ok(found) => found,
        Err(response) => return response,
    };
    let Some(watch) = app.watch(kind) else {
        return nothing(State(app)).await;
    };
    let mut newest = found.revisions.iter().rev();
    let deployed = newest.find(|stored| stored.record.info.status == ReleaseStatus::Deployed);
    let spec = found.object.data.get("spec").and_then(Value::as_object);
    let spec = spec.cloned().unwrap_or_default();
    let (redactor, _) = redactor_of_release(&site.client, &found).await;
    let (values, more) = at_length(|| values_by_source(watch, &spec, deployed, redactor, MOST_VALUES));
    let sources = deployed.map(|stored| stored.snapshot.values_from.as_slice());
    let from = sources.unwrap_or_default().iter().map(|source| {
        let at = source
            .target_path
            .as_ref()
            .map_or_else(String::new, |path| format!(", at {path}"));
        let (kind, name, key) = (&source.kind, &source.name, &source.values_key);
        format!("Key {key} of {kind} {name} has values, too{at}: they are not shown.")
    });
    let denied = found.denied.as_ref().map(|error| {
        format!(
            "You may not read its revisions ({}): values of other objects are not named.",
            chain(error)
        )
    });
    let page = ValuesPage {
        head: app.head(&visitor),
        release: &place.name,
        address: place.address(),
        from: denied.into_iter().chain(from).collect(),
        values,
        more,
    };
    answer(StatusCode::OK, &page)
}

#[derive(Debug, Deserialize)]
pub(crate) struct Revisions {
    from: u32,
    to: u32,
}

pub(crate) async fn compared(
    State(app): State<Arc<App>>,
    Extension(visitor): Extension<Visitor>,
    Path(place): Path<Place>,
    QueryOf(Revisions { from, to }): QueryOf<Revisions>,
) -> Response {
    let site = &visitor.of;
    let (_, found) = match found(&app, site, &place).await {
        Ok(found) => found,
        Err(response) => return response,
    };
    if let Some(error) = &found.denied {
        return failed(&app, error);
    }
    let numbered = |number: u32| {
        let mut stored = found.revisions.iter();
        stored.find(|stored| stored.record.version.0 == number)
    };
    let (Some(before), Some(after)) = (numbered(from), numbered(to)) else {
        return gone(
            &app,
            &format!("revision {from}, or none {to}: the history has an end"),
        );
    };
    let mut redactor = Redactor::default();
    let unknown = learn_secrets(&site.client, &found.revisions, &mut redactor).await;
    let has_unknown = [from, to]
        .iter()
        .any(|number| unknown.contains(&Revision(*number)));
    match at_length(|| compare((before, after), redactor, &unknown)) {
        Ok(changes) => {
            let numbers = found.revisions.iter().map(|stored| stored.record.version.0);
            let of = (app.head(&visitor), place.name.as_str(), place.address());
            let page = ComparePage::of(of, (from, to), numbers.collect(), (&changes, has_unknown));
            answer(StatusCode::OK, &page)
        }
        Err(error) => failed(&app, &error),
    }
}

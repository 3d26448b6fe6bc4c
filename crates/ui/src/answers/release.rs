//! A release, with all that its page tells.

use std::collections::BTreeSet;
use std::sync::Arc;

use askama::Template as _;
use axum::Extension;
use axum::extract::{Path, State};
use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use futures::stream;
use kube::Client;
use kube::api::DynamicObject;
use steersman_cluster::discovery::Served;
use steersman_model::{ApiKind, ObjectId, Revision, chain};
use steersman_operator::status::Redactor;
use steersman_tree::{
    ObjectView, TreeError, checks_of, learn_secrets, may, redactor_of, revision_view, runs_of,
};
use steersman_watches::Watch;
use steersman_watches::controls::{Controls, Mode};
use steersman_watches::procedure::{Cron, Procedure};

use super::{LOOK, PACE, at_length, events, failed, gone, mask_each, messages_of, nothing, words_of};
use crate::actions::{Action, Subject};
use crate::address::{Kind, Place};
use crate::app::{App, Visitor, answer};
use crate::pages::{Button, Made, Release, ReleasePage, RunKind};
use crate::site::{Found, Site};

pub(crate) async fn release(
    State(app): State<Arc<App>>,
    Extension(visitor): Extension<Visitor>,
    Path(place): Path<Place>,
) -> Response {
    let Some(kind) = visitor.of.kind(&place) else {
        return nothing(State(app)).await;
    };
    match read(&app, &visitor.of, kind, &place).await {
        Ok(Some(release)) => {
            let page = ReleasePage {
                head: app.head(&visitor),
                events: format!("{}/events", place.address()),
                release,
            };
            answer(StatusCode::OK, &page)
        }
        Ok(None) => gone(&app, &format!("{} {}", kind.api.kind, place.name)),
        Err(error) => failed(&app, &error),
    }
}

/// Tells of a release when it has changed. What becomes of others has it not looked at.
pub(crate) async fn release_events(
    State(app): State<Arc<App>>,
    Extension(visitor): Extension<Visitor>,
    Path(place): Path<Place>,
) -> impl IntoResponse {
    let Visitor { of: site, ended, .. } = visitor;
    let (changes, of) = (site.feed.changes(), Arc::clone(&site));
    let texts = stream::unfold(
        (changes, app, site, place),
        |(mut changes, app, site, place)| async {
            let kind = site.kind(&place)?;
            let before = site.row(&place);
            let is_changed = async { while changes.changed().await.is_ok() && site.row(&place) == before {} };
            let _ = tokio::time::timeout(LOOK, is_changed).await;
            tokio::time::sleep(PACE).await;
            if !site.is_open().await {
                return None;
            }
            // What fails now is tried again: what was seen last stays.
            let look = site.look(Box::pin(read(&app, &site, kind, &place))).await;
            let release = look.and_then(|read| read.ok().flatten());
            let text = release.and_then(|release| release.render().ok());
            Some((text, (changes, app, site, place)))
        },
    );
    events(("release", &of), ended, texts)
}

/// A release as it is now; `None` where there is no such resource.
async fn read(app: &App, site: &Site, kind: &Kind, place: &Place) -> Result<Option<Release>, TreeError> {
    let Some(found) = site.find(kind, place).await? else {
        return Ok(None);
    };
    let Found {
        object,
        revisions,
        denied,
        served,
        ..
    } = &found;
    let checks = checks_of(Some(&app.watches), &kind.api);
    let mut view = site.view(kind, &found, checks).await?;
    let (redactor, _) = redactor_of_release(&site.client, &found).await;
    let mut texts = Vec::new();
    messages_of(&mut view.objects, &mut texts);
    mask_each(texts, &redactor);
    let watch = app.watch(kind);
    let of = (place.namespace(), Some(place.name.as_str()));
    // What can't be asked is not offered.
    let may_change = may(&site.client, "patch", &kind.resource, of)
        .await
        .unwrap_or_default();
    let about = about((&kind.api, place), &view.objects);
    let namespace = revisions.last().map(|stored| stored.record.namespace.clone());
    let namespace = place.namespace().map(str::to_owned).or(namespace);
    let history = revisions.iter().map(revision_view).collect();
    let made = match (watch, denied) {
        (None, _) => Made::Run,
        (_, Some(error)) => Made::Unknown(chain(error)),
        _ => Made::Chart,
    };
    let mut release = Release::of(place, view, history, (&made, may_change));
    if may_change {
        release.buttons = buttons(place, object);
    }
    let (controls, _) = Controls::read(object.metadata.annotations.as_ref());
    if controls.mode == Mode::DryRun {
        release
            .facts
            .push("It is a dry run: the operator says what it would do, and does nothing.".to_owned());
    }
    if let Some(namespace) = namespace {
        match steersman_tree::events(&site.client, &namespace, &about).await {
            Ok(events) => release.events = events,
            Err(error) => release
                .facts
                .push(format!("The events can't be listed: {}", chain(&error))),
        }
    }
    if let Some(watch) = watch {
        for procedure in &watch.procedures {
            let runs = procedure_runs(site, (watch, procedure), served, place).await;
            release.procedures.push(runs);
        }
    }
    mask(&mut release, &redactor);
    Ok(Some(release))
}

/// What is said in the status, in events and by runs may come from others, who know the secrets.
fn mask(release: &mut Release, redactor: &Redactor) {
    let mut texts: Vec<&mut String> = release.facts.iter_mut().collect();
    words_of(&mut release.view.conditions, &mut release.events, &mut texts);
    let history = release.history.iter_mut().map(|line| &mut line.revision);
    texts.extend(history.map(|revision| &mut revision.description));
    for stage in &mut release.stages {
        texts.extend([&mut stage.name, &mut stage.state, &mut stage.message]);
    }
    let runs = release.procedures.iter_mut().flat_map(|kind| &mut kind.runs);
    for run in runs {
        texts.extend([&mut run.name, &mut run.phase, &mut run.ended]);
        texts.extend([&mut run.message, &mut run.result]);
        for step in &mut run.steps {
            texts.extend([&mut step.name, &mut step.state, &mut step.message]);
        }
    }
    mask_each(texts, redactor);
}

/// What masks the secrets of a release, and the revisions of which it does not know all that was secret.
pub(super) async fn redactor_of_release(client: &Client, found: &Found) -> (Redactor, BTreeSet<Revision>) {
    let mut redactor = at_length(|| redactor_of(&found.revisions));
    let unknown = learn_secrets(client, &found.revisions, &mut redactor).await;
    if let Some(spec) = found.object.data.get("spec") {
        redactor.add_values(spec);
    }
    (redactor, unknown)
}

fn buttons(place: &Place, object: &DynamicObject) -> Vec<Button> {
    let annotations = object.metadata.annotations.as_ref();
    let (controls, _) = Controls::read(annotations);
    let is_paused = controls.mode == Mode::Pause;
    let pause = if is_paused { Action::Resume } else { Action::Pause };
    let actions = [Action::Reconcile, pause];
    let button = |action: &Action| Button::new(place, action, &Subject::default(), "");
    actions.iter().map(button).collect()
}

/// The kinds and names of what belongs to a release.
fn about((api, place): (&ApiKind, &Place), objects: &[ObjectView]) -> BTreeSet<ObjectId> {
    let resource = ObjectId {
        group: api.group.clone(),
        kind: api.kind.clone(),
        namespace: place.namespace().map(str::to_owned),
        name: place.name.clone(),
    };
    let mut about = BTreeSet::from([resource]);
    let mut open: Vec<&ObjectView> = objects.iter().collect();
    while let Some(object) = open.pop() {
        about.insert(object.id.clone());
        open.extend(&object.children);
    }
    about
}

/// How the objects are addressed that are runs of a procedure.
pub(super) fn kind_of_runs(watch: &Watch, procedure: &Procedure) -> ApiKind {
    ApiKind {
        group: watch.gvk.group.clone(),
        version: watch.gvk.version.clone(),
        kind: procedure.run_kind.clone(),
    }
}

async fn procedure_runs(
    site: &Site,
    (watch, procedure): (&Watch, &Procedure),
    served: &Served,
    place: &Place,
) -> RunKind {
    let mut told = RunKind {
        procedure: procedure.name.clone(),
        when: when(procedure),
        button: None,
        runs: Vec::new(),
        problem: String::new(),
    };
    let Some(runs) = served.resource(&kind_of_runs(watch, procedure)) else {
        told.problem = format!("The API server has no kind {}.", procedure.run_kind);
        return told;
    };
    let namespace = place.namespace();
    if may(&site.client, "create", runs, (namespace, None))
        .await
        .unwrap_or_default()
    {
        let subject = Subject {
            procedure: procedure.name.clone(),
            ..Subject::default()
        };
        told.button = Some(Button::new(place, &Action::Run, &subject, &procedure.name));
    }
    match runs_of(&site.client, runs, (namespace, &place.name)).await {
        Ok(found) => told.runs = found,
        Err(error) => told.problem = format!("Its runs can't be listed: {}", chain(&error)),
    }
    told
}

/// When a procedure is carried out by itself.
fn when(procedure: &Procedure) -> String {
    let mut when = Vec::new();
    match procedure.schedule.as_ref().map(|schedule| &schedule.cron) {
        Some(Cron::Fixed(cron)) => when.push(format!("by schedule {cron}")),
        Some(Cron::Value(path)) => when.push(format!("by the schedule in value {path}")),
        None => {}
    }
    if let Some(on) = &procedure.on {
        when.push(format!("when {} changes", on.path));
    }
    if procedure.before.is_some() {
        when.push("before an upgrade".to_owned());
    }
    if procedure.exclusive {
        when.push("alone".to_owned());
    }
    when.join(", ")
}

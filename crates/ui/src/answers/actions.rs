//! What is done with a release when somebody says so: what it will do is shown, and confirmed.

use std::collections::BTreeSet;
use std::sync::Arc;

use axum::Extension;
use axum::extract::{Form, Path, Query as QueryOf, State};
use axum::http::StatusCode;
use axum::http::header::LOCATION;
use axum::response::{IntoResponse, Response};
use jiff::Timestamp;
use kube::api::{DynamicObject, ObjectMeta, Patch, PatchParams, PostParams};
use serde::Deserialize;
use serde_json::{Map, Value, json};
use steersman_cluster::RequestError;
use steersman_model::{Digest, FIELD_MANAGER, Revision, chain, harmless};
use steersman_operator::release::Stored;
use steersman_operator::status::Redactor;
use steersman_tree::{stages, unified, without_former};
use steersman_watches::Watch;
use steersman_watches::procedure::Procedure;

use super::release::{kind_of_runs, redactor_of_release};
use super::views::planned;
use super::{at_length, found, nothing};
use crate::access::{is_same, secret};
use crate::actions::{Action, Subject, parameters_of, run_object, spec_of};
use crate::address::{Kind, Place};
use crate::app::{App, Visitor, answer};
use crate::pages::{ActionPage, Diff, Field};
use crate::site::{Found, Site};

/// So often it is tried where the status of a resource changes meanwhile.
const TRIES: usize = 4;
/// Why nothing is done.
const CHANGED: &str = "the resource has changed meanwhile: this is what would be done now";
/// So many letters at random make the name of a run its own.
const LETTERS: usize = 8;

/// An action on a release, as an address names it.
#[derive(Debug, Deserialize)]
pub(crate) struct Named {
    kind: String,
    namespace: String,
    name: String,
    action: String,
}

/// An action, and what it is done with.
struct Asked<'a> {
    site: &'a Site,
    kind: &'a Kind,
    watch: Option<&'a Watch>,
    place: Place,
    action: Action,
    subject: Subject,
    found: Found,
}

/// Shows what an action will do, and asks for somebody's word.
pub(crate) async fn confirm(
    State(app): State<Arc<App>>,
    Extension(visitor): Extension<Visitor>,
    Path(named): Path<Named>,
    QueryOf(subject): QueryOf<Subject>,
) -> Response {
    match asked(&app, &visitor.of, named, subject).await {
        Ok(asked) => page(&app, asked, &visitor, (&[], String::new())).await,
        Err(response) => response,
    }
}

/// Does it, where the form is one of ours.
pub(crate) async fn done(
    State(app): State<Arc<App>>,
    Extension(visitor): Extension<Visitor>,
    Path(named): Path<Named>,
    QueryOf(subject): QueryOf<Subject>,
    Form(form): Form<Vec<(String, String)>>,
) -> Response {
    let token = field(&form, "token");
    if !is_same(token, &visitor.form) {
        let text = "The form is of another session. Open its page again.";
        return app.message(StatusCode::FORBIDDEN, "Not from there", text);
    }
    let asked = match asked(&app, &visitor.of, named, subject).await {
        Ok(asked) => asked,
        Err(response) => return response,
    };
    match asked.act(&form).await {
        Ok(()) => (StatusCode::SEE_OTHER, [(LOCATION, asked.place.address())]).into_response(),
        Err(refused) => {
            let refused = asked.redactor().await.0.mask(&refused);
            page(&app, asked, &visitor, (&form, refused)).await
        }
    }
}

fn field<'a>(form: &'a [(String, String)], name: &str) -> &'a str {
    let found = form.iter().find(|(field, _)| field == name);
    found.map(|(_, value)| value.as_str()).unwrap_or_default()
}

async fn asked<'a>(
    app: &'a Arc<App>,
    site: &'a Site,
    named: Named,
    subject: Subject,
) -> Result<Asked<'a>, Response> {
    let place = Place {
        kind: named.kind,
        namespace: named.namespace,
        name: named.name,
    };
    let Some(action) = Action::parse(&named.action) else {
        return Err(nothing(State(Arc::clone(app))).await);
    };
    let (kind, found) = found(app, site, &place).await?;
    let asked = Asked {
        watch: app.watch(kind),
        site,
        kind,
        place,
        action,
        subject,
        found,
    };
    let needs = match asked.action {
        Action::Run => asked.procedure().is_some(),
        Action::RollBack => asked.target().is_some(),
        Action::Approve | Action::Skip | Action::Retry => asked.has_stage(),
        Action::Reconcile | Action::Pause | Action::Resume => true,
    };
    if needs {
        Ok(asked)
    } else {
        Err(nothing(State(Arc::clone(app))).await)
    }
}

async fn page(
    app: &App,
    mut asked: Asked<'_>,
    visitor: &Visitor,
    (form, refused): (&[(String, String)], String),
) -> Response {
    if asked.action.has_plan() {
        // Its memory is for the plan: who holds some and waits for more may wait for themselves.
        asked.found.forget_revisions();
    }
    let asked = &asked;
    let Asked {
        site,
        kind,
        watch,
        place,
        action,
        subject,
        found,
    } = asked;
    let (object, token) = (found.object.clone(), visitor.form.as_str());
    let plan = match watch.filter(|_| action.has_plan()) {
        Some(watch) => {
            let object = match action {
                Action::Resume => unpaused(object),
                _ => object,
            };
            Some(planned(site, watch, kind, object).await)
        }
        None => None,
    };
    let procedure = asked.procedure().filter(|_| *action == Action::Run);
    let page = ActionPage {
        head: app.head(visitor),
        release: &place.name,
        address: place.address(),
        target: place.below(&format!("actions/{}", action.slug()), subject),
        word: action.word(),
        effect: harmless(&action.effect(subject)),
        steps: procedure.map(steps).unwrap_or_default(),
        fields: procedure
            .map(|procedure| fields(procedure, form))
            .unwrap_or_default(),
        hidden: vec![
            ("token", token.to_owned()),
            ("shown", asked.shown(token)),
            ("run", own_letters(form).unwrap_or_default()),
        ],
        diff: asked.spec_diff().await,
        plan,
        refused,
    };
    let status = if page.refused.is_empty() {
        StatusCode::OK
    } else {
        StatusCode::CONFLICT
    };
    answer(status, &page)
}

/// What makes the name of a run its own. It stays with a form: however often that is sent, one run is made.
fn own_letters(form: &[(String, String)]) -> Result<String, String> {
    match field(form, "run") {
        "" => secret().map_err(|error| chain(&error)),
        own => Ok(own.to_owned()),
    }
}

/// As it would be without the annotation that has it left alone.
fn unpaused(mut object: DynamicObject) -> DynamicObject {
    if let Some(annotations) = &mut object.metadata.annotations {
        annotations.remove("steersman.dev/pause");
    }
    object
}

fn steps(procedure: &Procedure) -> Vec<String> {
    use steersman_watches::procedure::Work;
    let words = |step: &steersman_watches::procedure::Step, when: &str| {
        let what = match &step.work {
            Work::Job(job) => format!("Job of {}", job.file),
            Work::Values(_) => "other values".to_owned(),
            Work::Ready => "waits until the release is ready".to_owned(),
            Work::Holds(_) => "waits for a condition".to_owned(),
        };
        format!("{}: {what}{when}", step.name)
    };
    let steps = procedure.steps.iter().map(|step| words(step, ""));
    let finally = procedure.finally.iter().map(|step| words(step, ", in any case"));
    steps.chain(finally).collect()
}

fn fields(procedure: &Procedure, form: &[(String, String)]) -> Vec<Field> {
    let plain = |value: &Value| value.as_str().map_or_else(|| value.to_string(), str::to_owned);
    let fields = procedure.parameters.iter().map(|parameter| {
        let name = format!("p.{}", parameter.name);
        let given = field(form, &name);
        let usual = parameter.default.as_ref().map(plain).unwrap_or_default();
        Field {
            label: parameter.name.clone(),
            about: parameter.description.clone().unwrap_or_default(),
            value: if given.is_empty() { usual } else { given.to_owned() },
            is_needed: parameter.required && parameter.default.is_none(),
            allowed: parameter.allowed.iter().map(plain).collect(),
            name,
        }
    });
    fields.collect()
}

impl Asked<'_> {
    fn procedure(&self) -> Option<&Procedure> {
        let mut all = self.watch?.procedures.iter();
        all.find(|procedure| procedure.name == self.subject.procedure)
    }

    /// The revision that is gone back to.
    fn target(&self) -> Option<&Stored> {
        let mut all = self.found.revisions.iter();
        // Of others it is not known what of their values is the resource's.
        all.find(|stored| {
            let is_known = stored.snapshot.overridden.is_some();
            is_known && Some(stored.record.version.0) == self.subject.revision
        })
    }

    /// Whether the resource says that it is at a stage for which the action is.
    fn has_stage(&self) -> bool {
        let stages = stages(&self.found.object.data);
        let mut named = stages.iter().filter(|stage| stage.id() == self.subject.stage);
        named.any(|stage| self.action.is_for_stage(&stage.state))
    }

    fn spec(&self) -> Map<String, Value> {
        let spec = self.found.object.data.get("spec").and_then(Value::as_object);
        spec.cloned().unwrap_or_default()
    }

    /// The spec of the revision that is gone back to.
    fn wanted(&self) -> Option<Map<String, Value>> {
        let stored = self.target().filter(|_| self.action == Action::RollBack)?;
        Some(spec_of(stored, self.watch?, &self.spec()))
    }

    /// What masks what is secret in the release, and in the spec as it is and would be; and the revisions of which it does not know all.
    async fn redactor(&self) -> (Redactor, BTreeSet<Revision>) {
        let (mut redactor, unknown) = redactor_of_release(&self.site.client, &self.found).await;
        for spec in [Some(self.spec()), self.wanted()].into_iter().flatten() {
            redactor.add_values(&Value::Object(spec));
        }
        (redactor, unknown)
    }

    async fn spec_diff(&self) -> Option<Diff> {
        let mut wanted = Value::Object(self.wanted()?);
        let spec = Value::Object(self.spec());
        let (redactor, unknown) = self.redactor().await;
        let target = self.target().map(|stored| stored.record.version);
        if target.is_some_and(|target| unknown.contains(&target)) {
            wanted = without_former(&wanted, &spec);
        }
        let text = at_length(|| unified("spec", Some(&spec), Some(&wanted), &redactor));
        Some(Diff::of(&text.unwrap_or_else(|| {
            "It is the same, but for what is masked.".to_owned()
        })))
    }

    /// What a page is about: the resource, the state of its spec, the action, and what the spec would be. A digest of that tells nobody what
    /// it is, as it is also of the token of the session.
    fn shown(&self, token: &str) -> String {
        let metadata = &self.found.object.metadata;
        let uid = metadata.uid.as_deref().unwrap_or_default();
        let what = json!([token, self.action.slug(), self.subject, self.wanted()]);
        let digest = Digest::of(what.to_string().as_bytes());
        format!("{uid}/{}/{digest}", metadata.generation.unwrap_or_default())
    }

    /// # Errors
    /// Why it is not done, for people.
    async fn act(&self, form: &[(String, String)]) -> Result<(), String> {
        if field(form, "shown") != self.shown(field(form, "token")) {
            return Err(CHANGED.to_owned());
        }
        match self.action {
            Action::RollBack => self.roll_back().await,
            Action::Run => self.make_run(form).await,
            _ => self.annotate().await,
        }
    }

    /// What others write into the same annotation at the same time stays there.
    async fn annotate(&self) -> Result<(), String> {
        let now = Timestamp::now().to_string();
        self.send_as_it_is(|current| {
            let annotations = current.annotations.as_ref();
            let before = |name: &str| {
                annotations
                    .and_then(|all| all.get(name))
                    .cloned()
                    .unwrap_or_default()
            };
            let said = self.action.annotation(&self.subject, &before, &now)?;
            let (name, value) = said.ok_or("there is no such action")?;
            let mut metadata = json!({ "uid": current.uid, "annotations": { (name): value } });
            if self.action.is_listed() {
                metadata["resourceVersion"] = json!(current.resource_version);
            }
            Ok(Patch::Merge(json!({ "metadata": metadata })))
        })
        .await
    }

    async fn roll_back(&self) -> Result<(), String> {
        let wanted = self.wanted().ok_or("there is no such revision")?;
        if wanted == self.spec() {
            return Err(
                "the spec is that of the revision already: there is nothing to go back to by it".to_owned(),
            );
        }
        self.send_as_it_is(|current| {
            let patch = json!([
                { "op": "test", "path": "/metadata/uid", "value": current.uid },
                { "op": "test", "path": "/metadata/generation", "value": current.generation },
                { "op": "add", "path": "/spec", "value": wanted },
            ]);
            let patch = serde_json::from_value(patch).map_err(|error| chain(&error))?;
            Ok(Patch::Json::<Value>(patch))
        })
        .await
    }

    /// What was shown is what is done: of another resource, or spec, than that nothing is. All else of it may change meanwhile, and the
    /// patch is made anew then.
    async fn send_as_it_is(
        &self,
        patch: impl Fn(&ObjectMeta) -> Result<Patch<Value>, String>,
    ) -> Result<(), String> {
        let shown = &self.found.object.metadata;
        let is_shown =
            |current: &ObjectMeta| (&current.uid, current.generation) == (&shown.uid, shown.generation);
        let mut object = Some(self.found.object.clone());
        for _ in 0..TRIES {
            let Some(current) = object.filter(|object| is_shown(&object.metadata)) else {
                break;
            };
            match self.send(&patch(&current.metadata)?).await {
                Err(Refusal::Conflict) => {}
                done => return done.map_err(Refusal::words),
            }
            let now = self.site.object(self.kind, &self.place).await;
            object = now.map_err(|error| chain(&error))?;
        }
        Err(CHANGED.to_owned())
    }

    async fn send(&self, patch: &Patch<Value>) -> Result<(), Refusal> {
        let resources = self
            .kind
            .resource
            .objects::<DynamicObject>(&self.site.client, self.place.namespace());
        let parameters = PatchParams {
            field_manager: Some(FIELD_MANAGER.to_owned()),
            ..PatchParams::default()
        };
        let patched = resources.patch(&self.place.name, &parameters, patch).await;
        patched.map(|_| ()).map_err(Refusal::of)
    }

    async fn make_run(&self, form: &[(String, String)]) -> Result<(), String> {
        let (Some(procedure), Some(watch)) = (self.procedure(), self.watch) else {
            return Err("there is no such procedure".to_owned());
        };
        let api = kind_of_runs(watch, procedure);
        let Some(runs) = self.found.served.resource(&api) else {
            return Err(format!("the API server has no kind {}", procedure.run_kind));
        };
        let metadata = &self.found.object.metadata;
        let owner = json!({
            "apiVersion": self.kind.api.api_version(),
            "kind": self.kind.api.kind,
            "name": metadata.name,
            "uid": metadata.uid,
        });
        let parameters = parameters_of(procedure, form)?;
        // The same form with other parameters is another run.
        let letters = Digest::of(json!([own_letters(form)?, parameters]).to_string().as_bytes()).to_string();
        let letters = letters.get(..LETTERS).unwrap_or_default().to_owned();
        let object = run_object(procedure, (&api.api_version(), &owner), &parameters, &letters);
        let object: DynamicObject = serde_json::from_value(object).map_err(|error| chain(&error))?;
        let parameters = PostParams {
            field_manager: Some(FIELD_MANAGER.to_owned()),
            ..PostParams::default()
        };
        let runs = runs.objects::<DynamicObject>(&self.site.client, self.place.namespace());
        match runs.create(&parameters, &object).await {
            Ok(_) => Ok(()),
            // The form was sent before, and the run is there.
            Err(kube::Error::Api(status)) if status.reason == "AlreadyExists" => {
                let name = object.metadata.name.unwrap_or_default();
                let found = runs.get_opt(&name).await.map_err(|error| chain(&error))?;
                let of = |run: &DynamicObject| run.data.pointer("/spec/resource").cloned();
                let is_there = found.is_some_and(|found| of(&found) == Some(json!(self.place.name)));
                is_there
                    .then_some(())
                    .ok_or_else(|| format!("there is another run of the name {name}"))
            }
            Err(error) => Err(harmless(&chain(&RequestError::from(error)))),
        }
    }
}

/// Why the server has not done something.
enum Refusal {
    /// Somebody has changed the object meanwhile.
    Conflict,
    Other(String),
}

impl Refusal {
    fn of(error: kube::Error) -> Self {
        let error = RequestError::from(error);
        if error.is_conflict() {
            Self::Conflict
        } else {
            Self::Other(harmless(&chain(&error)))
        }
    }

    fn words(self) -> String {
        match self {
            Self::Conflict => "somebody has changed it meanwhile".to_owned(),
            Self::Other(words) => words,
        }
    }
}

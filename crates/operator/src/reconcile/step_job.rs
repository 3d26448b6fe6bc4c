//! The Job of a step of a procedure, made of the chart and the values of a release as its objects are.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;

use kube::Client;
use kube::api::{Api, DynamicObject};
use kube::core::{GroupVersionKind, SelectorExt as _};
use serde_json::Value;
use steersman_cluster::Owner;
use steersman_cluster::discovery::Resource;
use steersman_model::{ApiKind, RenderedObject, Revision, objects_of_text_or_called};
use steersman_watches::Subject;

use super::Reconciler;
use super::error::ReconcileError;
use super::plan::{Bounds, in_effect};
use super::release_cache::{KnownRelease, ReleaseCache};
use super::secrets::{is_of_secrets, may_be_more, secrets_of};
use super::session::{PreparedRelease, Session};
use crate::budget::Share;
use crate::coordination::HeldValues;
use crate::dependents::Dependents;
use crate::release::{SigningKeys, StoredSource};
use crate::status::{EventReason, LearningRedactor, Redactor, reference};

/// What a step renders its Job from.
#[derive(Clone)]
pub(crate) struct StepTemplate<'a> {
    /// A file of the chart, outside of its templates.
    pub(crate) file: &'a str,
    /// What templates see below that name.
    pub(crate) procedure: Value,
}

/// What a step makes, as it was rendered.
pub(crate) struct StepJob {
    /// `None` where the file has nothing to do.
    pub(crate) object: Option<RenderedObject>,
    /// The namespaces and names of the Secrets that it has something of: what was looked up for it, and what the values come
    /// from. `None` where nobody knows all that these had, as where the release has what one had before.
    pub(crate) secrets: Option<BTreeSet<(String, String)>>,
    /// Masks what is secret in the values, and in what was looked up.
    pub(crate) redactor: Arc<LearningRedactor>,
}

/// Why there is no Job, in words without secrets.
#[derive(Clone, Debug, thiserror::Error)]
#[error("{words}")]
pub struct StepJobError {
    words: String,
    is_transient: bool,
    retry_after: Option<Duration>,
}

impl StepJobError {
    /// Whether the same may succeed later without anybody changing anything.
    pub(crate) fn is_transient(&self) -> bool {
        self.is_transient
    }

    pub(crate) fn retry_after(&self) -> Option<Duration> {
        self.retry_after
    }

    fn of(error: &ReconcileError, redactor: &LearningRedactor) -> Self {
        Self {
            words: error.masked(redactor),
            is_transient: error.is_transient(),
            retry_after: error.retry_after(),
        }
    }
}

/// Where the Jobs for a resource are, and who makes them.
#[derive(Clone)]
pub(crate) struct StepPlace {
    pub(crate) namespace: String,
    /// With the rights that the release has.
    pub(crate) client: Client,
    pub(crate) resource: Resource,
    /// The resource, as objects of its release say whose they are.
    pub(crate) owner: Owner,
}

impl StepPlace {
    pub(crate) fn jobs(&self) -> Api<DynamicObject> {
        self.resource.objects(&self.client, Some(&self.namespace))
    }
}

/// The Secrets that a Job has something of besides those that it names. `None` where they are not known by their names.
fn secrets_had(session: &Session, sources: &[StoredSource]) -> Option<BTreeSet<(String, String)>> {
    let looked_up = session.progress.lookups().unwrap_or_default();
    if may_be_more(&looked_up) {
        return None;
    }
    let found = looked_up
        .iter()
        .filter(|answer| is_of_secrets(answer) && answer.found_secrets().is_some());
    let names = found
        .map(|answer| (!answer.name.is_empty()).then(|| (answer.namespace.clone(), answer.name.clone())));
    let mut names = names.collect::<Option<BTreeSet<_>>>()?;
    let namespace = &session.owner.release_namespace;
    let there = sources.iter().filter(|source| source.mac.is_some());
    names.extend(there.map(|source| (namespace.clone(), source.name.clone())));
    Some(names)
}

/// The kind of a step.
fn is_job(object: &RenderedObject) -> bool {
    (object.api.group.as_str(), object.api.kind.as_str()) == ("batch", "Job")
}

impl Reconciler {
    /// Where Jobs for a resource are.
    ///
    /// # Errors
    /// Its name can't be a release's, or the server does not serve Jobs.
    pub(crate) async fn step_place(
        &self,
        object: DynamicObject,
        share: Arc<Share>,
    ) -> Result<StepPlace, StepJobError> {
        let nothing = LearningRedactor::default();
        let session = self.session_of_step(object, share);
        let session = session.map_err(|error| StepJobError::of(&error, &nothing))?;
        let place = self.place_of(&session).await;
        place.map_err(|error| StepJobError::of(&error, &session.redactor))
    }

    /// Renders the Job of a step. It is of the values that the release has.
    ///
    /// # Errors
    /// The chart can't be rendered with these values, gives anything but one Job, or that is out of bounds.
    pub(crate) async fn step_job(
        &self,
        object: DynamicObject,
        share: Arc<Share>,
        template: StepTemplate<'_>,
    ) -> Result<StepJob, StepJobError> {
        let nothing = LearningRedactor::default();
        let session = self.session_of_step(object, share);
        let session = session.map_err(|error| StepJobError::of(&error, &nothing))?;
        let mut cache = ReleaseCache::default();
        let object = Box::pin(self.rendered_job(&session, template, &mut cache)).await;
        let (object, sources) = object.map_err(|error| StepJobError::of(&error, &session.redactor))?;
        let secrets = sources.and_then(|sources| secrets_had(&session, &sources));
        Ok(StepJob {
            secrets,
            object,
            redactor: session.redactor,
        })
    }

    /// What masks what a Job of a step may say of its release: what is secret in the values, in what was looked up for it, and in
    /// what is stored of the release. `None` where that is not known.
    ///
    /// # Errors
    /// As in [`Reconciler::step_job`].
    pub(crate) async fn redactor_of_step(
        &self,
        object: DynamicObject,
        share: Arc<Share>,
        template: StepTemplate<'_>,
    ) -> Result<Option<Redactor>, StepJobError> {
        let nothing = LearningRedactor::default();
        let session = self.session_of_step(object, share);
        let session = session.map_err(|error| StepJobError::of(&error, &nothing))?;
        let mut cache = ReleaseCache::default();
        let learnt = Box::pin(async {
            self.rendered_job(&session, template, &mut cache).await?;
            self.learn_of_release(&session, &mut cache).await
        });
        learnt
            .await
            .map_err(|error| StepJobError::of(&error, &session.redactor))?;
        let is_known = !session.redactor.hides_words_of_others();
        Ok(is_known.then(|| session.redactor.snapshot()))
    }

    /// Has all be masked that is secret in what is stored of a release.
    async fn learn_of_release(
        &self,
        session: &Session,
        cache: &mut ReleaseCache,
    ) -> Result<(), ReconcileError> {
        let acting = self.acting_for(session);
        let acting = acting.as_deref().unwrap_or(self);
        let revisions = session.history.load().await?;
        let secrets = secrets_of(&revisions, &[]);
        cache.secrets.note_revisions(&revisions, &secrets);
        session.redactor.learn(secrets);
        let lookups = acting.lookups();
        lookups.learn_secrets(session, cache, in_effect(&revisions)).await
    }

    async fn rendered_job(
        &self,
        session: &Session,
        template: StepTemplate<'_>,
        cache: &mut ReleaseCache,
    ) -> Result<(Option<RenderedObject>, Option<Vec<StoredSource>>), ReconcileError> {
        let acting = self.acting_for(session);
        let acting = acting.as_deref().unwrap_or(self);
        let revisions = session.history.load().await?;
        let known = KnownRelease::with_values(
            &revisions,
            acting.settings.kept_paths.as_deref().unwrap_or_default(),
        );
        drop(revisions);
        let last = known.values_before_failure().or(known.last_values());
        let held = HeldValues::in_effect(last.map(Arc::as_ref));
        let of_release = last.map(|last| {
            let secrets = last.sources.iter().filter(|source| source.is_secret());
            secrets.cloned().collect::<Vec<_>>()
        });
        let mut prepared = PreparedRelease::new(session, &self.settings, held)?;
        let wrong = |reason: String| ReconcileError::StepJob {
            file: template.file.to_owned(),
            reason,
        };
        let sources = acting.sources();
        let laid = sources.lay(session, &mut prepared, cache, true);
        laid.await.map_err(|unusable| wrong(unusable.message))?;
        let revision = session.shown_revision().unwrap_or(Revision::FIRST);
        let of_file = (template.file.to_owned(), ("Procedure", template.procedure));
        let rendering = acting.renderer.render_file(session, &prepared, revision, of_file);
        let text = rendering.await?;
        let mut objects = objects_of_text_or_called(template.file, &text, "job")?;
        let object = match (objects.pop(), objects.len()) {
            (Some(object), 0) if is_job(&object) => object,
            (Some(object), 0) => return Err(wrong(format!("it makes a {}, not a Job", object.api.kind))),
            (None, _) => return Ok((None, None)),
            (Some(_), more) => return Err(wrong(format!("it makes {} objects, not one Job", more + 1))),
        };
        let namespace = &session.owner.release_namespace;
        if object.namespace.as_ref().is_some_and(|named| named != namespace) {
            let words = format!("its Job is not in namespace {namespace}, that of the release");
            return Err(wrong(words));
        }
        if let Some(confinement) = &self.settings.confinement {
            let served = self.shared.discovery.served().await?;
            Bounds::new(confinement, namespace, &served).object(&object)?;
        }
        let mut sources = prepared.sources;
        sources.retain(StoredSource::is_secret);
        let is_as_released = of_release.is_none_or(|released| released == sources);
        Ok((Some(object), is_as_released.then_some(sources)))
    }

    fn session_of_step(&self, object: DynamicObject, share: Arc<Share>) -> Result<Session, ReconcileError> {
        let session = Session::new(&self.shared, &self.settings, &self.resource, object, share);
        session.map_err(|(_, error)| error)
    }

    async fn place_of(&self, session: &Session) -> Result<StepPlace, ReconcileError> {
        let served = self.shared.discovery.served().await?;
        let resource = served.any_version("batch", "Job");
        let resource = resource.ok_or(ReconcileError::NoJobs)?;
        Ok(StepPlace {
            namespace: session.owner.release_namespace.clone(),
            client: self
                .account_client(session)
                .unwrap_or_else(|| self.shared.client.clone()),
            resource: resource.clone(),
            owner: session.owner.clone(),
        })
    }

    /// Whether the API server serves a kind.
    pub(crate) async fn serves(&self, kind: &GroupVersionKind) -> bool {
        let api = ApiKind::new(&kind.api_version(), &kind.kind);
        let served = self.shared.discovery.served().await;
        served.is_ok_and(|served| served.resource(&api).is_some())
    }

    /// What texts about a resource are made of.
    pub(crate) fn subject_of(&self, object: &DynamicObject) -> Subject {
        let values = self.settings.values.of(&object.data).unwrap_or_default();
        self.settings.subject(object, &values)
    }

    /// Whether a release is looked at when one of its objects changes.
    pub(crate) fn is_woken_by_objects(&self) -> bool {
        self.settings.gate_poll.is_none()
    }

    /// With the operator's own rights.
    pub(crate) fn client(&self) -> &Client {
        &self.shared.client
    }

    /// The keys that sign what statuses say.
    pub(crate) fn signing_keys(&self) -> Arc<SigningKeys> {
        self.shared.signer.keys()
    }

    /// Reads the keys again, if that was not done lately.
    pub(crate) async fn read_signing_keys(&self) {
        self.shared.signer.read_again().await;
    }

    /// What is live of releases and runs.
    pub(crate) fn dependents(&self) -> &Arc<Dependents> {
        &self.shared.dependents
    }

    /// Whether the watch means a resource with these labels.
    pub(crate) fn selects(&self, labels: &BTreeMap<String, String>) -> bool {
        self.settings.selector.matches(labels)
    }

    /// Whether nothing is done but said.
    pub(crate) fn is_dry_run(&self) -> bool {
        self.settings.dry_run
    }

    /// Writes an event about an object. `message` has its secrets masked.
    pub(crate) fn event_about(&self, object: &DynamicObject, reason: EventReason, message: &str) {
        let types = object.types.as_ref();
        let api = types.map(|types| (types.api_version.as_str(), types.kind.as_str()));
        let of_kind = (
            self.resource.api.api_version.as_str(),
            self.resource.api.kind.as_str(),
        );
        let about = reference(api.unwrap_or(of_kind), &object.metadata);
        self.recorder
            .events
            .send(&about, reason, message, (self.shared.now)());
    }
}

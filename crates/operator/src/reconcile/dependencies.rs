//! What a resource depends on, and whether that is ready.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;

use kube::api::{Api, DynamicObject};
use serde_json::Value;
use steersman_chart::Values;
use steersman_cluster::RequestError;
use steersman_model::{ApiKind, ObjectId, chain};
use steersman_watches::{Confinement, Reference, Subject};

use super::error::ReconcileError;
use super::release_cache::ReleaseCache;
use super::renderer::Renderer;
use super::session::{PreparedRelease, Session};
use super::sources::Unusable;
use super::{Next, ReconcileSettings};
use crate::references::{Judge, Judged, Purpose, References, Target, UNWATCHED, Unready, Version};
use crate::status::{Dependent, Failure, FailureStage, Prospect, ReleaseReport, shown_words};

/// How often a kind is looked for that is not served: nothing tells of that to everybody who may read its objects.
const KIND_POLL: Duration = Duration::from_secs(5);
/// How many dependencies are told of; the others are counted.
const TOLD: usize = 5;

/// Finds out what a resource waits for.
#[derive(Clone, Copy)]
pub(super) struct Dependencies<'a> {
    pub(super) settings: &'a ReconcileSettings,
    pub(super) references: &'a Arc<References>,
    pub(super) renderer: &'a Renderer,
}

/// What a release waits for before another revision is begun.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Waiting {
    /// For people, without secrets.
    pub(super) message: String,
    /// When to look again, where no watch tells.
    pause: Option<Duration>,
    what: Awaited,
    /// What to compare with at the next look; none where a look has to ask in any case.
    found: Option<Found>,
    /// What steps have put over the values, where it waits for a run.
    overlay: Option<Value>,
}

/// What dependencies were found to be: the same is found again until one of them, or the resource, changes.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Found {
    references: Vec<Reference>,
    generation: Option<i64>,
    labels: Option<BTreeMap<String, String>>,
    annotations: Option<BTreeMap<String, String>>,
    /// Those that are not ready, as they were judged.
    missed: Vec<(Target, Version)>,
}

impl Found {
    fn new(session: &Session, references: Vec<Reference>, missed: &[Missed]) -> Option<Self> {
        let judged = missed.iter().map(|missed| {
            let judged = missed.judged.as_ref()?;
            Some((judged.target.clone(), judged.version.clone()))
        });
        let metadata = &session.object().metadata;
        Some(Self {
            references,
            generation: session.generation,
            labels: metadata.labels.clone(),
            annotations: metadata.annotations.clone(),
            missed: judged.collect::<Option<_>>()?,
        })
    }
}

/// What is waited for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Awaited {
    Dependencies,
    /// What other objects are to have.
    Values,
    /// Another content of these, or another resource.
    OtherValues,
    /// A run of a procedure.
    Procedure,
    /// Another one, as this has failed.
    OtherRun,
}

/// A dependency that is not ready.
struct Missed {
    id: ObjectId,
    why: Unready,
    /// As it was judged, where it could be.
    judged: Option<Judged>,
    pause: Option<Duration>,
}

impl Waiting {
    /// When to look again.
    pub(super) fn next(&self) -> Next {
        self.pause.map_or(Next::Period, Next::After)
    }

    /// Values can't be had from where they are to come from.
    /// Whether others have to be ready first.
    pub(super) fn is_for_dependencies(&self) -> bool {
        self.what == Awaited::Dependencies
    }

    pub(super) fn for_values(unusable: Unusable) -> Self {
        Self {
            message: unusable.message,
            pause: unusable.pause,
            what: if unusable.is_content {
                Awaited::OtherValues
            } else {
                Awaited::Values
            },
            found: None,
            overlay: None,
        }
    }

    /// A run of a procedure is under way, or has failed.
    pub(super) fn for_run(message: String, has_failed: bool) -> Self {
        Self {
            overlay: None,
            message,
            pause: None,
            what: if has_failed {
                Awaited::OtherRun
            } else {
                Awaited::Procedure
            },
            found: None,
        }
    }

    /// The same, with what steps have put over the values.
    pub(super) fn with_overlay(self, overlay: Option<Value>) -> Self {
        Self { overlay, ..self }
    }

    /// For what, for people.
    pub(super) fn message(&self) -> &str {
        &self.message
    }

    /// What the status says.
    pub(super) fn report(&self) -> ReleaseReport {
        let dependent = || Dependent {
            message: self.message.clone(),
            stages: None,
            overlay: self.overlay.clone(),
        };
        let (stage, prospect) = match self.what {
            Awaited::Dependencies => return ReleaseReport::DependencyNotReady(dependent()),
            Awaited::Procedure => return ReleaseReport::AwaitsProcedure(dependent()),
            Awaited::OtherRun => (FailureStage::Procedure, Prospect::Stalled),
            Awaited::OtherValues => (FailureStage::Values, Prospect::Stalled),
            // It is no try that fails now and then.
            Awaited::Values => {
                let pause = self.pause.unwrap_or_default();
                let failures = u32::MAX;
                (FailureStage::Values, Prospect::Retry { failures, pause })
            }
        };
        ReleaseReport::Failed(Failure {
            stage,
            message: self.message.clone(),
            prospect,
            stages: None,
        })
    }
}

impl ReconcileSettings {
    /// Which objects a resource with these values depends on.
    ///
    /// # Errors
    /// One can't be named.
    pub(super) fn dependencies(
        &self,
        object: &DynamicObject,
        values: &Values,
        release_namespace: &str,
    ) -> Result<Vec<Reference>, ReconcileError> {
        let subject = self.subject(object, values);
        let references = self.depends_on.iter().enumerate().map(|(index, dependency)| {
            let reference = dependency.reference(&subject, release_namespace);
            reference.map_err(|source| ReconcileError::ReferenceName {
                field: "dependsOn",
                index,
                source,
            })
        });
        references.collect()
    }

    /// What names of other objects are made of, for a resource with these values.
    pub(super) fn subject(&self, object: &DynamicObject, values: &Values) -> Subject {
        let values = self.chart.coalesce(values).unwrap_or_else(|_| values.clone());
        let metadata = serde_json::to_value(&object.metadata).unwrap_or_default();
        let spec = object.data.get("spec").cloned().unwrap_or_default();
        Subject::new(&serde_json::json!({"metadata": metadata, "spec": spec}), &values)
    }

    /// The objects that a resource says it depends on, as far as it may: none where it does not say so clearly, and none of
    /// another tenant, whose deletion it would hold up.
    pub(super) fn depended_on(&self, object: &DynamicObject) -> BTreeSet<ObjectId> {
        let namespace = object.metadata.namespace.as_ref();
        let namespace = namespace.unwrap_or(&self.cluster_release_namespace);
        let values = self.values.of(&object.data).unwrap_or_default();
        let references = self.dependencies(object, &values, namespace);
        let references = references.unwrap_or_default();
        let may_be = |id: &ObjectId| {
            let is_within = |bounds: &Confinement| bounds.admit(id, namespace).is_ok();
            // Whether an account may read what is elsewhere is known when it asks, and not here.
            let is_its_own = self.service_account.is_none() || id.namespace.as_ref() == Some(namespace);
            is_its_own && self.confinement.as_ref().is_none_or(is_within)
        };
        references.iter().map(Reference::id).filter(may_be).collect()
    }
}

impl Dependencies<'_> {
    /// What the resource waits for; `None` where all is ready. It is woken when that changes.
    ///
    /// # Errors
    /// A dependency can't be named, or is out of the bounds of the watch.
    pub(super) async fn waiting(
        &self,
        session: &Session,
        prepared: &PreparedRelease,
        cache: &ReleaseCache,
        before: Option<Waiting>,
    ) -> Result<Option<Waiting>, ReconcileError> {
        let references = self.references_of(session, prepared)?;
        if let Some(before) = before.filter(|before| self.still_holds(session, before, &references)) {
            return Ok(Some(before));
        }
        let missed = self.missed(session, references.clone()).await?;
        let uid = &session.owner.uid;
        if missed.is_empty() {
            self.references.expect_nothing(uid, Purpose::Dependency);
            return Ok(None);
        }
        let message = self.told(session, cache, &missed);
        let found = Found::new(session, references, &missed);
        let pause = missed.iter().filter_map(|missed| missed.pause).min();
        let judged = missed.into_iter().filter_map(|missed| missed.judged).collect();
        self.references.expect(uid, Purpose::Dependency, judged);
        Ok(Some(Waiting {
            message,
            pause,
            what: Awaited::Dependencies,
            found,
            overlay: None,
        }))
    }

    fn references_of(
        &self,
        session: &Session,
        prepared: &PreparedRelease,
    ) -> Result<Vec<Reference>, ReconcileError> {
        let namespace = &session.owner.release_namespace;
        let values = &prepared.own_values;
        self.settings.dependencies(session.object(), values, namespace)
    }

    /// Whether nothing has changed of what is waited for, as far as watches show it: nothing is asked then.
    fn still_holds(&self, session: &Session, before: &Waiting, references: &[Reference]) -> bool {
        let metadata = &session.object().metadata;
        before.found.as_ref().is_some_and(|found| {
            let is_as_judged = |(target, version): &(Target, Version)| {
                let uid = &session.owner.uid;
                self.references
                    .is_as_judged(uid, Purpose::Dependency, target, version)
            };
            found.references == references
                && found.generation == session.generation
                && (&found.labels, &found.annotations) == (&metadata.labels, &metadata.annotations)
                && found.missed.iter().all(is_as_judged)
        })
    }

    /// What the resource would wait for, in the words of its status, without waiting for it.
    ///
    /// # Errors
    /// As those of `waiting`.
    pub(super) async fn would_wait(
        &self,
        session: &Session,
        prepared: &PreparedRelease,
        cache: &ReleaseCache,
    ) -> Result<Option<String>, ReconcileError> {
        let references = self.references_of(session, prepared)?;
        let missed = self.missed(session, references).await?;
        Ok((!missed.is_empty()).then(|| self.told(session, cache, &missed)))
    }

    fn told(&self, session: &Session, cache: &ReleaseCache, missed: &[Missed]) -> String {
        match self.references.cycle(&own_id(session)) {
            Some(way) => told_cycle(session, &way),
            None => told(session, cache, missed),
        }
    }

    /// The dependencies that are not ready.
    async fn missed(
        &self,
        session: &Session,
        references: Vec<Reference>,
    ) -> Result<Vec<Missed>, ReconcileError> {
        let own = if self
            .settings
            .depends_on
            .iter()
            .any(|dependency| dependency.ready.is_some())
        {
            serde_json::to_value(session.object()).unwrap_or_default()
        } else {
            Value::Null
        };
        let own = Arc::new(own);
        let mut missed = Vec::new();
        for (reference, dependency) in references.into_iter().zip(&self.settings.depends_on) {
            let judge = Judge {
                expression: dependency.ready.clone(),
                own: Arc::clone(&own),
            };
            if let Err(why) = self.judge(session, reference, judge).await? {
                missed.push(why);
            }
        }
        Ok(missed)
    }

    /// Reads a dependency, as whom the release is made, and judges it.
    async fn judge(
        &self,
        session: &Session,
        reference: Reference,
        judge: Judge,
    ) -> Result<Result<(), Missed>, ReconcileError> {
        let api = reference.api.clone();
        let discovery = &self.renderer.discovery;
        let served = discovery.served_with([&api]).await?;
        let Some(resource) = served.resource(&api).cloned() else {
            self.admit(session, reference.id())?;
            let why = format!("the API server does not serve {}", api.api_version());
            return Ok(Err(Missed {
                id: reference.id(),
                why: Unready::For(why),
                judged: None,
                pause: Some(KIND_POLL),
            }));
        };
        let id = reference.within(resource.namespaced);
        self.admit(session, id.clone())?;
        let objects: Api<DynamicObject> =
            resource.objects(&self.renderer.client, Some(reference.namespace.as_str()));
        let found = objects.get_opt(&reference.name).await;
        let found = found.map_err(RequestError::from);
        let judged = |version| Judged {
            target: Target {
                account: self.settings.account(&session.owner),
                reference: reference.clone(),
            },
            resource: resource.clone(),
            version,
        };
        Ok(match found {
            // It can't be known what it is like, so that the release is as it was before it was asked.
            Err(error) => Err(Missed {
                id,
                pause: Some(error.retry_after().unwrap_or(UNWATCHED)),
                why: Unready::Said(format!("it can't be read: {}", chain(&error))),
                judged: None,
            }),
            Ok(None) => Err(Missed {
                id,
                why: Unready::For("it is not there".to_owned()),
                judged: Some(judged(None)),
                pause: None,
            }),
            Ok(Some(object)) => {
                let version = object.metadata.resource_version.clone();
                ready(judge, api, object).await.map_err(|why| Missed {
                    id,
                    why,
                    judged: Some(judged(version)),
                    pause: None,
                })
            }
        })
    }

    fn admit(&self, session: &Session, id: ObjectId) -> Result<(), ReconcileError> {
        self.settings.admit_reference("dependsOn", &session.owner, id)
    }
}

/// Whether an object is ready. An expression is evaluated on a thread that may block.
async fn ready(judge: Judge, api: ApiKind, object: DynamicObject) -> Result<(), Unready> {
    if judge.expression.is_none() {
        return judge.ready(&api, &object);
    }
    let judged = tokio::task::spawn_blocking(move || judge.ready(&api, &object)).await;
    judged.unwrap_or_else(|_| Err(Unready::For("readyExpr stopped unexpectedly".to_owned())))
}

/// The resource as others name it.
pub(super) fn own_id(session: &Session) -> ObjectId {
    let owner = &session.owner;
    let (group, _) = owner.api_version.split_once('/').unwrap_or_default();
    ObjectId {
        group: group.to_owned(),
        kind: owner.kind.clone(),
        namespace: owner.namespace.clone(),
        name: owner.name.clone(),
    }
}

/// What a resource says that waits for others.
fn told(session: &Session, cache: &ReleaseCache, missed: &[Missed]) -> String {
    let is_complete =
        cache.secrets.are_complete(cache.known_lookups()) && !session.redactor.hides_words_of_others();
    let mut parts = Vec::new();
    for Missed { id, why, .. } in missed.iter().take(TOLD) {
        let id = session.redactor.mask_own(&id.to_string());
        let why = match why {
            Unready::For(text) => session.redactor.mask_own(text),
            Unready::Said(words) => session.redactor.with(words.len(), |redactor| {
                shown_words(&[words.as_str()], Some(redactor).filter(|_| is_complete)).concat()
            }),
        };
        parts.push(format!("{id}: {why}"));
    }
    if let Some(more @ 1..) = missed.len().checked_sub(TOLD) {
        parts.push(format!("and {more} more"));
    }
    format!("waits for {}", parts.join("; "))
}

/// What a resource says that depends on itself.
fn told_cycle(session: &Session, way: &[ObjectId]) -> String {
    let names: Vec<String> = way.iter().map(ToString::to_string).collect();
    let names = session.redactor.mask_all_own(&names);
    format!("depends on itself: {}", names.join(" needs "))
}

/// What a resource says whose deletion waits for that of others.
pub(super) fn told_needed(session: &Session, others: &[ObjectId]) -> String {
    let names: Vec<String> = others.iter().take(TOLD).map(ToString::to_string).collect();
    let mut names = session.redactor.mask_all_own(&names);
    if let Some(more @ 1..) = others.len().checked_sub(TOLD) {
        names.push(format!("{more} more"));
    }
    let (depend, go) = if others.len() == 1 {
        ("depends", "goes")
    } else {
        ("depend", "go")
    };
    format!("{} {depend} on it and {go} first", names.join(", "))
}

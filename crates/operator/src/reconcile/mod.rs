//! The loop for one custom resource: observe, decide, act, report.
//!
//! ```text
//! CR + Memory --observe--> Observed --decide--> ReleaseState -> Action --action--> requests
//!                             ^                                           |
//!                             +----------- until nothing is to be done ---+--> Report -> status
//! ```
//!
//! What is remembered between reconciles ([`Memory`]) is a cache: it is rebuilt from the
//! release's Secrets and from what is live, without writing anything.

mod action;
mod decide;
mod error;
mod fates;
mod fight;
mod foreseen;
mod lookups;
mod memory;
mod noise;
mod observe;
mod preview;
mod rehearse;
mod render;
mod secrets;
mod session;
mod state;
mod switches;

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use jiff::Timestamp;
use k8s_openapi::api::core::v1::ObjectReference;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use kube::Client;
use kube::api::{Api, DynamicObject};
use kube::core::Selector;
use serde_json::Value;
use steersman_chart::Chart;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

pub use decide::{next_action, release_state};
pub use error::ReconcileError;
pub use foreseen::{Fate, ObjectPreview, Plan, Preview};
pub use memory::Memory;
pub use state::{Action, Cause, LastRevision, Observed, ReleaseState};

use crate::apply::Applier;
use crate::config::ReleasePolicy;
use crate::dependents::{Dependents, Interests};
use crate::release::Presence;
use crate::status::{EventKind, Events, Failure, Report, StatusError, next_status, write_status};
use crate::telemetry::step;
use session::Session;
use steersman_cluster::discovery::{Discovery, Resource};
use steersman_model::chain;
use steersman_watches::drift::DriftDetection;
use steersman_watches::{ConflictPolicy, CrdPolicy};
use steersman_watches::{HelmOperatorCompat, Watch};

/// The finalizer on every custom resource with a release; helm-operator's.
pub const FINALIZER: &str = "helm.sdk.operatorframework.io/uninstall-release";
/// What older versions of helm-operator and its successor write.
pub const OTHER_FINALIZER: &str = "uninstall-helm-release";

/// The selector of the watch under which a custom resource is held. It tells resources that no
/// longer match from those that another operator holds.
pub const SELECTOR_ANNOTATION: &str = "steersman.dev/selector";

/// A cluster-scoped custom resource has its release here, unless its watch names another namespace.
const CLUSTER_RELEASE_NAMESPACE: &str = "default";

/// The status field that says which `reconcile-at` annotation was acted on; the name is Flux'.
const HANDLED_FIELD: &str = "lastHandledReconcileAt";
/// One observation leads to at most so many actions before the resource is looked at afresh.
const MAX_ACTIONS: usize = 5;
/// How soon to look again at what blocks an uninstallation, if nothing happens before.
const UNINSTALL_POLL: Duration = Duration::from_secs(5);

/// How soon to try again to say that a name can't be a release's.
const UNREPORTED_PAUSE: Duration = Duration::from_secs(10);

/// Whether a custom resource carries our finalizer, by any of its names.
pub fn is_held(metadata: &ObjectMeta) -> bool {
    metadata.finalizers.iter().flatten().any(|name| is_ours(name))
}

fn is_ours(finalizer: &str) -> bool {
    finalizer == FINALIZER || finalizer == OTHER_FINALIZER
}

/// What all reconcilers share.
#[derive(Clone)]
pub struct Shared {
    /// The API server.
    pub client: Client,
    /// What it serves.
    pub discovery: Arc<Discovery>,
    /// What is live of our releases.
    pub dependents: Arc<Dependents>,
    /// Which releases have revisions.
    pub presence: Arc<Presence>,
    /// Writes objects.
    pub applier: Applier,
    /// Writes events.
    pub events: Events,
    /// The clock.
    pub now: fn() -> Timestamp,
}

impl Shared {
    /// What reconcilers with these interests share, with `stop` as the end of the watches on their objects.
    pub fn new(
        client: Client,
        interests: Interests,
        namespaces: BTreeSet<String>,
        stop: CancellationToken,
    ) -> Self {
        let discovery = Arc::new(Discovery::new(client.clone()));
        let presence = Presence::new(client.clone(), namespaces.clone(), stop.clone());
        let dependents = Arc::new(Dependents::new(client.clone(), interests, namespaces, stop));
        Self {
            presence: Arc::new(presence),
            applier: Applier::new(client.clone(), Arc::clone(&discovery), Arc::clone(&dependents)),
            events: Events::new(client.clone()),
            now: Timestamp::now,
            client,
            discovery,
            dependents,
        }
    }
}

impl std::fmt::Debug for Shared {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Shared").finish_non_exhaustive()
    }
}

/// How the custom resources of one kind are released.
#[derive(Clone, Debug)]
pub struct Settings {
    /// Which custom resources are meant.
    pub selector: Selector,
    /// Under which selectors the operator has held others before.
    pub former_selectors: BTreeSet<String>,
    /// The chart.
    pub chart: Chart,
    /// Values on top of the spec, as with `--set-string`.
    pub override_values: std::collections::BTreeMap<String, String>,
    /// What releases keep, wait for, and do when they fail.
    pub releases: ReleasePolicy,
    /// The namespace of releases whose custom resource has none.
    pub cluster_release_namespace: String,
    /// What is done about the definitions in the chart's `crds/` folder.
    pub crds: CrdPolicy,
    /// What is done about fields that others manage.
    pub conflicts: ConflictPolicy,
    /// What is done about values that others have changed.
    pub drift: DriftDetection,
    /// What is done as helm-operator does it, on request.
    pub compat: HelmOperatorCompat,
    /// Whether what would be done is only said.
    pub dry_run: bool,
    /// Whether events hide the override values.
    pub suppress_override_values: bool,
    /// The keys of override values that come from the environment.
    pub overrides_from_environment: BTreeSet<String>,
}

impl Settings {
    /// What a watch says, and Helm's own defaults for the rest.
    pub fn new(watch: &Watch) -> Self {
        Self {
            selector: watch.selector.clone(),
            former_selectors: BTreeSet::new(),
            chart: watch.chart.clone(),
            override_values: watch.override_values.clone(),
            releases: ReleasePolicy::default(),
            cluster_release_namespace: watch
                .release_namespace
                .clone()
                .unwrap_or_else(|| CLUSTER_RELEASE_NAMESPACE.to_owned()),
            crds: watch.crds,
            conflicts: watch.conflicts,
            drift: watch.drift.clone(),
            compat: watch.compat,
            dry_run: false,
            suppress_override_values: false,
            overrides_from_environment: watch.overrides_from_environment.clone(),
        }
    }
}

/// Reconciles the custom resources of one kind.
#[derive(Clone, Debug)]
pub struct Reconciler {
    shared: Shared,
    settings: Arc<Settings>,
    resource: Resource,
}

/// What a reconcile leaves to be done.
#[derive(Clone, Debug)]
pub struct Outcome {
    /// When to look again.
    pub next: Next,
    /// The resource as the last of our writes left it, if we wrote it.
    pub object: Option<DynamicObject>,
    /// How many objects were put back.
    pub corrected: usize,
    /// Whether the resource was changed meanwhile, as an answer to a write has told: no event may tell it again.
    pub outdated: bool,
}

impl Outcome {
    /// The outcome of a reconcile that wrote nothing.
    fn of(next: Next) -> Self {
        Self {
            next,
            object: None,
            corrected: 0,
            outdated: false,
        }
    }
}

/// When to look at a resource again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Next {
    /// When something changes or the reconcile period is over.
    Period,
    /// After a pause that grows with the failures in a row.
    Retry(Option<Duration>),
    /// After this time.
    After(Duration),
    /// Not before it changes; a resource that is gone never does.
    Never,
}

/// Says in the log what was not said yet of a deployed revision.
fn tell_deployed(session: &Session, memory: &mut Memory) {
    if let Some(line) = memory.unsaid() {
        session.log(line);
    }
}

/// helm-operator's word for a release that is as it should be. It is news when the release was read,
/// as after a start, or when a failure is over; otherwise it comes each period, and at each sign of
/// life of an object.
fn tell_unchanged(session: &Session, memory: &Memory) {
    const LINE: &str = "Reconciled release";
    if session.read_anew || memory.failures > 0 {
        session.log(LINE);
    } else if !memory.is_unreported() {
        session.log_debug(LINE);
    }
}

impl Reconciler {
    /// A reconciler for custom resources addressed by `resource`.
    pub fn new(shared: Shared, settings: Arc<Settings>, resource: Resource) -> Self {
        Self {
            shared,
            settings,
            resource,
        }
    }

    /// Brings the release of `object` to what it says, as far as possible now, and reports it in
    /// the object's status.
    ///
    /// # Guarantees
    /// A settled release costs no request and no rendering. Every failure is in the status, with
    /// its cause. Nothing of a Secret's content is in the status, in logs or in events.
    ///
    /// # Cancellation
    /// Safe at any await: the next reconcile converges, with a new [`Memory`] or this one.
    pub async fn reconcile(&self, object: DynamicObject, memory: &mut Memory) -> Outcome {
        let mut session = match Session::new(&self.shared, &self.settings, &self.resource, object) {
            Ok(session) => session,
            Err((object, error)) => return self.report_unusable(object, &error).await,
        };
        memory.ask_again(session.controls.reconcile_at.as_deref());
        let converged = match self.converge(&mut session, memory).await {
            Ok(Some((report, next))) => {
                let report = self.with_manifest(&session, memory, report).await;
                report.map(|report| Some((report, next)))
            }
            converged => converged,
        };
        let (report, next, is_converged) = match converged {
            Ok(Some((report, next))) => {
                if let Some(pause) = memory.settling(&report) {
                    memory.failures = 0;
                    return Outcome {
                        next: Next::After(pause),
                        corrected: session.corrected,
                        outdated: session.is_outdated(None),
                        object: session.written(),
                    };
                }
                (report, next, true)
            }
            Ok(None) => {
                return Outcome::of(Next::Never);
            }
            Err(error) if error.is_interruption() => {
                return Outcome {
                    next: Next::Retry(None),
                    outdated: session.is_outdated(None),
                    object: session.written(),
                    corrected: 0,
                };
            }
            Err(error) => {
                let (report, next) = self.failure(&session, memory, &error);
                (report, next, false)
            }
        };
        let corrected = session.corrected;
        let reported = step("report").around(self.report(&session, &report)).await;
        let (written, next) = match reported {
            Ok(written) => {
                tell_deployed(&session, memory);
                memory.settled();
                if is_converged {
                    memory.failures = 0;
                }
                (written, next)
            }
            // Nobody learns of the rest until this succeeds.
            Err(StatusError(error)) => {
                if is_converged {
                    memory.note_failure(session.inputs);
                }
                (None, Next::Retry(error.retry_after()))
            }
        };
        Outcome {
            next,
            outdated: session.is_outdated(written.as_ref()),
            object: written.or_else(|| session.written()),
            corrected,
        }
    }

    /// Acts until nothing is to be done. `None` when the resource is let go.
    async fn converge(
        &self,
        session: &mut Session,
        memory: &mut Memory,
    ) -> Result<Option<(Report, Next)>, ReconcileError> {
        let mut acted = false;
        for _ in 0..MAX_ACTIONS {
            let observed = step("observe").of(self.observe(session, memory)).await?;
            let state = release_state(observed);
            if state == ReleaseState::Gone {
                return Ok(None);
            }
            if state == ReleaseState::Paused {
                return Ok(Some((Report::Paused, Next::Never)));
            }
            if state == ReleaseState::Rehearsed {
                return Ok(Some((self.rehearse(session).await?, Next::Period)));
            }
            if state == ReleaseState::Refused
                && let Some(refusal) = memory.refusal()
            {
                return Ok(Some((Report::Failed(refusal.failure.clone()), Next::Period)));
            }
            let Some(action) = next_action(state) else {
                memory.warned.clear();
                if !acted {
                    tell_unchanged(session, memory);
                }
                return Ok(Some((self.deployed(session, memory), Next::Period)));
            };
            tell_deployed(session, memory);
            acted |= action != Action::Guard;
            match action {
                Action::Guard => {
                    session.guard().await?;
                    memory.note_guarded(Instant::now());
                }
                Action::Install => step("install").of(self.install(session, memory)).await?,
                Action::Upgrade(cause) => {
                    let work = self.upgrade(session, memory, cause);
                    step("upgrade").of(work).await?;
                }
                Action::Recover => step("recover").of(self.recover(session, memory)).await?,
                Action::CorrectDrift(objects) => {
                    let turn = memory.fights.turn(objects, Instant::now());
                    let news = memory.fights.news(&turn.fought);
                    self.warn_of_fight(session, &news).await;
                    if turn.due.is_empty() {
                        return Ok(Some((self.deployed(session, memory), Next::After(turn.pause))));
                    }
                    let work = self.correct_drift(session, memory, &turn.due);
                    step("correct_drift").of(work).await?;
                }
                Action::WarnOfDrift(objects) => {
                    self.warn_of_drift(session, memory, objects);
                    return Ok(Some((self.deployed(session, memory), Next::Period)));
                }
                Action::Uninstall => {
                    let blockers = step("uninstall").of(self.uninstall(session)).await?;
                    if blockers.is_empty() {
                        return Ok(None);
                    }
                    return Ok(Some((
                        Report::Uninstalling(blockers),
                        Next::After(UNINSTALL_POLL),
                    )));
                }
            }
        }
        Ok(Some((self.deployed(session, memory), Next::Retry(None))))
    }

    fn failure(&self, session: &Session, memory: &mut Memory, error: &ReconcileError) -> (Report, Next) {
        memory.note_failure(session.inputs);
        if error.is_stale() {
            memory.forget_known();
        }
        let mut message = session.redactor.mask(&chain(error));
        let undone = session.remedy.as_ref().is_some_and(|remedy| remedy.done);
        if let Some(remedy) = &session.remedy {
            message = format!("{message}; {}", remedy.text);
        }
        let failure = Failure {
            stage: error.stage(session.first, session.deleting()),
            message,
            stalled: error.needs_change() || undone,
        };
        session.log_error("Release failed", &failure.message);
        let reason = if failure.stalled {
            "ReleaseStalled"
        } else {
            "ReleaseFailed"
        };
        self.event(session, EventKind::Warning, reason, &failure.message);
        let refused = error.is_stalled() || undone;
        let next = if refused {
            Next::Period
        } else {
            Next::Retry(error.retry_after())
        };
        if refused && let Some(inputs) = session.inputs {
            let lookups = session.looked_up();
            memory.refuse(
                inputs,
                session.controls.clone(),
                failure.clone(),
                lookups,
                Instant::now(),
            );
        }
        (Report::Failed(failure), next)
    }

    async fn report(&self, session: &Session, report: &Report) -> Result<Option<DynamicObject>, StatusError> {
        let metadata = &session.object.metadata;
        let current = session.object.data.get("status").cloned().unwrap_or(Value::Null);
        let mut next = next_status(&current, report, session.generation, (self.shared.now)());
        if let (Some(handled), Some(next)) = (&session.controls.reconcile_at, next.as_object_mut()) {
            next.insert(HANDLED_FIELD.to_owned(), handled.as_str().into());
        }
        let name = metadata.name.as_deref().unwrap_or_default();
        let uid = metadata.uid.as_deref().unwrap_or_default();
        let written = write_status(&session.api, name, uid, &current, &next).await;
        if let Err(error) = &written {
            session.log_error("failed to report", &chain(error));
        }
        written
    }

    /// A resource whose name can't be a release's.
    async fn report_unusable(&self, object: DynamicObject, error: &ReconcileError) -> Outcome {
        let metadata = &object.metadata;
        let api: Api<DynamicObject> = match &metadata.namespace {
            Some(namespace) => {
                Api::namespaced_with(self.shared.client.clone(), namespace, &self.resource.api)
            }
            None => Api::all_with(self.shared.client.clone(), &self.resource.api),
        };
        let failure = Failure {
            stage: error.stage(true, false),
            message: chain(error),
            stalled: true,
        };
        let current = object.data.get("status").cloned().unwrap_or(Value::Null);
        let next = next_status(
            &current,
            &Report::Failed(failure),
            metadata.generation,
            (self.shared.now)(),
        );
        let name = metadata.name.as_deref().unwrap_or_default();
        let uid = metadata.uid.as_deref().unwrap_or_default();
        tracing::error!(name, error = %chain(error), "Release failed");
        let about = ObjectReference {
            api_version: Some(self.resource.api.api_version.clone()),
            kind: Some(self.resource.api.kind.clone()),
            name: metadata.name.clone(),
            namespace: metadata.namespace.clone(),
            uid: metadata.uid.clone(),
            ..ObjectReference::default()
        };
        let now = (self.shared.now)();
        let events = &self.shared.events;
        events.send(&about, EventKind::Warning, "ReleaseStalled", &chain(error), now);
        let (next, object) = match write_status(&api, name, uid, &current, &next).await {
            Ok(written) => (Next::Period, written),
            Err(StatusError(error)) => {
                let pause = error.retry_after().unwrap_or(UNREPORTED_PAUSE);
                (Next::Retry(Some(pause)), None)
            }
        };
        Outcome {
            next,
            object,
            ..Outcome::of(next)
        }
    }

    fn event(&self, session: &Session, kind: EventKind, reason: &str, message: &str) {
        self.shared
            .events
            .send(&session.reference(), kind, reason, message, (self.shared.now)());
    }
}

//! The loop for one custom resource: observe, decide, act, report.
//!
//! ```text
//! CR + ReleaseCache --observe--> Observed --decide--> ReleaseState -> Action --action--> requests
//!                                   ^                                           |
//!                                   +----------- until nothing is to be done ---+--> ReleaseReport -> status
//! ```
//!
//! What is remembered between reconciles ([`ReleaseCache`]) is a cache: it is rebuilt from the
//! release's Secrets and from what is live, without writing anything.

mod action;
mod agreed;
mod announce;
mod awaited_runs;
mod comparable;
mod converge;
mod decide;
mod dependencies;
mod deployed;
mod drift_backoff;
mod dry_run;
mod error;
mod event_recorder;
mod executor;
mod fields;
mod finalizer;
mod gate;
mod gate_report;
mod kept_up;
mod known_values;
mod left_drifted;
mod lookups;
mod new_record;
mod observe;
mod plan;
mod progress;
mod randomness;
mod release_cache;
mod remembered;
mod renderer;
mod reporter;
mod reuse_values;
mod secrets;
mod session;
mod settings;
mod sources;
mod staged;
mod state;
mod step_job;
mod tests_due;
mod unfinished;
mod unsigned_objects;

use std::sync::Arc;
use std::time::Duration;

use converge::Converged;
pub(crate) use converge::UNINSTALL_POLL;
pub use decide::{next_action, release_state};
pub use dry_run::{DryRun, ObjectDryRun, ObjectResult};
pub use error::ReconcileError;
use event_recorder::EventRecorder;
use executor::Executor;
pub(crate) use finalizer::patch_finalizers;
pub use gate::GateState;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use kube::Client;
use kube::api::DynamicObject;
pub use plan::Decision;
pub use release_cache::ReleaseCache;
use renderer::Renderer;
use reporter::Reporter;
pub(crate) use session::ORPHAN_FINALIZER;
use session::Session;
pub use settings::{ReconcileSettings, Shared};
pub use state::{Action, Cause, LastRevision, Observed, Others, ReleaseState};
use steersman_cluster::discovery::Resource;
use steersman_model::{ObjectId, chain};
pub use step_job::StepJobError;
pub(crate) use step_job::{StepPlace, StepTemplate};
pub use tests_due::TestState;
pub use unfinished::HookState;

use crate::apply::HookEnd;
use crate::budget::Share;
use crate::coordination::Coordination;
use crate::status::{ReleaseReport, StatusError};
use crate::telemetry::{masked, step};

/// The finalizer on every custom resource with a release; helm-operator's.
pub const FINALIZER: &str = "helm.sdk.operatorframework.io/uninstall-release";
/// What older versions of helm-operator and its successor write.
pub const LEGACY_FINALIZER: &str = "uninstall-helm-release";

/// The selector of the watch that has added the finalizer to a custom resource. By it the
/// operator knows resources of its own that no longer match from those of another operator.
pub const SELECTOR_ANNOTATION: &str = "steersman.dev/selector";

/// Whether a custom resource carries our finalizer, by any of its names.
pub fn has_finalizer(metadata: &ObjectMeta) -> bool {
    metadata
        .finalizers
        .iter()
        .flatten()
        .any(|name| is_finalizer(name))
}

/// Whether a finalizer is ours.
fn is_finalizer(name: &str) -> bool {
    name == FINALIZER || name == LEGACY_FINALIZER
}

/// Reconciles the custom resources of one kind.
#[derive(Clone)]
pub struct Reconciler {
    shared: Shared,
    settings: Arc<ReconcileSettings>,
    resource: Resource,
    renderer: Renderer,
    recorder: EventRecorder,
    executor: Executor,
    /// With the runs of the entry's procedures.
    coordination: Option<Arc<Coordination>>,
}

impl std::fmt::Debug for Reconciler {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Reconciler")
            .field("resource", &self.resource)
            .finish_non_exhaustive()
    }
}

/// What a reconcile leaves to be done.
#[derive(Clone, Debug)]
pub struct ReconcileOutcome {
    /// When to look again.
    pub next: Next,
    /// The resource as the last of our writes left it, if we wrote it.
    pub object: Option<DynamicObject>,
    /// The number of objects whose drift was corrected.
    pub corrected: usize,
    /// The stages that were over, and how long each had taken. Those that only the chart names have no name here.
    pub stages: Vec<(String, Duration)>,
    /// The Jobs and Pods of hooks that have come to their end.
    pub hooks: Vec<HookEnd>,
    /// Whether an answer to a write has shown that others changed the resource meanwhile. It is looked at again at once, as
    /// the event of that change may count as old.
    pub outdated: bool,
}

impl ReconcileOutcome {
    /// The outcome of a reconcile that wrote nothing.
    pub(crate) fn of(next: Next) -> Self {
        Self {
            next,
            object: None,
            corrected: 0,
            stages: Vec::new(),
            hooks: Vec::new(),
            outdated: false,
        }
    }

    /// The outcome of a reconcile that has nothing to report yet.
    fn unreported(session: Session, next: Next) -> Self {
        Self {
            next,
            corrected: session.progress.corrected(),
            stages: session.progress.ended_stages(),
            hooks: session.progress.hook_ends().all(),
            outdated: session.is_outdated(None),
            object: session.into_written(),
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
    /// When the hook that the release waits for has ended, or after this time.
    Awaits(Option<Duration>),
    /// Not before it changes; a resource that is gone never does.
    Never,
}

impl Next {
    /// The same, and after this time at the latest, where it is not waited for something that is looked for in another way.
    fn within(self, pause: Duration) -> Self {
        match self {
            Self::Period => Self::After(pause),
            Self::After(after) => Self::After(after.min(pause)),
            Self::Retry(_) | Self::Awaits(_) | Self::Never => self,
        }
    }
}

impl Reconciler {
    /// A reconciler for custom resources addressed by `resource`.
    pub fn new(shared: Shared, settings: Arc<ReconcileSettings>, resource: Resource) -> Self {
        let recorder = EventRecorder {
            events: shared.events.clone(),
            now: shared.now,
        };
        Self {
            renderer: Renderer {
                client: shared.client.clone(),
                discovery: Arc::clone(&shared.discovery),
                chart: settings.chart.clone(),
                confinement: settings.confinement.clone(),
                post_render: Arc::clone(&settings.post_render),
            },
            executor: Executor {
                applier: shared.applier.clone(),
                discovery: Arc::clone(&shared.discovery),
                recorder: recorder.clone(),
                settings: Arc::clone(&settings),
            },
            recorder,
            shared,
            settings,
            resource,
            coordination: None,
        }
    }

    /// The same, which heeds what is agreed on with runs of procedures.
    #[must_use]
    pub(crate) fn with_coordination(self, coordination: Option<Arc<Coordination>>) -> Self {
        Self { coordination, ..self }
    }

    /// A resource is as `object` says: what it depends on is known from now on.
    pub(crate) fn know(&self, object: &DynamicObject) {
        let uid = object.metadata.uid.as_deref();
        let (Some(uid), false) = (uid, self.settings.depends_on.is_empty()) else {
            return;
        };
        let id = ObjectId {
            group: self.resource.api.group.clone(),
            kind: self.resource.api.kind.clone(),
            namespace: object.metadata.namespace.clone(),
            name: object.metadata.name.clone().unwrap_or_default(),
        };
        let depends_on = self.settings.depended_on(object);
        let has_release = has_finalizer(&object.metadata);
        self.shared.references.know(uid, id, depends_on, has_release);
    }

    /// The resource with this UID is gone, or another's.
    pub(crate) fn forget(&self, uid: &str) {
        self.shared.references.forget(uid);
    }

    /// With the rights of the account of a session's release, where it has one.
    fn account_client(&self, session: &Session) -> Option<Client> {
        Some(self.settings.account(&session.owner)?.client(&self.shared.client))
    }

    /// The same as the account of a session's release, where it has one. What is the operator's own work stays its own:
    /// the resource's status and finalizer, revisions, events, watches.
    fn acting_for(&self, session: &Session) -> Option<Box<Self>> {
        let client = self.account_client(session)?;
        let mut acting = self.clone();
        acting.executor.applier = self.shared.applier.with_client(client.clone());
        acting.renderer.client = client;
        Some(Box::new(acting))
    }

    /// Brings the release of `object` to what it says, as far as possible now and in this `share` of the memory, and reports
    /// it in the object's status.
    ///
    /// # Guarantees
    /// A settled release costs no request and no rendering. Every failure is in the status, with
    /// its cause. Nothing of a Secret's content is in the status, in logs or in events.
    ///
    /// # Cancellation
    /// Safe at any await: the next reconcile converges, with a new [`ReleaseCache`] or this one.
    pub async fn reconcile(
        &self,
        object: DynamicObject,
        share: Arc<Share>,
        cache: &mut ReleaseCache,
    ) -> ReconcileOutcome {
        let session = match Session::new(&self.shared, &self.settings, &self.resource, object, share) {
            Ok(session) => session,
            Err((object, error)) => return self.reporter().report_unusable(object, &error).await,
        };
        let mask = Arc::clone(&session.redactor);
        masked(mask, Box::pin(self.reconcile_in(session, cache))).await
    }

    async fn reconcile_in(&self, session: Session, cache: &mut ReleaseCache) -> ReconcileOutcome {
        cache.reset_if_requested(session.controls.reconcile_at.as_deref());
        let key = session.key();
        let coordination = self.coordination.as_deref();
        let acting = coordination.map(|coordination| coordination.enter(&key, &session.owner.uid));
        let (release, namespace) = (session.release.clone(), session.owner.release_namespace.clone());
        let mut outcome = Box::pin(self.converge_and_report(session, cache)).await;
        drop(acting);
        let written = self.shared.release_index.written(&namespace, &release);
        if let Some(pause) = cache.look_for_end(written) {
            outcome.next = outcome.next.within(pause);
        }
        outcome
    }

    async fn converge_and_report(&self, session: Session, cache: &mut ReleaseCache) -> ReconcileOutcome {
        session.redactor.learn(cache.secrets.redactor());
        let acting = self.acting_for(&session);
        let Converged {
            mut session,
            prepared,
            result,
        } = Box::pin(acting.as_deref().unwrap_or(self).converge(session, cache)).await;
        drop(acting);
        let (mut report, next, is_converged) = match result {
            Ok(Some((report, next))) => {
                if let Some(pause) = cache.report_pause(&report) {
                    self.settle(&session, cache, &report);
                    cache.failures = 0;
                    return ReconcileOutcome::unreported(session, Next::After(pause));
                }
                (report, next, true)
            }
            Ok(None) => {
                return ReconcileOutcome {
                    object: session.into_written(),
                    ..ReconcileOutcome::of(Next::Never)
                };
            }
            Err(error) => {
                if let Some(wait) = error.awaited() {
                    let doing = "a hook of the release is waited for".to_owned();
                    self.settle(&session, cache, &ReleaseReport::Progressing(doing));
                    session.accept_announced();
                    return ReconcileOutcome::unreported(session, Next::Awaits(wait.pause()));
                }
                let (report, next) = self
                    .reporter()
                    .failure(&session, prepared.as_ref(), cache, &error);
                (report, next, false)
            }
        };
        self.add_stages(&session, cache, &mut report);
        self.settle(&session, cache, &report);
        let sources = (self.shared.dependents.as_ref(), self.settings.as_ref());
        let projection = fields::projection(&session, cache, sources, &report);
        // Where it can't be read, it is shown when that can be done.
        let deployed = self.deployed_report();
        let (unshown, is_shown) = match deployed.unshown(&session, cache, &report).await {
            Ok(unshown) => (unshown, true),
            Err(_) => (None, false),
        };
        let reporting = self.reporter();
        let reporting = reporting.report(&session, (&report, unshown.as_ref()), projection.as_ref());
        let reported = step("report").around(reporting).await;
        let (written, next) = match reported {
            Ok(written) => {
                converge::log_deployed(&session, cache);
                if is_shown {
                    cache.note_reported();
                }
                if is_converged {
                    cache.failures = 0;
                }
                (written, next)
            }
            // Until the status can be written, the reconcile counts as failed.
            Err(StatusError(error)) => {
                if is_converged {
                    cache.note_failure(prepared.map(|prepared| prepared.inputs));
                }
                (None, Next::Retry(error.retry_after()))
            }
        };
        ReconcileOutcome {
            next,
            outdated: session.is_outdated(written.as_ref()) || session.progress.is_of_earlier_spec(),
            corrected: session.progress.corrected(),
            stages: session.progress.ended_stages(),
            hooks: session.progress.hook_ends().all(),
            object: written.or_else(|| session.into_written()),
        }
    }

    /// Takes the finalizer off `object` if the selector no longer matches it. Its objects and
    /// its history stay as they are, so that the operator that selects it next takes them over.
    ///
    /// [`Next::Never`] says that there is nothing more to be done: it is released or gone, matches
    /// again, or is another operator's.
    ///
    /// # Guarantees
    /// A resource that is being deleted is uninstalled first, as its finalizer has promised. An
    /// operator that only says what it would do takes no finalizer off.
    ///
    /// # Cancellation
    /// As [`Reconciler::reconcile`].
    pub async fn release_unselected(
        &self,
        object: DynamicObject,
        share: Arc<Share>,
        cache: &mut ReleaseCache,
    ) -> ReconcileOutcome {
        let session = Session::new(
            &self.shared,
            &self.settings,
            &self.resource,
            object,
            Arc::clone(&share),
        );
        let Ok(mut session) = session else {
            // What was never released has no finalizer.
            return ReconcileOutcome::of(Next::Never);
        };
        let release = action::ReleaseUnselected {
            recorder: &self.recorder,
            settings: &self.settings,
        };
        match release.run(&mut session).await {
            Ok(true) => ReconcileOutcome::of(Next::Never),
            Ok(false) => Box::pin(self.reconcile(session.object().clone(), share, cache)).await,
            Err(error) => {
                cache.failures = cache.failures.saturating_add(1);
                let cause = session.redactor.mask(&chain(&error));
                session.log_error("failed to let go of a resource that is not selected", &cause);
                ReconcileOutcome::of(Next::Retry(error.retry_after()))
            }
        }
    }

    fn reporter(&self) -> Reporter<'_> {
        Reporter {
            client: &self.shared.client,
            resource: &self.resource,
            recorder: &self.recorder,
        }
    }
}

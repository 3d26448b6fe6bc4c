//! The controller of one watch: it follows the custom resources and reconciles them.

mod adapter;
mod cached;
mod kind;
mod missing_permissions;
mod period;
mod procedures;
mod reconciles;
mod releases;
mod resources;
mod runs;
mod unselected;
mod versions;
mod workers;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;

use adapter::{Adapter, Followed};
use futures::stream::StreamExt;
use jiff::Timestamp;
use kind::wait_for_kind;
use kube::core::GroupVersionKind;
use missing_permissions::warn_of_missing;
use period::default_period;
pub(crate) use procedures::kind_of_runs;
use procedures::{control_procedures, procedures_of};
use reconciles::Finished;
use releases::Releases;
use resources::KnownResource;
use steersman_cluster::discovery::{Discovery, Resource};
use steersman_model::{Digest, digest_of_json};
use steersman_watches::{AnsibleWatch, Watch};
use tokio::sync::mpsc;
use tokio::task::JoinSet;
use tokio::time::Instant;
pub(crate) use versions::Versions;
use workers::Workers;

use crate::context::Context;
use crate::dependents::{Dependents, ExpectedResources};
use crate::reconcile::{ReconcileSettings, Reconciler, Shared};
use crate::runs::{RunReconciler, RunTools};
use crate::schedule::Queue;
use crate::status::Events;

/// How much earlier than the process the reconciles in work have to end: the lease must be given back, too.
const BEFORE_THE_END: Duration = Duration::from_secs(1);

/// Which custom resources a controller reconciles.
#[derive(Debug)]
pub(crate) struct Claim {
    pub(crate) watch: Watch,
    /// Which of them are another controller's, where watches.yaml has several versions of the kind.
    pub(crate) versions: Versions,
    /// Under which other selectors the operator has added its finalizer, so that it has to take it off.
    pub(crate) former_selectors: BTreeSet<String>,
    /// Until they are listed.
    pub(crate) expected: ExpectedResources,
}

/// Follows the custom resources of one watch and reconciles them, until the context's shutdown. Its kind is waited for
/// while it is not served.
pub(crate) async fn control(context: Context, shared: Shared, claim: Claim) {
    let Claim {
        mut watch,
        versions,
        former_selectors,
        expected,
    } = claim;
    let mut expected = Some(expected);
    let default_account = &context.config.default_service_account;
    watch.service_account = watch.service_account.or_else(|| default_account.clone());
    let period = default_period(watch.reconcile_period, context.config.reconcile_period);
    let Some(resource) = begin(&context, &watch.gvk, period, &mut expected).await else {
        return;
    };
    if let (true, Some(namespace)) = (resource.namespaced, &watch.release_namespace) {
        tracing::warn!(kind = %resource.api.kind, %namespace, "releaseNamespace is ignored: releases are where their resources are");
    }
    // Nothing waits for it, and it ends with the controller.
    let mut aside = JoinSet::new();
    aside.spawn({
        let (permissions, shared) = (Arc::clone(&context.permissions), shared.clone());
        let (watch, resource) = (watch.clone(), resource.clone());
        async move { warn_of_missing(&permissions, &shared.client, &shared.discovery, &watch, &resource).await }
    });
    let settings = ReconcileSettings {
        releases: context.config.releases,
        dry_run: context.config.dry_run,
        suppress_override_values: context.config.suppress_override_values,
        former_selectors: former_selectors.clone(),
        ..ReconcileSettings::new(&watch)
    };
    let subject = Subject {
        dependents: Arc::clone(&shared.dependents),
        followed: releases::followed(&watch),
        versions,
        former_selectors,
        resource: resource.clone(),
        period,
        limit: watch.max_concurrent_reconciles,
        expected,
    };
    let procedures = procedures_of(&watch, &settings.procedures, &shared.dependents, &context.metrics);
    let coordination = procedures
        .as_ref()
        .map(|procedures| Arc::clone(procedures.coordination()));
    let reconciler = Reconciler::new(shared, Arc::new(settings), resource.clone());
    let reconciler = reconciler.with_coordination(coordination);
    let releases = Releases {
        reconciler: reconciler.clone(),
        procedures: procedures.clone(),
    };
    let controlling = Controller::control(context.clone(), releases, subject);
    match procedures {
        None => controlling.await,
        Some(procedures) => {
            let runs = control_procedures(context, reconciler, resource, procedures, watch.gvk);
            futures::join!(controlling, runs);
        }
    }
}

/// Waits until the kind is served, and says that it is watched. `None` when the process is to stop before.
async fn begin(
    context: &Context,
    gvk: &GroupVersionKind,
    period: Option<Duration>,
    expected: &mut Option<ExpectedResources>,
) -> Option<Resource> {
    let waiting = wait_for_kind(context, gvk, expected);
    let resource = context.shutdown.run_until_cancelled(waiting).await??;
    context.readiness.ready(gvk);
    tracing::info!(
        apiVersion = %resource.api.api_version,
        kind = %resource.api.kind,
        reconcilePeriod = ?period.unwrap_or_default(),
        "Watching resource"
    );
    Some(resource)
}

/// Which custom resources runs are made for.
#[derive(Debug)]
pub(crate) struct RunClaim {
    pub(crate) watch: AnsibleWatch,
    /// Which of them are another controller's, where watches.yaml has several versions of the kind.
    pub(crate) versions: Versions,
    /// Under which other selectors the operator has added finalizers.
    pub(crate) former_selectors: BTreeSet<String>,
    pub(crate) shared: SharedOfRuns,
    pub(crate) expected: ExpectedResources,
}

/// What the controllers of all entries with a role or playbook share.
#[derive(Clone, Debug)]
pub(crate) struct SharedOfRuns {
    pub(crate) tools: RunTools,
    /// What is live of what runs have made.
    pub(crate) dependents: Arc<Dependents>,
    pub(crate) discovery: Arc<Discovery>,
    pub(crate) events: Events,
}

/// Follows the custom resources of an entry with a role or playbook, and makes runs for them, until the context's shutdown.
pub(crate) async fn control_runs(context: Context, claim: RunClaim) {
    let RunClaim {
        mut watch,
        versions,
        former_selectors,
        shared,
        expected,
    } = claim;
    let mut expected = Some(expected);
    let default_account = &context.config.default_service_account;
    watch.service_account = watch.service_account.or_else(|| default_account.clone());
    let period = default_period(watch.reconcile_period, context.config.ansible.reconcile_period);
    // Before others get turns, whether or not it is served yet.
    let turns = shared
        .tools
        .turns
        .of_kind(&format!("{}.{}", watch.gvk.kind, watch.gvk.group));
    let Some(resource) = begin(&context, &watch.gvk, period, &mut expected).await else {
        return;
    };
    let subject = Subject {
        dependents: Arc::clone(&shared.dependents),
        followed: runs::followed(&watch),
        versions,
        former_selectors,
        resource: resource.clone(),
        period,
        limit: watch.max_concurrent_reconciles,
        expected,
    };
    let reconciler = RunReconciler {
        client: context.client.clone(),
        discovery: shared.discovery,
        signer: Arc::clone(&context.signer),
        events: shared.events,
        dependents: shared.dependents,
        tools: shared.tools,
        turns: Arc::new(turns),
        content: content_of(&watch),
        watch: Arc::new(watch),
        resource,
        period,
        namespaces: context.config.namespaces.clone(),
        dry_run: context.config.dry_run,
        now: Timestamp::now,
    };
    Controller::control(context, reconciler, subject).await;
}

/// What a run is made of, besides its resource: the files that run, and the variables of the entry.
fn content_of(watch: &AnsibleWatch) -> Digest {
    let path = watch.content.path().display().to_string();
    let files = watch.sources.digest.to_string();
    digest_of_json(&serde_json::json!([path, files, watch.vars]))
}

/// What a controller looks after.
struct Subject {
    dependents: Arc<Dependents>,
    followed: Followed,
    versions: Versions,
    former_selectors: BTreeSet<String>,
    resource: Resource,
    period: Option<Duration>,
    /// How many of them are reconciled at a time, where the entry says so.
    limit: Option<usize>,
    expected: Option<ExpectedResources>,
}

/// Namespace and name of a custom resource.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Key {
    namespace: Option<String>,
    name: String,
}

struct Controller<A: Adapter> {
    adapter: A,
    context: Context,
    dependents: Arc<Dependents>,
    followed: Followed,
    versions: Versions,
    former_selectors: BTreeSet<String>,
    resource: Resource,
    period: Option<Duration>,
    workers: Workers,
    wake: mpsc::UnboundedSender<(Key, Duration)>,
    known: BTreeMap<Key, KnownResource<A::Cache>>,
    /// Until all resources are known.
    expected: Option<ExpectedResources>,
    /// The scopes that are not listed yet.
    listing: BTreeSet<Option<String>>,
    /// Those of which no list was whole yet.
    unknown: BTreeSet<Option<String>>,
    queue: Queue<Key>,
    tasks: JoinSet<Finished<A::Cache>>,
}

impl<A: Adapter> Controller<A> {
    /// Follows the resources of `subject` until the context's shutdown.
    async fn control(context: Context, adapter: A, subject: Subject) {
        let default = context.config.max_concurrent_reconciles.get();
        let workers = Workers::new(subject.limit.unwrap_or(default), context.workers_in_all.clone());
        let workers = if subject.followed.keeps_workers {
            workers.kept()
        } else {
            workers
        };
        let (wake, woken) = mpsc::unbounded_channel();
        let controller = Self {
            adapter,
            context,
            dependents: subject.dependents,
            followed: subject.followed,
            versions: subject.versions,
            former_selectors: subject.former_selectors,
            resource: subject.resource,
            period: subject.period,
            workers,
            wake,
            known: BTreeMap::new(),
            expected: subject.expected,
            listing: BTreeSet::new(),
            unknown: BTreeSet::new(),
            queue: Queue::default(),
            tasks: JoinSet::new(),
        };
        controller.run(woken).await;
    }

    async fn run(mut self, mut woken: mpsc::UnboundedReceiver<(Key, Duration)>) {
        let shutdown = self.context.shutdown.clone();
        let mut events = self.events();
        let mut unselected = self.unselected();
        loop {
            self.start_due();
            let next = self.queue.next_due();
            let is_due = next.is_some_and(|next| next <= Instant::now());
            let is_exhausted = self.workers.are_exhausted(self.queue.running());
            tokio::select! {
                biased;
                () = shutdown.cancelled() => break,
                Some(finished) = self.tasks.join_next() => self.finished(finished),
                Some((scope, event)) = events.next() => self.handle(scope.as_ref(), event),
                Some(metadata) = unselected.recv() => self.add_unselected(metadata),
                Some((key, pause)) = woken.recv() => self.queue.add(key, Instant::now() + pause),
                // What is due and was not started lacks a worker.
                () = self.workers.available(), if is_due && !is_exhausted => {}
                () = tokio::time::sleep_until(next.unwrap_or_else(far_off)), if next.is_some() && !is_due => {}
            }
        }
        self.forget_all();
        // What is in work is brought to an end, if that does not take too long; what is not
        // is taken up by the next process.
        let grace = self.context.config.shutdown_grace.saturating_sub(BEFORE_THE_END);
        let _ = tokio::time::timeout(grace, async { while self.tasks.join_next().await.is_some() {} }).await;
    }
}

fn far_off() -> Instant {
    Instant::now() + Duration::from_hours(1)
}

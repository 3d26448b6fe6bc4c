//! Runs of the procedures of an entry.

use std::collections::BTreeMap;
use std::sync::Arc;

use jiff::Timestamp;
use kube::api::DynamicObject;
use kube::core::{GroupVersionKind, Selector};
use steersman_cluster::discovery::Resource;
use steersman_watches::Watch;
use steersman_watches::procedure::Procedure;
use steersman_watches::procedure::names::RUN_FINALIZER;
use tokio::sync::mpsc;
use tokio::task::JoinSet;

use super::adapter::{Adapter, Cache, Followed, Lent};
use super::{Controller, Subject, Versions, begin};
use crate::context::Context;
use crate::coordination::Coordination;
use crate::dependents::Dependents;
use crate::metrics::Metrics;
use crate::procedures::{ProcedureCache, ProcedureReconciler, Procedures, Scheduler};
use crate::reconcile::{Next, ReconcileOutcome, Reconciler};

/// The kind of the runs of a procedure of an entry.
pub(crate) fn kind_of_runs(gvk: &GroupVersionKind, procedure: &Procedure) -> GroupVersionKind {
    GroupVersionKind::gvk(&gvk.group, &gvk.version, &procedure.run_kind)
}

/// The procedures of an entry, of which nothing is known yet. `None` where it has none.
pub(super) fn procedures_of(
    watch: &Watch,
    all: &[Arc<Procedure>],
    dependents: &Arc<Dependents>,
    metrics: &Metrics,
) -> Option<Arc<Procedures>> {
    if all.is_empty() {
        return None;
    }
    let coordination = Coordination::new(all.to_vec(), Arc::clone(dependents));
    let values = (watch.values.clone(), watch.chart.values().clone());
    Some(Arc::new(Procedures::new(
        (watch.gvk.clone(), all.to_vec()),
        values,
        (Arc::clone(dependents), Arc::new(coordination)),
        metrics.clone(),
    )))
}

/// Follows the runs of all procedures of an entry, and makes those that are due, until the context's shutdown.
pub(super) async fn control_procedures(
    context: Context,
    releases: Reconciler,
    resource: Resource,
    procedures: Arc<Procedures>,
    gvk: GroupVersionKind,
) {
    let mut controllers = JoinSet::new();
    let (found, mut kinds) = mpsc::unbounded_channel();
    for procedure in procedures.all() {
        let control = control_runs_of(
            context.clone(),
            (releases.clone(), resource.clone()),
            (Arc::clone(&procedures), Arc::clone(procedure)),
            (kind_of_runs(&gvk, procedure), found.clone()),
        );
        controllers.spawn(control);
    }
    drop(found);
    let scheduling = async {
        let mut runs = BTreeMap::new();
        while let Some((name, kind)) = kinds.recv().await {
            runs.insert(name, kind);
        }
        if runs.len() < procedures.all().len() || releases.is_dry_run() {
            return;
        }
        let scheduler = Scheduler {
            client: context.client.clone(),
            namespaces: context.config.namespaces.clone(),
            procedures,
            releases,
            resource,
            runs,
            now: Timestamp::now,
        };
        scheduler.run().await;
    };
    context.shutdown.run_until_cancelled(scheduling).await;
    while controllers.join_next().await.is_some() {}
}

/// Where it is told that the kind of the runs of a procedure is served.
type FoundKinds = mpsc::UnboundedSender<(String, Resource)>;

/// Follows the runs of one procedure. Its kind is waited for while it is not served, and told of then.
async fn control_runs_of(
    context: Context,
    (releases, resource): (Reconciler, Resource),
    (procedures, procedure): (Arc<Procedures>, Arc<Procedure>),
    (kind, found): (GroupVersionKind, FoundKinds),
) {
    let limit = context.config.max_concurrent_reconciles.get();
    context.metrics.start_controller(&kind, limit);
    let mut expected = Some(releases.dependents().expect_resources());
    // There are no runs of a kind that is not served, and nobody waits for their list.
    if !releases.serves(&kind).await {
        procedures.coordination().note_listed(&procedure.name);
    }
    let Some(runs) = begin(&context, &kind, None, &mut expected).await else {
        return;
    };
    // Nobody waits for it when the process stops.
    let _ = found.send((procedure.name.clone(), runs.clone()));
    drop(found);
    let subject = Subject {
        dependents: Arc::clone(releases.dependents()),
        followed: followed(kind.clone()),
        versions: Versions::alone(&kind),
        former_selectors: [].into(),
        resource: runs.clone(),
        period: None,
        limit: None,
        expected,
    };
    let reconciler = ProcedureReconciler {
        releases,
        resource,
        runs,
        procedure,
        procedures,
        now: Timestamp::now,
    };
    Controller::control(context, reconciler, subject).await;
}

fn followed(gvk: GroupVersionKind) -> Followed {
    Followed {
        gvk,
        selector: Selector::default(),
        wakes_by_all: true,
        finalizers: vec![RUN_FINALIZER.to_owned()],
        period_annotation: "steersman.dev/none",
        heeds_annotations: true,
        keeps_workers: false,
    }
}

impl Adapter for ProcedureReconciler {
    type Cache = ProcedureCache;

    fn know(&self, object: &DynamicObject) {
        self.procedures.know_run(&self.procedure, object);
    }

    /// What becomes of runs is counted, and each is there for a while.
    fn show_conditions(_: &Metrics, _: &GroupVersionKind, _: &DynamicObject) {}

    fn forget(&self, uid: &str) {
        self.procedures.forget_run(uid);
    }

    fn listed(&self) {
        self.procedures.note_listed(&self.procedure);
    }

    fn unlisted(&self, why: &str, is_forbidden: bool) {
        self.procedures
            .coordination()
            .note_unlisted(&self.procedure.name, why, is_forbidden);
    }

    async fn reconcile(
        &self,
        object: DynamicObject,
        lent: Lent,
        cache: &mut ProcedureCache,
    ) -> ReconcileOutcome {
        Box::pin(self.reconcile(object, lent.share, cache)).await
    }

    /// All runs are selected.
    async fn release_unselected(
        &self,
        _: DynamicObject,
        _: Lent,
        _: &mut ProcedureCache,
    ) -> ReconcileOutcome {
        ReconcileOutcome::of(Next::Never)
    }
}

impl Cache for ProcedureCache {
    fn failures(&self) -> u32 {
        self.failures
    }

    fn note_failure(&mut self) {
        self.failures = self.failures.saturating_add(1);
    }
}

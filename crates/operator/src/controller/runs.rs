//! Resources for each of which a role or playbook is run.

use std::sync::Arc;

use kube::api::DynamicObject;
use kube::core::GroupVersionKind;
use steersman_watches::AnsibleWatch;

use super::Key;
use super::adapter::{Adapter, Cache, Followed};
use crate::budget::{Budget, Share};
use crate::metrics::Metrics;
use crate::reconcile::{Next, ReconcileOutcome};
use crate::runs::{RunCache, RunReconciler};

const PERIOD_ANNOTATION: &str = "ansible.sdk.operatorframework.io/reconcile-period";

/// What the controller of an entry with a role or playbook follows.
pub(super) fn followed(watch: &AnsibleWatch) -> Followed {
    let finalizer = watch.finalizer.as_ref();
    Followed {
        gvk: watch.gvk.clone(),
        selector: watch.selector.clone(),
        wakes_by_all: watch.watch_dependents,
        finalizers: finalizer
            .map(|finalizer| finalizer.name.clone())
            .into_iter()
            .collect(),
        period_annotation: PERIOD_ANNOTATION,
        heeds_annotations: watch.watch_annotations,
    }
}

impl Adapter for RunReconciler {
    type Cache = RunCache;

    async fn reconcile(
        &self,
        object: DynamicObject,
        _: Arc<Share>,
        cache: &mut RunCache,
    ) -> ReconcileOutcome {
        self.reconcile(object, cache).await
    }

    /// Its finalizer is the entry's, and goes with what that says; nothing is run for what is not selected.
    async fn release_unselected(
        &self,
        _: DynamicObject,
        _: Arc<Share>,
        _: &mut RunCache,
    ) -> ReconcileOutcome {
        ReconcileOutcome::of(Next::Never)
    }
}

impl Cache for RunCache {
    fn failures(&self) -> u32 {
        self.failures
    }

    fn note_failure(&mut self) {
        self.failures = self.failures.saturating_add(1);
    }

    fn show(&self, _: &Metrics, _: &GroupVersionKind, _: &Key) {}

    fn fit(&mut self, _: &Budget) {}
}

//! Resources for each of which a chart is released.

use std::sync::Arc;

use kube::api::DynamicObject;
use kube::core::GroupVersionKind;
use steersman_watches::Watch;

use super::Key;
use super::adapter::{Adapter, Cache, Followed, Lent};
use crate::budget::Budget;
use crate::metrics::Metrics;
use crate::procedures::Procedures;
use crate::reconcile::{FINALIZER, LEGACY_FINALIZER, ReconcileOutcome, Reconciler, ReleaseCache};

const PERIOD_ANNOTATION: &str = "helm.sdk.operatorframework.io/reconcile-period";

/// What the controller of a watch with a chart follows.
pub(super) fn followed(watch: &Watch) -> Followed {
    Followed {
        gvk: watch.gvk.clone(),
        selector: watch.selector.clone(),
        wakes_by_all: watch.watch_dependents,
        finalizers: [FINALIZER, LEGACY_FINALIZER].map(str::to_owned).to_vec(),
        period_annotation: PERIOD_ANNOTATION,
        heeds_annotations: true,
        keeps_workers: false,
    }
}

/// Makes releases, and lets the procedures of the entry know of their resources.
#[derive(Clone)]
pub(super) struct Releases {
    pub(super) reconciler: Reconciler,
    /// `None` where the entry has none.
    pub(super) procedures: Option<Arc<Procedures>>,
}

impl Adapter for Releases {
    type Cache = ReleaseCache;

    fn know(&self, object: &DynamicObject) {
        self.reconciler.know(object);
        if let Some(procedures) = &self.procedures {
            procedures.know(object);
        }
    }

    fn forget(&self, uid: &str) {
        self.reconciler.forget(uid);
        if let Some(procedures) = &self.procedures {
            procedures.forget(uid);
        }
    }

    async fn reconcile(
        &self,
        object: DynamicObject,
        lent: Lent,
        cache: &mut ReleaseCache,
    ) -> ReconcileOutcome {
        self.reconciler.reconcile(object, lent.share, cache).await
    }

    async fn release_unselected(
        &self,
        object: DynamicObject,
        lent: Lent,
        cache: &mut ReleaseCache,
    ) -> ReconcileOutcome {
        let reconciler = &self.reconciler;
        reconciler.release_unselected(object, lent.share, cache).await
    }
}

impl Cache for ReleaseCache {
    fn failures(&self) -> u32 {
        self.failures
    }

    fn note_failure(&mut self) {
        self.failures = self.failures.saturating_add(1);
    }

    fn show(&self, metrics: &Metrics, gvk: &GroupVersionKind, key: &Key) {
        let namespace = key.namespace.as_deref().unwrap_or_default();
        metrics.release_waits(gvk, namespace, &key.name, self.waits_since());
        if let Some(revision) = self.deployed_revision() {
            metrics.release_deployed(gvk, namespace, &key.name, revision.0, self.objects());
        }
    }

    fn fit(&mut self, budget: &Budget) {
        self.fit(budget);
    }
}

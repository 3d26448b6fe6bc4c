//! Resources for each of which a role or playbook is run.

use kube::api::DynamicObject;
use steersman_watches::AnsibleWatch;

use super::adapter::{Adapter, Cache, Followed, Lent};
use crate::reconcile::ReconcileOutcome;
use crate::runs::{DEPENDENTS_FINALIZER, RECONCILE_PERIOD, RunCache, RunReconciler};

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
            .chain([DEPENDENTS_FINALIZER.to_owned()])
            .collect(),
        period_annotation: RECONCILE_PERIOD,
        heeds_annotations: watch.watch_annotations,
        keeps_workers: true,
    }
}

impl Adapter for RunReconciler {
    type Cache = RunCache;

    async fn reconcile(&self, object: DynamicObject, lent: Lent, cache: &mut RunCache) -> ReconcileOutcome {
        self.reconcile(object, &lent.stop, cache).await
    }

    async fn release_unselected(
        &self,
        object: DynamicObject,
        lent: Lent,
        cache: &mut RunCache,
    ) -> ReconcileOutcome {
        self.finalize_unselected(object, &lent.stop, cache).await
    }
}

impl Cache for RunCache {
    fn failures(&self) -> u32 {
        self.failures
    }

    fn note_failure(&mut self) {
        self.failures = self.failures.saturating_add(1);
    }
}

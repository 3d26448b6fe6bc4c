//! What a controller does with its resources.

use std::fmt;
use std::sync::Arc;

use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use kube::api::DynamicObject;
use kube::core::{GroupVersionKind, Selector};
use tokio_util::sync::CancellationToken;

use super::Key;
use crate::budget::{Budget, Share};
use crate::metrics::Metrics;
use crate::reconcile::ReconcileOutcome;

/// Which custom resources a controller follows, and what of them it heeds.
#[derive(Clone, Debug)]
pub(super) struct Followed {
    pub(super) gvk: GroupVersionKind,
    /// Which of them are meant.
    pub(super) selector: Selector,
    /// Whether any change of their objects makes them due, not only what they wait for.
    pub(super) wakes_by_all: bool,
    /// The names of the finalizers that the operator adds.
    pub(super) finalizers: Vec<String>,
    /// The annotation that says how often a resource is looked at without a change.
    pub(super) period_annotation: &'static str,
    /// Whether a change of any annotation makes a resource due, not only of those that ask something of the operator.
    pub(super) heeds_annotations: bool,
    /// Whether a reconcile keeps its worker to its end, however long that takes.
    pub(super) keeps_workers: bool,
}

/// What a reconcile is lent.
#[derive(Clone)]
pub(super) struct Lent {
    /// The memory that it may take.
    pub(super) share: Arc<Share>,
    /// Cancelled when the resource begins to be deleted or is gone, and when the controller stops.
    pub(super) stop: CancellationToken,
}

impl Followed {
    /// Whether a resource carries a finalizer of the operator's.
    pub(super) fn has_finalizer(&self, metadata: &ObjectMeta) -> bool {
        let mut finalizers = metadata.finalizers.iter().flatten();
        finalizers.any(|name| self.finalizers.contains(name))
    }
}

#[cfg(test)]
impl Followed {
    /// As for releases.
    pub(super) fn of_test() -> Self {
        Self {
            gvk: GroupVersionKind::gvk("example.com", "v1", "Web"),
            selector: Selector::default(),
            wakes_by_all: true,
            finalizers: vec![crate::reconcile::FINALIZER.to_owned()],
            period_annotation: "helm.sdk.operatorframework.io/reconcile-period",
            heeds_annotations: true,
            keeps_workers: false,
        }
    }
}

/// Reconciles the custom resources of one kind: what is made for each is the adapter's affair, when that is done the
/// controller's.
pub(super) trait Adapter: Clone + Send + Sync + 'static {
    /// What is remembered of a resource between reconciles. Losing it costs a read.
    type Cache: Cache;

    /// A resource that is followed is as `object` says.
    fn know(&self, _object: &DynamicObject) {}

    /// Shows what the status of a resource says.
    fn show_conditions(metrics: &Metrics, gvk: &GroupVersionKind, object: &DynamicObject) {
        metrics.resource_conditions(gvk, object);
    }

    /// All resources are known: a list of each scope was whole. It comes once.
    fn listed(&self) {}

    /// Not all are known, for this reason.
    fn unlisted(&self, _why: &str, _is_forbidden: bool) {}

    /// The resource with this UID is followed no longer.
    fn forget(&self, _uid: &str) {}

    /// Brings what is made for `object` to what that says, as far as possible now and with what it is lent.
    fn reconcile(
        &self,
        object: DynamicObject,
        lent: Lent,
        cache: &mut Self::Cache,
    ) -> impl Future<Output = ReconcileOutcome> + Send;

    /// Does what is to be done for an `object` with a finalizer of the operator's that the selector no longer matches.
    fn release_unselected(
        &self,
        object: DynamicObject,
        lent: Lent,
        cache: &mut Self::Cache,
    ) -> impl Future<Output = ReconcileOutcome> + Send;
}

/// What is remembered of a resource.
pub(super) trait Cache: fmt::Debug + Default + Send + 'static {
    /// How many reconciles in a row have failed.
    fn failures(&self) -> u32;

    /// One more has failed, before it began.
    fn note_failure(&mut self);

    /// Shows what has become of the resource.
    fn show(&self, _metrics: &Metrics, _gvk: &GroupVersionKind, _key: &Key) {}

    /// Gives up what there is no room for.
    fn fit(&mut self, _budget: &Budget) {}
}

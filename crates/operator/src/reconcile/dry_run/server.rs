//! What the server says to a plan: each request of it is tried, and none has an effect.

use std::collections::BTreeSet;
use std::sync::Arc;

use futures::{FutureExt as _, StreamExt as _, TryStreamExt as _};
use serde_json::Value;
use steersman_cluster::discovery::{Discovery, Served};
use steersman_model::{ApiKind, ObjectId, RESOURCE_POLICY, RenderedObject, is_keep, kinds_defined_by};
use steersman_watches::CrdPolicy;

use super::object::{ObjectDryRun, ObjectResult};
use crate::apply::{Applier, ApplyError, DryRunApplied, DryRunApply, Handover};
use crate::reconcile::ReconcileSettings;
use crate::reconcile::error::ReconcileError;
use crate::reconcile::plan::{Plan, PruneCandidate, prune_candidates};
use crate::reconcile::session::Session;

/// So many objects are asked about at a time.
const PARALLEL: usize = 4;

/// Asks the server about plans.
pub(super) struct DryRunner<'a> {
    pub(super) applier: &'a Applier,
    pub(super) discovery: &'a Arc<Discovery>,
    pub(super) settings: &'a ReconcileSettings,
}

impl DryRunner<'_> {
    /// What would become of each object that is planned or was.
    pub(super) async fn objects(
        &self,
        session: &Session,
        plan: &Plan,
    ) -> Result<Vec<ObjectDryRun>, ReconcileError> {
        let kinds = plan.objects.iter().map(|object| &object.api);
        let served = self.discovery.served_with(kinds).await?;
        let (mut objects, mut defined) = (Vec::new(), kinds_defined_by(&plan.objects));
        for definition in plan.definitions.due(&plan.objects, &served) {
            // One that is there stays, unless the watch replaces it, although not all of its versions are served.
            let Some(shown) = self.definition(definition, plan.definitions.policy).await? else {
                continue;
            };
            if !matches!(shown.result, ObjectResult::Refused(_)) {
                defined.extend(kinds_defined_by(std::slice::from_ref(definition)));
            }
            objects.push(shown);
        }
        let mut tried = self.try_all(session, plan, &served, &defined).await?;
        let mut desired = BTreeSet::new();
        for (tried, object) in tried.iter_mut().zip(&plan.objects) {
            if !desired.insert(tried.id.clone()) {
                tried.result = Err(ApplyError::Duplicate {
                    origin: object.source.clone(),
                    id: Box::new(tried.id.clone()),
                });
            }
        }
        let applied: BTreeSet<String> = tried
            .iter()
            .filter_map(|tried| uid(tried.live.as_ref()?))
            .collect();
        objects.extend(tried.into_iter().map(ObjectDryRun::of_tried));
        objects.extend(self.prune_candidates(session, plan, &desired, &applied).await?);
        Ok(objects)
    }

    async fn try_all(
        &self,
        session: &Session,
        plan: &Plan,
        served: &Served,
        defined: &BTreeSet<ApiKind>,
    ) -> Result<Vec<DryRunApplied>, ReconcileError> {
        let new_namespaces = plan.new_namespaces();
        let (objects, replaced) = (plan.objects.clone(), plan.replaced.clone());
        let rules = &self.settings.drift.ignore;
        let left = self
            .applier
            .leave_to_others(&session.owner, rules, objects, replaced, Handover::DryRun)
            .await?;
        let requests = left.iter().map(|object| {
            let trial = DryRunApply {
                object,
                served,
                is_defined: defined.contains(&object.api),
                new_namespaces: &new_namespaces,
                former_managers: plan.former_managers.as_deref(),
                options: plan.options(),
            };
            self.applier.dry_run_apply(&session.owner, trial).boxed()
        });
        let requests: Vec<_> = requests.collect();
        let tried = futures::stream::iter(requests).buffered(PARALLEL);
        Ok(tried.try_collect().await?)
    }

    /// What would become of a definition in the chart's `crds/` folder; `None` where the one that is there stays.
    async fn definition(
        &self,
        definition: &RenderedObject,
        policy: CrdPolicy,
    ) -> Result<Option<ObjectDryRun>, ReconcileError> {
        let id = ObjectId {
            group: definition.api.group.clone(),
            kind: definition.api.kind.clone(),
            namespace: None,
            name: definition.name.clone(),
        };
        let tried = self.applier.dry_run_crd(definition, policy).await?;
        Ok(tried.map(|tried| ObjectDryRun::of_definition(id, tried)))
    }

    /// What the plan prunes, as far as it is there, ours, and not `applied` under another API group of its kind.
    async fn prune_candidates(
        &self,
        session: &Session,
        plan: &Plan,
        desired: &BTreeSet<ObjectId>,
        applied: &BTreeSet<String>,
    ) -> Result<Vec<ObjectDryRun>, ReconcileError> {
        let named = plan.prune.named.clone();
        let named = self.applier.identities(&session.owner, named).await?;
        let mut found = Vec::new();
        for PruneCandidate { id, kept } in prune_candidates(named, &plan.prune.abandoned, desired) {
            let live = self.applier.live(&session.owner, &id).await?;
            let is_applied = |live: &Value| uid(live).is_some_and(|uid| applied.contains(&uid));
            if let Some(live) = live.filter(|live| !is_applied(live)) {
                let kept = kept || is_kept(&live);
                found.push(ObjectDryRun::of_prune_candidate(id, live, kept));
            }
        }
        Ok(found)
    }

    /// Objects of the kinds of the release, in its namespace, that belong to its resource and are not `known`.
    pub(super) async fn unrecorded(
        &self,
        session: &Session,
        known: &[ObjectDryRun],
    ) -> Result<Vec<ObjectId>, ReconcileError> {
        let kinds: BTreeSet<(&str, &str)> = known
            .iter()
            .map(|object| (object.id.group.as_str(), object.id.kind.as_str()))
            .collect();
        let mut unrecorded = Vec::new();
        for (group, kind) in kinds {
            let found = self.applier.marked(&session.owner, group, kind).await?;
            unrecorded.extend(
                found
                    .into_iter()
                    .filter(|id| known.iter().all(|object| object.id != *id)),
            );
        }
        Ok(unrecorded)
    }
}

/// The UID of a live object.
fn uid(live: &Value) -> Option<String> {
    Some(live.pointer("/metadata/uid")?.as_str()?.to_owned())
}

/// Whether a live object says itself that it is to be kept.
fn is_kept(live: &Value) -> bool {
    let annotations = &live["metadata"]["annotations"];
    annotations[RESOURCE_POLICY].as_str().is_some_and(is_keep)
}

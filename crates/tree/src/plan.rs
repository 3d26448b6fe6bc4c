//! What the operator would do with a resource, by the word of the server.

use std::collections::BTreeSet;
use std::sync::Arc;

use kube::Client;
use kube::api::DynamicObject;
use steersman_cluster::discovery::Resource;
use steersman_model::harmless;
use steersman_operator::budget::Budget;
use steersman_operator::dependents::Interests;
use steersman_operator::reconcile::{
    DryRun, ObjectDryRun, ObjectResult, ReconcileError, ReconcileSettings, Reconciler, Shared,
};
use steersman_operator::release::Signer;
use steersman_watches::Watch;
use tokio_util::sync::CancellationToken;

use crate::compare::ObjectChange;
use crate::text::{States, unified_all, without_former};

/// What would be done with a release.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PlanView {
    /// Such as `would be upgraded to revision 3, as the values have changed`.
    pub decision: String,
    /// What comes before it, or keeps it from being done.
    pub waits: Vec<String>,
    /// The hooks that would run, in order.
    pub hooks: Vec<String>,
    /// The stages, in order.
    pub stages: Vec<String>,
    /// The objects that would change, or would not be applied.
    pub objects: Vec<ObjectChange>,
    /// How many would stay as they are.
    pub unchanged: usize,
}

/// What the operator would do with a resource, as far as this memory lets it find out. Nothing is written: the server only tries.
///
/// # Errors
/// See [`ReconcileError`].
pub async fn dry_run(
    client: &Client,
    watch: &Watch,
    resource: Resource,
    object: DynamicObject,
    budget: Arc<Budget>,
) -> Result<DryRun, ReconcileError> {
    let stop = CancellationToken::new();
    let _end = stop.clone().drop_guard();
    let signer = Arc::new(Signer::unchecked());
    let shared = Shared::new(
        client.clone(),
        signer,
        Interests::default(),
        BTreeSet::new(),
        stop,
    );
    let settings = Arc::new(ReconcileSettings::new(watch));
    let reconciler = Reconciler::new(shared.within(budget), settings, resource);
    reconciler.dry_run(object).await
}

impl PlanView {
    /// What is to be said of a dry run.
    pub fn of(dry_run: &DryRun) -> Self {
        let paused = dry_run.unless_applied().map(str::to_owned);
        let all = |texts: &[String]| texts.iter().map(|text| harmless(text)).collect();
        let (changed, same): (Vec<_>, Vec<_>) = dry_run.objects.iter().partition(|object| object.differs());
        Self {
            decision: harmless(&dry_run.decision.to_string()),
            waits: paused
                .into_iter()
                .chain(dry_run.waits.as_deref().map(harmless))
                .collect(),
            hooks: all(&dry_run.hooks),
            stages: all(&dry_run.stages),
            objects: changes(&changed, dry_run),
            unchanged: same.len(),
        }
    }
}

fn changes(objects: &[&ObjectDryRun], dry_run: &DryRun) -> Vec<ObjectChange> {
    let states = objects.iter().map(|object| {
        let after = match &object.result {
            ObjectResult::Applied(after) | ObjectResult::Recreated(after) => Some(after),
            ObjectResult::Deleted | ObjectResult::Kept | ObjectResult::Refused(_) => None,
        };
        let before = object.live.as_ref().zip(after).map(|(live, after)| {
            if dry_run.has_unknown_secrets {
                without_former(live, after)
            } else {
                live.clone()
            }
        });
        States {
            name: object.id.to_string(),
            before,
            after: after.cloned(),
        }
    });
    let diffs = unified_all(&states.collect::<Vec<_>>(), &dry_run.redactor);
    let changes = objects.iter().zip(diffs);
    changes
        .map(|(object, diff)| change(object, diff, dry_run))
        .collect()
}

fn change(object: &ObjectDryRun, diff: Option<String>, dry_run: &DryRun) -> ObjectChange {
    let (fate, why) = match &object.result {
        ObjectResult::Applied(_) if object.live.is_none() => ("created", String::new()),
        ObjectResult::Applied(_) => ("changed", String::new()),
        ObjectResult::Recreated(_) => ("recreated", String::new()),
        ObjectResult::Deleted => ("deleted", String::new()),
        ObjectResult::Kept => ("kept", String::new()),
        ObjectResult::Refused(reason) => ("refused", harmless(&dry_run.redactor.mask(reason))),
    };
    ObjectChange {
        fate,
        why,
        diff,
        managers: object.managers.iter().map(|name| harmless(name)).collect(),
        name: harmless(&object.id.to_string()),
    }
}

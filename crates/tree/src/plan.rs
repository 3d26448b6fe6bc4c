//! What the operator would do with a resource, by the word of the server.

use std::collections::BTreeSet;
use std::sync::Arc;

use kube::Client;
use kube::api::DynamicObject;
use serde_json::Value;
use steersman_cluster::discovery::Resource;
use steersman_model::harmless;
use steersman_operator::dependents::Interests;
use steersman_operator::reconcile::{
    DryRun, ObjectDryRun, ObjectResult, ReconcileError, ReconcileSettings, Reconciler, Shared,
};
use steersman_operator::release::Signer;
use steersman_watches::Watch;
use tokio_util::sync::CancellationToken;

use crate::compare::ObjectChange;
use crate::text::{unified, without_former};

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

/// What the operator would do with a resource. Nothing is written: the server only tries.
///
/// # Errors
/// See [`ReconcileError`].
pub async fn dry_run(
    client: &Client,
    watch: &Watch,
    resource: Resource,
    object: DynamicObject,
) -> Result<DryRun, ReconcileError> {
    let stop = CancellationToken::new();
    let signer = Arc::new(Signer::unchecked());
    let shared = Shared::new(
        client.clone(),
        signer,
        Interests::default(),
        BTreeSet::new(),
        stop,
    );
    let settings = Arc::new(ReconcileSettings::new(watch));
    let reconciler = Reconciler::new(shared, settings, resource);
    reconciler.dry_run(object).await
}

impl PlanView {
    /// What is to be said of a dry run.
    pub fn of(dry_run: &DryRun) -> Self {
        let paused = dry_run
            .paused
            .then(|| "paused by an annotation, so nothing of this is done yet".to_owned());
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
            objects: changed
                .into_iter()
                .map(|object| change(object, dry_run))
                .collect(),
            unchanged: same.len(),
        }
    }
}

fn change(object: &ObjectDryRun, dry_run: &DryRun) -> ObjectChange {
    let name = harmless(&object.id.to_string());
    let redactor = &dry_run.redactor;
    let diff = |after: &Value| {
        let hidden = object.live.as_ref().filter(|_| dry_run.has_unknown_secrets);
        let hidden = hidden.map(|live| without_former(live, after));
        unified(
            &name,
            hidden.as_ref().or(object.live.as_ref()),
            Some(after),
            redactor,
        )
    };
    let (fate, why, diff) = match &object.result {
        ObjectResult::Applied(after) if object.live.is_none() => ("created", String::new(), diff(after)),
        ObjectResult::Applied(after) => ("changed", String::new(), diff(after)),
        ObjectResult::Recreated(after) => ("recreated", String::new(), diff(after)),
        ObjectResult::Deleted => ("deleted", String::new(), None),
        ObjectResult::Kept => ("kept", String::new(), None),
        ObjectResult::Refused(reason) => ("refused", harmless(&redactor.mask(reason)), None),
    };
    ObjectChange {
        fate,
        why,
        diff,
        managers: object.managers.iter().map(|name| harmless(name)).collect(),
        name,
    }
}

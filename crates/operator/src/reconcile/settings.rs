//! What reconcilers are given: handles that they share, and how a kind is released.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use jiff::Timestamp;
use kube::Client;
use kube::core::Selector;
use steersman_chart::Chart;
use steersman_cluster::Owner;
use steersman_cluster::client::ServiceAccount;
use steersman_cluster::discovery::Discovery;
use steersman_model::ObjectId;
use steersman_watches::drift::DriftDetection;
use steersman_watches::order::Order;
use steersman_watches::post_render::PostRender;
use steersman_watches::procedure::Procedure;
use steersman_watches::values::EntryValues;
use steersman_watches::{
    Confinement, ConflictPolicy, CrdPolicy, Dependency, HealthCheck, HelmOperatorCompat, StatusFields,
    TestPolicy, ValuesFrom, Watch,
};
use tokio_util::sync::CancellationToken;

use super::error::ReconcileError;
use super::kept_up::kept_paths;
use crate::apply::{Applier, ClaimPolicy};
use crate::budget::Budget;
use crate::dependents::{Dependents, Interests};
use crate::references::References;
use crate::release::ReleasePolicy;
use crate::release::{ReleaseIndex, Signer};
use crate::status::{Events, has_health};

/// A cluster-scoped custom resource has its release here, unless its watch names another namespace.
const CLUSTER_RELEASE_NAMESPACE: &str = "default";

/// How soon a stage is looked at again whose objects wake nobody.
const GATE_POLL: Duration = Duration::from_secs(5);

/// What all reconcilers share.
#[derive(Clone)]
pub struct Shared {
    /// The API server.
    pub client: Client,
    /// What it serves.
    pub discovery: Arc<Discovery>,
    /// What is live of our releases.
    pub dependents: Arc<Dependents>,
    /// What resources refer to outside of their releases.
    pub references: Arc<References>,
    /// Which releases have revisions.
    pub release_index: Arc<ReleaseIndex>,
    /// Vouches for revisions.
    pub signer: Arc<Signer>,
    /// Writes objects.
    pub applier: Applier,
    /// Writes events.
    pub events: Events,
    /// The memory that they may take.
    pub budget: Arc<Budget>,
    /// The clock.
    pub now: fn() -> Timestamp,
}

impl Shared {
    /// What reconcilers with these interests share, with `stop` as the end of the watches on their objects.
    pub fn new(
        client: Client,
        signer: Arc<Signer>,
        interests: Interests,
        namespaces: BTreeSet<String>,
        stop: CancellationToken,
    ) -> Self {
        let discovery = Arc::new(Discovery::new(client.clone()));
        let release_index = ReleaseIndex::new(client.clone(), namespaces.clone(), stop.clone());
        let dependents = Dependents::new(client.clone(), interests, namespaces, stop.clone());
        let dependents = Arc::new(dependents);
        let references = References::new(client.clone(), Arc::clone(&dependents), stop);
        Self {
            references: Arc::new(references),
            release_index: Arc::new(release_index),
            applier: Applier::new(client.clone(), Arc::clone(&discovery), Arc::clone(&dependents)),
            events: Events::new(client.clone()),
            budget: Arc::default(),
            now: Timestamp::now,
            client,
            discovery,
            dependents,
            signer,
        }
    }
}

impl Shared {
    /// The same with so much memory; without that, what is assumed for a command.
    #[must_use]
    pub fn within(self, budget: Arc<Budget>) -> Self {
        Self { budget, ..self }
    }
}

impl std::fmt::Debug for Shared {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Shared").finish_non_exhaustive()
    }
}

/// How the custom resources of one kind are released.
#[derive(Clone, Debug)]
pub struct ReconcileSettings {
    /// Which custom resources are meant.
    pub selector: Selector,
    /// Under which selectors the operator has held others before.
    pub former_selectors: BTreeSet<String>,
    /// Parsed once, and shared with the watch.
    pub chart: Chart,
    /// Values below and above the spec.
    pub values: EntryValues,
    /// What is changed in what the chart renders.
    pub post_render: Arc<PostRender>,
    /// What releases keep, wait for, and do when they fail.
    pub releases: ReleasePolicy,
    /// The namespace of releases whose custom resource has none.
    pub cluster_release_namespace: String,
    /// What is done about the definitions in the chart's `crds/` folder.
    pub crds: CrdPolicy,
    /// What is done about fields that others manage.
    pub conflicts: ConflictPolicy,
    /// Whether claims grow with the templates that they were made from.
    pub expand_claims: bool,
    /// When the tests of the chart run, where the watch says something of them.
    pub tests: Option<TestPolicy>,
    /// What is done about values that others have changed.
    pub drift: DriftDetection,
    /// In which order objects are applied, and what is waited for.
    pub order: Order,
    /// How soon a stage is looked at again, where its objects wake nobody, as the watch wants it.
    pub gate_poll: Option<Duration>,
    /// How objects of some kinds are judged instead of by kstatus' rules.
    pub health_checks: Vec<HealthCheck>,
    /// What is done as helm-operator does it, on request.
    pub compat: HelmOperatorCompat,
    /// As which ServiceAccount, in the namespace of the release, that is done; `None` for the operator itself.
    pub service_account: Option<String>,
    /// What releases may have and look up, where that is limited.
    pub confinement: Option<Confinement>,
    /// What has to be ready before a revision is begun.
    pub depends_on: Vec<Dependency>,
    /// Where values come from besides the spec.
    pub values_from: ValuesFrom,
    /// What can be done with a release besides.
    pub procedures: Vec<Arc<Procedure>>,
    /// The paths of values that runs of procedures change; `None` where there are no procedures.
    pub kept_paths: Option<Arc<[String]>>,
    /// What is added to the status.
    pub status: StatusFields,
    /// Whether what would be done is only said.
    pub dry_run: bool,
    /// Whether events hide the override values.
    pub suppress_override_values: bool,
}

impl ReconcileSettings {
    /// As whom the release of a resource is rendered, applied and deleted; `None` for the operator itself.
    pub(super) fn account(&self, owner: &Owner) -> Option<ServiceAccount> {
        let name = self.service_account.clone()?;
        Some(ServiceAccount {
            namespace: owner.release_namespace.clone(),
            name,
        })
    }

    /// Whether a resource may refer to an object, as `field` of the entry has it do.
    ///
    /// # Errors
    /// It is out of the bounds of the watch.
    pub(super) fn admit_reference(
        &self,
        field: &str,
        owner: &Owner,
        id: ObjectId,
    ) -> Result<(), ReconcileError> {
        let Some(confinement) = &self.confinement else {
            return Ok(());
        };
        let admitted = confinement.admit(&id, &owner.release_namespace);
        admitted.map_err(|source| ReconcileError::OutOfBounds {
            origin: field.to_owned(),
            id: Box::new(id),
            source,
        })
    }

    /// Whether it is known of an object how it is: its kind says so, or the watch has a check for it.
    pub(crate) fn judges(&self, id: &ObjectId) -> bool {
        let mut checks = self.health_checks.iter();
        checks.any(|check| check.is_for(&id.group, &id.kind)) || has_health(&id.group, &id.kind)
    }

    /// What becomes of claims in a revision that is another than the one in effect.
    pub(super) fn claims_of_new(&self) -> ClaimPolicy {
        if self.expand_claims {
            ClaimPolicy::Expand
        } else {
            ClaimPolicy::Leave
        }
    }

    /// What becomes of claims where a revision is applied again that was in effect: they may have grown since.
    pub(super) fn claims_of_former(&self) -> ClaimPolicy {
        if self.expand_claims {
            ClaimPolicy::ExpandOrKeep
        } else {
            ClaimPolicy::Leave
        }
    }

    /// What a watch says, and Helm's own defaults for the rest.
    pub fn new(watch: &Watch) -> Self {
        Self {
            selector: watch.selector.clone(),
            former_selectors: BTreeSet::new(),
            chart: watch.chart.clone(),
            values: watch.values.clone(),
            post_render: Arc::new(watch.post_render.clone()),
            releases: ReleasePolicy::default(),
            cluster_release_namespace: watch
                .release_namespace
                .clone()
                .unwrap_or_else(|| CLUSTER_RELEASE_NAMESPACE.to_owned()),
            crds: watch.crds,
            conflicts: watch.conflicts,
            expand_claims: watch.expand_claims,
            tests: watch.tests,
            drift: watch.drift.clone(),
            order: watch.order.clone(),
            gate_poll: (!watch.watch_dependents).then_some(GATE_POLL),
            health_checks: watch.health_checks.clone(),
            compat: watch.compat,
            service_account: watch.service_account.clone(),
            confinement: watch.confinement.clone(),
            depends_on: watch.depends_on.clone(),
            values_from: watch.values_from.clone(),
            procedures: watch.procedures.iter().cloned().map(Arc::new).collect(),
            kept_paths: kept_paths(&watch.procedures),
            status: watch.status.clone(),
            dry_run: false,
            suppress_override_values: false,
        }
    }
}

//! What a watches.yaml says of charts, checked.

use std::path::PathBuf;
use std::time::Duration;

use kube_core::{GroupVersionKind, Selector};
use steersman_chart::Chart;

use crate::ansible::AnsibleWatch;
use crate::confinement::Confinement;
use crate::dependency::Dependency;
use crate::drift::DriftDetection;
use crate::error::Notice;
use crate::health::HealthCheck;
use crate::order::Order;
use crate::policy::{ConflictPolicy, CrdPolicy, TestPolicy};
use crate::post_render::PostRender;
use crate::procedure::{Procedure, Work};
use crate::release_view::ReadsOfKinds;
use crate::status_fields::{Scale, StatusFields};
use crate::values::EntryValues;
use crate::values_from::ValuesFrom;

/// One checked entry of watches.yaml.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Watch {
    /// The kind of the custom resources.
    pub gvk: GroupVersionKind,
    /// The chart that is released for each of them.
    pub chart: Chart,
    /// The chart's path as it is written in the file.
    pub chart_path: PathBuf,
    /// Values below and above the spec of every custom resource.
    pub values: EntryValues,
    /// What is changed in what the chart renders.
    pub post_render: PostRender,
    /// Whether a change of a released object leads to a reconcile.
    pub watch_dependents: bool,
    /// Which custom resources are meant: by default all. `Display` gives the form of `kubectl --selector`,
    /// [`kube_core::SelectorExt::matches`] decides locally.
    pub selector: Selector,
    /// The namespace of the releases of cluster-scoped custom resources, where the entry says so.
    pub release_namespace: Option<String>,
    /// What is done about the definitions in the chart's `crds/` folder.
    pub crds: CrdPolicy,
    /// What is done about fields that others manage.
    pub conflicts: ConflictPolicy,
    /// Whether the claims of a `StatefulSet` are expanded where one of its claim templates grows (`expandClaims`).
    pub expand_claims: bool,
    /// When the tests of the chart run, where the entry says something of them.
    pub tests: Option<TestPolicy>,
    /// What is done about values that others have changed.
    pub drift: DriftDetection,
    /// In which order objects are applied, and what is waited for.
    pub order: Order,
    /// How often each custom resource is reconciled without a change, where the entry says so. Never zero: that
    /// leaves it to the flag, as in helm-operator.
    pub reconcile_period: Option<Duration>,
    /// Behaviour of helm-operator that the entry asks for.
    pub compat: HelmOperatorCompat,
    /// How many custom resources are reconciled at a time, where the entry says so.
    pub max_concurrent_reconciles: Option<usize>,
    /// The ServiceAccount as which releases are rendered, applied and deleted, where the entry names one. It is in the
    /// namespace of the release.
    pub service_account: Option<String>,
    /// What releases may have and look up, where that is limited.
    pub confinement: Option<Confinement>,
    /// What has to be ready before a revision is begun.
    pub depends_on: Vec<Dependency>,
    /// How objects of some kinds are judged instead of by kstatus' rules, each kind once, in the order of the file.
    pub health_checks: Vec<HealthCheck>,
    /// Where values come from besides the spec.
    pub values_from: ValuesFrom,
    /// What can be done with releases besides, in the order of the file.
    pub procedures: Vec<Procedure>,
    /// What is added to the status of resources.
    pub status: StatusFields,
    /// What `kubectl scale` changes and sees, where the entry says so.
    pub scale: Option<Scale>,
    /// The line on which the entry starts.
    pub line: u32,
}

/// Behaviour of helm-operator that an entry asks for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct HelmOperatorCompat {
    /// A resource without values keeps those of its last release (`reuseValues`).
    pub reuse_values: bool,
    /// The status of a resource holds the manifest of its release, secrets masked
    /// (`manifestInStatus`).
    pub manifest_in_status: bool,
}

/// The checked watches, at least one of either sort, each for another kind, in the order of the file.
#[derive(Clone, Debug)]
pub struct Watches {
    pub(crate) charts: Vec<Watch>,
    pub(crate) ansible: Vec<AnsibleWatch>,
    pub(crate) notices: Vec<Notice>,
}

impl Watch {
    /// What its expressions look at in objects of releases, by their kinds: that is kept of these.
    pub fn reads(&self) -> ReadsOfKinds {
        let mut reads = ReadsOfKinds::new();
        self.status.note_reads(&mut reads);
        for step in self.procedures.iter().flat_map(Procedure::all_steps) {
            if let Work::Holds(expression) = &step.work {
                expression.note_reads(&mut reads);
            }
        }
        reads
    }

    /// Whether `other` says the same, wherever it stands in its file.
    pub fn says_the_same(&self, other: &Self) -> bool {
        let moved = Self {
            line: self.line,
            ..other.clone()
        };
        *self == moved
    }
}

impl Watches {
    /// The entry with a chart for a kind.
    pub fn get(&self, gvk: &GroupVersionKind) -> Option<&Watch> {
        self.charts.iter().find(|watch| watch.gvk == *gvk)
    }

    /// Whether `other` has the same entries, in whatever order.
    pub fn say_the_same(&self, other: &Self) -> bool {
        let known = |watch: &Watch| {
            other
                .get(&watch.gvk)
                .is_some_and(|other| watch.says_the_same(other))
        };
        let known_ansible = |watch: &AnsibleWatch| {
            let mut others = other.ansible.iter();
            others.any(|other| watch.says_the_same(other))
        };
        self.charts.len() == other.charts.len()
            && self.charts.iter().all(known)
            && self.ansible.len() == other.ansible.len()
            && self.ansible.iter().all(known_ansible)
    }

    /// The entries with a role or a playbook.
    pub fn ansible(&self) -> &[AnsibleWatch] {
        &self.ansible
    }

    /// The entries with a chart.
    pub fn iter(&self) -> std::slice::Iter<'_, Watch> {
        self.charts.iter()
    }

    /// What the file's author should know although the operator can start: unknown fields, unset variables.
    pub fn notices(&self) -> &[Notice] {
        &self.notices
    }
}

impl IntoIterator for Watches {
    type Item = Watch;
    type IntoIter = std::vec::IntoIter<Watch>;

    fn into_iter(self) -> Self::IntoIter {
        self.charts.into_iter()
    }
}

impl<'a> IntoIterator for &'a Watches {
    type Item = &'a Watch;
    type IntoIter = std::slice::Iter<'a, Watch>;

    fn into_iter(self) -> Self::IntoIter {
        self.iter()
    }
}

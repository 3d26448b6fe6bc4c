//! Entries whose kind is made by a role or a playbook.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::time::Duration;

use kube_core::{GroupVersionKind, Selector};
use serde_json::{Map, Value};
use steersman_model::Digest;

/// One checked entry of watches.yaml that names a role or a playbook.
#[derive(Clone, Debug, PartialEq)]
#[allow(
    clippy::struct_excessive_bools,
    reason = "each is a field of the file, and none follows from another"
)]
pub struct AnsibleWatch {
    /// The kind of the custom resources. It may be one of the API server's own.
    pub gvk: GroupVersionKind,
    /// What runs for each of them.
    pub content: AnsibleContent,
    /// The files of that, and of what the finalizer runs, as they were when the entry was read.
    pub sources: AnsibleSources,
    /// Extra variables of each run.
    pub vars: Map<String, Value>,
    /// What runs when a resource is deleted, before it goes.
    pub finalizer: Option<AnsibleFinalizer>,
    /// Which custom resources are meant: by default all.
    pub selector: Selector,
    /// How often each custom resource is reconciled without a change, where the entry says so. Never zero.
    pub reconcile_period: Option<Duration>,
    /// How many custom resources are reconciled at a time, where the entry or the environment says so.
    pub max_concurrent_reconciles: Option<usize>,
    /// How much Ansible says, from 0 to 7, where the environment says so for this kind.
    pub verbosity: Option<u8>,
    /// How many folders of artifacts are kept for each custom resource.
    pub max_runner_artifacts: u32,
    /// Whether the operator writes the status.
    pub manage_status: bool,
    /// Whether a change of an object that a run has made leads to a run.
    pub watch_dependents: bool,
    /// Whether that holds for objects that are in no namespace.
    pub watch_cluster_scoped: bool,
    /// Whether keys of the spec are written in snake case as variables.
    pub snake_case_parameters: bool,
    /// Whether a change of the annotations leads to a run.
    pub watch_annotations: bool,
    /// Whether texts of the spec are marked as unsafe, so that Ansible evaluates no template in them.
    pub mark_unsafe: bool,
    /// Kinds that are not watched, whatever a run makes of them.
    pub blacklist: Vec<GroupVersionKind>,
    /// Whether objects that are not the resource's in the eyes of the garbage collector go with it, too.
    pub delete_dependents: bool,
    /// The ServiceAccount as which runs write, where the entry names one. It is in the namespace of the resource.
    pub service_account: Option<String>,
    /// The line on which the entry starts.
    pub line: u32,
}

/// What Ansible runs. Paths are absolute.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum AnsibleContent {
    /// The folder of a role.
    Role(PathBuf),
    /// The file of a playbook.
    Playbook(PathBuf),
}

/// The files that run for an entry.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AnsibleSources {
    /// Of all of them; it changes when one does.
    pub digest: Digest,
    /// The roles and playbooks, and other files that these mention.
    pub places: BTreeSet<PathBuf>,
}

/// What runs when a resource is deleted.
#[derive(Clone, Debug, PartialEq)]
pub struct AnsibleFinalizer {
    /// The finalizer that the resource carries, such as `cache.example.com/finalizer`.
    pub name: String,
    /// What runs; `None` is what runs for each change, too.
    pub content: Option<AnsibleContent>,
    /// Extra variables of this run, on top of those of the entry.
    pub vars: Map<String, Value>,
}

impl AnsibleContent {
    /// A folder for a role, a file for a playbook.
    pub fn path(&self) -> &Path {
        let (Self::Role(path) | Self::Playbook(path)) = self;
        path
    }
}

impl AnsibleWatch {
    /// Whether `other` says the same, wherever it stands in its file.
    pub fn says_the_same(&self, other: &Self) -> bool {
        let moved = Self {
            line: self.line,
            ..other.clone()
        };
        *self == moved
    }
}

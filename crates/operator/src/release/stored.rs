//! A revision as it is stored: Helm's record, and what we know besides.

use serde::{Deserialize, Serialize};
use steersman_cluster::lookup::Answer;
use steersman_model::{ChangeSet, Digest, FIELD_MANAGER, Inputs, ObjectId};

use super::parts::Parts;
use super::record::{HookRecord, ReleaseRecord};

/// What Helm and helm-operator call themselves if nobody renames them.
const FORMER_MANAGERS: [&str; 2] = ["helm", "helm-operator"];

/// What we remember of a revision besides Helm's record.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Snapshot {
    /// What it was rendered from; absent in revisions that others wrote.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub inputs: Option<Inputs>,
    /// Its objects, each with the digest of our fields right after it was applied.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub objects: Vec<SnapshotObject>,
    /// Objects that only revisions name which are no longer stored, and that this one may have to
    /// delete: the inventory outlives the history.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub abandoned: Vec<ObjectId>,
    /// The same of hooks; they are deleted with the release.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub hook_objects: Vec<ObjectId>,
    /// What was looked up to render it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub lookups: Vec<Answer>,
    /// Whether no revision had been deployed before it, so that it was rendered as an installation; absent where that was
    /// not noted.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub first: Option<bool>,
}

/// What is remembered of an object of the revision, to find it again and to see drift.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct SnapshotObject {
    /// Flattened into the JSON: `group`, `kind`, `namespace` and `name`.
    #[serde(flatten)]
    pub id: ObjectId,
    /// The version of its API.
    pub version: String,
    /// The digest of our fields in it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub digest: Option<Digest>,
}

impl Snapshot {
    /// What an application has done, from inputs that are yet to be named.
    pub fn new(changes: &ChangeSet) -> Self {
        let objects = changes.iter().map(|(id, applied)| SnapshotObject {
            id: id.clone(),
            version: applied.version.clone(),
            digest: applied.digest,
        });
        Self {
            objects: objects.collect(),
            ..Self::default()
        }
    }
}

/// A revision as it is stored.
#[derive(Clone, Debug, PartialEq)]
pub struct Stored {
    /// As Helm reads it; a manifest that lies in parts is whole here.
    pub record: ReleaseRecord,
    /// What we know besides.
    pub snapshot: Snapshot,
    /// The UID of its Secret; `None` before it is written.
    pub uid: Option<String>,
    /// Whether its Secret names the resource as its owner, as those that we write do: the garbage collector takes that off
    /// what a deletion with `--cascade=orphan` leaves.
    pub has_owner: bool,
    /// Who has written its Secret: the names of its field managers. Helm and operators made with it
    /// go by their program's name.
    pub managers: Vec<String>,
    /// The parts in which what is too large for its Secret is kept, if there are any.
    pub parts: Option<Parts>,
}

impl Stored {
    /// Whether Helm or helm-operator wrote it.
    pub fn is_of_others(&self) -> bool {
        self.snapshot.inputs.is_none()
    }

    /// Its hooks; a record that says nothing of them has none.
    pub fn hooks(&self) -> &[HookRecord] {
        self.record.hooks.as_deref().unwrap_or_default()
    }

    /// The field managers whose objects the revision consists of, if others wrote it. Helm's own
    /// Secrets do not always carry the name under which it writes objects, so that is among them.
    pub fn former_managers(&self) -> Vec<String> {
        if !self.is_of_others() {
            return Vec::new();
        }
        let others = self.managers.iter().filter(|name| *name != FIELD_MANAGER);
        let usual = FORMER_MANAGERS.iter().map(|&name| name.to_owned());
        others.cloned().chain(usual).collect()
    }
}

//! A revision as it is stored: Helm's record, and what we know besides.

use std::collections::BTreeSet;

use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use steersman_cluster::lookup::Answer;
use steersman_model::{
    Applied, Change, ChangeSet, Digest, FIELD_MANAGER, Inputs, ObjectId, OwnedFields, ReleaseStatus,
    Revision, objects_of_manifest,
};

use steersman_watches::procedure::Overlay;

use super::parts::Parts;
use super::record::{HookRecord, ReleaseRecord};
use super::stage::StageRecord;

/// The event of `helm test`.
const TEST_EVENT: &str = "test";

/// What Helm and helm-operator call themselves if nobody renames them.
const FORMER_MANAGERS: [&str; 2] = ["helm", "helm-operator"];

/// What we remember of a revision besides Helm's record.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Snapshot {
    /// What it was rendered from; absent in revisions that are not signed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub inputs: Option<Inputs>,
    /// Its objects, each with the digest of our fields right after it was applied; those that are applied so far while a
    /// stage is waited for.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub objects: Vec<SnapshotObject>,
    /// The stages in which it is brought into effect; empty where it is at once.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub stages: Vec<StageRecord>,
    /// Objects that only revisions name which are no longer stored, and that this one may have to
    /// delete: the inventory outlives the history.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub abandoned: Vec<ObjectId>,
    /// The same of hooks; they are deleted with the release.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub hook_objects: Vec<ObjectId>,
    /// The hooks that have run while it was brought into effect, or deleted.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub finished_hooks: Vec<FinishedHook>,
    /// How often it was undone after it had failed: its hooks run again then.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub undone: u32,
    /// Why it is being undone, without secrets: who finds this goes on with that.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub undoing: Option<String>,
    /// When it was written first; absent where that was not noted.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub written: Option<Timestamp>,
    /// Whether it is the first of a history that was lost: the release's objects were there before it.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub adopted: bool,
    /// The last request for tests that was seen in the resource when the tests of this revision or an earlier one began.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub handled_test: Option<String>,
    /// What has become of its tests; absent where none were begun.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tests: Option<TestRecord>,
    /// What was looked up to render it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub lookups: Vec<Answer>,
    /// Other objects that its values come from: they are no part of what Helm has for values.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub values_from: Vec<StoredSource>,
    /// Values that steps of procedures have put over those of the resource; they are in Helm's record as well.
    #[serde(default, skip_serializing_if = "Overlay::is_empty")]
    pub overlay: Overlay,
    /// The names of the runs that it has waited for: they let no other one through once it is deployed.
    #[serde(default, skip_serializing_if = "BTreeSet::is_empty")]
    pub behind: BTreeSet<String>,
    /// What procedures keep up in the revision that is in effect after it, or instead of it: Helm takes the word of that one away
    /// when it puts one of its own in the place. Absent where no procedure is declared.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub next: Option<KeptUp>,
    /// Where the entry has put values over those of the resource: the maps that lead there, with `true` in the places. Absent
    /// where that was not noted.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub overridden: Option<Map<String, Value>>,
    /// Whether no revision had been deployed before it, so that it was rendered as an installation; absent where that was
    /// not noted.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub first: Option<bool>,
    /// What Helm's record said of the revision when the operator wrote both; absent where that was not noted. It is written
    /// with the record, and not before (`Stored::sealed`).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub status: Option<ReleaseStatus>,
}

/// What procedures keep up in a revision.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct KeptUp {
    /// The one that keeps this up.
    pub revision: Revision,
    /// Values that steps have put over those of the resource.
    #[serde(default, skip_serializing_if = "Overlay::is_empty")]
    pub overlay: Overlay,
    /// The names of the runs that it has waited for.
    #[serde(default, skip_serializing_if = "BTreeSet::is_empty")]
    pub behind: BTreeSet<String>,
    /// The paths of values that runs change, with dots between, and what the revision has there, if anything.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub changed: Vec<(String, Option<Value>)>,
    /// What it was rendered from besides its own values; absent where that was not noted.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rendered_from: Option<Digest>,
    /// The operator's word for it: it may lie beside a revision of others.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mac: Option<Digest>,
}

/// A key of a Secret or `ConfigMap` that a revision has values from.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct StoredSource {
    /// `Secret` or `ConfigMap`.
    pub kind: String,
    /// Of the object, which is in the namespace of the release.
    pub name: String,
    /// In its data.
    pub values_key: String,
    /// Where the value went; absent for a file of values.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub target_path: Option<String>,
    /// HMAC-SHA256 of what was there with the key that signs: it tells whether that is the same, and nothing else of it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mac: Option<Digest>,
}

impl StoredSource {
    /// Whether it is a key of a Secret.
    pub fn is_secret(&self) -> bool {
        self.kind == "Secret"
    }
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde passes a reference")]
fn is_zero(number: &u32) -> bool {
    *number == 0
}

/// A run of the tests of a revision.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct TestRecord {
    /// Which of those of its revision it is, from 1: what one has left is not taken for another's.
    pub round: u32,
    /// When it began.
    pub begun: Timestamp,
    /// Whether it is what a request has asked for: where another revision comes before its end, that one is tested instead.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub requested: bool,
    /// What has come of it; absent while it runs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub outcome: Option<TestOutcome>,
}

/// What has come of the tests of a revision.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum TestOutcome {
    /// All have succeeded; so many there were.
    Succeeded(usize),
    /// One has failed: which, and why, in a few words without secrets.
    Failed(String),
}

/// A Job or Pod of a hook that has run to its end.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct FinishedHook {
    /// For which it ran, such as `pre-install`.
    pub event: String,
    /// Flattened into the JSON as well.
    #[serde(flatten)]
    pub id: ObjectId,
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
    /// When an apply of ours changed it last, in seconds since 1970; absent where that was not noted.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub changed_at: Option<i64>,
    /// Which object it is, whatever it is called; noted while a stage is waited for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub uid: Option<String>,
    /// Whether it is a Job that has done its work since, and goes by itself: that it is gone is no drift.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub completed: bool,
}

impl SnapshotObject {
    /// An object as an apply has left it.
    pub(super) fn new(id: &ObjectId, applied: &Applied) -> Self {
        Self {
            id: id.clone(),
            version: applied.version.clone(),
            digest: applied.fields.map(|fields| fields.digest),
            changed_at: applied.fields.and_then(|fields| fields.changed_at),
            uid: None,
            completed: false,
        }
    }

    /// Our fields in it.
    pub fn fields(&self) -> Option<OwnedFields> {
        let changed_at = self.changed_at;
        self.digest.map(|digest| OwnedFields { digest, changed_at })
    }

    /// Another apply has done this. Gives whether anything is to be noted of that.
    pub(crate) fn note(&mut self, applied: &Applied) -> bool {
        let is_new = applied.change != Change::Configured;
        let differs = applied.fields != self.fields() || (is_new && self.completed);
        self.digest = applied.fields.map(|fields| fields.digest);
        self.changed_at = applied.fields.and_then(|fields| fields.changed_at);
        self.completed &= !is_new;
        differs
    }
}

impl Snapshot {
    /// What is kept of a snapshot that nobody vouches for: the names of what may be left of the release. They lead to objects;
    /// whether these go is decided by the marks that they carry. What procedures keep up has a word of its own.
    pub(super) fn names_alone(self) -> Self {
        Self {
            abandoned: self.abandoned,
            hook_objects: self.hook_objects,
            next: self.next,
            ..Self::default()
        }
    }

    /// What became of the revision that is signed with this snapshot: whoever may write its Secret may write something else
    /// into Helm's record.
    ///
    /// Where the status was not noted, the objects tell: they are noted when a revision is deployed.
    pub(super) fn status_of(&self, record: &ReleaseRecord) -> ReleaseStatus {
        use ReleaseStatus::{Deployed, Failed, Superseded, Uninstalled, Uninstalling};
        let recorded = record.info.status;
        let is_deployed = !self.objects.is_empty();
        match (self.status, recorded) {
            (Some(noted), _) => noted,
            (None, Deployed | Superseded) if !is_deployed && names_objects(record) => Failed,
            (None, Deployed | Superseded | Uninstalled | Uninstalling) => recorded,
            (None, _) if is_deployed => Deployed,
            (None, _) => recorded,
        }
    }

    /// The same of a revision that is being undone from now on, for this reason, or is not any longer. Hooks that have run run
    /// again where their moment comes, and what they have left is not taken for theirs. What was applied of it is not in
    /// effect any longer, or is to be applied again.
    pub(crate) fn with_undoing(self, why: Option<String>) -> Self {
        Self {
            undoing: why,
            undone: self.undone.saturating_add(1),
            finished_hooks: Vec::new(),
            objects: Vec::new(),
            stages: self.stages.into_iter().map(StageRecord::into_unbegun).collect(),
            ..self
        }
    }

    /// The same as another run of its tests begins, for this request if there is one. What earlier runs have come to is
    /// forgotten.
    pub(crate) fn with_tests(mut self, request: Option<&str>, begun: Timestamp) -> Self {
        let round = self.tests.as_ref().map_or(0, |tests| tests.round);
        let requested = request.is_some() && request != self.handled_test.as_deref();
        self.finished_hooks.retain(|hook| hook.event != TEST_EVENT);
        self.handled_test = request.map(str::to_owned).or(self.handled_test);
        self.tests = Some(TestRecord {
            round: round.saturating_add(1),
            begun,
            requested,
            outcome: None,
        });
        self
    }

    /// The last request for tests that needs no other run: not one whose tests have begun and not ended.
    pub(crate) fn settled_test(&self) -> Option<&str> {
        let is_open = |tests: &TestRecord| tests.requested && tests.outcome.is_none();
        let is_settled = !self.tests.as_ref().is_some_and(is_open);
        self.handled_test.as_deref().filter(|_| is_settled)
    }

    /// The Jobs among its objects that have done their work, and go by themselves.
    pub fn completed(&self) -> impl Iterator<Item = &ObjectId> {
        let completed = self.objects.iter().filter(|object| object.completed);
        completed.map(|object| &object.id)
    }

    /// These of its objects are Jobs that have done their work, and go by themselves.
    pub(crate) fn note_completed(&mut self, jobs: &BTreeSet<ObjectId>) {
        for object in &mut self.objects {
            object.completed |= jobs.contains(&object.id);
        }
    }

    /// What an application has done, from inputs that are yet to be named.
    pub fn new(changes: &ChangeSet) -> Self {
        let objects = changes
            .iter()
            .map(|(id, applied)| SnapshotObject::new(id, applied));
        Self {
            objects: objects.collect(),
            ..Self::default()
        }
    }
}

fn names_objects(record: &ReleaseRecord) -> bool {
    objects_of_manifest(&record.manifest).is_ok_and(|objects| !objects.is_empty())
}

/// Who vouches for a revision.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// The operator has written it, as it is.
    Signed,
    /// Helm has written it, or an operator from before there were signatures.
    Unsigned,
    /// Somebody has changed or copied it since it was signed.
    Altered,
    /// It was signed with a key that is not here, so nothing can be said.
    UnknownKey,
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
    /// The version of its Secret as it was read; `None` before it is written.
    pub secret_version: Option<String>,
    /// Who has written its Secret: the names of its field managers. Helm and operators made with it
    /// go by their program's name.
    pub managers: Vec<String>,
    /// The parts in which what is too large for its Secret is kept, if there are any.
    pub parts: Option<Parts>,
    /// Who vouches for it.
    pub verdict: Verdict,
    /// What is stored as its snapshot where nobody vouches for that.
    pub claim: Option<Snapshot>,
    /// Whom its Secret names as its owner.
    pub owner: RecordOwner,
}

/// Whom the Secret of a revision names as its owner. Anybody who may write it can say so.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RecordOwner {
    /// Nobody: Helm's command line writes none.
    Nobody,
    /// A resource of the same kind and name that is gone, as after a restore.
    Former,
    /// The resource itself, as those do that we write: the garbage collector takes that off what a deletion with
    /// `--cascade=orphan` leaves.
    Resource,
}

impl Stored {
    /// Whether it is in effect, or was before another took its place.
    pub(crate) fn is_in_effect(&self) -> bool {
        let status = self.record.info.status;
        matches!(status, ReleaseStatus::Deployed | ReleaseStatus::Superseded)
    }

    /// Whether the operator has written it, as it is. Of any other one nothing is applied, run or restored, and its
    /// snapshot holds no more than names.
    pub fn is_signed(&self) -> bool {
        self.verdict == Verdict::Signed
    }

    /// Whether its tests have begun, and nothing is written down of their end.
    pub(crate) fn is_being_tested(&self) -> bool {
        let tests = self.snapshot.tests.as_ref();
        tests.is_some_and(|tests| tests.outcome.is_none())
    }

    /// `snapshot` as it is written beside the record: with the status of that, if the operator vouches for both.
    pub(super) fn sealed(&self, snapshot: &Snapshot) -> Snapshot {
        Snapshot {
            status: self.is_signed().then_some(self.record.info.status),
            ..snapshot.clone()
        }
    }

    /// Whether Helm or helm-operator wrote it, or nobody knows who.
    pub fn is_of_others(&self) -> bool {
        !self.is_signed()
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

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    /// What is believed of a revision that is signed without its status, by the record's word.
    fn believed(recorded: &str, is_deployed: bool, manifest: &str) -> &'static str {
        let record = json!({"info": {"status": recorded}, "version": 1, "manifest": manifest});
        let object = json!({"group": "", "kind": "Service", "name": "web", "version": "v1"});
        let objects = if is_deployed { vec![object] } else { Vec::new() };
        let snapshot: Snapshot = serde_json::from_value(json!({ "objects": objects })).unwrap();
        let record = serde_json::from_value(record).unwrap();
        let believed = snapshot.status_of(&record);
        let noted = Snapshot {
            status: Some(ReleaseStatus::Superseded),
            ..snapshot
        };
        assert_eq!(noted.status_of(&record), ReleaseStatus::Superseded, "{recorded}");
        believed.as_str()
    }

    #[test]
    fn where_no_status_was_signed_the_objects_tell() {
        let manifest = "---\napiVersion: v1\nkind: Service\nmetadata: {name: web}\n";
        for (recorded, after_it_was_deployed, before) in [
            ("deployed", "deployed", "failed"),
            ("superseded", "superseded", "failed"),
            ("failed", "deployed", "failed"),
            ("pending-install", "deployed", "pending-install"),
            ("pending-upgrade", "deployed", "pending-upgrade"),
            ("pending-rollback", "deployed", "pending-rollback"),
            ("uninstalling", "uninstalling", "uninstalling"),
            ("uninstalled", "uninstalled", "uninstalled"),
            ("later", "deployed", "unknown"),
        ] {
            assert_eq!(
                believed(recorded, true, manifest),
                after_it_was_deployed,
                "{recorded}"
            );
            assert_eq!(believed(recorded, false, manifest), before, "{recorded}");
        }
        assert_eq!(
            believed("deployed", false, ""),
            "deployed",
            "a release without objects"
        );
    }
}

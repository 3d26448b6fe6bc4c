//! What the proxy tells of runs that are under way: what they leave, and which secrets pass.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use steersman_model::ObjectId;
use steersman_proxy::{Observer, ResourcePath, RunId, Seen, SeenObject, Standing, Verb};

use super::record::LeftObject;
use crate::status::{LearningRedactor, Redactor};

/// So many objects of a run are noted.
const MOST_OBJECTS: usize = 10_000;

/// The notes of all runs. Clones share them.
#[derive(Clone, Default)]
pub(super) struct Notes(Arc<Mutex<BTreeMap<RunId, RunNotes>>>);

/// Those of a run, until this is dropped.
pub(super) struct NotedRun {
    notes: Notes,
    run: RunId,
}

struct RunNotes {
    met: Met,
    /// By group and plural, as far as answers have said them: that something is not there does not say its kind.
    kinds: BTreeMap<(String, String), String>,
    /// Knows the secrets of the resource.
    redactor: Arc<LearningRedactor>,
}

/// What a run has met.
#[derive(Debug, Default)]
pub(super) struct Met {
    /// What is the resource's, as the API server has answered it last.
    pub(super) left: BTreeMap<ObjectId, MetObject>,
    /// What is not there, or not the resource's.
    pub(super) absent: BTreeSet<ObjectId>,
    /// Whether it may have left more: a write had no answer that says what it was, or there was no room.
    pub(super) is_partial: bool,
}

impl Met {
    /// Whether an answer has told of this object.
    pub(super) fn knows(&self, id: &ObjectId) -> bool {
        self.left.contains_key(id) || self.absent.contains(id)
    }

    /// It is not there, or not the resource's.
    fn add_absent(&mut self, id: ObjectId) {
        self.left.remove(&id);
        if self.absent.len() < MOST_OBJECTS {
            self.absent.insert(id);
        }
    }
}

/// An object as an answer had it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct MetObject {
    pub(super) left: LeftObject,
    /// Its `resourceVersion`.
    pub(super) version: Option<u64>,
}

impl Notes {
    /// A run begins, of a resource whose secrets this masks.
    pub(super) fn begin(&self, run: RunId, redactor: Arc<LearningRedactor>) -> NotedRun {
        let notes = RunNotes {
            met: Met::default(),
            kinds: BTreeMap::new(),
            redactor,
        };
        self.lock().insert(run, notes);
        NotedRun {
            notes: self.clone(),
            run,
        }
    }

    fn lock(&self) -> MutexGuard<'_, BTreeMap<RunId, RunNotes>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl NotedRun {
    /// What was noted of it. Nothing more is noted.
    pub(super) fn take(self) -> Met {
        let notes = self.notes.lock().remove(&self.run);
        notes.map(|notes| notes.met).unwrap_or_default()
    }
}

impl Drop for NotedRun {
    fn drop(&mut self) {
        self.notes.lock().remove(&self.run);
    }
}

impl Observer for Notes {
    fn answered(&self, seen: &Seen<'_>) {
        let mut all = self.lock();
        if let Some(notes) = all.get_mut(&seen.run).filter(|_| !seen.is_dry_run) {
            notes.answered(seen);
        }
    }

    fn unanswered(&self, run: RunId) {
        if let Some(notes) = self.lock().get_mut(&run) {
            notes.met.is_partial = true;
        }
    }

    fn secret(&self, run: RunId, value: &[u8]) {
        let redactor = self.lock().get(&run).map(|notes| Arc::clone(&notes.redactor));
        if let (Some(redactor), Ok(value)) = (redactor, std::str::from_utf8(value)) {
            let mut learnt = Redactor::default();
            learnt.add_all(&value.into());
            redactor.learn(learnt);
        }
    }
}

impl RunNotes {
    fn answered(&mut self, seen: &Seen<'_>) {
        let Some(target) = seen.resource.filter(|target| target.subresource.is_none()) else {
            return;
        };
        let is_deleted = *seen.verb == Verb::Delete && seen.status < 300;
        match seen.object.filter(|_| seen.status < 300) {
            Some(object) => self.note(target, object, is_deleted),
            None if is_deleted || seen.status == 404 => self.note_absent(target),
            None => {}
        }
    }

    fn note(&mut self, target: &ResourcePath, object: &SeenObject, is_deleted: bool) {
        let metadata = &object.metadata;
        let (Some(name), Some(uid)) = (metadata.name.clone(), metadata.uid.clone()) else {
            return;
        };
        let plural = (target.group.clone(), target.resource.clone());
        self.kinds.insert(plural, object.kind.clone());
        let id = ObjectId {
            group: target.group.clone(),
            kind: object.kind.clone(),
            namespace: metadata.namespace.clone(),
            name,
        };
        let is_going = is_deleted || metadata.deletion_timestamp.is_some();
        // What lacks the label is not watched; it gets that after the run.
        if object.standing != (Standing::Owned { is_labelled: true }) || is_going {
            self.met.add_absent(id);
            return;
        }
        self.met.absent.remove(&id);
        if self.met.left.len() < MOST_OBJECTS || self.met.left.contains_key(&id) {
            let left = LeftObject {
                id: id.clone(),
                uid,
                fields: object.fields,
            };
            let version = metadata.resource_version.as_ref();
            let version = version.and_then(|version| version.parse().ok());
            self.met.left.insert(id, MetObject { left, version });
        } else {
            self.met.is_partial = true;
        }
    }

    fn note_absent(&mut self, target: &ResourcePath) {
        let plural = (target.group.clone(), target.resource.clone());
        let (Some(kind), Some(name)) = (self.kinds.get(&plural), &target.name) else {
            return;
        };
        let id = ObjectId {
            group: target.group.clone(),
            kind: kind.clone(),
            namespace: target.namespace.clone(),
            name: name.clone(),
        };
        self.met.add_absent(id);
    }
}

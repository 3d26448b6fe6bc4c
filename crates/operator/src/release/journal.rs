//! How far a revision has come, written down as soon as it has: which hooks have run, which stages are applied.

use std::collections::BTreeSet;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use jiff::Timestamp;
use steersman_model::{Applied, Change, ChangeSet, ObjectId, Revision};

use super::history::{History, HistoryError};
use super::hook_mark::hook_mark;
use super::signature::SigningKeys;
use super::stage::StageRecord;
use super::stored::{FinishedHook, Snapshot, SnapshotObject, Stored};

/// What a revision says of how far it has come. A Job that has run may be gone, by its policy or by its time to live, so that
/// only the revision tells; and what is applied while a stage is waited for is not applied again.
#[derive(Debug)]
pub struct Journal<'a> {
    history: &'a History,
    stored: &'a Stored,
    snapshot: Mutex<Snapshot>,
}

impl<'a> Journal<'a> {
    /// What `stored` says, and will say.
    pub fn new(history: &'a History, stored: &'a Stored) -> Self {
        let snapshot = Mutex::new(stored.snapshot.clone());
        Self {
            history,
            stored,
            snapshot,
        }
    }

    /// What the object of a hook carries that was started for this event: the revision, the event, which one of the hooks it
    /// is that make this object for the event, how often the revision was undone, and when the revision was written, as its
    /// number is used again where somebody has deleted it. `turn` is 0 for the first of these hooks.
    pub fn mark(&self, event: &str, turn: usize) -> String {
        let (revision, snapshot) = (self.stored.record.version, &self.stored.snapshot);
        let undone = snapshot.undone;
        let tests = snapshot.tests.as_ref().filter(|_| event == "test");
        let event = tests.map_or_else(|| event.to_owned(), |tests| format!("{event}~{}", tests.round));
        hook_mark(revision, (&event, turn), undone, snapshot.written)
    }

    /// The UID of the custom resource.
    pub(crate) fn owner_uid(&self) -> &str {
        self.history.owner_uid()
    }

    /// The keys that vouch for it.
    pub(crate) fn keys(&self) -> Arc<SigningKeys> {
        self.history.keys()
    }

    /// Its number.
    pub fn revision(&self) -> Revision {
        self.stored.record.version
    }

    /// When the revision was written.
    pub fn written(&self) -> Option<Timestamp> {
        self.stored.snapshot.written
    }

    /// How many of the hooks that make this object for the event have run, as the revision says.
    pub fn times_run(&self, event: &str, id: &ObjectId) -> usize {
        let is_it = |hook: &&FinishedHook| hook.event == event && hook.id == *id;
        self.lock().finished_hooks.iter().filter(is_it).count()
    }

    /// Whether any hook has run for the event, as the revision says.
    pub fn has_begun(&self, event: &str) -> bool {
        self.lock().finished_hooks.iter().any(|hook| hook.event == event)
    }

    /// Writes down that the hook has run for this event.
    ///
    /// # Errors
    /// The server refuses it; then it may run again.
    pub async fn note(&self, event: &str, id: &ObjectId) -> Result<(), HistoryError> {
        let hook = FinishedHook {
            event: event.to_owned(),
            id: id.clone(),
        };
        self.lock().finished_hooks.push(hook);
        self.write().await
    }

    /// The stages of the revision.
    pub fn stages(&self) -> Vec<StageRecord> {
        self.lock().stages.clone()
    }

    /// The stages are these from now on, in this process: what is written next says so.
    pub fn set_stages(&self, stages: &[StageRecord]) {
        self.lock().stages = stages.to_vec();
    }

    /// Writes down how far the stages have come, and what was applied of the revision just now.
    ///
    /// # Errors
    /// The server refuses it; then that is applied again.
    pub async fn note_stages(&self, stages: &[StageRecord], applied: &ChangeSet) -> Result<(), HistoryError> {
        {
            let mut snapshot = self.lock();
            snapshot.stages = stages.to_vec();
            snapshot
                .objects
                .retain(|object| !applied.contains_key(&object.id));
            let noted = applied.iter().map(|(id, applied)| SnapshotObject {
                uid: Some(applied.uid.clone()),
                ..SnapshotObject::new(id, applied)
            });
            snapshot.objects.extend(noted);
        }
        self.write().await
    }

    /// These Jobs of the revision have done their work, and go by themselves: what is written next says so.
    pub fn note_completed(&self, jobs: &BTreeSet<ObjectId>) {
        self.lock().note_completed(jobs);
    }

    /// What was applied of the revision before this process went on with it.
    pub fn applied(&self) -> ChangeSet {
        let snapshot = self.lock();
        let applied = snapshot.objects.iter().map(|object| {
            let applied = Applied {
                uid: object.uid.clone().unwrap_or_default(),
                version: object.version.clone(),
                fields: object.fields(),
                change: Change::Configured,
                kept: false,
                mended: Vec::new(),
            };
            (object.id.clone(), applied)
        });
        applied.collect()
    }

    /// All hooks that have run.
    pub fn into_finished(self) -> Vec<FinishedHook> {
        self.into_snapshot().finished_hooks
    }

    /// All that it says.
    pub fn into_snapshot(self) -> Snapshot {
        self.snapshot.into_inner().unwrap_or_else(PoisonError::into_inner)
    }

    async fn write(&self) -> Result<(), HistoryError> {
        let snapshot = self.lock().clone();
        self.history.write_snapshot(self.stored, &snapshot).await
    }

    fn lock(&self) -> MutexGuard<'_, Snapshot> {
        self.snapshot.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

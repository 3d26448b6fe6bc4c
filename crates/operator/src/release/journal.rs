//! Which hooks of a revision have run, written down as soon as they have.

use std::sync::{Mutex, PoisonError};

use jiff::Timestamp;
use steersman_model::ObjectId;

use super::history::{History, HistoryError};
use super::hook_mark::hook_mark;
use super::stored::{FinishedHook, Snapshot, Stored};

/// The hooks of a revision that have run to their end. A Job that has run may be gone, by its policy or by its time to live, so
/// that only the revision tells.
#[derive(Debug)]
pub struct HookJournal<'a> {
    history: &'a History,
    stored: &'a Stored,
    finished: Mutex<Vec<FinishedHook>>,
}

impl<'a> HookJournal<'a> {
    /// What `stored` says of its hooks, and will say.
    pub fn new(history: &'a History, stored: &'a Stored) -> Self {
        let finished = Mutex::new(stored.snapshot.finished_hooks.clone());
        Self {
            history,
            stored,
            finished,
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

    /// When the revision was written.
    pub fn written(&self) -> Option<Timestamp> {
        self.stored.snapshot.written
    }

    /// How many of the hooks that make this object for the event have run, as the revision says.
    pub fn times_run(&self, event: &str, id: &ObjectId) -> usize {
        let finished = self.finished.lock().unwrap_or_else(PoisonError::into_inner);
        let is_it = |hook: &&FinishedHook| hook.event == event && hook.id == *id;
        finished.iter().filter(is_it).count()
    }

    /// Whether any hook has run for the event, as the revision says.
    pub fn has_begun(&self, event: &str) -> bool {
        let finished = self.finished.lock().unwrap_or_else(PoisonError::into_inner);
        finished.iter().any(|hook| hook.event == event)
    }

    /// Writes down that the hook has run for this event.
    ///
    /// # Errors
    /// The server refuses it; then it may run again.
    pub async fn note(&self, event: &str, id: &ObjectId) -> Result<(), HistoryError> {
        let finished = {
            let mut finished = self.finished.lock().unwrap_or_else(PoisonError::into_inner);
            finished.push(FinishedHook {
                event: event.to_owned(),
                id: id.clone(),
            });
            finished.clone()
        };
        let snapshot = Snapshot {
            finished_hooks: finished,
            ..self.stored.snapshot.clone()
        };
        self.history.write_snapshot(self.stored, &snapshot).await
    }

    /// All that have run.
    pub fn into_finished(self) -> Vec<FinishedHook> {
        self.finished.into_inner().unwrap_or_else(PoisonError::into_inner)
    }
}

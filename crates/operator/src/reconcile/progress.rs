//! What one reconcile has done and learnt so far.

use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use kube::api::DynamicObject;
use steersman_cluster::lookup::Answer;
use steersman_model::Revision;

use crate::apply::HookEnds;
use crate::release::StageRecord;
use crate::status::{Redactor, ReleaseReport};

/// Notes of one reconcile, for its report. Actions add to them; nothing is taken back.
#[derive(Debug, Default)]
pub(super) struct ReconcileProgress {
    notes: Mutex<Notes>,
    hook_ends: HookEnds,
}

#[derive(Debug, Default)]
struct Notes {
    lookups: Option<Vec<Answer>>,
    looked_up: Option<Redactor>,
    corrected: usize,
    ended_stages: Vec<(String, Duration)>,
    read_anew: bool,
    remedy: Option<Remedy>,
    failed_in: Option<(Revision, Vec<StageRecord>)>,
    said: Option<ReleaseReport>,
    goes_on: bool,
    written: Option<DynamicObject>,
    of_earlier_spec: bool,
}

/// What was done about a failed revision.
#[derive(Clone, Debug)]
pub(super) struct Remedy {
    /// For people.
    pub(super) text: String,
    /// Whether nothing of the revision is in effect any longer.
    pub(super) done: bool,
}

impl ReconcileProgress {
    /// The answers that the last rendering got, whatever came of it, and what is secret in them.
    pub(super) fn note_lookups(&self, answers: Vec<Answer>, secrets: Redactor) {
        let mut notes = self.lock();
        notes.lookups = Some(answers);
        notes.looked_up = Some(secrets);
    }

    /// The answers that the last rendering got, and what is secret in them, once; `None` where nothing was rendered since.
    pub(super) fn take_looked_up(&self) -> Option<(Vec<Answer>, Redactor)> {
        let mut notes = self.lock();
        let secrets = notes.looked_up.take()?;
        Some((notes.lookups.clone().unwrap_or_default(), secrets))
    }

    /// What the last rendering has looked up; `None` where nothing was rendered.
    pub(super) fn lookups(&self) -> Option<Vec<Answer>> {
        self.lock().lookups.clone()
    }

    /// Adds to the number of objects whose drift was corrected.
    pub(super) fn note_corrected(&self, objects: usize) {
        self.lock().corrected += objects;
    }

    /// The number of objects whose drift was corrected.
    pub(super) fn corrected(&self) -> usize {
        self.lock().corrected
    }

    /// The Jobs and Pods of hooks that have come to their end in this reconcile.
    pub(super) fn hook_ends(&self) -> &HookEnds {
        &self.hook_ends
    }

    /// A stage is over that has taken so long.
    pub(super) fn note_ended_stage(&self, name: String, took: Duration) {
        self.lock().ended_stages.push((name, took));
    }

    /// The stages that were over in this reconcile, and how long each had taken.
    pub(super) fn ended_stages(&self) -> Vec<(String, Duration)> {
        self.lock().ended_stages.clone()
    }

    /// The revisions were read from the cluster.
    pub(super) fn note_read(&self) {
        self.lock().read_anew = true;
    }

    /// Whether the revisions were read from the cluster, not from the cache.
    pub(super) fn has_read(&self) -> bool {
        self.lock().read_anew
    }

    /// The status says what is being done.
    pub(super) fn note_said(&self, report: ReleaseReport) {
        self.lock().said = Some(report);
    }

    /// What the status says of what is being done; `None` where it says nothing of it.
    pub(super) fn said(&self) -> Option<ReleaseReport> {
        self.lock().said.clone()
    }

    /// A revision goes on behind a gate: what follows is news, though nothing was said yet.
    pub(super) fn note_gone_on(&self) {
        self.lock().goes_on = true;
    }

    /// Whether the status says what is being done, or is to say what is done next.
    pub(super) fn has_announced(&self) -> bool {
        let notes = self.lock();
        notes.said.is_some() || notes.goes_on
    }

    /// What is gone on with belongs to another spec than the resource has.
    pub(super) fn note_earlier_spec(&self) {
        self.lock().of_earlier_spec = true;
    }

    /// Whether what is reported is of another spec than the resource has.
    pub(super) fn is_of_earlier_spec(&self) -> bool {
        self.lock().of_earlier_spec
    }

    /// The resource as a write of its status has left it, until the session has it.
    pub(super) fn note_written(&self, object: DynamicObject) {
        self.lock().written = Some(object);
    }

    /// The resource as a write of its status has left it, if the session does not have it yet.
    pub(super) fn written(&self) -> Option<DynamicObject> {
        self.lock().written.clone()
    }

    /// The same, for the session to have.
    pub(super) fn take_written(&self) -> Option<DynamicObject> {
        self.lock().written.take()
    }

    /// A failed revision was undone, or that was tried.
    pub(super) fn note_remedy(&self, remedy: Remedy) {
        self.lock().remedy = Some(remedy);
    }

    /// What was done about a revision that failed in this reconcile.
    pub(super) fn remedy(&self) -> Option<Remedy> {
        self.lock().remedy.clone()
    }

    /// A revision has failed that had come this far, and is undone.
    pub(super) fn note_failed_in(&self, revision: Revision, stages: Vec<StageRecord>) {
        self.lock().failed_in = Some((revision, stages));
    }

    /// How far the revision had come that has failed in this reconcile, and is undone.
    pub(super) fn failed_in(&self) -> Option<(Revision, Vec<StageRecord>)> {
        self.lock().failed_in.clone()
    }

    fn lock(&self) -> MutexGuard<'_, Notes> {
        self.notes.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

//! Applying the objects of a plan stage by stage, as far as the gates between them are open.

use std::collections::BTreeSet;
use std::time::Duration;

use jiff::Timestamp;
use steersman_model::{ApiKind, ChangeSet, ObjectId, RenderedObject, Revision, kinds_defined_by};

use super::error::ReconcileError;
use super::executor::Executor;
use super::gate::{Gate, GateState, Unready, unready};
use super::plan::{Decision, Plan, parts};
use super::session::Session;
use crate::apply::{ApplyOptions, ClaimNotes};
use crate::release::{Journal, StageRecord, has_begun, passed_over};
use crate::status::EventReason;
use crate::telemetry::step;

/// A plan on its way through its stages.
pub(super) struct Staged<'a> {
    executor: &'a Executor,
    session: &'a Session,
    plan: &'a Plan,
    /// Where it is written down how far they are. There is none where no stage waits for the one before it: what is undone is
    /// applied in order, and was ready before.
    journal: Option<&'a Journal<'a>>,
    /// As they are when what was asked for is followed.
    stages: Vec<StageRecord>,
    /// Whether one of them has become ready just now.
    has_passed: bool,
    /// Kinds that come with objects of one stage, for those of another.
    defined: BTreeSet<ApiKind>,
}

impl<'a> Staged<'a> {
    /// Goes on where the journal says that the plan has come.
    pub(super) fn new(
        executor: &'a Executor,
        session: &'a Session,
        plan: &'a Plan,
        journal: Option<&'a Journal<'a>>,
    ) -> Self {
        let waits = !matches!(plan.decision, Decision::RollBack(_));
        let mut staged = Self {
            executor,
            session,
            plan,
            journal: journal.filter(|_| waits),
            stages: Vec::new(),
            has_passed: false,
            defined: BTreeSet::new(),
        };
        if let Some(journal) = staged.journal {
            staged.stages = journal.stages();
            staged.stages = staged.gate(journal).with_retry();
        } else {
            let anew = plan.stages.iter().cloned().map(StageRecord::into_unbegun);
            staged.stages = anew.collect();
        }
        staged
    }

    /// Whether anything of it was applied and noted.
    pub(super) fn has_begun(&self) -> bool {
        has_begun(&self.stages)
    }

    /// Whether its first stage may not begin: no hook runs then, either.
    pub(super) fn is_held(&self) -> bool {
        let first = self.stages.first().filter(|_| !self.has_begun());
        first
            .zip(self.journal)
            .is_some_and(|(first, journal)| !self.gate(journal).may_begin(first))
    }

    /// Applies stage after stage. `None` where one is waited for; else everything that was applied of the revision, now and
    /// before.
    ///
    /// # Guarantees
    /// A stage is applied when all before it are ready, and what was applied is written down before it is waited for.
    pub(super) async fn apply(mut self) -> Result<Option<ChangeSet>, ReconcileError> {
        let objects = self.executor.left_to_others(self.session, self.plan).await?;
        if self.stages.is_empty() {
            return self.apply_part(objects).await.map(Some);
        }
        self.defined = kinds_defined_by(&objects);
        let Some(journal) = self.journal else {
            let mut changes = ChangeSet::new();
            for part in parts(objects, &self.stages) {
                changes.extend(self.apply_part(part).await?);
            }
            return Ok(Some(changes));
        };
        let mut changes = journal.applied();
        for (place, part) in parts(objects, &self.stages).into_iter().enumerate() {
            if !self.pass(place, part, journal, &mut changes).await? {
                return Ok(None);
            }
        }
        if self.has_passed && self.plan.goes_on_behind_stages() {
            // Written before anything is deleted, or a hook runs: none of that is to be taken for drift, or waited for again.
            let nothing = ChangeSet::new();
            step("store")
                .of(journal.note_stages(&self.stages, &nothing))
                .await?;
        }
        Ok(Some(changes))
    }

    /// Applies a stage, unless that is done, and gives whether it is ready.
    async fn pass(
        &mut self,
        place: usize,
        objects: Vec<RenderedObject>,
        journal: &Journal<'_>,
        changes: &mut ChangeSet,
    ) -> Result<bool, ReconcileError> {
        let Some(stage) = self.stages.get(place).cloned() else {
            return Ok(true);
        };
        if stage.ready.is_some() {
            return Ok(true);
        }
        if stage.applied.is_none() {
            if !self.gate(journal).may_begin(&stage) {
                // What comes before it was ready once, and is not waited for again.
                journal.note_stages(&self.stages, &ChangeSet::new()).await?;
                self.say_that_approval_is_due(&stage, journal);
                return Ok(false);
            }
            let applied = self.apply_part(objects).await?;
            let now = (self.executor.recorder.now)();
            self.change(place, |stage| stage.applied = Some(now));
            step("store")
                .of(journal.note_stages(&self.stages, &applied))
                .await?;
            changes.extend(applied);
        }
        let passed = passed_over(&self.stages);
        let counts = changes.keys().filter(|id| !passed.contains(id));
        let unready = self.unready(counts, stage.jobs).await?;
        let now = (self.executor.recorder.now)();
        if self.gate(journal).state(&unready, now) != GateState::Open {
            return Ok(false);
        }
        self.say_that_it_is_over(&stage, journal, &unready);
        self.note_how_long(place, now);
        journal.note_completed(&self.completed(changes.keys()));
        self.change(place, |stage| {
            stage.ready = Some(now);
            stage.passed = unready.into_iter().map(|object| object.id).collect();
        });
        self.has_passed = true;
        // Whatever becomes of the next stage, this one is over.
        journal.set_stages(&self.stages);
        Ok(true)
    }

    async fn apply_part(&self, objects: Vec<RenderedObject>) -> Result<ChangeSet, ReconcileError> {
        let objects = self.without_completed(objects).await?;
        let notes = ClaimNotes::default();
        let options = ApplyOptions {
            claim_notes: Some(&notes),
            defined_before: Some(&self.defined),
            ..self.plan.options()
        };
        let owner = &self.session.owner;
        let changes = self.executor.applier.apply_with(owner, objects, options).await;
        self.executor.tell_of_claims(self.session, notes);
        Ok(changes?)
    }

    /// `objects` without the Jobs that the plan does not have run once more.
    async fn without_completed(
        &self,
        objects: Vec<RenderedObject>,
    ) -> Result<Vec<RenderedObject>, ReconcileError> {
        if self.plan.completed.is_empty() {
            return Ok(objects);
        }
        let named = self.executor.identities(self.session, objects).await?;
        let left = named
            .into_iter()
            .filter(|(id, _)| !self.plan.completed.contains(id));
        Ok(left.map(|(_, object)| object).collect())
    }

    fn change(&mut self, place: usize, change: impl FnOnce(&mut StageRecord)) {
        if let Some(stage) = self.stages.get_mut(place) {
            change(stage);
        }
    }

    /// What of these objects is not ready. Their kinds are watched from now on.
    async fn unready(
        &self,
        objects: impl Iterator<Item = &ObjectId> + Clone,
        jobs: bool,
    ) -> Result<Vec<Unready>, ReconcileError> {
        let dependents = self.executor.applier.dependents();
        let served = self.executor.discovery.served().await?;
        let settings = &self.executor.settings;
        let objects = objects.filter(|id| settings.judges(id));
        for id in objects.clone() {
            if let Some(resource) = served.any_version(&id.group, &id.kind) {
                dependents.ensure(id, resource).await;
            }
        }
        let owner = &self.session.owner.uid;
        Ok(unready(objects, |id| dependents.judged(owner, id), jobs))
    }

    /// The Jobs among these objects that have done their work and go by themselves.
    fn completed<'b>(&self, objects: impl Iterator<Item = &'b ObjectId>) -> BTreeSet<ObjectId> {
        let (dependents, owner) = (self.executor.applier.dependents(), &self.session.owner.uid);
        let completed = objects.filter(|id| dependents.expires(owner, id));
        completed.cloned().collect()
    }

    fn gate(&self, journal: &Journal<'_>) -> Gate<'_> {
        Gate {
            revision: journal.revision(),
            stages: &self.stages,
            asked: &self.session.controls.stages,
        }
    }

    /// Names that a chart has made are no label of a metric: there is no end of them.
    fn note_how_long(&self, place: usize, now: Timestamp) {
        let Some(stage) = self.stages.get(place) else {
            return;
        };
        let is_of_chart = self.executor.settings.order.convention.is_some();
        let name = if is_of_chart {
            String::new()
        } else {
            stage.name.clone()
        };
        let took = stage.applied.map(|applied| now.duration_since(applied));
        if let Some(took) = took.and_then(|took| Duration::try_from(took).ok()) {
            self.session.progress.note_ended_stage(name, took);
        }
    }

    fn say_that_it_is_over(&self, stage: &StageRecord, journal: &Journal<'_>, unready: &[Unready]) {
        if stage.name.is_empty() {
            return;
        }
        let (name, revision) = (self.session.redactor.mask_own(&stage.name), journal.revision());
        let (reason, how) = if unready.is_empty() {
            (EventReason::StageReady, "is ready")
        } else {
            (EventReason::StageSkipped, "is passed over, as an annotation says")
        };
        let message = format!("stage {name} of revision {revision} {how}");
        self.executor.recorder.event(self.session, reason, &message);
    }

    fn say_that_approval_is_due(&self, stage: &StageRecord, journal: &Journal<'_>) {
        let name = self.session.redactor.mask_own(&stage.name);
        let message = approval_due(&name, journal.revision());
        let recorder = &self.executor.recorder;
        recorder.event(self.session, EventReason::ApprovalRequired, &message);
    }
}

/// What somebody is to do for a stage to begin.
pub(super) fn approval_due(stage: &str, revision: Revision) -> String {
    format!(
        "stage {stage} of revision {revision} begins when annotation steersman.dev/approve-stage is {revision}/{stage}"
    )
}

//! What installation, upgrade and recovery have in common: a revision that is written down is
//! brought into effect.

use jiff::Timestamp;
use serde_json::Value;
use steersman_chart::{HookEvent, Values};
use steersman_model::{ChangeSet, Inputs, ReleaseStatus, Revision, chain};

use super::retention::make_room;
use super::roll_back::{NotUndone, RollBack};
use crate::apply::{HookError, HookWait, event_name};
use crate::reconcile::ReconcileSettings;
use crate::reconcile::error::ReconcileError;
use crate::reconcile::event_recorder::EventRecorder;
use crate::reconcile::executor::{Carried, Executor};
use crate::reconcile::kept_up::tellers;
use crate::reconcile::lookups::Lookups;
use crate::reconcile::new_record::{pending_status, record};
use crate::reconcile::plan::{NewRevision, Plan, in_effect};
use crate::reconcile::release_cache::ReleaseCache;
use crate::reconcile::secrets::secrets_of;
use crate::reconcile::session::{PreparedRelease, Session};
use crate::reconcile::unfinished::{CurrentRevision, Stage, Unfinished, UnfinishedRevision, spec_of};
use crate::release::{Journal, RecordOwner, Snapshot, Stored, Verdict};
use crate::status::{EventReason, is_secret_key};
use crate::telemetry::step;

/// Writes revisions down and brings them into effect.
#[derive(Clone, Copy)]
pub(crate) struct Deploy<'a> {
    pub(crate) executor: &'a Executor,
    pub(crate) recorder: &'a EventRecorder,
    pub(crate) roll_back: RollBack<'a>,
    pub(crate) lookups: Lookups<'a>,
    pub(crate) settings: &'a ReconcileSettings,
    pub(crate) now: fn() -> Timestamp,
}

/// A revision that is written down, with what it does.
pub(crate) struct Pending {
    pub(crate) stored: Stored,
    pub(crate) plan: Plan,
    /// Whether no revision was ever deployed before it.
    pub(crate) first: bool,
}

/// Whether all that a revision after `earlier` has made may be removed where its failure is undone: `first` is whether nothing
/// was deployed before it.
///
/// Nothing speaks against that then: what an adoption has found was there before it, of `earlier` ones that the operator has not
/// written nobody knows whether they were deployed, and a record that says that nothing was may be an old one that somebody has
/// put back, so that the resource has to say the same.
fn may_be_removed(session: &Session, stored: &Stored, first: bool, earlier: &[Stored]) -> bool {
    let is_new = first && !stored.snapshot.adopted && !session.shows_deployment();
    is_new && earlier.iter().all(Stored::is_signed)
}

/// A revision that has failed, and how far it is undone.
pub(crate) struct Undoing {
    pub(crate) current: CurrentRevision,
    pub(crate) error: ReconcileError,
    pub(crate) stage: Stage,
}

/// The release is left where it waits.
fn left_at(
    wait: HookWait,
    session: &Session,
    current: CurrentRevision,
    stage: Stage,
    failure: Option<Box<ReconcileError>>,
) -> Unfinished {
    let revision = UnfinishedRevision {
        current,
        applied: stage.applied,
        failure,
        generation: session.generation,
        spec: stage.spec.unwrap_or_else(|| spec_of(session)),
    };
    Unfinished {
        wait,
        revision: Some(revision),
        is_test: false,
        said: session.progress.said(),
    }
}

impl Deploy<'_> {
    /// Writes `new` down after `earlier`, and brings it into effect. `None` where it waits for a stage.
    pub(crate) async fn new_revision(
        &self,
        session: &Session,
        prepared: &PreparedRelease,
        cache: &mut ReleaseCache,
        new: NewRevision,
        mut earlier: Vec<Stored>,
    ) -> Result<Option<Revision>, ReconcileError> {
        learn(session, &new, &earlier);
        let former = in_effect(&earlier);
        self.lookups.learn_former_secrets(session, cache, former).await?;
        self.executor
            .begin(session, cache, prepared.inputs, &new.plan)
            .await?;
        let applier = &self.executor.applier;
        applier.check(&session.owner, &new.plan.objects).await?;

        self.event_overrides(session);
        let first_deployed = earlier.first().and_then(|first| first.record.info.first_deployed);
        let chart = &self.settings.chart;
        let record = record(session, prepared, chart, &new, first_deployed, (self.now)());
        let mut stored = Stored {
            record,
            snapshot: Snapshot {
                inputs: Some(prepared.inputs),
                lookups: session.progress.lookups().unwrap_or_default(),
                values_from: prepared.sources.clone(),
                overlay: prepared.held.overlay().clone(),
                behind: cache.agreed.behind().clone(),
                overridden: Some(places(&self.settings.values.above())),
                first: Some(new.first),
                written: Some((self.now)()),
                adopted: new.adopts,
                stages: new.plan.stages.clone(),
                handled_test: handled_test(&earlier),
                // Until it is deployed, and where it fails, it may be all that tells.
                next: self.settings.kept_up_in_effect(&session.history, &earlier),
                ..Snapshot::default()
            },
            uid: None,
            secret_version: None,
            managers: Vec::new(),
            parts: None,
            verdict: Verdict::Signed,
            claim: None,
            owner: RecordOwner::Resource,
        };
        // The write-ahead inventory: a crash between here and the last apply leaves nothing that
        // a later prune can't find.
        let keep = self.settings.releases.history_max;
        let surplus = make_room(
            self.executor,
            session,
            (keep, self.keeps_last()),
            &earlier,
            &mut stored,
        )
        .await?;
        let written = session.history.create(&mut stored, (self.now)());
        step("store").of(written).await?;
        let NewRevision {
            mut plan,
            revision,
            first,
            rendered,
            manifest,
            adopts: _,
        } = new;
        // Hooks may take hours; what is stored already need not be kept for that.
        drop((rendered, manifest));
        cache.note_pending(&stored, prepared.inputs);
        // Others may speak of it before it is deployed: while it waits for a stage, or where it fails.
        cache.secrets.note_revision(&stored, &earlier);
        for old in earlier.extract_if(.., |former| surplus.contains(&former.record.version)) {
            session.history.delete(&old).await?;
        }
        plan.follow(&earlier, &stored.snapshot.abandoned);
        let pending = Pending { stored, plan, first };
        let inputs = prepared.inputs;
        let deployed = self.deploy(session, inputs, cache, pending, &earlier, Stage::default());
        Ok(Box::pin(deployed).await?.then_some(revision))
    }

    /// Brings a revision that is written down into effect: hooks, objects, prune, hooks. `false` where it waits for a stage.
    pub(crate) async fn deploy(
        &self,
        session: &Session,
        inputs: Inputs,
        cache: &mut ReleaseCache,
        pending: Pending,
        earlier: &[Stored],
        mut stage: Stage,
    ) -> Result<bool, ReconcileError> {
        let Pending {
            mut stored,
            plan,
            first,
        } = pending;
        let inputs = stored.snapshot.inputs.unwrap_or(inputs);
        stage.is_retry = stored.record.info.status == ReleaseStatus::Failed;
        let journal = Journal::new(&session.history, &stored);
        let carried_out = self
            .executor
            .carry_out(session, &plan, Some(&journal), &mut stage);
        let done = carried_out.await;
        let noted = journal.into_snapshot();
        stored.snapshot = noted;
        match done {
            Ok(Carried::Out(changes)) => {
                let deployed = (stored, first);
                let written = self.conclude(session, cache, deployed, inputs, &changes, earlier);
                step("store").of(written).await.map(|()| true)
            }
            Ok(Carried::ToGate) => {
                self.stop_at_gate(session, cache, stored, inputs).await?;
                Ok(false)
            }
            Err(error) => {
                let current = CurrentRevision {
                    revision: stored.record.version,
                    decision: plan.decision,
                    inputs,
                    first,
                };
                let next = error.awaited().cloned();
                if let Some(wait) = next.or_else(|| stage.wait_again(session, &error)) {
                    cache.unfinished = Some(left_at(wait, session, current, stage, None));
                    return Err(error);
                }
                let stage = Stage {
                    spec: stage.spec,
                    ..Stage::default()
                };
                let failed = Undoing {
                    current,
                    error,
                    stage,
                };
                Err(self.fail(session, cache, stored, earlier, failed).await)
            }
        }
    }

    /// The last revision, with those before it, if it is the one that is `wanted`, or known where nobody says which; what is
    /// secret in all of them is masked from now on. Where it is another one, what is known is read anew.
    pub(super) async fn last_revision(
        &self,
        session: &Session,
        cache: &mut ReleaseCache,
        wanted: Option<Revision>,
    ) -> Result<Option<(Stored, Vec<Stored>)>, ReconcileError> {
        let mut revisions = session.history.load().await?;
        let in_question = in_effect(&revisions);
        self.lookups.learn_secrets(session, cache, in_question).await?;
        let told = cache.known.is_none().then(|| cache.told_by(&revisions));
        let known = cache.known.get_or_insert_with(|| told.unwrap_or_default());
        let wanted = wanted.or(known.last.as_ref().map(|last| last.revision));
        let last = revisions
            .pop()
            .filter(|stored| stored.is_signed() && Some(stored.record.version) == wanted);
        let Some(stored) = last else {
            // Somebody else has written, changed or deleted revisions.
            cache.forget_known();
            return Ok(None);
        };
        let earlier = in_effect(&revisions).iter();
        session.redactor.learn(secrets_of(earlier.chain([&stored]), &[]));
        Ok(Some((stored, revisions)))
    }

    /// A revision waits for a stage: what is remembered says so. One that had failed is on its way again.
    async fn stop_at_gate(
        &self,
        session: &Session,
        cache: &mut ReleaseCache,
        mut stored: Stored,
        inputs: Inputs,
    ) -> Result<(), ReconcileError> {
        if stored.record.info.status == ReleaseStatus::Failed {
            stored.record.info.status = pending_status(stored.record.version);
            session.history.update(&mut stored, (self.now)()).await?;
        }
        cache.note_pending(&stored, inputs);
        Ok(())
    }

    /// A revision has failed with this: it is marked so, and undone where that is wanted. What is told of it is the answer.
    pub(super) async fn fail(
        &self,
        session: &Session,
        cache: &mut ReleaseCache,
        mut stored: Stored,
        earlier: &[Stored],
        failed: Undoing,
    ) -> ReconcileError {
        let (error, inputs) = (&failed.error, failed.current.inputs);
        let is_undone = self.is_to_be_undone(session, error);
        if is_undone {
            let stages = stored.snapshot.stages.clone();
            session.progress.note_failed_in(stored.record.version, stages);
            // Written first: should the process end in between, its hooks run once more rather than never, and not
            // before it is undone.
            let why = error.in_few_words(&session.redactor);
            stored.snapshot = stored.snapshot.with_undoing(Some(why));
        }
        // What has failed before may have come further since.
        let is_new =
            stored.record.info.status != ReleaseStatus::Failed || cache.knows_less_of_stages(&stored);
        let is_marked = (is_undone || (is_new && is_final(error)))
            && self.mark_failed(session, cache, &mut stored, inputs, error).await;
        if !is_undone || !is_marked {
            // A hook may have been started before a request had no answer: it is looked for before anything else.
            if error.is_transient() && !stored.hooks().is_empty() {
                cache.forget_known();
            }
            return failed.error;
        }
        let undone = self.undo(session, cache, &stored, earlier, failed);
        undone.await
    }

    /// Undoes a revision that has failed. The failure is what is told of it, unless a hook is to be waited for.
    pub(super) async fn undo(
        &self,
        session: &Session,
        cache: &mut ReleaseCache,
        failed: &Stored,
        earlier: &[Stored],
        undoing: Undoing,
    ) -> ReconcileError {
        let Undoing {
            current,
            error,
            mut stage,
        } = undoing;
        stage.is_retry = false;
        let removes = may_be_removed(session, failed, current.first, earlier);
        let undo = self
            .roll_back
            .undo(session, cache, failed, earlier, removes, &mut stage);
        let (wait, error, told) = match undo.await {
            Ok(()) => {
                self.note_undone(session, failed).await;
                cache.note_undone();
                return error;
            }
            Err(NotUndone::Waits(wait)) => {
                let told = HookError::Waiting(Box::new(wait.clone())).into();
                (Some(wait), error.told(&session.redactor), told)
            }
            Err(NotUndone::Yet(source)) => {
                let failure = error.in_few_words(&session.redactor);
                let wait = stage.wait_again(session, &source);
                if wait.is_none() {
                    cache.forget_known();
                }
                let source = Box::new(source);
                let told = ReconcileError::NotUndone { failure, source };
                (wait, error.told(&session.redactor), told)
            }
        };
        cache.unfinished = wait.map(|wait| left_at(wait, session, current, stage, Some(Box::new(error))));
        told
    }

    /// Writes down that nothing is left to be undone; where that can't be done, it is undone once more after a restart.
    async fn note_undone(&self, session: &Session, failed: &Stored) {
        let snapshot = failed.snapshot.clone().with_undoing(None);
        if let Err(unwritten) = session.history.write_snapshot(failed, &snapshot).await {
            let cause = session.redactor.mask(&chain(&unwritten));
            session.log_error("failed to note that the revision is undone", &cause);
        }
    }

    /// Writes down that the revision has failed, and gives whether that could be done; else it is tried again as it is.
    async fn mark_failed(
        &self,
        session: &Session,
        cache: &mut ReleaseCache,
        stored: &mut Stored,
        inputs: Inputs,
        error: &ReconcileError,
    ) -> bool {
        stored.record.info.status = ReleaseStatus::Failed;
        stored.record.info.description = error.in_few_words(&session.redactor);
        match session.history.update(stored, (self.now)()).await {
            Ok(()) => {
                cache.note_pending(stored, inputs);
                true
            }
            Err(unwritten) => {
                let cause = session.redactor.mask(&chain(&unwritten));
                session.log_error("failed to mark the revision as failed", &cause);
                false
            }
        }
    }

    /// Whether a revision that has failed with this is undone.
    fn is_to_be_undone(&self, session: &Session, error: &ReconcileError) -> bool {
        let wanted = session.controls.rollback_on_failure;
        wanted.unwrap_or(self.settings.releases.rollback_on_failure) && is_final(error)
    }

    /// Whether the revision before the last one is needed: it tells what procedures keep up, once Helm has replaced that.
    fn keeps_last(&self) -> bool {
        !self.settings.procedures.is_empty()
    }

    /// Those before a revision are in effect no longer, and some of them tell what procedures keep up in it.
    async fn supersede(
        &self,
        session: &Session,
        stored: &Stored,
        earlier: &[Stored],
    ) -> Result<(), ReconcileError> {
        let kept_up = self.settings.kept_up(&session.history, stored);
        let tellers = tellers(earlier);
        for former in earlier {
            let tells = tellers.contains(&former.record.version);
            let is_told = !tells || former.snapshot.next == kept_up;
            if former.record.info.status != ReleaseStatus::Deployed && is_told {
                continue;
            }
            let mut former = former.clone();
            former.record.info.status = ReleaseStatus::Superseded;
            if tells {
                former.snapshot.next.clone_from(&kept_up);
            }
            session.history.update(&mut former, (self.now)()).await?;
        }
        Ok(())
    }

    /// The revision is deployed, and the one before it superseded.
    async fn conclude(
        &self,
        session: &Session,
        cache: &mut ReleaseCache,
        (mut stored, first): (Stored, bool),
        inputs: Inputs,
        changes: &ChangeSet,
        earlier: &[Stored],
    ) -> Result<(), ReconcileError> {
        let now = (self.now)();
        // In this order: a crash in between leaves no two deployed revisions, and this one is
        // found not deployed and applied again.
        self.supersede(session, &stored, earlier).await?;
        for former in earlier.iter().filter(|former| is_overtaken(former)) {
            let mut former = former.clone();
            former.record.info.status = ReleaseStatus::Failed;
            former.record.info.description =
                format!("Interrupted, and overtaken by revision {}", stored.record.version);
            session.history.update(&mut former, now).await?;
        }
        stored.record.info.status = ReleaseStatus::Deployed;
        let (operation, complete) = if first {
            (&session.controls.install, "Install complete")
        } else {
            (&session.controls.upgrade, "Upgrade complete")
        };
        let completed = stored.snapshot.completed().cloned().collect();
        let mut finished_hooks = stored.snapshot.finished_hooks;
        finished_hooks.retain(|hook| !is_of_end(&hook.event));
        let description = operation.description.as_deref().unwrap_or(complete);
        description.clone_into(&mut stored.record.info.description);
        stored.snapshot = Snapshot {
            inputs: Some(inputs),
            lookups: stored.snapshot.lookups,
            values_from: stored.snapshot.values_from,
            overlay: stored.snapshot.overlay,
            behind: stored.snapshot.behind,
            overridden: stored.snapshot.overridden,
            first: stored.snapshot.first,
            written: stored.snapshot.written,
            // What hooks of an undoing have left is not taken for those of a later end.
            undone: stored.snapshot.undone,
            handled_test: stored.snapshot.handled_test,
            finished_hooks,
            stages: stored.snapshot.stages,
            ..Snapshot::new(changes)
        };
        stored.snapshot.note_completed(&completed);
        let keep = self.settings.releases.history_max;
        let surplus = make_room(
            self.executor,
            session,
            (keep, self.keeps_last()),
            earlier,
            &mut stored,
        )
        .await?;
        session.history.update(&mut stored, now).await?;
        let notes = session.redactor.mask_own(&stored.record.info.notes);
        cache.note_deployed(&stored, Some(inputs), notes);
        cache.secrets.note_revision(&stored, earlier);

        let goes = |former: &&Stored| surplus.contains(&former.record.version);
        for old in earlier.iter().filter(goes) {
            session.history.delete(old).await?;
        }
        self.executor.note_changes(session, changes);
        Ok(())
    }

    /// helm-operator's warning about values that the watch overrides. What comes from the environment is
    /// not shown, nor what is secret by its key.
    fn event_overrides(&self, session: &Session) {
        let values = &self.settings.values;
        let typed = values.typed_overrides();
        for (key, value) in typed.iter().chain(&values.override_values) {
            let is_hidden = self.settings.suppress_override_values
                || values.from_environment.contains(key)
                || key.split(['.', '[']).any(is_secret_key);
            let shown = if is_hidden {
                "****".to_owned()
            } else {
                session.redactor.mask(value)
            };
            let message = format!("Chart value {key:?} overridden to {shown:?} by operator's watches.yaml");
            self.recorder
                .event(session, EventReason::OverrideValuesInUse, &message);
        }
    }

    /// Says in an event that a revision is deployed, and in the log as soon as the status shows it: who
    /// waits for the line finds the release there. It is an installation if `first`, else an upgrade.
    pub(super) fn announce(
        &self,
        session: &Session,
        cache: &mut ReleaseCache,
        first: bool,
        revision: Revision,
    ) {
        let (line, reason) = if first {
            ("Installed release", EventReason::ReleaseInstalled)
        } else {
            ("Upgraded release", EventReason::ReleaseUpgraded)
        };
        cache.log_when_reported(line);
        let chart = &self.settings.chart;
        let message = format!(
            "release {} revision {revision} of chart {}-{} is deployed",
            session.release,
            chart.name(),
            chart.version()
        );
        self.recorder.event(session, reason, &message);
    }
}

/// The last request for tests that was dealt with, as these revisions say: another revision is no reason to take it up again,
/// unless it comes before the end of the tests.
fn handled_test(earlier: &[Stored]) -> Option<String> {
    let mut signed = earlier.iter().rev().filter(|stored| stored.is_signed());
    let last = signed.find(|stored| stored.snapshot.handled_test.is_some())?;
    last.snapshot.settled_test().map(str::to_owned)
}

/// The places of values, without what is there.
fn places(values: &Values) -> Values {
    let places = values.iter().map(|(key, value)| {
        let place = match value {
            Value::Object(map) if !map.is_empty() => Value::Object(places(map)),
            _ => Value::Bool(true),
        };
        (key.clone(), place)
    });
    places.collect()
}

/// Whether the revision has failed, and is not to be gone on with as it is.
fn is_final(error: &ReconcileError) -> bool {
    !error.is_transient()
}

/// Whether it is a hook of the end of a release, which a failed installation has, too: it does not count for a later end.
fn is_of_end(event: &str) -> bool {
    [HookEvent::PreDelete, HookEvent::PostDelete]
        .map(event_name)
        .contains(&event)
}

/// Whether an earlier revision of ours was left in the middle: the process ended, and then another one was wanted.
fn is_overtaken(former: &Stored) -> bool {
    let is_pending = matches!(
        former.record.info.status,
        ReleaseStatus::PendingInstall | ReleaseStatus::PendingUpgrade | ReleaseStatus::PendingRollback
    );
    is_pending && (former.is_signed() || former.owner == RecordOwner::Resource)
}

/// What is secret in the revision, and in those that it takes the place of, is masked from now on.
fn learn(session: &Session, new: &NewRevision, earlier: &[Stored]) {
    let secrets = secrets_of(in_effect(earlier), &new.plan.objects);
    session.redactor.learn(secrets);
}

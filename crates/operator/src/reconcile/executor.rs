//! Carrying a plan out.

use std::collections::BTreeSet;
use std::sync::Arc;

use steersman_chart::HookEvent;
use steersman_cluster::discovery::Discovery;
use steersman_model::{Change, ChangeSet, ClaimChange, Inputs, ObjectId, ReleaseStatus, RenderedObject};
use steersman_watches::controls::DeletionPolicy;

use super::ReconcileSettings;
use super::error::ReconcileError;
use super::event_recorder::EventRecorder;
use super::plan::{
    Bounds, Extent, Plan, PruneCandidate, PruneScope, backwards, objects_named_by, prune_candidates,
};
use super::release_cache::ReleaseCache;
use super::session::Session;
use super::staged::Staged;
use super::unfinished::Stage;
use crate::apply::{
    Applier, ClaimNotes, CrdError, Deletion, Handover, HookError, HookRun, HookWait, HooksLeft, ObjectsOwned,
    PruneError, event_name, hooks_in_order, is_ours_to_run,
};
use crate::release::{HookRecord, Journal, Stored};
use crate::status::{EventReason, ReleaseReport};
use crate::telemetry::step;

/// The events that a revision goes through on its way into effect.
const FORWARD: [HookEvent; 4] = [
    HookEvent::PreInstall,
    HookEvent::PostInstall,
    HookEvent::PreUpgrade,
    HookEvent::PostUpgrade,
];

/// What has become of a plan.
pub(super) enum Carried {
    /// All of it is done; these objects were applied.
    Out(ChangeSet),
    /// It waits for a stage, as its journal says.
    ToGate,
}

/// Does what plans say.
#[derive(Clone)]
pub(super) struct Executor {
    pub(super) applier: Applier,
    pub(super) discovery: Arc<Discovery>,
    pub(super) recorder: EventRecorder,
    pub(super) settings: Arc<ReconcileSettings>,
}

impl Executor {
    /// Says in the resource's status what a plan does with these inputs, and installs its definitions: the first writes
    /// of a revision. Nothing is written where anything of the plan is out of bounds.
    pub(super) async fn begin(
        &self,
        session: &Session,
        cache: &mut ReleaseCache,
        inputs: Inputs,
        plan: &Plan,
    ) -> Result<(), ReconcileError> {
        self.admit(session, plan).await?;
        if let Some(doing) = plan.decision.underway(session.release.as_str()) {
            self.announce(session, cache, inputs, doing).await?;
        }
        self.define(session, plan).await
    }

    /// Says in the resource's status what is done with these inputs, before the first write of that.
    pub(super) async fn announce(
        &self,
        session: &Session,
        cache: &mut ReleaseCache,
        inputs: Inputs,
        doing: String,
    ) -> Result<(), ReconcileError> {
        let report = ReleaseReport::Progressing(doing);
        let now = (self.recorder.now)();
        session.announce(cache, Some(inputs), &report, now).await
    }

    /// Says in the resource's status what is being done after what was said before.
    pub(super) async fn say(&self, session: &Session, doing: String) -> Result<(), ReconcileError> {
        let report = ReleaseReport::Progressing(doing);
        session.announce_more(&report, (self.recorder.now)()).await
    }

    /// Says, besides what is being done, for which hook, where that is what `ran` has ended with.
    pub(super) async fn say_awaited<T>(
        &self,
        session: &Session,
        doing: &str,
        ran: Result<T, ReconcileError>,
    ) -> Result<T, ReconcileError> {
        if let Err(error) = &ran
            && let Some(wait) = error.awaited()
        {
            // The names of a hook's objects are the chart's, and may have a secret.
            let words = session.redactor.mask_own(&format!("{doing}; {wait}"));
            self.say(session, words).await?;
        }
        ran
    }

    /// Whether the plan is within the bounds that the watch sets.
    ///
    /// # Errors
    /// The first thing that is not. The plan is not carried out then.
    pub(super) async fn admit(&self, session: &Session, plan: &Plan) -> Result<(), ReconcileError> {
        let Some(confinement) = &self.settings.confinement else {
            return Ok(());
        };
        let defined = plan.definitions.deciding_kinds();
        let kinds = plan.objects.iter().map(|object| &object.api).chain(&defined);
        let served = self.discovery.served_with(kinds).await?;
        Bounds::new(confinement, &session.owner.release_namespace, &served).admit(plan)
    }

    /// Those of `hooks` that are within the bounds that the watch sets, and why others are not.
    pub(super) async fn admitted_hooks(
        &self,
        session: &Session,
        hooks: Vec<&HookRecord>,
    ) -> Result<(Vec<HookRecord>, Vec<ReconcileError>), ReconcileError> {
        let mut admitted: Vec<HookRecord> = hooks.into_iter().cloned().collect();
        let mut refused = Vec::new();
        if let Some(confinement) = &self.settings.confinement
            && !admitted.is_empty()
        {
            let served = self.discovery.served().await?;
            let bounds = Bounds::new(confinement, &session.owner.release_namespace, &served);
            for hook in std::mem::take(&mut admitted) {
                match bounds.hook(&hook) {
                    Ok(()) => admitted.push(hook),
                    Err(error @ ReconcileError::OutOfBounds { .. }) => refused.push(error),
                    Err(error) => return Err(error),
                }
            }
        }
        Ok((admitted, refused))
    }

    /// Whether the tests among `hooks` are within the bounds that the watch sets.
    ///
    /// # Errors
    /// The first object that is not. None of them is run then.
    pub(super) async fn admit_tests(
        &self,
        session: &Session,
        hooks: &[HookRecord],
    ) -> Result<(), ReconcileError> {
        let Some(confinement) = &self.settings.confinement else {
            return Ok(());
        };
        let served = self.discovery.served().await?;
        let bounds = Bounds::new(confinement, &session.owner.release_namespace, &served);
        let mut tests = hooks_in_order(hooks, HookEvent::Test).into_iter();
        tests.try_for_each(|test| bounds.test(test))
    }

    /// Installs the definitions of a plan, and waits until the server acts on them.
    ///
    /// # Guarantees
    /// Nothing is written where anything of the plan is out of bounds.
    pub(super) async fn define(&self, session: &Session, plan: &Plan) -> Result<(), ReconcileError> {
        self.admit(session, plan).await?;
        let Plan {
            definitions, objects, ..
        } = plan;
        let served = match definitions.extent {
            Extent::All => self.discovery.served().await.map_err(CrdError::from)?,
            Extent::Missing => {
                let kinds = objects.iter().map(|object| &object.api);
                self.discovery.served_with(kinds).await.map_err(CrdError::from)?
            }
        };
        let due = definitions.due(objects, &served);
        let installed = self.applier.install_crds(&due, definitions.policy);
        if step("define").of(installed).await? {
            self.discovery.refresh().await?;
        }
        Ok(())
    }

    /// Hooks, objects, what goes, hooks: in this order, up to the first failure, to a hook that is to be waited for, or to a
    /// stage that is; then `stage` or the journal says how far it came, and from there it goes on. The hooks are those of the
    /// revision with the `journal`; where there is none, none runs.
    ///
    /// # Guarantees
    /// Nothing is written where anything of the plan is out of bounds. Nothing is deleted before everything is applied.
    ///
    /// # Cancellation
    /// Safe at any await: carrying the same plan out again converges.
    pub(super) async fn carry_out(
        &self,
        session: &Session,
        plan: &Plan,
        journal: Option<&Journal<'_>>,
        stage: &mut Stage,
    ) -> Result<Carried, ReconcileError> {
        self.admit(session, plan).await?;
        let owner = &session.owner;
        // Webhooks may be slow. What is there of the plan is there as text, too, and packed.
        session.share.keep(plan.weight().saturating_mul(3));
        if stage.applied.is_none() {
            let (hooks, before, after) = (&plan.hooks.records, plan.hooks.before, plan.hooks.after);
            let is_past = self.has_reached(session, (after, hooks), journal, stage).await?;
            let staged = Staged::new(self, session, plan, journal);
            if staged.is_held() {
                return Ok(Carried::ToGate);
            }
            if !is_past && !staged.has_begun() {
                self.run_hooks(session, plan, before, journal, stage).await?;
            }
            let Some(changes) = staged.apply().await? else {
                return Ok(Carried::ToGate);
            };
            let mut taken = BTreeSet::new();
            if journal.is_some() && !plan.prune.is_empty() {
                let [before, after] = [before, after].map(|event| hooks_in_order(hooks, event));
                let by_hooks = self.applier.taken_by_hooks(owner, (&before, &after), is_past);
                taken = by_hooks.await.map_err(HookError::from)?;
            }
            self.prune(session, &plan.prune, &changes, &taken).await?;
            stage.applied = Some(changes);
        }
        let after = plan.hooks.after;
        self.run_hooks(session, plan, after, journal, stage).await?;
        Ok(Carried::Out(stage.applied.take().unwrap_or_default()))
    }

    /// Whether `hooks` of an event have run or were started: what comes before the event is done, and is not done again under
    /// them.
    pub(super) async fn has_reached(
        &self,
        session: &Session,
        (event, hooks): (HookEvent, &[HookRecord]),
        journal: Option<&Journal<'_>>,
        stage: &Stage,
    ) -> Result<bool, ReconcileError> {
        let Some(journal) = journal else {
            return Ok(false);
        };
        let name = event_name(event);
        let is_waited_for = stage.wait.as_ref().is_some_and(|wait| wait.is_of(journal, name));
        if is_waited_for || journal.has_begun(name) {
            return Ok(true);
        }
        let owner = &session.owner;
        Ok(stage.is_recovery && self.applier.has_started(owner, hooks, event, journal).await?)
    }

    /// Runs the plan's hooks of an event. Without a journal there are none.
    async fn run_hooks(
        &self,
        session: &Session,
        plan: &Plan,
        event: HookEvent,
        journal: Option<&Journal<'_>>,
        stage: &Stage,
    ) -> Result<(), ReconcileError> {
        let Some(journal) = journal else {
            return Ok(());
        };
        let run = HookRun {
            hooks: &plan.hooks.records,
            event,
            timeout: self.settings.releases.hook_timeout,
            journal,
            resumed: stage.wait.as_ref(),
            is_retry: stage.is_retry,
            is_recovery: stage.is_recovery && !stage.is_retry,
            left_out: None,
            ends: session.progress.hook_ends(),
            redactor: &session.redactor,
        };
        let ran = self.applier.run_hooks(&session.owner, run).await;
        let ran = ran.map_err(ReconcileError::from);
        match plan.decision.underway(session.release.as_str()) {
            Some(doing) => self.say_awaited(session, &doing, ran).await,
            None => ran,
        }
    }

    /// The plan's objects with what is left to others as it is in the cluster.
    pub(super) async fn left_to_others(
        &self,
        session: &Session,
        plan: &Plan,
    ) -> Result<Vec<RenderedObject>, ReconcileError> {
        if plan.replaced.is_empty() {
            return Ok(plan.objects.clone());
        }
        let (objects, replaced) = (plan.objects.clone(), plan.replaced.clone());
        let rules = &self.settings.drift.ignore;
        let left = self
            .applier
            .leave_to_others(&session.owner, rules, objects, replaced, Handover::Make);
        Ok(left.await?)
    }

    /// Deletes what of `scope` was not applied. What is to be kept stays without our marks, and what was applied under
    /// another API group of its kind stays as it is, and so does what hooks have `taken`.
    async fn prune(
        &self,
        session: &Session,
        scope: &PruneScope,
        applied: &ChangeSet,
        taken: &BTreeSet<ObjectId>,
    ) -> Result<(), ReconcileError> {
        if scope.is_empty() {
            return Ok(());
        }
        let named = self.identities(session, scope.named.clone()).await?;
        let desired: BTreeSet<ObjectId> = applied.keys().cloned().collect();
        let applied: BTreeSet<String> = applied.values().map(|applied| applied.uid.clone()).collect();
        let (kept, gone): (Vec<PruneCandidate>, Vec<PruneCandidate>) =
            prune_candidates(named, &scope.abandoned, &desired)
                .into_iter()
                .filter(|candidate| !taken.contains(&candidate.id))
                .partition(|candidate| candidate.kept);
        for PruneCandidate { id, .. } in kept {
            let orphaning = self.applier.orphan_unless_applied(&session.owner, &id, &applied);
            orphaning.await?;
            tracing::info!(release = %session.release, object = %id, "kept, as the chart wants it");
        }
        if gone.is_empty() {
            return Ok(());
        }
        let stages = self.identities_of(session, scope.stages.clone()).await?;
        let gone = backwards(gone, |candidate| &candidate.id, &stages);
        let gone: Vec<PruneCandidate> = gone.into_iter().flatten().collect();
        let step = step("prune").objects(gone.len());
        step.of(self.delete_candidates(session, gone, &applied)).await
    }

    async fn delete_candidates(
        &self,
        session: &Session,
        candidates: Vec<PruneCandidate>,
        applied: &BTreeSet<String>,
    ) -> Result<(), ReconcileError> {
        let owner = &session.owner;
        for PruneCandidate { id, .. } in candidates {
            match self.applier.delete_unless_applied(owner, &id, applied).await? {
                Deletion::NotOurs(reason) => {
                    tracing::warn!(release = %session.release, object = %id, reason, "left alone, as it is not ours");
                }
                Deletion::Kept => {
                    self.applier.orphan(owner, &id).await?;
                    tracing::info!(release = %session.release, object = %id, "kept, as the object itself says");
                }
                Deletion::Accepted => tracing::debug!(release = %session.release, object = %id, "pruned"),
                Deletion::Gone | Deletion::Applied => {}
            }
        }
        Ok(())
    }

    /// The hook of the last revision, which is not in effect, that a former process has left running.
    pub(super) async fn hook_under_way(
        &self,
        session: &Session,
        revisions: &[Stored],
    ) -> Result<Option<HookWait>, ReconcileError> {
        // The end of a release waits for what was under way before it begins.
        let may_have = |last: &&Stored| {
            let is_going = last.record.info.status == ReleaseStatus::Uninstalling;
            last.is_signed() && !last.is_in_effect() && !is_going
        };
        let Some(last) = revisions.last().filter(may_have) else {
            return Ok(None);
        };
        let is_undone = last.snapshot.undoing.is_some();
        // Those that are out of bounds by now are left out at the end.
        let of_end = last.hooks().iter().filter(|_| is_undone).collect();
        let (admitted, _) = self.admitted_hooks(session, of_end).await?;
        let mut hooks: Vec<(HookEvent, &[HookRecord])> = Vec::new();
        hooks.extend(FORWARD.map(|event| (event, last.hooks())));
        if is_undone {
            let end = [HookEvent::PreDelete, HookEvent::PostDelete];
            hooks.extend(end.map(|event| (event, admitted.as_slice())));
            let is_deployed = |stored: &&Stored| stored.record.info.status == ReleaseStatus::Deployed;
            if let Some(target) = revisions.iter().rfind(is_deployed) {
                let back = [HookEvent::PreRollback, HookEvent::PostRollback];
                hooks.extend(back.map(|event| (event, target.hooks())));
            }
        }
        let left = HooksLeft {
            hooks: &hooks,
            journal: &Journal::new(&session.history, last),
            timeout: self.settings.releases.hook_timeout,
        };
        Ok(self.applier.hook_under_way(&session.owner, left).await?)
    }

    /// Whether one of the tests of the deployed revision was started, and nobody has written down what has come of them. Of one
    /// that is out of bounds by now nothing is asked: that is what comes of it.
    pub(super) async fn has_started_test(
        &self,
        session: &Session,
        revisions: &[Stored],
    ) -> Result<bool, ReconcileError> {
        let is_deployed = |last: &&Stored| {
            last.is_signed() && last.record.info.status == ReleaseStatus::Deployed && last.is_being_tested()
        };
        let Some(last) = revisions.last().filter(is_deployed) else {
            return Ok(false);
        };
        match self.admit_tests(session, last.hooks()).await {
            Ok(()) => {}
            Err(ReconcileError::OutOfBounds { .. }) => return Ok(true),
            Err(error) => return Err(error),
        }
        let journal = Journal::new(&session.history, last);
        let (owner, hooks) = (&session.owner, last.hooks());
        let started = self.applier.has_started(owner, hooks, HookEvent::Test, &journal);
        Ok(started.await?)
    }

    /// What the deletion of the resource does to its objects.
    ///
    /// The finalizer that `kubectl delete --cascade=orphan` leaves is gone within milliseconds, whatever has become of our
    /// first try. What the garbage collector has done by then stays to be seen: revisions of the resource, and the objects
    /// that it owned, have lost it as their owner. One of the two is no proof, as somebody may write the one and not the
    /// other.
    ///
    /// # Errors
    /// An object can't be read, or the release has no object that a resource can own: nothing but the resource can say then
    /// what it wants.
    pub(super) async fn deletion_policy(
        &self,
        session: &Session,
        revisions: &[Stored],
    ) -> Result<DeletionPolicy, ReconcileError> {
        let disowned = revisions.iter().filter(|stored| session.is_disowned(stored));
        let policy = session.deletion_policy();
        if policy == DeletionPolicy::Orphan || disowned.clone().next().is_none() {
            return Ok(policy);
        }
        let has_begun =
            |stored: &Stored| stored.is_signed() && stored.record.info.status == ReleaseStatus::Uninstalling;
        let is_decided = session.controls.deletes_expressly || revisions.iter().any(has_begun);
        match self.still_owned(session, &disowned.collect::<Vec<_>>()).await? {
            ObjectsOwned::No => return Ok(DeletionPolicy::Orphan),
            ObjectsOwned::Yes => tracing::warn!(
                release = %session.release,
                "a revision has lost its owner, and the objects have not: they are not taken for orphaned"
            ),
            // What is gone tells nothing any longer.
            ObjectsOwned::Unclear if !is_decided => {
                return Err(ReconcileError::Orphaned);
            }
            ObjectsOwned::Unclear | ObjectsOwned::Gone => {}
        }
        Ok(policy)
    }

    /// Whether the resource still owns the objects of these revisions and of their hooks, but what is to be kept.
    async fn still_owned(
        &self,
        session: &Session,
        revisions: &[&Stored],
    ) -> Result<ObjectsOwned, ReconcileError> {
        let hooks = revisions.iter().flat_map(|stored| stored.hooks());
        let hooks: Vec<&HookRecord> = hooks.filter(|hook| is_ours_to_run(hook)).collect();
        let mut objects = self.applier.going_with_hooks(&session.owner, &hooks).await?;
        let named = objects_named_by(revisions.iter().copied());
        let named = self.identities(session, named).await?.into_iter();
        let going = named.filter(|(_, object)| !object.is_kept());
        objects.extend(going.map(|(id, _)| id));
        Ok(match self.applier.ownership_of(&session.owner, &objects).await? {
            // What hooks have done may be elsewhere.
            ObjectsOwned::Gone if !hooks.is_empty() => ObjectsOwned::Unclear,
            owned => owned,
        })
    }

    /// Takes those out of `labelled`, of which only the label says that they are the release's, that the watch does not let its
    /// releases have. That is said, for all of them at once: they may be many.
    pub(super) fn retain_within_bounds(&self, session: &Session, labelled: &mut BTreeSet<ObjectId>) {
        let Some(confinement) = &self.settings.confinement else {
            return;
        };
        let before = labelled.len();
        let mut first = None;
        labelled.retain(|id| {
            let admitted = confinement.admit(id, &session.owner.release_namespace);
            if let Err(error) = &admitted {
                first.get_or_insert_with(|| (id.clone(), error.to_string()));
            }
            admitted.is_ok()
        });
        if let Some((id, error)) = first {
            let others = before - labelled.len() - 1;
            tracing::warn!(
                release = %session.release, object = %id, error, others,
                "left alone, as only its label says that it is of this release"
            );
        }
    }

    /// What became of an object, unless that was refused, or others keep writing it, and it is among those that are
    /// `labelled` as the release's and named by no revision that is signed: anybody can put such a label on an object of
    /// theirs.
    pub(super) fn unless_anothers<T>(
        session: &Session,
        labelled: &BTreeSet<ObjectId>,
        id: &ObjectId,
        done: Result<T, PruneError>,
    ) -> Result<Option<T>, PruneError> {
        match done {
            Err(PruneError::Request { source, .. })
                if (source.code == 403 || source.is_conflict()) && labelled.contains(id) =>
            {
                tracing::warn!(
                    release = %session.release, object = %id, error = %source,
                    "left alone, as only its label says that it is of this release"
                );
                Ok(None)
            }
            done => done.map(Some),
        }
    }

    /// Which objects these are. Those of kinds that nobody serves are left out: nothing of them is there.
    pub(super) async fn identities(
        &self,
        session: &Session,
        objects: Vec<RenderedObject>,
    ) -> Result<Vec<(ObjectId, RenderedObject)>, ReconcileError> {
        Ok(self.applier.identities(&session.owner, objects).await?)
    }

    /// The same, part by part.
    pub(super) async fn identities_of(
        &self,
        session: &Session,
        stages: Vec<Vec<RenderedObject>>,
    ) -> Result<Vec<Vec<ObjectId>>, ReconcileError> {
        let mut identities = Vec::new();
        for objects in stages {
            let named = self.identities(session, objects).await?;
            identities.push(named.into_iter().map(|(id, _)| id).collect());
        }
        Ok(identities)
    }

    /// Says in events what was done about claims, whatever has become of the rest.
    pub(super) fn tell_of_claims(&self, session: &Session, notes: ClaimNotes) {
        let changes = notes.into_changes();
        let told: Vec<String> = changes
            .iter()
            .map(|(id, change)| format!("{id} {change}"))
            .collect();
        for ((_, change), message) in changes.iter().zip(session.redactor.mask_all_own(&told)) {
            self.recorder.event(session, reason_of(change), &message);
        }
    }

    /// Says in events what was done to objects that the server did not take as they are.
    pub(super) fn note_changes(&self, session: &Session, changes: &ChangeSet) {
        let recreated = changes
            .iter()
            .filter(|(_, applied)| applied.change == Change::Recreated);
        let recreated: Vec<String> = recreated.map(|(id, _)| id.to_string()).collect();
        for id in session.redactor.mask_all_own(&recreated) {
            let message = format!("{id} could not be changed in place; it was deleted and created again");
            self.recorder
                .event(session, EventReason::ObjectRecreated, &message);
        }
        let mended = changes.iter().flat_map(|(id, applied)| {
            let notes = applied.mended.iter();
            notes.map(move |note| format!("{id}: {note}; mend the chart"))
        });
        for message in session.redactor.mask_all(&mended.collect::<Vec<_>>()) {
            self.recorder.event(session, EventReason::ObjectMended, &message);
        }
    }
}

fn reason_of(change: &ClaimChange) -> EventReason {
    match change {
        ClaimChange::Expanded { .. } => EventReason::ClaimExpanded,
        ClaimChange::Kept { .. } => EventReason::ClaimKept,
    }
}

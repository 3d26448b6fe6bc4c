//! Removing a release.

use std::collections::BTreeSet;
use std::time::Duration;

use jiff::Timestamp;
use steersman_chart::HookEvent;
use steersman_model::{ObjectId, ReleaseStatus, RenderedObject, Revision, chain};

use super::leaving::LeavingRelease;
use crate::apply::{Deletion, HookError, HookRun, LeftOut, PruneError, has_an_end, hooks_in_order};
use crate::dependents::{Dependents, LiveObject};
use crate::reconcile::ReconcileSettings;
use crate::reconcile::error::ReconcileError;
use crate::reconcile::event_recorder::EventRecorder;
use crate::reconcile::executor::Executor;
use crate::reconcile::plan::{backwards, inventory, objects_named_by, stages_named_by};
use crate::reconcile::release_cache::ReleaseCache;
use crate::reconcile::secrets::secrets_of;
use crate::reconcile::session::Session;
use crate::reconcile::unfinished::Stage;
use crate::release::{FinishedHook, HistoryError, Journal, RecordOwner, Stored};
use crate::status::{EventReason, ReleaseReport};
use crate::telemetry::step;

/// Most objects are gone at once; one reconcile waits this long for them.
pub(super) const WAIT: Duration = Duration::from_secs(3);
pub(super) const POLL_INTERVAL: Duration = Duration::from_millis(100);

/// Deletes a release.
#[derive(Clone, Copy)]
pub(crate) struct Uninstall<'a> {
    pub(crate) executor: &'a Executor,
    pub(crate) dependents: &'a Dependents,
    pub(crate) recorder: &'a EventRecorder,
    pub(crate) settings: &'a ReconcileSettings,
    pub(crate) now: fn() -> Timestamp,
}

/// What has become of objects that are deleted.
#[derive(Debug, Default)]
pub(super) struct Deleted {
    /// Those that may still be there.
    pub(super) left: Vec<ObjectId>,
    /// What is still there and holds up the rest, of which nothing is deleted yet.
    pub(super) blockers: Vec<String>,
}

impl Uninstall<'_> {
    /// Deletes everything that the release's revisions name or that carries our mark, but what is to be kept, and waits
    /// until it is gone, unless the resource asks not to. What is still there, with what holds it, is the answer; where that
    /// is nothing, nothing of the release is left.
    pub(crate) async fn run(
        &self,
        session: &Session,
        cache: &mut ReleaseCache,
        leaving: LeavingRelease,
        stage: &Stage,
    ) -> Result<Vec<String>, ReconcileError> {
        let is_incomplete = leaving.is_incomplete();
        let LeavingRelease {
            mut revisions,
            unreadable,
            ..
        } = leaving;
        session.redactor.learn(secrets_of(&revisions, &[]));
        let is_taken_over = revisions.iter().any(Stored::is_signed);
        let is_doubtful = |stored: &&Stored| !stored.is_signed() && stored.owner == RecordOwner::Resource;
        let doubtful: Vec<Revision> = revisions
            .iter()
            .filter(is_doubtful)
            .map(|stored| stored.record.version)
            .collect();
        if !is_taken_over {
            // A release of Helm's that only has this name stays as it is, and of one whose keys are lost nothing is believed.
            revisions.clear();
        }
        if !doubtful.is_empty() {
            self.warn_of_doubtful(session, &doubtful);
        }
        if !unreadable.is_empty() {
            self.warn_of_unreadable(session, &unreadable);
        }
        if self.is_deleted(session, &revisions, stage).await? {
            self.finish(session, &revisions, is_taken_over, stage).await?;
            return Ok(Vec::new());
        }
        // What carries our mark goes too, should its revision have been lost.
        let unseen = self.dependents.find_unseen(&session.owner.uid);
        unseen.await.map_err(PruneError::from)?;
        let marked = if is_incomplete || !doubtful.is_empty() {
            let owner = &session.owner;
            self.executor
                .applier
                .all_marked(&owner.uid, &owner.release_namespace)
                .await?
        } else {
            self.dependents.owned(&session.owner.uid)
        };
        if revisions.is_empty() {
            session.log("Release not found");
        }
        // Not before the revisions are read: a deletion in the foreground takes them away at any moment.
        session.announce_end(cache, (self.now)()).await;
        if let Some(wait) = self.executor.hook_under_way(session, &revisions).await? {
            // A former process has left it running.
            let waiting = HookError::Waiting(Box::new(wait));
            return self.told(session, Err(waiting.into())).await;
        }
        let blockers = self.bring_back_sets(session, &revisions).await?;
        if !blockers.is_empty() {
            session.log("Uninstall wait");
            return Ok(blockers);
        }
        self.run_hooks_before(session, &mut revisions, stage).await?;
        let (deleted, goes_on) = self.delete_objects(session, &revisions, &marked).await?;
        let blockers = if session.controls.uninstall_wait == Some(false) {
            Vec::new()
        } else if !deleted.blockers.is_empty() {
            deleted.blockers
        } else {
            let wait = step("wait").objects(deleted.left.len());
            wait.of(self.wait_until_gone(session, deleted.left)).await?
        };
        // What others have marked and hold with a finalizer of theirs is waited for no longer than it takes to see that.
        if blockers.is_empty() && goes_on && self.dependents.look_for_more(&session.owner.uid) {
            return Ok(vec!["more objects that carry its UID".to_owned()]);
        }
        if !blockers.is_empty() {
            session.log("Uninstall wait");
            session.log("Waiting until all resources are deleted");
            return Ok(blockers);
        }
        self.finish(session, &revisions, is_taken_over, stage).await?;
        Ok(Vec::new())
    }

    /// Whether hooks run already that come after the last deletion. Their objects are nothing that is left to be deleted.
    async fn is_deleted(
        &self,
        session: &Session,
        revisions: &[Stored],
        stage: &Stage,
    ) -> Result<bool, ReconcileError> {
        let Some(last) = revisions.iter().rfind(|stored| stored.is_signed()) else {
            return Ok(false);
        };
        // Else they were those of an undoing.
        let has_begun =
            last.record.info.status == ReleaseStatus::Uninstalling && last.snapshot.undoing.is_none();
        Ok(has_begun
            && self
                .has_reached(session, last, HookEvent::PostDelete, stage)
                .await?)
    }

    /// Whether hooks of a revision have run or were started for an event of an end.
    pub(super) async fn has_reached(
        &self,
        session: &Session,
        last: &Stored,
        event: HookEvent,
        stage: &Stage,
    ) -> Result<bool, ReconcileError> {
        if session.controls.uninstall.hooks_disabled {
            return Ok(false);
        }
        let due = hooks_in_order(last.hooks(), event);
        // Those that are out of bounds by now do not run.
        let (hooks, _) = self.executor.admitted_hooks(session, due).await?;
        let journal = Journal::new(&session.history, last);
        let reached = self
            .executor
            .has_reached(session, (event, &hooks), Some(&journal), stage);
        reached.await
    }

    /// Deletes what the revisions name and what is `marked` as the release's, but what is to be kept, and what hooks have made:
    /// those of the end may need it. What may still be there
    /// is the answer, and whether any of what is only marked was not being deleted before.
    async fn delete_objects(
        &self,
        session: &Session,
        revisions: &[Stored],
        marked: &[(ObjectId, LiveObject)],
    ) -> Result<(Deleted, bool), ReconcileError> {
        let (mut named, mut proven) = (Vec::new(), BTreeSet::new());
        for stored in revisions {
            let objects = self
                .executor
                .identities(session, objects_named_by([stored]))
                .await?;
            if stored.is_signed() {
                // Nobody else can have had them named.
                proven.extend(objects.iter().map(|(id, _)| id.clone()));
                proven.extend(stored.snapshot.abandoned.iter().cloned());
            }
            named.extend(objects);
        }
        let abandoned = revisions.iter().flat_map(|stored| &stored.snapshot.abandoned);
        let unnamed = abandoned.chain(marked.iter().map(|(id, _)| id)).cloned();
        let mut objects = inventory(named, &unnamed.collect::<Vec<_>>());
        let of_hooks = self
            .made_by_hooks(session, &revisions.iter().collect::<Vec<_>>())
            .await?;
        objects.retain(|id, _| !of_hooks.contains(id));
        let labelled = objects.keys().filter(|id| !proven.contains(*id)).cloned();
        let mut labelled: BTreeSet<ObjectId> = labelled.collect();
        self.executor.retain_within_bounds(session, &mut labelled);
        objects.retain(|id, _| proven.contains(id) || labelled.contains(id));
        let is_going = |(id, live): &(ObjectId, LiveObject)| labelled.contains(id) && !live.deleting;
        let goes_on = marked.iter().any(is_going);
        let (kept, gone): (Vec<_>, Vec<_>) = objects.into_iter().partition(|(_, kept)| *kept);
        for (id, _) in kept {
            let orphaned = self.executor.applier.orphan(&session.owner, &id).await;
            Executor::unless_anothers(session, &labelled, &id, orphaned)?;
        }
        let delete = step("delete").objects(gone.len());
        let gone: Vec<ObjectId> = gone.into_iter().map(|(id, _)| id).collect();
        let stages = stages_named_by(revisions);
        let deleted = delete.of(self.delete_backwards(session, gone, &labelled, stages));
        Ok((deleted.await?, goes_on))
    }

    /// Deletes objects, those of the last of the `stages` first: what comes before goes when they are gone.
    pub(super) async fn delete_backwards(
        &self,
        session: &Session,
        ids: Vec<ObjectId>,
        labelled: &BTreeSet<ObjectId>,
        stages: Vec<Vec<RenderedObject>>,
    ) -> Result<Deleted, ReconcileError> {
        let stages = self.executor.identities_of(session, stages).await?;
        let waits = session.controls.uninstall_wait != Some(false);
        let mut groups = backwards(ids, |id| id, &stages).into_iter().peekable();
        let mut deleted = Deleted::default();
        while let Some(ids) = groups.next() {
            let left = self.delete_all(session, ids, labelled).await?;
            if waits && groups.peek().is_some() {
                deleted.blockers = self.wait_until_gone(session, left).await?;
                if !deleted.blockers.is_empty() {
                    return Ok(deleted);
                }
            } else {
                deleted.left.extend(left);
            }
        }
        Ok(deleted)
    }

    /// Runs the hooks that come after the last deletion, and deletes theirs and the revisions.
    async fn finish(
        &self,
        session: &Session,
        revisions: &[Stored],
        is_taken_over: bool,
        stage: &Stage,
    ) -> Result<(), ReconcileError> {
        let last = revisions.iter().rfind(|stored| stored.is_signed());
        let ran = self.run_hooks(session, last, HookEvent::PostDelete, stage).await;
        self.told(session, ran).await?;
        self.remove_hooks(session, revisions).await?;
        // Only the last one says that the deletion is over: without it an earlier one's would begin.
        let is_last = |stored: &Stored| last.is_some_and(|last| std::ptr::eq(last, stored));
        let earlier = revisions.iter().filter(|stored| !is_last(stored));
        for stored in earlier.filter(|stored| stored.parts.is_some()) {
            session.history.delete(stored).await?;
        }
        session.history.purge(is_taken_over, last).await?;
        if let Some(last) = last {
            session.history.delete(last).await?;
        }
        if !revisions.is_empty() {
            session.log("Uninstalled release");
        }
        Ok(())
    }

    /// Some revisions of the resource's own are not believed: no hook of theirs runs.
    fn warn_of_doubtful(&self, session: &Session, revisions: &[Revision]) {
        let revisions: Vec<String> = revisions.iter().map(ToString::to_string).collect();
        let message = format!(
            "the operator has not signed revision {}, so no hook of it runs; what carries the resource's UID is deleted",
            revisions.join(", ")
        );
        tracing::warn!(release = %session.release, "{message}");
        self.recorder
            .event(session, EventReason::HistoryUnsigned, &message);
    }

    /// Leaves the release to the deletion of its namespace. What it has elsewhere stays, as nobody is left who may
    /// delete it; the log names that.
    pub(crate) async fn leave_to_namespace(
        &self,
        session: &Session,
        error: &ReconcileError,
    ) -> Result<(), ReconcileError> {
        let owner = &session.owner;
        let (revisions, _) = match session.history.load_readable().await {
            Err(HistoryError::Owned { .. }) => (Vec::new(), Vec::new()),
            loaded => loaded?,
        };
        let mut left: BTreeSet<ObjectId> = self
            .dependents
            .owned(&owner.uid)
            .into_iter()
            .filter(|(_, live)| !live.kept)
            .map(|(id, _)| id)
            .collect();
        let named = self
            .executor
            .identities(session, objects_named_by(&revisions))
            .await?;
        left.extend(
            named
                .into_iter()
                .filter(|(_, object)| !object.is_kept())
                .map(|(id, _)| id),
        );
        for stored in &revisions {
            left.extend(stored.snapshot.abandoned.iter().cloned());
            left.extend(stored.snapshot.hook_objects.iter().cloned());
        }
        left.retain(|id| id.namespace.as_ref() != Some(&owner.release_namespace));
        let left: Vec<String> = left.iter().map(ToString::to_string).collect();
        tracing::warn!(
            release = %session.release,
            error = session.redactor.mask(&chain(error)),
            stays = left.join(", "),
            "the release goes with its namespace, as its ServiceAccount may not delete it any more"
        );
        Ok(())
    }

    /// Some revisions can't be read: what is found by its mark goes nevertheless, and the rest is
    /// the user's to look for.
    fn warn_of_unreadable(&self, session: &Session, unreadable: &[HistoryError]) {
        let reasons: Vec<String> = unreadable.iter().map(|error| chain(error)).collect();
        let message = format!(
            "not every revision can be read; what carries the resource's UID is deleted, what was never marked may \
             stay: {}",
            reasons.join("; ")
        );
        tracing::warn!(release = %session.release, "{message}");
        self.recorder
            .event(session, EventReason::HistoryUnreadable, &message);
    }

    /// Deletes what hooks of any revision have left.
    async fn remove_hooks(&self, session: &Session, revisions: &[Stored]) -> Result<(), ReconcileError> {
        let (applier, owner) = (&self.executor.applier, &session.owner);
        let newest_first = revisions.iter().rev();
        let hooks: Vec<_> = newest_first.flat_map(Stored::hooks).collect();
        let decided = applier.remove_hooks(owner, &hooks).await?;
        let left = revisions.iter().flat_map(|stored| &stored.snapshot.hook_objects);
        let left: BTreeSet<&ObjectId> = left.filter(|id| !decided.contains(id)).collect();
        for id in left {
            if applier.delete(owner, id).await? == Deletion::Kept {
                applier.orphan(owner, id).await?;
            }
        }
        Ok(())
    }

    /// Runs the hooks that come before the first deletion, once.
    async fn run_hooks_before(
        &self,
        session: &Session,
        revisions: &mut [Stored],
        stage: &Stage,
    ) -> Result<(), ReconcileError> {
        let Some(last) = revisions.iter_mut().rfind(|stored| stored.is_signed()) else {
            return Ok(());
        };
        if last.record.info.status == ReleaseStatus::Uninstalling {
            return Ok(());
        }
        if last.snapshot.undoing.is_some() {
            last.snapshot = std::mem::take(&mut last.snapshot).with_undoing(None);
            session.history.write_snapshot(last, &last.snapshot).await?;
        }
        let ran = self
            .run_hooks(session, Some(last), HookEvent::PreDelete, stage)
            .await;
        let finished = self.told(session, ran).await?;
        last.snapshot.finished_hooks = finished;
        last.record.info.status = ReleaseStatus::Uninstalling;
        "Deletion in progress (or silently failed)".clone_into(&mut last.record.info.description);
        match session.history.update(last, (self.now)()).await {
            Err(HistoryError::Request { source, .. }) if source.is_namespace_terminating() => Ok(()),
            written => Ok(written?),
        }
    }

    /// Says in the status which hook the deletion waits for.
    async fn told<T>(&self, session: &Session, ran: Result<T, ReconcileError>) -> Result<T, ReconcileError> {
        if let Err(error) = &ran
            && let Some(wait) = error.awaited()
        {
            let words = session.redactor.mask_own(&wait.to_string());
            let words = format!("the release is being uninstalled; {words}");
            let report = ReleaseReport::UninstallingAfter(words);
            session.announce_more(&report, (self.now)()).await?;
        }
        ran
    }

    /// Runs the hooks of the last revision for an event; what has run of it since it was stored is the answer.
    pub(super) async fn run_hooks(
        &self,
        session: &Session,
        last: Option<&Stored>,
        event: HookEvent,
        stage: &Stage,
    ) -> Result<Vec<FinishedHook>, ReconcileError> {
        let Some(last) = last else {
            return Ok(Vec::new());
        };
        let journal = Journal::new(&session.history, last);
        if session.controls.uninstall.hooks_disabled {
            return Ok(journal.into_finished());
        }
        let due = hooks_in_order(last.hooks(), event);
        let (hooks, refused) = self.executor.admitted_hooks(session, due).await?;
        // A deletion does not wait for what was made before the watch had bounds.
        self.say_left_out(session, refused.iter().map(|error| chain(error)).collect());
        // The kind may have gone with what was deleted. What comes before that, a backup say, is needed.
        let left_out = LeftOut::default();
        let hooks = HookRun {
            hooks: &hooks,
            event,
            timeout: self.settings.releases.hook_timeout,
            journal: &journal,
            resumed: stage.wait.as_ref(),
            is_retry: stage.is_retry,
            is_recovery: false,
            left_out: (event == HookEvent::PostDelete).then_some(&left_out),
            ends: session.progress.hook_ends(),
            redactor: &session.redactor,
        };
        let ran = self.executor.applier.run_hooks(&session.owner, hooks).await;
        let gone = left_out.into_reasons();
        self.say_left_out(session, gone.iter().map(|error| chain(error)).collect());
        unless_terminating(session, ran)?;
        Ok(journal.into_finished())
    }

    fn say_left_out(&self, session: &Session, reasons: Vec<String>) {
        for reason in session.redactor.mask_all(&reasons) {
            let message = format!("left out: {reason}");
            tracing::warn!(release = %session.release, "{message}");
            self.recorder.event(session, EventReason::HookLeftOut, &message);
        }
    }

    /// Which objects without an end hooks have made, as the newest revision says that names them: those go when all hooks have
    /// run, as these may need them. A Job that has ended would be in the way of its next run.
    pub(super) async fn made_by_hooks(
        &self,
        session: &Session,
        revisions: &[&Stored],
    ) -> Result<BTreeSet<ObjectId>, ReconcileError> {
        let (executor, owner) = (self.executor, &session.owner);
        let mut made = BTreeSet::new();
        for &stored in revisions {
            if !stored.is_signed() {
                continue;
            }
            let hooks: Vec<_> = stored.hooks().iter().collect();
            let objects = executor.applier.objects_of_hooks(owner, &hooks).await;
            made.extend(stored.snapshot.hook_objects.iter().cloned());
            made.extend(objects.map_err(HookError::from)?);
            for (id, _) in executor.identities(session, objects_named_by([stored])).await? {
                made.remove(&id);
            }
        }
        made.retain(|id| !has_an_end(id));
        Ok(made)
    }

    /// Deletes objects in Helm's order; those that may still be there are the answer. What says itself that it is to be
    /// kept loses our marks instead. Of `labelled` only their label says that they are the release's: nobody waits for them,
    /// as anybody can put it on an object with a finalizer that stays.
    pub(super) async fn delete_all(
        &self,
        session: &Session,
        mut ids: Vec<ObjectId>,
        labelled: &BTreeSet<ObjectId>,
    ) -> Result<Vec<ObjectId>, ReconcileError> {
        let applier = &self.executor.applier;
        ids.sort_by(|a, b| steersman_chart::manifest::uninstall_order(&a.kind, &b.kind));
        let mut waiting = Vec::new();
        for id in ids {
            let deleted = applier.delete(&session.owner, &id).await;
            match Executor::unless_anothers(session, labelled, &id, deleted)? {
                Some(Deletion::Gone | Deletion::Applied) | None => {}
                Some(Deletion::Accepted) if labelled.contains(&id) => {}
                Some(Deletion::Accepted) => waiting.push(id),
                Some(Deletion::Kept) => {
                    let orphaned = applier.orphan(&session.owner, &id).await;
                    Executor::unless_anothers(session, labelled, &id, orphaned)?;
                    tracing::info!(release = %session.release, object = %id, "kept, as the object itself says");
                }
                Some(Deletion::NotOurs(reason)) => {
                    tracing::warn!(release = %session.release, object = %id, reason, "left alone, as it is not ours");
                }
            }
        }
        Ok(waiting)
    }

    /// Waits a little for objects that are being deleted; what is still there then, with what holds
    /// it, is the answer.
    pub(super) async fn wait_until_gone(
        &self,
        session: &Session,
        mut waiting: Vec<ObjectId>,
    ) -> Result<Vec<String>, ReconcileError> {
        let applier = &self.executor.applier;
        let deadline = tokio::time::Instant::now() + WAIT;
        loop {
            let mut blockers = Vec::new();
            let mut still = Vec::new();
            for id in waiting {
                match applier.remains(&session.owner, &id).await {
                    Ok(Some(blocker)) => {
                        blockers.push(blocker);
                        still.push(id);
                    }
                    Ok(None) => {}
                    // Its deletion was accepted, and what may not be looked at can't be waited for.
                    Err(PruneError::Request { source, .. }) if source.code == 403 => {}
                    Err(error) => return Err(error.into()),
                }
            }
            let stopping = self.dependents.is_stopping();
            if blockers.is_empty() || stopping || tokio::time::Instant::now() >= deadline {
                return Ok(blockers);
            }
            waiting = still;
            tokio::time::sleep(POLL_INTERVAL).await;
        }
    }
}

/// In a namespace that is being deleted nothing can be created, so no hook can run, and the
/// namespace waits for us.
fn unless_terminating(session: &Session, ran: Result<(), HookError>) -> Result<(), ReconcileError> {
    match ran {
        Err(HookError::Request { source, .. }) if source.is_namespace_terminating() => {
            session.log("Hooks are left out, as the namespace is being deleted");
            Ok(())
        }
        ran => Ok(ran.map(drop)?),
    }
}

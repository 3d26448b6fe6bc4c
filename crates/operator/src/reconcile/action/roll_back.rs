//! Undoing what a failed revision has done, where the user wants that.

use std::collections::BTreeSet;

use jiff::Timestamp;
use steersman_chart::HookEvent;
use steersman_model::{ObjectId, ReleaseStatus, chain};

use super::correct_drift::update_fields;
use super::uninstall::Uninstall;
use crate::apply::HookWait;
use crate::reconcile::ReconcileSettings;
use crate::reconcile::error::ReconcileError;
use crate::reconcile::event_recorder::EventRecorder;
use crate::reconcile::executor::{Carried, Executor};
use crate::reconcile::lookups::Lookups;
use crate::reconcile::plan::{Plan, inventory, objects_named_by, stages_named_by};
use crate::reconcile::progress::Remedy;
use crate::reconcile::release_cache::ReleaseCache;
use crate::reconcile::session::Session;
use crate::reconcile::unfinished::Stage;
use crate::release::{Journal, SnapshotObject, Stored};
use crate::status::EventReason;

/// Goes back to what was in effect before a revision failed.
#[derive(Clone, Copy)]
pub(crate) struct RollBack<'a> {
    pub(crate) executor: &'a Executor,
    pub(crate) recorder: &'a EventRecorder,
    pub(crate) lookups: Lookups<'a>,
    pub(crate) uninstall: Uninstall<'a>,
    pub(crate) settings: &'a ReconcileSettings,
    pub(crate) now: fn() -> Timestamp,
}

/// Why a failed revision is not undone.
pub(super) enum NotUndone {
    /// One of its hooks has not ended.
    Waits(HookWait),
    /// The same may succeed later.
    Yet(ReconcileError),
}

impl RollBack<'_> {
    /// Brings the deployed revision among `earlier` into effect again, or, if there is none and it `removes`, removes what
    /// `failed` has installed. The history stays as it is: the one revision is
    /// deployed, the other failed.
    ///
    /// # Errors
    /// It is to be gone on with later. That it can't be undone at all is none: it is told with the failure.
    pub(super) async fn undo(
        &self,
        session: &Session,
        cache: &mut ReleaseCache,
        failed: &Stored,
        earlier: &[Stored],
        removes: bool,
        stage: &mut Stage,
    ) -> Result<(), NotUndone> {
        let deployed = earlier
            .iter()
            .rfind(|stored| stored.record.info.status == ReleaseStatus::Deployed);
        let (attempt, undone) = match deployed {
            Some(good) if !good.is_signed() => {
                session.progress.note_remedy(Remedy {
                    text: format!(
                        "revision {} is not applied again, as the operator has not written it",
                        good.record.version
                    ),
                    done: false,
                });
                return Ok(());
            }
            Some(good) => (
                format!("rolled back to revision {}", good.record.version),
                self.restore(session, cache, good, failed, earlier, stage).await,
            ),
            None if removes => (
                "what it has installed is removed".to_owned(),
                self.remove(session, failed, earlier, stage).await,
            ),
            None => return Ok(()),
        };
        let undone = match undone {
            Err(error) if error.awaited().is_some() || error.is_transient() => {
                let wait = error.awaited().cloned();
                return Err(wait.map_or_else(|| NotUndone::Yet(error), NotUndone::Waits));
            }
            undone => undone,
        };
        let text = match &undone {
            Ok(()) => {
                session.log("Rolled back release");
                self.recorder
                    .event(session, EventReason::ReleaseRolledBack, &attempt);
                attempt
            }
            Err(error) => {
                let cause = session.redactor.mask(&chain(error));
                session.log_error("failed to roll back", &cause);
                format!("and it can't be undone: {cause}")
            }
        };
        session.progress.note_remedy(Remedy {
            text,
            done: undone.is_ok(),
        });
        Ok(())
    }

    async fn restore(
        &self,
        session: &Session,
        cache: &mut ReleaseCache,
        good: &Stored,
        failed: &Stored,
        earlier: &[Stored],
        stage: &mut Stage,
    ) -> Result<(), ReconcileError> {
        let target = std::slice::from_ref(good);
        self.lookups.learn_secrets(session, cache, target).await?;
        let mut plan = Plan::roll_back(self.settings, &stage.controls(session), good, failed, earlier)?;
        plan.completed = self.completed(session, good);
        if stage.wait.is_none()
            && let Some(doing) = plan.decision.underway(session.release.as_str())
        {
            self.executor.say(session, doing).await?;
        }
        let journal = Journal::new(&session.history, failed);
        let carried = self.executor.carry_out(session, &plan, Some(&journal), stage);
        let Carried::Out(changes) = carried.await? else {
            return Ok(());
        };
        let mut good = good.clone();
        if update_fields(&mut good, &changes) {
            session.history.update(&mut good, (self.now)()).await?;
        }
        cache.note_applied(&changes);
        Ok(())
    }

    /// The Jobs of `good` that have done their work, unless one is there as that revision has left it. What the failed
    /// revision has under their names is pruned.
    fn completed(&self, session: &Session, good: &Stored) -> BTreeSet<ObjectId> {
        let dependents = self.executor.applier.dependents();
        let is_left = |object: &&SnapshotObject| {
            let live = dependents.live(&session.owner.uid, &object.id);
            let live = live.and_then(|live| live.fields);
            live.zip(object.fields())
                .is_some_and(|(live, left)| left.are_those_of(live))
        };
        let completed = good.snapshot.objects.iter().filter(|object| object.completed);
        completed
            .filter(|object| !is_left(object))
            .map(|object| object.id.clone())
            .collect()
    }

    async fn remove(
        &self,
        session: &Session,
        failed: &Stored,
        earlier: &[Stored],
        stage: &Stage,
    ) -> Result<(), ReconcileError> {
        let release = &session.release;
        let doing = format!("what release {release} has installed is being removed, as that has failed");
        if stage.wait.is_none() {
            self.executor.say(session, doing.clone()).await?;
        }
        let uninstall = &self.uninstall;
        let is_removed = uninstall.has_reached(session, failed, HookEvent::PostDelete, stage);
        if !is_removed.await? {
            self.remove_objects(session, failed, earlier, (stage, &doing))
                .await?;
        }
        let after = uninstall.run_hooks(session, Some(failed), HookEvent::PostDelete, stage);
        self.executor.say_awaited(session, &doing, after.await).await?;
        let hooks: Vec<_> = failed.hooks().iter().collect();
        self.executor.applier.remove_hooks(&session.owner, &hooks).await?;
        Ok(())
    }

    /// Removes the objects of a revision that has failed, behind the hooks that come before that.
    async fn remove_objects(
        &self,
        session: &Session,
        failed: &Stored,
        earlier: &[Stored],
        (stage, doing): (&Stage, &str),
    ) -> Result<(), ReconcileError> {
        let uninstall = &self.uninstall;
        let before = uninstall.run_hooks(session, Some(failed), HookEvent::PreDelete, stage);
        self.executor.say_awaited(session, doing, before.await).await?;
        let revisions = earlier.iter().chain(std::iter::once(failed));
        let of_hooks = uninstall
            .made_by_hooks(session, &revisions.clone().collect::<Vec<_>>())
            .await?;
        let named = objects_named_by(revisions.clone());
        let named = self.executor.identities(session, named).await?;
        let abandoned = revisions.flat_map(|stored| stored.snapshot.abandoned.iter().cloned());
        let objects = inventory(named, &abandoned.collect::<Vec<_>>());
        let gone = objects
            .into_iter()
            .filter(|(id, kept)| !kept && !of_hooks.contains(id));
        let gone = gone.map(|(id, _)| id).collect();
        let stages = stages_named_by(earlier.iter().chain([failed]));
        let deleted = uninstall
            .delete_backwards(session, gone, &BTreeSet::new(), stages)
            .await?;
        if !deleted.blockers.is_empty() {
            return Err(ReconcileError::StillThere {
                objects: deleted.blockers.join(", "),
            });
        }
        let blockers = uninstall.wait_until_gone(session, deleted.left).await?;
        if !blockers.is_empty() {
            tracing::warn!(release = %session.release, still_there = blockers.join(", "), "waiting for deletions");
        }
        Ok(())
    }
}

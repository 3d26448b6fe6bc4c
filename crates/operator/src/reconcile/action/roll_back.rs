//! Undoing what a failed revision has done, where the user wants that.

use super::super::Reconciler;
use super::super::error::ReconcileError;
use super::super::memory::Memory;
use super::super::session::{Remedy, Session};
use super::correct_drift::update_digests;
use super::deploy::in_effect;
use crate::apply::{ApplyOptions, Handover, Moment};
use crate::release::Stored;
use crate::status::EventKind;
use steersman_model::ReleaseStatus;
use steersman_model::{chain, objects_of_manifest};

impl Reconciler {
    /// Brings the deployed revision among `earlier` into effect again, or, when no revision ever
    /// was, removes what `failed` has installed. The history stays as it is: the one revision is
    /// deployed, the other failed.
    pub(super) async fn undo(
        &self,
        session: &mut Session,
        memory: &mut Memory,
        failed: &Stored,
        earlier: &[Stored],
    ) {
        let deployed = earlier
            .iter()
            .rfind(|stored| stored.record.info.status == ReleaseStatus::Deployed);
        let (attempt, undone) = match deployed {
            Some(good) => (
                format!("rolled back to revision {}", good.record.version),
                self.roll_back(session, memory, good, failed, earlier).await,
            ),
            None if session.first => (
                "what it has installed is removed".to_owned(),
                self.remove(session, failed, earlier).await,
            ),
            None => return,
        };
        let text = match &undone {
            Ok(()) => {
                session.log("Rolled back release");
                self.event(session, EventKind::Normal, "ReleaseRolledBack", &attempt);
                attempt
            }
            Err(error) => {
                let cause = session.redactor.mask(&chain(error));
                session.log_error("failed to roll back", &cause);
                format!("and it can't be undone: {cause}")
            }
        };
        session.remedy = Some(Remedy {
            text,
            done: undone.is_ok(),
        });
    }

    async fn roll_back(
        &self,
        session: &Session,
        memory: &mut Memory,
        good: &Stored,
        failed: &Stored,
        earlier: &[Stored],
    ) -> Result<(), ReconcileError> {
        let objects = objects_of_manifest(&good.record.manifest)?;
        let hooks = match &good.record.hooks {
            Some(hooks) if !session.controls.upgrade.hooks_disabled => hooks.as_slice(),
            _ => &[],
        };
        let (applier, owner) = (&self.shared.applier, &session.owner);
        let timeout = self.settings.releases.hook_timeout;
        let revision = failed.record.version;
        applier
            .run_hooks(owner, hooks, (revision, Moment::PreRollback), timeout)
            .await?;
        let options = ApplyOptions {
            recreate: session.controls.rollback_force,
            conflicts: self.settings.conflicts,
            ..ApplyOptions::default()
        };
        let (rules, before) = (&self.settings.drift.ignore, objects.clone());
        let objects = applier
            .leave_to_others(owner, rules, objects, before, Handover::Make)
            .await?;
        let changes = applier.apply_with(owner, objects, options).await?;
        let abandoned = &failed.snapshot.abandoned;
        let revisions = in_effect(earlier).iter().chain(std::iter::once(failed));
        self.prune(session, &changes, abandoned, revisions).await?;
        applier
            .run_hooks(owner, hooks, (revision, Moment::PostRollback), timeout)
            .await?;
        let mut good = good.clone();
        if update_digests(&mut good, &changes) {
            session.history.update(&good, (self.shared.now)()).await?;
        }
        memory.note_applied(&changes);
        Ok(())
    }

    async fn remove(
        &self,
        session: &Session,
        failed: &Stored,
        earlier: &[Stored],
    ) -> Result<(), ReconcileError> {
        let hooks = failed.record.hooks.as_deref().unwrap_or_default();
        self.run_uninstall_hooks(session, Some(failed), Moment::PreDelete)
            .await?;
        let revisions = earlier.iter().chain(std::iter::once(failed));
        let objects = self.inventory(session, revisions.clone()).await?;
        let named = objects.iter().filter(|(_, object)| !object.is_kept());
        let named = named.map(|(id, _)| id.clone());
        let abandoned = revisions.flat_map(|stored| stored.snapshot.abandoned.iter().cloned());
        let deleted = self.delete_all(session, named.chain(abandoned).collect()).await?;
        let blockers = self.wait_until_gone(session, deleted).await?;
        if !blockers.is_empty() {
            tracing::warn!(release = %session.release, still_there = blockers.join(", "), "waiting for deletions");
        }
        self.run_uninstall_hooks(session, Some(failed), Moment::PostDelete)
            .await?;
        self.shared.applier.remove_hooks(&session.owner, hooks).await?;
        Ok(())
    }
}

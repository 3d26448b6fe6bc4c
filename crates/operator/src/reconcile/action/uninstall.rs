//! Removing a release.

use std::time::Duration;

use super::super::Reconciler;
use super::super::error::ReconcileError;
use super::super::secrets::redactor;
use super::super::session::Session;
use crate::apply::{Deletion, HookError, Moment};
use crate::release::{HistoryError, HookRecord, Stored};
use crate::status::EventKind;
use crate::telemetry::step;
use steersman_model::ReleaseStatus;
use steersman_model::{ObjectId, chain};
use steersman_watches::controls::DeletionPolicy;

/// Most objects are gone at once; one reconcile waits this long for them.
const WAIT: Duration = Duration::from_secs(3);
const POLL_INTERVAL: Duration = Duration::from_millis(100);

impl Reconciler {
    /// Deletes everything that the release's revisions name, but what is to be kept, waits until it is gone, unless the
    /// resource asks not to, and lets the resource go. What is still there, with what holds it, is
    /// the answer.
    pub(in super::super) async fn uninstall(
        &self,
        session: &mut Session,
    ) -> Result<Vec<String>, ReconcileError> {
        match session.deletion_policy() {
            DeletionPolicy::Delete => {}
            DeletionPolicy::Orphan => {
                self.let_go(session).await?;
                return Ok(Vec::new());
            }
            DeletionPolicy::Unclear => return Err(ReconcileError::DeletionPolicy),
        }
        let (mut revisions, unreadable) = match session.history.load_readable().await {
            // The release is another resource's; this one never had any.
            Err(HistoryError::Owned { .. }) => (Vec::new(), Vec::new()),
            loaded => loaded?,
        };
        session.redactor = redactor(session, &revisions, &[]);
        // What carries our mark goes too, should its revision have been lost.
        let marked = self.shared.dependents.owned(&session.owner.uid);
        let (kept, marked): (Vec<_>, Vec<_>) = marked.into_iter().partition(|(_, live)| live.kept);
        let mut kept: Vec<ObjectId> = kept.into_iter().map(|(id, _)| id).collect();
        let mut ids: Vec<ObjectId> = marked.into_iter().map(|(id, _)| id).collect();
        if !unreadable.is_empty() {
            self.tell_unreadable(session, &unreadable);
            ids.extend(self.shared.applier.all_marked(&session.owner).await?);
        }
        if revisions.is_empty() {
            session.log("Release not found");
        }
        self.begin(session, &mut revisions).await?;
        let objects = self.inventory(session, &revisions).await?;
        for (id, object) in objects {
            if object.is_kept() { &mut kept } else { &mut ids }.push(id);
        }
        let abandoned = revisions.iter().flat_map(|stored| &stored.snapshot.abandoned);
        ids.extend(abandoned.cloned());
        for id in kept.iter().filter(|id| !ids.contains(id)) {
            self.shared.applier.disown(&session.owner, id).await?;
        }
        let delete = step("delete").objects(ids.len());
        let deleted = delete.of(self.delete_all(session, ids)).await?;
        let blockers = if session.controls.uninstall_wait == Some(false) {
            Vec::new()
        } else {
            let wait = step("wait").objects(deleted.len());
            wait.of(self.wait_until_gone(session, deleted)).await?
        };
        if !blockers.is_empty() {
            session.log("Uninstall wait");
            session.log("Waiting until all resources are deleted");
            return Ok(blockers);
        }
        self.run_uninstall_hooks(session, revisions.last(), Moment::PostDelete)
            .await?;
        self.remove_hooks(session, &revisions).await?;
        for stored in revisions.iter().filter(|stored| stored.parts.is_some()) {
            session.history.delete(stored).await?;
        }
        session.history.purge().await?;
        if !revisions.is_empty() {
            session.log("Uninstalled release");
        }
        session.release_hold().await?;
        Ok(Vec::new())
    }

    /// Some revisions can't be read: what is found by its mark goes nevertheless, and the rest is
    /// the user's to look for.
    fn tell_unreadable(&self, session: &Session, unreadable: &[HistoryError]) {
        let reasons: Vec<String> = unreadable.iter().map(|error| chain(error)).collect();
        let message = format!(
            "not every revision can be read; what carries the resource's UID is deleted, what was never marked may \
             stay: {}",
            reasons.join("; ")
        );
        tracing::warn!(release = %session.release, "{message}");
        self.event(session, EventKind::Warning, "HistoryUnreadable", &message);
    }

    /// Deletes what hooks of any revision have left.
    async fn remove_hooks(&self, session: &Session, revisions: &[Stored]) -> Result<(), ReconcileError> {
        let (applier, owner) = (&self.shared.applier, &session.owner);
        for stored in revisions.iter().rev() {
            applier.remove_hooks(owner, hooks_of(Some(stored))).await?;
        }
        for id in revisions.iter().flat_map(|stored| &stored.snapshot.hook_objects) {
            applier.delete(owner, id).await?;
        }
        Ok(())
    }

    /// Runs the hooks that come before the first deletion, once.
    async fn begin(&self, session: &Session, revisions: &mut [Stored]) -> Result<(), ReconcileError> {
        let Some(last) = revisions.last_mut() else {
            return Ok(());
        };
        if last.record.info.status == ReleaseStatus::Uninstalling {
            return Ok(());
        }
        self.run_uninstall_hooks(session, Some(last), Moment::PreDelete)
            .await?;
        last.record.info.status = ReleaseStatus::Uninstalling;
        "Deletion in progress (or silently failed)".clone_into(&mut last.record.info.description);
        match session.history.update(last, (self.shared.now)()).await {
            Err(HistoryError::Request { source, .. }) if source.is_namespace_terminating() => Ok(()),
            written => Ok(written?),
        }
    }

    pub(super) async fn run_uninstall_hooks(
        &self,
        session: &Session,
        last: Option<&Stored>,
        moment: Moment,
    ) -> Result<(), ReconcileError> {
        let Some(last) = last.filter(|_| !session.controls.uninstall.hooks_disabled) else {
            return Ok(());
        };
        let (hooks, revision) = (hooks_of(Some(last)), last.record.version);
        let timeout = self.settings.releases.hook_timeout;
        let applier = &self.shared.applier;
        let ran = applier
            .run_hooks(&session.owner, hooks, (revision, moment), timeout)
            .await;
        unless_terminating(session, ran)
    }

    /// Deletes objects in Helm's order; those that may still be there are the answer.
    pub(super) async fn delete_all(
        &self,
        session: &Session,
        mut ids: Vec<ObjectId>,
    ) -> Result<Vec<ObjectId>, ReconcileError> {
        let applier = &self.shared.applier;
        ids.sort();
        ids.dedup();
        ids.sort_by(|a, b| steersman_chart::manifest::uninstall_order(&a.kind, &b.kind));
        let mut waiting = Vec::new();
        for id in ids {
            match applier.delete(&session.owner, &id).await? {
                Deletion::Gone => {}
                Deletion::Accepted => waiting.push(id),
                Deletion::NotOurs(reason) => {
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
        let applier = &self.shared.applier;
        let deadline = tokio::time::Instant::now() + WAIT;
        loop {
            let mut blockers = Vec::new();
            let mut still = Vec::new();
            for id in waiting {
                if let Some(blocker) = applier.remains(&session.owner, &id).await? {
                    blockers.push(blocker);
                    still.push(id);
                }
            }
            let stopping = self.shared.dependents.is_stopping();
            if blockers.is_empty() || stopping || tokio::time::Instant::now() >= deadline {
                return Ok(blockers);
            }
            waiting = still;
            tokio::time::sleep(POLL_INTERVAL).await;
        }
    }
}

fn hooks_of(stored: Option<&Stored>) -> &[HookRecord] {
    stored
        .and_then(|stored| stored.record.hooks.as_deref())
        .unwrap_or_default()
}

/// In a namespace that is being deleted nothing can be created, so no hook can run, and the
/// namespace waits for us.
fn unless_terminating(session: &Session, ran: Result<usize, HookError>) -> Result<(), ReconcileError> {
    match ran {
        Err(HookError::Request { source, .. }) if source.is_namespace_terminating() => {
            session.log("Hooks are left out, as the namespace is being deleted");
            Ok(())
        }
        ran => Ok(ran.map(drop)?),
    }
}

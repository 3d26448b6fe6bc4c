//! A custom resource that is deleted without its objects.

use std::collections::BTreeSet;

use steersman_model::{ObjectId, chain};

use super::leaving::LeavingRelease;
use crate::reconcile::error::ReconcileError;
use crate::reconcile::event_recorder::EventRecorder;
use crate::reconcile::executor::Executor;
use crate::reconcile::plan::objects_named_by;
use crate::reconcile::session::Session;
use crate::release::Stored;
use crate::status::EventReason;

/// Takes our marks off the objects and the revisions, so that neither we nor the garbage
/// collector delete them.
///
/// Another resource of the same name, Helm, or helm-operator can take the release over.
pub(crate) struct OrphanObjects<'a> {
    pub(crate) executor: &'a Executor,
    pub(crate) recorder: &'a EventRecorder,
}

impl OrphanObjects<'_> {
    pub(crate) async fn run(
        &self,
        session: &Session,
        leaving: &LeavingRelease,
    ) -> Result<(), ReconcileError> {
        let (applier, owner) = (&self.executor.applier, &session.owner);
        let named = objects_named_by(&leaving.revisions);
        let named = self.executor.identities(session, named).await?;
        if let Some(error) = leaving.unreadable.first() {
            tracing::warn!(release = %session.release, error = %chain(error), "not every revision can be read");
        }
        // Among these is what hooks of revisions have left that are stored no more.
        let marked = applier.all_marked(&owner.uid, &owner.release_namespace).await?;
        let named: BTreeSet<ObjectId> = named.into_iter().map(|(id, _)| id).collect();
        let marked = marked.into_iter().map(|(id, _)| id);
        let mut labelled: BTreeSet<ObjectId> = marked.filter(|id| !named.contains(id)).collect();
        self.executor.retain_within_bounds(session, &mut labelled);
        for id in named.iter().chain(&labelled) {
            let orphaned = applier.orphan(owner, id).await;
            Executor::unless_anothers(session, &labelled, id, orphaned)?;
        }
        self.orphan_hooks(session, &leaving.revisions).await?;
        session.history.orphan().await?;
        session.log("Objects of the release stay");
        let message = format!("the objects of release {} stay, and its history", session.release);
        self.recorder
            .event(session, EventReason::ReleaseOrphaned, &message);
        Ok(())
    }

    /// What hooks of any revision have left may be what the release lives on, such as a generated password.
    async fn orphan_hooks(&self, session: &Session, revisions: &[Stored]) -> Result<(), ReconcileError> {
        let (applier, owner) = (&self.executor.applier, &session.owner);
        let hooks: Vec<_> = revisions.iter().flat_map(Stored::hooks).collect();
        let named = applier.objects_of_hooks(owner, &hooks).await?;
        let left = revisions.iter().flat_map(|stored| &stored.snapshot.hook_objects);
        let ids: BTreeSet<&ObjectId> = named.iter().chain(left).collect();
        for id in ids {
            applier.orphan(owner, id).await?;
        }
        Ok(())
    }
}

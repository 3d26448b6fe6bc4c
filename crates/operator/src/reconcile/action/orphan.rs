//! A custom resource that is deleted without its objects.

use std::collections::BTreeSet;

use steersman_model::{ObjectId, chain};

use super::leaving::LeavingRelease;
use crate::dependents::Dependents;
use crate::reconcile::error::ReconcileError;
use crate::reconcile::executor::Executor;
use crate::reconcile::plan::objects_named_by;
use crate::reconcile::recorder::Recorder;
use crate::reconcile::session::Session;
use crate::status::EventReason;

/// Takes our marks off the objects and the revisions, so that neither we nor the garbage
/// collector delete them.
///
/// Another resource of the same name, Helm, or helm-operator can take the release over.
pub(crate) struct OrphanObjects<'a> {
    pub(crate) executor: &'a Executor,
    pub(crate) dependents: &'a Dependents,
    pub(crate) recorder: &'a Recorder,
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
        let marked = if leaving.is_incomplete() {
            applier.all_marked(owner).await?
        } else {
            self.dependents.owned(&owner.uid)
        };
        let named = named.into_iter().map(|(id, _)| id);
        let ids: BTreeSet<ObjectId> = named.chain(marked.into_iter().map(|(id, _)| id)).collect();
        for id in &ids {
            applier.orphan(owner, id).await?;
        }
        session.history.orphan().await?;
        session.log("Objects of the release stay");
        let message = format!("the objects of release {} stay, and its history", session.release);
        self.recorder
            .event(session, EventReason::ReleaseOrphaned, &message);
        Ok(())
    }
}

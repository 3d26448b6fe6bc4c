//! A custom resource that is deleted without its objects.

use steersman_model::{ObjectId, chain};

use crate::dependents::Dependents;
use crate::reconcile::error::ReconcileError;
use crate::reconcile::executor::Executor;
use crate::reconcile::plan::objects_named_by;
use crate::reconcile::recorder::Recorder;
use crate::reconcile::session::Session;
use crate::release::HistoryError;
use crate::status::EventKind;

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
    pub(crate) async fn run(&self, session: &Session) -> Result<(), ReconcileError> {
        let (revisions, unreadable) = match session.history.load_readable().await {
            // The release is another resource's; this one never had any.
            Err(HistoryError::Owned { .. }) => (Vec::new(), Vec::new()),
            loaded => loaded?,
        };
        let named = objects_named_by(&revisions);
        let named = self.executor.identities(session, named).await?;
        let mut ids: Vec<ObjectId> = named.into_iter().map(|(id, _)| id).collect();
        let marked = self.dependents.owned(&session.owner.uid);
        ids.extend(marked.into_iter().map(|(id, _)| id));
        if let Some(error) = unreadable.first() {
            tracing::warn!(release = %session.release, error = %chain(error), "not every revision can be read");
            ids.extend(self.executor.applier.all_marked(&session.owner).await?);
        }
        ids.sort();
        ids.dedup();
        for id in &ids {
            self.executor.applier.orphan(&session.owner, id).await?;
        }
        session.history.orphan().await?;
        session.log("Objects of the release stay");
        let message = format!("the objects of release {} stay, and its history", session.release);
        self.recorder
            .event(session, EventKind::Normal, "ReleaseOrphaned", &message);
        Ok(())
    }
}

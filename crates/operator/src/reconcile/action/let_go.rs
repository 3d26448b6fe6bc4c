//! A custom resource that goes without its release.

use super::super::Reconciler;
use super::super::error::ReconcileError;
use super::super::session::Session;
use crate::release::HistoryError;
use crate::status::EventKind;
use steersman_model::{ObjectId, chain};

impl Reconciler {
    /// Takes our marks off the objects and the revisions, so that neither we nor the garbage
    /// collector delete them, and lets the resource go.
    ///
    /// Another resource of the same name, Helm, or helm-operator can take the release over.
    pub(in super::super) async fn let_go(&self, session: &mut Session) -> Result<(), ReconcileError> {
        let (revisions, unreadable) = match session.history.load_readable().await {
            // The release is another resource's; this one never had any.
            Err(HistoryError::Owned { .. }) => (Vec::new(), Vec::new()),
            loaded => loaded?,
        };
        let named = self.inventory(session, &revisions).await?;
        let mut ids: Vec<ObjectId> = named.into_iter().map(|(id, _)| id).collect();
        let marked = self.shared.dependents.owned(&session.owner.uid);
        ids.extend(marked.into_iter().map(|(id, _)| id));
        if let Some(error) = unreadable.first() {
            tracing::warn!(release = %session.release, error = %chain(error), "not every revision can be read");
            ids.extend(self.shared.applier.all_marked(&session.owner).await?);
        }
        ids.sort();
        ids.dedup();
        for id in &ids {
            self.shared.applier.disown(&session.owner, id).await?;
        }
        session.history.disown().await?;
        session.log("Objects of the release stay");
        let message = format!("the objects of release {} stay, and its history", session.release);
        self.event(session, EventKind::Normal, "ReleaseOrphaned", &message);
        session.release_hold().await
    }
}

//! A custom resource that goes without its release.

use super::super::Reconciler;
use super::super::error::ReconcileError;
use super::super::session::Session;
use crate::apply::{ObjectId, chain};
use crate::release::HistoryError;
use crate::status::EventKind;

impl Reconciler {
    /// Takes our marks off the objects and the revisions, so that neither we nor the garbage
    /// collector delete them, and lets the resource go.
    ///
    /// Another resource of the same name, Helm, or helm-operator can take the release over.
    pub(in super::super) async fn let_go(&self, session: &mut Session) -> Result<(), ReconcileError> {
        let revisions = match session.history.load().await {
            Ok(revisions) => revisions,
            Err(error @ HistoryError::Request { .. }) => return Err(error.into()),
            // What carries our mark is found without them.
            Err(error) => {
                tracing::warn!(release = %session.release, error = %chain(&error), "the revisions can't be read");
                Vec::new()
            }
        };
        let named = self.inventory(session, &revisions).await?;
        let mut ids: Vec<ObjectId> = named.into_iter().map(|(id, _)| id).collect();
        let marked = self.shared.dependents.owned(&session.owner.uid);
        ids.extend(marked.into_iter().map(|(id, _)| id));
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

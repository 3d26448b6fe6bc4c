//! The first revision.

use super::deploy::Deploy;
use crate::reconcile::error::ReconcileError;
use crate::reconcile::memory::Memory;
use crate::reconcile::plan::Planner;
use crate::reconcile::session::{PreparedRelease, Session};
use crate::release::HistoryError;

/// Renders and applies the first revision.
pub(crate) struct Install<'a> {
    pub(crate) planner: Planner<'a>,
    pub(crate) deploy: Deploy<'a>,
}

impl Install<'_> {
    pub(crate) async fn run(
        &self,
        session: &Session,
        prepared: &PreparedRelease,
        memory: &mut Memory,
    ) -> Result<(), ReconcileError> {
        let new = self.planner.new_revision(session, prepared, &[], None).await?;
        let deployed = self
            .deploy
            .new_revision(session, prepared, memory, new, Vec::new());
        let revision = match deployed.await {
            Err(ReconcileError::History(HistoryError::Taken { .. })) => {
                // There are revisions that the resource's status did not mention: Helm's, or those of a lost resource.
                memory.forget_known();
                return Ok(());
            }
            deployed => deployed?,
        };
        self.deploy.announce(session, memory, true, revision);
        Ok(())
    }
}

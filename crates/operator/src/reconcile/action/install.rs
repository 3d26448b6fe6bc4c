//! The first revision.

use super::super::Reconciler;
use super::super::error::ReconcileError;
use super::super::memory::Memory;
use super::super::session::Session;
use crate::release::HistoryError;

impl Reconciler {
    /// Renders and applies the first revision.
    pub(in super::super) async fn install(
        &self,
        session: &mut Session,
        memory: &mut Memory,
    ) -> Result<(), ReconcileError> {
        let revision = match self.roll_out(session, memory, Vec::new()).await {
            Err(ReconcileError::History(HistoryError::Taken { .. })) => {
                // There are revisions that nothing told of: Helm's, or those of a lost resource.
                memory.forget_known();
                return Ok(());
            }
            rolled_out => rolled_out?,
        };
        self.announce(session, memory, true, revision);
        Ok(())
    }
}

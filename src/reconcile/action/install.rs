//! The first revision.

use super::super::Reconciler;
use super::super::error::ReconcileError;
use super::super::memory::Memory;
use super::super::session::Session;

impl Reconciler {
    /// Renders and applies the first revision.
    pub(in super::super) async fn install(
        &self,
        session: &mut Session,
        memory: &mut Memory,
    ) -> Result<(), ReconcileError> {
        let revision = self.roll_out(session, memory, Vec::new()).await?;
        session.log("Installed release");
        self.event_deployed(session, "ReleaseInstalled", revision);
        Ok(())
    }
}

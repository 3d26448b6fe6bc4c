//! Another revision.

use super::super::Reconciler;
use super::super::error::ReconcileError;
use super::super::memory::Memory;
use super::super::secrets::redactor;
use super::super::session::Session;
use super::super::state::Cause;
use super::deploy::in_effect;

impl Reconciler {
    /// Renders and applies another revision, because of `cause`. A revision of somebody else's that
    /// already is what another one would be is taken over instead.
    pub(in super::super) async fn upgrade(
        &self,
        session: &mut Session,
        memory: &mut Memory,
        cause: Cause,
    ) -> Result<(), ReconcileError> {
        let earlier = session.history.load().await?;
        self.reuse_values(session, &earlier);
        session.redactor = redactor(session, in_effect(&earlier), &[]);
        if cause == Cause::TakenOver && self.take_over(session, memory, &earlier).await? {
            return Ok(());
        }
        let first = session.first;
        let revision = self.roll_out(session, memory, earlier).await?;
        tracing::debug!(release = %session.release, ?cause, "upgraded");
        self.announce(session, memory, first, revision);
        Ok(())
    }
}

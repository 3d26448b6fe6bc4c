//! A revision that was written down and is not in effect: after a crash, or after a failure.

use super::super::Reconciler;
use super::super::error::ReconcileError;
use super::super::memory::{Memory, was_ever_deployed};
use super::super::render::definitions;
use super::super::secrets::redactor;
use super::super::session::Session;
use super::deploy::in_effect;
use steersman_model::objects_of_manifest;

impl Reconciler {
    /// Brings the last revision into effect from its stored manifest, without a rendering: the
    /// same revision, whatever is random in the chart.
    pub(in super::super) async fn recover(
        &self,
        session: &mut Session,
        memory: &mut Memory,
    ) -> Result<(), ReconcileError> {
        let mut revisions = session.history.load().await?;
        let wanted = memory
            .known
            .as_ref()
            .and_then(|known| known.last.as_ref())
            .map(|last| last.revision);
        let last = revisions
            .pop()
            .filter(|stored| Some(stored.record.version) == wanted);
        let Some(stored) = last else {
            // Somebody else has written or deleted revisions.
            memory.forget_known();
            return Ok(());
        };
        session.first = !was_ever_deployed(&revisions);
        let objects = objects_of_manifest(&stored.record.manifest)?;
        let earlier = in_effect(&revisions).iter();
        session.redactor = redactor(session, earlier.chain([&stored]), &objects);
        let definitions = definitions(&self.settings.chart.crds())?;
        self.shared
            .applier
            .restore_crds(&definitions, &objects, self.settings.crds)
            .await?;
        let revision = stored.record.version;
        let first = session.first;
        self.deploy(session, memory, stored, objects, &revisions).await?;
        self.announce(session, memory, first, revision);
        Ok(())
    }
}

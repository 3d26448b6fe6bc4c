//! Another revision.

use super::super::Reconciler;
use super::super::error::ReconcileError;
use super::super::memory::Memory;
use super::super::session::Session;
use super::super::state::Cause;
use crate::status::EventKind;

impl Reconciler {
    /// Renders and applies another revision, because of `cause`.
    pub(in super::super) async fn upgrade(
        &self,
        session: &mut Session,
        memory: &mut Memory,
        cause: Cause,
    ) -> Result<(), ReconcileError> {
        let earlier = session.history.load().await?;
        if !self.settings.override_values.is_empty() {
            self.event_overrides(session);
        }
        let first = session.first;
        let revision = self.roll_out(session, memory, earlier).await?;
        tracing::debug!(release = %session.release, ?cause, "upgraded");
        session.log(if first {
            "Installed release"
        } else {
            "Upgraded release"
        });
        self.event_deployed(
            session,
            if first {
                "ReleaseInstalled"
            } else {
                "ReleaseUpgraded"
            },
            revision,
        );
        Ok(())
    }

    /// helm-operator's warning about values that the watch overrides.
    pub(in super::super) fn event_overrides(&self, session: &Session) {
        for (key, value) in &self.settings.override_values {
            let shown = if self.settings.suppress_override_values {
                "****"
            } else {
                value
            };
            let message = format!("Chart value {key:?} overridden to {shown:?} by operator's watches.yaml");
            self.event(session, EventKind::Warning, "OverrideValuesInUse", &message);
        }
    }
}

//! A custom resource that the watch no longer selects.

use kube::core::SelectorExt;

use crate::reconcile::ReconcileSettings;
use crate::reconcile::error::ReconcileError;
use crate::reconcile::event_recorder::EventRecorder;
use crate::reconcile::session::Session;
use crate::status::EventReason;

/// Takes the finalizer off a resource that the selector no longer matches. Its objects and
/// its history stay as they are, so that the operator that selects it next takes them over.
pub(crate) struct ReleaseUnselected<'a> {
    pub(crate) recorder: &'a EventRecorder,
    pub(crate) settings: &'a ReconcileSettings,
}

impl ReleaseUnselected<'_> {
    /// `false` if the resource is being deleted: it must be uninstalled first, as its finalizer has promised.
    pub(crate) async fn run(&self, session: &mut Session) -> Result<bool, ReconcileError> {
        let Some(now) = session.read_again().await? else {
            return Ok(true);
        };
        session.accept(now);
        let labels = session.object().metadata.labels.clone().unwrap_or_default();
        if self.settings.selector.matches(&labels) || !session.has_finalizer_of_operator() {
            return Ok(true);
        }
        if session.deleting() {
            return Ok(false);
        }
        if self.settings.dry_run {
            session.log("dry run: would let go of the release");
            return Ok(true);
        }
        session.log("Letting go of the release");
        session.remove_finalizer_of_operator().await?;
        let message = format!(
            "the selector `{}` of the operator's watch no longer matches; release {} stays as it is",
            self.settings.selector, session.release
        );
        self.recorder.event(session, EventReason::ReleaseLetGo, &message);
        Ok(true)
    }
}

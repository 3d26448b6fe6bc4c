//! A custom resource that the watch no longer selects.

use kube::api::DynamicObject;
use kube::core::SelectorExt;

use super::super::error::ReconcileError;
use super::super::memory::Memory;
use super::super::session::Session;
use super::super::{Next, Outcome, Reconciler};
use crate::status::EventKind;
use steersman_model::chain;

impl Reconciler {
    /// Takes the finalizer off `object` if the selector no longer matches it. Its objects and
    /// its history stay as they are, for whoever selects it next.
    ///
    /// [`Next::Never`] says that there is nothing more to be done: it is let go or gone, matches
    /// again, or another operator holds it.
    ///
    /// # Guarantees
    /// A resource that is being deleted is uninstalled first, as its finalizer has promised. An
    /// operator that only says what it would do lets nothing go.
    ///
    /// # Cancellation
    /// As [`Reconciler::reconcile`].
    pub async fn step_back(&self, object: DynamicObject, memory: &mut Memory) -> Outcome {
        let Ok(mut session) = Session::new(&self.shared, &self.settings, &self.resource, object) else {
            // What was never released is not held.
            return Outcome::of(Next::Never);
        };
        match self.try_step_back(&mut session).await {
            Ok(true) => Outcome::of(Next::Never),
            Ok(false) => self.reconcile(session.object, memory).await,
            Err(error) => {
                memory.failures = memory.failures.saturating_add(1);
                session.log_error(
                    "failed to let go of a resource that is not selected",
                    &chain(&error),
                );
                Outcome::of(Next::Retry(error.retry_after()))
            }
        }
    }

    /// Whether that is all; if not, the resource must be uninstalled first.
    async fn try_step_back(&self, session: &mut Session) -> Result<bool, ReconcileError> {
        if !session.reload().await? {
            return Ok(true);
        }
        let labels = session.object.metadata.labels.clone().unwrap_or_default();
        if self.settings.selector.matches(&labels) || !session.held_by_us() {
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
        session.leave().await?;
        let message = format!(
            "the selector `{}` of the operator's watch no longer matches; release {} stays as it is",
            self.settings.selector, session.release
        );
        self.event(session, EventKind::Normal, "ReleaseLetGo", &message);
        Ok(true)
    }
}

//! A revision whose stage was not ready in time.

use super::deploy::{Deploy, Undoing};
use crate::reconcile::error::ReconcileError;
use crate::reconcile::gate::GateState;
use crate::reconcile::gate_report::GateView;
use crate::reconcile::plan::Decision;
use crate::reconcile::release_cache::{ReleaseCache, is_first};
use crate::reconcile::session::{PreparedRelease, Session};
use crate::reconcile::unfinished::{CurrentRevision, Stage};

/// Marks the last revision as failed, and undoes it where that is wanted.
pub(crate) struct GiveUp<'a> {
    pub(crate) deploy: Deploy<'a>,
}

impl GiveUp<'_> {
    /// # Errors
    /// Always: that the revision was not ready is the failure that is told, with what was done about it.
    pub(crate) async fn run(
        &self,
        session: &Session,
        prepared: &PreparedRelease,
        cache: &mut ReleaseCache,
    ) -> Result<(), ReconcileError> {
        let last = self.deploy.last_revision(session, cache, None).await?;
        let Some((stored, revisions)) = last else {
            return Ok(());
        };
        let executor = self.deploy.executor;
        let dependents = executor.applier.dependents();
        let Some(gate) = GateView::new(session, cache, (dependents.as_ref(), self.deploy.settings)) else {
            return Ok(());
        };
        let first = is_first(&stored, &revisions);
        let error = ReconcileError::Unready {
            message: gate.message(cache, GateState::Failed),
            stage: gate.failure_stage(first),
        };
        let current = CurrentRevision {
            revision: stored.record.version,
            decision: Decision::Recover(stored.record.version),
            inputs: stored.snapshot.inputs.unwrap_or(prepared.inputs),
            first,
        };
        let failed = Undoing {
            current,
            error,
            stage: Stage::default(),
        };
        let told = self.deploy.fail(session, cache, stored, &revisions, failed);
        Err(told.await)
    }
}

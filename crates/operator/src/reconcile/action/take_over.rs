//! A revision that Helm or helm-operator deployed and that is what we would deploy.

use crate::reconcile::error::ReconcileError;
use crate::reconcile::executor::Executor;
use crate::reconcile::memory::Memory;
use crate::reconcile::plan::Plan;
use crate::reconcile::recorder::Recorder;
use crate::reconcile::secrets::secrets_of;
use crate::reconcile::session::{PreparedRelease, Session};
use crate::release::{Snapshot, Stored};
use crate::status::EventReason;

/// Makes the last revision ours: its objects get our marks, no hook runs, and the history stays as it is.
#[derive(Clone, Copy)]
pub(crate) struct TakeOver<'a> {
    pub(crate) executor: &'a Executor,
    pub(crate) recorder: &'a Recorder,
}

impl TakeOver<'_> {
    /// # Cancellation
    /// Safe at any await: until the last request the revision is not marked as ours, and is taken over again.
    pub(crate) async fn run(
        &self,
        session: &Session,
        prepared: &PreparedRelease,
        memory: &mut Memory,
        plan: &Plan,
        revisions: &[Stored],
    ) -> Result<(), ReconcileError> {
        let Some(last) = revisions.last() else {
            return Ok(());
        };
        let revision = last.record.version;
        session.redactor.learn(secrets_of([last], &plan.objects));
        self.executor
            .begin(session, memory, prepared.inputs, plan)
            .await?;
        let applier = &self.executor.applier;
        applier.check(&session.owner, &plan.objects).await?;
        let changes = self.executor.carry_out(session, plan).await?;

        let snapshot = Snapshot {
            inputs: Some(prepared.inputs),
            lookups: session.progress.lookups(),
            ..Snapshot::new(&changes)
        };
        let stored = Stored {
            snapshot,
            has_owner: true,
            ..last.clone()
        };
        session.history.take_over(&stored).await?;
        self.executor.note_changes(session, &changes);
        let notes = session.redactor.mask(&stored.record.info.notes);
        memory.note_deployed(&stored, Some(prepared.inputs), notes);
        memory.secrets.note_release(&secrets_of([&stored], &[]));
        memory.log_when_reported("Reconciled release");
        let message = format!(
            "release {} is taken over as it is, at revision {revision}",
            session.release
        );
        self.recorder
            .event(session, EventReason::ReleaseTakenOver, &message);
        Ok(())
    }
}

//! Jobs that have done their work, and go by themselves.

use std::collections::BTreeSet;

use steersman_model::ObjectId;

use crate::reconcile::error::ReconcileError;
use crate::reconcile::release_cache::ReleaseCache;
use crate::reconcile::session::Session;
use crate::release::Stored;

/// Notes with the revisions that have applied them that Jobs have done their work: no later process makes them again, and no
/// rollback.
pub(crate) struct NoteCompleted;

impl NoteCompleted {
    /// # Errors
    /// The server refuses a write, or does not answer.
    pub(crate) async fn run(
        self,
        session: &Session,
        cache: &mut ReleaseCache,
        jobs: &[ObjectId],
    ) -> Result<(), ReconcileError> {
        let owning = cache.known.as_ref().map(|known| known.by_revision(jobs));
        for (revision, jobs) in owning.flatten().unwrap_or_default() {
            let stored = session.history.get(revision).await?;
            let Some(stored) = stored.filter(Stored::is_signed) else {
                // The revision was deleted, or somebody has changed it; what is left says what to do.
                cache.forget_known();
                return Ok(());
            };
            let jobs: BTreeSet<ObjectId> = jobs.into_iter().collect();
            let mut snapshot = stored.snapshot.clone();
            snapshot.note_completed(&jobs);
            session.history.write_snapshot(&stored, &snapshot).await?;
            cache.note_completed(jobs);
        }
        Ok(())
    }
}

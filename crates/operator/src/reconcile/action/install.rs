//! The first revision.

use super::deploy::Deploy;
use crate::reconcile::error::ReconcileError;
use crate::reconcile::plan::{NewRevision, Planner};
use crate::reconcile::release_cache::ReleaseCache;
use crate::reconcile::session::{PreparedRelease, Session};
use crate::release::HistoryError;

/// Renders and applies the first revision.
pub(crate) struct Install<'a> {
    pub(crate) planner: Planner<'a>,
    pub(crate) deploy: Deploy<'a>,
}

impl Install<'_> {
    pub(crate) async fn run(
        &self,
        session: &Session,
        prepared: &PreparedRelease,
        cache: &mut ReleaseCache,
    ) -> Result<(), ReconcileError> {
        let mut new = self.planner.new_revision(session, prepared, &[], None).await?;
        if cache.may_be_lost() && self.finds_objects(session, &new).await? {
            tracing::warn!(
                release = %session.release,
                "the release has objects and no revision: it is taken up as it is, and no hook runs"
            );
            new = self.planner.adoption(session, prepared).await?;
        }
        let deployed = self
            .deploy
            .new_revision(session, prepared, cache, new, Vec::new());
        let revision = match Box::pin(deployed).await {
            Err(ReconcileError::History(HistoryError::Taken { .. })) => {
                // There are revisions that the resource's status did not mention: Helm's, or those of a lost resource.
                cache.forget_known();
                return Ok(());
            }
            deployed => deployed?,
        };
        if let Some(revision) = revision {
            self.deploy.announce(session, cache, true, revision);
        }
        Ok(())
    }

    /// Whether an object of the revision is there and the resource's: each is applied after the revision was stored that names
    /// it, so a revision is lost.
    async fn finds_objects(&self, session: &Session, new: &NewRevision) -> Result<bool, ReconcileError> {
        let executor = self.deploy.executor;
        let objects = new.plan.objects.clone();
        for (id, _) in executor.identities(session, objects).await? {
            if executor.applier.is_marked(&session.owner, &id).await? {
                return Ok(true);
            }
        }
        Ok(false)
    }
}

//! Another revision.

use super::deploy::Deploy;
use super::take_over::TakeOver;
use crate::reconcile::error::ReconcileError;
use crate::reconcile::plan::{self, Planner, in_effect};
use crate::reconcile::release_cache::ReleaseCache;
use crate::reconcile::secrets::secrets_of;
use crate::reconcile::session::{PreparedRelease, Session};
use crate::reconcile::state::Cause;

/// Renders and applies another revision. One that nobody vouches for and that already is what another one would be is taken
/// over instead.
pub(crate) struct Upgrade<'a> {
    pub(crate) planner: Planner<'a>,
    pub(crate) deploy: Deploy<'a>,
    pub(crate) take_over: TakeOver<'a>,
}

impl Upgrade<'_> {
    pub(crate) async fn run(
        &self,
        session: &Session,
        prepared: &PreparedRelease,
        cache: &mut ReleaseCache,
        cause: Cause,
    ) -> Result<(), ReconcileError> {
        let earlier = session.history.load().await?;
        let settings = self.planner.settings;
        let prepared = &prepared.with_reused_values(session, settings, &earlier);
        session.redactor.learn(secrets_of(in_effect(&earlier), &[]));
        let new = match self.planner.upgrade(session, prepared, &earlier, cause).await? {
            plan::PlannedUpgrade::NewRevision(new) => *new,
            plan::PlannedUpgrade::TakeOver(adoption) => {
                return self
                    .take_over
                    .run(session, prepared, cache, &adoption, &earlier)
                    .await;
            }
        };
        let deployed = self.deploy.new_revision(session, prepared, cache, new, earlier);
        if let Some(revision) = Box::pin(deployed).await? {
            tracing::debug!(release = %session.release, ?cause, "upgraded");
            self.deploy.announce(session, cache, prepared.first, revision);
        }
        Ok(())
    }
}

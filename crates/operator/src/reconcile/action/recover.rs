//! A revision that was written down and is not in effect: after a crash, or after a failure.

use super::deploy::{Deploy, Pending};
use crate::reconcile::error::ReconcileError;
use crate::reconcile::plan::{Plan, in_effect};
use crate::reconcile::release_cache::{ReleaseCache, was_ever_deployed};
use crate::reconcile::secrets::secrets_of;
use crate::reconcile::session::{PreparedRelease, Session};

/// Brings the last revision into effect from its stored manifest, without a rendering: the
/// same revision, whatever is random in the chart.
pub(crate) struct Recover<'a> {
    pub(crate) deploy: Deploy<'a>,
}

impl Recover<'_> {
    pub(crate) async fn run(
        &self,
        session: &Session,
        prepared: &PreparedRelease,
        cache: &mut ReleaseCache,
    ) -> Result<(), ReconcileError> {
        let mut revisions = session.history.load().await?;
        let wanted = cache
            .known
            .as_ref()
            .and_then(|known| known.last.as_ref())
            .map(|last| last.revision);
        let last = revisions
            .pop()
            .filter(|stored| stored.is_signed() && Some(stored.record.version) == wanted);
        let Some(stored) = last else {
            // Somebody else has written, changed or deleted revisions.
            cache.forget_known();
            return Ok(());
        };
        let first = !was_ever_deployed(&revisions);
        let earlier = in_effect(&revisions).iter();
        session.redactor.learn(secrets_of(earlier.chain([&stored]), &[]));
        let settings = self.deploy.settings;
        let plan = Plan::recover(settings, &session.controls, first, &stored, &revisions)?;
        self.deploy
            .executor
            .begin(session, cache, prepared.inputs, &plan)
            .await?;
        let revision = stored.record.version;
        let pending = Pending::new(session, stored, plan, first, &revisions);
        self.deploy
            .deploy(session, prepared, cache, pending, &revisions)
            .await?;
        self.deploy.announce(session, cache, first, revision);
        Ok(())
    }
}

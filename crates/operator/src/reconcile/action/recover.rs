//! A revision that was written down and is not in effect: after a crash, after a failure, or as it had to wait for a hook.

use super::deploy::{Deploy, Left, Pending, Undoing};
use crate::reconcile::error::ReconcileError;
use crate::reconcile::plan::{Plan, in_effect};
use crate::reconcile::release_cache::{KnownRelease, ReleaseCache, was_ever_deployed};
use crate::reconcile::secrets::secrets_of;
use crate::reconcile::session::{PreparedRelease, Session};
use crate::reconcile::unfinished::{Stage, Unfinished, UnfinishedRevision};

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
        let unfinished = cache.unfinished.take();
        let known = cache
            .known
            .get_or_insert_with(|| KnownRelease::new(&revisions))
            .last
            .as_ref();
        let (wait, left) = match unfinished {
            Some(Unfinished { wait, revision, .. }) => (Some(wait), revision),
            None => (None, None),
        };
        let wanted = left
            .as_ref()
            .map(|left| left.revision)
            .or(known.map(|last| last.revision));
        let last = revisions
            .pop()
            .filter(|stored| stored.is_signed() && Some(stored.record.version) == wanted);
        let Some(stored) = last else {
            // Somebody else has written, changed or deleted revisions.
            cache.forget_known();
            return Ok(());
        };
        let first = left
            .as_ref()
            .map_or_else(|| !was_ever_deployed(&revisions), |left| left.first);
        let earlier = in_effect(&revisions).iter();
        session.redactor.learn(secrets_of(earlier.chain([&stored]), &[]));
        let revision = stored.record.version;
        let stage = Stage {
            spec: left.as_ref().map(|left| left.spec),
            wait,
            ..Stage::default()
        };
        let left = match left {
            Some(UnfinishedRevision {
                failure: Some(error),
                applied,
                decision,
                inputs,
                ..
            }) => {
                let undoing = Undoing {
                    left: Left {
                        revision,
                        decision,
                        inputs,
                        first,
                    },
                    error: *error,
                    stage: Stage { applied, ..stage },
                };
                let deploy = &self.deploy;
                return deploy.undo(session, cache, &stored, &revisions, undoing).await;
            }
            other => other,
        };
        let settings = self.deploy.settings;
        let mut plan = Plan::recover(settings, &session.controls, first, &stored, &revisions)?;
        let stage = if let Some(left) = left {
            plan.decision = left.decision;
            Stage {
                applied: left.applied,
                ..stage
            }
        } else {
            let executor = self.deploy.executor;
            executor.begin(session, cache, prepared.inputs, &plan).await?;
            stage
        };
        let pending = Pending { stored, plan, first };
        let inputs = prepared.inputs;
        self.deploy
            .deploy(session, inputs, cache, pending, &revisions, stage)
            .await?;
        self.deploy.announce(session, cache, first, revision);
        Ok(())
    }
}

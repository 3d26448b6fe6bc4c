//! A revision that was written down and is not in effect: after a crash, after a failure, or as it had to wait for a hook.

use steersman_model::ReleaseStatus;

use super::deploy::{Deploy, Pending, Undoing};
use crate::apply::HookWait;
use crate::reconcile::error::ReconcileError;
use crate::reconcile::plan::{Decision, Plan};
use crate::reconcile::release_cache::{ReleaseCache, is_first};
use crate::reconcile::session::{PreparedRelease, Session};
use crate::reconcile::unfinished::{CurrentRevision, Stage, Unfinished, undoing};
use crate::release::has_begun;

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
        let left = cache.unfinished.as_ref();
        let left = left.and_then(|unfinished| unfinished.revision.as_ref());
        let wanted = left.map(|left| left.current.revision);
        let last = self.deploy.last_revision(session, cache, wanted).await?;
        let (wait, left) = match cache.unfinished.take() {
            Some(Unfinished { wait, revision, .. }) => (Some(wait), revision),
            None => (None, None),
        };
        let Some((stored, revisions)) = last else {
            return Ok(());
        };
        let revision = stored.record.version;
        let current = left.as_ref().map_or_else(
            || CurrentRevision {
                revision,
                decision: Decision::Recover(revision),
                inputs: prepared.inputs,
                first: is_first(&stored, &revisions),
            },
            |left| left.current,
        );
        let is_left = left.is_some();
        let (failure, stage) = if let Some(left) = left {
            let stage = Stage {
                spec: Some(left.spec),
                is_recovery: wait.as_ref().is_some_and(HookWait::is_uncertain),
                wait,
                applied: left.applied,
                ..Stage::default()
            };
            (left.failure.map(|failure| *failure), stage)
        } else {
            let stage = Stage {
                is_recovery: true,
                ..Stage::default()
            };
            (session.failure_of(&stored), stage)
        };
        let executor = self.deploy.executor;
        if let Some(error) = failure {
            if !is_left {
                let doing = undoing(session, revision);
                executor.announce(session, cache, current.inputs, doing).await?;
            }
            let undoing = Undoing {
                current,
                error,
                stage,
            };
            let deploy = &self.deploy;
            return Err(deploy.undo(session, cache, &stored, &revisions, undoing).await);
        }
        let settings = self.deploy.settings;
        let controls = stage.controls(session);
        let mut plan = Plan::recover(settings, &controls, current.first, &stored, &revisions)?;
        plan.decision = current.decision;
        if is_left || has_begun(&plan.stages) {
            // What was waited for is looked for again; of a stage the status says what it waits for.
            let admitted = executor.admit(session, &plan).await;
            admitted.inspect_err(|_| cache.forget_known())?;
            if stored.record.info.status != ReleaseStatus::Failed {
                session.progress.note_gone_on();
            }
        } else {
            executor.begin(session, cache, current.inputs, &plan).await?;
        }
        let first = current.first;
        let pending = Pending { stored, plan, first };
        let inputs = prepared.inputs;
        let deployed = self
            .deploy
            .deploy(session, inputs, cache, pending, &revisions, stage);
        if Box::pin(deployed).await? {
            self.deploy.announce(session, cache, first, revision);
        }
        Ok(())
    }
}

//! Objects that others have changed or deleted.

use jiff::Timestamp;
use steersman_model::{Change, ChangeSet, ObjectId, RenderedObject, Revision};
use tokio::time::Instant;

use crate::reconcile::ReconcileSettings;
use crate::reconcile::error::ReconcileError;
use crate::reconcile::event_recorder::EventRecorder;
use crate::reconcile::executor::{Carried, Executor};
use crate::reconcile::lookups::Lookups;
use crate::reconcile::plan::{Plan, only};
use crate::reconcile::release_cache::ReleaseCache;
use crate::reconcile::secrets::secrets_of;
use crate::reconcile::session::Session;
use crate::reconcile::unfinished::Stage;
use crate::release::{Stored, Updated};
use crate::status::EventReason;
use crate::telemetry::masked_before;

/// Applies objects again, from the manifests of the revisions that have applied them.
pub(crate) struct CorrectDrift<'a> {
    pub(crate) executor: &'a Executor,
    pub(crate) recorder: &'a EventRecorder,
    pub(crate) lookups: Lookups<'a>,
    pub(crate) settings: &'a ReconcileSettings,
    pub(crate) now: fn() -> Timestamp,
}

impl CorrectDrift<'_> {
    /// Each object is applied as the revision has it that has applied it last: while a stage is waited for, that is not the same
    /// one for all.
    pub(crate) async fn run(
        &self,
        session: &Session,
        cache: &mut ReleaseCache,
        objects: &[ObjectId],
    ) -> Result<(), ReconcileError> {
        let owning = cache.known.as_ref().map(|known| known.by_revision(objects));
        let Some(owning) = owning.flatten() else {
            cache.forget_known();
            return Ok(());
        };
        for (revision, objects) in owning {
            if !self.correct(session, cache, revision, &objects).await? {
                return Ok(());
            }
        }
        session.log("Reconciled release");
        Ok(())
    }

    /// Applies objects as a revision has them. `false` where what is known of the release is out of date.
    async fn correct(
        &self,
        session: &Session,
        cache: &mut ReleaseCache,
        revision: Revision,
        objects: &[ObjectId],
    ) -> Result<bool, ReconcileError> {
        let stored = session.history.get(revision).await?;
        let Some(mut stored) = stored.filter(Stored::is_signed) else {
            // The revision was deleted, or somebody has changed it; what is left says what to do.
            cache.forget_known();
            return Ok(false);
        };
        session.redactor.learn(secrets_of([&stored], &[]));
        let owning = std::slice::from_ref(&stored);
        self.lookups.learn_secrets(session, cache, owning).await?;
        let mut plan = Plan::keep(self.settings, &stored)?;
        self.executor.define(session, &plan).await?;
        let is_affected = |id: &ObjectId, object: &RenderedObject| {
            id.group == object.api.group && id.kind == object.api.kind
        };
        let affected = plan.objects.iter();
        let affected = affected.filter(|object| objects.iter().any(|id| is_affected(id, object)));
        let unserved = self.executor.applier.first_unserved(affected).await?;
        let named = self.executor.identities(session, plan.objects).await?;
        plan.objects = only(named, objects);
        plan.replaced.clone_from(&plan.objects);
        let carried = self
            .executor
            .carry_out(session, &plan, None, &mut Stage::default())
            .await;
        let Carried::Out(changes) = carried.map_err(ReconcileError::of_drift)? else {
            return Ok(false);
        };
        session.progress.note_corrected(changes.len());
        cache.note_corrected(&changes, Instant::now());
        if update_fields(&mut stored, &changes) {
            match session
                .history
                .update_unchanged(&mut stored, (self.now)())
                .await?
            {
                Updated::Written => {}
                Updated::Gone => {
                    // With all of it, the resource may have gone; where it has not, somebody has deleted the revision.
                    if session.read_again().await?.is_none() {
                        return Ok(false);
                    }
                    session.history.update(&mut stored, (self.now)()).await?;
                }
                // Helm has put a revision of its own in its place, whose objects these were.
                Updated::Changed => {
                    cache.forget_known();
                    return Ok(false);
                }
            }
        }
        self.announce(session, &changes);
        // What can be corrected is; objects whose definition is gone wait for it.
        match unserved {
            Some(error) => Err(ReconcileError::Drift(error)),
            None => Ok(true),
        }
    }

    fn announce(&self, session: &Session, changes: &ChangeSet) {
        let objects = shown(session, changes.keys());
        masked_before(|| {
            for (object, applied) in objects.iter().zip(changes.values()) {
                let what = if applied.change == Change::Created {
                    "deleted"
                } else {
                    "changed"
                };
                tracing::info!(release = %session.release, object, "corrected drift: the object was {what}");
                let message = format!("{object} was {what} and is restored");
                self.recorder
                    .event(session, EventReason::DriftCorrected, &message);
            }
        });
    }

    /// Says which objects are not as the release wants them, where that is not corrected.
    pub(crate) fn warn_of_drift(&self, session: &Session, cache: &mut ReleaseCache, objects: Vec<ObjectId>) {
        if cache.warned == objects {
            return;
        }
        let named = shown(session, &objects);
        masked_before(|| {
            for object in named {
                let message = format!("{object} was changed or deleted, and is left so");
                tracing::warn!(release = %session.release, object, "drift: {message}");
                self.recorder.event(session, EventReason::DriftDetected, &message);
            }
        });
        cache.warned = objects;
    }

    /// Says who undoes the corrections of `objects`, and that the next ones wait.
    pub(crate) async fn warn_of_backoff(&self, session: &Session, objects: &[ObjectId]) {
        let Some(first) = objects.first() else { return };
        let writer = match self.executor.applier.last_writer(first).await {
            Some(writer) => format!("{writer:?}"),
            None => "another writer".to_owned(),
        };
        let named = shown(session, objects.iter().take(3));
        let message = format!(
            "{writer} keeps changing {}; it is corrected more slowly",
            named.join(", ")
        );
        tracing::warn!(release = %session.release, "{message}");
        self.recorder.event(session, EventReason::DriftFight, &message);
    }
}

/// Which objects these are, as it is shown: their names may be made of what the chart has looked up. They are looked through
/// together, as that takes no longer with many.
fn shown<'a>(session: &Session, objects: impl IntoIterator<Item = &'a ObjectId>) -> Vec<String> {
    let named: Vec<String> = objects.into_iter().map(ToString::to_string).collect();
    session.redactor.mask_all_own(&named)
}

/// An apply that changes an object gives it another time, and that of its fields is the same as a rule. What it gives must be
/// found after a restart, or the object would be applied again then.
pub(super) fn update_fields(stored: &mut Stored, changes: &ChangeSet) -> bool {
    let mut differs = false;
    for object in &mut stored.snapshot.objects {
        if let Some(applied) = changes.get(&object.id) {
            differs |= object.note(applied);
        }
    }
    differs
}

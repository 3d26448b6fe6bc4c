//! Sets that were deleted without their pods to be created again, where the release goes before they are: they are created
//! first, so that their pods go with them.

use std::collections::{BTreeMap, BTreeSet};

use steersman_model::{ObjectId, ReleaseStatus, RenderedObject};
use tokio::time::Instant;

use super::uninstall::{POLL_INTERVAL, Uninstall, WAIT};
use crate::apply::{ApplyOptions, SetState};
use crate::reconcile::error::ReconcileError;
use crate::reconcile::plan::objects_named_by;
use crate::reconcile::session::Session;
use crate::release::Stored;
use crate::status::EventReason;

impl Uninstall<'_> {
    /// Brings back the sets of a release whose last revision was interrupted or has failed, and which the release had before.
    /// What is waited for is the answer, and comes before any hook and any deletion.
    ///
    /// A pod without an owner says nothing of who has left it, so none is deleted for its name. Where the last revision is in
    /// effect, it was not us: who has deleted a set without its pods then wants them to stay.
    pub(super) async fn bring_back_sets(
        &self,
        session: &Session,
        revisions: &[Stored],
    ) -> Result<Vec<String>, ReconcileError> {
        let is_interrupted =
            |last: &Stored| !last.is_in_effect() && last.record.info.status != ReleaseStatus::Uninstalling;
        if !revisions
            .iter()
            .rfind(|stored| stored.is_signed())
            .is_some_and(is_interrupted)
        {
            return Ok(Vec::new());
        }
        let mut sets = self.sets_before(session, revisions).await?;
        let mut created = BTreeSet::new();
        let deadline = Instant::now() + WAIT;
        loop {
            let mut blockers = Vec::new();
            for (id, object) in std::mem::take(&mut sets) {
                if let Some(blocker) = self.bring_back(session, &id, &object, &mut created).await? {
                    blockers.push(blocker);
                    sets.insert(id, object);
                }
            }
            if blockers.is_empty() || self.dependents.is_stopping() || Instant::now() >= deadline {
                return Ok(blockers);
            }
            tokio::time::sleep(POLL_INTERVAL).await;
        }
    }

    /// The sets that a revision in effect has applied, as the newest revision that names them wants them.
    async fn sets_before(
        &self,
        session: &Session,
        revisions: &[Stored],
    ) -> Result<BTreeMap<ObjectId, RenderedObject>, ReconcileError> {
        let mut sets = BTreeMap::new();
        let signed = || revisions.iter().filter(|stored| stored.is_signed());
        let in_effect = signed().filter(|stored| stored.is_in_effect());
        let applied = in_effect.flat_map(|stored| &stored.snapshot.objects);
        let applied: Vec<&ObjectId> = applied.map(|object| &object.id).filter(|id| is_set(id)).collect();
        if applied.is_empty() {
            return Ok(sets);
        }
        for stored in signed().rev() {
            let mut named = objects_named_by([stored]);
            named.retain(|object| !object.is_kept());
            for (id, object) in self.executor.identities(session, named).await? {
                if applied.contains(&&id) {
                    sets.entry(id).or_insert(object);
                }
            }
        }
        Ok(sets)
    }

    /// Creates a set that is gone, once; `None` where nothing is to be waited for.
    async fn bring_back(
        &self,
        session: &Session,
        id: &ObjectId,
        object: &RenderedObject,
        created: &mut BTreeSet<ObjectId>,
    ) -> Result<Option<String>, ReconcileError> {
        let applier = &self.executor.applier;
        let unseen = || Some(format!("{id}, which has not taken back its pods yet"));
        let state = match applier
            .set_state(&session.owner, id)
            .await
            .map_err(ReconcileError::from)
        {
            Err(error) if error.is_transient() => return Err(error),
            // The deletion says so, too.
            Err(_) => SetState::Settled,
            Ok(state) => state,
        };
        let refusal = match state {
            SetState::Settled => return Ok(None),
            SetState::Unseen => return Ok(unseen()),
            SetState::Leaving => return Ok(Some(format!("{id}, which leaves its pods"))),
            // A deletion in the foreground takes it away again, with what it has taken back by then.
            SetState::Absent if !created.insert(id.clone()) => return Ok(None),
            SetState::Absent => match self.recreate(session, id, object).await {
                Ok(()) => return Ok(unseen()),
                Err(error) if error.is_transient() => return Err(error),
                Err(error) => error,
            },
        };
        // What it has left is somebody's to look at.
        let words = refusal.masked(&session.redactor);
        let id = session.redactor.mask_own(&id.to_string());
        let message = format!(
            "{id} is gone, as it was to be created again, and can't be: {words}; its pods may be left, without an owner"
        );
        tracing::warn!(release = %session.release, "{message}");
        self.recorder.event(session, EventReason::PodsLeft, &message);
        Ok(None)
    }

    async fn recreate(
        &self,
        session: &Session,
        id: &ObjectId,
        object: &RenderedObject,
    ) -> Result<(), ReconcileError> {
        if let Some(confinement) = &self.settings.confinement {
            let admitted = confinement.admit(id, &session.owner.release_namespace);
            admitted.map_err(|source| ReconcileError::OutOfBounds {
                origin: object.source.clone(),
                id: Box::new(id.clone()),
                source,
            })?;
        }
        tracing::info!(release = %session.release, object = %id, "created again, to take its pods with it");
        let objects = vec![object.clone()];
        let applied = self
            .executor
            .applier
            .apply_with(&session.owner, objects, ApplyOptions::default());
        applied.await.map(drop).map_err(ReconcileError::from)
    }
}

fn is_set(id: &ObjectId) -> bool {
    id.group == "apps" && id.kind == "StatefulSet"
}

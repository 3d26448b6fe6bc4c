//! A revision that nobody vouches for and that is what we would deploy.

use std::collections::BTreeMap;

use jiff::Timestamp;
use steersman_model::ObjectId;

use crate::reconcile::ReconcileSettings;
use crate::reconcile::error::ReconcileError;
use crate::reconcile::event_recorder::EventRecorder;
use crate::reconcile::executor::{Carried, Executor};
use crate::reconcile::kept_up::tellers;
use crate::reconcile::plan::Adoption;
use crate::reconcile::release_cache::ReleaseCache;
use crate::reconcile::secrets::secrets_of;
use crate::reconcile::session::{PreparedRelease, Session};
use crate::reconcile::unfinished::Stage;
use crate::release::{RecordOwner, Snapshot, SnapshotObject, Stored, Verdict};
use crate::status::EventReason;

/// Makes the last revision ours: its objects get our marks, no hook runs, and the history stays as it is.
#[derive(Clone, Copy)]
pub(crate) struct TakeOver<'a> {
    pub(crate) executor: &'a Executor,
    pub(crate) recorder: &'a EventRecorder,
    pub(crate) settings: &'a ReconcileSettings,
    pub(crate) now: fn() -> Timestamp,
}

impl TakeOver<'_> {
    /// # Cancellation
    /// Safe at any await: until the last request the revision is not marked as ours, and is taken over again.
    pub(crate) async fn run(
        &self,
        session: &Session,
        prepared: &PreparedRelease,
        cache: &mut ReleaseCache,
        adoption: &Adoption,
        revisions: &[Stored],
    ) -> Result<(), ReconcileError> {
        let Some(last) = revisions.last() else {
            return Ok(());
        };
        let plan = &adoption.plan;
        session.redactor.learn(secrets_of([last], &plan.objects));
        let claimed = self.as_claimed(session, adoption, last).await?;
        let snapshot = if let Some(claimed) = claimed {
            claimed
        } else {
            self.executor.begin(session, cache, prepared.inputs, plan).await?;
            let applier = &self.executor.applier;
            applier.check(&session.owner, &plan.objects).await?;
            let carried = self
                .executor
                .carry_out(session, plan, None, &mut Stage::default())
                .await?;
            let Carried::Out(changes) = carried else {
                return Ok(());
            };
            self.executor.note_changes(session, &changes);
            Snapshot::new(&changes)
        };
        let mut stored = Stored {
            snapshot: Snapshot {
                inputs: Some(prepared.inputs),
                lookups: session.progress.lookups().unwrap_or_default(),
                values_from: prepared.sources.clone(),
                // Procedures keep up what they did, and what it has waited for lets nothing else through.
                overlay: prepared.held.overlay().clone(),
                behind: cache.agreed.behind().clone(),
                next: last.snapshot.next.clone(),
                ..snapshot
            },
            verdict: Verdict::Signed,
            claim: None,
            owner: RecordOwner::Resource,
            ..last.clone()
        };
        if let Some(hooks) = &adoption.hooks {
            stored.record.hooks = Some(hooks.clone());
        }
        let former = revisions.split_last().map_or(&[][..], |(_, former)| former);
        self.tell(session, &stored, former).await?;
        let rewritten = adoption.hooks.is_some();
        session
            .history
            .take_over(&stored, rewritten, (self.now)())
            .await?;
        let notes = session.redactor.mask(&stored.record.info.notes);
        cache.note_deployed(&stored, Some(prepared.inputs), notes);
        cache.secrets.note_revision(&stored, former);
        cache.log_when_reported("Reconciled release");
        self.announce(session, last);
        Ok(())
    }

    /// Those before the revision tell what procedures keep up in it, as where it was deployed by us.
    async fn tell(
        &self,
        session: &Session,
        stored: &Stored,
        earlier: &[Stored],
    ) -> Result<(), ReconcileError> {
        let Some(kept_up) = self.settings.kept_up(&session.history, stored) else {
            return Ok(());
        };
        let tellers = tellers(earlier);
        for former in earlier {
            if tellers.contains(&former.record.version) {
                let snapshot = Snapshot {
                    next: Some(kept_up.clone()),
                    ..former.snapshot.clone()
                };
                session.history.write_snapshot(former, &snapshot).await?;
            }
        }
        Ok(())
    }

    /// The snapshot of a revision of the resource's own from before it was signed, or whose key is lost. Nothing needs to be
    /// applied then: which objects there are the manifest says, which is proven, and a digest that somebody has changed only
    /// has an object applied from it, or not before it changes again. `None` where it is not complete.
    async fn as_claimed(
        &self,
        session: &Session,
        adoption: &Adoption,
        last: &Stored,
    ) -> Result<Option<Snapshot>, ReconcileError> {
        let is_ours = last.owner == RecordOwner::Resource;
        let Some(claim) = last
            .claim
            .as_ref()
            .filter(|claim| is_ours && claim.inputs.is_some())
        else {
            return Ok(None);
        };
        let claimed: BTreeMap<&ObjectId, &SnapshotObject> =
            claim.objects.iter().map(|object| (&object.id, object)).collect();
        let objects = adoption.plan.objects.clone();
        let count = objects.len();
        let named = self.executor.identities(session, objects).await?;
        let mut found = Vec::new();
        for (id, object) in named {
            match claimed.get(&id) {
                Some(claimed) if claimed.digest.is_some() => found.push(SnapshotObject {
                    id,
                    version: object.api.version,
                    digest: claimed.digest,
                    changed_at: claimed.changed_at,
                    uid: None,
                    completed: false,
                }),
                _ => return Ok(None),
            }
        }
        Ok((found.len() == count).then(|| Snapshot {
            objects: found,
            abandoned: last.snapshot.abandoned.clone(),
            hook_objects: last.snapshot.hook_objects.clone(),
            ..Snapshot::default()
        }))
    }

    fn announce(&self, session: &Session, last: &Stored) {
        let revision = last.record.version;
        if last.owner == RecordOwner::Resource {
            tracing::info!(release = %session.release, %revision, "Signed the revision, as it is what the chart renders");
            return;
        }
        let message = format!(
            "release {} is taken over as it is, at revision {revision}",
            session.release
        );
        self.recorder
            .event(session, EventReason::ReleaseTakenOver, &message);
    }
}

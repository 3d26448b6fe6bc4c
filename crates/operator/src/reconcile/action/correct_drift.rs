//! Objects that somebody else has changed or deleted.

use tokio::time::Instant;

use super::super::Reconciler;
use super::super::error::ReconcileError;
use super::super::memory::Memory;
use super::super::render::definitions;
use super::super::secrets::redactor;
use super::super::session::Session;
use crate::apply::{ApplyOptions, Handover};
use crate::release::Stored;
use crate::status::EventKind;
use steersman_model::{Change, ChangeSet, ObjectId, objects_of_manifest};

impl Reconciler {
    /// Applies `objects` again, from the manifest of the deployed revision.
    pub(in super::super) async fn correct_drift(
        &self,
        session: &mut Session,
        memory: &mut Memory,
        objects: &[ObjectId],
    ) -> Result<(), ReconcileError> {
        let deployed = memory.known.as_ref().and_then(|known| known.deployed);
        let stored = match deployed {
            Some(revision) => session.history.get(revision).await?,
            None => None,
        };
        let Some(mut stored) = stored else {
            // The revision was deleted; what is left says what to do.
            memory.forget_known();
            return Ok(());
        };
        let rendered = objects_of_manifest(&stored.record.manifest)?;
        session.redactor = redactor(session, [&stored], &[]);
        let definitions = definitions(&self.settings.chart.crds())?;
        self.shared
            .applier
            .restore_crds(&definitions, &rendered, self.settings.crds)
            .await?;
        let affected = rendered.iter().filter(|object| {
            objects
                .iter()
                .any(|id| id.group == object.api.group && id.kind == object.api.kind)
        });
        let unserved = self.shared.applier.first_unserved(affected).await?;
        let drifted = self.shared.applier.identities(&session.owner, rendered).await?;
        let drifted = drifted
            .into_iter()
            .filter(|(id, _)| objects.contains(id))
            .map(|(_, object)| object)
            .collect::<Vec<_>>();
        let applier = &self.shared.applier;
        let rules = &self.settings.drift.ignore;
        let before = drifted.clone();
        let drifted = applier
            .leave_to_others(&session.owner, rules, drifted, before, Handover::Make)
            .await
            .map_err(ReconcileError::Drift)?;
        let options = ApplyOptions {
            conflicts: self.settings.conflicts,
            ..ApplyOptions::default()
        };
        let changes = applier
            .apply_with(&session.owner, drifted, options)
            .await
            .map_err(ReconcileError::Drift)?;
        session.corrected += changes.len();
        memory.note_corrected(&changes, Instant::now());
        if update_digests(&mut stored, &changes) {
            session.history.update(&stored, (self.shared.now)()).await?;
        }
        for (id, applied) in &changes {
            let what = if applied.change == Change::Created {
                "deleted"
            } else {
                "changed"
            };
            tracing::info!(release = %session.release, object = %id, "corrected drift: the object was {what}");
            self.event(
                session,
                EventKind::Normal,
                "DriftCorrected",
                &format!("{id} was {what} and is restored"),
            );
        }
        // What can be healed is; what lacks its definition waits for that.
        if let Some(error) = unserved {
            return Err(ReconcileError::Drift(error));
        }
        session.log("Reconciled release");
        Ok(())
    }

    /// Says which objects are not as the release wants them, where that is not corrected.
    pub(in super::super) fn warn_of_drift(
        &self,
        session: &Session,
        memory: &mut Memory,
        objects: Vec<ObjectId>,
    ) {
        if memory.warned == objects {
            return;
        }
        for id in &objects {
            let message = format!("{id} was changed or deleted, and is left so");
            tracing::warn!(release = %session.release, object = %id, "drift: {message}");
            self.event(session, EventKind::Warning, "DriftDetected", &message);
        }
        memory.warned = objects;
    }

    /// Somebody undoes every correction.
    pub(in super::super) async fn warn_of_fight(&self, session: &Session, objects: &[ObjectId]) {
        let Some(first) = objects.first() else { return };
        let writer = match self.shared.applier.last_writer(first).await {
            Some(writer) => format!("{writer:?}"),
            None => "another writer".to_owned(),
        };
        let named: Vec<String> = objects.iter().take(3).map(ToString::to_string).collect();
        let message = format!(
            "{writer} keeps changing {}; it is corrected more slowly",
            named.join(", ")
        );
        tracing::warn!(release = %session.release, "{message}");
        self.event(session, EventKind::Warning, "DriftFight", &message);
    }
}

/// An apply gives the same digest again as a rule. Where it does not, the new one must be found
/// after a restart, or the object would be applied again then.
pub(super) fn update_digests(stored: &mut Stored, changes: &ChangeSet) -> bool {
    let mut differs = false;
    for object in &mut stored.snapshot.objects {
        if let Some(applied) = changes.get(&object.id)
            && applied.digest != object.digest
        {
            object.digest = applied.digest;
            differs = true;
        }
    }
    differs
}

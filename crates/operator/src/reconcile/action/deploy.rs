//! What installation, upgrade and recovery have in common: a revision that is written down is
//! brought into effect.

use steersman_chart::Operation;

use super::super::Reconciler;
use super::super::error::ReconcileError;
use super::super::memory::{Memory, was_ever_deployed};
use super::super::render::{definitions, manifest};
use super::super::secrets::redactor;
use super::super::session::Session;
use crate::apply::{ApplyOptions, Deletion, Handover, Moment};
use crate::release::{Snapshot, Stored};
use crate::status::{EventKind, is_secret_key};
use crate::telemetry::step;
use steersman_model::{Change, ChangeSet, ObjectId, RenderedObject, chain, objects_of_manifest};
use steersman_model::{Inputs, ReleaseStatus, Revision};

impl Reconciler {
    /// Renders the next revision after `earlier`, writes it down, and brings it into effect.
    pub(in super::super) async fn roll_out(
        &self,
        session: &mut Session,
        memory: &mut Memory,
        mut earlier: Vec<Stored>,
    ) -> Result<Revision, ReconcileError> {
        let Some(inputs) = session.inputs else {
            return Err(ReconcileError::Renderer);
        };
        let revision = earlier
            .last()
            .map_or(Revision::FIRST, |last| last.record.version.next());
        session.first = !was_ever_deployed(&earlier);
        let operation = if session.first {
            Operation::Install
        } else {
            Operation::Upgrade
        };
        let rendered = self.render(session, revision, operation).await?;
        let manifest = manifest(&rendered);
        let objects = objects_of_manifest(&manifest)?;
        session.redactor = redactor(session, in_effect(&earlier), &objects);
        for hook in &rendered.hooks {
            session.redactor.add_manifest(&hook.manifest.text);
        }

        let definitions = definitions(&rendered.crds)?;
        let installed = self.shared.applier.install_crds(&definitions, self.settings.crds);
        if step("define").of(installed).await? {
            self.shared.discovery.refresh().await?;
        }
        self.shared.applier.check(&session.owner, &objects).await?;

        self.event_overrides(session);
        let first_deployed = earlier.first().and_then(|first| first.record.info.first_deployed);
        let record = self.record(session, revision, &rendered, manifest, first_deployed);
        let status = record.info.status;
        let snapshot = Snapshot {
            inputs: Some(inputs),
            lookups: session.looked_up(),
            ..Snapshot::default()
        };
        let mut stored = Stored {
            record,
            snapshot,
            managers: Vec::new(),
            parts: None,
        };
        // The write-ahead inventory: a crash between here and the last apply leaves nothing that
        // a later prune can't find.
        let surplus = self.make_room(session, &earlier, &mut stored).await?;
        let written = session.history.create(&stored, (self.shared.now)());
        step("store").of(written).await?;
        memory.note_pending(revision, status, inputs);
        for old in earlier.extract_if(.., |former| surplus.contains(&former.record.version)) {
            session.history.delete(&old).await?;
        }
        self.deploy(session, memory, stored, objects, &earlier).await?;
        Ok(revision)
    }

    /// Brings a revision that is written down into effect: hooks, objects, prune, hooks.
    pub(in super::super) async fn deploy(
        &self,
        session: &mut Session,
        memory: &mut Memory,
        mut stored: Stored,
        objects: Vec<RenderedObject>,
        earlier: &[Stored],
    ) -> Result<(), ReconcileError> {
        let inputs = stored.snapshot.inputs.or(session.inputs);
        match self.take_effect(session, &stored, objects, earlier).await {
            Ok(changes) => {
                let written = self.conclude(session, memory, stored, inputs, &changes, earlier);
                step("store").of(written).await
            }
            Err(error) => {
                if stored.record.info.status != ReleaseStatus::Failed
                    && !error.is_transient()
                    && !error.is_interruption()
                {
                    stored.record.info.status = ReleaseStatus::Failed;
                    stored.record.info.description = session.redactor.mask(&chain(&error));
                    if let Err(unwritten) = session.history.update(&stored, (self.shared.now)()).await {
                        session.log_error("failed to mark the revision as failed", &chain(&unwritten));
                    } else if let Some(inputs) = inputs {
                        memory.note_pending(stored.record.version, ReleaseStatus::Failed, inputs);
                    }
                }
                if self.is_to_be_undone(session, &error) {
                    self.undo(session, memory, &stored, earlier).await;
                }
                Err(error)
            }
        }
    }

    fn is_to_be_undone(&self, session: &Session, error: &ReconcileError) -> bool {
        let wanted = session.controls.rollback_on_failure;
        wanted.unwrap_or(self.settings.releases.rollback_on_failure)
            && !error.is_transient()
            && !error.is_interruption()
    }

    async fn take_effect(
        &self,
        session: &Session,
        stored: &Stored,
        objects: Vec<RenderedObject>,
        earlier: &[Stored],
    ) -> Result<ChangeSet, ReconcileError> {
        let hooks = stored.record.hooks.as_deref().unwrap_or_default();
        let (before, after, operation) = if session.first {
            let operation = &session.controls.install;
            (Moment::PreInstall, Moment::PostInstall, operation)
        } else {
            let operation = &session.controls.upgrade;
            (Moment::PreUpgrade, Moment::PostUpgrade, operation)
        };
        let hooks = if operation.hooks_disabled { &[] } else { hooks };
        let applier = &self.shared.applier;
        let timeout = self.settings.releases.hook_timeout;
        let revision = stored.record.version;
        applier
            .run_hooks(&session.owner, hooks, (revision, before), timeout)
            .await?;
        let formers = former_managers(earlier);
        let options = ApplyOptions {
            formers: &formers,
            recreate: session.controls.upgrade_force,
            conflicts: self.settings.conflicts,
        };
        let objects = self
            .leave_to_others(session, objects, earlier, Handover::Make)
            .await?;
        let changes = applier.apply_with(&session.owner, objects, options).await?;
        let abandoned = &stored.snapshot.abandoned;
        self.prune(session, &changes, abandoned, in_effect(earlier))
            .await?;
        applier
            .run_hooks(&session.owner, hooks, (revision, after), timeout)
            .await?;
        Ok(changes)
    }

    /// `objects` with what is left to others as it is.
    pub(in super::super) async fn leave_to_others(
        &self,
        session: &Session,
        objects: Vec<RenderedObject>,
        earlier: &[Stored],
        handover: Handover,
    ) -> Result<Vec<RenderedObject>, ReconcileError> {
        let Some(former) = in_effect(earlier).first() else {
            return Ok(objects);
        };
        // A manifest that can't be read tells nothing.
        let before = objects_of_manifest(&former.record.manifest).unwrap_or_default();
        let rules = &self.settings.drift.ignore;
        let applier = &self.shared.applier;
        Ok(applier
            .leave_to_others(&session.owner, rules, objects, before, handover)
            .await?)
    }

    /// Deletes what is abandoned and what `revisions` name, but what is desired. What is to be kept stays
    /// without our marks.
    pub(super) async fn prune<'a>(
        &self,
        session: &Session,
        desired: &ChangeSet,
        abandoned: &[ObjectId],
        revisions: impl IntoIterator<Item = &'a Stored> + Send,
    ) -> Result<(), ReconcileError> {
        let mut orphans: Vec<ObjectId> = abandoned
            .iter()
            .filter(|id| !desired.contains_key(id))
            .cloned()
            .collect();
        for (id, object) in self.inventory(session, revisions).await? {
            if desired.contains_key(&id) || orphans.contains(&id) {
                continue;
            }
            if object.is_kept() {
                self.shared.applier.disown(&session.owner, &id).await?;
                tracing::info!(release = %session.release, object = %id, "kept, as the chart wants it");
                continue;
            }
            orphans.push(id);
        }
        orphans.sort_by(|a, b| steersman_chart::manifest::uninstall_order(&a.kind, &b.kind));
        if orphans.is_empty() {
            return Ok(());
        }
        let step = step("prune").objects(orphans.len());
        step.of(self.delete_orphans(session, orphans)).await
    }

    async fn delete_orphans(&self, session: &Session, orphans: Vec<ObjectId>) -> Result<(), ReconcileError> {
        for id in orphans {
            match self.shared.applier.delete(&session.owner, &id).await? {
                Deletion::NotOurs(reason) => {
                    tracing::warn!(release = %session.release, object = %id, reason, "left alone, as it is not ours");
                }
                Deletion::Accepted => tracing::debug!(release = %session.release, object = %id, "pruned"),
                Deletion::Gone => {}
            }
        }
        Ok(())
    }

    /// The objects that the manifests of `revisions` name. What can't be read there is left
    /// out: nothing is deleted on the word of a damaged record.
    pub(in super::super) async fn inventory<'a>(
        &self,
        session: &Session,
        revisions: impl IntoIterator<Item = &'a Stored> + Send,
    ) -> Result<Vec<(ObjectId, RenderedObject)>, ReconcileError> {
        let mut objects = Vec::new();
        for stored in revisions {
            match objects_of_manifest(&stored.record.manifest) {
                Ok(found) => objects.extend(found),
                Err(error) => {
                    let revision = stored.record.version;
                    tracing::warn!(release = %session.release, %revision, error = %chain(&error), "a stored manifest can't be read");
                }
            }
        }
        Ok(self.shared.applier.identities(&session.owner, objects).await?)
    }

    async fn conclude(
        &self,
        session: &mut Session,
        memory: &mut Memory,
        mut stored: Stored,
        inputs: Option<Inputs>,
        changes: &ChangeSet,
        earlier: &[Stored],
    ) -> Result<(), ReconcileError> {
        let now = (self.shared.now)();
        // In this order: a crash in between leaves no two deployed revisions, and this one is
        // found not deployed and applied again.
        for former in earlier
            .iter()
            .filter(|former| former.record.info.status == ReleaseStatus::Deployed)
        {
            let mut former = former.clone();
            former.record.info.status = ReleaseStatus::Superseded;
            session.history.update(&former, now).await?;
        }
        stored.record.info.status = ReleaseStatus::Deployed;
        let (operation, complete) = if session.first {
            (&session.controls.install, "Install complete")
        } else {
            (&session.controls.upgrade, "Upgrade complete")
        };
        let description = operation.description.as_deref().unwrap_or(complete);
        description.clone_into(&mut stored.record.info.description);
        stored.snapshot = Snapshot {
            inputs,
            lookups: stored.snapshot.lookups,
            ..Snapshot::new(changes)
        };
        let surplus = self.make_room(session, earlier, &mut stored).await?;
        session.history.update(&stored, now).await?;
        let notes = session.redactor.mask(&stored.record.info.notes);
        memory.note_deployed(&stored, inputs, notes);

        let goes = |former: &&Stored| surplus.contains(&former.record.version);
        for old in earlier.iter().filter(goes) {
            session.history.delete(old).await?;
        }
        self.tell_of(session, changes);
        session.first = false;
        Ok(())
    }

    /// Says in events what was done to objects that the server did not take as they are.
    pub(super) fn tell_of(&self, session: &Session, changes: &ChangeSet) {
        for (id, applied) in changes {
            if applied.change == Change::Recreated {
                let message = format!("{id} could not be changed in place; it was deleted and created again");
                self.event(session, EventKind::Warning, "ObjectRecreated", &message);
            }
            for note in &applied.mended {
                let message = session.redactor.mask(&format!("{id}: {note}; mend the chart"));
                self.event(session, EventKind::Warning, "ObjectMended", &message);
            }
        }
    }

    /// helm-operator's warning about values that the watch overrides. What comes from the environment is
    /// not shown, nor what is secret by its key.
    fn event_overrides(&self, session: &Session) {
        for (key, value) in &self.settings.override_values {
            let is_hidden = self.settings.suppress_override_values
                || self.settings.overrides_from_environment.contains(key)
                || key.split(['.', '[']).any(is_secret_key);
            let shown = if is_hidden {
                "****".to_owned()
            } else {
                session.redactor.mask(value)
            };
            let message = format!("Chart value {key:?} overridden to {shown:?} by operator's watches.yaml");
            self.event(session, EventKind::Warning, "OverrideValuesInUse", &message);
        }
    }

    /// Says in an event that a revision is deployed, and in the log as soon as the status shows it: who
    /// waits for the line finds the release there. `first` tells an installation from an upgrade.
    pub(in super::super) fn announce(
        &self,
        session: &Session,
        memory: &mut Memory,
        first: bool,
        revision: Revision,
    ) {
        let (line, reason) = if first {
            ("Installed release", "ReleaseInstalled")
        } else {
            ("Upgraded release", "ReleaseUpgraded")
        };
        memory.announce(line);
        let chart = &self.settings.chart;
        let message = format!(
            "release {} revision {revision} of chart {}-{} is deployed",
            session.release,
            chart.name(),
            chart.version()
        );
        self.event(session, EventKind::Normal, reason, &message);
    }
}

/// The revisions whose objects may be live: the last one that was in effect and all after it.
pub(in super::super) fn in_effect(revisions: &[Stored]) -> &[Stored] {
    let was = |stored: &Stored| {
        matches!(
            stored.record.info.status,
            ReleaseStatus::Deployed | ReleaseStatus::Superseded
        )
    };
    let start = revisions.iter().rposition(was).unwrap_or_default();
    revisions.get(start..).unwrap_or_default()
}

/// The field managers of others by which live objects of the release may have been written.
pub(in super::super) fn former_managers(revisions: &[Stored]) -> Vec<String> {
    let former = in_effect(revisions).iter().flat_map(Stored::former_managers);
    former.collect()
}

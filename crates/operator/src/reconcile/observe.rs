//! Observing: from memory where it knows, from the cluster where it does not.

use serde_json::Value;
use tokio::time::Instant;

use super::Reconciler;
use super::error::ReconcileError;
use super::memory::{Known, Memory};
use super::session::Session;
use super::state::Observed;
use crate::release::Stored;
use crate::status::{Deployed, Health, HealthSummary, ManifestInStatus, Redactor, Report, has_health};
use steersman_model::{Digest, Inputs, ReleaseStatus, digest_of_json};
use steersman_model::{ObjectId, objects_of_manifest};
use steersman_watches::controls::Mode;
use steersman_watches::values::user_values;

impl Reconciler {
    /// What is true of the resource and its release.
    pub(super) async fn observe(
        &self,
        session: &mut Session,
        memory: &mut Memory,
    ) -> Result<Observed, ReconcileError> {
        let deleting = session.deleting();
        let wish = self.wish(session);
        if !deleting && wish == Mode::Apply && session.inputs.is_none() {
            session.values = user_values(&session.object.data, &self.settings.override_values)?;
            session.redactor = Redactor::new([], &Value::Object(session.values.clone()));
            session.inputs = Some(self.inputs(session));
        }
        let inputs = session.inputs.unwrap_or_else(|| self.inputs(session));
        // What these lead to does not hang on the revisions.
        if deleting || wish != Mode::Apply {
            let guarded = session.held();
            return Ok(Observed {
                deleting,
                guarded,
                wish,
                last: None,
                inputs,
                lookups_changed: false,
                refused: None,
                drifted: Vec::new(),
                drift_mode: self.settings.drift.mode,
            });
        }
        if memory.known.is_none() {
            // Nobody has dealt with a new resource. Should there be revisions that were written this very
            // moment, writing the first one tells.
            let (namespace, release) = (&session.owner.release_namespace, &session.release);
            let revisions = if session.is_new() && !self.shared.presence.may_have(namespace, release) {
                Vec::new()
            } else {
                session.read_anew = true;
                session.history.load().await?
            };
            memory.known = Some(Known::new(&revisions));
            note_unreported(session, memory, &revisions);
        }
        let known = memory.known.as_ref();
        let inputs = known.map_or(inputs, |known| self.reused_inputs(session, known, inputs));
        session.inputs = Some(inputs);
        let lookups_changed = self.lookups_have_changed(session, memory, inputs).await?;
        let drifted = self.drifted(session, memory).await?;
        let last = memory.known.as_ref().and_then(|known| known.last.clone());
        session.first = !last.as_ref().is_some_and(|last| last.deployed_before);
        let refused = memory.refused(&session.controls, Instant::now());
        Ok(Observed {
            deleting,
            guarded: is_guarded(session, memory),
            wish,
            last,
            inputs,
            lookups_changed,
            refused,
            drifted,
            drift_mode: self.settings.drift.mode,
        })
    }

    fn wish(&self, session: &Session) -> Mode {
        match session.controls.mode {
            Mode::Apply if self.settings.dry_run => Mode::DryRun,
            wish => wish,
        }
    }

    pub(super) fn inputs(&self, session: &Session) -> Inputs {
        let owner = &session.owner;
        let identity = [&owner.release, &owner.release_namespace, &owner.uid].map(String::as_str);
        Inputs {
            chart: Digest::from_bytes(self.settings.chart.digest().0),
            values: digest_of_json(&Value::Object(session.values.clone())),
            identity: Digest::of(identity.join("/").as_bytes()),
        }
    }

    /// The objects of the deployed revision that are not as we left them. Objects of a kind
    /// that can't be watched count as unchanged.
    async fn drifted(&self, session: &Session, memory: &Memory) -> Result<Vec<ObjectId>, ReconcileError> {
        let Some(known) = &memory.known else {
            return Ok(Vec::new());
        };
        if known.objects.is_empty() {
            return Ok(Vec::new());
        }
        let served = self.shared.discovery.served().await?;
        let dependents = &self.shared.dependents;
        let mut drifted = Vec::new();
        for (id, expected) in &known.objects {
            let Some(resource) = served.any_version(&id.group, &id.kind) else {
                drifted.push(id.clone());
                continue;
            };
            if !dependents.ensure(id, resource).await {
                continue;
            }
            let as_left = dependents.live(&session.owner.uid, id).is_some_and(|live| {
                // What is being deleted is applied again when it is gone.
                live.deleting || expected.is_none() || live.digest == *expected
            });
            if !as_left {
                drifted.push(id.clone());
            }
        }
        Ok(drifted)
    }

    /// The report on a release that is as it should be.
    pub(super) fn deployed(&self, session: &Session, memory: &Memory) -> Report {
        let known = memory.known.as_ref();
        let objects = known.map(|known| &known.objects);
        let watched = objects
            .into_iter()
            .flatten()
            .filter(|(id, _)| has_health(&id.group, &id.kind));
        let verdicts = watched.map(|(id, _)| {
            let live = self.shared.dependents.live(&session.owner.uid, id);
            let mask = |text: String| session.redactor.mask(&text);
            let verdict = live.and_then(|live| match live.health? {
                _ if live.deleting => Some(Health::Progressing("it is being deleted".to_owned())),
                said @ (Health::Ready | Health::Unseen) => Some(said),
                Health::Progressing(reason) => Some(Health::Progressing(mask(reason))),
                Health::Failed(reason) => Some(Health::Failed(mask(reason))),
            });
            (id, verdict)
        });
        Report::Deployed(Deployed {
            release: session.release.clone(),
            revision: known
                .and_then(|known| known.deployed)
                .unwrap_or(steersman_model::Revision::FIRST),
            deployed_at: known.and_then(|known| known.deployed_at),
            chart: self.settings.chart.name().to_owned(),
            chart_version: self.settings.chart.version().to_owned(),
            app_version: self.settings.chart.app_version().map(str::to_owned),
            notes: memory.unreported_notes().map(str::to_owned),
            health: HealthSummary::new(verdicts),
            manifest: ManifestInStatus::default(),
        })
    }
}

/// A process may have ended after it deployed a revision and before it said so in the status.
fn note_unreported(session: &Session, memory: &mut Memory, revisions: &[Stored]) {
    let is_deployed = |stored: &&Stored| stored.record.info.status == ReleaseStatus::Deployed;
    let Some(deployed) = revisions.iter().rev().find(is_deployed) else {
        return;
    };
    let shown = session
        .object
        .data
        .pointer("/status/revision")
        .and_then(Value::as_u64);
    if shown == Some(u64::from(deployed.record.version.0)) {
        return;
    }
    // Without the objects nobody knows what in the notes is secret.
    if let Ok(objects) = objects_of_manifest(&deployed.record.manifest) {
        let redactor = Redactor::new(&objects, &Value::Object(session.values.clone()));
        memory.note_unreported(redactor.mask(&deployed.record.info.notes));
    }
}

/// Whether the resource is held as it must be, or somebody else's selector matches it as well:
/// then two operators would write theirs over each other's for ever.
fn is_guarded(session: &Session, memory: &mut Memory) -> bool {
    if session.guarded() {
        return true;
    }
    let in_vain = session.held() && memory.guards_in_vain(Instant::now());
    if in_vain {
        let other = session.held_under();
        tracing::warn!(release = %session.release, other, "the selector of another operator matches the resource, too");
    }
    in_vain
}

//! What helm-operator does and a watch can ask for.

use serde_json::Value;

use super::error::ReconcileError;
use super::memory::{KnownRelease, Memory};
use super::observe::inputs;
use super::session::{Prepared, Session};
use super::{ReconcileSettings, Reconciler};
use crate::release::Stored;
use crate::status::{ManifestInStatus, Redactor, shown_manifest};
use steersman_model::objects_of_manifest;
use steersman_model::{Inputs, ReleaseStatus};

impl Reconciler {
    /// What the release would be rendered from, if a resource without values keeps those of the
    /// last release (`reuseValues`).
    pub(super) fn reused_inputs(&self, prepared: &Prepared, known: &KnownRelease, inputs: Inputs) -> Inputs {
        let deployed = known
            .last
            .as_ref()
            .filter(|last| last.status == ReleaseStatus::Deployed);
        match deployed.and_then(|last| last.inputs) {
            Some(last) if reuses(&self.settings, prepared) => Inputs {
                values: last.values,
                ..inputs
            },
            _ => inputs,
        }
    }

    /// The manifest of the deployed revision for the status, if the watch wants it there (`manifestInStatus`).
    ///
    /// # Errors
    /// The revision can't be read.
    pub(super) async fn manifest_in_status(
        &self,
        session: &Session,
        memory: &Memory,
    ) -> Result<ManifestInStatus, ReconcileError> {
        if !self.settings.compat.manifest_in_status {
            return Ok(ManifestInStatus::LeftOut);
        }
        let Some(revision) = memory.deployed_revision() else {
            return Ok(ManifestInStatus::AsBefore);
        };
        let status = session.object().data.get("status");
        let at = |pointer: &str| status.and_then(|status| status.pointer(pointer));
        let is_there = at("/deployedRelease/manifest").is_some()
            && at("/revision").and_then(serde_json::Value::as_u64) == Some(u64::from(revision.0));
        if is_there {
            return Ok(ManifestInStatus::AsBefore);
        }
        let Some(stored) = session.history.get(revision).await? else {
            return Ok(ManifestInStatus::AsBefore);
        };
        let objects = objects_of_manifest(&stored.record.manifest)?;
        let values = stored.record.config.map(serde_json::Value::Object);
        let redactor = Redactor::new(&objects, &values.unwrap_or_default());
        Ok(ManifestInStatus::Text(shown_manifest(&objects, &redactor)))
    }
}

impl Prepared {
    /// The same, with the values of the last deployed revision for a resource without values, if the watch wants so. What
    /// is secret in them is masked from now on.
    pub(super) fn with_reused_values(
        &self,
        session: &Session,
        settings: &ReconcileSettings,
        revisions: &[Stored],
    ) -> Self {
        let mut deployed = revisions.iter().rev();
        let deployed = deployed.find(|stored| stored.record.info.status == ReleaseStatus::Deployed);
        match deployed.and_then(|stored| stored.record.config.clone()) {
            Some(values) if reuses(settings, self) => {
                let secrets = Redactor::new([], &Value::Object(values.clone()));
                session.redactor.learn(secrets);
                Self {
                    inputs: inputs(&settings.chart, &session.owner, &values),
                    values,
                    ..self.clone()
                }
            }
            _ => self.clone(),
        }
    }
}

fn reuses(settings: &ReconcileSettings, prepared: &Prepared) -> bool {
    settings.compat.reuse_values && prepared.values.is_empty()
}

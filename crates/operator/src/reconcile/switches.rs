//! Old ways of helm-operator's that a watch can have back.

use super::Reconciler;
use super::error::ReconcileError;
use super::memory::{Known, Memory};
use super::session::Session;
use crate::release::Stored;
use crate::status::{Deployed, ManifestInStatus, Redactor, Report, shown_manifest};
use steersman_model::objects_of_manifest;
use steersman_model::{Inputs, ReleaseStatus};

impl Reconciler {
    /// What the release would be rendered from, if a resource without values keeps those of the
    /// last release (`reuseValues`).
    pub(super) fn reused_inputs(&self, session: &Session, known: &Known, inputs: Inputs) -> Inputs {
        let deployed = known
            .last
            .as_ref()
            .filter(|last| last.status == ReleaseStatus::Deployed);
        match deployed.and_then(|last| last.inputs) {
            Some(last) if self.reuses(session) => Inputs {
                values: last.values,
                ..inputs
            },
            _ => inputs,
        }
    }

    /// Gives a resource without values those of the last deployed revision, if the watch wants so.
    pub(super) fn reuse_values(&self, session: &mut Session, revisions: &[Stored]) {
        let mut deployed = revisions.iter().rev();
        let deployed = deployed.find(|stored| stored.record.info.status == ReleaseStatus::Deployed);
        if self.reuses(session)
            && let Some(config) = deployed.and_then(|stored| stored.record.config.clone())
        {
            session.values = config;
            session.inputs = Some(self.inputs(session));
        }
    }

    fn reuses(&self, session: &Session) -> bool {
        self.settings.compat.reuse_values && session.values.is_empty()
    }

    /// The report with the manifest of the deployed revision, if the watch wants it in the status
    /// (`manifestInStatus`) and it is not there.
    ///
    /// # Errors
    /// The revision can't be read.
    pub(super) async fn with_manifest(
        &self,
        session: &Session,
        memory: &Memory,
        report: Report,
    ) -> Result<Report, ReconcileError> {
        let Report::Deployed(deployed) = report else {
            return Ok(report);
        };
        let manifest = if self.settings.compat.manifest_in_status {
            self.manifest(session, memory).await?
        } else {
            ManifestInStatus::LeftOut
        };
        Ok(Report::Deployed(Deployed { manifest, ..deployed }))
    }

    async fn manifest(&self, session: &Session, memory: &Memory) -> Result<ManifestInStatus, ReconcileError> {
        let Some(revision) = memory.deployed_revision() else {
            return Ok(ManifestInStatus::AsBefore);
        };
        let status = session.object.data.get("status");
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

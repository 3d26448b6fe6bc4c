//! `reuseValues` of a watch: a resource without values keeps those of the last release, as with helm-operator.

use serde_json::Value;
use steersman_model::{Inputs, ReleaseStatus};

use super::ReconcileSettings;
use super::observe::inputs;
use super::release_cache::KnownRelease;
use super::session::{PreparedRelease, Session};
use crate::release::Stored;
use crate::status::Redactor;

impl PreparedRelease {
    /// What the release would be rendered from, if a resource without values keeps those of the last deployed
    /// revision.
    pub(super) fn reused_inputs(&self, settings: &ReconcileSettings, known: &KnownRelease) -> Inputs {
        match known.deployed_values {
            Some(values) if reuses(settings, self) => Inputs {
                values,
                ..self.inputs
            },
            _ => self.inputs,
        }
    }

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
        let unproven = deployed.filter(|stored| !stored.is_signed());
        match deployed.and_then(|stored| stored.record.config.clone()) {
            Some(values) if reuses(settings, self) => {
                let secrets = Redactor::new([], &Value::Object(values.clone()));
                session.redactor.learn(secrets);
                Self {
                    inputs: inputs(settings, &session.owner, (&values, self.held.overlay())),
                    own_values: values.clone(),
                    values,
                    unproven: unproven.map(|stored| stored.record.version),
                    ..self.clone()
                }
            }
            _ => self.clone(),
        }
    }
}

fn reuses(settings: &ReconcileSettings, prepared: &PreparedRelease) -> bool {
    settings.compat.reuse_values && prepared.values.is_empty()
}

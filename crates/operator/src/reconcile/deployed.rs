//! The report on a release that is as it should be.

use serde_json::Value;
use steersman_model::{ObjectId, objects_of_manifest};

use super::ReconcileSettings;
use super::agreed::shown_overlay;
use super::error::ReconcileError;
use super::gate_report::stages_of_deployed;
use super::release_cache::ReleaseCache;
use super::secrets::secrets_of;
use super::session::Session;
use crate::dependents::Dependents;
use crate::release::{Stored, TestOutcome, TestRecord};
use crate::status::{
    Deployed, DeployedChart, Health, HealthSummary, ManifestInStatus, ReleaseReport, TestsReport,
    shown_manifest, shown_words,
};

/// What the status has in the place of a manifest that may have secrets that are not known.
const NOT_SHOWN: &str =
    "# not shown: it may have what is or was in Secrets that the chart has looked up or has values from\n";

/// Reports on deployed revisions, from what is remembered of them and what their objects' controllers say.
#[derive(Clone, Copy)]
pub(super) struct DeployedReport<'a> {
    pub(super) settings: &'a ReconcileSettings,
    pub(super) dependents: &'a Dependents,
}

impl DeployedReport<'_> {
    /// The report on a release that is as it should be.
    ///
    /// # Errors
    /// The status is to have the manifest, and the revision can't be read.
    pub(super) async fn report(
        &self,
        session: &Session,
        cache: &ReleaseCache,
    ) -> Result<ReleaseReport, ReconcileError> {
        let deployed = self.deployed(session, cache).await?;
        Ok(ReleaseReport::Deployed(Box::new(deployed)))
    }

    /// What is deployed where the status does not show it yet, and `report` tells of something else.
    ///
    /// # Errors
    /// As [`DeployedReport::report`].
    pub(super) async fn unshown(
        &self,
        session: &Session,
        cache: &ReleaseCache,
        report: &ReleaseReport,
    ) -> Result<Option<Deployed>, ReconcileError> {
        let is_shown = matches!(report, ReleaseReport::Deployed(_)) || !report.is_of_present_release();
        if is_shown || !cache.is_unreported() || cache.deployed_revision().is_none() {
            return Ok(None);
        }
        self.deployed(session, cache).await.map(Some)
    }

    async fn deployed(&self, session: &Session, cache: &ReleaseCache) -> Result<Deployed, ReconcileError> {
        let known = cache.known.as_ref();
        let objects = known.map(|known| &known.objects);
        let watched = objects
            .into_iter()
            .flatten()
            .filter(|(id, _)| self.settings.judges(id));
        let verdicts = watched.map(|(id, _)| {
            let owner = &session.owner.uid;
            if self.dependents.has_expired(owner, id) {
                return (id, Some(Health::Ready));
            }
            let live = self.dependents.live(owner, id);
            let verdict = live.and_then(|live| match live.health? {
                _ if live.deleting => Some(Health::Progressing("it is being deleted".to_owned())),
                said => Some(said),
            });
            (id, verdict)
        });
        let mut verdicts: Vec<(&ObjectId, Option<Health>)> = verdicts.collect();
        mask_words(session, cache, &mut verdicts);
        let health = HealthSummary::new(verdicts);
        let chart = known.and_then(|known| known.chart.clone());
        let chart = chart.unwrap_or_else(|| DeployedChart {
            name: self.settings.chart.name().to_owned(),
            version: self.settings.chart.version().to_owned(),
            app_version: self.settings.chart.app_version().map(str::to_owned),
        });
        Ok(Deployed {
            release: session.release.clone(),
            revision: known
                .and_then(|known| known.deployed)
                .unwrap_or(steersman_model::Revision::FIRST),
            deployed_at: known.and_then(|known| known.deployed_at),
            chart,
            notes: cache.unreported_notes(session),
            // Names may be made of what the chart has looked up.
            health: health.with_names(|names| session.redactor.mask_all_own(names)),
            stages: known
                .map(|known| stages_of_deployed(session, known))
                .unwrap_or_default(),
            tests: known
                .and_then(|known| known.tests.record.as_ref())
                .map(tests_report),
            handled_test: known.and_then(|known| known.tests.handled.clone()),
            overlay: known.and_then(|known| shown_overlay(session, known)),
            manifest: self.manifest(session, cache).await?,
        })
    }

    /// The manifest of the deployed revision for the status, if the watch wants it there (`manifestInStatus`).
    ///
    /// # Errors
    /// The revision can't be read.
    async fn manifest(
        &self,
        session: &Session,
        cache: &ReleaseCache,
    ) -> Result<ManifestInStatus, ReconcileError> {
        if !self.settings.compat.manifest_in_status {
            return Ok(ManifestInStatus::LeftOut);
        }
        let Some(revision) = cache.deployed_revision() else {
            return Ok(ManifestInStatus::AsBefore);
        };
        let status = session.object().data.get("status");
        let at = |pointer: &str| status.and_then(|status| status.pointer(pointer));
        let secrets = &cache.secrets;
        let may_be_shown = secrets.has_looked_up(cache.known_lookups()) && secrets.sources.are_complete();
        let shown = at("/deployedRelease/manifest").and_then(Value::as_str);
        let is_there = shown.is_some_and(|shown| shown != NOT_SHOWN || !may_be_shown)
            && at("/revision").and_then(Value::as_u64) == Some(u64::from(revision.0));
        if is_there {
            return Ok(ManifestInStatus::AsBefore);
        }
        let Some(stored) = session.history.get(revision).await?.filter(Stored::is_signed) else {
            return Ok(ManifestInStatus::AsBefore);
        };
        if !secrets.has_looked_up(&cache.lookups_of(&stored)) || !secrets.sources.has_those_of(&stored) {
            return Ok(ManifestInStatus::Text(NOT_SHOWN.to_owned()));
        }
        let objects = objects_of_manifest(&stored.record.manifest)?;
        session.redactor.learn(secrets_of([&stored], &[]));
        let length = stored.record.manifest.len();
        let manifest = session
            .redactor
            .with(length, |redactor| shown_manifest(&objects, redactor));
        Ok(ManifestInStatus::Text(manifest))
    }
}

fn tests_report(record: &TestRecord) -> TestsReport {
    match &record.outcome {
        None => TestsReport::Running,
        Some(TestOutcome::Succeeded(count)) => TestsReport::Succeeded(*count),
        Some(TestOutcome::Failed(why)) => TestsReport::Failed(why.clone()),
    }
}

/// Masks the words of others in `verdicts`, and shortens them. They may have any secret of the release in them.
pub(super) fn mask_words(
    session: &Session,
    cache: &ReleaseCache,
    verdicts: &mut [(&ObjectId, Option<Health>)],
) {
    let words = verdicts.iter_mut().filter_map(|(_, verdict)| match verdict {
        Some(Health::Progressing(words) | Health::Failed(words)) => Some(words),
        _ => None,
    });
    let mut words: Vec<&mut String> = words.collect();
    let said: Vec<&str> = words.iter().map(|words| words.as_str()).collect();
    let is_complete =
        cache.secrets.are_complete(cache.known_lookups()) && !session.redactor.hides_words_of_others();
    let shown = session
        .redactor
        .with(said.iter().map(|said| said.len()).sum(), |redactor| {
            shown_words(&said, Some(redactor).filter(|_| is_complete))
        });
    for (words, shown) in words.iter_mut().zip(shown) {
        **words = shown;
    }
}

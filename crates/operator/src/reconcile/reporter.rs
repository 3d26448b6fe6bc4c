//! What became of a reconcile, in the status of its resource.

use std::time::Duration;

use kube::Client;
use kube::api::DynamicObject;
use serde_json::Value;
use steersman_cluster::discovery::Resource;
use steersman_model::chain;
use tokio::time::Instant;

use super::error::ReconcileError;
use super::event_recorder::EventRecorder;
use super::gate_report::stages_of_undone;
use super::release_cache::ReleaseCache;
use super::session::{PreparedRelease, Session};
use super::{Next, ReconcileOutcome};
use crate::schedule::backoff;
use crate::status::{
    Deployed, EventReason, Failure, Projection, Prospect, ReleaseReport, StatusError, next_status, reference,
    write_status,
};

/// How soon to try again to say that a name can't be a release's.
const UNREPORTED_PAUSE: Duration = Duration::from_secs(10);

/// Writes what became of reconciles into the status of their resources, and failures into events as well.
#[derive(Clone, Copy)]
pub(super) struct Reporter<'a> {
    pub(super) client: &'a Client,
    pub(super) resource: &'a Resource,
    pub(super) recorder: &'a EventRecorder,
}

impl Reporter<'_> {
    /// Notes a failure, in the log and an event as well; gives the report and when to try again.
    pub(super) fn failure(
        &self,
        session: &Session,
        prepared: Option<&PreparedRelease>,
        cache: &mut ReleaseCache,
        error: &ReconcileError,
    ) -> (ReleaseReport, Next) {
        let inputs = prepared.map(|prepared| prepared.inputs);
        let first = prepared.is_none_or(|prepared| prepared.first);
        cache.note_failure(inputs);
        if error.is_stale() {
            cache.forget_known();
        }
        let mut message = error.masked(&session.redactor);
        let remedy = session.progress.remedy();
        let undone = remedy.as_ref().is_some_and(|remedy| remedy.done);
        if let Some(remedy) = &remedy {
            message = format!("{message}; {}", remedy.text);
        }
        let failed_in = session.progress.failed_in();
        let failure = Failure {
            stage: error.stage(first, session.deleting()),
            stages: failed_in
                .map(|(revision, stages)| stages_of_undone(session, (revision, &stages), &message)),
            message,
            prospect: if error.needs_change() || undone {
                Prospect::Stalled
            } else {
                let failures = cache.failures;
                let asked = error.retry_after().unwrap_or_default();
                let pause = backoff(failures, u8::MAX).max(asked);
                Prospect::Retry { failures, pause }
            },
        };
        session.log_error("Release failed", &failure.message);
        let reason = match failure.prospect {
            Prospect::Stalled => EventReason::ReleaseStalled,
            Prospect::Retry { .. } => EventReason::ReleaseFailed,
        };
        self.recorder.event(session, reason, &failure.message);
        let refused = error.is_stalled() || undone;
        let next = if refused {
            Next::Period
        } else {
            Next::Retry(error.retry_after())
        };
        if refused && let Some(inputs) = inputs {
            // What is stored is not rendered again: it was refused with what it has looked up.
            let rendered = session.progress.lookups();
            let lookups = rendered.unwrap_or_else(|| cache.known_lookups().to_vec());
            cache.refuse(
                inputs,
                session.controls.clone(),
                failure.clone(),
                lookups,
                Instant::now(),
            );
        }
        (ReleaseReport::Failed(failure), next)
    }

    pub(super) async fn report(
        &self,
        session: &Session,
        report: (&ReleaseReport, Option<&Deployed>),
        projection: Option<&Projection>,
    ) -> Result<Option<DynamicObject>, StatusError> {
        let written = session.report(report, projection, (self.recorder.now)()).await;
        if let Err(error) = &written {
            session.log_error("failed to report", &session.redactor.mask(&chain(error)));
        }
        written
    }

    /// Reports that a resource's name can't be a release's, so that there is no session for it.
    pub(super) async fn report_unusable(
        &self,
        object: DynamicObject,
        error: &ReconcileError,
    ) -> ReconcileOutcome {
        let metadata = &object.metadata;
        let namespace = metadata.namespace.as_deref();
        let api = self.resource.objects(self.client, namespace);
        let failure = Failure {
            stage: error.stage(true, false),
            message: chain(error),
            prospect: Prospect::Stalled,
            stages: None,
        };
        let current = object.data.get("status").cloned().unwrap_or(Value::Null);
        let next = next_status(
            &current,
            &ReleaseReport::Failed(failure),
            metadata.generation,
            (self.recorder.now)(),
        );
        let name = metadata.name.as_deref().unwrap_or_default();
        let uid = metadata.uid.as_deref().unwrap_or_default();
        tracing::error!(name, error = %chain(error), "Release failed");
        let types = &self.resource.api;
        let about = reference((&types.api_version, &types.kind), metadata);
        let now = (self.recorder.now)();
        let events = &self.recorder.events;
        events.send(&about, EventReason::ReleaseStalled, &chain(error), now);
        let (next, object) = match write_status(&api, name, (uid, None), &current, &next).await {
            Ok(written) => (Next::Period, written),
            Err(StatusError(error)) => {
                let pause = error.retry_after().unwrap_or(UNREPORTED_PAUSE);
                (Next::Retry(Some(pause)), None)
            }
        };
        ReconcileOutcome {
            next,
            object,
            ..ReconcileOutcome::of(next)
        }
    }
}

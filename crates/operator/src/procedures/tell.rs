//! What is said of a run: in its status, in that of its resource, as events, and in numbers.

use std::time::Duration;

use kube::api::{Api, DynamicObject};
use serde_json::Value;
use steersman_model::chain;

use super::error::StepError;
use super::job::job_name;
use super::reconciler::ProcedureReconciler;
use super::record::{ProcedureRecord, StepRecord};
use super::report::{Phase, next_status};
use super::resource_status::{shown, with_request, with_shown};
use super::session::Session;
use crate::status::{EventReason, write_status};

/// So many writes of others may come in between.
const MOST_CONFLICTS: usize = 8;

impl ProcedureReconciler {
    /// Writes down another state of the record, before anything follows from it.
    pub(super) async fn note(
        &self,
        session: &mut Session,
        change: impl FnOnce(&mut ProcedureRecord),
    ) -> Result<(), StepError> {
        if let Some(record) = &mut session.record {
            change(record);
        }
        self.say(session).await
    }

    /// Writes the status, where it says something else.
    pub(super) async fn say(&self, session: &mut Session) -> Result<(), StepError> {
        let (current, now) = (session.run.status(), (self.now)());
        let keys = self.releases.signing_keys();
        let signed = session
            .record
            .as_ref()
            .and_then(|record| record.sign(&keys, &session.run.uid));
        let (name, uid) = (session.run.name.clone(), session.run.uid.clone());
        let jobs = |step: &StepRecord| job_name(&name, &uid, &step.name, step.attempt);
        let next = next_status(
            &current,
            (&self.procedure, session.record.as_ref(), signed),
            (&session.report, &jobs),
            (session.run.generation(), now),
        );
        // What was written meanwhile may be further: nothing is put back.
        let version = session.run.object.metadata.resource_version.clone();
        let written = write_status(&session.api, &name, (&uid, version.as_deref()), &current, &next).await;
        if let Some(record) = &session.record {
            match &written {
                Ok(_) => session.records.is(record),
                // It was not taken, and is made anew of what is there.
                Err(error) if error.0.is_conflict() => {}
                Err(_) => session.records.may_be(record),
            }
        }
        match written {
            Ok(Some(object)) => {
                session.accept(object);
                Ok(())
            }
            Ok(None) => Ok(()),
            Err(error) if error.0.is_conflict() => Err(StepError::lost()),
            Err(error) => Err(StepError::Request {
                attempt: "write the status of",
                what: format!("run {name}"),
                source: error.0,
            }),
        }
    }

    /// Tells of the end of a run, where it has ended.
    pub(super) fn tell_of_end(&self, session: &Session) {
        let Some(record) = session.record.as_ref().filter(|record| record.ended.is_some()) else {
            return;
        };
        let phase = Phase::of(Some(record), &self.procedure);
        let (kind, name) = (&self.runs.api.kind, &session.run.name);
        let failure = record.failure.as_deref().unwrap_or_default();
        let (reason, words) = match phase {
            Phase::Succeeded => (
                EventReason::ProcedureSucceeded,
                format!("{kind} {name} has succeeded"),
            ),
            _ => (
                EventReason::ProcedureFailed,
                format!("{kind} {name} has not succeeded: {failure}"),
            ),
        };
        self.event(session, reason, &words);
        let took = record.ended.map(|ended| ended.duration_since(record.begun));
        let took = took
            .and_then(|took| Duration::try_from(took).ok())
            .unwrap_or_default();
        tracing::info!(
            run = %name, procedure = %self.procedure.name, phase = phase.as_str(), reason = failure,
            "Procedure has ended"
        );
        let of = (session.run.namespace.as_deref(), session.run.resource.as_str());
        self.procedures.note_end(&self.procedure, phase, took, of);
    }

    pub(super) fn event(&self, session: &Session, reason: EventReason, words: &str) {
        let Some(resource) = &session.resource else {
            return;
        };
        self.releases.event_about(resource, reason, words);
        self.releases.event_about(&session.run.object, reason, words);
    }

    /// Shows in the status of the resource how the run is. A resource that is gone needs none.
    pub(super) async fn show_in_resource(&self, session: &mut Session) -> Result<(), StepError> {
        self.write_in_resource(session, |session, resource| {
            let record = session.record.as_ref()?;
            let phase = Phase::of(Some(record), &self.procedure);
            let procedure = &self.procedure.name;
            let shown = shown(&session.run, record, (procedure, phase), &resource.metadata);
            let current = resource.data.get("status").unwrap_or(&Value::Null);
            with_shown(current, procedure, shown)
        })
        .await
    }

    /// Notes in the status of the resource which request a run was made for, before it is begun.
    pub(super) async fn note_request(&self, session: &mut Session) -> Result<(), StepError> {
        let procedure = self.procedure.name.as_str();
        self.write_in_resource(session, |session, resource| {
            with_request(resource, (&session.run, procedure))
        })
        .await
    }

    /// Writes the status of the resource, where `next` gives another one for it. Another run may write it at the same time, and
    /// what that has said stays.
    async fn write_in_resource(
        &self,
        session: &mut Session,
        next: impl Fn(&Session, &DynamicObject) -> Option<Value>,
    ) -> Result<(), StepError> {
        let client = self.releases.client();
        let resources: Api<DynamicObject> = self.resource.objects(client, session.run.namespace.as_deref());
        let mut tries = 0;
        loop {
            let Some(resource) = &session.resource else {
                return Ok(());
            };
            let (Some(name), Some(uid)) = (&resource.metadata.name, &resource.metadata.uid) else {
                return Ok(());
            };
            let Some(next) = next(session, resource) else {
                return Ok(());
            };
            let current = resource.data.get("status").unwrap_or(&Value::Null);
            let at = (uid.as_str(), resource.metadata.resource_version.as_deref());
            match write_status(&resources, name, at, current, &next).await {
                Ok(written) => {
                    // What is shown next is compared with this.
                    session.resource = written.or(session.resource.take());
                    return Ok(());
                }
                Err(error) if error.0.is_not_found() || error.0.is_other_uid() => return Ok(()),
                Err(error) if error.0.is_conflict() && tries < MOST_CONFLICTS => tries += 1,
                Err(error) => {
                    return Err(StepError::Request {
                        attempt: "write the status of",
                        what: self.resource_words(name),
                        source: error.0,
                    });
                }
            }
            session.resource = None;
            self.find_resource(session).await?;
        }
    }

    /// Shows the end of a run in its resource. What lastingly refuses that keeps no finalizer.
    pub(super) async fn show_end(&self, session: &mut Session) -> Result<(), StepError> {
        let shown = match self.find_resource(session).await {
            Ok(()) => self.show_in_resource(session).await,
            Err(error) => Err(error),
        };
        match shown {
            Err(error) if !error.is_transient() => {
                let error = chain(&error);
                tracing::warn!(run = %session.run.name, error, "the end of a run can't be shown in its resource");
                Ok(())
            }
            shown => shown,
        }
    }
}

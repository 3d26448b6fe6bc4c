//! The Job of a step: made, stopped, read and let go.

use std::collections::BTreeSet;
use std::sync::Arc;

use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use kube::api::{Api, DynamicObject, Preconditions, PropagationPolicy};
use serde_json::{Map, Value};
use steersman_model::{CUT, CUT_OFF, Digest, chain};
use steersman_watches::procedure::{Step, Work};

use super::error::StepError;
use super::job::{JobSecrets, finalizers_but_ours, marked, secrets_of, words_of};
use super::reconciler::ProcedureReconciler;
use super::record::{Outcome, ProcedureRecord, StepRecord, Stop};
use super::report::{cut, result_of};
use super::session::Session;
use crate::reconcile::{StepPlace, StepTemplate, patch_finalizers};
use crate::status::Redactor;

/// So much of what a Job says is looked at, in bytes: the kubelet takes no more of a container.
const MOST_SAID: usize = 4096;

impl ProcedureReconciler {
    /// Makes the Job of the step that is under way. What can't be rendered, or is refused, is the step's failure.
    pub(super) async fn make(&self, session: &mut Session, stop: Option<&Stop>) -> Result<(), StepError> {
        let made = self.try_make(session).await;
        match made {
            Ok(Some((uid, secrets))) => self.note(session, |record| record.note_job(&uid, secrets)).await,
            // Its file has nothing to do.
            Ok(None) => self.note_outcome(session, Outcome::Succeeded, stop).await,
            Err(error) if error.is_transient() => Err(error),
            Err(error) => {
                let words = cut(&chain(&error)).to_owned();
                self.note_outcome(session, Outcome::Failed(words), stop).await
            }
        }
    }

    async fn secrets_of(
        &self,
        place: &StepPlace,
        name: &str,
        job: &Value,
        had: Option<&BTreeSet<(String, String)>>,
    ) -> Result<Option<JobSecrets>, StepError> {
        let Some(had) = had else {
            return Ok(None);
        };
        let secrets = secrets_of(&place.client, &place.namespace, job, had).await;
        secrets.map_err(|source| StepError::Request {
            attempt: "read",
            what: format!("the Secrets of Job {name}"),
            source,
        })
    }

    /// The Job of that name, unless it is another one.
    async fn job(
        &self,
        place: &StepPlace,
        name: &str,
        uid: &str,
    ) -> Result<Option<DynamicObject>, StepError> {
        let found = place.jobs().get_opt(name).await;
        let found = found.map_err(|source| StepError::request("read", &format!("Job {name}"), source))?;
        Ok(found.filter(|found| found.metadata.uid.as_deref() == Some(uid)))
    }

    /// Gives the UID of the new Job, and what the Secrets held before that it names; `None` where there is none to be made.
    async fn try_make(&self, session: &Session) -> Result<Option<(String, Option<Digest>)>, StepError> {
        let (Some(place), Some(resource)) = (&session.place, &session.resource) else {
            return Err(StepError::lost());
        };
        let Some((open, step)) = self.open_step(session) else {
            return Err(StepError::lost());
        };
        let Work::Job(job) = &step.work else {
            return Err(StepError::lost());
        };
        let parameters = session.run.parameters(&self.procedure).unwrap_or_default();
        let template = self.template(session, &job.file, &parameters, open);
        let share = Arc::clone(&session.share);
        let made = self.releases.step_job(resource.clone(), share, template).await?;
        let Some(object) = &made.object else {
            return Ok(None);
        };
        let owner = self.owner(&session.run, place);
        let name = session.job_name(open);
        let value = marked(object, &owner, &name);
        let secrets = self
            .secrets_of(place, &name, &value, made.secrets.as_ref())
            .await?;
        let secrets = secrets.and_then(|secrets| secrets.digest(&self.releases.signing_keys()));
        let jobs = place.jobs();
        let written = crate::apply::apply_new(&jobs, &name, &value).await;
        let written: ObjectMeta = written.map_err(|error| StepError::Refused {
            words: made.redactor.mask(&chain(&error)),
            is_transient: error.is_transient() || error.is_conflict(),
            retry_after: error.retry_after(),
            name: name.clone(),
        })?;
        let id = session.job_id(open, &place.namespace);
        self.releases
            .dependents()
            .note_made(&session.run.uid, &id, &written);
        tracing::info!(job = %name, step = %open.name, attempt = open.attempt, "Running step of procedure");
        let uid = written.uid.ok_or_else(StepError::lost)?;
        Ok(Some((uid, secrets)))
    }

    fn template<'a>(
        &self,
        session: &Session,
        file: &'a str,
        parameters: &Map<String, Value>,
        open: &StepRecord,
    ) -> StepTemplate<'a> {
        let step = (open.name.as_str(), open.attempt);
        let change = session.record.as_ref().and_then(|record| record.change.as_ref());
        let run = &session.run;
        StepTemplate {
            file,
            procedure: run.seen_by_templates(&self.procedure, (parameters, change), step),
        }
    }

    fn open_step<'a>(&'a self, session: &'a Session) -> Option<(&'a StepRecord, &'a Step)> {
        let open = session.record.as_ref()?.open()?;
        Some((open, self.step(&open.name)?))
    }

    /// Deletes the Job of the step that is under way, and its pods before it.
    pub(super) async fn stop_job(&self, session: &mut Session, stop: Option<&Stop>) -> Result<(), StepError> {
        let open = session.record.as_ref().and_then(ProcedureRecord::open);
        let stopped = match (open.filter(|open| open.job.is_some()), &session.place) {
            (Some(open), Some(place)) => {
                let (name, uid) = (session.job_name(open), open.job.clone());
                delete_job(&place.jobs(), &name, uid).await?;
                true
            }
            _ => false,
        };
        if !stopped {
            // What is only waited for ends with that.
            let words = stop.map_or("it is not gone on with", Stop::words);
            let outcome = Outcome::Failed(words.to_owned());
            return self.note_outcome(session, outcome, stop).await;
        }
        Ok(())
    }

    /// Notes what has come of the step, with what its Job has said.
    pub(super) async fn note_outcome(
        &self,
        session: &mut Session,
        outcome: Outcome,
        stop: Option<&Stop>,
    ) -> Result<(), StepError> {
        let (said, redactor) = self.said(session, &outcome).await?;
        let masked = |said: &str| match &redactor {
            Some(redactor) => masked_result(said, redactor),
            None => "(not shown: what is secret in it is not known)".into(),
        };
        let mut result = None;
        let outcome = match (outcome, said) {
            (Outcome::Succeeded, Some(said)) => {
                result = Some(masked(&said));
                Outcome::Succeeded
            }
            (Outcome::Failed(why), Some(said)) => {
                let said = match masked(&said) {
                    Value::String(text) => text,
                    value => value.to_string(),
                };
                Outcome::Failed(cut(&[why, said].join("; ")).to_owned())
            }
            (outcome, None) => outcome,
        };
        let now = (self.now)();
        self.note(session, |record| {
            record.result = result.or(record.result.take());
            record.note_outcome(outcome, stop, now);
        })
        .await?;
        self.withdraw(session);
        Ok(())
    }

    /// What the Job of the step has said at its end, and what masks it.
    async fn said(
        &self,
        session: &Session,
        outcome: &Outcome,
    ) -> Result<(Option<String>, Option<Redactor>), StepError> {
        let (Some((open, step)), Some(place), Some(resource)) =
            (self.open_step(session), &session.place, &session.resource)
        else {
            return Ok((None, None));
        };
        let (Work::Job(job), Some(uid)) = (&step.work, &open.job) else {
            return Ok((None, None));
        };
        let name = session.job_name(open);
        let Some(found) = self.job(place, &name, uid).await? else {
            return Ok((None, None));
        };
        let said = words_of(&place.client, &found.metadata, *outcome == Outcome::Succeeded).await;
        let said = match said {
            Ok(said) => said,
            Err(error) if error.is_transient() => {
                return Err(StepError::Request {
                    attempt: "read the pods of",
                    what: format!("Job {name}"),
                    source: error,
                });
            }
            // Nobody may look at pods: what they say is not known.
            Err(_) => None,
        };
        if said.is_none() {
            return Ok((None, None));
        }
        let parameters = session.run.parameters(&self.procedure).unwrap_or_default();
        let template = self.template(session, &job.file, &parameters, open);
        let share = Arc::clone(&session.share);
        let rendered = self.releases.step_job(resource.clone(), share, template).await;
        // What admission has added to it was not there when they were looked at.
        let made = rendered.as_ref().ok();
        let had = made.and_then(|made| made.secrets.as_ref());
        let as_made = match made.and_then(|made| made.object.as_ref()) {
            Some(object) => self.secrets_of(place, &name, &object.value, had).await?,
            None => None,
        };
        let keys = self.releases.signing_keys();
        let are_those = as_made.is_some_and(|secrets| secrets.are_those(open.secrets.as_ref(), &keys));
        let secrets = self.secrets_of(place, &name, &found.data, had).await?;
        let secrets = secrets.filter(|_| are_those);
        let (Ok(rendered), Some(JobSecrets { mut redactor, .. })) = (rendered, secrets) else {
            return Ok((said, None));
        };
        redactor.extend(rendered.redactor.snapshot());
        redactor.add_values(&Value::Object(parameters));
        Ok((said, Some(redactor)))
    }

    /// The Job of the last step, which has ended, may go.
    pub(super) async fn let_go(&self, session: &Session) -> Result<(), StepError> {
        let last = session.record.as_ref().and_then(|record| record.steps.last());
        let (Some(last), Some(place)) = (last.filter(|step| step.job.is_some()), &session.place) else {
            return Ok(());
        };
        let (name, jobs) = (session.job_name(last), place.jobs());
        let found = match jobs.get_metadata_opt(&name).await {
            // The account may have lost its rights, as where its namespace goes.
            Err(_) => self.own_jobs(place).get_metadata_opt(&name).await,
            found => found,
        };
        let found = found.map_err(|source| StepError::request("read", &format!("Job {name}"), source))?;
        match found.filter(|found| found.metadata.uid == last.job) {
            Some(found) => self.release(place, &found.metadata).await,
            None => Ok(()),
        }
    }

    /// All Jobs of a run may go whose record says nothing of them: each other one was let go when its step was over.
    pub(super) async fn let_go_of_unknown(&self, session: &Session) -> Result<(), StepError> {
        let Some(place) = &session.place else {
            return Ok(());
        };
        for job in self.jobs_of(session).await? {
            self.release(place, &job.metadata).await?;
        }
        Ok(())
    }

    /// With the operator's own rights.
    pub(super) fn own_jobs(&self, place: &StepPlace) -> Api<DynamicObject> {
        place
            .resource
            .objects(self.releases.client(), Some(&place.namespace))
    }

    /// Takes our finalizer off a Job.
    async fn release(&self, place: &StepPlace, job: &ObjectMeta) -> Result<(), StepError> {
        let Some(finalizers) = finalizers_but_ours(job) else {
            return Ok(());
        };
        let released = match patch_finalizers(&place.jobs(), job, &finalizers, None).await {
            Err(error) if !error.is_transient() && !error.is_not_found() => {
                patch_finalizers(&self.own_jobs(place), job, &finalizers, None).await
            }
            released => released,
        };
        match released {
            Err(error) if !error.is_not_found() => Err(StepError::Request {
                attempt: "let go of",
                what: format!("Job {}", job.name.as_deref().unwrap_or_default()),
                source: error,
            }),
            _ => Ok(()),
        }
    }
}

/// Deletes a Job, and its pods before it. One that is gone, or is another one, is left.
pub(super) async fn delete_job(
    jobs: &Api<DynamicObject>,
    name: &str,
    uid: Option<String>,
) -> Result<(), StepError> {
    let preconditions = Preconditions {
        uid,
        resource_version: None,
    };
    match crate::apply::delete(jobs, name, preconditions, PropagationPolicy::Foreground).await {
        Err(source) if !source.is_not_found() && !source.is_other_uid() => Err(StepError::Request {
            attempt: "delete",
            what: format!("Job {name}"),
            source,
        }),
        _ => Ok(()),
    }
}

/// What a Job has said, masked as it is written, and once more where it is JSON, in which a secret may be written in many ways.
pub(super) fn masked_result(said: &str, redactor: &Redactor) -> Value {
    masked_value(result_of(&redactor.mask(&bounded(said))), redactor)
}

fn masked_value(value: Value, redactor: &Redactor) -> Value {
    match value {
        Value::String(text) => redactor.mask(&text).into(),
        Value::Array(items) => items
            .into_iter()
            .map(|item| masked_value(item, redactor))
            .collect(),
        Value::Object(map) => {
            let masked = map
                .into_iter()
                .map(|(key, item)| (redactor.mask(&key), masked_value(item, redactor)));
            Value::Object(masked.collect())
        }
        other => other,
    }
}

/// What a Job has said, as far as it is looked at: either end may lie within a secret.
fn bounded(text: &str) -> String {
    let end = text.floor_char_boundary(MOST_SAID);
    let start = text.get(..end).unwrap_or_default();
    let cut_off = if end < text.len() {
        CUT_OFF.to_string()
    } else {
        String::new()
    };
    format!("{CUT}{start}{cut_off}")
}

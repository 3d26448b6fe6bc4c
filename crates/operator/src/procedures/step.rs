//! The Job of a step: made, stopped, read and let go.

use std::collections::BTreeSet;
use std::sync::Arc;

use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use kube::api::{Api, DynamicObject, Preconditions, PropagationPolicy};
use serde_json::{Map, Value};
use steersman_model::chain;
use steersman_watches::procedure::names::SECRETS;
use steersman_watches::procedure::{Step, Work};

use super::error::StepError;
use super::job::{annotate, finalizers_but_ours, marked, words_of};
use super::reconciler::ProcedureReconciler;
use super::record::{Outcome, ProcedureRecord, StepRecord, Stop};
use super::report::cut;
use super::session::Session;
use super::words::{masked_result, masked_words, reason_alone};
use crate::job_secrets::{JobSecrets, Place, places_of, redactor_of};
use crate::reconcile::{StepPlace, StepTemplate, patch_finalizers};
use crate::status::{LearningRedactor, Redactor};

/// So often a Job is rendered until it has something of no other Secrets than those that were read before.
const RENDERINGS: usize = 3;
const NOT_SHOWN: &str = "(not shown: what is secret in it is not known)";

/// What is known at the end of a Job.
struct Said {
    /// By its containers.
    words: Option<String>,
    /// What masks that, and what it says of itself; `None` where nobody knows.
    redactor: Option<Redactor>,
}

impl ProcedureReconciler {
    /// Makes the Job of the step that is under way. What can't be rendered, or is refused, is the step's failure.
    pub(super) async fn make(&self, session: &mut Session, stop: Option<&Stop>) -> Result<(), StepError> {
        let made = self.try_make(session).await;
        match made {
            Ok(Some(uid)) => self.note(session, |record| record.note_job(&uid)).await,
            // Its file has nothing to do.
            Ok(None) => self.note_outcome(session, Outcome::Succeeded, stop).await,
            Err(error) if error.is_transient() => Err(error),
            Err(error) => {
                let words = cut(&chain(&error)).to_owned();
                self.note_outcome(session, Outcome::Failed(words), stop).await
            }
        }
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

    /// Gives the UID of the new Job; `None` where there is none to be made.
    async fn try_make(&self, session: &Session) -> Result<Option<String>, StepError> {
        let (Some(place), Some(resource)) = (&session.place, &session.resource) else {
            return Err(StepError::lost());
        };
        let Some((open, step)) = self.open_step(session) else {
            return Err(StepError::lost());
        };
        let Work::Job(job) = &step.work else {
            return Err(StepError::lost());
        };
        let of = (open, job.file.as_str());
        let Some((value, redactor)) = self.rendered(session, (place, resource), of).await? else {
            return Ok(None);
        };
        let (jobs, name) = (place.jobs(), session.job_name(open));
        let written = crate::apply::apply_new(&jobs, &name, &value).await;
        let written: ObjectMeta = written.map_err(|error| StepError::Refused {
            words: redactor.mask(&chain(&error)),
            is_transient: error.is_transient() || error.is_conflict(),
            retry_after: error.retry_after(),
            name: name.clone(),
        })?;
        let id = session.job_id(open, &place.namespace);
        self.releases
            .dependents()
            .note_made(&session.run.uid, &id, &written);
        tracing::info!(job = %name, step = %open.name, attempt = open.attempt, "Running step of procedure");
        Ok(Some(written.uid.ok_or_else(StepError::lost)?))
    }

    /// The Job of a step as it is made, with a note of the Secrets that it has something of. These are read before it is rendered:
    /// what they hold then is what it has, or they have changed since.
    async fn rendered(
        &self,
        session: &Session,
        (place, resource): (&StepPlace, &DynamicObject),
        (open, file): (&StepRecord, &str),
    ) -> Result<Option<(Value, Arc<LearningRedactor>)>, StepError> {
        let parameters = session.run.parameters(&self.procedure).unwrap_or_default();
        let template = self.template(session, file, &parameters, open);
        let (owner, name) = (self.owner(&session.run, place), session.job_name(open));
        let mut before = JobSecrets::default();
        let mut left = RENDERINGS;
        loop {
            left -= 1;
            let share = Arc::clone(&session.share);
            let made = self.releases.step_job(resource.clone(), share, template.clone());
            let made = made.await?;
            let Some(object) = &made.object else {
                return Ok(None);
            };
            let mut value = marked(object, &owner, &name);
            let had = made.secrets.as_ref();
            let places = had.and_then(|had| places_of(&place.namespace, &value, had));
            let read = match &places {
                Some(places) if before.are_of(places) => {
                    let keys = self.releases.signing_keys();
                    if let Some(note) = before.note((&session.run.uid, &name), &keys) {
                        annotate(&mut value, SECRETS, note);
                    }
                    None
                }
                Some(places) if left > 0 => self.read_secrets(place, &name, places).await?,
                _ => None,
            };
            match read {
                Some(secrets) => before = secrets,
                None => return Ok(Some((value, made.redactor))),
            }
        }
    }

    async fn read_secrets(
        &self,
        place: &StepPlace,
        name: &str,
        places: &BTreeSet<Place>,
    ) -> Result<Option<JobSecrets>, StepError> {
        let read = JobSecrets::read(&place.client, places).await;
        read.map_err(|source| StepError::secrets(name, source))
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
        let said = self.said(session, &outcome).await?;
        let mut result = None;
        let outcome = match (outcome, said) {
            (outcome @ Outcome::KeptOut(_), _) | (outcome, None) => outcome,
            (Outcome::Succeeded, Some(Said { words, redactor })) => {
                let masked = |said: String| match &redactor {
                    Some(redactor) => masked_result(&said, redactor),
                    None => NOT_SHOWN.into(),
                };
                result = words.map(masked);
                Outcome::Succeeded
            }
            (Outcome::Failed(why), Some(Said { words, redactor })) => {
                let told = match &redactor {
                    Some(redactor) => {
                        let said = words.map(|said| masked_words(&said, redactor));
                        [Some(redactor.mask(&why)), said]
                    }
                    None => [
                        Some(reason_alone(&why).to_owned()),
                        words.map(|_| NOT_SHOWN.to_owned()),
                    ],
                };
                let told: Vec<String> = told.into_iter().flatten().collect();
                Outcome::Failed(cut(&told.join("; ")).to_owned())
            }
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

    /// What the Job of the step has said at its end, and what masks it; `None` where there is no Job.
    async fn said(&self, session: &Session, outcome: &Outcome) -> Result<Option<Said>, StepError> {
        let (Some((open, step)), Some(place), Some(resource)) =
            (self.open_step(session), &session.place, &session.resource)
        else {
            return Ok(None);
        };
        let (Work::Job(job), Some(uid)) = (&step.work, &open.job) else {
            return Ok(None);
        };
        let name = session.job_name(open);
        let Some(found) = self.job(place, &name, uid).await? else {
            return Ok(None);
        };
        let has_succeeded = *outcome == Outcome::Succeeded;
        let words = words_of(&place.client, &found, has_succeeded).await;
        let (words, pod) = match words {
            Ok(words) => words.unzip(),
            Err(error) if error.is_transient() => {
                return Err(StepError::pods(&name, error));
            }
            // Nobody may look at pods: what they say is not known.
            Err(_) => (None, None),
        };
        if words.is_none() && has_succeeded {
            return Ok(None);
        }
        let keys = self.releases.signing_keys();
        let of_job = redactor_of(
            &place.client,
            (&found.metadata, &found.data),
            pod.as_ref(),
            (&session.run.uid, &name),
            &keys,
        );
        let of_job = of_job.await.map_err(|source| StepError::secrets(&name, source))?;
        let Some(mut redactor) = of_job else {
            return Ok(Some(Said {
                words,
                redactor: None,
            }));
        };
        let parameters = session.run.parameters(&self.procedure).unwrap_or_default();
        let template = self.template(session, &job.file, &parameters, open);
        let share = Arc::clone(&session.share);
        let of_release = self.releases.redactor_of_step(resource.clone(), share, template);
        let redactor = match of_release.await {
            Ok(Some(of_release)) => {
                redactor.extend(of_release);
                redactor.add_values(&Value::Object(parameters));
                Some(redactor)
            }
            Err(error) if error.is_transient() => return Err(error.into()),
            Ok(None) | Err(_) => None,
        };
        Ok(Some(Said { words, redactor }))
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

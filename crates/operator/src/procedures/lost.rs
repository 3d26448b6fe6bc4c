//! Runs that were begun, and of which nobody knows how far they are: whoever may write their status has taken the record away, or
//! put an older one back.
//!
//! What goes on of them is stopped, and the steps are carried out that follow in any case.

use std::collections::{BTreeMap, BTreeSet};

use jiff::Timestamp;
use kube::api::{DynamicObject, ListParams};
use steersman_cluster::{OWNER_UID_LABEL, RequestError};
use steersman_watches::procedure::Work;

use super::decide::UNKNOWN;
use super::error::StepError;
use super::job::{finalizers_but_ours, job_name, seen_with_pods};
use super::reconciler::ProcedureReconciler;
use super::record::{ProcedureRecord, StepRecord};
use super::session::Session;
use super::state::{Claim, Seen};
use super::step::delete_job;

/// So many tries of a step are looked for by their names.
const MOST_TRIES: u32 = 5;

impl ProcedureReconciler {
    /// Does not believe a record of a run that somebody has put back: one that is older than what was written last, one of a run that
    /// has come to its end, or one that knows nothing of a Job that is there.
    pub(super) async fn doubt(&self, session: &mut Session) -> Result<(), StepError> {
        let Some(record) = session.record.clone() else {
            return Ok(());
        };
        let is_over = record.ended.is_some() && !session.run.has_finalizer();
        if is_over && !session.records.is_under_way() {
            return Ok(());
        }
        if session.records.has(&record) {
            session.records.is_found(&record);
            return Ok(());
        }
        if session.records.is_known() {
            // It may have been read before the last write.
            let name = session.run.name.clone();
            let found = session.api.get_opt(&name).await;
            let found = found.map_err(|source| StepError::request("read", &format!("run {name}"), source))?;
            let found = found.filter(|found| found.metadata.uid.as_ref() == Some(&session.run.uid));
            let Some(found) = found else {
                return Err(StepError::lost());
            };
            session.accept(found);
            let record = self.record_of(&session.run).await;
            session.record = record.filter(|record| session.records.has(record));
            if let Some(record) = &session.record {
                session.records.is_found(record);
            }
            return Ok(());
        }
        let has_been_over = session.is_begun && !session.run.has_finalizer();
        if has_been_over || self.has_another_job(session, &record).await? {
            session.record = None;
        } else {
            session.records.is(&record);
        }
        Ok(())
    }

    /// Whether there is a Job that is none of the steps that the record knows of.
    async fn has_another_job(
        &self,
        session: &mut Session,
        record: &ProcedureRecord,
    ) -> Result<bool, StepError> {
        self.find_place_if_any(session).await?;
        let known = record.steps.iter().flat_map(|step| {
            let of_try = move |attempt| StepRecord {
                attempt,
                ..step.clone()
            };
            (1..=step.attempt).map(of_try)
        });
        let known: BTreeSet<String> = known.map(|step| session.job_name(&step)).collect();
        let found = self.jobs_of(session).await?;
        let mut names = found.iter().filter_map(|job| job.metadata.name.as_ref());
        Ok(names.any(|name| !known.contains(name)))
    }

    /// Takes a run for one that was begun although somebody has taken its marks off: one that this process knows, or of which
    /// something goes on.
    pub(super) async fn recognise(&self, session: &mut Session) -> Result<(), StepError> {
        session.is_begun |= session.records.was_begun();
        if session.records.is_under_way() && !session.run.has_mark() {
            return self.mark_begun(session).await;
        }
        let claim = session.claim();
        let is_marked = session.is_begun || session.run.has_finalizer();
        if session.record.is_some() || claim == Claim::Begun || !is_marked {
            return Ok(());
        }
        if session.records.is_under_way() || (claim != Claim::Ended && self.goes_on(session).await?) {
            self.mark_begun(session).await?;
        }
        Ok(())
    }

    /// Whether a run that is about to begin is no new one, which nobody could tell by its marks: its Jobs are there. Something of
    /// it may go on, which is stopped then.
    pub(super) async fn has_jobs(&self, session: &mut Session) -> Result<bool, StepError> {
        let found = self.jobs_of(session).await?;
        if self.is_any_unfinished(&found).await? {
            self.mark_begun(session).await?;
        }
        Ok(!found.is_empty())
    }

    async fn mark_begun(&self, session: &mut Session) -> Result<(), StepError> {
        session.is_begun = true;
        if !session.run.has_finalizer() || !session.run.has_mark() {
            self.write_finalizer(session, true).await?;
        }
        Ok(())
    }

    /// Whether something of the run is not finished.
    async fn goes_on(&self, session: &mut Session) -> Result<bool, StepError> {
        self.find_place_if_any(session).await?;
        let found = self.jobs_of(session).await?;
        self.is_any_unfinished(&found).await
    }

    /// Whether one of these Jobs has not ended, or its end was not noted.
    async fn is_any_unfinished(&self, jobs: &[DynamicObject]) -> Result<bool, StepError> {
        for job in jobs {
            let is_held = finalizers_but_ours(&job.metadata).is_some();
            if is_held || !matches!(self.seen_of(job).await?, Seen::Ended(_) | Seen::Gone { .. }) {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// With the operator's own rights.
    async fn seen_of(&self, job: &DynamicObject) -> Result<Seen, StepError> {
        let seen = seen_with_pods(self.releases.client(), job).await;
        seen.map_err(|source| StepError::pods(job.metadata.name.as_deref().unwrap_or_default(), source))
    }

    /// Reads the resource of the run. One that was made after the run is not the one that it was begun for.
    pub(super) async fn find_former_resource(&self, session: &mut Session) -> Result<(), StepError> {
        self.find_resource(session).await?;
        let created = |object: &DynamicObject| object.metadata.creation_timestamp.as_ref().map(|at| at.0);
        let of_run = created(&session.run.object);
        session.resource.take_if(|resource| created(resource) > of_run);
        Ok(())
    }

    /// What goes on of a run, in whichever step; `None` where nothing does.
    pub(super) async fn seen_of_all(&self, session: &Session) -> Result<Option<Seen>, StepError> {
        let mut all = None;
        for job in self.jobs_of(session).await? {
            match self.seen_of(&job).await? {
                Seen::Ended(_) | Seen::Gone { .. } => {}
                Seen::Stopping => all = all.or(Some(Seen::Stopping)),
                going => all = Some(going),
            }
        }
        Ok(all)
    }

    /// Deletes what goes on of a run, with its pods.
    pub(super) async fn stop_all(&self, session: &Session) -> Result<(), StepError> {
        let Some(place) = &session.place else {
            return Ok(());
        };
        for job in self.jobs_of(session).await? {
            if !matches!(self.seen_of(&job).await?, Seen::Running(_) | Seen::Deleted) {
                continue;
            }
            let name = job.metadata.name.unwrap_or_default();
            delete_job(&self.own_jobs(place), &name, job.metadata.uid).await?;
        }
        Ok(())
    }

    /// Notes that nobody knows how far the run is. Its Jobs may go.
    pub(super) async fn take_up(&self, session: &mut Session, now: Timestamp) -> Result<(), StepError> {
        self.let_go_of_unknown(session).await?;
        let uid = session.resource.as_ref();
        let uid = uid.and_then(|resource| resource.metadata.uid.clone());
        let uid = uid.unwrap_or_default();
        let record = ProcedureRecord::take_up(&self.procedure, &uid, UNKNOWN.to_owned(), now);
        session.record = Some(record);
        self.say(session).await?;
        self.tell_of_end(session);
        Ok(())
    }

    /// The Jobs of a run, by their marks and by their names: whoever may change Jobs may have taken marks off.
    pub(super) async fn jobs_of(&self, session: &Session) -> Result<Vec<DynamicObject>, StepError> {
        let Some(place) = &session.place else {
            return Ok(Vec::new());
        };
        let jobs = self.own_jobs(place);
        let selector = format!("{OWNER_UID_LABEL}={}", session.run.uid);
        let listed = jobs.list(&ListParams::default().labels(&selector)).await;
        let listed = listed.map_err(|source| StepError::request("list", "the Jobs of the run", source))?;
        let mut found: BTreeMap<Option<String>, DynamicObject> = BTreeMap::new();
        let by_name = place.jobs();
        for name in self.job_names(session) {
            match by_name.get_opt(&name).await.map_err(RequestError::from) {
                Ok(job) => found.extend(job.map(|job| (Some(name), job))),
                Err(source) if source.is_transient() => {
                    return Err(StepError::Request {
                        attempt: "read",
                        what: format!("Job {name}"),
                        source,
                    });
                }
                // Who may not look at it has not made it.
                Err(_) => {}
            }
        }
        found.extend(
            listed
                .items
                .into_iter()
                .map(|job| (job.metadata.name.clone(), job)),
        );
        let is_of_run = |job: &DynamicObject| {
            let mut owners = job.metadata.owner_references.iter().flatten();
            owners.any(|owner| owner.uid == session.run.uid)
        };
        Ok(found.into_values().filter(is_of_run).collect())
    }

    /// What the Jobs of the first tries of all steps are called.
    fn job_names(&self, session: &Session) -> Vec<String> {
        let (run, procedure) = (&session.run, &self.procedure);
        let tries = procedure.retries.saturating_add(1).min(MOST_TRIES);
        let steps = procedure.steps.iter().chain(&procedure.finally);
        let of_jobs = steps.filter(|step| matches!(step.work, Work::Job(_)));
        of_jobs
            .flat_map(|step| (1..=tries).map(|attempt| job_name(&run.name, &run.uid, &step.name, attempt)))
            .collect()
    }
}

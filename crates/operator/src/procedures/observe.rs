//! What is there of a run: its resource, and the Job of its step.

use std::sync::Arc;

use kube::api::{Api, DynamicObject};
use steersman_cluster::{Owner, Ownership};
use steersman_model::chain;
use steersman_watches::controls::{Controls, Mode};
use steersman_watches::procedure::names::{ON, TRIGGER};
use steersman_watches::procedure::{Change, Step, Work};

use super::error::StepError;
use super::job::seen_with_pods;
use super::reconciler::ProcedureReconciler;
use super::record::{Outcome, ProcedureRecord, StepRecord, Stop};
use super::report::cut;
use super::session::Session;
use super::state::{Claim, Observed, Seen};
use super::subject::Run;
use crate::coordination::Standing;
use crate::reconcile::StepPlace;

/// So often a Job is made again that was gone.
const MOST_REMADE: u32 = 10;

impl ProcedureReconciler {
    pub(super) async fn observe(&self, session: &mut Session) -> Result<Observed, StepError> {
        let run = &session.run;
        let (deleting, has_finalizer) = (run.is_deleting(), run.has_finalizer());
        let mut observed = Observed {
            deleting,
            has_finalizer,
            record: session.record.clone(),
            claim: session.claim(),
            refused: None,
            held: None,
            stop: run.is_cancelled().then_some(Stop::Cancelled),
            seen: None,
        };
        match observed.record.clone() {
            Some(record) if record.ended.is_some() => {}
            Some(record) => {
                self.find_resource(session).await?;
                observed.held = self.halted(session);
                let is_there = session.resource.is_some() && !session.is_resource_going();
                observed.stop = observed.stop.or((!is_there).then_some(Stop::Deleted));
                if record.is_over(&self.procedure) {
                    observed.stop = None;
                }
                self.find_place(session).await?;
                if let Some(open) = record.open() {
                    observed.stop = observed.stop.or_else(|| self.late(&record, open));
                    let seen = self.seen(session, open).await;
                    observed.seen = Some(or_told(seen, observed.stop.as_ref())?);
                }
            }
            None if observed.claim == Claim::Begun => {
                self.find_former_resource(session).await?;
                self.find_place_if_any(session).await?;
                observed.seen = self.seen_of_all(session).await?;
            }
            None if deleting || observed.claim != Claim::New => {}
            None => {
                self.find_resource(session).await?;
                observed.refused = match self.find_place(session).await {
                    Err(error) if !error.is_transient() => Some(chain(&error)),
                    found => found.map(|()| self.refused(session))?,
                };
                observed.held = self.held(session);
                let is_made_by_itself = session.run.annotation(TRIGGER) == Some(ON);
                match self.nothing_to_change(session) {
                    Some(_) if observed.refused.is_some() => {}
                    Some(_) if is_made_by_itself => _ = observed.stop.get_or_insert(Stop::Unneeded),
                    nothing => observed.refused = observed.refused.or(nothing),
                }
            }
        }
        Ok(observed)
    }

    pub(super) fn late(&self, record: &ProcedureRecord, open: &StepRecord) -> Option<Stop> {
        let now = (self.now)();
        match self.deadlines(record, open) {
            [_, Some(of_run)] if of_run <= now => Some(Stop::Late),
            [Some(of_step), _] if of_step <= now => Some(Stop::StepLate),
            _ if self.step(&open.name).is_none() => Some(Stop::StepUnknown),
            _ => None,
        }
    }

    /// Reads the resource that the run is for, once.
    pub(super) async fn find_resource(&self, session: &mut Session) -> Result<(), StepError> {
        if session.resource.is_some() || !session.run.names_a_resource() {
            return Ok(());
        }
        let (client, namespace) = (self.releases.client(), session.run.namespace.as_deref());
        let resources: Api<DynamicObject> = self.resource.objects(client, namespace);
        let name = &session.run.resource;
        let found = resources.get_opt(name).await;
        let found = found.map_err(|source| StepError::request("read", &self.resource_words(name), source))?;
        let uid = session.record.as_ref().map(|record| &record.resource_uid);
        session.resource =
            found.filter(|found| uid.is_none_or(|uid| found.metadata.uid.as_ref() == Some(uid)));
        Ok(())
    }

    /// Where the Jobs of the run are, which does not depend on whether its resource is there.
    pub(super) async fn find_place(&self, session: &mut Session) -> Result<(), StepError> {
        if session.place.is_none() {
            let mut named = DynamicObject::new(&session.run.resource, &self.resource.api);
            named.metadata.namespace.clone_from(&session.run.namespace);
            let share = Arc::clone(&session.share);
            session.place = Some(self.releases.step_place(named, share).await?);
        }
        Ok(())
    }

    /// The same of a run of which nothing else is asked: a place that there is none of is no failure.
    pub(super) async fn find_place_if_any(&self, session: &mut Session) -> Result<(), StepError> {
        match self.find_place(session).await {
            Err(error) if error.is_transient() => Err(error),
            _ => Ok(()),
        }
    }

    pub(super) fn resource_words(&self, name: &str) -> String {
        format!("{} {name}", self.resource.api.kind)
    }

    /// Why a run that was not begun never will be.
    pub(super) fn refused(&self, session: &Session) -> Option<String> {
        let run = &session.run;
        if session.is_copy() {
            return Some(
                "it is a copy of a run that was begun, and nobody knows what that has done: make another one"
                    .to_owned(),
            );
        }
        if let Err(error) = run.parameters(&self.procedure) {
            return Some(error.to_string());
        }
        let words = self.resource_words(&run.resource);
        let Some(resource) = &session.resource else {
            return Some(format!("there is no {words}"));
        };
        if session.is_resource_going() {
            return Some(format!("{words} is being deleted"));
        }
        let labels = resource.metadata.labels.clone().unwrap_or_default();
        if !self.releases.selects(&labels) {
            return Some(format!("{words} is not selected by the entry"));
        }
        None
    }

    /// That the release has the value that the resource says by now, which runs of the procedure change.
    fn nothing_to_change(&self, session: &Session) -> Option<String> {
        let standing = self.standing(session)?;
        let is_current = standing.generation == session.resource.as_ref()?.metadata.generation;
        let path = &self.procedure.on.as_ref()?.path;
        (is_current && self.change_of(session).is_none()).then(|| {
            let words = self.resource_words(&session.run.resource);
            format!("there is nothing to change: `{path}` is what {words} says")
        })
    }

    /// How the release of its resource stands, as far as that is known.
    pub(super) fn standing(&self, session: &Session) -> Option<Standing> {
        self.procedures.coordination().standing(&session.run.key())
    }

    /// The value that a run would change next.
    pub(super) fn change_of(&self, session: &Session) -> Option<Change> {
        let standing = self.standing(session)?;
        let all = self.procedures.all();
        let mut changes = standing.changes.into_iter();
        let is_own = |place: &usize| all.get(*place).is_some_and(|one| one.name == self.procedure.name);
        changes.find(|(place, _)| is_own(place)).map(|(_, change)| change)
    }

    /// Why nothing is done for a run, whether it was begun or not.
    fn halted(&self, session: &Session) -> Option<String> {
        let (controls, _) = Controls::read(session.resource.as_ref()?.metadata.annotations.as_ref());
        let words = self.resource_words(&session.run.resource);
        (controls.mode != Mode::Apply).then(|| format!("{words} is paused, or tried without effects"))
    }

    /// What a run waits for before it is begun.
    pub(super) fn held(&self, session: &Session) -> Option<String> {
        session.resource.as_ref()?;
        if self.procedure.confirm && !session.run.is_confirmed() {
            return Some("it begins when annotation steersman.dev/confirm is true".to_owned());
        }
        if self.releases.is_dry_run() {
            return Some("the operator does nothing, as a flag says".to_owned());
        }
        if let Some(reason) = self.halted(session) {
            return Some(reason);
        }
        let (coordination, key, uid) = (
            self.procedures.coordination(),
            session.run.key(),
            &session.run.uid,
        );
        if self.standing(session).is_none() {
            coordination.await_standing(&key, uid, false);
            return Some("its release was not looked at yet".to_owned());
        }
        if self.procedure.on.is_some() && self.change_of(session).is_none() {
            coordination.await_standing(&key, uid, false);
            return Some("it is not known yet what there is to change".to_owned());
        }
        coordination.in_the_way(&key, (uid, &session.run.name), self.procedure.exclusive)
    }

    pub(super) fn step(&self, name: &str) -> Option<&Step> {
        let steps = self.procedure.steps.iter().chain(&self.procedure.finally);
        steps.into_iter().find(|step| step.name == name)
    }

    pub(super) fn is_job(&self, step: &str) -> bool {
        let step = self.step(step);
        step.is_some_and(|step| matches!(step.work, Work::Job(_)))
    }

    /// What is there of the step that is under way.
    pub(super) async fn seen(&self, session: &Session, open: &StepRecord) -> Result<Seen, StepError> {
        let failed = |why: &str| Ok(Seen::Ended(Outcome::Failed(why.to_owned())));
        let is_gone = || {
            let words = self.resource_words(&session.run.resource);
            failed(&format!("{words} is gone"))
        };
        let is_going = session.is_resource_going();
        let idempotent = match (self.step(&open.name).map(|step| &step.work), &session.resource) {
            (Some(Work::Ready | Work::Values(_) | Work::Holds(_)), None) if open.job.is_none() => {
                return is_gone();
            }
            // Nothing is done with its release any longer.
            (Some(Work::Ready | Work::Values(_) | Work::Holds(_)), _) if is_going && open.job.is_none() => {
                return failed(Stop::Deleted.words());
            }
            (Some(Work::Ready), Some(resource)) if open.job.is_none() => {
                return Ok(self.is_ready(session, resource));
            }
            (Some(Work::Holds(holds)), Some(_)) if open.job.is_none() => {
                return Ok(self.holds(session, (open, holds)));
            }
            (Some(Work::Values(values)), Some(resource)) if open.job.is_none() => {
                return Ok(self.ask(session, resource, (open, values)));
            }
            (Some(Work::Job(job)), _) => job.idempotent,
            // It was a Job when it was begun, and is stopped.
            _ => false,
        };
        let Some(place) = &session.place else {
            return is_gone();
        };
        let name = session.job_name(open);
        let found = place.jobs().get_opt(&name).await;
        let found = found.map_err(|source| StepError::request("read", &format!("Job {name}"), source))?;
        let owner = self.owner(&session.run, place);
        let gone = Seen::Gone {
            idempotent: idempotent && open.remade < MOST_REMADE,
        };
        match (found.filter(|found| found.metadata.uid.is_some()), &open.job) {
            (Some(found), None) if owner.ownership(&found.metadata) != Ownership::Ours => {
                failed(&format!("there is a Job {name} of others"))
            }
            (Some(found), None) => Ok(Seen::Made(found.metadata.uid.unwrap_or_default())),
            (Some(found), Some(uid)) if found.metadata.uid.as_ref() == Some(uid) => {
                let seen = seen_with_pods(&place.client, &found).await;
                let seen = seen.map_err(|source| StepError::pods(&name, source))?;
                let is_gone = matches!(seen, Seen::Gone { .. });
                Ok(if is_gone { gone } else { seen })
            }
            (None, None) if session.resource.is_none() => is_gone(),
            (None, None) => Ok(Seen::NotMade),
            (_, Some(_)) => Ok(gone),
        }
    }

    /// Whose the Jobs of a run are: the run's, and part of the release.
    pub(super) fn owner(&self, run: &Run, place: &StepPlace) -> Owner {
        Owner {
            api_version: self.runs.api.api_version.clone(),
            kind: self.runs.api.kind.clone(),
            namespace: run.namespace.clone(),
            name: run.name.clone(),
            uid: run.uid.clone(),
            ..place.owner.clone()
        }
    }
}

/// What is seen of a step, or why nothing is: that is no end of it, unless it is to end.
fn or_told(seen: Result<Seen, StepError>, stop: Option<&Stop>) -> Result<Seen, StepError> {
    match (seen, stop) {
        (Err(error), Some(_)) if !error.is_transient() => {
            Ok(Seen::Ended(Outcome::Failed(cut(&chain(&error)).to_owned())))
        }
        (Err(error), None) if !error.is_transient() => Ok(Seen::Running(cut(&chain(&error)).to_owned())),
        (seen, _) => seen,
    }
}

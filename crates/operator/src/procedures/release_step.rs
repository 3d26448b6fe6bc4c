//! Steps that have the release do something, or wait for it.

use std::collections::BTreeSet;

use kube::api::DynamicObject;
use steersman_model::chain;
use steersman_watches::procedure::{StepValues, Work};
use steersman_watches::{ReleaseExpression, Subject};

use super::reconciler::ProcedureReconciler;
use super::record::{Outcome, StepRecord};
use super::report::cut;
use super::session::Session;
use super::state::Seen;
use crate::coordination::{Answer, Asked, Condition, StepId};

impl ProcedureReconciler {
    /// Whether all objects of the release are ready, in the state that the resource has now. The run is woken when that changes.
    pub(super) fn is_ready(&self, session: &Session, resource: &DynamicObject) -> Seen {
        let (coordination, key) = (self.procedures.coordination(), session.run.key());
        let asks = !self.releases.is_woken_by_objects();
        coordination.await_standing(&key, &session.run.uid, asks);
        let running = |words: &str| Seen::Running(cut(words).to_owned());
        match self.standing(session) {
            Some(standing) if standing.generation == resource.metadata.generation => {
                match standing.busy.or(standing.unready) {
                    Some(words) => running(&words),
                    None => Seen::Ended(Outcome::Succeeded),
                }
            }
            _ => running("its release was not looked at yet"),
        }
    }

    /// Whether an expression holds of the release. The run is woken when that changes.
    pub(super) fn holds(&self, session: &Session, (open, holds): (&StepRecord, &ReleaseExpression)) -> Seen {
        let (coordination, key) = (self.procedures.coordination(), session.run.key());
        let condition = Condition {
            by: step_id(session, open),
            holds: holds.clone(),
        };
        let found = coordination.await_condition(&key, condition);
        if !self.releases.is_woken_by_objects() {
            coordination.await_standing(&key, &session.run.uid, true);
        }
        match found {
            Some(Ok(())) => Seen::Ended(Outcome::Succeeded),
            Some(Err(words)) => Seen::Running(cut(&words).to_owned()),
            None => Seen::Running("its release was not looked at yet".to_owned()),
        }
    }

    /// Gives the release the values of a step, and says what has become of them.
    pub(super) fn ask(
        &self,
        session: &Session,
        resource: &DynamicObject,
        (open, values): (&StepRecord, &StepValues),
    ) -> Seen {
        let parameters = session.run.parameters(&self.procedure).unwrap_or_default();
        let change = session.record.as_ref().and_then(|record| record.change.as_ref());
        let step = (open.name.as_str(), open.attempt);
        let seen = session
            .run
            .seen_by_templates(&self.procedure, (&parameters, change), step);
        let subject: Subject = self.releases.subject_of(resource).with("Procedure", &seen);
        let values = match values.of(&subject) {
            Ok(values) => values,
            Err(error) => {
                let words = format!("its values can't be made: {}", chain(&error));
                return Seen::Ended(Outcome::Failed(cut(&words).to_owned()));
            }
        };
        let asked = Asked {
            by: step_id(session, open),
            run: session.run.holder(&self.procedure, None).run,
            values,
            is_of_end: self.procedure.finally.iter().any(|step| step.name == open.name),
            put_there: self.put_there(session),
        };
        match self.procedures.coordination().ask(&session.run.key(), asked) {
            Some(Answer::Done) => Seen::Ended(Outcome::Succeeded),
            Some(Answer::Failed(words)) => Seen::Ended(Outcome::Failed(cut(&words).to_owned())),
            Some(Answer::KeptOut(words)) => Seen::Ended(Outcome::KeptOut(cut(&words).to_owned())),
            Some(Answer::UnderWay(words)) => Seen::Running(cut(&words).to_owned()),
            None => Seen::Running("the release gets other values".to_owned()),
        }
    }

    /// The paths of the values that steps of the run may have put there: of all that were begun, and not kept out.
    fn put_there(&self, session: &Session) -> Vec<Vec<String>> {
        let begun = session.record.iter().flat_map(|record| &record.steps);
        let begun = begun.filter(|step| !matches!(step.outcome, Some(Outcome::KeptOut(_))));
        let begun: BTreeSet<&str> = begun.map(|step| step.name.as_str()).collect();
        let steps = self
            .procedure
            .steps
            .iter()
            .filter(|step| begun.contains(step.name.as_str()));
        let paths = steps.filter_map(|step| match &step.work {
            Work::Values(values) => Some(values.paths()),
            Work::Job(_) | Work::Ready | Work::Holds(_) => None,
        });
        paths.flatten().collect()
    }

    /// The step that is under way gives the release no values any longer.
    pub(super) fn withdraw(&self, session: &Session) {
        let last = session.record.as_ref().and_then(|record| record.steps.last());
        if let Some(last) = last {
            let by = step_id(session, last);
            self.procedures.coordination().withdraw(&session.run.key(), &by);
        }
    }
}

fn step_id(session: &Session, step: &StepRecord) -> StepId {
    StepId {
        run: session.run.uid.clone(),
        step: step.name.clone(),
        attempt: step.attempt,
    }
}

//! The status of a run. Pure.

use jiff::Timestamp;
use serde_json::{Map, Value, json};
use steersman_watches::procedure::{Procedure, Step};

use super::record::{Outcome, ProcedureRecord, StepRecord};
use crate::status::second;

/// The key of the record in the status.
pub(super) const RECORD: &str = "record";
/// So much of a message is shown, in bytes.
const MOST_WORDS: usize = 1024;

/// How far a run is, in one word.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Phase {
    /// It was not begun.
    Pending,
    /// One of its steps is under way.
    Running,
    /// Its steps are over, and those are under way that follow in any case.
    Finishing,
    /// Each step is done.
    Succeeded,
    /// Something of it has not.
    Failed,
    /// Somebody has ended it before its time.
    Cancelled,
}

impl Phase {
    /// Those on which nothing follows.
    pub(super) const ENDS: [Self; 3] = [Self::Succeeded, Self::Failed, Self::Cancelled];

    /// As it stands in the status.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Pending => "Pending",
            Self::Running => "Running",
            Self::Finishing => "Finishing",
            Self::Succeeded => "Succeeded",
            Self::Failed => "Failed",
            Self::Cancelled => "Cancelled",
        }
    }

    /// By what a run says of itself; `None` before it says anything.
    pub(super) fn parse(text: &str) -> Option<Self> {
        let all = [
            Self::Pending,
            Self::Running,
            Self::Finishing,
            Self::Succeeded,
            Self::Failed,
            Self::Cancelled,
        ];
        all.into_iter().find(|phase| phase.as_str() == text)
    }

    /// Whether nothing follows on it.
    pub fn is_end(self) -> bool {
        Self::ENDS.contains(&self)
    }

    /// How far a run with this record is.
    pub(super) fn of(record: Option<&ProcedureRecord>, procedure: &Procedure) -> Self {
        match record {
            None => Self::Pending,
            Some(record) if record.ended.is_some() => match (&record.failure, record.cancelled) {
                (_, true) => Self::Cancelled,
                (Some(_), _) => Self::Failed,
                (None, _) => Self::Succeeded,
            },
            Some(record) if record.is_finishing(procedure) => Self::Finishing,
            Some(_) => Self::Running,
        }
    }
}

/// What is said of a run. Secrets are masked in all of it.
#[derive(Clone, Debug, Default)]
pub(super) struct Report {
    /// What it waits for, or does.
    pub(super) words: String,
}

/// The status that follows from `current`, at this moment.
pub(super) fn next_status(
    current: &Value,
    (procedure, record, signed): (&Procedure, Option<&ProcedureRecord>, Option<Value>),
    (report, jobs): (&Report, &dyn Fn(&StepRecord) -> String),
    (generation, now): (Option<i64>, Timestamp),
) -> Value {
    let mut status = current.as_object().cloned().unwrap_or_default();
    let phase = Phase::of(record, procedure);
    let words = match record.and_then(|record| record.failure.as_deref()) {
        Some(failure) if phase.is_end() || report.words.is_empty() => failure,
        _ => report.words.as_str(),
    };
    let mut set = |key: &str, value: Value| {
        if !value.is_null() && value != "" {
            status.insert(key.to_owned(), value);
        } else if let Some(before) = status.get_mut(key) {
            // What is only left out stays.
            *before = Value::Null;
        }
    };
    set("phase", phase.as_str().into());
    set("message", cut(words).into());
    set("observedGeneration", generation.into());
    set(
        "step",
        record
            .and_then(ProcedureRecord::open)
            .map(|step| step.name.clone())
            .into(),
    );
    set(
        "startedAt",
        record
            .filter(|record| !record.steps.is_empty())
            .map(|record| second(record.begun))
            .into(),
    );
    set(
        "endedAt",
        record.and_then(|record| record.ended).map(second).into(),
    );
    set("steps", steps(procedure, record, jobs));
    set(
        "result",
        record
            .and_then(|record| record.result.clone())
            .unwrap_or_default(),
    );
    set(RECORD, signed.unwrap_or_default());
    let conditions = status.remove("conditions").unwrap_or_default();
    status.insert(
        "conditions".to_owned(),
        conditions_of(&conditions, phase, words, (generation, now)),
    );
    Value::Object(status)
}

/// Each step of the procedure, and how far it is.
fn steps(
    procedure: &Procedure,
    record: Option<&ProcedureRecord>,
    jobs: &dyn Fn(&StepRecord) -> String,
) -> Value {
    let has_ended = record.is_some_and(|record| record.ended.is_some());
    let is_over = record.is_some_and(|record| record.failure.is_some());
    let recorded = |step: &Step| {
        let mut steps = record.iter().flat_map(|record| &record.steps);
        steps.find(|recorded| recorded.name == step.name)
    };
    let of_steps = procedure.steps.iter().map(|step| (step, is_over || has_ended));
    let finally = procedure.finally.iter().map(|step| (step, has_ended));
    let told = of_steps.chain(finally).map(|(step, is_past)| {
        let Some(recorded) = recorded(step) else {
            let state = if is_past { "Skipped" } else { "Pending" };
            return json!({ "name": step.name, "state": state });
        };
        let mut told = Map::new();
        told.insert("name".to_owned(), recorded.name.as_str().into());
        let (state, why) = match &recorded.outcome {
            None => ("Running", None),
            Some(Outcome::Succeeded) => ("Succeeded", None),
            Some(Outcome::Failed(why) | Outcome::KeptOut(why)) => ("Failed", Some(cut(why))),
        };
        told.insert("state".to_owned(), state.into());
        told.insert("attempt".to_owned(), recorded.attempt.into());
        told.insert("startedAt".to_owned(), second(recorded.begun).into());
        if let Some(ended) = recorded.ended {
            told.insert("endedAt".to_owned(), second(ended).into());
        }
        if recorded.job.is_some() {
            told.insert("job".to_owned(), jobs(recorded).into());
        }
        if let Some(why) = why {
            told.insert("message".to_owned(), why.into());
        }
        Value::Object(told)
    });
    told.collect()
}

/// The conditions of kstatus: `Ready` is whether it has succeeded.
fn conditions_of(
    before: &Value,
    phase: Phase,
    words: &str,
    (generation, now): (Option<i64>, Timestamp),
) -> Value {
    let (reason, words) = (phase.as_str(), cut(words));
    let wanted: &[(&str, &str)] = match phase {
        Phase::Pending | Phase::Running | Phase::Finishing => &[("Ready", "False"), ("Reconciling", "True")],
        Phase::Succeeded => &[("Ready", "True")],
        Phase::Failed | Phase::Cancelled => &[("Ready", "False"), ("Stalled", "True")],
    };
    let made = wanted.iter().map(|(kind, status)| {
        let mut same = before.as_array().into_iter().flatten();
        let since = same
            .find(|condition| condition["type"] == *kind && condition["status"] == *status)
            .and_then(|condition| condition["lastTransitionTime"].as_str())
            .map_or_else(|| second(now), str::to_owned);
        json!({
            "type": kind, "status": status, "reason": reason, "message": words,
            "lastTransitionTime": since, "observedGeneration": generation,
        })
    });
    made.collect()
}

/// What a Job has said: JSON, or the text.
pub(super) fn result_of(words: &str) -> Value {
    let words = words.trim();
    match serde_json::from_str(words) {
        Ok(value @ (Value::Object(_) | Value::Array(_))) => value,
        _ => words.into(),
    }
}

pub(super) fn cut(words: &str) -> &str {
    let end = words.floor_char_boundary(MOST_WORDS);
    words.get(..end).unwrap_or_default()
}

//! How far a run of a procedure is, as its status says it.

use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use steersman_watches::procedure::{Change, Procedure, Step};

use crate::release::{Signable, Signature, SigningKeys, Verdict, feed_field};

/// Begins the bytes that are signed, so that those of another layout are never the same.
const LAYOUT: &[u8] = b"steersman.dev/procedure-record/1";

/// Another one, so that a record is never taken for a mark.
const MARK_LAYOUT: &[u8] = b"steersman.dev/procedure-begun/1";

/// How far a run is. It is signed, as whoever may write the status of a run could say that a step has succeeded.
///
/// What is going to be done is in it before it is done, and what has come of that before the next begins: a process that ends
/// at any moment is followed by one that goes on there.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ProcedureRecord {
    /// That of the resource that the run was begun for: another one of its name is not meant.
    pub resource_uid: String,
    /// That of the resource then.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub generation: Option<i64>,
    /// When the first step began, or the run was refused.
    pub begun: Timestamp,
    /// The value that it changes, and how.
    #[serde(default, skip_serializing_if = "Option::is_none", with = "text")]
    pub change: Option<Change>,
    /// The steps that were begun, in their order. Only the last may be open.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub steps: Vec<StepRecord>,
    /// Why no other step is begun but those that follow whatever becomes of the run; without secrets.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub failure: Option<String>,
    /// Whether that is because somebody wanted it so.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub cancelled: bool,
    /// What the last Job with a message has said, masked: the status shows this.
    #[serde(default, skip_serializing_if = "Option::is_none", with = "text")]
    pub result: Option<Value>,
    /// When nothing was left to be done.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ended: Option<Timestamp>,
    /// Whether it lets no revision through, as none waits for it, or none does any longer.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub spent: bool,
}

/// How far a step is.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct StepRecord {
    /// As watches.yaml has it.
    pub name: String,
    /// Which try it is, from 1.
    pub attempt: u32,
    /// How often its Job was gone, and was made again: that costs it no try.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub remade: u32,
    /// When this try began.
    pub begun: Timestamp,
    /// The UID of its Job, once there is one. Its name follows from the rest.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub job: Option<String>,
    /// What has come of it; absent while it is open.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub outcome: Option<Outcome>,
    /// When that was seen.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ended: Option<Timestamp>,
}

/// Somebody else's JSON, as a text: the server keeps no null of a status, and writes numbers in its own way, so that what is signed
/// would be something else.
mod text {
    use serde::de::{DeserializeOwned, Error as _};
    use serde::ser::Error as _;
    use serde::{Deserialize, Deserializer, Serialize, Serializer};

    pub(super) fn serialize<T: Serialize, S: Serializer>(value: &T, to: S) -> Result<S::Ok, S::Error> {
        let text = serde_json::to_string(value).map_err(S::Error::custom)?;
        to.serialize_str(&text)
    }

    pub(super) fn deserialize<'de, T: DeserializeOwned, D: Deserializer<'de>>(
        from: D,
    ) -> Result<T, D::Error> {
        let text = String::deserialize(from)?;
        serde_json::from_str(&text).map_err(D::Error::custom)
    }
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde passes a reference")]
fn is_zero(number: &u32) -> bool {
    *number == 0
}

/// What has come of a step.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Outcome {
    /// The next one may begin.
    Succeeded,
    /// It has failed, for this reason, without secrets.
    Failed(String),
    /// The same of values that the release has never got, as they would have brought something else with them.
    KeptOut(String),
}

impl Outcome {
    /// Why it has not succeeded.
    pub fn failure(&self) -> Option<&str> {
        match self {
            Self::Succeeded => None,
            Self::Failed(why) | Self::KeptOut(why) => Some(why),
        }
    }
}

/// Why a run does not go on, other than by a step that has failed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Stop {
    /// Somebody wants it so, or has deleted the run.
    Cancelled,
    /// The release has the value that it was made to bring.
    Unneeded,
    /// Its resource is being deleted, or is gone.
    Deleted,
    /// The time of all steps is over.
    Late,
    /// The time of the step is over.
    StepLate,
    /// The procedure has no such step any longer.
    StepUnknown,
}

impl Stop {
    /// Whether no other step but the last ones is begun.
    fn is_of_run(&self) -> bool {
        matches!(self, Self::Cancelled | Self::Deleted | Self::Late)
    }

    /// For people.
    pub fn words(&self) -> &'static str {
        match self {
            Self::Cancelled => "the run is cancelled",
            Self::Unneeded => "there is nothing to change any longer",
            Self::Deleted => "its resource is deleted",
            Self::Late => "the time of the run is over",
            Self::StepLate => "its time is over",
            Self::StepUnknown => "watches.yaml has no such step any longer",
        }
    }
}

/// As it is written.
#[derive(Serialize, Deserialize)]
struct Signed {
    #[serde(flatten)]
    record: ProcedureRecord,
    signature: Signature,
}

/// That a run was begun.
struct Begun<'a> {
    run_uid: &'a str,
}

impl Signable for Begun<'_> {
    fn feed(&self, sink: &mut dyn FnMut(&[u8])) {
        sink(MARK_LAYOUT);
        feed_field(sink, self.run_uid.as_bytes());
    }
}

/// What stands in an annotation of a run from the moment on in which it has our finalizer, and stays: whoever may change runs
/// can't make it for one that was not begun.
pub(super) fn begun_mark(keys: &SigningKeys, run_uid: &str) -> String {
    let signature = keys.sign(&Begun { run_uid });
    let text = signature.and_then(|signature| serde_json::to_string(&signature).ok());
    text.unwrap_or_default()
}

/// Whether the operator has made it, and for no other run.
pub(super) fn is_begun_mark(text: &str, keys: &SigningKeys, run_uid: &str) -> bool {
    let signature = serde_json::from_str::<Signature>(text);
    signature.is_ok_and(|signature| keys.judge(&Begun { run_uid }, &signature) == Verdict::Signed)
}

struct OfRun<'a> {
    record: &'a ProcedureRecord,
    run_uid: &'a str,
}

impl Signable for OfRun<'_> {
    fn feed(&self, sink: &mut dyn FnMut(&[u8])) {
        sink(LAYOUT);
        feed_field(sink, self.run_uid.as_bytes());
        // Its fields are written in the order in which they stand above.
        feed_field(sink, &serde_json::to_vec(self.record).unwrap_or_default());
    }
}

impl ProcedureRecord {
    /// Of a run that is about to begin its first step.
    pub fn begin(
        procedure: &Procedure,
        (resource_uid, generation): (&str, Option<i64>),
        change: Option<Change>,
        now: Timestamp,
    ) -> Self {
        let mut record = Self {
            resource_uid: resource_uid.to_owned(),
            generation,
            begun: now,
            change,
            steps: Vec::new(),
            failure: None,
            cancelled: false,
            result: None,
            ended: None,
            spent: false,
        };
        record.advance(procedure, None, now);
        record
    }

    /// Of a run that was begun, and of which nobody knows how far it is: only those steps are left that follow in any case.
    pub fn take_up(procedure: &Procedure, resource_uid: &str, failure: String, now: Timestamp) -> Self {
        let mut record = Self {
            resource_uid: resource_uid.to_owned(),
            ended: None,
            ..Self::unbegun(failure, false, now)
        };
        record.advance(procedure, None, now);
        record
    }

    /// Of a run that has ended before its first step, for this reason.
    pub fn unbegun(failure: String, cancelled: bool, now: Timestamp) -> Self {
        Self {
            resource_uid: String::new(),
            generation: None,
            begun: now,
            change: None,
            steps: Vec::new(),
            failure: Some(failure),
            cancelled,
            result: None,
            ended: Some(now),
            spent: false,
        }
    }

    /// Whether it has failed as values of a step were kept out.
    pub fn was_kept_out(&self) -> bool {
        let mut outcomes = self.steps.iter().filter_map(|step| step.outcome.as_ref());
        let first = outcomes.find(|outcome| outcome.failure().is_some());
        self.ended.is_some() && !self.cancelled && matches!(first, Some(Outcome::KeptOut(_)))
    }

    /// The step that is under way.
    pub fn open(&self) -> Option<&StepRecord> {
        self.steps.last().filter(|step| step.outcome.is_none())
    }

    /// Whether only those steps are left that follow whatever becomes of the run.
    pub fn is_over(&self, procedure: &Procedure) -> bool {
        self.failure.is_some() || procedure.steps.iter().all(|step| self.has_ended(&step.name))
    }

    /// Whether the step that is under way, or comes next, is one of those.
    pub fn is_finishing(&self, procedure: &Procedure) -> bool {
        let is_last = |open: &StepRecord| procedure.finally.iter().any(|step| step.name == open.name);
        self.open().map_or_else(|| self.is_over(procedure), is_last)
    }

    /// The Job of the step that is under way is this one.
    pub fn note_job(&mut self, uid: &str) {
        if let Some(step) = self.steps.last_mut() {
            step.job = Some(uid.to_owned());
        }
    }

    /// The step that is under way has come to this. Where that is because of `stop`, so has the run.
    pub fn note_outcome(&mut self, outcome: Outcome, stop: Option<&Stop>, now: Timestamp) {
        let Some(last) = self.steps.last_mut() else {
            return;
        };
        // A step that was late may be begun again.
        let stop = stop.filter(|stop| stop.is_of_run());
        if let (Some(_), Some(stop)) = (outcome.failure(), stop) {
            self.failure.get_or_insert_with(|| stop.words().to_owned());
            self.cancelled |= *stop == Stop::Cancelled;
        }
        last.outcome = Some(outcome);
        last.ended = Some(now);
    }

    /// What comes next is begun: the same step once more, another one, or nothing, which is the end.
    pub fn advance(&mut self, procedure: &Procedure, stop: Option<&Stop>, now: Timestamp) {
        let stop = stop.filter(|stop| stop.is_of_run() && !self.is_over(procedure));
        if let Some(stop) = stop {
            self.failure = Some(stop.words().to_owned());
            self.cancelled |= *stop == Stop::Cancelled;
        }
        if self.begins_again(procedure, now) {
            return;
        }
        if let Some(StepRecord {
            name,
            outcome: Some(outcome),
            ..
        }) = self.steps.last()
            && let Some(why) = outcome.failure()
        {
            let failure = format!("step {name}: {why}");
            self.failure.get_or_insert(failure);
        }
        let is_new = |step: &&Step| !self.has_ended(&step.name);
        let of_steps = procedure.steps.iter().filter(|_| self.failure.is_none());
        let next = of_steps.chain(&procedure.finally).find(is_new);
        match next.map(|step| step.name.clone()) {
            Some(name) => self.steps.push(StepRecord {
                name,
                attempt: 1,
                remade: 0,
                begun: now,
                job: None,
                outcome: None,
                ended: None,
            }),
            None => self.ended = Some(now),
        }
    }

    /// A step that has failed is begun again where it has tries left, and the run goes on.
    fn begins_again(&mut self, procedure: &Procedure, now: Timestamp) -> bool {
        let has_failed = self.failure.is_some();
        let Some(step) = self.steps.last_mut() else {
            return false;
        };
        let is_of_end = procedure.finally.iter().any(|one| one.name == step.name);
        let may = step
            .outcome
            .as_ref()
            .is_some_and(|outcome| outcome.failure().is_some())
            && step.attempt.saturating_sub(step.remade) <= procedure.retries
            && (!has_failed || is_of_end);
        if may {
            *step = StepRecord {
                name: step.name.clone(),
                attempt: step.attempt.saturating_add(1),
                remade: step.remade,
                begun: now,
                job: None,
                outcome: None,
                ended: None,
            };
        }
        may
    }

    /// The Job of the step that is under way is gone, and may be made again: that is no failure of it.
    pub fn make_again(&mut self, now: Timestamp) {
        if let Some(step) = self.steps.last_mut() {
            step.attempt = step.attempt.saturating_add(1);
            step.remade = step.remade.saturating_add(1);
            step.begun = now;
            step.job = None;
        }
    }

    fn has_ended(&self, name: &str) -> bool {
        let mut steps = self.steps.iter();
        steps.any(|step| step.name == name && step.outcome.is_some())
    }

    /// As it stands in the status of the run with this UID; `None` where there is no key.
    pub fn sign(&self, keys: &SigningKeys, run_uid: &str) -> Option<Value> {
        let of_run = OfRun {
            record: self,
            run_uid,
        };
        let signed = Signed {
            signature: keys.sign(&of_run)?,
            record: self.clone(),
        };
        serde_json::to_value(signed).ok()
    }

    /// What stands in the status of the run with this UID; `None` where that is no record, or not one that the operator has
    /// written for this run.
    pub fn read(value: &Value, keys: &SigningKeys, run_uid: &str) -> Option<Self> {
        let Signed { record, signature } = Signed::deserialize(value).ok()?;
        let of_run = OfRun {
            record: &record,
            run_uid,
        };
        (keys.judge(&of_run, &signature) == Verdict::Signed).then_some(record)
    }
}

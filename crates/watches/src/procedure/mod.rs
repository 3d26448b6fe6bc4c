//! Procedures: what can be done with a release besides releasing it, such as a backup, a restore, a resize.
//!
//! A procedure is declared beside its chart. Each time that it is carried out there is an object for that, a run, of a kind of the
//! project's own: so who may back up is said by ordinary permissions, and so is who may restore.

mod parameter;
mod schedule;
#[cfg(test)]
mod tests;

use std::time::Duration;

use serde_json::{Map, Value as Json};
use steersman_chart::Values;

pub use parameter::{Parameter, ParameterError, ParameterType};
pub use schedule::{Concurrency, Cron, Schedule, ScheduleError, ScheduleSource};

use crate::dependency::Dependency;
use crate::text_template::{Subject, TextError, TextTemplate};

/// How many runs that have succeeded are kept where nothing else is said, as with `CronJob`s.
pub const KEPT_SUCCEEDED: u32 = 3;
/// How many runs that have failed are kept where nothing else is said. A `CronJob` keeps one; more tell whether it is always the same.
pub const KEPT_FAILED: u32 = 3;

/// Something that can be done with a release, step after step.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Procedure {
    /// By which it is asked for: a DNS label, and no other procedure of the entry has it.
    pub name: String,
    /// The kind of its runs, in the group and version of the entry's kind.
    pub run_kind: String,
    /// What a run may say, in the order of the file.
    pub parameters: Vec<Parameter>,
    /// One after the other; at least one.
    pub steps: Vec<Step>,
    /// What is done after the steps, whatever has become of them.
    pub finally: Vec<Step>,
    /// What begins a run besides somebody's word.
    pub triggers: Triggers,
    /// Whether a run has to be confirmed by an annotation of it.
    pub confirm: bool,
    /// Whether no other run and no revision of the release is under way meanwhile.
    pub exclusive: bool,
    /// How often a step that has failed is begun again.
    pub retries: u32,
    /// How long a run may take, from its beginning to the end of its steps; without one each step has its own time.
    pub timeout: Option<Duration>,
    /// How many runs are kept that have come to an end.
    pub history: RunHistory,
}

/// What begins a run besides somebody's word.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Triggers {
    /// A time.
    pub schedule: Option<ScheduleSource>,
    /// A revision, which waits for the run and is not begun where that fails.
    pub before: Option<Before>,
    /// A change of values, after the revision that has it.
    pub on_change: Option<OnChange>,
}

/// Before which revisions a procedure runs. An installation has none.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Before {
    /// Before every one but the first.
    Upgrade,
    /// Before those for which any of these values is another one. Each is a path with dots between.
    Changed(Vec<String>),
}

/// A change of values that begins runs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OnChange {
    /// Paths with dots between. With `by` it is one, of a whole number.
    pub values: Vec<String>,
    /// By how much a number goes in each run: from 1 to 3 by 1 are two runs. `None` where each change is one run.
    pub by: Option<u32>,
}

/// How many runs are kept that have come to an end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RunHistory {
    /// With nothing left to be done.
    pub succeeded: u32,
    /// That were cancelled, refused or late, or of which a step has failed.
    pub failed: u32,
}

impl Default for RunHistory {
    fn default() -> Self {
        Self {
            succeeded: KEPT_SUCCEEDED,
            failed: KEPT_FAILED,
        }
    }
}

/// One after which a run can be gone on with.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Step {
    /// By which a run tells of it; no other step of the procedure has it.
    pub name: String,
    /// What is done.
    pub work: Work,
    /// How long it may take, where it says so.
    pub timeout: Option<Duration>,
}

/// What a step does.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Work {
    /// A Job is made and has to be complete.
    Job(JobStep),
    /// The release has these values, over all others, from then on.
    Values(StepValues),
    /// All objects of the release have to be ready.
    Ready,
    /// An object has to be ready.
    Wait(Dependency),
}

/// What is run in a pod, and awaited.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct JobStep {
    /// The template of the Job: a file of the chart, outside of its `templates/`.
    pub file: String,
    /// Whether it may be made again where nobody knows what has become of it.
    pub idempotent: bool,
}

/// Values that a step gives a release: a map whose texts may be templates.
///
/// ```
/// use serde_json::json;
/// use steersman_watches::Subject;
/// use steersman_watches::procedure::StepValues;
///
/// let step = json!({"maintenance": true, "members": "{{ .Procedure.to }}", "note": "grown"});
/// let step = StepValues::parse(step.as_object().unwrap())?;
/// let subject = Subject::new(&json!({}), &Default::default()).with("Procedure", &json!({"to": 3}));
/// let values = step.of(&subject)?;
/// assert_eq!(json!(values), json!({"maintenance": true, "members": 3, "note": "grown"}));
/// # Ok::<(), steersman_watches::TextError>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StepValues(Vec<(String, StepValue)>);

#[derive(Clone, Debug, PartialEq, Eq)]
enum StepValue {
    Fixed(Json),
    Text(TextTemplate),
    Map(StepValues),
}

impl StepValues {
    /// Reads the values of a step.
    ///
    /// # Errors
    /// A text in it is no template, though it looks like one.
    pub fn parse(values: &Map<String, Json>) -> Result<Self, TextError> {
        let parse = |(key, value): (&String, &Json)| Ok((key.clone(), StepValue::parse(value)?));
        values.iter().map(parse).collect::<Result<_, _>>().map(Self)
    }

    /// The values for a resource and a run, which is `.Procedure`. What comes of a template is a whole number, `true` or `false`
    /// where it is written like one, and a text else: who writes a parameter writes neither a list nor a map with it.
    ///
    /// # Errors
    /// A template fails.
    pub fn of(&self, subject: &Subject) -> Result<Values, TextError> {
        let made = |(key, value): &(String, StepValue)| Ok((key.clone(), value.of(subject)?));
        self.0.iter().map(made).collect()
    }
}

impl StepValue {
    fn parse(value: &Json) -> Result<Self, TextError> {
        Ok(match value {
            Json::String(text) if text.contains("{{") => Self::Text(TextTemplate::parse(text)?),
            Json::Object(values) => Self::Map(StepValues::parse(values)?),
            value => Self::Fixed(value.clone()),
        })
    }

    fn of(&self, subject: &Subject) -> Result<Json, TextError> {
        match self {
            Self::Fixed(value) => Ok(value.clone()),
            Self::Map(values) => values.of(subject).map(Json::Object),
            Self::Text(template) => template.of(subject).map(scalar),
        }
    }
}

fn scalar(text: String) -> Json {
    match (text.parse::<i64>(), text.parse::<bool>()) {
        // `+3` and `007` are read as numbers, and are texts.
        (Ok(number), _) if number.to_string() == text => number.into(),
        (_, Ok(value)) => value.into(),
        _ => text.into(),
    }
}

impl Procedure {
    /// The files of the chart that Jobs are made of, each once.
    pub fn files(&self) -> Vec<&str> {
        let mut files: Vec<&str> = Vec::new();
        for step in self.steps.iter().chain(&self.finally) {
            if let Work::Job(job) = &step.work
                && !files.contains(&job.file.as_str())
            {
                files.push(&job.file);
            }
        }
        files
    }

    /// Whether a run of it changes values of the release.
    pub fn changes_values(&self) -> bool {
        let mut steps = self.steps.iter().chain(&self.finally);
        steps.any(|step| matches!(step.work, Work::Values(_)))
    }
}

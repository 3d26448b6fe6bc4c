//! What an entry says of its procedures.

use std::time::Duration;

use crate::ReleaseExpression;

use super::{Before, Parameter, Schedule, ScheduleError, StepValues, Trigger};

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
    /// When it runs by itself.
    pub schedule: Option<ScheduleSource>,
    /// The value that changes by its runs alone.
    pub on: Option<Trigger>,
    /// The revisions that wait for a run of it.
    pub before: Option<Before>,
    /// Whether nothing else is done with the release meanwhile.
    pub exclusive: bool,
    /// Whether a run has to be confirmed by an annotation of it.
    pub confirm: bool,
    /// How often a step that has failed is begun again.
    pub retries: u32,
    /// How long the steps may take together; without one each step has its own time.
    pub timeout: Option<Duration>,
    /// How many runs are kept that have come to an end.
    pub history: RunHistory,
}

/// One part of a procedure: what was done is noted before the next one begins.
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
    /// A Job is made, and has to be complete.
    Job(JobStep),
    /// All objects of the release have to be ready.
    Ready,
    /// This has to be true of the release and its objects.
    Holds(ReleaseExpression),
    /// The release gets other values, by a revision of its own.
    Values(StepValues),
}

/// What runs in a pod, and is awaited.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct JobStep {
    /// The template of the Job: a file of the chart, outside of its `templates/`.
    pub file: String,
    /// Whether it may be made again where nobody knows what has become of it.
    pub idempotent: bool,
}

/// When a procedure runs by itself.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ScheduleSource {
    /// The five fields of cron, or where among the values of a resource they are.
    pub cron: Cron,
    /// In which zone they are meant, by its name in the IANA's database; UTC without one.
    pub time_zone: Option<String>,
    /// By how much a start is moved at most, by another time for each resource.
    pub jitter: Duration,
    /// How late a run may begin that was missed; without one the last missed run begins, however late.
    pub deadline: Option<Duration>,
    /// What is done where the run before has not come to its end.
    pub concurrency: Concurrency,
}

/// Where the five fields of a schedule are.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Cron {
    /// In the entry.
    Fixed(String),
    /// Among the values of a resource, at a path with dots between; nothing there is no schedule.
    Value(String),
}

/// What is done where it is time for a run, and the one before has not come to its end, in the words of `CronJob`s.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Concurrency {
    /// The later one is left out.
    #[default]
    Forbid,
    /// The earlier one is cancelled.
    Replace,
    /// The later one begins beside it.
    Allow,
}

/// How many runs are kept that the operator has made and that have come to an end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RunHistory {
    /// With nothing left to be done.
    pub succeeded: u32,
    /// That were cancelled, refused or late, or of which a step has failed.
    pub failed: u32,
}

impl Default for RunHistory {
    /// As with `CronJob`s, but for the failed ones, of which these keep one: more tell whether it is always the same.
    fn default() -> Self {
        Self {
            succeeded: 3,
            failed: 3,
        }
    }
}

impl ScheduleSource {
    /// A start is moved by less than this where nothing else is said: many resources with one schedule do not begin at once.
    pub const JITTER: Duration = Duration::from_secs(30);

    /// The times for a resource, by its UID and what its values have at the path of the schedule, if that is there.
    ///
    /// # Errors
    /// What is there is no schedule.
    pub fn of(&self, uid: &str, at_path: Option<&str>) -> Result<Option<Schedule>, ScheduleError> {
        let text = match &self.cron {
            Cron::Fixed(text) => Some(text.as_str()),
            Cron::Value(_) => at_path.filter(|text| !text.is_empty()),
        };
        text.map(|text| Schedule::parse(text, self.time_zone.as_deref(), uid))
            .transpose()
    }
}

impl Procedure {
    /// All its steps, in their order.
    pub fn all_steps(&self) -> impl Iterator<Item = &Step> {
        self.steps.iter().chain(&self.finally)
    }

    /// Which values its steps give a release: the path of each.
    pub fn value_paths(&self) -> Vec<Vec<String>> {
        let paths = self.all_steps().filter_map(|step| match &step.work {
            Work::Values(values) => Some(values.paths()),
            Work::Job(_) | Work::Ready | Work::Holds(_) => None,
        });
        paths.flatten().collect()
    }

    /// The files of the chart that Jobs are made of, each once.
    pub fn files(&self) -> Vec<&str> {
        let mut files: Vec<&str> = Vec::new();
        for step in self.all_steps() {
            if let Work::Job(job) = &step.work
                && !files.contains(&job.file.as_str())
            {
                files.push(&job.file);
            }
        }
        files
    }
}

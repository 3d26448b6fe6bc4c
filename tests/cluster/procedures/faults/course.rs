//! What runs come to by the way that they begin, whatever happens meanwhile.

use kube::api::DeleteParams;
use serde_json::{Value, json};

use super::Site;
use crate::procedures::annotate;

/// A release whose map has the message 1, and what is to become of it. Its procedure is called `restore`.
pub(super) struct Course {
    pub(super) procedure: &'static str,
    pub(super) begin: Begin,
    /// How each of its runs ends.
    pub(super) phase: &'static str,
    /// Of each run: the name, the state and the last try of each step.
    pub(super) steps: &'static [&'static str],
    pub(super) runs: usize,
    /// More than so many, for all of its runs.
    pub(super) writes: usize,
    /// Those that are made for all of its runs.
    pub(super) jobs: usize,
    /// Of the release, at the end.
    pub(super) revisions: usize,
    /// What the map says at the end.
    pub(super) message: &'static str,
    /// Whether the release has no other objects before all of its Jobs were made.
    pub(super) jobs_first: bool,
}

/// What asks for runs.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Begin {
    /// Somebody makes one.
    Object,
    /// The resource's annotation.
    Request,
    /// The resource says this message.
    Change(u64),
    /// Somebody has made one, and deletes the resource while the Job of a step works.
    Deletion,
}

impl Begin {
    /// What is done before any fault.
    pub(super) async fn prepare(self, site: &Site, name: &str) {
        if self == Self::Deletion {
            Self::Object.ask(site, name).await;
            let is_at_work = |run: &Value| run.pointer("/status/steps/0/job").is_some_and(Value::is_string);
            site.wait(name, "a Job", async || {
                site.runs_of(name).await.iter().any(is_at_work)
            })
            .await;
        }
    }

    pub(super) async fn ask(self, site: &Site, name: &str) {
        let bench = &site.lane.bench;
        match self {
            Self::Object => {
                let spec = json!({"resource": name});
                bench.apply_cr("WebRestore", "webrestores", name, spec).await;
            }
            Self::Request => annotate(&bench.webs(), name, "steersman.dev/run", "restore@once").await,
            Self::Change(message) => bench.apply_web(name, json!({"message": message})).await,
            Self::Deletion => drop(bench.webs().delete(name, &DeleteParams::default()).await.unwrap()),
        }
    }
}

/// A step that succeeds, one that fails as often as it may, and one that follows in any case.
pub(super) const OF_JOBS: Course = Course {
    procedure: "
    retries: 1
    steps:
    - {name: copy, job: procedures/job.yaml}
    - {name: load, job: procedures/job.yaml}
    - {name: never, job: procedures/job.yaml}
    finally:
    - {name: clean, job: procedures/job.yaml}
",
    begin: Begin::Object,
    phase: "Failed",
    steps: &[
        r#""copy" "Succeeded" 1"#,
        r#""load" "Failed" 2"#,
        r#""never" "Skipped" null"#,
        r#""clean" "Succeeded" 1"#,
    ],
    runs: 1,
    writes: 15,
    jobs: 4,
    revisions: 1,
    message: "1",
    jobs_first: false,
};

/// The release is another one while a Job runs, and as before at the end.
pub(super) const OF_VALUES: Course = Course {
    procedure: "
    exclusive: true
    steps:
    - {name: down, values: {message: down}}
    - {name: copy, job: procedures/job.yaml}
    - {name: ready, wait: ready}
    finally:
    - {name: up, values: {message: null}}
",
    begin: Begin::Request,
    phase: "Succeeded",
    steps: &[
        r#""down" "Succeeded" 1"#,
        r#""copy" "Succeeded" 1"#,
        r#""ready" "Succeeded" 1"#,
        r#""up" "Succeeded" 1"#,
    ],
    runs: 1,
    writes: 15,
    jobs: 1,
    revisions: 3,
    message: "1",
    jobs_first: false,
};

/// From 1 to 3, and from there to 4.
pub(super) const OF_A_CHANGE: Course = Course {
    procedure: "
    on: {changed: [message], by: 2}
    steps:
    - {name: before, job: procedures/job.yaml}
    - {name: change, values: {message: '{{ .Procedure.to }}'}}
",
    begin: Begin::Change(4),
    phase: "Succeeded",
    steps: &[r#""before" "Succeeded" 1"#, r#""change" "Succeeded" 1"#],
    runs: 2,
    writes: 15,
    jobs: 2,
    revisions: 3,
    message: "4",
    jobs_first: false,
};

/// The upgrade comes behind its run.
pub(super) const OF_A_GATE: Course = Course {
    procedure: "
    before: {upgrade: true}
    steps:
    - {name: copy, job: procedures/job.yaml}
",
    begin: Begin::Change(2),
    phase: "Succeeded",
    steps: &[r#""copy" "Succeeded" 1"#],
    runs: 1,
    writes: 8,
    jobs: 1,
    revisions: 2,
    message: "2",
    jobs_first: true,
};

/// The Job that works is stopped, and the last step follows before anything of the release goes.
pub(super) const OF_A_DELETION: Course = Course {
    procedure: "
    steps:
    - {name: hold, job: procedures/job.yaml}
    finally:
    - {name: clean, job: procedures/job.yaml}
",
    begin: Begin::Deletion,
    phase: "Failed",
    steps: &[r#""hold" "Failed" 1"#, r#""clean" "Succeeded" 1"#],
    runs: 1,
    writes: 8,
    jobs: 2,
    revisions: 0,
    message: "",
    jobs_first: true,
};

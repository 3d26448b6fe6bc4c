//! A run with a fault at each of its writes: each step has its Jobs once, and the last one follows.

use std::collections::{BTreeSet, VecDeque};
use std::time::{Duration, Instant};

use futures::StreamExt as _;
use kube::api::{Api, DynamicObject, ListParams, Patch, PatchParams};
use kube::runtime::watcher;
use serde_json::{Value, json};
use steersman_testkit::cluster::{Call, Fault, wanted_faults};
use tokio::sync::Mutex;
use tokio::task::JoinHandle;

use super::{jobs, put_procedures, runs};
use crate::bench::PATIENCE;
use crate::faults::{EFFECTS, Effect, Lane};
use crate::node::ended;
use crate::watched::{Watched, changes};

/// So many of the requests may not come in each run.
const MOST_MISSED: usize = 2;
/// Operators that are killed.
const LANES: usize = 3;

/// A step that succeeds, one that fails as often as it may, and one that follows in any case.
const PROCEDURE: &str = "  - name: restore
    retries: 1
    steps:
    - {name: copy, job: procedures/job.yaml}
    - {name: load, job: procedures/job.yaml}
    - {name: never, job: procedures/job.yaml}
    finally:
    - {name: clean, job: procedures/job.yaml}
";

/// What a procedure comes to, whatever happens meanwhile.
struct Course {
    procedure: &'static str,
    phase: &'static str,
    /// The name, the state and the last try of each step.
    steps: &'static [&'static str],
    jobs: usize,
    /// Of the release, at the end.
    revisions: usize,
}

const OF_JOBS: Course = Course {
    procedure: PROCEDURE,
    phase: "Failed",
    steps: &[
        r#""copy" "Succeeded" 1"#,
        r#""load" "Failed" 2"#,
        r#""never" "Skipped" null"#,
        r#""clean" "Succeeded" 1"#,
    ],
    jobs: 4,
    revisions: 1,
};

/// The release is another one while a Job runs, and as before at the end.
const OF_VALUES: Course = Course {
    procedure: "  - name: restore
    exclusive: true
    steps:
    - {name: down, values: {message: down}}
    - {name: copy, job: procedures/job.yaml}
    - {name: ready, wait: ready}
    finally:
    - {name: up, values: {message: null}}
",
    phase: "Succeeded",
    steps: &[
        r#""down" "Succeeded" 1"#,
        r#""copy" "Succeeded" 1"#,
        r#""ready" "Succeeded" 1"#,
        r#""up" "Succeeded" 1"#,
    ],
    jobs: 1,
    revisions: 3,
};

/// A write of a run, the same in each: its verb and resource, and which of those that are the same in both.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Target {
    verb: String,
    resource: String,
    number: usize,
}

/// Ends Jobs, as there are no nodes: those of one step fail.
async fn end_jobs(jobs: Api<DynamicObject>) {
    let mut changed = changes(&jobs, watcher::Config::default());
    while let Some(job) = changed.next().await {
        let status = &job.data["status"];
        let Some(start) = status.get("startTime").filter(|_| status["conditions"].is_null()) else {
            continue;
        };
        let name = job.metadata.name.as_deref().unwrap();
        let end = if name.contains("-load-") {
            "Failed"
        } else {
            "Complete"
        };
        let patch = Patch::Merge(json!({ "status": ended(start, end) }));
        // Where somebody else has written it, that is told, too.
        let _ = jobs.patch_status(name, &PatchParams::default(), &patch).await;
    }
}

/// An operator, and what ends its Jobs.
struct Site {
    lane: Lane,
    kubelet: JoinHandle<()>,
}

impl Site {
    async fn new(test: &str, course: &Course) -> Option<Self> {
        let lane = Lane::new(test).await?;
        put_procedures(&lane.bench, &["WebRestore"], course.procedure).await;
        let file = lane.bench.folder.path().join("web/procedures/job.yaml");
        let template = std::fs::read_to_string(&file).unwrap();
        let without_pods = "  backoffLimit: 0\n  completions: 1\n  parallelism: 0\n";
        std::fs::write(&file, template.replace("  backoffLimit: 0\n", without_pods)).unwrap();
        lane.start().await;
        let kubelet = tokio::spawn(end_jobs(jobs(&lane.bench)));
        Some(Self { lane, kubelet })
    }
}

#[tokio::test]
async fn no_fault_at_any_write_loses_or_doubles_a_step() {
    strike("no_fault_at_any_write", &OF_JOBS).await;
}

#[tokio::test]
async fn no_fault_at_any_write_loses_or_doubles_values_of_a_step() {
    strike("no_fault_at_any_write_of_values", &OF_VALUES).await;
}

/// A run with a fault at each of its writes.
async fn strike(test: &str, course: &Course) {
    let mut sites = Vec::new();
    for _ in 0..LANES {
        let Some(site) = Site::new(test, course).await else {
            return;
        };
        sites.push(site);
    }
    let first = &sites[0].lane;
    release(first, "run-reference").await;
    let begun = first.proxy.trace().len();
    carry_out(first, course, "run-reference", ("none", None)).await;
    let targets = targets(&first.proxy.trace()[begun..], "run-reference");
    assert!(targets.len() > 15, "{targets:?}");
    let all = wanted_faults().is_some();
    let is_taken = |target: &Target, effect: &str| match effect {
        _ if all => true,
        "killed after" => true,
        "lost" => target.resource == "jobs",
        _ => false,
    };
    let plans: VecDeque<(String, Target, Effect)> = targets
        .iter()
        .flat_map(|target| EFFECTS.map(|(name, effect)| (name, target.clone(), effect)))
        .filter(|(name, target, _)| is_taken(target, name))
        .enumerate()
        .map(|(number, (name, target, effect))| {
            let what = format!("run-{number:04} {name} at {target:?}");
            (what, target, effect)
        })
        .collect();
    let plans = Mutex::new(plans);
    let works = sites.iter().map(|site| work(&site.lane, course, &plans));
    let missed = futures::future::join_all(works).await.concat();
    // What a step is at is told once more in one run than in another.
    let missed: BTreeSet<&str> = missed
        .iter()
        .filter_map(|what| Some(what.split_once(" at ")?.1))
        .collect();
    assert!(missed.len() <= MOST_MISSED, "requests did not come: {missed:?}");
    for site in sites {
        site.kubelet.abort();
        // The last fault may have killed it.
        site.lane.kill().await;
    }
}

/// Carries out plans until none is left, and gives those whose request did not come.
async fn work(
    lane: &Lane,
    course: &Course,
    plans: &Mutex<VecDeque<(String, Target, Effect)>>,
) -> Vec<String> {
    let mut missed = Vec::new();
    loop {
        let plan = plans.lock().await.pop_front();
        let Some((what, target, effect)) = plan else {
            return missed;
        };
        let name = what.split(' ').next().unwrap();
        release(lane, name).await;
        let fault = Fault::on(&target.verb, &target.resource)
            .part(name)
            .nth(target.number);
        if !carry_out(lane, course, name, (&what, Some(effect(fault)))).await {
            missed.push(what);
        }
    }
}

/// Releases a resource, with an operator that is started again where the fault before has killed it.
async fn release(lane: &Lane, name: &str) {
    lane.bench.apply_web(name, json!({"message": "one"})).await;
    let webs = lane.bench.webs();
    let mut watched = Watched::new(&webs, name);
    let begun = Instant::now();
    loop {
        lane.keep_alive().await;
        let web = watched.look(Duration::from_millis(100)).await;
        if web.pointer("/status/revision").is_some() {
            return;
        }
        assert!(begun.elapsed() < PATIENCE, "{name} is not released");
    }
}

/// What a run writes, in this order.
fn targets(trace: &[Call], name: &str) -> Vec<Target> {
    let mut targets: Vec<Target> = Vec::new();
    let is_ours = |call: &&Call| call.is_write() && call.resource != "events" && call.name.contains(name);
    for call in trace.iter().filter(is_ours) {
        let mut target = Target {
            verb: call.verb.clone(),
            resource: call.resource.clone(),
            number: 1,
        };
        while targets.contains(&target) {
            target.number += 1;
        }
        targets.push(target);
    }
    targets
}

/// A run to its end, and what has to hold then. Gives whether the fault has struck.
async fn carry_out(lane: &Lane, course: &Course, name: &str, (what, fault): (&str, Option<Fault>)) -> bool {
    let bench = &lane.bench;
    let fault = fault.map(|fault| lane.proxy.inject(fault));
    let mark = bench.cluster.audit_mark().await.unwrap();
    bench
        .apply_cr("WebRestore", "webrestores", name, json!({"resource": name}))
        .await;
    let run = reach(lane, name, what).await;
    let has_struck = fault.is_none_or(|fault| {
        let has_struck = lane.proxy.struck(fault) > 0;
        lane.proxy.take_back(fault);
        has_struck
    });
    assert_eq!(run["status"]["phase"], course.phase, "{what}");
    let steps = run["status"]["steps"].as_array().unwrap().iter();
    let told: Vec<String> = steps
        .map(|step| format!("{} {} {}", step["name"], step["state"], step["attempt"]))
        .collect();
    assert_eq!(told, course.steps, "{what}");
    let audit = bench.cluster.audit_since(mark).await.unwrap();
    let made = audit.by_user(bench.user.name()).writes().filter(|request| {
        request.resource == "jobs" && request.name.contains(name) && request.code == Some(201)
    });
    let names: BTreeSet<&str> = made
        .requests
        .iter()
        .map(|request| request.name.as_str())
        .collect();
    let counts = (made.requests.len(), names.len());
    assert_eq!(counts, (course.jobs, course.jobs), "{what}: {names:?}");
    let left = jobs(bench).list(&ListParams::default()).await.unwrap();
    let held = left.items.iter().filter(|job| {
        let name_of = job.metadata.name.as_deref().unwrap();
        name_of.contains(name) && !job.metadata.finalizers.clone().unwrap_or_default().is_empty()
    });
    assert_eq!(held.count(), 0, "{what}: a Job is held");
    bench
        .wait("the resource's word", &bench.webs(), name, |web| {
            let shown = web.pointer("/status/procedures/restore")?;
            (shown["lastRun"] == name && shown["phase"] == course.phase).then_some(())
        })
        .await;
    let map = bench.config_maps().get(&format!("{name}-map")).await.unwrap();
    assert_eq!(map.data["data"]["message"], "one", "{what}");
    let of_release = ListParams::default().labels(&format!("owner=helm,name={name}"));
    let stored = bench.secrets().list_metadata(&of_release).await.unwrap();
    assert_eq!(stored.items.len(), course.revisions, "{what}: revisions");
    has_struck
}

/// Waits until the run has ended and carries no finalizer, with an operator that is started again where it was killed.
async fn reach(lane: &Lane, name: &str, what: &str) -> Value {
    let api = runs(&lane.bench, "WebRestore");
    let mut watched = Watched::new(&api, name);
    let begun = Instant::now();
    loop {
        lane.keep_alive().await;
        let run = watched.look(Duration::from_millis(100)).await;
        let finalizers = run.pointer("/metadata/finalizers");
        let is_free = finalizers.is_none_or(|finalizers| finalizers == &json!([]));
        if is_free && run.pointer("/status/endedAt").is_some() {
            return run.clone();
        }
        assert!(
            begun.elapsed() < PATIENCE,
            "{what}: not reached, but {:#}\n{}",
            run["status"],
            lane.log().await
        );
    }
}

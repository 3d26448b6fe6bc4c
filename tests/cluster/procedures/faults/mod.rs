//! Runs with a fault at each of their writes: each step has its Jobs once, and the last one follows.

mod course;

use std::collections::{BTreeSet, VecDeque};
use std::time::{Duration, Instant};

use futures::StreamExt as _;
use kube::api::{Api, DynamicObject, ListParams, Patch, PatchParams};
use kube::runtime::watcher;
use serde_json::{Value, json};
use steersman_testkit::cluster::{AuditLog, AuditMark, Call, Fault, Request, wanted_faults};
use tokio::sync::Mutex;
use tokio::task::JoinHandle;

use super::{jobs, put_procedures, runs};
use crate::bench::{PATIENCE, condition};
use crate::faults::{EFFECTS, Effect, Lane};
use crate::node::ended;
use crate::watched::changes;
use course::{Begin, Course};

/// So many of the requests may not come in each run.
const MOST_MISSED: usize = 2;
/// Operators that are killed.
const LANES: usize = 3;

/// A write of a run, the same in each: its verb and resource, and which of those that are the same in both.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Target {
    verb: String,
    resource: String,
    number: usize,
}

/// Ends Jobs, as there are no nodes: those of one step fail, and those of another one do not end.
async fn end_jobs(jobs: Api<DynamicObject>) {
    let mut changed = changes(&jobs, watcher::Config::default());
    while let Some(job) = changed.next().await {
        let status = &job.data["status"];
        let Some(start) = status.get("startTime").filter(|_| status["conditions"].is_null()) else {
            continue;
        };
        let name = job.metadata.name.as_deref().unwrap();
        if name.contains("-hold-") {
            continue;
        }
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
        let procedure = format!("  - name: restore{}", course.procedure);
        put_procedures(&lane.bench, &["WebRestore"], &procedure).await;
        let file = lane.bench.folder.path().join("web/procedures/job.yaml");
        let template = std::fs::read_to_string(&file).unwrap();
        let without_pods = "  backoffLimit: 0\n  completions: 1\n  parallelism: 0\n";
        std::fs::write(&file, template.replace("  backoffLimit: 0\n", without_pods)).unwrap();
        lane.start().await;
        let kubelet = tokio::spawn(end_jobs(jobs(&lane.bench)));
        Some(Self { lane, kubelet })
    }

    /// Releases a resource.
    async fn release(&self, name: &str) {
        let bench = &self.lane.bench;
        bench.apply_web(name, json!({"message": 1})).await;
        let is_released = |web: &Value| web.pointer("/status/revision").is_some();
        self.wait(name, "a release", async || {
            is_released(&self.resource(name).await)
        })
        .await;
    }

    /// Waits until something is so, with an operator that is started again where it was killed.
    async fn wait(&self, name: &str, what: &str, is_so: impl AsyncFn() -> bool) {
        let begun = Instant::now();
        while !is_so().await {
            self.lane.keep_alive().await;
            if begun.elapsed() > PATIENCE {
                let (resource, runs) = (self.resource(name).await, self.runs_of(name).await);
                let log = self.lane.log().await;
                panic!("{what}: not reached: {:#}\n{runs:#?}\n{log}", resource["status"]);
            }
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
    }

    /// The resource, null where it is gone.
    async fn resource(&self, name: &str) -> Value {
        let found = self.lane.bench.webs().get_opt(name).await.unwrap();
        serde_json::to_value(found).unwrap()
    }

    async fn runs_of(&self, name: &str) -> Vec<Value> {
        let all = runs(&self.lane.bench, "WebRestore");
        let found = all.list(&ListParams::default()).await.unwrap().items.into_iter();
        found
            .map(|run| serde_json::to_value(run).unwrap())
            .filter(|run| run["spec"]["resource"] == name)
            .collect()
    }

    async fn jobs_of(&self, name: &str) -> Vec<DynamicObject> {
        let all = jobs(&self.lane.bench).list(&ListParams::default()).await.unwrap();
        let is_ours = |job: &DynamicObject| job.metadata.name.as_deref().unwrap().contains(name);
        all.items.into_iter().filter(is_ours).collect()
    }

    /// How many revisions the release has.
    async fn revisions(&self, name: &str) -> usize {
        let of_release = ListParams::default().labels(&format!("owner=helm,name={name}"));
        let stored = self.lane.bench.secrets().list_metadata(&of_release).await;
        stored.unwrap().items.len()
    }

    /// Whether all runs have ended and carry no finalizer, and the release is as its resource says; where that was deleted, all of
    /// it is gone.
    async fn is_over(&self, course: &Course, name: &str) -> bool {
        let (web, runs) = (self.resource(name).await, self.runs_of(name).await);
        let is_over = |run: &Value| {
            let finalizers = run.pointer("/metadata/finalizers");
            finalizers.is_none_or(|finalizers| finalizers == &json!([]))
                && run.pointer("/status/endedAt").is_some()
        };
        if runs.len() != course.runs || !runs.iter().all(is_over) {
            return false;
        }
        if course.begin == Begin::Deletion {
            return web.is_null();
        }
        let shown = &web["status"]["procedures"]["restore"];
        let is_ours = runs.iter().any(|run| run["metadata"]["name"] == shown["lastRun"]);
        is_ours
            && shown["phase"] == course.phase
            && condition(&web, "Reconciling").is_none_or(|(status, ..)| status == "False")
            && web["status"]["observedGeneration"] == web["metadata"]["generation"]
            && self.revisions(name).await == course.revisions
    }
}

#[tokio::test]
async fn no_fault_at_any_write_loses_or_doubles_a_step() {
    strike("no_fault_at_any_write", &course::OF_JOBS).await;
}

#[tokio::test]
async fn no_fault_at_any_write_loses_or_doubles_values_of_a_step() {
    strike("no_fault_at_any_write_of_values", &course::OF_VALUES).await;
}

#[tokio::test]
async fn no_fault_at_any_write_loses_or_doubles_a_run_of_a_change() {
    strike("no_fault_at_any_write_of_a_change", &course::OF_A_CHANGE).await;
}

#[tokio::test]
async fn no_fault_at_any_write_passes_a_gate_or_loses_what_waits_for_it() {
    strike("no_fault_at_any_write_of_a_gate", &course::OF_A_GATE).await;
}

#[tokio::test]
async fn no_fault_at_any_write_of_a_deletion_loses_the_last_step() {
    strike("no_fault_at_any_write_of_a_deletion", &course::OF_A_DELETION).await;
}

/// Runs with a fault at each of their writes.
async fn strike(test: &str, course: &Course) {
    let mut sites = Vec::new();
    for _ in 0..LANES {
        let Some(site) = Site::new(test, course).await else {
            return;
        };
        sites.push(site);
    }
    let targets = targets(&sites[0], course).await;
    let all = wanted_faults().is_some();
    let is_taken = |target: &Target, effect: &str| match effect {
        _ if all => true,
        "killed after" => true,
        "lost" => matches!(target.resource.as_str(), "jobs" | "webrestores"),
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
    let works = sites.iter().map(|site| work(site, course, &plans));
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
    site: &Site,
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
        let fault = Fault::on(&target.verb, &target.resource)
            .part(name)
            .nth(target.number);
        site.release(name).await;
        let mark = site.lane.bench.cluster.audit_mark().await.unwrap();
        course.begin.prepare(site, name).await;
        let fault = site.lane.proxy.inject(effect(fault));
        carry_out(site, course, (name, &what), mark).await;
        if site.lane.proxy.struck(fault) == 0 {
            missed.push(what);
        }
        site.lane.proxy.take_back(fault);
    }
}

/// What is written for a course that no fault strikes, in this order.
async fn targets(site: &Site, course: &Course) -> Vec<Target> {
    let name = "run-reference";
    site.release(name).await;
    let mark = site.lane.bench.cluster.audit_mark().await.unwrap();
    course.begin.prepare(site, name).await;
    let begun = site.lane.proxy.trace().len();
    carry_out(site, course, (name, "none"), mark).await;
    let mut targets: Vec<Target> = Vec::new();
    let is_ours = |call: &&Call| call.is_write() && call.resource != "events" && call.name.contains(name);
    for call in site.lane.proxy.trace()[begun..].iter().filter(is_ours) {
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
    assert!(targets.len() > course.writes, "{targets:?}");
    targets
}

/// A course to its end, and what has to hold then, of all that was done since the mark.
async fn carry_out(site: &Site, course: &Course, (name, what): (&str, &str), mark: AuditMark) {
    let bench = &site.lane.bench;
    course.begin.ask(site, name).await;
    site.wait(name, what, async || site.is_over(course, name).await)
        .await;
    for run in site.runs_of(name).await {
        assert_eq!(run["status"]["phase"], course.phase, "{what}");
        let steps = run["status"]["steps"].as_array().unwrap().iter();
        let told: Vec<String> = steps
            .map(|step| format!("{} {} {}", step["name"], step["state"], step["attempt"]))
            .collect();
        assert_eq!(told, course.steps, "{what}");
    }
    let audit = bench.cluster.audit_since(mark).await.unwrap();
    let audit = audit.namespace(&bench.namespace);
    let audit = audit.filter(|request| request.name.contains(name));
    let made = audit.by_user(bench.user.name()).resource("jobs");
    let made = made.filter(|request| request.code == Some(201));
    let names: BTreeSet<&str> = made
        .requests
        .iter()
        .map(|request| request.name.as_str())
        .collect();
    let counts = (made.len(), names.len());
    assert_eq!(counts, (course.jobs, course.jobs), "{what}: {names:?}");
    assert_eq!(site.revisions(name).await, course.revisions, "{what}: revisions");
    let map = bench.config_maps().get_opt(&format!("{name}-map")).await.unwrap();
    let message = map.map_or_else(String::new, |map| {
        map.data["data"]["message"].as_str().unwrap().to_owned()
    });
    assert_eq!(message, course.message, "{what}");
    if course.jobs_first {
        check_order(&audit, what);
    }
    let left = site.jobs_of(name).await.into_iter();
    let held = left.filter(|job| {
        job.metadata
            .finalizers
            .as_ref()
            .is_some_and(|held| !held.is_empty())
    });
    assert_eq!(held.count(), 0, "{what}: a Job is held");
}

/// No object of the release is changed, and none goes, before the last Job has been made.
fn check_order(audit: &AuditLog, what: &str) {
    let requests = audit.writes().requests;
    let is_made = |request: &Request| request.resource == "jobs" && request.code == Some(201);
    let is_changed =
        |request: &Request| request.resource == "configmaps" && request.code.is_some_and(|code| code < 300);
    let last_made = requests.iter().rposition(is_made);
    let first_changed = requests.iter().position(is_changed);
    assert!(
        last_made.is_some() && last_made < first_changed,
        "{what}: {last_made:?}, {first_changed:?}: {audit}"
    );
}

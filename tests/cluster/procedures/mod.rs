//! What is done with a release besides releasing it, one run after the other.

mod by_helm;
mod etcd;
mod failed_revisions;
mod faults;
mod forged;
mod gates;
mod gates_after_failures;
mod gates_of_lookups;
mod gates_of_sources;
mod refused;
mod schedules;
mod steps;
mod unmarked;
mod values;
mod words;

use std::process::Command;

use kube::api::{Api, DynamicObject, Patch, PatchParams};
use kube::runtime::watcher;
use serde_json::{Value, json};
use steersman_testkit::cluster::OperatorProcess;

use crate::bench::{Bench, condition};

/// A Job that says of which try it is.
const JOB: &str = r#"apiVersion: batch/v1
kind: Job
spec:
  backoffLimit: 0
  template:
    spec:
      restartPolicy: Never
      containers:
      - name: main
        image: none
        args:
        - {{ .Procedure.name }}
        - {{ .Procedure.step }}
        - "{{ .Procedure.attempt }}"
        - {{ .Procedure.parameters.snapshot | default "none" | quote }}
        - {{ .Release.Name }}-{{ .Values.message | default "hello" }}
"#;

/// A bench whose chart has one map, and whose entry has these procedures. The kinds of their runs are defined.
async fn with_procedures(test: &str, kinds: &[&str], procedures: &str) -> Option<Bench> {
    let bench = Bench::with_kind(test).await?;
    put_procedures(&bench, kinds, procedures).await;
    Some(bench)
}

/// The same on a bench that is there.
pub(crate) async fn put_procedures(bench: &Bench, kinds: &[&str], procedures: &str) {
    bench.remove_templates();
    bench.add_template(
        "map.yaml",
        "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: '{{ .Release.Name }}-map'}\ndata: {message: '{{ .Values.message }}'}\n",
    );
    let folder = bench.folder.path().join("web/procedures");
    std::fs::create_dir(&folder).unwrap();
    std::fs::write(folder.join("job.yaml"), JOB).unwrap();
    let group = &bench.group;
    bench.watches(&format!(
        "- group: {group}\n  version: v1\n  kind: Web\n  chart: web\n  procedures:\n{procedures}"
    ));
    define_runs(bench, kinds).await;
}

/// Defines kinds of runs as `steersman crd` prints them.
pub(crate) async fn define_runs(bench: &Bench, kinds: &[&str]) {
    for kind in kinds {
        let printed = Command::new(env!("CARGO_BIN_EXE_steersman"))
            .args(["crd", "--kind", kind, "--output", "json"])
            .current_dir(bench.folder.path())
            .output()
            .unwrap();
        let words = String::from_utf8_lossy(&printed.stderr);
        let definition = serde_json::from_slice::<Value>(&printed.stdout);
        let definition = definition.unwrap_or_else(|error| panic!("{error}: {words}"));
        // The kind of an entry comes with those of its runs.
        let all = match definition["items"].as_array() {
            Some(items) => items.clone(),
            None => vec![definition],
        };
        for definition in &all {
            bench.define_from(definition).await;
        }
    }
}

/// Backups, each one Job.
const BACKUP: &str = "  - {name: backup, job: procedures/job.yaml}\n";

/// Two steps, and one that follows in any case.
const RESTORE: &str = "  - name: restore
    confirm: true
    retries: 1
    parameters: {snapshot: {required: true}}
    steps:
    - {name: copy, job: procedures/job.yaml}
    - {name: load, job: procedures/job.yaml}
    finally:
    - {name: clean, job: procedures/job.yaml}
";

pub(crate) fn runs(bench: &Bench, kind: &str) -> Api<DynamicObject> {
    bench.kind_api(kind, &format!("{}s", kind.to_lowercase()))
}

fn jobs(bench: &Bench) -> Api<DynamicObject> {
    bench.api("batch", "v1", "Job", "jobs")
}

/// An operator that has released `shop`.
async fn released(bench: &Bench) -> OperatorProcess {
    let operator = bench.ready_operator().await;
    bench.apply_web("shop", json!({"message": "one"})).await;
    bench.wait_revision("shop", 1).await;
    operator
}

/// Makes a run for `shop`.
pub(crate) async fn begin(bench: &Bench, kind: &str, name: &str, parameters: Value) {
    let mut spec = parameters;
    spec["resource"] = "shop".into();
    let plural = format!("{}s", kind.to_lowercase());
    bench.apply_cr(kind, &plural, name, spec).await;
}

async fn annotate(api: &Api<DynamicObject>, name: &str, annotation: &str, value: &str) {
    let patch = json!({"metadata": {"annotations": {(annotation): value}}});
    api.patch(name, &PatchParams::default(), &Patch::Merge(patch))
        .await
        .unwrap();
}

/// Waits until the run says that this step is under way in a Job, and gives the name of that.
pub(crate) async fn wait_job(bench: &Bench, kind: &str, run: &str, step: &str, attempt: u64) -> String {
    bench
        .wait(&format!("step {step}"), &runs(bench, kind), run, |run| {
            let steps = run.pointer("/status/steps")?.as_array()?;
            let found = steps.iter().find(|found| found["name"] == step)?;
            let is_it = found["state"] == "Running" && found["attempt"] == attempt;
            found["job"].as_str().filter(|_| is_it).map(str::to_owned)
        })
        .await
}

/// The run that the resource says it waits for, whether that is under way or has failed by now.
pub(crate) async fn awaited(bench: &Bench, but: &str) -> String {
    bench
        .wait("a run", &bench.webs(), "shop", |web| {
            ["Reconciling", "Stalled"].into_iter().find_map(|kind| {
                let (_, _, message) = condition(web, kind)?;
                let name = message.strip_prefix("waits for Web")?.split([' ', ':']).nth(1)?;
                (name != but).then(|| name.to_owned())
            })
        })
        .await
}

/// Waits until the run is in this phase, and gives it.
pub(crate) async fn wait_phase(bench: &Bench, kind: &str, run: &str, phase: &str) -> Value {
    bench
        .wait(phase, &runs(bench, kind), run, |run| {
            (run.pointer("/status/phase")? == phase).then(|| run.clone())
        })
        .await
}

/// Waits for the pod of a Job, and gives its name.
pub(crate) async fn pod_of(bench: &Bench, job: &str) -> String {
    pod_with(bench, &format!("batch.kubernetes.io/job-name={job}")).await
}

/// Waits for a pod with this label, and gives its name.
pub(crate) async fn pod_with(bench: &Bench, label: &str) -> String {
    let pods = bench.api("", "v1", "Pod", "pods");
    let selected = watcher::Config::default().labels(label);
    let name = |pod: &Value| pod["metadata"]["name"].as_str().map(str::to_owned);
    bench
        .wait_some(&format!("a pod with {label}"), &pods, selected, name)
        .await
}

/// Ends the pod of a Job as the kubelet does, with these words.
pub(crate) async fn end_pod(bench: &Bench, job: &str, phase: &str, words: &str) {
    let pod = pod_of(bench, job).await;
    end(bench, &pod, phase, words).await;
}

async fn end(bench: &Bench, pod: &str, phase: &str, words: &str) {
    let pods = bench.api("", "v1", "Pod", "pods");
    let code = i32::from(phase != "Succeeded");
    let state = json!({"terminated": {"exitCode": code, "message": words, "reason": "Ended",
        "startedAt": "2026-01-01T00:00:00Z", "finishedAt": "2026-01-01T00:00:01Z"}});
    let status = json!({"status": {"phase": phase, "containerStatuses": [{
        "name": "main", "image": "none", "imageID": "none", "ready": false, "restartCount": 0, "state": state}]}});
    pods.patch_status(pod, &PatchParams::default(), &Patch::Merge(status))
        .await
        .unwrap();
}

/// The arguments of the container of a Job.
async fn arguments(bench: &Bench, job: &str) -> Vec<String> {
    let job = jobs(bench).get(job).await.unwrap();
    let arguments = job.data.pointer("/spec/template/spec/containers/0/args").unwrap();
    serde_json::from_value(arguments.clone()).unwrap()
}

//! What is said of a resource at each moment, to whom: the rows of a table in `docs/reference/status.md`.
//!
//! A moment is held still, by a hook that does not end, a finalizer, or a request that does not arrive. Then kubectl is
//! asked, and kstatus, and the conditions are read; all three are what the table says, and they agree with each other.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;
use std::time::{Duration, Instant};

use kube::api::{DeleteParams, DynamicObject};
use regex::Regex;
use serde_json::{Value, json};
use steersman_testkit::cluster::Fault;
use steersman_testkit::kstatus_judge::KstatusJudge;

use crate::bench::{Bench, PATIENCE, condition, wait_until};
use crate::faults::lane::Lane;
use crate::hooks::{finish_job, finish_job_of};
use crate::procedures::{awaited, begin, end_pod, put_procedures, wait_job};
use crate::watched::Watched;

const PAGE: &str = "docs/reference/status.md";
/// The conditions that tell people and programs where a resource is.
const TOLD: [&str; 3] = ["Ready", "Reconciling", "Stalled"];

/// A Job that ends when the test says so: a hook of the events in the values.
const GATE: &str = r"
{{- with .Values.gate }}
apiVersion: batch/v1
kind: Job
metadata:
  name: {{ $.Release.Name }}-job
  annotations:
    helm.sh/hook: {{ . | quote }}
spec:
  backoffLimit: 0
  template:
    spec: {restartPolicy: Never, containers: [{name: gate, image: registry.example.com/gate:1}]}
{{- end }}
";

/// The same as an object of the release.
const WORK: &str = r"
{{- if .Values.work }}
apiVersion: batch/v1
kind: Job
metadata:
  name: {{ .Release.Name }}-work-job
spec:
  backoffLimit: 0
  template:
    spec: {restartPolicy: Never, containers: [{name: work, image: registry.example.com/work:1}]}
{{- end }}
";

/// The rows of the table: moment, conditions, what `kubectl wait` finds, and what kstatus says.
fn rows() -> BTreeMap<String, [String; 3]> {
    let page = Path::new(env!("CARGO_MANIFEST_DIR")).join(PAGE);
    let text = fs::read_to_string(page).unwrap();
    let table = text.lines().skip_while(|line| !line.starts_with("| moment |"));
    let rows = table
        .skip(2)
        .take_while(|line| line.starts_with('|'))
        .map(|line| {
            let cells: Vec<String> = line
                .trim_matches('|')
                .split('|')
                .map(|cell| cell.trim().to_owned())
                .collect();
            let [moment, told @ ..] = cells.as_slice() else {
                panic!("an empty row in {PAGE}");
            };
            (moment.clone(), told.to_vec().try_into().unwrap())
        });
    rows.collect()
}

/// An operator whose moments are looked at.
struct Moments {
    lane: Lane,
    judge: KstatusJudge,
    rows: BTreeMap<String, [String; 3]>,
}

/// What is said of a resource.
struct Said {
    /// The cells of the row.
    cells: [String; 3],
    met: Vec<&'static str>,
    kstatus: String,
}

impl Moments {
    /// The kind has the definition that `steersman crd` prints for the chart. No operator runs yet.
    async fn new(test: &str) -> Option<Self> {
        let judge = KstatusJudge::find_or_skip()?;
        let lane = Lane::new(test).await?;
        let bench = &lane.bench;
        bench.add_template("gate.yaml", GATE);
        bench.add_template("work.yaml", WORK);
        let app = "app: {{ .Values.app | default .Release.Name }}";
        bench.edit("workload.yaml", "app: {{ .Release.Name }}", app);
        let values = bench.folder.path().join("web/values.yaml");
        let with_more = fs::read_to_string(&values).unwrap() + "gate: \"\"\nwork: false\napp: \"\"\n";
        fs::write(values, with_more).unwrap();
        let definition = std::process::Command::new(env!("CARGO_BIN_EXE_steersman"))
            .arg("crd")
            .current_dir(bench.folder.path())
            .output()
            .unwrap();
        assert!(definition.status.success(), "{definition:?}");
        let definition = String::from_utf8(definition.stdout).unwrap();
        bench.cluster.apply(&definition).await.unwrap();
        Some(Self {
            lane,
            judge,
            rows: rows(),
        })
    }

    fn bench(&self) -> &Bench {
        &self.lane.bench
    }

    /// Waits until what is said of the resource is what the table says of this moment.
    async fn at(&self, moment: &str) {
        self.at_of("shop", moment).await;
    }

    /// The same of another resource than `shop`.
    async fn at_of(&self, name: &str, moment: &str) {
        let expected = self.rows.get(moment);
        let expected = expected.unwrap_or_else(|| panic!("{PAGE} has no row for `{moment}`"));
        let webs = self.bench().webs();
        let mut watched = Watched::new(&webs, name);
        let begun = Instant::now();
        loop {
            watched.look(Duration::from_millis(500)).await;
            let said = self.said(name, expected).await;
            if said.cells == *expected {
                let is = |status: &str| said.kstatus == status;
                let met = |kind: &str| said.met.contains(&kind);
                assert_eq!(met("Stalled"), is("Failed"), "{moment}");
                let is_settled = met("Ready") && !met("Reconciling");
                assert_eq!(is_settled, is("Current"), "{moment}");
                return;
            }
            let row = said.cells.join(" | ");
            assert!(begun.elapsed() < PATIENCE, "what is said: | {moment} | {row} |");
        }
    }

    /// What is said of the resource as it is now. kubectl is asked when the others say what is expected.
    async fn said(&self, name: &str, expected: &[String; 3]) -> Said {
        let bench = self.bench();
        loop {
            let web = bench.webs().get(name).await.unwrap();
            let version = web.metadata.resource_version.clone();
            let web = serde_json::to_value(web).unwrap();
            let conditions = list(TOLD.into_iter().filter_map(|kind| {
                let (status, reason, _) = condition(&web, kind)?;
                Some(format!("`{kind}={status} {reason}`"))
            }));
            let kstatus = self.judge.judge(&web).status;
            let mut met = Vec::new();
            if [&conditions, &format!("`{kstatus}`")] != [&expected[0], &expected[2]] {
                let cells = [conditions, "not asked".to_owned(), format!("`{kstatus}`")];
                return Said { cells, met, kstatus };
            }
            for kind in TOLD {
                let wait = format!("--for=condition={kind}");
                let resource = format!("webs.{}/{name}", bench.group);
                let arguments = ["wait", "-n", &bench.namespace, &wait, "--timeout=0s", &resource];
                if bench.cluster.kubectl(&arguments).await.is_ok() {
                    met.push(kind);
                }
            }
            let now = bench.webs().get(name).await.unwrap();
            if now.metadata.resource_version != version {
                continue;
            }
            let found = met.iter().map(|kind| format!("`{kind}`"));
            let cells = [conditions, list(found), format!("`{kstatus}`")];
            return Said { cells, met, kstatus };
        }
    }

    /// Waits until a hook for this event has started and not ended; gives the UID of its Job. One with the UID `former` is
    /// another one.
    async fn gate(&self, event: &str, former: Option<&str>) -> String {
        let bench = self.bench();
        let jobs = bench.api("batch", "v1", "Job", "jobs");
        bench
            .wait(event, &jobs, "shop-job", |job| {
                let run = job.pointer("/metadata/annotations/steersman.dev~1hook-run")?;
                let uid = job.pointer("/metadata/uid")?.as_str()?;
                let is_open = job.pointer("/status/conditions").is_none();
                let is_it = run.as_str()?.split(['/', '~', ' ']).nth(1) == Some(event);
                (is_open && is_it && former != Some(uid)).then(|| uid.to_owned())
            })
            .await
    }

    /// Lets the hook succeed that has started.
    async fn open(&self) {
        finish_job(self.bench(), "Complete").await;
    }

    /// Waits until the message of a condition of the resource has this part.
    async fn told(&self, name: &str, kind: &str, part: &str) {
        let webs = self.bench().webs();
        let has = |web: &Value| condition(web, kind).filter(|(_, _, message)| message.contains(part));
        self.bench().wait(part, &webs, name, has).await;
    }

    async fn apply(&self, spec: Value) {
        self.bench().apply_web("shop", spec).await;
    }

    async fn annotate(&self, annotation: &str, value: Value) {
        let patch = json!({"metadata": {"annotations": {annotation: value}}});
        self.bench().patch_web("shop", patch).await;
    }

    /// Creates a resource that is not to be released.
    async fn create_held(&self, name: &str, annotation: &str) {
        let object = json!({"apiVersion": format!("{}/v1", self.bench().group), "kind": "Web",
            "metadata": {"name": name, "annotations": {annotation: "true"}}, "spec": {}});
        let object: DynamicObject = serde_json::from_value(object).unwrap();
        let created = self.bench().webs().create(&Default::default(), &object).await;
        created.unwrap();
    }

    /// Deletes an object, which the operator makes again.
    async fn drift(&self) {
        let maps = self.bench().config_maps();
        maps.delete("shop-config", &DeleteParams::default())
            .await
            .unwrap();
    }
}

fn list(cells: impl Iterator<Item = String>) -> String {
    let cells: Vec<String> = cells.collect();
    if cells.is_empty() {
        return "–".to_owned();
    }
    cells.join(", ")
}

/// A request that writes the object which [`Moments::drift`] has deleted.
fn correction() -> Fault {
    Fault::on("patch", "configmaps").name("shop-config")
}

#[tokio::test]
async fn a_release_is_told_of_from_its_first_moment_to_its_last() {
    let Some(moments) = Moments::new("a_release_is_told_of").await else {
        return;
    };
    moments.apply(json!({"gate": "pre-install", "replicas": 1})).await;
    moments.at("created, and not seen yet").await;
    moments.lane.start().await;
    let gate = moments.gate("pre-install", None).await;
    moments.at("a hook of the installation runs").await;
    moments.open().await;
    moments.at("deployed, and a workload is not ready").await;

    moments.apply(json!({"gate": "pre-upgrade", "replicas": 0})).await;
    let gate = moments.gate("pre-upgrade", Some(&gate)).await;
    moments.at("a hook of an upgrade to another spec runs").await;
    moments.open().await;
    moments.at("deployed and ready").await;

    let unseen = Fault::on("watch", "webs").name("shop").hold_event("MODIFIED");
    let unseen = moments.lane.proxy.inject(unseen);
    moments
        .apply(json!({"gate": "pre-upgrade", "replicas": 0, "message": "bye"}))
        .await;
    moments.at("another spec, and not seen yet").await;
    moments.lane.proxy.take_back(unseen);
    let gate = moments.gate("pre-upgrade", Some(&gate)).await;
    moments.open().await;
    moments.at("deployed and ready").await;

    let note = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: note}\n";
    moments.bench().add_template("note.yaml", note);
    moments.gate("pre-upgrade", Some(&gate)).await;
    moments.at("a hook of an upgrade to another chart runs").await;
    moments.open().await;
    moments.at("deployed and ready").await;

    let held = moments.lane.proxy.inject(correction().hold());
    moments.drift().await;
    wait_until("the correction", || moments.lane.proxy.struck(held) == 1).await;
    moments.at("drift is being corrected").await;
    moments.lane.proxy.take_back(held);
    let maps = moments.bench().config_maps();
    let is_there = |map: &Value| map.get("data").map(|_| ());
    moments
        .bench()
        .wait("the object", &maps, "shop-config", is_there)
        .await;
    moments.at("deployed and ready").await;

    moments.apply(json!({"gate": "test", "replicas": 0})).await;
    moments.at("deployed and ready").await;
    moments.annotate("steersman.dev/test", "1".into()).await;
    moments.gate("test", Some(&gate)).await;
    moments.at("a test of the deployed revision runs").await;
    moments.open().await;
    moments.told("shop", "TestSuccess", "succeeded").await;
    moments.at("deployed and ready").await;

    pauses_are_told_of(&moments).await;
    the_end_is_told_of(&moments).await;
    moments.lane.stop().await;
}

/// Leaves the resource deployed, with a hook before its deletion.
async fn pauses_are_told_of(moments: &Moments) {
    moments.annotate("steersman.dev/pause", "true".into()).await;
    moments.told("shop", "Paused", "pause").await;
    moments.at("paused").await;
    moments.apply(json!({"gate": "pre-delete", "replicas": 0})).await;
    moments.at("paused, with another spec").await;
    moments.annotate("steersman.dev/pause", Value::Null).await;
    moments.at("deployed and ready").await;

    moments.create_held("paused", "steersman.dev/pause").await;
    moments.at_of("paused", "paused before the installation").await;
    moments.create_held("tried", "steersman.dev/dry-run").await;
    moments.at_of("tried", "a dry run before the installation").await;
    for name in ["paused", "tried"] {
        moments.bench().delete_web(name).await;
        moments.bench().wait_gone(&moments.bench().webs(), name).await;
    }
}

async fn the_end_is_told_of(moments: &Moments) {
    let maps = moments.bench().config_maps();
    let hold = |finalizers: Value| json!({"metadata": {"finalizers": finalizers}});
    let merge = |patch: Value| kube::api::Patch::Merge(patch);
    let slow = merge(hold(json!(["example.com/slow"])));
    maps.patch("shop-config", &Default::default(), &slow)
        .await
        .unwrap();
    moments.bench().delete_web("shop").await;
    moments.gate("pre-delete", None).await;
    moments.at("a hook of the deletion runs").await;
    moments.open().await;
    moments.told("shop", "Reconciling", "example.com/slow").await;
    moments.at("an object waits for its finalizer").await;
    let free = merge(hold(Value::Null));
    maps.patch("shop-config", &Default::default(), &free)
        .await
        .unwrap();
    moments.bench().wait_gone(&moments.bench().webs(), "shop").await;
}

#[tokio::test]
async fn failures_are_told_of_at_once_and_a_release_outlasts_some() {
    let Some(moments) = Moments::new("failures_are_told_of").await else {
        return;
    };
    let proxy = &moments.lane.proxy;
    moments.lane.start().await;
    moments.apply(json!({"replicas": 0})).await;
    moments.at("deployed and ready").await;
    for (failures, moment) in [(1, "a try has failed"), (5, "five tries in a row have failed")] {
        let failing = proxy.inject(correction().times(failures).refuse(500));
        let next = proxy.inject(correction().nth(failures + 1).hold());
        moments.drift().await;
        wait_until("the next try", || proxy.struck(next) == 1).await;
        assert_eq!(proxy.struck(failing), failures);
        moments.at(moment).await;
        proxy.take_back(next);
        proxy.take_back(failing);
        moments.at("deployed and ready").await;
    }

    moments.apply(json!({"replicas": 0, "broken": true})).await;
    moments.at("the chart can't be rendered").await;
    moments.apply(json!({"replicas": 0, "app": "other"})).await;
    moments.at("a field can't be changed").await;
    // The next tries say nothing new.
    let tries = || requests(&moments.lane, "deployments", "shop");
    let (said, before) = (requests(&moments.lane, "webs/status", "shop"), tries().len());
    wait_until("two more tries", || tries().len() > before + 1).await;
    assert_eq!(requests(&moments.lane, "webs/status", "shop"), said);
    moments.at("a field can't be changed").await;
    moments.apply(json!({"replicas": 0})).await;
    moments.at("deployed and ready").await;

    moments.apply(json!({"replicas": 0, "gate": "pre-upgrade"})).await;
    let gate = moments.gate("pre-upgrade", None).await;
    finish_job(moments.bench(), "Failed").await;
    let gate = moments.gate("pre-upgrade", Some(&gate)).await;
    moments
        .at("a hook of an upgrade has failed, and runs again")
        .await;
    moments.open().await;
    moments.at("deployed and ready").await;

    let rollback = "steersman.dev/rollback-on-failure";
    moments.annotate(rollback, "true".into()).await;
    moments
        .apply(json!({"replicas": 0, "gate": "pre-rollback"}))
        .await;
    moments.at("deployed and ready").await;
    moments
        .apply(json!({"replicas": 0, "gate": "pre-rollback", "app": "other"}))
        .await;
    moments.gate("pre-rollback", Some(&gate)).await;
    moments
        .told("shop", "Reconciling", "is going back to revision")
        .await;
    moments.at("a hook of a rollback runs").await;
    moments.open().await;
    moments.at("rolled back").await;

    moments.apply(json!({"replicas": 0, "work": true})).await;
    moments.at("deployed and ready").await;
    finish_job_of(moments.bench(), "shop-work", "Failed").await;
    moments.at("a workload has given up").await;
    moments.lane.stop().await;
}

#[tokio::test]
async fn what_a_revision_waits_for_is_told() {
    let Some(moments) = Moments::new("what_a_revision_waits_for").await else {
        return;
    };
    let bench = moments.bench();
    let entry = |more: &str| {
        let group = &bench.group;
        bench.watches(&format!(
            "- group: {group}\n  version: v1\n  kind: Web\n  chart: web\n{more}"
        ));
    };
    entry(
        "  stages:\n  - {name: run, objects: [{kind: Deployment}]}\n  - {name: serve, objects: [{kind: Service}], \
         approve: true}\n",
    );
    moments.lane.start().await;
    moments.apply(json!({"replicas": 1})).await;
    moments.at("a stage is not ready").await;
    let late = json!({"apiVersion": format!("{}/v1", bench.group), "kind": "Web", "spec": {"replicas": 1},
        "metadata": {"name": "late", "annotations": {"steersman.dev/wait": "1s"}}});
    bench.create(&bench.webs(), late).await;
    moments.at_of("late", "a stage was not ready in time").await;
    moments.annotate("steersman.dev/skip-stage", "1/run".into()).await;
    moments.at("a stage waits for somebody's word").await;
    moments
        .annotate("steersman.dev/approve-stage", "1/serve".into())
        .await;
    moments
        .annotate("steersman.dev/skip-stage", "1/serve".into())
        .await;
    bench.wait_revision("shop", 1).await;
}

#[tokio::test]
async fn what_others_have_begun_or_made_is_told_of_when_it_is_taken_up() {
    let Some(moments) = Moments::new("what_others_have_begun").await else {
        return;
    };
    moments.lane.start().await;
    moments.apply(json!({"replicas": 0})).await;
    moments.at("deployed and ready").await;
    moments.apply(json!({"replicas": 0, "gate": "pre-upgrade"})).await;
    moments.gate("pre-upgrade", None).await;
    moments.lane.kill().await;
    moments.lane.start().await;
    moments
        .told(
            "shop",
            "Reconciling",
            "revision 2 of release shop is being applied",
        )
        .await;
    moments
        .at("an upgrade that another process has begun goes on")
        .await;
    moments.open().await;
    moments.at("deployed and ready").await;

    let bench = moments.bench();
    let chart = bench.folder.path().join("web");
    let helm = [
        "install",
        "taken",
        chart.to_str().unwrap(),
        "-n",
        &bench.namespace,
    ];
    let values = ["--set", "replicas=0,password=canary"];
    bench.cluster.helm(&[&helm[..], &values].concat()).await.unwrap();
    let proxy = &moments.lane.proxy;
    let first_write = Fault::on("patch", "configmaps").name("taken-config");
    let first_write = proxy.inject(first_write.hold());
    bench
        .apply_web("taken", json!({"replicas": 0, "password": "canary"}))
        .await;
    wait_until("the first object", || proxy.struck(first_write) == 1).await;
    moments
        .told("taken", "Reconciling", "is being taken over as it is")
        .await;
    moments
        .at_of("taken", "a release of Helm is being taken over")
        .await;
    proxy.take_back(first_write);
    moments.at_of("taken", "deployed and ready").await;
    moments.lane.stop().await;
}

#[tokio::test]
async fn what_depends_on_what_is_told_of() {
    let Some(moments) = Moments::new("what_depends_on_what").await else {
        return;
    };
    let bench = moments.bench();
    moments.lane.start().await;
    moments.apply(json!({"replicas": 0})).await;
    bench
        .apply_web("other", json!({"replicas": 0, "app": "shop"}))
        .await;
    moments.at("deployed and ready").await;
    moments.at_of("other", "deployed and ready").await;
    moments.lane.stop().await;
    let group = &bench.group;
    bench.watches(&format!(
        "- group: {group}\n  version: v1\n  kind: Web\n  chart: web\n  dependsOn:\n  - {{apiVersion: {group}/v1, kind: Web, \
         name: '{{{{ .Values.app | default .metadata.name }}}}'}}\n"
    ));
    moments.lane.start().await;
    bench.delete_web("shop").await;
    moments.at("what depends on it has to go first").await;
    bench.delete_web("other").await;
    for name in ["other", "shop"] {
        bench.wait_gone(&bench.webs(), name).await;
    }
    moments.apply(json!({"replicas": 0})).await;
    moments.at("what it depends on is not ready").await;
    moments.lane.stop().await;
}

#[tokio::test]
async fn what_comes_before_an_upgrade_is_told_of() {
    let Some(moments) = Moments::new("what_comes_before_an_upgrade").await else {
        return;
    };
    let bench = moments.bench();
    let backup = "  - {name: backup, job: procedures/job.yaml, before: {upgrade: true}}\n";
    let other = "  - name: move\n    steps: [{name: copy, job: procedures/job.yaml}]\n    finally: [{name: unlock, job: \
                 procedures/job.yaml}]\n";
    put_procedures(bench, &["WebBackup", "WebMove"], &format!("{backup}{other}")).await;
    moments.lane.start().await;
    moments.apply(json!({"replicas": 0})).await;
    moments.at("deployed and ready").await;
    moments.apply(json!({"replicas": 0, "message": "bye"})).await;
    moments.at("a run of a procedure comes before").await;
    let run = awaited(bench, "").await;
    let job = wait_job(bench, "WebBackup", &run, "job", 1).await;
    end_pod(bench, &job, "Failed", "disk full").await;
    moments.at("that run has not succeeded").await;

    begin(bench, "WebMove", "away", json!({})).await;
    wait_job(bench, "WebMove", "away", "copy", 1).await;
    bench.delete_web("shop").await;
    let unlock = wait_job(bench, "WebMove", "away", "unlock", 1).await;
    moments.at("runs of its procedures have to end first").await;
    end_pod(bench, &unlock, "Succeeded", "").await;
    bench.wait_gone(&bench.webs(), "shop").await;
    moments.lane.stop().await;
}

#[tokio::test]
async fn nothing_is_written_before_it_is_said_unless_the_server_refuses_to_hear_it() {
    let Some(lane) = Lane::ready("nothing_is_written_before_it_is_said").await else {
        return;
    };
    let unheard = |name: &str| Fault::on("patch", "webs/status").name(name);
    lane.proxy.inject(unheard("shop").times(2).refuse(500));
    lane.bench.apply_web("shop", json!({})).await;
    lane.bench.wait_revision("shop", 1).await;
    let said = requests(&lane, "webs/status", "shop");
    let written = requests(&lane, "configmaps", "shop-config");
    let stored = requests(&lane, "secrets", "sh.helm.release.v1.shop.v1");
    // The first is not heard, nor is the report that it was not; the third one is.
    assert!(
        said[2] < written[0] && said[2] < stored[0],
        "{said:?} {written:?} {stored:?}"
    );

    let refused = lane.proxy.inject(unheard("mute").always().refuse(403));
    lane.bench.apply_web("mute", json!({})).await;
    let is_there = |map: &Value| map.get("data").map(|_| ());
    let maps = lane.bench.config_maps();
    lane.bench
        .wait("the object", &maps, "mute-config", is_there)
        .await;
    assert!(lane.proxy.struck(refused) > 0);
    lane.proxy.take_back(refused);
    lane.bench.wait_revision("mute", 1).await;
    lane.stop().await;
}

/// The places of the requests among all that ask for a change of this object.
fn requests(lane: &Lane, resource: &str, name: &str) -> Vec<usize> {
    let trace = lane.proxy.trace();
    let found = trace
        .iter()
        .enumerate()
        .filter(|(_, call)| call.is_write() && call.resource == resource && call.name == name);
    found.map(|(place, _)| place).collect()
}

#[test]
fn every_row_of_the_table_is_a_moment_of_a_test() {
    let source = include_str!("moments.rs").split("#[test]").next().unwrap();
    let texts = Regex::new(r#""([a-z][^"\\]*)""#).unwrap();
    let texts: BTreeSet<&str> = texts
        .captures_iter(source)
        .map(|text| text.get(1).unwrap().as_str())
        .collect();
    let missing: Vec<String> = rows()
        .into_keys()
        .filter(|moment| !texts.contains(moment.as_str()))
        .collect();
    assert!(missing.is_empty(), "no test looks at {missing:?}");
}

//! Releases that wait for their hooks: they take nothing that others need.

use std::path::Path;
use std::time::{Duration, Instant};

use kube::api::ListParams;
use serde_json::{Value, json};
use steersman_testkit::cluster::{MemoryGroup, number_of_releases, seconds_of_waiting};

use crate::bench::{Bench, MEMORY_LIMIT, PATIENCE, condition};
use crate::gates::give_address;
use crate::hooks::finish_job_of;
use crate::watched::Watched;

/// Seconds for which those who wait are watched.
const WINDOW: usize = 8;

/// A text in an object, of which there is as much as the values say.
const FILLER: &str = "{{- with .Values.filler }}\napiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: {{ $.Release.Name \
                      }}-filler\ndata:\n  text: {{ . | quote }}\n{{- end }}\n";

/// How long a process was at work.
fn time_of(id: u32) -> Duration {
    let stat = std::fs::read_to_string(format!("/proc/{id}/stat")).unwrap();
    // The name before may have spaces; the two times are the 14th and 15th fields.
    let (_, fields) = stat.rsplit_once(')').unwrap();
    let ticks = fields.split_ascii_whitespace().skip(11).take(2);
    let ticks: u64 = ticks.map(|field| field.parse::<u64>().unwrap()).sum();
    Duration::from_millis(ticks * 10)
}

/// An object that is not ready before somebody gives it an address, where the values ask for it.
const GATE: &str = "{{- if .Values.gate }}
apiVersion: networking.k8s.io/v1
kind: Ingress
metadata: {name: '{{ .Release.Name }}'}
spec: {defaultBackend: {service: {name: web, port: {number: 80}}}}
{{- end }}
";

/// Who waits for what: a third each for a hook, at the gate of a stage, and for a dependency.
const WAITING: [(&str, &str); 3] = [
    ("hooks", "pre-install hook"),
    ("gate", "stage gate of revision 1"),
    ("needs", "waits for ConfigMap"),
];

/// Makes as many resources that wait, and returns when each says so.
async fn make_waiting(bench: &Bench, count: usize) -> Vec<String> {
    let waiting = (0..count).map(|number| (format!("wait-{number}"), WAITING[number % WAITING.len()]));
    let waiting: Vec<_> = waiting.collect();
    for (name, (what, _)) in &waiting {
        let spec = match *what {
            "needs" => json!({"replicas": 0, "needs": format!("{name}-missing")}),
            what => json!({"replicas": 0, (what): true}),
        };
        bench.apply_web(name, spec).await;
    }
    let webs = bench.webs();
    let patience = PATIENCE + Duration::from_secs(1) * u32::try_from(count).unwrap();
    for (name, (what, words)) in &waiting {
        let told = |web: &Value| {
            let (status, _, message) = condition(web, "Reconciling")?;
            (status == "True" && message.contains(words)).then_some(())
        };
        bench.wait_within(patience, what, &webs, name, told).await;
    }
    waiting.into_iter().map(|(name, _)| name).collect()
}

#[tokio::test]
#[expect(clippy::print_stdout, reason = "what many of them take is to be seen")]
async fn releases_that_wait_keep_no_worker_and_send_no_request() {
    let Some(bench) = Bench::with_kind("waiting").await else {
        return;
    };
    bench.add_template("gate.yaml", GATE);
    bench.watches(&format!(
        "- {{group: {}, version: v1, kind: Web, chart: web, wait: {{timeout: 1h}}, stages: [{{name: gate, objects: [{{kind: \
         Ingress}}]}}], dependsOn: [{{apiVersion: v1, kind: ConfigMap, name: '{{{{ .Values.needs | default \"kube-root-ca.crt\" \
         }}}}'}}]}}\n",
        bench.group
    ));
    let flags = [
        "--max-concurrent-reconciles=2",
        "--max-concurrent-reconciles-in-all=2",
        "--hook-timeout=1h",
    ];
    // What other tests do elsewhere costs it nothing.
    let here = [("WATCH_NAMESPACE", bench.namespace.as_str())];
    let operator = bench.start(bench.folder.path(), &flags, &here);
    operator.wait_until_ready(PATIENCE).await.unwrap();
    let names = make_waiting(&bench, number_of_releases(21)).await;

    let mark = bench.cluster.audit_mark().await.unwrap();
    let id = operator.id().await.unwrap();
    let (used, window) = (time_of(id), seconds_of_waiting(WINDOW));
    tokio::time::sleep(window).await;
    let spent = time_of(id).saturating_sub(used);
    let audit = bench.cluster.audit_since(mark).await.unwrap();
    let audit = audit.by_user(bench.user.name());
    let others = audit.filter(|request| request.verb != "watch" && request.resource != "leases");
    assert!(others.is_empty(), "{others}");
    println!(
        "{} releases waited for {window:?}: {spent:?} of the processor",
        names.len()
    );
    // Half a percent of a core, and what its clock can't tell.
    let most = window / 200 + Duration::from_millis(60);
    assert!(spent <= most, "{spent:?} of the processor");

    bench.apply_web("other", json!({"replicas": 0})).await;
    bench.wait_revision("other", 1).await;
    finish_job_of(&bench, &names[0], "Complete").await;
    give_address(&bench, &names[1]).await;
    let needed = json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": format!("{}-missing", names[2])}});
    bench.create(&bench.config_maps(), needed).await;
    for name in &names[..WAITING.len()] {
        bench.wait_revision(name, 1).await;
    }
    operator.stop().await.unwrap();
}

/// Two hooks of an event that make the same object, one before and one after a Job, which is named after a secret.
const STAGES: &str = "{{- range $weight, $stage := dict \"-5\" \"first\" \"5\" \"second\" }}
apiVersion: v1
kind: ConfigMap
metadata:
  name: {{ $.Release.Name }}-stage
  annotations: {helm.sh/hook: pre-install, helm.sh/hook-weight: {{ $weight | quote }}}
data: {stage: {{ $stage }}}
---
{{- end }}
apiVersion: batch/v1
kind: Job
metadata:
  name: {{ .Release.Name }}-{{ .Values.password }}-job
  annotations: {helm.sh/hook: pre-install}
spec:
  template:
    spec:
      restartPolicy: Never
      containers: [{name: job, image: registry.example.com/job:1}]
";

#[tokio::test]
async fn hooks_around_a_wait_run_in_their_order_and_no_secret_is_told() {
    let Some(bench) = Bench::with_kind("hooks_around_a_wait").await else {
        return;
    };
    bench.add_template("stages.yaml", STAGES);
    let operator = bench.ready_operator().await;
    let secret = "hunter2canary";
    bench.apply_web("shop", json!({ "password": secret })).await;
    let told = |web: &Value| {
        let (_, _, message) = condition(web, "Reconciling")?;
        message.contains("pre-install hook").then_some(message)
    };
    let message = bench.wait("its hook", &bench.webs(), "shop", told).await;
    assert!(!message.contains(secret), "{message}");
    finish_job_of(&bench, &format!("shop-{secret}"), "Complete").await;
    bench.wait_revision("shop", 1).await;
    let stage = bench.config_maps().get("shop-stage").await.unwrap();
    assert_eq!(stage.data["data"]["stage"], "second");
    operator.stop().await.unwrap();
}

/// A hook, and an object that the server can't store, which it says as if it were its own trouble.
const TOO_LARGE: &str = "{{- if .Values.large }}
apiVersion: batch/v1
kind: Job
metadata:
  name: {{ .Release.Name }}-migrate-job
  annotations: {helm.sh/hook: pre-upgrade}
spec:
  template:
    spec:
      restartPolicy: Never
      containers: [{name: job, image: registry.example.com/job:1}]
---
apiVersion: apps/v1
kind: Deployment
metadata:
  name: {{ .Release.Name }}-large
spec:
  selector: {matchLabels: {app: large}}
  template:
    metadata: {labels: {app: large}}
    spec:
      containers: [{name: large, image: registry.example.com/large:1, env: [{name: LARGE, value: {{ repeat 1800000 \"x\" }}}]}]
{{- end }}
";

#[tokio::test]
async fn another_spec_mends_what_fails_again_and_again_after_a_wait() {
    let Some(bench) = Bench::with_kind("another_spec_mends").await else {
        return;
    };
    bench.add_template("large.yaml", TOO_LARGE);
    let operator = bench.released(json!({})).await;
    bench.apply_web("shop", json!({"large": true})).await;
    let told = |web: &Value| {
        let (_, _, message) = condition(web, "Reconciling")?;
        message.contains("pre-upgrade hook").then_some(())
    };
    bench.wait("its hook", &bench.webs(), "shop", told).await;
    bench.apply_web("shop", json!({"message": "small"})).await;
    finish_job_of(&bench, "shop-migrate", "Complete").await;
    bench.wait_revision("shop", 3).await;
    operator.stop().await.unwrap();
}

#[tokio::test]
async fn releases_that_wait_for_hooks_keep_no_memory_from_others() {
    let test = "releases_that_wait_for_hooks_keep_no_memory_from_others";
    let Some(bench) = Bench::with_kind(test).await else {
        return;
    };
    let Some(group) = MemoryGroup::new_or_say(test, MEMORY_LIMIT) else {
        return;
    };
    bench.add_template("filler.yaml", FILLER);
    let binary = Path::new(env!("CARGO_BIN_EXE_steersman"));
    let operator = bench.operator_within(&group, binary).await;
    let spec = json!({"hooks": true, "filler": "y".repeat(300_000)});
    let names: Vec<String> = (0..24).map(|number| format!("hang-{number}")).collect();
    for name in &names {
        bench.apply_web(name, spec.clone()).await;
    }
    let jobs = bench.api("batch", "v1", "Job", "jobs");
    let mut seen = Watched::new(&jobs, "hang-0-job");
    let begun = Instant::now();
    loop {
        let found = jobs.list_metadata(&ListParams::default()).await.unwrap();
        if found.items.len() >= names.len() {
            break;
        }
        assert!(
            begun.elapsed() < PATIENCE * 2,
            "{} hooks have begun",
            found.items.len()
        );
        seen.look(Duration::from_millis(500)).await;
    }
    bench.apply_web("other", json!({})).await;
    bench.wait_revision("other", 1).await;
    operator.stop().await.unwrap();
}

/// A hook that comes after the objects.
const AFTERWARDS: &str = "apiVersion: batch/v1\nkind: Job\nmetadata:\n  name: {{ .Release.Name }}-post-job\n  annotations: \
                          {helm.sh/hook: post-install}\nspec:\n  backoffLimit: 0\n  template: {spec: {restartPolicy: Never, \
                          containers: [{name: job, image: \"registry.example.com/job:1\"}]}}\n";

#[tokio::test]
async fn what_was_done_before_a_wait_is_not_done_again_and_the_revision_comes_to_its_end() {
    let Some(bench) = Bench::with_kind("going_on").await else {
        return;
    };
    bench.add_template("afterwards.yaml", AFTERWARDS);
    let operator = bench.ready_operator().await;
    let mark = bench.cluster.audit_mark().await.unwrap();
    bench
        .apply_web("shop", json!({"hooks": true, "message": "one"}))
        .await;
    let jobs = bench.api("batch", "v1", "Job", "jobs");
    let is_there = |job: &Value| job.is_object().then_some(());
    bench.wait("the hook", &jobs, "shop-job", is_there).await;
    // The revision that waits comes first, and another spec after it.
    bench
        .apply_web("shop", json!({"hooks": true, "message": "two"}))
        .await;
    finish_job_of(&bench, "shop", "Complete").await;
    bench
        .wait("the other hook", &bench.webs(), "shop", |web| {
            let (_, _, message) = condition(web, "Reconciling")?;
            (message.contains("post-install hook") && message.contains("shop-post-job")).then_some(())
        })
        .await;
    assert_eq!(bench.revisions().await, ["1 pending-install"]);
    finish_job_of(&bench, "shop-post", "Complete").await;
    bench.wait_revision("shop", 2).await;
    assert_eq!(bench.revisions().await, ["1 superseded", "2 deployed"]);

    let audit = bench.cluster.audit_since(mark).await.unwrap();
    let ours = audit.by_user(bench.user.name()).verb("patch");
    let elsewhere = format!("{}-shop", bench.namespace);
    // Of those that both revisions have, one for each.
    for (resource, name, times) in [
        ("jobs", "shop-job", 1),
        ("jobs", "shop-post-job", 1),
        ("configmaps", elsewhere.as_str(), 1),
        ("configmaps", "shop-before", 2),
        ("configmaps", "shop-config", 2),
    ] {
        let applied = ours.resource(resource).filter(|request| request.name == name);
        assert_eq!(applied.len(), times, "{name}: {applied}");
    }
    operator.stop().await.unwrap();
}

#[tokio::test]
async fn the_time_of_a_hook_counts_from_its_start_whoever_waits_for_it() {
    let Some(bench) = Bench::with_kind("hook_time").await else {
        return;
    };
    let timeout = Duration::from_secs(20);
    let operator = bench.operator_with(&["--hook-timeout=20s"]).await;
    bench.apply_web("shop", json!({"hooks": true})).await;
    let jobs = bench.api("batch", "v1", "Job", "jobs");
    let is_there = |job: &Value| job.is_object().then_some(());
    bench.wait("the hook", &jobs, "shop-job", is_there).await;
    let started = Instant::now();
    operator.kill().await.unwrap();
    tokio::time::sleep(timeout.saturating_sub(started.elapsed())).await;

    let begun = Instant::now();
    let operator = bench.operator_with(&["--hook-timeout=20s"]).await;
    let (_, _, message) = bench.wait_failed("shop", "ReleaseFailed").await;
    assert!(message.contains("shop-job is not done after 20 s"), "{message}");
    assert!(begun.elapsed() < timeout, "{:?}", begun.elapsed());
    // The next try waits for what still runs, and starts no other.
    finish_job_of(&bench, "shop", "Complete").await;
    bench.wait_revision("shop", 1).await;
    operator.stop().await.unwrap();
}

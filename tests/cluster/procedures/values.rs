//! Steps that give a release other values, changes that runs carry out, and runs that are alone.

use kube::api::{DeleteParams, ListParams};
use kube::runtime::watcher;
use serde_json::{Value, json};

use crate::bench::{Bench, condition};
use crate::developer::Developer;

use super::{arguments, begin, end_pod, jobs, put_procedures, released, runs, wait_job, wait_phase};

/// What goes into the map of the chart besides the message.
const MAP: &str = "apiVersion: v1
kind: ConfigMap
metadata: {name: '{{ .Release.Name }}-map'}
data: {message: '{{ .Values.message }}', mode: '{{ .Values.mode | default \"normal\" }}', size: '{{ .Values.size | default 1 }}'}
";

/// Its Job does nothing where there is nothing to be added.
const ADD: &str = r#"{{- if gt (int .Procedure.to) (int .Procedure.from) }}
apiVersion: batch/v1
kind: Job
metadata: {name: ignored}
spec:
  backoffLimit: 0
  template:
    spec:
      restartPolicy: Never
      containers:
      - {name: main, image: none, args: ["{{ .Procedure.from }}", "{{ .Procedure.to }}", "{{ .Values.size | default 1 }}"]}
{{- end }}
"#;

pub(super) async fn with_procedures(test: &str, kinds: &[&str], procedures: &str) -> Option<Bench> {
    let bench = Bench::with_kind(test).await?;
    put_procedures(&bench, &[], procedures).await;
    std::fs::write(bench.folder.path().join("web/procedures/add.yaml"), ADD).unwrap();
    bench.add_template("map.yaml", MAP);
    super::define_runs(&bench, kinds).await;
    Some(bench)
}

/// Waits until the map of `shop` has this value.
pub(super) async fn wait_map(bench: &Bench, key: &str, value: &str) {
    bench
        .wait(
            &format!("{key}: {value}"),
            &bench.config_maps(),
            "shop-map",
            |map| (map["data"][key] == value).then_some(()),
        )
        .await;
}

/// What `steersman diff` shows of the resource.
pub(super) async fn diff(bench: &Bench) -> String {
    let resource = format!("webs.{}/shop", bench.group);
    let developer = Developer::of(bench).await;
    developer.check(&["diff", &resource], 1)
}

pub(super) async fn map(bench: &Bench) -> Value {
    bench.config_maps().get("shop-map").await.unwrap().data["data"].clone()
}

/// Waits until the resource says so for this reason, and gives its words.
pub(super) async fn wait_reason(bench: &Bench, kind: &str, reason: &str) -> String {
    bench
        .wait(reason, &bench.webs(), "shop", |web| {
            let (status, found, message) = condition(web, kind)?;
            (status == "True" && found == reason).then_some(message)
        })
        .await
}

const MAINTENANCE: &str = "  - name: service
    exclusive: true
    steps:
    - {name: down, values: {mode: down}}
    - {name: work, job: procedures/job.yaml}
    finally:
    - {name: up, values: {mode: null}}
";

#[tokio::test]
async fn values_of_a_step_stay_over_a_kill_and_nothing_else_changes_meanwhile() {
    let Some(bench) = with_procedures("procedurevalues", &["WebService"], MAINTENANCE).await else {
        return;
    };
    let operator = released(&bench).await;
    begin(&bench, "WebService", "first", json!({})).await;
    let work = wait_job(&bench, "WebService", "first", "work", 1).await;
    assert_eq!(map(&bench).await["mode"], "down");

    // Another spec waits, and what is live is healed with the values of the step, also by the next process.
    operator.kill().await.unwrap();
    bench.apply_web("shop", json!({"message": "two"})).await;
    bench
        .config_maps()
        .delete("shop-map", &DeleteParams::default())
        .await
        .unwrap();
    let operator = bench.ready_operator().await;
    wait_map(&bench, "mode", "down").await;
    // Until the runs are listed it is not known which one is.
    bench
        .wait("the run", &bench.webs(), "shop", |web| {
            let (_, reason, message) = condition(web, "Reconciling")?;
            (reason == "ProcedureNotFinished" && message == "WebService first is under way").then_some(())
        })
        .await;
    assert_eq!(
        map(&bench).await,
        json!({"message": "one", "mode": "down", "size": "1"})
    );

    // Another run waits, too.
    begin(&bench, "WebService", "second", json!({})).await;
    let held = wait_phase(&bench, "WebService", "second", "Pending").await;
    assert_eq!(held["status"]["message"], "WebService first is under way");

    end_pod(&bench, &work, "Failed", "no space").await;
    wait_phase(&bench, "WebService", "first", "Failed").await;
    let work = wait_job(&bench, "WebService", "second", "work", 1).await;
    let second = map(&bench).await;
    assert_eq!(second["mode"], "down");
    end_pod(&bench, &work, "Succeeded", "").await;
    wait_phase(&bench, "WebService", "second", "Succeeded").await;
    wait_map(&bench, "message", "two").await;
    assert_eq!(
        map(&bench).await,
        json!({"message": "two", "mode": "normal", "size": "1"})
    );
    bench
        .wait("Ready", &bench.webs(), "shop", |web| {
            (condition(web, "Ready")?.0 == "True").then_some(())
        })
        .await;
    operator.stop().await.unwrap();
}

const RESIZE: &str = "  - name: resize
    on: {changed: [size], by: 1}
    steps:
    - {name: add, job: procedures/add.yaml}
    - {values: {size: '{{ .Procedure.to }}'}}
    - {wait: ready}
";

/// The run of a resize that is under way, once it is at this step.
async fn wait_resize(bench: &Bench, from: i64) -> (String, String) {
    let api = runs(bench, "WebResize");
    let begun = std::time::Instant::now();
    loop {
        for run in api.list(&ListParams::default()).await.unwrap().items {
            let name = run.metadata.name.unwrap_or_default();
            let job = run.data.pointer("/status/steps/0/job").and_then(Value::as_str);
            let is_open = run
                .data
                .pointer("/status/phase")
                .is_some_and(|phase| phase == "Running");
            if let Some(job) = job.filter(|_| is_open)
                && arguments(bench, job).await[0] == from.to_string()
            {
                return (name, job.to_owned());
            }
        }
        assert!(begun.elapsed() < bench.patience, "no run from {from}");
        tokio::time::sleep(std::time::Duration::from_millis(100)).await;
    }
}

/// Waits until the status shows this revision as deployed, while the release waits for a run.
async fn wait_shown(bench: &Bench, revision: u64) {
    bench
        .wait(&format!("revision {revision}"), &bench.webs(), "shop", |web| {
            let (_, reason, _) = condition(web, "Reconciling")?;
            let (_, deployed, _) = condition(web, "Deployed")?;
            let is_so = reason == "ProcedureNotFinished" && deployed == "UpgradeSuccessful";
            (is_so && web["status"]["revision"] == revision).then_some(())
        })
        .await;
    let deployed = format!("{revision} deployed");
    assert!(bench.revisions().await.contains(&deployed));
}

#[tokio::test]
async fn a_number_changes_by_one_run_after_the_other_in_both_directions() {
    let Some(bench) = with_procedures("procedureresize", &["WebResize"], RESIZE).await else {
        return;
    };
    let operator = bench.ready_operator().await;
    bench
        .apply_web("shop", json!({"message": "one", "size": 1}))
        .await;
    bench.wait_revision("shop", 1).await;
    bench
        .apply_web("shop", json!({"message": "two", "size": 3}))
        .await;
    // What is not the number changes at once.
    wait_map(&bench, "message", "two").await;
    let (_, job) = wait_resize(&bench, 1).await;
    assert_eq!(arguments(&bench, &job).await, ["1", "2", "1"]);
    assert_eq!(map(&bench).await["size"], "1");
    let words = wait_reason(&bench, "Reconciling", "ProcedureNotFinished").await;
    assert!(
        words.contains("waits for WebResize shop-resize-") && words.contains("`size` is 1"),
        "{words}"
    );
    wait_shown(&bench, 2).await;
    let shown = diff(&bench).await;
    assert!(shown.contains("waits for a WebResize: `size` is 1"), "{shown}");
    end_pod(&bench, &job, "Succeeded", "").await;
    let (failing, job) = wait_resize(&bench, 2).await;
    assert_eq!(arguments(&bench, &job).await, ["2", "3", "2"]);
    assert_eq!(map(&bench).await["size"], "2");
    wait_shown(&bench, 3).await;

    // One that fails stops it, until somebody makes another one.
    end_pod(&bench, &job, "Failed", "no node").await;
    wait_phase(&bench, "WebResize", &failing, "Failed").await;
    let words = wait_reason(&bench, "Stalled", "ProcedureFailed").await;
    assert!(words.contains("no node") && words.contains(&failing), "{words}");
    begin(&bench, "WebResize", "by-hand", json!({})).await;
    let job = wait_job(&bench, "WebResize", "by-hand", "add", 1).await;
    operator.kill().await.unwrap();
    end_pod(&bench, &job, "Succeeded", "").await;
    let operator = bench.ready_operator().await;
    wait_map(&bench, "size", "3").await;
    wait_phase(&bench, "WebResize", "by-hand", "Succeeded").await;
    begin(&bench, "WebResize", "too-many", json!({})).await;
    let refused = wait_phase(&bench, "WebResize", "too-many", "Failed").await;
    let words = refused["status"]["message"].as_str().unwrap();
    assert_eq!(words, "there is nothing to change: `size` is what Web shop says");

    // Downwards its Job has nothing to do. While runs are suspended, that is said.
    let key = "steersman.dev/suspend-procedures";
    bench
        .patch_web("shop", json!({"metadata": {"annotations": {(key): "resize"}}}))
        .await;
    bench
        .apply_web("shop", json!({"message": "two", "size": 1}))
        .await;
    bench
        .wait("the suspension", &bench.webs(), "shop", |web| {
            let (_, _, message) = condition(web, "Reconciling")?;
            (message == "runs of resize are suspended: `size` is 3 until then").then_some(())
        })
        .await;
    bench
        .patch_web("shop", json!({"metadata": {"annotations": {(key): null}}}))
        .await;
    wait_map(&bench, "size", "1").await;
    bench
        .wait("Ready", &bench.webs(), "shop", |web| {
            (condition(web, "Ready")?.0 == "True").then_some(())
        })
        .await;
    let made = jobs(&bench).list(&ListParams::default()).await.unwrap();
    assert_eq!(made.items.len(), 3);
    operator.stop().await.unwrap();
}

const AWKWARD: &str = "  - name: quiet
    before: {upgrade: true, changed: [message]}
    steps:
    - {values: {mode: quiet}}
    - {wait: \"object('v1', 'ConfigMap', release.name + '-map').data.mode == 'quiet'\"}
    finally:
    - {values: {mode: null}}
  - name: upset
    exclusive: true
    steps: [{values: {mode: broken}}]
  - name: rename
    on: {changed: [auth.password]}
    steps: [{wait: ready}]
  - {name: retag, on: {changed: [tag]}, steps: [{wait: ready}]}
";

/// Nobody has to be told of a failure.
#[tokio::test]
async fn a_change_that_is_taken_back_before_its_run_has_begun_is_cancelled() {
    let resize = "  - {name: resize, on: {changed: [size]}, job: procedures/job.yaml}\n";
    let kinds = ["WebService", "WebResize"];
    let procedures = format!("{MAINTENANCE}{resize}");
    let Some(bench) = with_procedures("proceduretaken", &kinds, &procedures).await else {
        return;
    };
    let operator = released(&bench).await;
    begin(&bench, "WebService", "first", json!({})).await;
    let work = wait_job(&bench, "WebService", "first", "work", 1).await;
    bench
        .apply_web("shop", json!({"message": "one", "size": 2}))
        .await;
    let all = watcher::Config::default();
    let name = bench
        .wait_some("the change", &runs(&bench, "WebResize"), all, |run| {
            (run.pointer("/status/phase")? == "Pending").then_some(())?;
            run.pointer("/metadata/name")?.as_str().map(str::to_owned)
        })
        .await;
    bench.apply_web("shop", json!({"message": "one"})).await;
    let run = wait_phase(&bench, "WebResize", &name, "Cancelled").await;
    assert_eq!(run["status"]["message"], "there is nothing to change any longer");
    end_pod(&bench, &work, "Succeeded", "").await;
    wait_phase(&bench, "WebService", "first", "Succeeded").await;
    operator.stop().await.unwrap();
}

#[tokio::test]
async fn what_steps_do_to_a_release_neither_goes_round_nor_stays_nor_tells_a_secret() {
    let kinds = ["WebQuiet", "WebUpset", "WebRename", "WebRetag"];
    let Some(bench) = with_procedures("procedureawkward", &kinds, AWKWARD).await else {
        return;
    };
    let broken =
        "{{ if eq (.Values.mode | default \"\") \"broken\" }}{{ fail \"it does not render\" }}{{ end }}\n";
    bench.add_template("broken.yaml", broken);
    let operator = bench.ready_operator().await;
    let spec = |message: &str, password: &str, tag: &str| json!({"message": message, "auth": {"password": password}, "tag": tag});
    bench
        .apply_web("shop", spec("one", "canary-first", "start"))
        .await;
    bench.wait_revision("shop", 1).await;

    // The run that comes before a revision makes some of its own.
    bench
        .apply_web("shop", spec("two", "canary-first", "start"))
        .await;
    wait_map(&bench, "message", "two").await;
    assert_eq!(map(&bench).await["mode"], "normal");
    let quiet = runs(&bench, "WebQuiet")
        .list(&ListParams::default())
        .await
        .unwrap();
    assert_eq!(quiet.items.len(), 1, "{:#?}", quiet.items);

    // Values that can't be rendered fail their step at once, and nothing is left of them.
    begin(&bench, "WebUpset", "upset", json!({})).await;
    let failed = wait_phase(&bench, "WebUpset", "upset", "Failed").await;
    let words = failed["status"]["message"].as_str().unwrap();
    assert!(words.contains("it does not render"), "{words}");

    // What is written like a number is reached as one.
    bench.apply_web("shop", spec("two", "canary-first", "17")).await;
    bench
        .wait("the tag", &bench.webs(), "shop", |web| {
            let shown = web.pointer("/status/procedures/retag")?;
            let is_ready = condition(web, "Ready")?.0 == "True";
            (shown["phase"] == "Succeeded" && is_ready).then_some(())
        })
        .await;
    let retagged = runs(&bench, "WebRetag")
        .list(&ListParams::default())
        .await
        .unwrap();
    assert_eq!(retagged.items.len(), 1);

    // What is secret is told of nowhere.
    bench.apply_web("shop", spec("two", "canary-second", "17")).await;
    let words = wait_reason(&bench, "Stalled", "ProcedureFailed").await;
    assert!(words.starts_with("`auth.password` is secret"), "{words}");
    let told = runs(&bench, "WebRename")
        .list(&ListParams::default())
        .await
        .unwrap();
    assert!(told.items.is_empty());
    operator.stop().await.unwrap();
}

#[tokio::test]
async fn a_run_that_was_not_begun_holds_up_nobody_whatever_it_carries() {
    let procedures = format!(
        "{}  - {{name: backup, job: procedures/job.yaml}}\n",
        MAINTENANCE.replace("exclusive", "confirm: true\n    exclusive")
    );
    let Some(bench) = with_procedures("procedureforged", &["WebService", "WebBackup"], &procedures).await
    else {
        return;
    };
    let operator = released(&bench).await;
    let forged = json!({"apiVersion": format!("{}/v1", bench.group), "kind": "WebService",
        "metadata": {"name": "forged", "finalizers": ["steersman.dev/procedure"]}, "spec": {"resource": "shop"}});
    bench.create(&runs(&bench, "WebService"), forged).await;
    wait_phase(&bench, "WebService", "forged", "Pending").await;
    tokio::time::sleep(std::time::Duration::from_secs(1)).await;
    begin(&bench, "WebBackup", "first", json!({})).await;
    let job = wait_job(&bench, "WebBackup", "first", "job", 1).await;
    end_pod(&bench, &job, "Succeeded", "").await;
    wait_phase(&bench, "WebBackup", "first", "Succeeded").await;
    bench.apply_web("shop", json!({"message": "two"})).await;
    wait_map(&bench, "message", "two").await;
    operator.stop().await.unwrap();
}

//! What becomes of runs where a revision has failed, was kept out, or can't be begun.

use serde_json::json;

use super::gates::{NEW, PLAIN, next_chart};
use super::values::{map, wait_map, with_procedures};
use super::{awaited, begin, end_pod, released, wait_job, wait_phase};
use crate::bench::{Bench, condition};

/// Has the server refuse the release where it has the message `bad`.
fn may_be_bad(bench: &Bench) {
    let immutable = "immutable: {{ if eq .Values.message \"bad\" }}7{{ else }}false{{ end }}\n";
    bench.edit(
        "map.yaml",
        "data: {message",
        &format!("{immutable}data: {{message"),
    );
}

async fn wait_failed(bench: &Bench) {
    bench
        .wait("the failure", &bench.webs(), "shop", |web| {
            (condition(web, "ReleaseFailed")?.0 == "True").then_some(())
        })
        .await;
}

const RESTORE: &str = "  - name: restore
    exclusive: true
    timeout: 1m
    steps:
    - {name: down, values: {mode: down}}
    - {name: load, job: procedures/job.yaml}
    finally:
    - {name: up, values: {mode: null}}
";

#[tokio::test]
async fn a_run_goes_over_what_is_deployed_where_the_last_revision_has_failed() {
    let Some(bench) = with_procedures("procedureover", &["WebRestore"], RESTORE).await else {
        return;
    };
    may_be_bad(&bench);
    let operator = released(&bench).await;
    bench.apply_web("shop", json!({"message": "bad"})).await;
    wait_failed(&bench).await;
    begin(&bench, "WebRestore", "by-hand", json!({})).await;
    let job = wait_job(&bench, "WebRestore", "by-hand", "load", 1).await;
    assert_eq!(map(&bench).await["mode"], "down");
    assert_eq!(super::arguments(&bench, &job).await[4], "shop-one");
    bench.apply_web("shop", json!({"message": "two"})).await;
    end_pod(&bench, &job, "Succeeded", "").await;
    wait_phase(&bench, "WebRestore", "by-hand", "Succeeded").await;
    wait_map(&bench, "message", "two").await;
    assert_eq!(map(&bench).await["mode"], "normal");
    operator.stop().await.unwrap();
}

#[tokio::test]
async fn a_spec_that_follows_a_failed_one_waits_for_its_own_backup() {
    let gate = "  - {name: backup, job: procedures/job.yaml, before: {upgrade: true, changed: [size]}}\n";
    let Some(bench) = with_procedures("procedurefollows", &["WebBackup"], gate).await else {
        return;
    };
    may_be_bad(&bench);
    let operator = released(&bench).await;
    bench
        .apply_web("shop", json!({"message": "bad", "size": 2}))
        .await;
    let first = awaited(&bench, "").await;
    let job = wait_job(&bench, "WebBackup", &first, "job", 1).await;
    end_pod(&bench, &job, "Succeeded", "").await;
    wait_failed(&bench).await;
    bench
        .apply_web("shop", json!({"message": "two", "size": 2}))
        .await;
    let second = awaited(&bench, &first).await;
    let job = wait_job(&bench, "WebBackup", &second, "job", 1).await;
    assert_eq!(map(&bench).await["message"], "one");
    end_pod(&bench, &job, "Succeeded", "").await;
    wait_map(&bench, "message", "two").await;
    operator.stop().await.unwrap();
}

const MEND: &str = "  - {name: maintain, steps: [{name: down, values: {mode: down}}]}
  - name: mend
    steps:
    - {name: deep, values: {mode: deep}}
    finally:
    - {name: up, values: {mode: null}}
";

#[tokio::test]
async fn a_step_that_was_kept_out_has_put_nothing_there_to_be_taken_off() {
    let kinds = ["WebBackup", "WebMaintain", "WebMend"];
    let Some(bench) = with_procedures("procedurekept", &kinds, &format!("{PLAIN}{MEND}")).await else {
        return;
    };
    let operator = released(&bench).await;
    begin(&bench, "WebMaintain", "night", json!({})).await;
    wait_phase(&bench, "WebMaintain", "night", "Succeeded").await;
    let operator = next_chart(&bench, operator, NEW.0, NEW.1).await;
    awaited(&bench, "").await;
    let before = map(&bench).await;
    assert_eq!(before["mode"], "down");
    begin(&bench, "WebMend", "day", json!({})).await;
    let failed = wait_phase(&bench, "WebMend", "day", "Failed").await;
    assert_eq!(failed["status"]["steps"][1]["state"], "Failed", "{failed}");
    assert_eq!(map(&bench).await, before);
    operator.stop().await.unwrap();
}

#[tokio::test]
async fn a_run_lets_nothing_through_that_was_taken_back_while_others_were_waited_for() {
    let depends = "  dependsOn:\n  - {apiVersion: v1, kind: ConfigMap, name: dep, readyExpr: 'data.ready == \"yes\"'}\n";
    let procedures = format!("{PLAIN}{depends}");
    let Some(bench) = with_procedures("proceduredepends", &["WebBackup"], &procedures).await else {
        return;
    };
    let dependency = |ready: &str| json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "dep"}, "data": {"ready": ready}});
    bench.create(&bench.config_maps(), dependency("yes")).await;
    let set = async |ready: &str| {
        let patch = kube::api::Patch::Merge(dependency(ready));
        let maps = bench.config_maps();
        maps.patch("dep", &Default::default(), &patch).await.unwrap();
    };
    let operator = released(&bench).await;
    let operator = next_chart(&bench, operator, NEW.0, NEW.1).await;
    let first = awaited(&bench, "").await;
    let job = wait_job(&bench, "WebBackup", &first, "job", 1).await;
    set("no").await;
    // Another chart, and the dependency is not ready.
    let operator = next_chart(&bench, operator, "is: new", "is: third").await;
    super::values::wait_reason(&bench, "Reconciling", "DependencyNotReady").await;
    end_pod(&bench, &job, "Succeeded", "").await;
    wait_phase(&bench, "WebBackup", &first, "Succeeded").await;
    let operator = next_chart(&bench, operator, "is: third", "is: new").await;
    set("yes").await;
    let second = awaited(&bench, &first).await;
    wait_job(&bench, "WebBackup", &second, "job", 1).await;
    assert_eq!(map(&bench).await["is"], serde_json::Value::Null);
    operator.stop().await.unwrap();
}

//! Gates before an upgrade.

use kube::api::DeleteParams;
use serde_json::json;
use steersman_testkit::cluster::OperatorProcess;

use super::values::{diff, map, wait_map, wait_reason, with_procedures};
use super::{arguments, awaited, begin, end_pod, released, runs, wait_job, wait_phase};
use crate::bench::{Bench, condition};

const BACKUP: &str = "  - {name: backup, job: procedures/job.yaml, parameters: {snapshot: {default: \"no\"}}, before: {upgrade: true, changed: [message]}}\n";

#[tokio::test]
async fn an_upgrade_waits_for_its_backup_and_stops_where_that_fails() {
    let Some(bench) = with_procedures("procedurebefore", &["WebBackup"], BACKUP).await else {
        return;
    };
    let operator = released(&bench).await;
    // Another value needs none.
    bench
        .apply_web("shop", json!({"message": "one", "mode": "slow"}))
        .await;
    wait_map(&bench, "mode", "slow").await;
    bench
        .apply_web("shop", json!({"message": "two", "mode": "slow"}))
        .await;
    let first = awaited(&bench, "").await;
    let shown = diff(&bench).await;
    assert!(
        shown.contains("waits for a WebBackup: another revision"),
        "{shown}"
    );
    let job = wait_job(&bench, "WebBackup", &first, "job", 1).await;
    assert_eq!(
        arguments(&bench, &job).await[4],
        "shop-one",
        "it works on what is there"
    );
    end_pod(&bench, &job, "Failed", "disk full").await;
    let words = wait_reason(&bench, "Stalled", "ProcedureFailed").await;
    assert!(words.contains(&first) && words.contains("disk full"), "{words}");
    assert_eq!(map(&bench).await["message"], "one");

    // What is deployed is healed meanwhile, also by the next process, and another one is made when it is deleted.
    operator.kill().await.unwrap();
    bench
        .config_maps()
        .delete("shop-map", &DeleteParams::default())
        .await
        .unwrap();
    let operator = bench.ready_operator().await;
    wait_map(&bench, "message", "one").await;
    runs(&bench, "WebBackup")
        .delete(&first, &DeleteParams::default())
        .await
        .unwrap();
    let again = wait_job(&bench, "WebBackup", &first, "job", 1).await;
    assert_ne!(job, again);
    end_pod(&bench, &again, "Succeeded", "").await;
    wait_map(&bench, "message", "two").await;

    // Another change is another backup.
    bench
        .apply_web("shop", json!({"message": "three", "mode": "slow"}))
        .await;
    let second = awaited(&bench, &first).await;
    let job = wait_job(&bench, "WebBackup", &second, "job", 1).await;
    end_pod(&bench, &job, "Succeeded", "").await;
    wait_map(&bench, "message", "three").await;
    operator.stop().await.unwrap();
}

const ALONE: &str = "  - {name: backup, job: procedures/job.yaml, exclusive: true, before: {upgrade: true}}
  - {name: service, job: procedures/job.yaml}
";

#[tokio::test]
async fn a_run_for_which_nothing_waits_any_longer_is_not_begun() {
    let kinds = ["WebBackup", "WebService"];
    let Some(bench) = with_procedures("procedurewithdrawn", &kinds, ALONE).await else {
        return;
    };
    let operator = released(&bench).await;
    begin(&bench, "WebService", "long", json!({})).await;
    let long = wait_job(&bench, "WebService", "long", "job", 1).await;
    let mut last = String::new();
    for message in ["two", "three", "four"] {
        bench.apply_web("shop", json!({"message": message})).await;
        let next = awaited(&bench, &last).await;
        wait_phase(&bench, "WebBackup", &next, "Pending").await;
        if !last.is_empty() {
            bench.wait_gone(&runs(&bench, "WebBackup"), &last).await;
        }
        last = next;
    }
    end_pod(&bench, &long, "Succeeded", "").await;
    let job = wait_job(&bench, "WebBackup", &last, "job", 1).await;
    end_pod(&bench, &job, "Succeeded", "").await;
    wait_map(&bench, "message", "four").await;
    let made = runs(&bench, "WebBackup").list(&Default::default()).await.unwrap();
    assert_eq!(made.items.len(), 1);
    operator.stop().await.unwrap();
}

pub(super) const PLAIN: &str = "  - {name: backup, job: procedures/job.yaml, before: {upgrade: true}}\n";

/// What has to be in the place of what, so that the chart is another one.
pub(super) const NEW: (&str, &str) = ("data: {message", "data: {is: new, message");

/// The next process has the chart with this text in place of that.
pub(super) async fn next_chart(
    bench: &Bench,
    operator: OperatorProcess,
    from: &str,
    to: &str,
) -> OperatorProcess {
    operator.kill().await.unwrap();
    bench.edit("map.yaml", from, to);
    bench.ready_operator().await
}

/// Waits until the release wants nothing more.
async fn wait_ready(bench: &Bench) {
    bench
        .wait("Ready", &bench.webs(), "shop", |web| {
            (condition(web, "Ready")?.0 == "True").then_some(())
        })
        .await;
}

/// Waits until the first step of a run has another Job than this, and gives its name.
async fn other_job(bench: &Bench, (kind, run): (&str, &str), than: &str) -> String {
    bench
        .wait("another Job", &runs(bench, kind), run, |run| {
            let other = run.pointer("/status/steps/0/job")?.as_str()?;
            (other != than).then(|| other.to_owned())
        })
        .await
}

/// Waits until a run's record says that it lets nothing through.
async fn wait_spent(bench: &Bench, run: &str) {
    bench
        .wait("its record", &runs(bench, "WebBackup"), run, |run| {
            (run.pointer("/status/record/spent")? == true).then_some(())
        })
        .await;
}

/// Waits until the run that comes first has failed, as its values would bring the release something else, and the release says so.
pub(super) async fn wait_kept_out(bench: &Bench, run: &str) {
    let failed = wait_phase(bench, "WebService", run, "Failed").await;
    let words = failed["status"]["message"].as_str().unwrap_or_default();
    assert!(words.contains("more than its values"), "{failed}");
    let words = wait_reason(bench, "Stalled", "ProcedureFailed").await;
    assert!(words.contains(run), "{words}");
}

#[tokio::test]
async fn a_chart_that_comes_back_waits_for_another_backup() {
    let Some(bench) = with_procedures("procedureback", &["WebBackup"], PLAIN).await else {
        return;
    };
    let mut operator = released(&bench).await;
    let (old, new) = NEW;
    let mut former = String::new();
    for (from, to, is) in [(old, new, "new"), (new, old, ""), (old, new, "new")] {
        let before = map(&bench).await;
        operator = next_chart(&bench, operator, from, to).await;
        let run = awaited(&bench, &former).await;
        let job = wait_job(&bench, "WebBackup", &run, "job", 1).await;
        assert_eq!(map(&bench).await, before, "{run}");
        end_pod(&bench, &job, "Succeeded", "").await;
        bench
            .wait("the chart", &bench.config_maps(), "shop-map", |map| {
                (map["data"]["is"].as_str().unwrap_or_default() == is).then_some(())
            })
            .await;
        former = run;
    }
    operator.stop().await.unwrap();
}

pub(super) const SERVICE: &str = "  - name: service
    before: {upgrade: true}
    steps:
    - {name: down, values: {mode: down}}
    - {name: work, job: procedures/job.yaml}
    finally:
    - {name: up, values: {mode: null}}
";

#[tokio::test]
async fn values_of_a_step_bring_no_chart_before_its_gate() {
    let Some(bench) = with_procedures("procedurechart", &["WebService"], SERVICE).await else {
        return;
    };
    let operator = released(&bench).await;
    // Another value: what steps of the run do to the release meanwhile asks for no other run.
    bench.apply_web("shop", json!({"message": "two"})).await;
    let run = awaited(&bench, "").await;
    let job = wait_job(&bench, "WebService", &run, "work", 1).await;
    assert_eq!(map(&bench).await["mode"], "down");
    end_pod(&bench, &job, "Succeeded", "").await;
    wait_map(&bench, "message", "two").await;
    let before = map(&bench).await;
    assert_eq!(before["mode"], "normal");

    // Another chart: a step that has to bring it fails, and nothing is upgraded, not by the last step either.
    let (old, new) = NEW;
    let operator = next_chart(&bench, operator, old, new).await;
    let run = awaited(&bench, &run).await;
    wait_kept_out(&bench, &run).await;
    assert_eq!(map(&bench).await, before);

    // A run that was begun with the former chart ends what it has begun.
    let operator = next_chart(&bench, operator, new, old).await;
    wait_ready(&bench).await;
    begin(&bench, "WebService", "by-hand", json!({})).await;
    let job = wait_job(&bench, "WebService", "by-hand", "work", 1).await;
    assert_eq!(map(&bench).await["mode"], "down");
    let operator = next_chart(&bench, operator, old, new).await;
    // The one that the chart waits for is begun beside it, and finds the value there.
    let beside = awaited(&bench, &run).await;
    wait_job(&bench, "WebService", &beside, "work", 1).await;
    end_pod(&bench, &job, "Succeeded", "").await;
    wait_phase(&bench, "WebService", "by-hand", "Succeeded").await;
    let after = map(&bench).await;
    assert_eq!((&after["mode"], &after["is"]), (&json!("normal"), &json!("new")));
    operator.stop().await.unwrap();
}

/// Its step with the value comes with the chart that comes meanwhile, which waits for its backup.
const RESIZE: &str = "  - name: resize
    on: {changed: [size]}
    steps:
    - {name: before, job: procedures/job.yaml}
    - {name: more, values: {size: '{{ .Procedure.to }}'}}
";

#[tokio::test]
async fn a_change_that_was_kept_out_is_made_behind_the_chart_that_kept_it_out() {
    let kinds = ["WebBackup", "WebResize"];
    let Some(bench) = with_procedures("procedurekept", &kinds, &format!("{PLAIN}{RESIZE}")).await else {
        return;
    };
    let operator = released(&bench).await;
    bench
        .apply_web("shop", json!({"message": "one", "size": 2}))
        .await;
    let former = awaited(&bench, "").await;
    let job = wait_job(&bench, "WebResize", &former, "before", 1).await;
    let (old, new) = NEW;
    let operator = next_chart(&bench, operator, old, new).await;
    end_pod(&bench, &job, "Succeeded", "").await;
    let failed = wait_phase(&bench, "WebResize", &former, "Failed").await;
    let words = failed["status"]["message"].as_str().unwrap_or_default();
    assert!(words.contains("more than its values"), "{failed}");
    assert_eq!(map(&bench).await["is"], serde_json::Value::Null);

    let backup = awaited(&bench, &former).await;
    let job = wait_job(&bench, "WebBackup", &backup, "job", 1).await;
    end_pod(&bench, &job, "Succeeded", "").await;
    wait_map(&bench, "is", "new").await;
    let next = awaited(&bench, &backup).await;
    assert_ne!(next, former);
    let job = wait_job(&bench, "WebResize", &next, "before", 1).await;
    // One that fails in another way is not made again.
    end_pod(&bench, &job, "Failed", "no space").await;
    let words = wait_reason(&bench, "Stalled", "ProcedureFailed").await;
    assert!(words.contains(&next) && words.contains("no space"), "{words}");
    // Who deletes it has it made again, also in the next process, which knows of both.
    operator.kill().await.unwrap();
    runs(&bench, "WebResize")
        .delete(&next, &DeleteParams::default())
        .await
        .unwrap();
    let operator = bench.ready_operator().await;
    let job = other_job(&bench, ("WebResize", &next), &job).await;
    end_pod(&bench, &job, "Succeeded", "").await;
    wait_map(&bench, "size", "2").await;
    wait_ready(&bench).await;
    operator.stop().await.unwrap();
}

#[tokio::test]
async fn a_run_behind_which_nothing_went_on_opens_no_gate_later() {
    let Some(bench) = with_procedures("procedurespent", &["WebBackup"], PLAIN).await else {
        return;
    };
    let operator = released(&bench).await;
    let (old, new) = NEW;
    let operator = next_chart(&bench, operator, old, new).await;
    let first = awaited(&bench, "").await;
    let job = wait_job(&bench, "WebBackup", &first, "job", 1).await;
    // The chart is taken back in the middle of it.
    let operator = next_chart(&bench, operator, new, old).await;
    end_pod(&bench, &job, "Succeeded", "").await;
    wait_phase(&bench, "WebBackup", &first, "Succeeded").await;
    wait_ready(&bench).await;
    wait_spent(&bench, &first).await;
    let operator = next_chart(&bench, operator, old, new).await;
    let second = awaited(&bench, &first).await;
    let job = wait_job(&bench, "WebBackup", &second, "job", 1).await;
    assert_eq!(map(&bench).await["is"], serde_json::Value::Null, "{second}");
    end_pod(&bench, &job, "Succeeded", "").await;
    wait_map(&bench, "is", "new").await;
    operator.stop().await.unwrap();
}

#[tokio::test]
async fn a_run_that_was_passed_over_while_it_worked_opens_no_gate() {
    let Some(bench) = with_procedures("procedurepassed", &["WebBackup"], PLAIN).await else {
        return;
    };
    let operator = released(&bench).await;
    let (old, new) = NEW;
    let operator = next_chart(&bench, operator, old, new).await;
    let first = awaited(&bench, "").await;
    let working = wait_job(&bench, "WebBackup", &first, "job", 1).await;
    let operator = next_chart(&bench, operator, new, old).await;
    wait_ready(&bench).await;
    wait_spent(&bench, &first).await;
    let operator = next_chart(&bench, operator, old, new).await;
    let second = awaited(&bench, &first).await;
    end_pod(&bench, &working, "Succeeded", "").await;
    wait_phase(&bench, "WebBackup", &first, "Succeeded").await;
    let job = wait_job(&bench, "WebBackup", &second, "job", 1).await;
    assert_eq!(map(&bench).await["is"], serde_json::Value::Null, "{second}");

    // Nor does one that is deleted in the middle of its work, and another one comes.
    let all = runs(&bench, "WebBackup");
    all.delete(&second, &DeleteParams::default()).await.unwrap();
    bench.wait_gone(&super::jobs(&bench), &job).await;
    let again = other_job(&bench, ("WebBackup", &second), &job).await;
    assert_eq!(map(&bench).await["is"], serde_json::Value::Null, "{second}");
    end_pod(&bench, &again, "Succeeded", "").await;
    wait_map(&bench, "is", "new").await;
    operator.stop().await.unwrap();
}

#[tokio::test]
async fn last_steps_that_give_values_bring_no_chart_before_its_gate() {
    let service = SERVICE.replace("{mode: null}", "{mode: late}");
    let other =
        "  - {name: other, job: procedures/job.yaml, finally: [{name: late, values: {mode: late}}]}\n";
    let kinds = ["WebService", "WebOther"];
    let Some(bench) = with_procedures("procedurelast", &kinds, &format!("{service}{other}")).await else {
        return;
    };
    let operator = released(&bench).await;
    let before = map(&bench).await;
    let (old, new) = NEW;
    let operator = next_chart(&bench, operator, old, new).await;
    let run = awaited(&bench, "").await;
    wait_phase(&bench, "WebService", &run, "Failed").await;
    begin(&bench, "WebOther", "by-hand", json!({})).await;
    let job = wait_job(&bench, "WebOther", "by-hand", "job", 1).await;
    end_pod(&bench, &job, "Succeeded", "").await;
    let failed = wait_phase(&bench, "WebOther", "by-hand", "Failed").await;
    let words = failed["status"]["message"].as_str().unwrap_or_default();
    assert!(words.contains("more than its values"), "{failed}");
    assert_eq!(map(&bench).await, before);
    operator.stop().await.unwrap();
}

#[tokio::test]
async fn a_gate_that_is_alone_does_not_wait_for_a_revision_that_waits_for_it() {
    let gate = "  - {name: backup, job: procedures/job.yaml, exclusive: true, before: {upgrade: true}}\n  wait: {timeout: 10m}\n";
    let Some(bench) = with_procedures("procedurealone", &["WebBackup"], gate).await else {
        return;
    };
    let stuck = "{{ if eq .Values.message \"two\" }}\napiVersion: v1\nkind: PersistentVolumeClaim\nmetadata: {name: shop-claim}
spec: {storageClassName: none, accessModes: [ReadWriteOnce], resources: {requests: {storage: 1Gi}}}\n{{ end }}\n";
    bench.add_template("claim.yaml", stuck);
    let operator = released(&bench).await;
    let mut former = String::new();
    for message in ["two", "three"] {
        bench.apply_web("shop", json!({"message": message})).await;
        let run = awaited(&bench, &former).await;
        let job = wait_job(&bench, "WebBackup", &run, "job", 1).await;
        end_pod(&bench, &job, "Succeeded", "").await;
        wait_map(&bench, "message", message).await;
        former = run;
    }
    operator.stop().await.unwrap();
}

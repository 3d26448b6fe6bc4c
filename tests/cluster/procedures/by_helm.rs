//! What procedures keep up behind revisions that Helm, failures and losses have put in the place of ours.

use std::time::Duration;

use serde_json::json;
use steersman_testkit::cluster::{ControlPlaneError, OperatorProcess};

use super::gates::{NEW, PLAIN, next_chart};
use super::values::{map, wait_map, with_procedures};
use super::{awaited, begin, end_pod, released, runs, wait_job, wait_phase};
use crate::bench::{Bench, condition, copy};

const RESIZE: &str = "  - name: resize
    on: {changed: [size], by: 1}
    steps:
    - {name: more, values: {size: '{{ .Procedure.to }}', mode: large}}
";

/// A release that a run has brought from 1 to 2, and to another mode.
async fn resized(test: &str) -> Option<(Bench, OperatorProcess)> {
    let bench = with_procedures(test, &["WebResize"], RESIZE).await?;
    let operator = released(&bench).await;
    bench
        .apply_web("shop", json!({"message": "one", "size": 2}))
        .await;
    wait_map(&bench, "size", "2").await;
    wait_map(&bench, "mode", "large").await;
    Some((bench, operator))
}

/// Helm takes the word of the revision away that it replaces.
async fn helm_upgrade(bench: &Bench) {
    helm(bench, &["--set", "message=helm", "--force-conflicts"]).await;
}

pub(super) async fn helm(bench: &Bench, values: &[&str]) {
    upgrade(bench, "web", values).await.unwrap();
}

/// Kills the operator where it has no revision in its hands: Helm does nothing beside one that is pending.
async fn kill_between(bench: &Bench, mut operator: OperatorProcess) {
    let is_pending = |revision: &String| revision.contains("pending");
    loop {
        operator.kill().await.unwrap();
        if !bench.revisions().await.iter().any(is_pending) {
            return;
        }
        operator = bench.ready_operator().await;
        tokio::time::sleep(Duration::from_secs(1)).await;
    }
}

/// Helm upgrades the release to the chart in this folder of the bench.
async fn upgrade(bench: &Bench, chart: &str, values: &[&str]) -> Result<String, ControlPlaneError> {
    let chart = bench.folder.path().join(chart);
    let chart = chart.to_str().unwrap();
    let upgrade = ["upgrade", "shop", chart, "--namespace", &bench.namespace];
    bench.cluster.helm(&[&upgrade[..], values].concat()).await
}

#[tokio::test]
async fn what_procedures_keep_up_outlasts_a_revision_of_helms() {
    let Some((bench, operator)) = resized("procedurehelm").await else {
        return;
    };
    operator.stop().await.unwrap();
    helm_upgrade(&bench).await;
    wait_map(&bench, "mode", "normal").await;
    bench
        .apply_web("shop", json!({"message": "two", "size": 4}))
        .await;
    let operator = bench.ready_operator().await;
    wait_map(&bench, "message", "two").await;
    wait_map(&bench, "mode", "large").await;
    wait_map(&bench, "size", "4").await;
    let all = runs(&bench, "WebResize")
        .list(&Default::default())
        .await
        .unwrap()
        .items;
    assert_eq!(all.len(), 3, "to 2 before it, to 3 and to 4 after it: {all:#?}");
    operator.stop().await.unwrap();
}

/// Helm prunes the older ones of those that tell it.
#[tokio::test]
async fn what_procedures_keep_up_outlasts_many_revisions_of_helms() {
    let Some((bench, mut operator)) = resized("procedurehelms").await else {
        return;
    };
    for number in 0..6 {
        operator.stop().await.unwrap();
        helm_upgrade(&bench).await;
        let message = format!("after {number}");
        bench
            .apply_web("shop", json!({"message": message, "size": 2}))
            .await;
        operator = bench.ready_operator().await;
        wait_map(&bench, "message", &message).await;
        let map = map(&bench).await;
        assert_eq!(
            (&map["mode"], &map["size"]),
            (&json!("large"), &json!("2")),
            "{number}"
        );
    }
    operator.stop().await.unwrap();
}

#[tokio::test]
async fn what_procedures_keep_up_outlasts_what_helm_has_rolled_back() {
    let Some((bench, operator)) = resized("procedurerolled").await else {
        return;
    };
    operator.stop().await.unwrap();
    helm_upgrade(&bench).await;
    let back = ["rollback", "shop", "--namespace", &bench.namespace];
    bench.cluster.helm(&back).await.unwrap();
    let operator = bench.ready_operator().await;
    bench
        .apply_web("shop", json!({"message": "two", "size": 2}))
        .await;
    wait_map(&bench, "message", "two").await;
    let map = map(&bench).await;
    assert_eq!((&map["mode"], &map["size"]), (&json!("large"), &json!("2")));
    operator.stop().await.unwrap();
}

/// The server refuses it where the message is bad.
const REFUSED: &str =
    "immutable: {{ if hasPrefix \"bad\" .Values.message }}7{{ else }}false{{ end }}\ndata: {is: new, message";

/// Revisions that have failed take the place in the history of those that tell it.
async fn outlasts_failures(test: &str, options: &[&str], failures: usize) {
    let Some((bench, operator)) = resized(test).await else {
        return;
    };
    let operator = next_chart(&bench, operator, "data: {message", REFUSED).await;
    wait_map(&bench, "is", "new").await;
    operator.stop().await.unwrap();
    let operator = bench.operator_with(options).await;
    let is_deployed = |revision: &String| Some(revision.strip_suffix(" deployed")?.parse::<usize>().unwrap());
    let last = bench.revisions().await.iter().find_map(is_deployed).unwrap();
    for number in 1..=failures {
        let bad = json!({"message": format!("bad {number}"), "size": 2});
        bench.apply_web("shop", bad).await;
        let failed = format!("{} failed", last + number);
        while !bench.revisions().await.contains(&failed) {
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
    }
    operator.stop().await.unwrap();
    helm_upgrade(&bench).await;
    bench
        .apply_web("shop", json!({"message": "two", "size": 2}))
        .await;
    let operator = bench.operator_with(options).await;
    wait_map(&bench, "message", "two").await;
    let map = map(&bench).await;
    assert_eq!((&map["mode"], &map["size"]), (&json!("large"), &json!("2")));
    operator.stop().await.unwrap();
}

#[tokio::test]
async fn what_procedures_keep_up_outlasts_many_failures() {
    outlasts_failures("procedurefails", &[], 11).await;
}

#[tokio::test]
async fn what_procedures_keep_up_outlasts_a_failure_where_one_revision_is_kept() {
    outlasts_failures("procedurefailed", &["--history-max=1"], 1).await;
}

#[tokio::test]
async fn what_procedures_keep_up_outlasts_the_last_revision() {
    let Some((bench, operator)) = resized("procedurelost").await else {
        return;
    };
    operator.stop().await.unwrap();
    let secrets = bench.secrets();
    let number = bench.revisions().await.len();
    let last = format!("sh.helm.release.v1.shop.v{number}");
    secrets.delete(&last, &Default::default()).await.unwrap();
    bench
        .apply_web("shop", json!({"message": "two", "size": 2}))
        .await;
    let operator = bench.ready_operator().await;
    wait_map(&bench, "message", "two").await;
    let map = map(&bench).await;
    assert_eq!((&map["mode"], &map["size"]), (&json!("large"), &json!("2")));
    operator.stop().await.unwrap();
}

#[tokio::test]
async fn what_procedures_keep_up_outlasts_what_helm_has_uninstalled() {
    let Some((bench, operator)) = resized("proceduregone").await else {
        return;
    };
    operator.stop().await.unwrap();
    let namespace = bench.namespace.as_str();
    let uninstall = ["uninstall", "shop", "--keep-history", "--namespace", namespace];
    bench.cluster.helm(&uninstall).await.unwrap();
    let operator = bench.ready_operator().await;
    wait_map(&bench, "size", "2").await;
    assert_eq!(map(&bench).await["mode"], "large");
    operator.stop().await.unwrap();
}

#[tokio::test]
async fn a_value_of_which_nothing_was_said_is_what_helm_has_deployed() {
    let backup = "  - {name: backup, job: procedures/job.yaml}\n";
    let kinds = ["WebBackup"];
    let Some(bench) = with_procedures("procedureunsaid", &kinds, backup).await else {
        return;
    };
    let operator = bench.ready_operator().await;
    bench
        .apply_web("shop", json!({"message": "one", "size": 5}))
        .await;
    bench.wait_revision("shop", 1).await;
    bench
        .apply_web("shop", json!({"message": "two", "size": 5}))
        .await;
    wait_map(&bench, "message", "two").await;
    bench.wait_revision("shop", 2).await;
    operator.stop().await.unwrap();
    let watches = std::fs::read_to_string(bench.folder.path().join("watches.yaml")).unwrap();
    bench.watches(&format!("{watches}{RESIZE}"));
    super::define_runs(&bench, &["WebResize"]).await;
    helm(&bench, &["--reuse-values"]).await;
    bench
        .apply_web("shop", json!({"message": "three", "size": 5}))
        .await;
    let operator = bench.ready_operator().await;
    wait_map(&bench, "message", "three").await;
    assert_eq!(map(&bench).await["size"], "5");
    operator.stop().await.unwrap();
}

/// What is deployed is signed, and nothing is waited for.
async fn wait_taken_over(bench: &Bench, revision: u32) {
    let name = format!("sh.helm.release.v1.shop.v{revision}");
    bench
        .wait("the signature", &bench.secrets(), &name, |secret| {
            secret.pointer("/data/steersman-signature").map(drop)
        })
        .await;
}

/// They change no object, so nothing but their Secrets tells of them.
#[tokio::test]
async fn what_procedures_keep_up_outlasts_revisions_of_helms_that_change_nothing() {
    let Some((bench, operator)) = resized("proceduresame").await else {
        return;
    };
    let last = bench.revisions().await.len() as u32;
    for number in 1..=4 {
        helm(&bench, &["--reuse-values", "--history-max=3"]).await;
        let at = format!("2026-01-01T00:00:0{number}Z");
        let again = json!({"metadata": {"annotations": {"example.com/wake": at}}});
        bench.patch_web("shop", again).await;
        wait_taken_over(&bench, last + number).await;
    }
    operator.stop().await.unwrap();
    helm(
        &bench,
        &[
            "--set",
            "message=helm,size=7,mode=helm",
            "--history-max=3",
            "--force-conflicts",
        ],
    )
    .await;
    bench
        .apply_web("shop", json!({"message": "two", "size": 2}))
        .await;
    let operator = bench.ready_operator().await;
    wait_map(&bench, "message", "two").await;
    let map = map(&bench).await;
    assert_eq!((&map["mode"], &map["size"]), (&json!("large"), &json!("2")));
    operator.stop().await.unwrap();
}

/// Nothing of ours is left, and so no word of what steps have put there; values that runs change are what Helm has deployed.
#[tokio::test]
async fn a_value_does_not_jump_where_helm_has_pruned_all_of_ours() {
    let Some((bench, operator)) = resized("procedurepruned").await else {
        return;
    };
    operator.stop().await.unwrap();
    for _ in 0..2 {
        helm(&bench, &["--reuse-values", "--history-max=1"]).await;
    }
    bench
        .apply_web("shop", json!({"message": "two", "size": 4}))
        .await;
    let operator = bench.ready_operator().await;
    wait_map(&bench, "size", "3").await;
    wait_map(&bench, "size", "4").await;
    let all = runs(&bench, "WebResize");
    let all = all.list(&Default::default()).await.unwrap().items;
    assert_eq!(all.len(), 3, "to 2 before it, to 3 and to 4 after it: {all:#?}");
    operator.stop().await.unwrap();
}

/// Its number is told of, and is not another's.
#[tokio::test]
async fn what_procedures_keep_up_outlasts_the_last_revision_and_one_that_has_failed_after_it() {
    let Some((bench, operator)) = resized("procedurenumber").await else {
        return;
    };
    let operator = next_chart(&bench, operator, "data: {message", REFUSED).await;
    wait_map(&bench, "is", "new").await;
    operator.stop().await.unwrap();
    let number = bench.revisions().await.len();
    let last = format!("sh.helm.release.v1.shop.v{number}");
    bench.secrets().delete(&last, &Default::default()).await.unwrap();
    bench
        .apply_web("shop", json!({"message": "bad", "size": 2}))
        .await;
    let operator = bench.ready_operator().await;
    let failed = format!("{} failed", number + 1);
    while !bench.revisions().await.contains(&failed) {
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    bench
        .apply_web("shop", json!({"message": "two", "size": 2}))
        .await;
    wait_map(&bench, "message", "two").await;
    let map = map(&bench).await;
    assert_eq!((&map["mode"], &map["size"]), (&json!("large"), &json!("2")));
    operator.stop().await.unwrap();
}

/// Nothing else is done meanwhile, and another revision waits for a backup.
const ALONE: &str = "  - name: service
    exclusive: true
    steps:
    - {name: down, values: {mode: down}}
    - {name: work, job: procedures/job.yaml}
    finally:
    - {name: up, values: {mode: null}}
";

#[tokio::test]
async fn what_a_run_that_is_alone_has_put_there_comes_back_while_it_is_under_way() {
    let kinds = ["WebService", "WebBackup"];
    let Some(bench) = with_procedures("procedurehelmalone", &kinds, &format!("{ALONE}{PLAIN}")).await else {
        return;
    };
    let operator = released(&bench).await;
    begin(&bench, "WebService", "first", json!({})).await;
    let job = wait_job(&bench, "WebService", "first", "work", 1).await;
    assert_eq!(map(&bench).await["mode"], "down");
    // The end of the last one changes no object.
    for _ in 0..3 {
        // It is refused while the operator is at work.
        let _ = upgrade(&bench, "web", &["--set", "message=helm", "--force-conflicts"]).await;
    }
    wait_map(&bench, "message", "helm").await;
    wait_map(&bench, "mode", "down").await;
    let there = map(&bench).await;
    assert_eq!(there["message"], "helm", "no more than that");
    let web = bench.webs().get("shop").await.unwrap();
    assert_eq!(web.data["status"]["overlay"], json!({"mode": "down"}));

    // Another chart waits for its backup, and so for the end of the run.
    kill_between(&bench, operator).await;
    helm_upgrade(&bench).await;
    let (old, new) = NEW;
    bench.edit("map.yaml", old, new);
    let operator = bench.ready_operator().await;
    bench
        .wait("the run", &bench.webs(), "shop", |web| {
            let (_, reason, message) = condition(web, "Reconciling")?;
            (reason == "ProcedureNotFinished" && message == "WebService first is under way").then_some(())
        })
        .await;
    assert_eq!(map(&bench).await["mode"], "normal");
    let operator = next_chart(&bench, operator, new, old).await;
    wait_map(&bench, "mode", "down").await;

    end_pod(&bench, &job, "Succeeded", "").await;
    wait_phase(&bench, "WebService", "first", "Succeeded").await;
    wait_map(&bench, "mode", "normal").await;
    let backup = awaited(&bench, "").await;
    assert_eq!(map(&bench).await["message"], "helm");
    let job = wait_job(&bench, "WebBackup", &backup, "job", 1).await;
    end_pod(&bench, &job, "Succeeded", "").await;
    wait_map(&bench, "message", "one").await;
    operator.stop().await.unwrap();
}

/// Keeps Helm from its end.
const LATE: &str = "apiVersion: batch/v1
kind: Job
metadata: {name: late, annotations: {helm.sh/hook: post-upgrade}}
spec:
  backoffLimit: 0
  template:
    spec:
      restartPolicy: Never
      containers: [{name: main, image: none}]
";

/// A chart that is the release's, and has the hook.
fn late_chart(bench: &Bench) {
    let chart = bench.folder.path().join("late");
    copy(&bench.folder.path().join("web"), &chart);
    std::fs::write(chart.join("templates/late.yaml"), LATE).unwrap();
}

/// Waits until Helm waits for the hook.
async fn wait_late(bench: &Bench) {
    let jobs = super::jobs(bench);
    let is_there = |job: &serde_json::Value| job.get("metadata").map(drop);
    bench.wait("the hook", &jobs, "late", is_there).await;
}

/// Nothing of ours is left that says what the release has, and Helm has not ended: the last step puts no more there than values.
#[tokio::test]
async fn the_last_steps_of_a_run_bring_nothing_before_its_gate_while_helm_is_at_work() {
    let kinds = ["WebService", "WebBackup"];
    let Some(bench) = with_procedures("procedurepending", &kinds, &format!("{ALONE}{PLAIN}")).await else {
        return;
    };
    let operator = released(&bench).await;
    begin(&bench, "WebService", "first", json!({})).await;
    let job = wait_job(&bench, "WebService", "first", "work", 1).await;
    operator.kill().await.unwrap();
    let few = ["--force-conflicts", "--history-max=1", "--set"];
    for number in 0..3 {
        let message = format!("message=helm{number}");
        helm(&bench, &[&few[..], &[&message]].concat()).await;
    }
    bench.apply_web("shop", json!({"message": "two"})).await;
    let late = [&few[..], &["message=late", "--timeout=10m"]].concat();
    late_chart(&bench);
    let meanwhile = async {
        wait_late(&bench).await;
        let operator = bench.ready_operator().await;
        end_pod(&bench, &job, "Succeeded", "").await;
        wait_phase(&bench, "WebService", "first", "Succeeded").await;
        let backup = awaited(&bench, "").await;
        let job = wait_job(&bench, "WebBackup", &backup, "job", 1).await;
        assert_eq!(map(&bench).await["message"], "late");
        end_pod(&bench, "late", "Succeeded", "").await;
        end_pod(&bench, &job, "Succeeded", "").await;
        wait_map(&bench, "message", "two").await;
        operator.stop().await.unwrap();
    };
    let (ended, ()) = tokio::join!(upgrade(&bench, "late", &late), meanwhile);
    ended.unwrap();
}

/// Helm writes what it does over what was done meanwhile.
/// Helm writes what it does over what was done meanwhile.
#[tokio::test]
async fn what_procedures_keep_up_outlasts_an_upgrade_of_helms_that_ends_behind_another_revision() {
    let Some((bench, operator)) = resized("procedurelate").await else {
        return;
    };
    late_chart(&bench);
    let values = [
        "--set",
        "message=helm,size=7,mode=helm",
        "--force-conflicts",
        "--timeout=10m",
    ];
    let meanwhile = async {
        wait_late(&bench).await;
        bench
            .apply_web("shop", json!({"message": "two", "size": 2}))
            .await;
        wait_map(&bench, "message", "two").await;
        end_pod(&bench, "late", "Succeeded", "").await;
    };
    let (ended, ()) = tokio::join!(upgrade(&bench, "late", &values), meanwhile);
    ended.unwrap();
    let again = json!({"metadata": {"annotations": {"example.com/wake": "now"}}});
    bench.patch_web("shop", again).await;
    let deadline = tokio::time::Instant::now() + Duration::from_mins(1);
    loop {
        let found = bench.revisions().await;
        let deployed = found.iter().filter(|one| one.ends_with(" deployed"));
        if deployed.count() == 1 && found.last().unwrap().ends_with(" deployed") {
            wait_taken_over(&bench, found.len() as u32).await;
            break;
        }
        assert!(tokio::time::Instant::now() < deadline, "{found:?}");
        tokio::time::sleep(Duration::from_millis(200)).await;
    }
    let map = map(&bench).await;
    let expect = json!({"message": "two", "mode": "large", "size": "2"});
    assert_eq!(map, expect);
    operator.stop().await.unwrap();
}

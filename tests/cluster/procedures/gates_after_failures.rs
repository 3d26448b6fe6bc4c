//! Gates after an upgrade that has failed, and behind revisions of others.

use std::time::Duration;

use serde_json::json;
use steersman_testkit::cluster::OperatorProcess;

use super::gates::{NEW, SERVICE, next_chart, wait_kept_out};
use super::values::{map, wait_map, with_procedures};
use super::{awaited, end_pod, released, runs, wait_job, wait_phase};
use crate::bench::{Bench, condition};

const MESSAGE: &str =
    "  - {name: backup, job: procedures/job.yaml, before: {upgrade: true, changed: [message]}}\n";

#[tokio::test]
async fn a_chart_that_was_undone_is_still_another_one() {
    let Some(bench) = with_procedures("procedureundone", &["WebBackup"], MESSAGE).await else {
        return;
    };
    let operator = released(&bench).await;
    let rolls_back = json!({"metadata": {"annotations": {"steersman.dev/rollback-on-failure": "true"}}});
    bench.patch_web("shop", rolls_back).await;
    // The server refuses it, but with another mode.
    let new = "immutable: {{ if .Values.mode }}false{{ else }}7{{ end }}\ndata: {is: new, message";
    let old = "data: {message";
    let operator = next_chart(&bench, operator, old, new).await;
    let run = awaited(&bench, "").await;
    let job = wait_job(&bench, "WebBackup", &run, "job", 1).await;
    end_pod(&bench, &job, "Succeeded", "").await;
    bench
        .wait("the failure", &bench.webs(), "shop", |web| {
            let (status, ..) = condition(web, "ReleaseFailed").or_else(|| condition(web, "Stalled"))?;
            (status == "True").then_some(())
        })
        .await;
    // That is a value which needs no backup by itself, and brings the chart with it.
    bench
        .apply_web("shop", json!({"message": "one", "mode": "slow"}))
        .await;
    let second = awaited(&bench, &run).await;
    let job = wait_job(&bench, "WebBackup", &second, "job", 1).await;
    assert_eq!(map(&bench).await["mode"], "normal");
    end_pod(&bench, &job, "Succeeded", "").await;
    wait_map(&bench, "mode", "slow").await;
    operator.stop().await.unwrap();
}

async fn approve_late(bench: &Bench, revision: u32) {
    let stage = format!("{revision}/late");
    let approved = json!({"metadata": {"annotations": {"steersman.dev/approve-stage": stage}}});
    bench.patch_web("shop", approved).await;
}

/// A release with a stage that waits for a word each time, and a run that comes before its second revision, at work.
async fn approved(test: &str) -> Option<(Bench, OperatorProcess, (String, String))> {
    let stages = "  stages:\n  - {name: late, objects: [{kind: Secret}], approve: true}\n";
    let bench = with_procedures(test, &["WebService"], &format!("{SERVICE}{stages}")).await?;
    let operator = bench.ready_operator().await;
    bench.apply_web("shop", json!({"message": "one"})).await;
    approve_late(&bench, 1).await;
    bench.wait_revision("shop", 1).await;
    bench.apply_web("shop", json!({"message": "two"})).await;
    let run = awaited(&bench, "").await;
    approve_late(&bench, 2).await;
    let job = wait_job(&bench, "WebService", &run, "work", 1).await;
    Some((bench, operator, (run, job)))
}

#[tokio::test]
async fn a_revision_that_is_not_gone_on_with_keeps_no_run_from_its_end() {
    let Some((bench, operator, (run, job))) = approved("procedurestaged").await else {
        return;
    };
    end_pod(&bench, &job, "Succeeded", "").await;
    approve_late(&bench, 3).await;
    wait_map(&bench, "message", "two").await;
    // The fourth waits for its stage when another chart comes, which waits for another run.
    let operator = next_chart(&bench, operator, NEW.0, NEW.1).await;
    let run = awaited(&bench, &run).await;
    wait_kept_out(&bench, &run).await;
    operator.stop().await.unwrap();
}

#[tokio::test]
async fn what_a_run_has_put_there_goes_although_its_last_revision_is_not_gone_on_with() {
    let Some((bench, operator, (run, job))) = approved("procedureleft").await else {
        return;
    };
    end_pod(&bench, &job, "Failed", "disk full").await;
    wait_map(&bench, "mode", "normal").await;
    // The third waits for its stage when another chart comes, and what is deployed is the second, with its mode.
    let operator = next_chart(&bench, operator, NEW.0, NEW.1).await;
    wait_map(&bench, "is", "new").await;
    assert_eq!(map(&bench).await["mode"], "normal");
    approve_late(&bench, 4).await;
    wait_phase(&bench, "WebService", &run, "Failed").await;
    operator.stop().await.unwrap();
}

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

async fn helm(bench: &Bench, values: &[&str]) {
    let chart = bench.folder.path().join("web");
    let chart = chart.to_str().unwrap();
    let upgrade = ["upgrade", "shop", chart, "--namespace", &bench.namespace];
    bench
        .cluster
        .helm(&[&upgrade[..], values].concat())
        .await
        .unwrap();
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

/// Revisions that have failed take the place in the history of those that tell it.
async fn outlasts_failures(test: &str, options: &[&str], failures: usize) {
    let Some((bench, operator)) = resized(test).await else {
        return;
    };
    let refused = "immutable: {{ if hasPrefix \"bad\" .Values.message }}7{{ else }}false{{ end }}\ndata: {is: new, message";
    let operator = next_chart(&bench, operator, "data: {message", refused).await;
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

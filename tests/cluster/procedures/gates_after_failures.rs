//! Gates after an upgrade that has failed, and behind revisions of others.

use serde_json::json;
use steersman_testkit::cluster::OperatorProcess;

use super::gates::next_chart;
use super::values::{map, wait_map, with_procedures};
use super::{awaited, end_pod, released, runs, wait_job};
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
    let chart = bench.folder.path().join("web");
    let upgrade = [
        "upgrade",
        "shop",
        chart.to_str().unwrap(),
        "--namespace",
        &bench.namespace,
    ];
    let values = ["--set", "message=helm", "--force-conflicts"];
    bench
        .cluster
        .helm(&[&upgrade[..], &values[..]].concat())
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

//! Gates after an upgrade that has failed, and behind revisions of others.

use serde_json::json;

use super::gates::next_chart;
use super::values::{map, wait_map, with_procedures};
use super::{awaited, end_pod, released, runs, wait_job};
use crate::bench::condition;

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

#[tokio::test]
async fn what_procedures_keep_up_outlasts_a_revision_of_helms() {
    let Some(bench) = with_procedures("procedurehelm", &["WebResize"], RESIZE).await else {
        return;
    };
    let operator = released(&bench).await;
    bench
        .apply_web("shop", json!({"message": "one", "size": 2}))
        .await;
    wait_map(&bench, "size", "2").await;
    wait_map(&bench, "mode", "large").await;
    operator.stop().await.unwrap();
    // Helm takes the word of the revision away that it replaces.
    let chart = bench.folder.path().join("web");
    let chart = chart.to_str().unwrap();
    let upgrade = [
        "upgrade",
        "shop",
        chart,
        "--namespace",
        &bench.namespace,
        "--set",
        "message=helm",
        "--force-conflicts",
    ];
    bench.cluster.helm(&upgrade).await.unwrap();
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

/// What procedures keep up is told by one signed revision alone after each of Helm's.
#[tokio::test]
async fn what_procedures_keep_up_outlasts_many_revisions_of_helms() {
    let Some(bench) = with_procedures("procedurehelms", &["WebResize"], RESIZE).await else {
        return;
    };
    let mut operator = released(&bench).await;
    bench
        .apply_web("shop", json!({"message": "one", "size": 2}))
        .await;
    wait_map(&bench, "mode", "large").await;
    let chart = bench.folder.path().join("web");
    let chart = chart.to_str().unwrap();
    for number in 0..6 {
        operator.stop().await.unwrap();
        let upgrade = [
            "upgrade",
            "shop",
            chart,
            "--namespace",
            &bench.namespace,
            "--set",
            "message=helm",
            "--force-conflicts",
        ];
        bench.cluster.helm(&upgrade).await.unwrap();
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

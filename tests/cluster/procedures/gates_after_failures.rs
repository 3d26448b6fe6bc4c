//! Gates after an upgrade that has failed, and behind revisions of others.

use serde_json::json;

use super::gates::next_chart;
use super::values::{map, wait_map, with_procedures};
use super::{awaited, end_pod, released, wait_job};
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

//! Gates after an upgrade that has failed.

use serde_json::json;
use steersman_testkit::cluster::OperatorProcess;

use super::gates::{NEW, SERVICE, next_chart, wait_kept_out};
use super::values::{map, wait_map, with_procedures};
use super::{awaited, end_pod, released, wait_job, wait_phase};
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

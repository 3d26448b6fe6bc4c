//! What the status tells of stages beside a failure.

use std::time::Duration;

use serde_json::{Value, json};

use super::{annotate, approved, give_address, install, is_there, set_addresses, site, stages, wait_stages};

/// Too long for a name, so that the Ingress of this part is refused.
fn invalid() -> String {
    "b".repeat(400)
}

#[tokio::test]
async fn a_retry_that_is_asked_for_in_advance_begins_no_stage() {
    let entry = approved(&stages(&["a", "b"]), "b");
    let Some(bench) = site("told-retry", &["a", "b"], &entry).await else {
        return;
    };
    let operator = bench.operator_with(&[]).await;
    bench.apply_web("site", json!({})).await;
    wait_stages(&bench, "site", "a 1 Progressing, b 1 Pending").await;
    annotate(&bench, "site", "steersman.dev/retry-stage", "1/b/now").await;
    give_address(&bench, "site-a-1").await;
    wait_stages(&bench, "site", "a 1 Ready, b 1 ApprovalRequired").await;
    tokio::time::sleep(Duration::from_secs(1)).await;
    assert!(!is_there(&bench, "site-b-1").await);
    operator.stop().await.unwrap();
}

#[tokio::test]
async fn a_revision_that_is_undone_waits_for_no_stage() {
    let entry = stages(&["a", "b"]);
    let Some(bench) = site("told-undone", &["a", "b"], &entry).await else {
        return;
    };
    let operator = bench.operator_with(&["--rollback-on-failure"]).await;
    install(&bench, "site", &["a", "b"]).await;
    set_addresses(&bench, "site-a-1", Value::Null).await;
    bench.apply_web("site", json!({ "b": invalid() })).await;
    wait_stages(&bench, "site", "a 2 Progressing, b 2 Pending").await;
    give_address(&bench, "site-a-1").await;
    let (_, _, message) = bench.wait_failed("site", "ReleaseFailed").await;
    assert!(message.contains("rolled back to revision 1"), "{message}");
    let web = wait_stages(&bench, "site", "a 2 Ready, b 2 Failed").await;
    let why = web["status"]["stages"][1]["message"].as_str().unwrap_or_default();
    assert!(why.contains("rolled back to revision 1"), "{why}");
    operator.stop().await.unwrap();
}

#[tokio::test]
async fn a_stage_that_was_late_is_ready_where_the_next_one_is_refused() {
    let entry = stages(&["a", "b"]) + "  wait: {timeout: 2s}\n";
    let Some(bench) = site("told-late", &["a", "b"], &entry).await else {
        return;
    };
    let operator = bench.operator_with(&[]).await;
    bench.apply_web("site", json!({ "b": invalid() })).await;
    wait_stages(&bench, "site", "a 1 Failed, b 1 Pending").await;
    give_address(&bench, "site-a-1").await;
    wait_stages(&bench, "site", "a 1 Ready, b 1 Failed").await;
    operator.kill().await.unwrap();
    let operator = bench.operator_with(&[]).await;
    tokio::time::sleep(Duration::from_secs(2)).await;
    wait_stages(&bench, "site", "a 1 Ready, b 1 Failed").await;
    operator.stop().await.unwrap();
}

#[tokio::test]
async fn stages_are_told_beside_values_that_are_missing() {
    let from = "  valuesFrom:\n  - {kind: ConfigMap, name: more}\n";
    let entry = stages(&["a", "b"]) + from;
    let Some(bench) = site("told-values", &["a", "b"], &entry).await else {
        return;
    };
    let more = json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "more"},
        "data": {"values.yaml": "c: 1\n"}});
    bench.create(&bench.config_maps(), more).await;
    let operator = bench.operator_with(&[]).await;
    bench.apply_web("site", json!({})).await;
    wait_stages(&bench, "site", "a 1 Progressing, b 1 Pending").await;
    bench
        .config_maps()
        .delete("more", &Default::default())
        .await
        .unwrap();
    bench
        .wait("the missing values", &bench.webs(), "site", |web| {
            let (_, _, message) = crate::bench::condition(web, "Ready")?;
            message.contains("more").then_some(())
        })
        .await;
    set_addresses(&bench, "site-a-1", json!([{"ip": "192.0.2.1"}])).await;
    let web = bench
        .wait("the stage", &bench.webs(), "site", |web| {
            let message = web.pointer("/status/stages/0/message")?.as_str()?;
            (!message.contains("has no address")).then(|| web.clone())
        })
        .await;
    let ready = &web["status"]["conditions"];
    assert!(ready.to_string().contains("more"), "{ready}");
    operator.stop().await.unwrap();
}

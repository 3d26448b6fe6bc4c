//! Fields that the chart renders and others manage.

use serde_json::{Value, json};

use crate::bench::{Bench, condition};

/// Has `kubectl` set the message of the config map, as a manager of its own.
async fn set_message(bench: &Bench, message: &str) {
    let patch = json!({"data": {"message": message}}).to_string();
    let arguments = ["patch", "configmap", "shop-config", "-n", &bench.namespace];
    let manager = ["--field-manager=kubectl-theirs", "--type=merge", "-p", &patch];
    bench
        .cluster
        .kubectl(&[arguments.as_slice(), &manager].concat())
        .await
        .unwrap();
}

async fn message_of(bench: &Bench) -> Value {
    bench.config_maps().get("shop-config").await.unwrap().data["data"]["message"].clone()
}

#[tokio::test]
async fn fields_of_others_are_named_and_left_where_the_watch_wants_so() {
    let Some(bench) = Bench::with_kind("conflicts").await else {
        return;
    };
    let group = &bench.group;
    bench.watches(&format!(
        "- {{group: {group}, version: v1, kind: Web, chart: web, conflicts: fail}}\n"
    ));
    let operator = bench.ready_operator().await;
    bench.apply_web("shop", json!({"message": "ours"})).await;
    bench.wait_revision("shop", 1).await;
    let said = format!(
        "failed to apply ConfigMap {}/shop-config: data.message is managed by \"kubectl-theirs\"",
        bench.namespace
    );

    set_message(&bench, "theirs").await;
    let message = bench
        .wait("the conflict", &bench.webs(), "shop", |web| {
            condition(web, "Stalled").map(|(_, _, message)| message)
        })
        .await;
    assert!(message.contains(&said), "{message}");
    bench
        .apply_web("shop", json!({"message": "new", "extra": true}))
        .await;
    let (_, reason, message) = bench.wait_failed("shop", "ReleaseFailed").await;
    assert_eq!(reason, "UpgradeError");
    assert!(message.contains(&said), "{message}");
    assert_eq!(message_of(&bench).await, "theirs");
    assert_eq!(bench.revisions().await, ["1 deployed", "2 failed"]);

    // Both agree.
    set_message(&bench, "new").await;
    let web = bench.wait_revision("shop", 2).await;
    assert_eq!(condition(&web, "Stalled"), None);
    assert_eq!(bench.revisions().await, ["1 superseded", "2 deployed"]);
    operator.stop().await.unwrap();
}

#[tokio::test]
async fn fields_of_others_become_ours_otherwise() {
    let Some(bench) = Bench::with_kind("conflicts").await else {
        return;
    };
    let group = &bench.group;
    let entry = format!(
        "- {{group: {group}, version: v1, kind: Web, chart: web, driftDetection: {{mode: disabled}}}}\n"
    );
    bench.watches(&entry);
    let operator = bench.ready_operator().await;
    bench.apply_web("shop", json!({"message": "ours"})).await;
    bench.wait_revision("shop", 1).await;
    set_message(&bench, "theirs").await;
    bench.apply_web("shop", json!({"message": "new"})).await;
    bench.wait_revision("shop", 2).await;
    assert_eq!(message_of(&bench).await, "new");
    operator.stop().await.unwrap();
}

#[tokio::test]
async fn ignored_fields_of_others_are_no_conflict() {
    let Some(bench) = Bench::with_kind("conflicts").await else {
        return;
    };
    let group = &bench.group;
    let ignore = "driftDetection: {ignore: [{paths: [/data/message]}]}";
    let entry =
        format!("- {{group: {group}, version: v1, kind: Web, chart: web, conflicts: fail, {ignore}}}\n");
    bench.watches(&entry);
    let operator = bench.ready_operator().await;
    bench.apply_web("shop", json!({"message": "ours"})).await;
    bench.wait_revision("shop", 1).await;
    set_message(&bench, "theirs").await;
    bench
        .apply_web("shop", json!({"message": "ours", "extra": true}))
        .await;
    bench.wait_revision("shop", 2).await;
    assert_eq!(message_of(&bench).await, "theirs");
    operator.stop().await.unwrap();
}

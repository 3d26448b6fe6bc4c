//! What runs make, and when they are made.

use std::time::Instant;

use kube::api::{DeleteParams, Patch, PatchParams};
use serde_json::json;

use super::{MAP, RECONCILE_PERIOD, Roles, says};
use crate::bench::condition;

#[tokio::test]
async fn a_role_makes_what_the_resource_says_and_puts_it_back() {
    let test = "a_role_makes_what_the_resource_says_and_puts_it_back";
    let Some(roles) = Roles::new(test, MAP, "").await else {
        return;
    };
    let operator = roles.operator().await;
    let bench = &roles.bench;
    bench.apply_web("shop", says("one")).await;
    let made = roles.wait_map("shop", "one").await;
    let web = roles.wait_done("shop").await;
    let uid = web["metadata"]["uid"].as_str().unwrap();
    assert_eq!(made["metadata"]["labels"]["steersman.dev/owner-uid"], uid);
    assert_eq!(made["metadata"]["ownerReferences"][0]["uid"], uid);
    let result = web.pointer("/status/conditions/0/ansibleResult").unwrap();
    assert_eq!(
        (&result["changed"], &result["failures"]),
        (&json!(2), &json!(0)),
        "{web:#}"
    );

    bench.apply_web("shop", says("two")).await;
    roles.wait_map("shop", "two").await;
    roles.wait_done("shop").await;
    roles.stays_at(2).await;

    // Changed, then deleted by others.
    let maps = bench.config_maps();
    let changed = Patch::Merge(json!({"data": {"message": "theirs"}}));
    maps.patch("shop-made", &PatchParams::default(), &changed)
        .await
        .unwrap();
    let begun = Instant::now();
    roles.wait_runs(3).await;
    // A run takes about a second until its first task.
    assert!(begun.elapsed().as_secs() < 20, "{:?}", begun.elapsed());
    roles.wait_map("shop", "two").await;
    roles.wait_done("shop").await;
    maps.delete("shop-made", &DeleteParams::default()).await.unwrap();
    roles.wait_runs(4).await;
    roles.wait_map("shop", "two").await;
    roles.wait_done("shop").await;
    operator.stop().await.unwrap();

    // A restart runs nothing that is settled, and sees what was changed while nobody looked.
    let operator = roles.operator().await;
    roles.stays_at(4).await;
    operator.stop().await.unwrap();
    maps.delete("shop-made", &DeleteParams::default()).await.unwrap();
    let operator = roles.operator().await;
    roles.wait_runs(5).await;
    roles.wait_map("shop", "two").await;
    operator.stop().await.unwrap();
}

/// A playbook whose resource has no status, at a period.
#[tokio::test]
async fn a_playbook_runs_at_its_period_and_when_annotations_change() {
    let test = "a_playbook_runs_at_its_period_and_when_annotations_change";
    let Some(roles) = Roles::new(test, "", "").await else {
        return;
    };
    roles.write(
        "playbooks/web.yml",
        "- hosts: localhost\n  gather_facts: false\n  tasks:\n  - ansible.builtin.shell: echo {{ size }} >> {{ runs_file }}\n",
    );
    let fields = ", manageStatus: false, watchAnnotationsChanges: true, reconcilePeriod: 1h";
    roles.entry("playbook: playbooks/web.yml", fields);
    let operator = roles.operator().await;
    let bench = &roles.bench;
    bench.apply_web("shop", json!({"size": 1})).await;
    roles.wait_runs(1).await;
    roles.stays_at(1).await;
    let web = bench.webs().get("shop").await.unwrap();
    assert!(web.data.get("status").is_none(), "{web:?}");

    bench
        .patch_web("shop", json!({"metadata": {"annotations": {"team": "a"}}}))
        .await;
    roles.wait_runs(2).await;
    roles.stays_at(2).await;

    bench
        .patch_web(
            "shop",
            json!({"metadata": {"annotations": {RECONCILE_PERIOD: "2s"}}}),
        )
        .await;
    roles.wait_runs(5).await;
    operator.stop().await.unwrap();
}

#[tokio::test]
async fn a_pause_holds_runs_and_is_said() {
    let Some(roles) = Roles::new("a_pause_holds_runs_and_is_said", MAP, "").await else {
        return;
    };
    let operator = roles.operator().await;
    let bench = &roles.bench;
    bench.apply_web("shop", says("one")).await;
    roles.wait_done("shop").await;
    let pause =
        |value: serde_json::Value| json!({"metadata": {"annotations": {"steersman.dev/pause": value}}});
    bench.patch_web("shop", pause(json!("true"))).await;
    let paused = |web: &serde_json::Value| condition(web, "Paused");
    bench.wait("the pause", &bench.webs(), "shop", paused).await;
    bench.apply_web("shop", says("two")).await;
    roles.stays_at(1).await;
    bench.patch_web("shop", pause(json!(null))).await;
    roles.wait_map("shop", "two").await;
    let web = roles.wait_done("shop").await;
    assert!(condition(&web, "Paused").is_none(), "{web:#}");

    // What is changed and put back meanwhile is no reason for a run, and another generation.
    bench.patch_web("shop", pause(json!("true"))).await;
    bench.wait("the pause", &bench.webs(), "shop", paused).await;
    bench.apply_web("shop", says("three")).await;
    bench.apply_web("shop", says("two")).await;
    bench.patch_web("shop", pause(json!(null))).await;
    roles.wait_done("shop").await;
    assert_eq!(roles.runs(), 2);
    operator.stop().await.unwrap();
}

/// The modules that tell the operator something come with it.
#[tokio::test]
async fn roles_write_the_status_and_ask_for_another_run() {
    let test = "roles_write_the_status_and_ask_for_another_run";
    let tasks = "
- operator_sdk.util.k8s_status:
    api_version: \"{{ api }}\"
    kind: Web
    name: \"{{ ansible_operator_meta.name }}\"
    namespace: \"{{ ansible_operator_meta.namespace }}\"
    status: {nodes: 3}
    conditions: [{type: Backup, status: \"True\", message: \"{{ lookup('file', runs_file) | length }}\"}]
- operator_sdk.util.requeue_after: {time: 1s}
  when: lookup('file', runs_file).splitlines() | length < 2
";
    let Some(roles) = Roles::new(test, tasks, "").await else {
        return;
    };
    let bench = &roles.bench;
    let operator = roles.operator().await;
    bench
        .apply_web("shop", json!({"api": format!("{}/v1", bench.group)}))
        .await;
    roles.wait_runs(2).await;
    let web = roles.wait_done("shop").await;
    assert_eq!(web["status"]["nodes"], 3);
    assert!(condition(&web, "Backup").is_some(), "{web:#}");
    roles.stays_at(2).await;
    operator.stop().await.unwrap();
}

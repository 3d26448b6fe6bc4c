//! Revisions that are deployed when their objects are ready.

use std::time::Duration;

use serde_json::json;

use super::{annotate, give_address, is_there, site, wait_reason};
use crate::bench::{Bench, condition};

const SHORT: &str = "  wait: {timeout: 3s}\n";
const LONG: &str = "  wait: {timeout: 10m}\n";

/// So long nothing is to happen.
const WINDOW: Duration = Duration::from_secs(6);

#[tokio::test]
async fn a_revision_is_deployed_when_its_objects_are_ready() {
    let Some(bench) = site("gates-wait", &["a"], LONG).await else {
        return;
    };
    let operator = bench.operator_with(&[]).await;
    bench.apply_web("site", json!({})).await;
    let message = wait_reason(&bench, "site", "Reconciling", "DependentsProgressing").await;
    assert!(
        message.contains("revision 1 is not ready yet") && message.contains("site-a-1: it has no address"),
        "{message}"
    );
    assert_eq!(bench.revisions().await, ["1 pending-install"]);

    let mark = bench.cluster.audit_mark().await.unwrap();
    tokio::time::sleep(WINDOW).await;
    let audit = bench.cluster.audit_since(mark).await.unwrap();
    let audit = audit.by_user(bench.user.name());
    let others = audit.filter(|request| request.verb != "watch" && request.resource != "leases");
    assert!(others.is_empty(), "{others}");

    give_address(&bench, "site-a-1").await;
    let web = bench.wait_revision("site", 1).await;
    assert_eq!(condition(&web, "Ready").unwrap().0, "True");
    assert_eq!(web.pointer("/status/stages"), None);
    assert_eq!(bench.revisions().await, ["1 deployed"]);
    operator.stop().await.unwrap();
}

#[tokio::test]
async fn what_is_not_ready_in_time_has_failed_and_goes_on_when_it_is() {
    let Some(bench) = site("gates-late", &["a"], SHORT).await else {
        return;
    };
    let operator = bench.operator_with(&[]).await;
    bench.apply_web("site", json!({})).await;
    let message = wait_reason(&bench, "site", "Stalled", "DependentsFailed").await;
    assert!(
        message.contains("revision 1 was not ready within 3s") && message.contains("it has no address"),
        "{message}"
    );
    assert_eq!(bench.revisions().await, ["1 failed"]);
    // A restart finds it as it was.
    operator.stop().await.unwrap();
    let operator = bench.operator_with(&[]).await;
    tokio::time::sleep(Duration::from_secs(1)).await;
    assert_eq!(bench.revisions().await, ["1 failed"]);
    give_address(&bench, "site-a-1").await;
    bench.wait_revision("site", 1).await;
    assert_eq!(bench.revisions().await, ["1 deployed"]);
    operator.stop().await.unwrap();
}

#[tokio::test]
async fn an_upgrade_that_does_not_get_ready_is_rolled_back() {
    let Some(bench) = site("gates-back", &["a", "b"], SHORT).await else {
        return;
    };
    let operator = bench.operator_with(&[]).await;
    bench.apply_web("site", json!({})).await;
    annotate(&bench, "site", "steersman.dev/rollback-on-failure", "true").await;
    give_address(&bench, "site-a-1").await;
    give_address(&bench, "site-b-1").await;
    bench.wait_revision("site", 1).await;

    bench.apply_web("site", json!({"a": "2"})).await;
    let event = bench.wait_event("ReleaseRolledBack").await;
    assert!(event.contains("revision 1"), "{event}");
    let (_, message) = bench.wait_stalled("site").await;
    assert!(
        message.contains("revision 2 was not ready within 3s")
            && message.contains("rolled back to revision 1"),
        "{message}"
    );
    assert!(!is_there(&bench, "site-a-2").await && is_there(&bench, "site-a-1").await);
    assert_eq!(bench.revisions().await, ["1 deployed", "2 failed"]);
    // It is not tried again, and another spec is.
    bench.apply_web("site", json!({"b": "3"})).await;
    give_address(&bench, "site-b-3").await;
    bench.wait_revision("site", 3).await;
    assert!(
        !is_there(&bench, "site-b-1").await,
        "what nobody wants goes when the rest is ready"
    );
    operator.stop().await.unwrap();
}

#[tokio::test]
async fn an_annotation_says_whether_a_release_waits() {
    let Some(bench) = site("gates-asked", &["a"], LONG).await else {
        return;
    };
    let operator = bench.operator_with(&[]).await;
    let web = |name: &str, wait: &str| {
        json!({"apiVersion": format!("{}/v1", bench.group), "kind": "Web",
            "metadata": {"name": name, "annotations": {"steersman.dev/wait": wait}}})
    };
    bench.create(&bench.webs(), web("now", "false")).await;
    bench.wait_revision("now", 1).await;
    bench.create(&bench.webs(), web("soon", "2s")).await;
    wait_reason(&bench, "soon", "Stalled", "DependentsFailed").await;
    operator.stop().await.unwrap();
}

/// Whether a job is complete, where that is waited for.
fn job_of(bench: &Bench, entry: &str) {
    bench.remove_templates();
    let job = "apiVersion: batch/v1\nkind: Job\nmetadata: {name: '{{ .Release.Name }}-job'}\nspec:\n  template:\n    spec:\n      \
               restartPolicy: Never\n      containers: [{name: main, image: none}]\n";
    bench.add_template("job.yaml", job);
    let group = &bench.group;
    bench.watches(&format!(
        "- group: {group}\n  version: v1\n  kind: Web\n  chart: web\n{entry}"
    ));
}

#[tokio::test]
async fn jobs_are_waited_for_where_the_watch_says_so() {
    let Some(bench) = site("gates-jobs", &[], "").await else {
        return;
    };
    job_of(&bench, "  wait: {timeout: 10m, jobs: true}\n");
    let operator = bench.operator_with(&[]).await;
    bench.apply_web("site", json!({})).await;
    let message = wait_reason(&bench, "site", "Reconciling", "DependentsProgressing").await;
    assert!(message.contains("Job"), "{message}");
    crate::hooks::finish_job_of(&bench, "site", "Complete").await;
    bench.wait_revision("site", 1).await;
    operator.stop().await.unwrap();
}

//! What comes behind the last gate, and between two of them.

use std::time::Duration;

use kube::api::DeleteParams;
use serde_json::{Value, json};

use super::{annotate, give_address, ingresses, set_addresses, site, stages, wait_reason, wait_stages};
use crate::bench::condition;
use crate::hooks::finish_job_of;

const SMOKE: &str = "apiVersion: batch/v1
kind: Job
metadata:
  name: {{ .Release.Name }}-job
  annotations: {helm.sh/hook: post-upgrade}
spec:
  backoffLimit: 0
  template:
    spec:
      restartPolicy: Never
      containers: [{name: job, image: registry.example.com/job:1}]
";

#[tokio::test]
async fn what_was_deleted_stays_so_where_a_hook_fails_behind_it() {
    let Some(bench) = site("behind", &["a"], "  wait: {timeout: 10m}\n").await else {
        return;
    };
    bench.add_template("smoke.yaml", SMOKE);
    let operator = bench.operator_with(&[]).await;
    bench.apply_web("site", json!({})).await;
    give_address(&bench, "site-a-1").await;
    bench.wait_revision("site", 1).await;
    bench.apply_web("site", json!({"a": "2"})).await;
    give_address(&bench, "site-a-2").await;
    let waits_for_hook = |web: &Value| {
        let (_, _, message) = condition(web, "Reconciling")?;
        message.contains("post-upgrade hook").then_some(())
    };
    let webs = bench.webs();
    bench.wait("the hook", &webs, "site", waits_for_hook).await;
    bench.wait_gone(&ingresses(&bench), "site-a-1").await;

    set_addresses(&bench, "site-a-2", Value::Null).await;
    finish_job_of(&bench, "site", "Failed").await;
    let (_, _, message) = bench.wait_failed("site", "ReleaseFailed").await;
    assert!(message.contains("post-upgrade hook"), "{message}");
    // The next process knows no more than what is written down.
    operator.kill().await.unwrap();
    let operator = bench.operator_with(&[]).await;
    for _ in 0..8 {
        let former = ingresses(&bench).get_opt("site-a-1").await.unwrap();
        assert!(former.is_none(), "the revision has deleted it");
        tokio::time::sleep(Duration::from_millis(500)).await;
    }
    operator.stop().await.unwrap();
}

#[tokio::test]
async fn a_kind_of_an_earlier_stage_is_known_in_a_later_one() {
    let entry = stages(&["a"]) + "  - name: thing\n    objects: [{kind: Thing}]\n";
    let Some(bench) = site("kinds-behind", &["a"], &entry).await else {
        return;
    };
    let group = format!("things.{}", bench.group);
    bench.add_template(
        "thing.yaml",
        &format!(
            "apiVersion: apiextensions.k8s.io/v1\nkind: CustomResourceDefinition\nmetadata: {{name: things.{group}}}\nspec:\n  \
             group: {group}\n  scope: Namespaced\n  names: {{kind: Thing, plural: things}}\n  versions: [{{name: v1, served: \
             true, storage: true, schema: {{openAPIV3Schema: {{type: object}}}}}}]\n---\napiVersion: {group}/v1\nkind: \
             Thing\nmetadata: {{name: '{{{{ .Release.Name }}}}'}}\n"
        ),
    );
    let operator = bench.operator_with(&["--rollback-on-failure"]).await;
    bench.apply_web("site", json!({})).await;
    give_address(&bench, "site-a-1").await;
    bench.wait_revision("site", 1).await;
    assert_eq!(bench.revisions().await, ["1 deployed"]);
    let events = bench.events().await;
    assert!(
        !events.contains("ReleaseFailed") && !events.contains("ReleaseStalled"),
        "{events}"
    );
    operator.stop().await.unwrap();
}

#[tokio::test]
async fn the_status_tells_of_the_stages_of_the_revision_that_has_failed() {
    let check = "  healthChecks:\n  - {apiVersion: networking.k8s.io/v1, kind: Ingress, current: \
                 has(status.loadBalancer.ingress), failed: \"metadata.?annotations.?bad.hasValue()\"}\n";
    let entry = stages(&["a", "b"]) + check;
    let Some(bench) = site("failed-stages", &["a", "b"], &entry).await else {
        return;
    };
    let operator = bench.operator_with(&[]).await;
    bench.apply_web("site", json!({})).await;
    give_address(&bench, "site-a-1").await;
    give_address(&bench, "site-b-1").await;
    bench.wait_revision("site", 1).await;
    // It fails at once, so that nothing was ever waited for.
    let bad = json!({"metadata": {"annotations": {"bad": "yes"}}});
    let patch = kube::api::Patch::Merge(&bad);
    let parameters = kube::api::PatchParams::default();
    ingresses(&bench)
        .patch("site-a-1", &parameters, &patch)
        .await
        .unwrap();
    bench.apply_web("site", json!({"b": "2"})).await;
    wait_reason(&bench, "site", "Stalled", "StageFailed").await;
    wait_stages(&bench, "site", "a 2 Failed, b 2 Pending").await;
    annotate(&bench, "site", "steersman.dev/skip-stage", "2/a").await;
    wait_stages(&bench, "site", "a 2 Ready, b 2 Progressing").await;
    give_address(&bench, "site-b-2").await;

    // Without stages nothing is left of them.
    bench.wait_revision("site", 2).await;
    operator.stop().await.unwrap();
    let group = &bench.group;
    bench.watches(&format!(
        "- group: {group}\n  version: v1\n  kind: Web\n  chart: web\n"
    ));
    let operator = bench.operator_with(&[]).await;
    bench.apply_web("site", json!({"b": "3"})).await;
    bench.wait_revision("site", 3).await;
    bench
        .wait("no stages", &bench.webs(), "site", |web: &Value| {
            web.pointer("/status/stages").is_none().then_some(())
        })
        .await;
    operator.stop().await.unwrap();
}

#[tokio::test]
async fn what_is_in_the_way_of_a_later_stage_is_what_the_status_tells() {
    let entry = stages(&["a", "b"]);
    let Some(bench) = site("in-the-way", &["a", "b"], &entry).await else {
        return;
    };
    let theirs = json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "site-b"}});
    bench.create(&bench.config_maps(), theirs).await;
    let operator = bench.operator_with(&[]).await;
    bench.apply_web("site", json!({})).await;
    give_address(&bench, "site-a-1").await;
    let (_, _, message) = bench.wait_failed("site", "ReleaseFailed").await;
    assert!(message.contains("site-b"), "{message}");
    wait_stages(&bench, "site", "a 1 Ready, b 1 Failed").await;
    set_addresses(&bench, "site-a-1", Value::Null).await;
    tokio::time::sleep(Duration::from_secs(3)).await;
    let (_, _, message) = bench.wait_failed("site", "ReleaseFailed").await;
    assert!(message.contains("site-b"), "{message}");
    bench
        .config_maps()
        .delete("site-b", &DeleteParams::default())
        .await
        .unwrap();
    annotate(&bench, "site", "steersman.dev/reconcile-at", "now").await;
    give_address(&bench, "site-b-1").await;
    bench
        .wait("the last gate", &bench.webs(), "site", |web: &Value| {
            (super::shown_stages(web) == "a 1 Ready, b 1 Progressing").then_some(())
        })
        .await;
    give_address(&bench, "site-a-1").await;
    bench.wait_revision("site", 1).await;
    operator.stop().await.unwrap();
}

//! What helm-operator does, and Steersman on request.

use kube::api::{Patch, PatchParams};
use serde_json::json;

use crate::bench::{Bench, PATIENCE};
use crate::takeover::helm_as;

fn watch(bench: &Bench, switches: &str) {
    let group = &bench.group;
    bench.watches(&format!(
        "- {{group: {group}, version: v1, kind: Web, chart: web{switches}}}\n"
    ));
}

#[tokio::test]
async fn a_manifest_is_in_the_status_only_on_request_and_without_secrets() {
    let Some(bench) = Bench::with_kind("compat").await else {
        return;
    };
    watch(&bench, ", manifestInStatus: true");
    let operator = bench.ready_operator().await;
    bench
        .apply_web("shop", json!({"password": "canary-in-values"}))
        .await;
    let web = bench.wait_revision("shop", 1).await;
    let manifest = |web: &serde_json::Value| {
        let manifest = web.pointer("/status/deployedRelease/manifest");
        manifest.and_then(serde_json::Value::as_str).map(str::to_owned)
    };
    let shown = manifest(&web).unwrap();
    assert!(
        shown.contains("# Source: web/templates/configmap.yaml"),
        "{shown}"
    );
    assert!(
        shown.contains("message: hello") && shown.contains("'********'"),
        "{shown}"
    );
    assert!(!shown.contains("canary"), "{shown}");
    bench
        .apply_web(
            "shop",
            json!({"password": "canary-in-values", "message": "later"}),
        )
        .await;
    let web = bench.wait_revision("shop", 2).await;
    assert!(manifest(&web).unwrap().contains("message: later"));
    operator.stop().await.unwrap();

    // One that helm-operator has left there goes, and that is all that is written.
    watch(&bench, "");
    let left = json!({"status": {"deployedRelease": {"manifest": "password: canary-in-values"}}});
    bench
        .webs()
        .patch_status("shop", &PatchParams::default(), &Patch::Merge(left))
        .await
        .unwrap();
    let mark = bench.cluster.audit_mark().await.unwrap();
    let operator = bench.ready_operator().await;
    bench
        .wait("the name alone", &bench.webs(), "shop", |web| {
            (web["status"]["deployedRelease"] == json!({"name": "shop"})).then_some(())
        })
        .await;
    // A wish to look at everything again finds nothing to write but that it was seen.
    bench
        .patch_web(
            "shop",
            json!({"metadata": {"annotations": {"steersman.dev/reconcile-at": "now"}}}),
        )
        .await;
    bench
        .wait("the wish", &bench.webs(), "shop", |web| {
            (web["status"]["lastHandledReconcileAt"] == "now").then_some(())
        })
        .await;
    let audit = bench.cluster.audit_since(mark).await.unwrap();
    let written = audit.by_user(bench.user.name()).writes();
    assert_eq!(written.len(), 2, "{written}");
    operator.stop().await.unwrap();
}

#[tokio::test]
async fn a_resource_without_values_keeps_the_last_ones_on_request() {
    let Some(bench) = Bench::with_kind("compat").await else {
        return;
    };
    watch(&bench, ", reuseValues: true");
    let operator = bench.ready_operator().await;
    let spec = |spec: serde_json::Value| {
        let patch = json!([{"op": "replace", "path": "/spec", "value": spec}]);
        let patch: Patch<()> = Patch::Json(serde_json::from_value(patch).unwrap());
        let bench = &bench;
        async move {
            let parameters = PatchParams::default();
            bench.webs().patch("shop", &parameters, &patch).await.unwrap();
        }
    };
    bench.apply_web("shop", json!({"message": "first"})).await;
    bench.wait_revision("shop", 1).await;
    spec(json!({})).await;
    bench.wait_revision("shop", 1).await;
    spec(json!({"port": 81})).await;
    bench.wait_revision("shop", 2).await;
    spec(json!({})).await;
    bench.wait_revision("shop", 2).await;
    let service = bench.services().get("shop").await.unwrap();
    assert_eq!(service.data["spec"]["ports"][0]["port"], 81);
    let map = bench.config_maps().get("shop-config").await.unwrap();
    assert_eq!(map.data["data"]["message"], "hello");
    operator.stop().await.unwrap();

    // Another chart keeps them, too.
    let chart = bench.folder.path().join("web/Chart.yaml");
    std::fs::write(chart, "apiVersion: v2\nname: web\nversion: 2.0.0\n").unwrap();
    let operator = bench.ready_operator().await;
    bench.wait_revision("shop", 3).await;
    let service = bench.services().get("shop").await.unwrap();
    assert_eq!(service.data["spec"]["ports"][0]["port"], 81);
    operator.stop().await.unwrap();

    watch(&bench, "");
    let operator = bench.ready_operator().await;
    bench.wait_revision("shop", 4).await;
    let service = bench.services().get("shop").await.unwrap();
    assert_eq!(service.data["spec"]["ports"][0]["port"], 80);
    operator.stop().await.unwrap();
}

#[tokio::test]
async fn values_that_are_kept_are_those_of_the_deployed_revision_whatever_failed_since() {
    let Some(bench) = Bench::with_kind("compat").await else {
        return;
    };
    watch(&bench, ", reuseValues: true");
    let operator = bench.ready_operator().await;
    bench.apply_web("shop", json!({"message": "first"})).await;
    bench.wait_revision("shop", 1).await;
    operator.stop().await.unwrap();

    bench.edit("workload.yaml", "port: {{ .Values.port }}", "port: 99999");
    bench.patch_web("shop", json!({"spec": {"message": null}})).await;
    let mark = bench.cluster.audit_mark().await.unwrap();
    let operator = bench.ready_operator().await;
    let begun = std::time::Instant::now();
    loop {
        let audit = bench.cluster.audit_since(mark).await.unwrap();
        let tries = audit.by_user(bench.user.name()).resource("services").refused();
        if tries.filter(|request| !request.uri.contains("dryRun")).len() >= 3 {
            break;
        }
        assert!(begun.elapsed() < PATIENCE, "not tried again: {audit}");
        tokio::time::sleep(std::time::Duration::from_millis(100)).await;
    }
    assert_eq!(bench.revisions().await, ["1 deployed", "2 failed"]);
    operator.stop().await.unwrap();

    bench.edit("workload.yaml", "port: 99999", "port: 80");
    let operator = bench.ready_operator().await;
    bench.wait_revision("shop", 3).await;
    let map = bench.config_maps().get("shop-config").await.unwrap();
    assert_eq!(map.data["data"]["message"], "first");
    operator.stop().await.unwrap();
}

#[tokio::test]
async fn values_of_helm_that_are_kept_leave_its_release_as_it_is() {
    let Some(bench) = Bench::with_kind("compat").await else {
        return;
    };
    watch(&bench, ", reuseValues: true");
    let values = ["install", "--set", "password=constant,message=helms"];
    helm_as(&bench, "helm-operator", &values).await;
    bench.apply_web("shop", json!({})).await;
    let operator = bench.ready_operator().await;
    bench.wait_revision("shop", 1).await;
    assert_eq!(bench.revisions().await, ["1 deployed"]);
    operator.stop().await.unwrap();

    bench.edit("configmap.yaml", "{{- if .Values.broken }}", "{{- if true }}");
    let operator = bench.ready_operator().await;
    let (_, _, message) = bench.wait_failed("shop", "ReleaseFailed").await;
    assert!(message.contains("the chart was told to fail"), "{message}");
    assert_eq!(bench.revisions().await, ["1 deployed"]);
    let map = bench.config_maps().get("shop-config").await.unwrap();
    assert_eq!(map.data["data"]["message"], "helms");
    operator.stop().await.unwrap();
}

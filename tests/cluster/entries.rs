//! Fields of watches.yaml, at run time.

use kube::api::DeleteParams;
use serde_json::{Value, json};

use crate::bench::{Bench, PATIENCE};

#[tokio::test]
async fn override_values_come_from_the_environment_and_from_templates() {
    let Some(bench) = Bench::with_kind("entries").await else {
        return;
    };
    bench.watches(&format!(
        "- group: {}\n  version: v1\n  kind: Web\n  chart: web\n  overrideValues:\n    message: ${{WORD}}-$NUMBER-\n    \
         port: '{{{{ add 8000 80 }}}}'\n    replicas: '{{{{ env \"NUMBER\" }}}}'\n    elsewhere: ''\n    \
         extra: '{{{{ \"TRUE\" | lower }}}}'\n",
        bench.group
    ));
    let operator = bench.operator_in(bench.folder.path(), &[("WORD", "bonjour"), ("NUMBER", "3")]);
    operator.wait_until_ready(PATIENCE).await.unwrap();
    bench
        .apply_web("shop", json!({"message": "mine", "port": 1, "replicas": 1}))
        .await;
    bench.wait_revision("shop", 1).await;
    let map = bench.config_maps().get("shop-config").await.unwrap();
    assert_eq!(map.data["data"]["message"], "bonjour-3-");
    bench.config_maps().get("shop-extra").await.unwrap();
    let service = bench.services().get("shop").await.unwrap();
    assert_eq!(service.data["spec"]["ports"][0]["port"], 8080);
    let deployment = bench.deployments().get("shop").await.unwrap();
    assert_eq!(deployment.data["spec"]["replicas"], 3);
    operator.stop().await.unwrap();
}

#[tokio::test]
async fn a_chart_can_be_an_archive() {
    let Some(bench) = Bench::with_kind("entries").await else {
        return;
    };
    let folder = bench.folder.path().to_str().unwrap();
    let chart = bench.folder.path().join("web");
    let package = ["package", chart.to_str().unwrap(), "--destination", folder];
    bench.cluster.helm(&package).await.unwrap();
    std::fs::remove_dir_all(chart).unwrap();
    bench.watches(&format!(
        "- {{group: {}, version: v1, kind: Web, chart: web-1.2.3.tgz}}\n",
        bench.group
    ));
    let operator = bench.ready_operator().await;
    bench.apply_web("shop", json!({"message": "packed"})).await;
    let web = bench.wait_revision("shop", 1).await;
    assert_eq!(web["status"]["chart"]["version"], "1.2.3");
    let map = bench.config_maps().get("shop-config").await.unwrap();
    assert_eq!(map.data["data"]["message"], "packed");
    operator.stop().await.unwrap();
}

#[tokio::test]
async fn drift_of_objects_that_are_not_watched_waits_for_the_next_look() {
    let Some(bench) = Bench::with_kind("entries").await else {
        return;
    };
    let watches = |period: &str| {
        bench.watches(&format!(
            "- {{group: {}, version: v1, kind: Web, chart: web, watchDependentResources: false{period}}}\n",
            bench.group
        ));
    };
    // With a period that a test does not see the end of.
    watches(", reconcilePeriod: 1h");
    let operator = bench.ready_operator().await;
    bench.apply_web("shop", json!({})).await;
    bench.wait_revision("shop", 1).await;
    let maps = bench.config_maps();
    let delete = async || {
        maps.delete("shop-config", &DeleteParams::default())
            .await
            .unwrap();
    };
    let comes_back = async || {
        let is_there = |map: &Value| map.is_object().then_some(());
        bench.wait("the object", &maps, "shop-config", is_there).await;
    };
    delete().await;
    // The operator is not asleep meanwhile.
    bench.apply_web("other", json!({})).await;
    bench.wait_revision("other", 1).await;
    assert!(maps.get_opt("shop-config").await.unwrap().is_none());
    bench
        .patch_web(
            "shop",
            json!({"metadata": {"annotations": {"steersman.dev/reconcile-at": "now"}}}),
        )
        .await;
    comes_back().await;
    operator.stop().await.unwrap();

    watches(", reconcilePeriod: 1s");
    let operator = bench.ready_operator().await;
    delete().await;
    comes_back().await;
    operator.stop().await.unwrap();
}

//! Who depends on a resource goes before it.

use std::time::Duration;

use kube::api::{Api, DeleteParams, DynamicObject, Patch, PatchParams};
use kube::core::{ApiResource, GroupVersionKind};
use serde_json::{Value, json};

use super::{small_chart, watches};
use crate::bench::{Bench, PATIENCE, condition};

/// Webs and the Keepers that they depend on, both released here.
const BOTH: &str = r#"
- group: GROUP
  version: v1
  kind: Web
  chart: web
  dependsOn:
  - {apiVersion: GROUP/v1, kind: Keeper, name: "{{ .Values.keeper | default \"keeper\" }}"}
- group: GROUP
  version: v1
  kind: Keeper
  chart: web
"#;

/// What would be seen of a deletion that does not wait.
const WHILE: Duration = Duration::from_secs(4);

#[tokio::test]
async fn dependents_go_first_also_after_a_kill() {
    let Some(bench) = Bench::with_kind("deletion_order").await else {
        return;
    };
    small_chart(&bench);
    bench.define("Keeper", "keepers").await;
    watches(&bench, BOTH);
    let operator = bench.ready_operator().await;
    bench.apply_web("shop", json!({})).await;
    bench.apply_cr("Keeper", "keepers", "keeper", json!({})).await;
    bench.wait_revision("shop", 1).await;
    // The end of the dependent takes its time.
    let maps = bench.config_maps();
    let held = json!({"metadata": {"finalizers": ["example.com/slow"]}});
    maps.patch("shop-config", &PatchParams::default(), &Patch::Merge(held))
        .await
        .unwrap();

    let keepers = bench.kind_api("Keeper", "keepers");
    keepers.delete("keeper", &DeleteParams::default()).await.unwrap();
    let waits = |keeper: &Value| {
        let (_, reason, message) = condition(keeper, "Reconciling")?;
        let is_so = reason == "Uninstalling" && message.contains("shop depends on it and goes first");
        is_so.then_some(())
    };
    bench.wait("its dependent", &keepers, "keeper", waits).await;
    operator.kill().await.unwrap();
    let operator = bench.ready_operator().await;
    tokio::time::sleep(WHILE).await;
    assert!(maps.get_opt("keeper-config").await.unwrap().is_some());
    bench.delete_web("shop").await;
    let goes = |web: &Value| {
        let (_, reason, _) = condition(web, "Reconciling")?;
        (reason == "Uninstalling").then_some(())
    };
    bench.wait("the deletion", &bench.webs(), "shop", goes).await;
    tokio::time::sleep(WHILE).await;
    let kept = maps.get("keeper-config").await.unwrap();
    assert!(kept.metadata.deletion_timestamp.is_none());
    let free = json!({"metadata": {"finalizers": null}});
    maps.patch("shop-config", &PatchParams::default(), &Patch::Merge(free))
        .await
        .unwrap();
    bench.wait_gone(&bench.webs(), "shop").await;
    bench.wait_gone(&keepers, "keeper").await;
    bench.wait_gone(&maps, "keeper-config").await;
    operator.stop().await.unwrap();
}

#[tokio::test]
async fn who_has_no_release_or_depends_on_another_by_now_is_not_waited_for() {
    let Some(bench) = Bench::with_kind("deletion_free").await else {
        return;
    };
    small_chart(&bench);
    bench.define("Keeper", "keepers").await;
    watches(&bench, BOTH);
    let operator = bench.ready_operator().await;
    let keepers = bench.kind_api("Keeper", "keepers");
    for name in ["keeper", "other"] {
        bench.apply_cr("Keeper", "keepers", name, json!({})).await;
    }
    bench.apply_web("shop", json!({})).await;
    bench.wait_revision("shop", 1).await;
    bench.apply_web("waiting", json!({"keeper": "missing"})).await;
    super::wait_not_ready(&bench, &bench.webs(), "waiting", "missing: it is not there").await;

    keepers.delete("keeper", &DeleteParams::default()).await.unwrap();
    let waits = |keeper: &Value| {
        let (_, _, message) = condition(keeper, "Reconciling")?;
        message.contains("goes first").then_some(())
    };
    bench.wait("its dependent", &keepers, "keeper", waits).await;
    bench.apply_web("shop", json!({"keeper": "other"})).await;
    bench.wait_gone(&keepers, "keeper").await;
    // The one that only waits does not hold up what it names next.
    bench
        .apply_web("waiting", json!({"keeper": "other", "message": "x"}))
        .await;
    bench.wait_revision("waiting", 1).await;
    operator.stop().await.unwrap();
}

/// The same, with namespaces that resources name, and bounds.
const CONFINED: &str = r#"
- group: GROUP
  version: v1
  kind: Web
  chart: web
  confine: {}
  crds: skip
  dependsOn:
  - {apiVersion: GROUP/v1, kind: Keeper, name: keeper, namespace: "{{ .Values.namespace }}"}
- group: GROUP
  version: v1
  kind: Keeper
  chart: web
  confine: {}
  crds: skip
"#;

#[tokio::test]
async fn who_may_not_refer_to_a_resource_does_not_hold_up_its_deletion() {
    let Some(bench) = Bench::with_kind("deletion_elsewhere").await else {
        return;
    };
    small_chart(&bench);
    bench.define("Keeper", "keepers").await;
    watches(&bench, CONFINED);
    let other = bench.cluster.unique_namespace("other").await.unwrap();
    let both = format!("{},{other}", bench.namespace);
    let operator = bench.operator_in(bench.folder.path(), &[("WATCH_NAMESPACE", &both)]);
    operator.wait_until_ready(PATIENCE).await.unwrap();
    let keepers: Api<DynamicObject> = {
        let kind = GroupVersionKind::gvk(&bench.group, "v1", "Keeper");
        let resource = ApiResource::from_gvk_with_plural(&kind, "keepers");
        Api::namespaced_with(bench.client.clone(), &other, &resource)
    };
    let keeper = json!({"apiVersion": format!("{}/v1", bench.group), "kind": "Keeper", "metadata": {"name": "keeper"}});
    bench.create(&keepers, keeper).await;
    let is_deployed = |keeper: &Value| (keeper.pointer("/status/revision") == Some(&json!(1))).then_some(());
    bench
        .wait("the other tenant's", &keepers, "keeper", is_deployed)
        .await;
    let evil = json!({"apiVersion": format!("{}/v1", bench.group), "kind": "Web", "metadata": {"name": "evil",
        "finalizers": ["helm.sdk.operatorframework.io/uninstall-release"]}, "spec": {"namespace": other}});
    bench.create(&bench.webs(), evil).await;
    let (_, message) = bench.wait_stalled("evil").await;
    assert!(message.contains("`confine.namespaces`"), "{message}");
    keepers.delete("keeper", &DeleteParams::default()).await.unwrap();
    bench.wait_gone(&keepers, "keeper").await;
    operator.stop().await.unwrap();
}

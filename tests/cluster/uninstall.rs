//! How a release goes.

use kube::api::{Api, DynamicObject, Patch, PatchParams};
use kube::core::{ApiResource, GroupVersionKind};
use serde_json::{Value, json};

use crate::bench::{Bench, condition, wait_for_line};

/// What is held by somebody else is asked to go, and not waited for.
#[tokio::test]
async fn a_resource_that_asks_not_to_wait_goes_when_the_deletes_are_sent() {
    let Some(bench) = Bench::with_kind("uninstall").await else {
        return;
    };
    // A hook that takes no time, as no pod runs here.
    bench.add_template(
        "after.yaml",
        "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: after\n  annotations:\n    helm.sh/hook: post-delete\n    \
         helm.sh/hook-delete-policy: hook-failed\n",
    );
    let operator = bench.ready_operator().await;
    bench.apply_web("shop", json!({})).await;
    bench.wait_revision("shop", 1).await;
    let hold = |finalizers: Value| Patch::Merge(json!({"metadata": {"finalizers": finalizers}}));
    let parameters = PatchParams::default();
    let maps = bench.config_maps();
    let theirs = json!(["example.com/hold"]);
    maps.patch("shop-config", &parameters, &hold(theirs))
        .await
        .unwrap();
    let annotation = "helm.sdk.operatorframework.io/uninstall-wait";
    bench
        .patch_web(
            "shop",
            json!({"metadata": {"annotations": {(annotation): "false"}}}),
        )
        .await;
    let mark = bench.cluster.audit_mark().await.unwrap();
    bench.delete_web("shop").await;
    bench.wait_gone(&bench.webs(), "shop").await;
    wait_for_line(&operator, "Uninstalled release").await;
    assert!(
        !operator.log_text().contains("Uninstall wait"),
        "{}",
        operator.log_text()
    );
    assert_eq!(bench.revisions().await, [""; 0]);
    let map = maps.get("shop-config").await.unwrap();
    assert!(map.metadata.deletion_timestamp.is_some());
    let audit = bench.cluster.audit_since(mark).await.unwrap();
    let hooks = audit
        .by_user(bench.user.name())
        .filter(|request| request.name == "after" && request.verb != "get");
    assert!(!hooks.is_empty(), "the hook has run");
    maps.patch("shop-config", &parameters, &hold(json!([])))
        .await
        .unwrap();
    bench.wait_gone(&maps, "shop-config").await;
    bench.wait_gone(&bench.deployments(), "shop").await;
    operator.stop().await.unwrap();
}

#[tokio::test]
async fn a_resource_without_a_release_is_let_go() {
    let Some(bench) = Bench::with_kind("uninstall").await else {
        return;
    };
    for finalizer in [
        "helm.sdk.operatorframework.io/uninstall-release",
        "uninstall-helm-release",
    ] {
        bench.apply_web("shop", json!({})).await;
        bench
            .patch_web("shop", json!({"metadata": {"finalizers": [finalizer]}}))
            .await;
        bench.delete_web("shop").await;
        let operator = bench.ready_operator().await;
        bench.wait_gone(&bench.webs(), "shop").await;
        wait_for_line(&operator, "Release not found").await;
        wait_for_line(&operator, "Removing finalizer").await;
        assert!(!operator.log_text().contains("Uninstalled release"));
        operator.stop().await.unwrap();
    }
}

#[tokio::test]
async fn a_deleted_resource_leaves_nothing() {
    let Some(bench) = Bench::with_kind("uninstall").await else {
        return;
    };
    let operator = bench.ready_operator().await;
    bench.apply_web("shop", json!({"extra": true})).await;
    bench.wait_revision("shop", 1).await;
    bench.delete_web("shop").await;
    bench.wait_gone(&bench.webs(), "shop").await;

    for (api, name) in [
        (bench.config_maps(), "shop-config"),
        (bench.config_maps(), "shop-extra"),
        (bench.secrets(), "shop-secret"),
        (bench.services(), "shop"),
        (bench.deployments(), "shop"),
    ] {
        assert!(api.get_opt(name).await.unwrap().is_none(), "{name} is left");
    }
    let role = format!("clusterrole/{}-shop", bench.namespace);
    assert!(
        bench.cluster.kubectl(&["get", &role]).await.is_err(),
        "{role} is left"
    );
    assert_eq!(bench.revisions().await, [""; 0]);
    let log = operator.log_text();
    assert!(
        log.contains("Uninstalled release") && log.contains("Removing finalizer"),
        "{log}"
    );
    operator.stop().await.unwrap();
}

#[tokio::test]
async fn what_keeps_an_object_keeps_the_resource_and_is_named() {
    let Some(bench) = Bench::with_kind("uninstall").await else {
        return;
    };
    let operator = bench.ready_operator().await;
    bench.apply_web("shop", json!({})).await;
    bench.wait_revision("shop", 1).await;
    let hold = |finalizers: Value| Patch::Merge(json!({"metadata": {"finalizers": finalizers}}));
    let parameters = PatchParams::default();
    bench
        .config_maps()
        .patch("shop-config", &parameters, &hold(json!(["example.com/hold"])))
        .await
        .unwrap();
    bench.delete_web("shop").await;
    bench
        .wait("the blocker", &bench.webs(), "shop", |web| {
            let message = condition(web, "Ready")?.2;
            message
                .contains("shop-config (finalizers: example.com/hold)")
                .then_some(())
        })
        .await;
    assert!(
        operator
            .log_text()
            .contains("Waiting until all resources are deleted")
    );
    bench
        .config_maps()
        .patch("shop-config", &parameters, &hold(json!([])))
        .await
        .unwrap();
    bench.wait_gone(&bench.webs(), "shop").await;
    operator.stop().await.unwrap();
}

#[tokio::test]
async fn a_deleted_namespace_takes_the_release_with_it() {
    let Some(bench) = Bench::with_kind("uninstall").await else {
        return;
    };
    let operator = bench.ready_operator().await;
    bench.apply_web("shop", json!({})).await;
    bench.wait_revision("shop", 1).await;
    let role = format!("clusterrole/{}-shop", bench.namespace);
    bench.cluster.kubectl(&["get", &role]).await.unwrap();
    bench
        .cluster
        .kubectl(&["delete", "namespace", &bench.namespace, "--timeout=60s"])
        .await
        .unwrap();
    assert!(
        bench.cluster.kubectl(&["get", &role]).await.is_err(),
        "{role} is left"
    );
    operator.stop().await.unwrap();
}

#[tokio::test]
async fn the_finalizer_of_older_operators_holds_a_resource_too() {
    let Some(bench) = Bench::with_kind("uninstall").await else {
        return;
    };
    let operator = bench.ready_operator().await;
    let (old, new) = (
        "uninstall-helm-release",
        "helm.sdk.operatorframework.io/uninstall-release",
    );
    for (name, finalizers) in [("alone", json!([old])), ("both", json!([old, new]))] {
        let web = json!({"apiVersion": format!("{}/v1", bench.group), "kind": "Web",
            "metadata": {"name": name, "finalizers": finalizers}});
        let web: DynamicObject = serde_json::from_value(web).unwrap();
        bench.webs().create(&Default::default(), &web).await.unwrap();
        let web = bench.wait_revision(name, 1).await;
        assert_eq!(web["metadata"]["finalizers"], finalizers);
        bench.delete_web(name).await;
        bench.wait_gone(&bench.webs(), name).await;
        let map = bench
            .config_maps()
            .get_opt(&format!("{name}-config"))
            .await
            .unwrap();
        assert!(
            map.is_none_or(|map| map.metadata.deletion_timestamp.is_some()),
            "{name}"
        );
        assert_eq!(bench.revisions().await, [""; 0]);
    }
    operator.stop().await.unwrap();
}

/// An object in another namespace with the label of `shop`, in the operator's name, and with a finalizer that stays.
async fn hold_by_label(bench: &Bench, namespace: &str) -> Api<DynamicObject> {
    let owner = bench.webs().get("shop").await.unwrap().metadata.uid.unwrap();
    let labels = json!({"steersman.dev/owner-uid": owner, "helm.sdk.operatorframework.io/chart": "web"});
    let object = json!({"apiVersion": "v1", "kind": "ConfigMap",
        "metadata": {"name": "hold", "labels": labels, "finalizers": ["example.com/hold"]}});
    let kind = ApiResource::from_gvk_with_plural(&GroupVersionKind::gvk("", "v1", "ConfigMap"), "configmaps");
    let maps: Api<DynamicObject> = Api::namespaced_with(bench.client.clone(), namespace, &kind);
    let parameters = PatchParams::apply("steersman");
    maps.patch("hold", &parameters, &Patch::Apply(object))
        .await
        .unwrap();
    maps
}

async fn let_go(maps: &Api<DynamicObject>) {
    let free = json!({"metadata": {"finalizers": null}});
    maps.patch("hold", &PatchParams::default(), &Patch::Merge(free))
        .await
        .unwrap();
}

#[tokio::test]
async fn what_only_its_label_names_holds_nothing_up() {
    let Some(bench) = Bench::with_kind("uninstall").await else {
        return;
    };
    let elsewhere = bench.cluster.unique_namespace("elsewhere").await.unwrap();
    let operator = bench.released(json!({})).await;
    let maps = hold_by_label(&bench, &elsewhere).await;
    bench.delete_web("shop").await;
    bench.wait_gone(&bench.webs(), "shop").await;
    bench
        .wait("its deletion", &maps, "hold", |map| {
            map.pointer("/metadata/deletionTimestamp").map(drop)
        })
        .await;
    let_go(&maps).await;
    operator.stop().await.unwrap();
}

#[tokio::test]
async fn what_only_its_label_names_is_left_alone_out_of_bounds() {
    let Some(bench) = Bench::with_kind("uninstall").await else {
        return;
    };
    bench.watches(&format!(
        "- {{group: {}, version: v1, kind: Web, chart: web, confine: {{clusterScoped: true}}}}\n",
        bench.group
    ));
    let elsewhere = bench.cluster.unique_namespace("elsewhere").await.unwrap();
    let operator = bench.released(json!({})).await;
    let maps = hold_by_label(&bench, &elsewhere).await;
    bench.delete_web("shop").await;
    bench.wait_gone(&bench.webs(), "shop").await;
    let left = maps.get("hold").await.unwrap();
    assert_eq!(left.metadata.deletion_timestamp, None);
    let_go(&maps).await;
    operator.stop().await.unwrap();
}

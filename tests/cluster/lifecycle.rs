//! From a custom resource to a running release, and to nothing.

use serde_json::{Value, json};

use crate::bench::{Bench, condition};

#[tokio::test]
async fn a_resource_becomes_a_release_that_helm_reads() {
    let Some(bench) = Bench::with_kind("lifecycle").await else {
        return;
    };
    let operator = bench.ready_operator().await;
    let mark = bench.cluster.audit_mark().await.unwrap();
    bench
        .apply_web("shop", json!({"message": "hi", "password": "canary-in-values"}))
        .await;
    let web = bench.wait_revision("shop", 1).await;

    let map = bench.config_maps().get("shop-config").await.unwrap();
    assert_eq!(map.data["data"], json!({"message": "hi", "revision": "1"}));
    let uid = web["metadata"]["uid"].as_str().unwrap();
    assert_eq!(map.metadata.owner_references.unwrap()[0].uid, uid);
    let labels = map.metadata.labels.unwrap();
    assert_eq!(labels["steersman.dev/owner-uid"], uid);
    assert_eq!(labels["helm.sdk.operatorframework.io/chart"], "web");
    assert_eq!(labels["app.kubernetes.io/managed-by"], "Helm");
    let secret = bench.secrets().get("sh.helm.release.v1.shop.v1").await.unwrap();
    assert_eq!(secret.data["type"], "helm.sh/release.v1");
    let owner = secret.metadata.owner_references.unwrap().remove(0);
    assert_eq!((owner.uid.as_str(), owner.controller), (uid, Some(true)));

    assert_eq!(web["status"]["deployedRelease"], json!({"name": "shop"}));
    assert_eq!(
        web["status"]["chart"],
        json!({"name": "web", "version": "1.2.3", "appVersion": "4.5"})
    );
    let (status, reason, message) = condition(&web, "Deployed").unwrap();
    assert_eq!((status.as_str(), reason.as_str()), ("True", "InstallSuccessful"));
    assert!(message.starts_with("shop says hi"), "{message}");
    // No pod runs on this control plane.
    let (status, reason, message) = condition(&web, "Ready").unwrap();
    assert_eq!(
        (status.as_str(), reason.as_str()),
        ("False", "DependentsProgressing"),
        "{message}"
    );
    assert!(
        !web.to_string()
            .replace(&web["spec"].to_string(), "")
            .replace(&web["metadata"].to_string(), "")
            .contains("canary-in-values"),
        "{web:#}"
    );
    assert!(!operator.log_text().contains("canary-in-values"));

    let audit = bench
        .cluster
        .audit_since(mark)
        .await
        .unwrap()
        .by_user(bench.user.name());
    let writes = audit.writes();
    let first = writes.requests.first().unwrap();
    assert_eq!(
        (first.resource.as_str(), first.verb.as_str()),
        ("webs", "patch"),
        "the finalizer comes first:\n{writes}"
    );
    let place = |resource: &str| {
        writes
            .requests
            .iter()
            .position(|request| request.resource == resource)
    };
    assert!(
        place("secrets") < place("configmaps"),
        "the revision is written down before its objects:\n{writes}"
    );

    reads_with_helm(&bench).await;
    operator.stop().await.unwrap();
}

#[tokio::test]
async fn another_spec_is_another_revision_and_what_it_drops_is_pruned() {
    let Some(bench) = Bench::with_kind("lifecycle").await else {
        return;
    };
    let operator = bench.ready_operator().await;
    bench
        .apply_web("shop", json!({"extra": true, "gadget": true}))
        .await;
    bench.wait_revision("shop", 1).await;
    bench.config_maps().get("shop-extra").await.unwrap();
    bench
        .api("fixtures.example.com", "v1", "Gadget", "gadgets")
        .get("shop")
        .await
        .unwrap();

    bench.apply_web("shop", json!({"replicas": 2})).await;
    let web = bench.wait_revision("shop", 2).await;
    bench.wait_gone(&bench.config_maps(), "shop-extra").await;
    bench
        .wait_gone(
            &bench.api("fixtures.example.com", "v1", "Gadget", "gadgets"),
            "shop",
        )
        .await;
    let deployment = bench.deployments().get("shop").await.unwrap();
    assert_eq!(deployment.data["spec"]["replicas"], 2);
    assert_eq!(condition(&web, "Deployed").unwrap().1, "UpgradeSuccessful");
    assert_eq!(bench.revisions().await, ["1 superseded", "2 deployed"]);
    assert!(operator.log_text().contains("Upgraded release"));
    operator.stop().await.unwrap();
}

#[tokio::test]
async fn a_restart_writes_nothing() {
    let Some(bench) = Bench::with_kind("lifecycle").await else {
        return;
    };
    let operator = bench.ready_operator().await;
    bench.apply_web("shop", json!({})).await;
    bench.wait_revision("shop", 1).await;
    tokio::time::sleep(std::time::Duration::from_secs(2)).await;
    operator.stop().await.unwrap();

    let mark = bench.cluster.audit_mark().await.unwrap();
    let operator = bench.ready_operator().await;
    tokio::time::sleep(std::time::Duration::from_secs(4)).await;
    let audit = bench
        .cluster
        .audit_since(mark)
        .await
        .unwrap()
        .by_user(bench.user.name());
    assert!(audit.writes().is_empty(), "{audit}");
    assert_eq!(bench.revisions().await, ["1 deployed"]);

    // A release that is settled costs no request.
    let mark = bench.cluster.audit_mark().await.unwrap();
    tokio::time::sleep(std::time::Duration::from_secs(3)).await;
    let audit = bench
        .cluster
        .audit_since(mark)
        .await
        .unwrap()
        .by_user(bench.user.name());
    assert!(
        audit.filter(|request| request.verb != "watch").is_empty(),
        "{audit}"
    );
    operator.stop().await.unwrap();
}

/// Helm's own commands understand the release.
async fn reads_with_helm(bench: &Bench) {
    let namespace = bench.namespace.as_str();
    let list = bench
        .cluster
        .helm(&["list", "-n", namespace, "-o", "json"])
        .await
        .unwrap();
    let list: Value = serde_json::from_str(&list).unwrap();
    assert_eq!(list[0]["name"], "shop");
    assert_eq!(list[0]["status"], "deployed");
    assert_eq!(list[0]["chart"], "web-1.2.3");
    assert_eq!(list[0]["app_version"], "4.5");
    let history = bench
        .cluster
        .helm(&["history", "shop", "-n", namespace])
        .await
        .unwrap();
    assert!(history.contains("Install complete"), "{history}");
    let manifest = bench
        .cluster
        .helm(&["get", "manifest", "shop", "-n", namespace])
        .await
        .unwrap();
    assert!(
        manifest.contains("# Source: web/templates/configmap.yaml"),
        "{manifest}"
    );
    let values = bench
        .cluster
        .helm(&["get", "values", "shop", "-n", namespace, "-o", "json"])
        .await
        .unwrap();
    assert_eq!(serde_json::from_str::<Value>(&values).unwrap()["message"], "hi");
    let notes = bench
        .cluster
        .helm(&["get", "notes", "shop", "-n", namespace])
        .await
        .unwrap();
    assert!(notes.contains("shop says hi"), "{notes}");
}

#[tokio::test]
async fn a_release_whose_workloads_are_ready_is_ready_and_told_of() {
    let Some(bench) = Bench::with_kind("lifecycle").await else {
        return;
    };
    let operator = bench.ready_operator().await;
    bench.apply_web("shop", json!({"replicas": 0})).await;
    bench
        .wait("readiness", &bench.webs(), "shop", |web| {
            let (status, reason, _) = condition(web, "Ready")?;
            (status == "True" && reason == "ReleaseReady").then_some(())
        })
        .await;
    let web = bench.wait_revision("shop", 1).await;
    assert_eq!(condition(&web, "Reconciling"), None);
    assert_eq!(
        web["status"]["health"],
        json!({"ready": 2, "total": 2, "notReady": []})
    );
    let namespace = bench.namespace.as_str();
    let events = bench
        .cluster
        .kubectl(&["get", "events", "-n", namespace, "-o", "wide"])
        .await
        .unwrap();
    assert!(events.contains("ReleaseInstalled"), "{events}");
    operator.stop().await.unwrap();
}

#[tokio::test]
async fn two_resources_of_one_name_do_not_share_a_release() {
    let Some(bench) = Bench::with_kind("lifecycle").await else {
        return;
    };
    bench.define("Other", "others").await;
    let group = &bench.group;
    let watches = format!(
        "- {{group: {group}, version: v1, kind: Web, chart: web}}\n- {{group: {group}, version: v1, kind: Other, chart: web}}\n"
    );
    std::fs::write(bench.folder.path().join("watches.yaml"), watches).unwrap();
    let operator = bench.ready_operator().await;
    bench.apply_web("shop", json!({})).await;
    bench.wait_revision("shop", 1).await;
    bench.apply_cr("Other", "others", "shop", json!({})).await;
    let (_, _, message) = bench
        .wait(
            "the refusal",
            &bench.kind_api("Other", "others"),
            "shop",
            |other| condition(other, "Irreconcilable"),
        )
        .await;
    assert!(
        message.contains("duplicate release name") && message.contains("belongs to Web shop"),
        "{message}"
    );
    bench
        .kind_api("Other", "others")
        .delete("shop", &Default::default())
        .await
        .unwrap();
    bench.wait_gone(&bench.kind_api("Other", "others"), "shop").await;
    bench.config_maps().get("shop-config").await.unwrap();
    assert_eq!(bench.revisions().await, ["1 deployed"]);
    operator.stop().await.unwrap();
}

#[tokio::test]
async fn selector_and_override_values_are_obeyed() {
    let Some(bench) = Bench::with_kind("lifecycle").await else {
        return;
    };
    let watches = format!(
        "- group: {}\n  version: v1\n  kind: Web\n  chart: web\n  selector: {{matchLabels: {{managed: \"yes\"}}}}\n  \
         overrideValues:\n    message: overridden\n    replicas: \"0\"\n",
        bench.group
    );
    std::fs::write(bench.folder.path().join("watches.yaml"), watches).unwrap();
    let operator = bench.ready_operator().await;
    bench.apply_web("shop", json!({"message": "mine"})).await;
    tokio::time::sleep(std::time::Duration::from_secs(1)).await;
    let web = bench.webs().get("shop").await.unwrap();
    assert_eq!((web.metadata.finalizers, web.data.get("status")), (None, None));

    let label = |value: Value| kube::api::Patch::Merge(json!({"metadata": {"labels": {"managed": value}}}));
    let parameters = kube::api::PatchParams::default();
    bench
        .webs()
        .patch("shop", &parameters, &label(json!("yes")))
        .await
        .unwrap();
    bench.wait_revision("shop", 1).await;
    let map = bench.config_maps().get("shop-config").await.unwrap();
    assert_eq!(map.data["data"]["message"], "overridden");
    let events = bench
        .cluster
        .kubectl(&["get", "events", "-n", &bench.namespace])
        .await
        .unwrap();
    assert!(events.contains("OverrideValuesInUse"), "{events}");

    // Let go without being uninstalled.
    bench
        .webs()
        .patch("shop", &parameters, &label(Value::Null))
        .await
        .unwrap();
    tokio::time::sleep(std::time::Duration::from_millis(500)).await;
    bench
        .config_maps()
        .delete("shop-config", &Default::default())
        .await
        .unwrap();
    tokio::time::sleep(std::time::Duration::from_secs(2)).await;
    assert!(
        bench
            .config_maps()
            .get_opt("shop-config")
            .await
            .unwrap()
            .is_none()
    );
    bench.deployments().get("shop").await.unwrap();
    let mark = bench.cluster.audit_mark().await.unwrap();
    bench
        .webs()
        .patch("shop", &parameters, &label(json!("yes")))
        .await
        .unwrap();
    bench
        .wait("the object", &bench.config_maps(), "shop-config", |map| {
            map.get("data").map(|_| ())
        })
        .await;
    let audit = bench
        .cluster
        .audit_since(mark)
        .await
        .unwrap()
        .by_user(bench.user.name());
    // When it was applied is written into the revision after that.
    let written = audit
        .writes()
        .filter(|request| !["events", "webs", "secrets"].contains(&request.resource.as_str()));
    assert_eq!(written.len(), 1, "only what is missing is written:\n{written}");
    assert_eq!(bench.revisions().await, ["1 deployed"]);
    operator.stop().await.unwrap();
}

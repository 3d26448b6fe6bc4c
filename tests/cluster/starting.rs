//! What an operator finds when it starts.

use serde_json::json;

use crate::bench::{Bench, condition, wait_for_line};

/// Two kinds have one chart.
#[tokio::test]
async fn a_kind_that_is_not_served_is_waited_for() {
    let Some(bench) = Bench::with_kind("starting").await else {
        return;
    };
    let group = &bench.group;
    let entry = |kind: &str| format!("- {{group: {group}, version: v1, kind: {kind}, chart: web}}\n");
    bench.watches(&(entry("Web") + &entry("Gallery")));
    let operator = bench.operator();
    // The one that is served does not wait for the other.
    bench.apply_web("shop", json!({})).await;
    bench.wait_revision("shop", 1).await;
    let answer = operator.probe("/readyz?verbose").await.unwrap();
    let waiting: Vec<&str> = answer
        .lines()
        .filter(|line| line.contains("waiting for its CustomResourceDefinition"))
        .collect();
    assert!(
        matches!(waiting.as_slice(), [line] if line.contains("Gallery") && !line.contains("Web")),
        "{answer}"
    );
    let log = operator.log_text();
    assert!(
        log.contains("Gallery") && !log.contains("\"level\":\"error\""),
        "{log}"
    );

    bench.define("Gallery", "galleries").await;
    let galleries = bench.kind_api("Gallery", "galleries");
    bench
        .apply_cr("Gallery", "galleries", "museum", json!({"message": "open"}))
        .await;
    bench
        .wait("the revision", &galleries, "museum", |gallery| {
            (gallery["status"]["revision"] == 1).then_some(())
        })
        .await;
    let map = bench.config_maps().get("museum-config").await.unwrap();
    assert_eq!(map.data["data"]["message"], "open");
    operator
        .wait_until_ready(std::time::Duration::from_secs(5))
        .await
        .unwrap();
    // A release has one resource, of whichever kind.
    bench.apply_cr("Gallery", "galleries", "shop", json!({})).await;
    let (_, _, message) = bench
        .wait("the refusal", &galleries, "shop", |gallery| {
            condition(gallery, "Irreconcilable")
        })
        .await;
    assert!(message.contains("duplicate release name"), "{message}");
    operator.stop().await.unwrap();
}

#[tokio::test]
async fn a_new_chart_and_drift_are_found_at_the_start() {
    let Some(bench) = Bench::with_kind("starting").await else {
        return;
    };
    let operator = bench.ready_operator().await;
    bench.apply_web("shop", json!({})).await;
    bench.wait_revision("shop", 1).await;
    operator.stop().await.unwrap();

    bench
        .config_maps()
        .delete("shop-config", &Default::default())
        .await
        .unwrap();
    let operator = bench.ready_operator().await;
    bench
        .wait("the object", &bench.config_maps(), "shop-config", |map| {
            map.get("data").map(|_| ())
        })
        .await;
    assert_eq!(bench.revisions().await, ["1 deployed"]);
    operator.stop().await.unwrap();

    let chart = bench.folder.path().join("web/Chart.yaml");
    let text = std::fs::read_to_string(&chart).unwrap().replace("1.2.3", "1.3.0");
    std::fs::write(&chart, text).unwrap();
    let operator = bench.ready_operator().await;
    let web = bench.wait_revision("shop", 2).await;
    assert_eq!(web["status"]["chart"]["version"], "1.3.0");
    operator.stop().await.unwrap();
}

#[tokio::test]
async fn permissions_that_are_missing_are_named() {
    let Some(mut bench) = Bench::with_kind("starting").await else {
        return;
    };
    let operator = bench.ready_operator().await;
    wait_for_line(&operator, "No permission is missing").await;
    operator.stop().await.unwrap();

    let name = format!("poor-{}", bench.namespace);
    let role = json!({"apiVersion": "rbac.authorization.k8s.io/v1", "kind": "ClusterRole", "metadata": {"name": name}, "rules": [
        {"apiGroups": ["", bench.group], "resources": ["*"], "verbs": ["*"]},
        {"apiGroups": ["apps"], "resources": ["deployments"], "verbs": ["get", "list", "watch"]},
    ]});
    bench.cluster.apply_object(&role).await.unwrap();
    bench.user = bench.cluster.user(&name, &[]).unwrap();
    bench
        .cluster
        .grant_cluster_role(&bench.user, &name)
        .await
        .unwrap();
    let operator = bench.ready_operator().await;
    wait_for_line(&operator, "A permission is missing").await;
    wait_for_line(&operator, "deployments.apps").await;
    let log = operator.log_text();
    let told: Vec<&str> = log
        .lines()
        .filter(|line| line.contains("A permission is missing"))
        .collect();
    let of_deployments = told
        .iter()
        .find(|line| line.contains("deployments.apps"))
        .unwrap();
    assert!(of_deployments.contains("create,delete,patch"), "{of_deployments}");
    assert!(
        of_deployments.contains("web/templates/workload.yaml:"),
        "{of_deployments}"
    );
    assert!(!told.iter().any(|line| line.contains("configmaps")), "{told:?}");
    operator.stop().await.unwrap();
}

//! Values that a watch leaves to others.

use kube::api::{Patch, PatchParams};
use serde_json::json;

use crate::bench::Bench;
use crate::drift::{edit, replicas, watch};
use crate::takeover::helm_as;

#[tokio::test]
async fn ignored_values_are_left_to_others_until_the_chart_changes_them() {
    let Some(bench) = Bench::with_kind("ignored_values").await else {
        return;
    };
    bench.watches(&watch(
        &bench,
        "{ignore: [{paths: [/spec/replicas], target: {kind: Deployment}}]}",
    ));
    let operator = bench.ready_operator().await;
    bench.apply_web("shop", json!({"replicas": 2})).await;
    bench.wait_revision("shop", 1).await;
    let mark = bench.cluster.audit_mark().await.unwrap();
    edit(&bench.deployments(), "shop", json!({"spec": {"replicas": 5}})).await;
    // Other drift of the same object is corrected around it.
    let image = json!([{"op": "replace", "path": "/spec/template/spec/containers/0/image", "value": "x"}]);
    let image: Patch<()> = Patch::Json(serde_json::from_value(image).unwrap());
    let parameters = PatchParams::default();
    bench
        .deployments()
        .patch("shop", &parameters, &image)
        .await
        .unwrap();
    bench
        .wait("the image", &bench.deployments(), "shop", |found| {
            let image = found.pointer("/spec/template/spec/containers/0/image")?;
            (image == "registry.example.com/web:1").then_some(())
        })
        .await;
    assert_eq!(replicas(&bench).await, 5);
    edit(&bench.deployments(), "shop", json!({"spec": {"replicas": 6}})).await;
    bench
        .apply_web("shop", json!({"replicas": 2, "message": "later"}))
        .await;
    bench.wait_revision("shop", 2).await;
    assert_eq!(replicas(&bench).await, 6);
    let audit = bench.cluster.audit_since(mark).await.unwrap();
    let audit = audit.by_user(bench.user.name()).writes().resource("deployments");
    assert_eq!(audit.len(), 2, "one correction and one upgrade:\n{audit}");

    bench.apply_web("shop", json!({"replicas": 3})).await;
    bench.wait_revision("shop", 3).await;
    assert_eq!(replicas(&bench).await, 3);
    operator.stop().await.unwrap();
}

#[tokio::test]
async fn ignored_values_are_left_to_others_when_a_release_is_taken_over() {
    let Some(bench) = Bench::with_kind("ignored_values").await else {
        return;
    };
    let values = ["install", "--set", "password=canary"];
    helm_as(&bench, "helm", &values).await;
    edit(&bench.deployments(), "shop", json!({"spec": {"replicas": 5}})).await;
    bench.watches(&watch(&bench, "{ignore: [{paths: [/spec/replicas]}]}"));
    let operator = bench.ready_operator().await;
    bench.apply_web("shop", json!({"password": "canary"})).await;
    bench.wait_revision("shop", 1).await;
    assert_eq!(replicas(&bench).await, 5);
    assert_eq!(bench.revisions().await, ["1 deployed"]);
    operator.stop().await.unwrap();
}

#[tokio::test]
async fn values_are_ignored_in_objects_with_the_labels_and_annotations_of_the_rule() {
    let Some(bench) = Bench::with_kind("ignored_values").await else {
        return;
    };
    let template = |name: &str, tier: &str, note: &str| {
        format!(
            "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: {name}\n  labels: {{tier: {tier}}}\n  annotations: {{note: {note}}}\n\
             data: {{color: blue}}\n"
        )
    };
    let maps = [
        template("both", "web", "free"),
        template("one", "web", "bound"),
        template("other", "db", "free"),
    ];
    bench.add_template("maps.yaml", &maps.join("---\n"));
    let rule = "{paths: [/data/color], target: {kind: ConfigMap, version: v1, labelSelector: 'tier in (web)', annotationSelector: note!=bound}}";
    bench.watches(&watch(&bench, &format!("{{ignore: [{rule}]}}")));
    let operator = bench.ready_operator().await;
    bench.apply_web("shop", json!({})).await;
    bench.wait_revision("shop", 1).await;
    let maps = bench.config_maps();
    for name in ["both", "one", "other"] {
        edit(
            &maps,
            name,
            json!({"data": {"color": "red"}, "metadata": {"annotations": {"theirs": "x"}}}),
        )
        .await;
    }
    for name in ["one", "other"] {
        bench
            .wait("the correction", &maps, name, |map| {
                (map["data"]["color"] == "blue").then_some(())
            })
            .await;
    }
    // An upgrade that does not change it leaves it, too.
    bench.apply_web("shop", json!({"message": "later"})).await;
    bench.wait_revision("shop", 2).await;
    assert_eq!(maps.get("both").await.unwrap().data["data"]["color"], "red");
    operator.stop().await.unwrap();
}

#[tokio::test]
async fn a_value_that_a_failed_revision_has_sent_is_left_to_nobody() {
    let Some(bench) = Bench::with_kind("ignored_values").await else {
        return;
    };
    bench.watches(&watch(
        &bench,
        "{ignore: [{paths: [/data/message], target: {kind: ConfigMap}}]}",
    ));
    let operator = bench.ready_operator().await;
    bench.apply_web("shop", json!({"message": "good"})).await;
    bench.wait_revision("shop", 1).await;
    bench
        .apply_web("shop", json!({"message": "bad", "port": 99_999}))
        .await;
    bench.wait_failed("shop", "ReleaseFailed").await;
    bench
        .apply_web("shop", json!({"message": "good", "port": 80}))
        .await;
    bench.wait_revision("shop", 3).await;
    let map = bench.config_maps().get("shop-config").await.unwrap();
    assert_eq!(map.data["data"]["message"], "good");

    let back = json!({"metadata": {"annotations": {"steersman.dev/rollback-on-failure": "true"}}});
    bench.patch_web("shop", back).await;
    bench
        .apply_web("shop", json!({"message": "bad", "port": 99_999}))
        .await;
    bench.wait_failed("shop", "ReleaseFailed").await;
    bench
        .wait("the rollback", &bench.config_maps(), "shop-config", |map| {
            (map["data"]["message"] == "good").then_some(())
        })
        .await;
    operator.stop().await.unwrap();
}

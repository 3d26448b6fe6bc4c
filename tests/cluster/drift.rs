//! Objects that somebody else changes are put back.

use kube::api::{DeleteParams, Patch, PatchParams};
use serde_json::{Value, json};

use crate::bench::Bench;

#[tokio::test]
async fn what_is_deleted_or_edited_comes_back() {
    let Some(bench) = Bench::with_kind("drift").await else {
        return;
    };
    let operator = bench.ready_operator().await;
    bench.apply_web("shop", json!({})).await;
    bench.wait_revision("shop", 1).await;
    let maps = bench.config_maps();
    let edit = |patch: Value| {
        (
            PatchParams {
                field_manager: Some("someone".to_owned()),
                ..PatchParams::default()
            },
            Patch::Merge(patch),
        )
    };

    let before = maps.get("shop-config").await.unwrap().metadata.uid;
    maps.delete("shop-config", &DeleteParams::default())
        .await
        .unwrap();
    bench
        .wait("a new object", &maps, "shop-config", |map| {
            map.pointer("/metadata/uid")
                .and_then(Value::as_str)
                .filter(|uid| Some(*uid) != before.as_deref())
                .map(|_| ())
        })
        .await;

    let (parameters, patch) = edit(json!({"data": {"message": "bye", "added": "theirs"}}));
    maps.patch("shop-config", &parameters, &patch).await.unwrap();
    let data = bench
        .wait("the message", &maps, "shop-config", |map| {
            (map["data"]["message"] == "hello").then(|| map["data"].clone())
        })
        .await;
    assert_eq!(
        data["added"], "theirs",
        "what the chart does not render is left alone"
    );

    let (parameters, patch) = edit(json!({"metadata": {"labels": {"tier": "other"}}}));
    maps.patch("shop-config", &parameters, &patch).await.unwrap();
    bench
        .wait("the label", &maps, "shop-config", |map| {
            (map["metadata"]["labels"]["tier"] == "config").then_some(())
        })
        .await;

    let (parameters, patch) = edit(json!({"metadata": {"labels": {"steersman.dev/owner-uid": null}}}));
    maps.patch("shop-config", &parameters, &patch).await.unwrap();
    bench
        .wait("the mark", &maps, "shop-config", |map| {
            map["metadata"]["labels"]["steersman.dev/owner-uid"]
                .as_str()
                .map(|_| ())
        })
        .await;

    let (parameters, patch) = edit(json!({"spec": {"replicas": 5}}));
    bench
        .deployments()
        .patch("shop", &parameters, &patch)
        .await
        .unwrap();
    bench
        .wait("one replica", &bench.deployments(), "shop", |deployment| {
            (deployment["spec"]["replicas"] == 1).then_some(())
        })
        .await;

    let ports: Patch<()> = Patch::Json(
        serde_json::from_value(json!([{"op": "replace", "path": "/spec/ports/0/port", "value": 81}]))
            .unwrap(),
    );
    bench
        .services()
        .patch("shop", &PatchParams::default(), &ports)
        .await
        .unwrap();
    bench
        .wait("the port", &bench.services(), "shop", |service| {
            let ports = service["spec"]["ports"].as_array()?;
            (ports.len() == 1 && ports[0]["port"] == 80).then_some(())
        })
        .await;

    assert_eq!(
        bench.revisions().await,
        ["1 deployed"],
        "drift is healed without another revision"
    );
    operator.stop().await.unwrap();
}

//! `helm.sh/resource-policy: keep`.

use serde_json::{Value, json};

use crate::bench::Bench;

const KEPT: &str = r"
{{- range .Values.kept }}
---
apiVersion: v1
kind: ConfigMap
metadata:
  name: {{ . }}
  annotations: {helm.sh/resource-policy: keep}
data: {a: b}
{{- end }}
";

/// Waits until an object carries nothing of its former resource, and checks that it stays.
async fn is_left_alone(bench: &Bench, name: &str) {
    let map = bench
        .wait("an object without an owner", &bench.config_maps(), name, |map| {
            let metadata = &map["metadata"];
            let is_free = metadata["labels"].get("steersman.dev/owner-uid").is_none()
                && metadata["annotations"]
                    .get("operator-sdk/primary-resource")
                    .is_none();
            (metadata.is_object() && is_free).then(|| map.clone())
        })
        .await;
    assert_eq!(map["metadata"].get("ownerReferences"), None);
    assert_eq!(map["metadata"].get("deletionTimestamp"), None);
    assert_eq!(map["data"], json!({"a": "b"}));
}

#[tokio::test]
async fn what_is_to_be_kept_stays_without_an_owner() {
    let Some(bench) = Bench::with_kind("keep").await else {
        return;
    };
    bench.add_template("kept.yaml", KEPT);
    let operator = bench.ready_operator().await;
    bench
        .apply_web("shop", json!({"kept": ["one", "two"], "extra": true}))
        .await;
    bench.wait_revision("shop", 1).await;
    let one = bench.config_maps().get("one").await.unwrap();
    assert!(one.metadata.owner_references.is_none() && one.metadata.labels.is_some());

    bench.apply_web("shop", json!({"kept": ["two"]})).await;
    bench.wait_revision("shop", 2).await;
    bench.wait_gone(&bench.config_maps(), "shop-extra").await;
    is_left_alone(&bench, "one").await;

    bench.delete_web("shop").await;
    bench.wait_gone(&bench.webs(), "shop").await;
    bench.wait_gone(&bench.config_maps(), "shop-config").await;
    is_left_alone(&bench, "one").await;
    is_left_alone(&bench, "two").await;

    // Helm's marks are left, so that a release of the same name finds them.
    bench.apply_web("shop", json!({"kept": ["one"]})).await;
    let web = bench.wait_revision("shop", 1).await;
    let one = bench.config_maps().get("one").await.unwrap();
    let uid = one.metadata.labels.unwrap()["steersman.dev/owner-uid"].clone();
    assert_eq!(Value::from(uid), web["metadata"]["uid"]);
    operator.stop().await.unwrap();
}

//! Documents of `kind: List`.

use kube::api::DeleteParams;
use serde_json::{Value, json};

use crate::bench::Bench;

const LIST: &str = r#"
apiVersion: v1
kind: List
items:
  - apiVersion: v1
    kind: ConfigMap
    metadata: {name: first}
    data: {color: {{ .Values.color | default "red" }}}
  {{- if .Values.second }}
  - apiVersion: v1
    kind: ConfigMap
    metadata: {name: second}
  {{- end }}
"#;

const HOOK: &str = r#"
apiVersion: v1
kind: List
metadata:
  annotations: {helm.sh/hook: "post-install,post-upgrade"}
items:
  - apiVersion: v1
    kind: ConfigMap
    metadata: {name: hook-first}
  - apiVersion: v1
    kind: ConfigMap
    metadata: {name: hook-second}
"#;

#[tokio::test]
async fn items_of_lists_are_objects_like_others() {
    let Some(bench) = Bench::with_kind("lists").await else {
        return;
    };
    bench.add_template("list.yaml", LIST);
    bench.add_template("list-hook.yaml", HOOK);
    let operator = bench.ready_operator().await;
    bench.apply_web("shop", json!({"second": true})).await;
    bench.wait_revision("shop", 1).await;
    let maps = bench.config_maps();
    for name in ["first", "second", "hook-first", "hook-second"] {
        maps.get(name).await.unwrap();
    }

    let uid = maps.get("second").await.unwrap().metadata.uid;
    maps.delete("second", &DeleteParams::default()).await.unwrap();
    bench
        .wait("another object", &maps, "second", |map| {
            let found = map.pointer("/metadata/uid").and_then(Value::as_str)?;
            (Some(found) != uid.as_deref()).then_some(())
        })
        .await;

    bench.apply_web("shop", json!({"color": "blue"})).await;
    bench.wait_revision("shop", 2).await;
    bench.wait_gone(&maps, "second").await;
    assert_eq!(maps.get("first").await.unwrap().data["data"]["color"], "blue");

    bench.delete_web("shop").await;
    bench.wait_gone(&bench.webs(), "shop").await;
    for name in ["first", "hook-first", "hook-second"] {
        assert!(maps.get_opt(name).await.unwrap().is_none(), "{name} is left");
    }
    operator.stop().await.unwrap();
}

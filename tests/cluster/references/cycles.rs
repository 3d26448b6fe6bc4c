//! Resources that depend on themselves.

use serde_json::json;

use super::{small_chart, wait_not_ready, watches};
use crate::bench::Bench;

/// Each Web depends on another, which its values name.
const ON_OTHERS: &str = r#"
- group: GROUP
  version: v1
  kind: Web
  chart: web
  dependsOn:
  - {apiVersion: GROUP/v1, kind: Web, name: "{{ .Values.needs }}"}
"#;

#[tokio::test]
async fn a_cycle_is_named_in_the_condition_of_each() {
    let Some(bench) = Bench::with_kind("cycle").await else {
        return;
    };
    small_chart(&bench);
    watches(&bench, ON_OTHERS);
    let operator = bench.ready_operator().await;
    for (name, needs) in [
        ("a", "b"),
        ("b", "c"),
        ("c", "a"),
        ("own", "own"),
        ("outside", "a"),
    ] {
        bench.apply_web(name, json!({ "needs": needs })).await;
    }
    let webs = bench.webs();
    let (group, namespace) = (&bench.group, &bench.namespace);
    let told = |way: &[&str]| {
        let ids = way.iter().map(|name| format!("Web.{group} {namespace}/{name}"));
        format!("depends on itself: {}", ids.collect::<Vec<_>>().join(" needs "))
    };
    for way in [
        ["a", "b", "c", "a"].as_slice(),
        &["b", "c", "a", "b"],
        &["c", "a", "b", "c"],
        &["own", "own"],
    ] {
        wait_not_ready(&bench, &webs, way[0], &told(way)).await;
    }
    wait_not_ready(&bench, &webs, "outside", "waits for Web").await;
    assert_eq!(bench.revisions().await, Vec::<String>::new());
    for name in ["a", "b", "c", "own", "outside"] {
        bench.delete_web(name).await;
        bench.wait_gone(&webs, name).await;
    }
    operator.stop().await.unwrap();
}

#[tokio::test]
async fn a_cycle_holds_up_no_deletion() {
    let Some(bench) = Bench::with_kind("cycle_deletion").await else {
        return;
    };
    small_chart(&bench);
    let operator = bench.ready_operator().await;
    for (name, needs) in [("a", "b"), ("b", "a")] {
        bench.apply_web(name, json!({ "needs": needs })).await;
        bench.wait_revision(name, 1).await;
    }
    operator.stop().await.unwrap();
    watches(&bench, ON_OTHERS);
    let operator = bench.ready_operator().await;
    let webs = bench.webs();
    for name in ["a", "b"] {
        bench.delete_web(name).await;
        bench.wait_gone(&webs, name).await;
    }
    operator.stop().await.unwrap();
}

//! Orders that charts say themselves, by annotations.

use serde_json::json;

use super::{give_address, ingresses, is_there, site, wait_stages};
use crate::bench::Bench;

const PARTS: [&str; 3] = ["a", "b", "c"];

/// A site whose entry has this `order`, and whose Ingresses have these annotations.
async fn annotated(test: &str, order: &str, annotations: [&str; 3]) -> Option<Bench> {
    let bench = site(test, &PARTS, &format!("  order: {order}\n")).await?;
    for (part, annotations) in PARTS.iter().zip(annotations) {
        let plain = "kind: Ingress\nmetadata:\n";
        let file = format!("{part}.yaml");
        bench.edit(&file, plain, &format!("{plain}  annotations: {annotations}\n"));
    }
    Some(bench)
}

#[tokio::test]
async fn sync_waves_are_stages_where_the_entry_says_so() {
    let wave = |number: &str| format!("{{argocd.argoproj.io/sync-wave: '{number}'}}");
    let waves = [&wave("1"), "{}", &wave("-1")];
    let Some(bench) = annotated("order-argocd", "argocd", waves).await else {
        return;
    };
    let operator = bench.operator_with(&[]).await;
    bench.apply_web("site", json!({})).await;
    wait_stages(
        &bench,
        "site",
        "wave--1 1 Progressing, wave-0 1 Pending, wave-1 1 Pending",
    )
    .await;
    assert!(!is_there(&bench, "site-b-1").await);
    operator.kill().await.unwrap();
    give_address(&bench, "site-c-1").await;
    let operator = bench.operator_with(&[]).await;
    wait_stages(
        &bench,
        "site",
        "wave--1 1 Ready, wave-0 1 Progressing, wave-1 1 Pending",
    )
    .await;
    give_address(&bench, "site-b-1").await;
    give_address(&bench, "site-a-1").await;
    bench.wait_revision("site", 1).await;
    operator.stop().await.unwrap();
}

/// What HIP-0025 writes is no annotation for an API server, and does not reach it.
#[tokio::test]
async fn resource_groups_are_stages_where_the_entry_says_so() {
    let groups = [
        "{helm.sh/resource-group: a, helm.sh/depends-on/resource-groups: '[\"b\"]'}",
        "{helm.sh/resource-group: b}",
        "{}",
    ];
    let Some(bench) = annotated("order-helm", "helm", groups).await else {
        return;
    };
    let operator = bench.operator_with(&[]).await;
    bench.apply_web("site", json!({})).await;
    wait_stages(&bench, "site", "b 1 Progressing, a 1 Pending, web 1 Pending").await;
    give_address(&bench, "site-b-1").await;
    wait_stages(&bench, "site", "b 1 Ready, a 1 Progressing, web 1 Pending").await;
    give_address(&bench, "site-a-1").await;
    give_address(&bench, "site-c-1").await;
    bench.wait_revision("site", 1).await;
    let live = ingresses(&bench).get("site-a-1").await.unwrap();
    let annotations = live.metadata.annotations.unwrap();
    assert_eq!(annotations["helm.sh/resource-group"], "a");
    assert!(!annotations.contains_key("helm.sh/depends-on/resource-groups"));

    // The same goes for an upgrade, and drift is healed from what was stored.
    bench.apply_web("site", json!({"a": "2"})).await;
    give_address(&bench, "site-a-2").await;
    bench.wait_revision("site", 2).await;
    ingresses(&bench)
        .delete("site-b-1", &kube::api::DeleteParams::default())
        .await
        .unwrap();
    give_address(&bench, "site-b-1").await;
    operator.stop().await.unwrap();
}

//! What earlier revisions have left at their gates, once a later one was undone.

use std::time::Duration;

use serde_json::json;

use super::{
    give_address, ingresses, install, is_there, set_addresses, site, stages, wait_reason, wait_stages,
};
use crate::bench::Bench;

const PARTS: [&str; 2] = ["a", "b"];

/// An Ingress with this address has failed.
pub(super) const CHECK: &str = "  healthChecks:
  - apiVersion: networking.k8s.io/v1
    kind: Ingress
    current: has(status.loadBalancer.ingress)
    failed: has(status.loadBalancer.ingress) && status.loadBalancer.ingress.exists(i, i.ip == '192.0.2.66')
";

pub(super) async fn let_fail(bench: &Bench, name: &str) {
    give_address(bench, name).await;
    set_addresses(bench, name, json!([{"ip": "192.0.2.66"}])).await;
}

/// Nothing is there but these Ingresses, now and in a while.
async fn stays(bench: &Bench, names: &[&str]) {
    for _ in 0..6 {
        let found = ingresses(bench).list(&Default::default()).await.unwrap();
        let mut found: Vec<String> = found
            .items
            .into_iter()
            .filter(|ingress| ingress.metadata.deletion_timestamp.is_none())
            .filter_map(|ingress| ingress.metadata.name)
            .collect();
        found.sort();
        assert_eq!(found, names);
        tokio::time::sleep(Duration::from_millis(500)).await;
    }
}

#[tokio::test]
async fn what_an_overtaken_revision_has_applied_does_not_come_back_after_an_undoing() {
    let entry = stages(&PARTS) + CHECK;
    let Some(bench) = site("undone", &PARTS, &entry).await else {
        return;
    };
    let operator = bench.operator_with(&["--rollback-on-failure"]).await;
    install(&bench, "site", &PARTS).await;
    bench.apply_web("site", json!({"a": "2", "b": "2"})).await;
    give_address(&bench, "site-a-2").await;
    wait_stages(&bench, "site", "a 2 Ready, b 2 Progressing").await;
    assert!(is_there(&bench, "site-b-2").await);

    bench.apply_web("site", json!({"a": "3"})).await;
    let_fail(&bench, "site-a-3").await;
    let message = wait_reason(&bench, "site", "Stalled", "StageFailed").await;
    assert!(message.contains("rolled back to revision 1"), "{message}");
    stays(&bench, &["site-a-1", "site-b-1"]).await;
    let maps = bench.config_maps();
    maps.delete("site-b", &Default::default()).await.unwrap();
    let restored = bench
        .wait("the map", &maps, "site-b", |map| {
            (!map.is_null()).then(|| map.clone())
        })
        .await;
    assert_eq!(restored["data"]["value"], "1", "as the deployed revision has it");

    // What is written down says the same.
    operator.kill().await.unwrap();
    maps.delete("site-b", &Default::default()).await.unwrap();
    let operator = bench.operator_with(&[]).await;
    let restored = bench
        .wait("the map", &maps, "site-b", |map| {
            (!map.is_null()).then(|| map.clone())
        })
        .await;
    assert_eq!(restored["data"]["value"], "1", "as the deployed revision has it");
    assert!(!is_there(&bench, "site-b-2").await);
    operator.stop().await.unwrap();
}

#[tokio::test]
async fn nothing_comes_back_of_a_first_revision_where_the_second_is_removed() {
    let entry = stages(&PARTS) + CHECK;
    let Some(bench) = site("removed", &PARTS, &entry).await else {
        return;
    };
    let operator = bench.operator_with(&["--rollback-on-failure"]).await;
    bench.apply_web("site", json!({})).await;
    give_address(&bench, "site-a-1").await;
    wait_stages(&bench, "site", "a 1 Ready, b 1 Progressing").await;
    bench.apply_web("site", json!({"a": "2"})).await;
    let_fail(&bench, "site-a-2").await;
    let message = wait_reason(&bench, "site", "Stalled", "StageFailed").await;
    assert!(message.contains("what it has installed is removed"), "{message}");
    stays(&bench, &[]).await;
    operator.stop().await.unwrap();
}

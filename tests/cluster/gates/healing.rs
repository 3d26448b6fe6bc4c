//! Objects are kept as the revision has them that has applied them last, on both sides of a gate.

use kube::api::{Patch, PatchParams};
use serde_json::{Value, json};

use super::{give_address, install, site, stages, wait_stages};
use crate::bench::Bench;

const PARTS: [&str; 3] = ["a", "b", "c"];

async fn wait_value(bench: &Bench, name: &str, value: &str) {
    bench
        .wait(&format!("value {value}"), &bench.config_maps(), name, |found| {
            (found.pointer("/data/value").and_then(Value::as_str) == Some(value)).then_some(())
        })
        .await;
}

async fn spoil(bench: &Bench, name: &str) {
    let patch = json!({"data": {"value": "spoilt"}});
    let patch = Patch::Merge(&patch);
    let parameters = PatchParams::default();
    bench
        .config_maps()
        .patch(name, &parameters, &patch)
        .await
        .unwrap();
}

#[tokio::test]
async fn drift_is_healed_from_the_revision_that_applied_the_object_last() {
    let entry = stages(&PARTS) + "  wait: {timeout: 10m}\n";
    let Some(bench) = site("stages-heal", &PARTS, &entry).await else {
        return;
    };
    let operator = bench.operator_with(&["--history-max=2"]).await;
    install(&bench, "site", &PARTS).await;

    // The second revision stops in its second stage, and the third one in its first.
    bench
        .apply_web("site", json!({"a": "2", "b": "2", "c": "2"}))
        .await;
    give_address(&bench, "site-a-2").await;
    wait_stages(&bench, "site", "a 2 Ready, b 2 Progressing, c 2 Pending").await;
    bench
        .apply_web("site", json!({"a": "3", "b": "3", "c": "3"}))
        .await;
    wait_stages(&bench, "site", "a 3 Progressing, b 3 Pending, c 3 Pending").await;
    let (live, kept) = (
        [("site-a", "3"), ("site-b", "2"), ("site-c", "1")],
        ["1 deployed", "2 pending-upgrade", "3 pending-upgrade"],
    );
    assert_eq!(bench.revisions().await, kept, "all of them have objects");
    for (name, value) in live {
        wait_value(&bench, name, value).await;
        spoil(&bench, name).await;
        wait_value(&bench, name, value).await;
    }
    // The same after a restart.
    operator.kill().await.unwrap();
    for (name, _) in live {
        spoil(&bench, name).await;
    }
    let operator = bench.operator_with(&["--history-max=2"]).await;
    for (name, value) in live {
        wait_value(&bench, name, value).await;
    }
    for part in PARTS {
        give_address(&bench, &format!("site-{part}-3")).await;
    }
    bench.wait_revision("site", 3).await;
    assert_eq!(bench.revisions().await.last().unwrap(), "3 deployed");
    operator.stop().await.unwrap();
}

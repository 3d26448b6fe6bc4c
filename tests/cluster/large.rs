//! Releases that are larger than a Secret.

use std::fmt::Write;

use kube::api::{DynamicObject, ListParams};
use serde_json::{Value, json};

use crate::bench::Bench;

const MAPS: usize = 30;

/// Adds thirty `ConfigMaps` of 80 kB to the chart, each of text that `text` gives.
pub(crate) fn add_maps(bench: &Bench, mut text: impl FnMut() -> String) {
    for number in 0..MAPS {
        let mut template = format!(
            "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: large-{number}\ndata:\n  message: {{{{ .Values.message }}}}\n"
        );
        writeln!(template, "  text: {}", text()).unwrap();
        bench.add_template(&format!("large-{number}.yaml"), &template);
    }
}

/// Text that can't be packed to much less.
pub(crate) fn noise() -> impl FnMut() -> String {
    let mut state = 1_u64;
    move || {
        let mut text = String::new();
        while text.len() < 80_000 {
            state = state
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1_442_695_040_888_963_407);
            write!(text, "x{:08x}", state >> 32).unwrap();
        }
        text
    }
}

async fn parts(bench: &Bench) -> Vec<DynamicObject> {
    let selector = ListParams::default().labels("steersman.dev/release=shop");
    bench.secrets().list(&selector).await.unwrap().items
}

async fn helm(bench: &Bench, arguments: &[&str]) -> String {
    let namespace = ["--namespace", &bench.namespace];
    bench
        .cluster
        .helm(&[arguments, &namespace].concat())
        .await
        .unwrap()
}

/// Helm does not touch what it does not know.
async fn is_refused(bench: &Bench, command: &str) {
    let arguments = [command, "shop", "--namespace", &bench.namespace];
    let refused = bench.cluster.helm(&arguments).await.unwrap_err().to_string();
    assert!(refused.contains("ManifestInParts"), "{refused}");
    bench.config_maps().get("large-7").await.unwrap();
}

#[tokio::test]
async fn a_manifest_of_many_like_objects_is_helms_to_read() {
    let Some(bench) = Bench::with_kind("large").await else {
        return;
    };
    add_maps(&bench, || "word-".repeat(16_000));
    let operator = bench.ready_operator().await;
    bench.apply_web("shop", json!({})).await;
    bench.wait_revision("shop", 1).await;
    assert!(parts(&bench).await.is_empty());
    let manifest = helm(&bench, &["get", "manifest", "shop"]).await;
    assert!(manifest.len() > 2_000_000, "{}", manifest.len());
    operator.stop().await.unwrap();
}

#[tokio::test]
async fn a_manifest_that_no_secret_holds_is_kept_in_parts() {
    let Some(bench) = Bench::with_kind("large").await else {
        return;
    };
    add_maps(&bench, noise());
    let operator = bench.ready_operator().await;
    bench
        .apply_web("shop", json!({"message": "one", "extra": true}))
        .await;
    bench.wait_revision("shop", 1).await;
    let first = parts(&bench).await;
    assert!(first.len() > 1);
    let uid = bench.webs().get("shop").await.unwrap().metadata.uid.unwrap();
    for part in &first {
        assert_eq!(part.data["type"], "steersman.dev/release-part.v1");
        assert_eq!(part.metadata.owner_references.as_ref().unwrap()[0].uid, uid);
    }

    // Helm reads the rest, and where to look.
    let values = helm(&bench, &["get", "values", "shop", "-o", "json"]).await;
    assert_eq!(serde_json::from_str::<Value>(&values).unwrap()["message"], "one");
    let notes = helm(&bench, &["get", "notes", "shop"]).await;
    assert!(notes.contains("shop says one"), "{notes}");
    let manifest = helm(&bench, &["get", "manifest", "shop"]).await;
    assert!(manifest.contains("steersman.release.v1.shop.v1."), "{manifest}");
    let status = helm(&bench, &["status", "shop"]).await;
    assert!(status.contains("STATUS: deployed"), "{status}");
    is_refused(&bench, "uninstall").await;
    operator.stop().await.unwrap();

    // What was stored is known again: nothing is written, what is missing is restored.
    let mark = bench.cluster.audit_mark().await.unwrap();
    bench
        .config_maps()
        .delete("large-7", &Default::default())
        .await
        .unwrap();
    let operator = bench.ready_operator().await;
    bench
        .wait("the object", &bench.config_maps(), "large-7", |map| {
            map.get("data").map(|_| ())
        })
        .await;
    let audit = bench.cluster.audit_since(mark).await.unwrap();
    let writes = audit.by_user(bench.user.name()).writes();
    let maps = writes.filter(|request| request.resource == "configmaps");
    assert_eq!(maps.len(), 1, "{maps}");

    // What the stored manifest names and the next one does not goes.
    bench.apply_web("shop", json!({"message": "two"})).await;
    bench.wait_revision("shop", 2).await;
    bench.wait_gone(&bench.config_maps(), "shop-extra").await;
    assert_eq!(bench.revisions().await, ["1 superseded", "2 deployed"]);
    assert_eq!(parts(&bench).await.len(), 2 * first.len());
    operator.stop().await.unwrap();

    // Helm's attempt is a revision, too. Revisions that go take their parts along.
    is_refused(&bench, "rollback").await;
    let operator = bench.operator_with(&["--history-max=1"]).await;
    bench.wait_revision("shop", 4).await;
    bench.apply_web("shop", json!({"message": "three"})).await;
    bench.wait_revision("shop", 5).await;
    assert_eq!(bench.revisions().await, ["5 deployed"]);
    assert_eq!(parts(&bench).await.len(), first.len());

    bench.delete_web("shop").await;
    bench.wait_gone(&bench.webs(), "shop").await;
    assert!(bench.config_maps().get_opt("large-7").await.unwrap().is_none());
    assert!(parts(&bench).await.is_empty());
    operator.stop().await.unwrap();
}

#[tokio::test]
async fn the_parts_stay_when_the_objects_stay() {
    let Some(bench) = Bench::with_kind("large").await else {
        return;
    };
    add_maps(&bench, noise());
    let operator = bench.ready_operator().await;
    bench.apply_web("shop", json!({"extra": true})).await;
    bench.wait_revision("shop", 1).await;
    let policy = json!({"metadata": {"annotations": {"steersman.dev/deletion-policy": "orphan"}}});
    bench.patch_web("shop", policy).await;
    bench.delete_web("shop").await;
    bench.wait_gone(&bench.webs(), "shop").await;
    let left = parts(&bench).await;
    assert!(left.len() > 1);
    for part in left {
        assert_eq!(part.metadata.owner_references, None);
    }

    // Whoever takes the release over knows what is no longer wanted.
    bench.apply_web("shop", json!({})).await;
    bench.wait_revision("shop", 2).await;
    bench.wait_gone(&bench.config_maps(), "shop-extra").await;
    bench.delete_web("shop").await;
    bench.wait_gone(&bench.webs(), "shop").await;
    // The garbage collector takes what the first attempt, which met the old revision, has left.
    for part in parts(&bench).await {
        bench
            .wait_gone(&bench.secrets(), &part.metadata.name.unwrap())
            .await;
    }
    operator.stop().await.unwrap();
}

#[tokio::test]
async fn a_release_that_lacks_a_part_is_refused() {
    let Some(bench) = Bench::with_kind("large").await else {
        return;
    };
    add_maps(&bench, noise());
    let operator = bench.ready_operator().await;
    bench.apply_web("shop", json!({})).await;
    bench.wait_revision("shop", 1).await;
    operator.stop().await.unwrap();
    let part = parts(&bench).await.remove(1).metadata.name.unwrap();
    bench.secrets().delete(&part, &Default::default()).await.unwrap();
    let operator = bench.ready_operator().await;
    bench.apply_web("shop", json!({"message": "new"})).await;
    let message = bench
        .wait("the refusal", &bench.webs(), "shop", |web| {
            crate::bench::condition(web, "Stalled").map(|(_, _, message)| message)
        })
        .await;
    assert!(
        message.contains(&format!("Secret {part}, a part of a release, is missing")),
        "{message}"
    );
    bench.delete_web("shop").await;
    bench.wait_gone(&bench.webs(), "shop").await;
    bench.wait_gone(&bench.config_maps(), "large-0").await;
    operator.stop().await.unwrap();
}

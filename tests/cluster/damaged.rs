//! A history that is damaged, forged or lost deletes nothing, and keeps nothing from being deleted.

use std::io::Write;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use flate2::Compression;
use flate2::write::GzEncoder;
use kube::api::{Patch, PatchParams};
use serde_json::json;

use crate::bench::{Bench, condition};

/// A release of which a revision was damaged while the operator was away.
async fn check(damage: impl Fn(&[u8]) -> Vec<u8>, expected: &str) {
    let Some(bench) = Bench::with_kind("damaged").await else {
        return;
    };
    let operator = bench.released(json!({"password": "canary"})).await;
    operator.stop().await.unwrap();

    let name = "sh.helm.release.v1.shop.v1";
    let secret = bench.secrets().get(name).await.unwrap();
    let stored = secret.data["data"]["release"].as_str().unwrap();
    let release = STANDARD.encode(damage(&STANDARD.decode(stored).unwrap()));
    let patch = Patch::Merge(json!({ "data": { "release": release } }));
    bench
        .secrets()
        .patch(name, &PatchParams::default(), &patch)
        .await
        .unwrap();
    let foreign = json!({"apiVersion": "v1", "kind": "Secret",
        "metadata": {"name": "precious", "labels": {"owner": "helm", "name": "shop"}}});
    bench.create(&bench.secrets(), foreign).await;
    let before = bench.config_maps().get("shop-config").await.unwrap();

    let operator = bench.ready_operator().await;
    bench.apply_web("shop", json!({"message": "new"})).await;
    let (reason, message) = bench.wait_stalled("shop").await;
    assert_eq!(reason, "ErrorGettingReleaseState");
    assert!(
        message.contains(&format!("Secret {name} is not ")) && message.contains(expected),
        "{message}"
    );
    let now = bench.config_maps().get("shop-config").await.unwrap();
    assert_eq!(now.metadata.resource_version, before.metadata.resource_version);

    bench.delete_web("shop").await;
    bench.wait_gone(&bench.webs(), "shop").await;
    assert!(bench.events().await.contains("HistoryUnreadable"));
    bench.wait_gone(&bench.deployments(), "shop").await;
    bench.wait_gone(&bench.secrets(), name).await;
    bench.secrets().get("precious").await.unwrap();
    let role = format!("clusterrole/{}-shop", bench.namespace);
    assert!(
        bench.cluster.kubectl(&["get", &role]).await.is_err(),
        "{role} is left"
    );
    operator.stop().await.unwrap();
}

#[tokio::test]
async fn a_truncated_revision_is_refused_and_its_release_still_goes() {
    check(
        |release| {
            let packed = STANDARD.decode(release).unwrap();
            STANDARD.encode(&packed[..packed.len() / 2]).into_bytes()
        },
        "failed to unpack the release",
    )
    .await;
}

#[tokio::test]
async fn a_revision_that_is_a_bomb_is_refused_and_its_release_still_goes() {
    check(
        |_| {
            let mut packer = GzEncoder::new(Vec::new(), Compression::best());
            let zeros = vec![b' '; 1024 * 1024];
            for _ in 0..200 {
                packer.write_all(&zeros).unwrap();
            }
            STANDARD.encode(packer.finish().unwrap()).into_bytes()
        },
        "take more than",
    )
    .await;
}

#[tokio::test]
async fn a_release_in_a_later_format_is_left_alone() {
    let Some(bench) = Bench::with_kind("damaged").await else {
        return;
    };
    let operator = bench.released(json!({})).await;
    operator.stop().await.unwrap();
    let later = json!({"apiVersion": "v1", "kind": "Secret", "type": "helm.sh/release.v2", "metadata": {
        "name": "sh.helm.release.v2.shop.v2", "labels": {"owner": "helm", "name": "shop", "version": "2", "status": "deployed"}}});
    bench.create(&bench.secrets(), later).await;

    let operator = bench.ready_operator().await;
    bench.apply_web("shop", json!({"message": "new"})).await;
    let (_, message) = bench.wait_stalled("shop").await;
    assert!(
        message.contains("of type helm.sh/release.v2, which this version can't read"),
        "{message}"
    );
    let map = bench.config_maps().get("shop-config").await.unwrap();
    assert_eq!(map.data["data"]["message"], "hello");
    operator.stop().await.unwrap();
}

/// The history of a resource that nobody has dealt with is read, too, where it has one.
#[tokio::test]
async fn a_release_in_a_later_format_is_seen_before_a_new_resource_is_released() {
    let Some(bench) = Bench::with_kind("damaged").await else {
        return;
    };
    let later = json!({"apiVersion": "v1", "kind": "Secret", "type": "helm.sh/release.v2", "metadata": {
        "name": "sh.helm.release.v2.late.v7", "labels": {"owner": "helm", "name": "late", "version": "7", "status": "deployed"}}});
    bench.create(&bench.secrets(), later).await;
    let operator = bench.ready_operator().await;
    // Whether there are revisions is known from here on.
    bench.apply_web("first", json!({})).await;
    bench.wait_revision("first", 1).await;

    bench.apply_web("late", json!({})).await;
    let (reason, message) = bench.wait_stalled("late").await;
    assert_eq!(reason, "ErrorGettingReleaseState");
    assert!(message.contains("of type helm.sh/release.v2"), "{message}");
    let late = bench.webs().get("late").await.unwrap();
    assert_eq!(late.metadata.finalizers, None);
    assert!(
        bench
            .config_maps()
            .get_opt("late-config")
            .await
            .unwrap()
            .is_none()
    );
    let first = "sh.helm.release.v1.late.v1";
    assert!(bench.secrets().get_opt(first).await.unwrap().is_none());

    bench
        .secrets()
        .delete("sh.helm.release.v2.late.v7", &Default::default())
        .await
        .unwrap();
    bench.wait_revision("late", 1).await;
    operator.stop().await.unwrap();
}

#[tokio::test]
async fn a_lost_history_is_written_anew() {
    let Some(bench) = Bench::with_kind("damaged").await else {
        return;
    };
    let operator = bench.released(json!({})).await;
    let secret = "sh.helm.release.v1.shop.v1";
    bench.secrets().delete(secret, &Default::default()).await.unwrap();
    bench.apply_web("shop", json!({"message": "new"})).await;
    bench
        .wait("the message", &bench.config_maps(), "shop-config", |map| {
            (map["data"]["message"] == "new").then_some(())
        })
        .await;
    bench.delete_web("shop").await;
    bench.wait_gone(&bench.webs(), "shop").await;
    assert!(bench.deployments().get_opt("shop").await.unwrap().is_none());
    operator.stop().await.unwrap();
}

#[tokio::test]
async fn a_secret_that_is_no_release_is_named_and_deletes_nothing() {
    let Some(bench) = Bench::with_kind("damaged").await else {
        return;
    };
    let forged = json!({"apiVersion": "v1", "kind": "Secret", "type": "helm.sh/release.v1",
        "metadata": {"name": "sh.helm.release.v1.shop.v1", "labels": {"owner": "helm", "name": "shop", "status": "deployed", "version": "1"}},
        "stringData": {"release": "bm8gcmVsZWFzZQ=="}});
    bench.create(&bench.secrets(), forged).await;
    let operator = bench.ready_operator().await;
    bench.apply_web("shop", json!({})).await;
    let (_, reason, message) = bench
        .wait("the refusal", &bench.webs(), "shop", |web| {
            condition(web, "Irreconcilable")
        })
        .await;
    assert_eq!(reason, "ErrorGettingReleaseState");
    assert!(
        message.contains("Secret sh.helm.release.v1.shop.v1 is not a release"),
        "{message}"
    );
    bench
        .secrets()
        .delete("sh.helm.release.v1.shop.v1", &Default::default())
        .await
        .unwrap();
    bench.wait_revision("shop", 1).await;
    operator.stop().await.unwrap();
}

#[tokio::test]
async fn a_forged_manifest_deletes_nothing_of_others() {
    use base64::Engine;
    let Some(bench) = Bench::with_kind("damaged").await else {
        return;
    };
    let theirs = json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "precious"}});
    bench.create(&bench.config_maps(), theirs).await;
    let record = json!({"name": "shop", "namespace": bench.namespace, "version": 1, "chart": {"metadata": {"name": "web"}},
        "info": {"status": "deployed"},
        "manifest": "---\n# Source: x\napiVersion: v1\nkind: ConfigMap\nmetadata: {name: precious}\n"});
    let record = base64::engine::general_purpose::STANDARD.encode(record.to_string());
    let forged = json!({"apiVersion": "v1", "kind": "Secret", "type": "helm.sh/release.v1",
        "metadata": {"name": "sh.helm.release.v1.shop.v1", "labels": {"owner": "helm", "name": "shop", "status": "deployed", "version": "1"}},
        "stringData": {"release": record}});
    bench.create(&bench.secrets(), forged).await;
    let operator = bench.ready_operator().await;
    bench.apply_web("shop", json!({})).await;
    bench.wait_revision("shop", 2).await;
    bench.delete_web("shop").await;
    bench.wait_gone(&bench.webs(), "shop").await;
    bench.config_maps().get("precious").await.unwrap();
    assert_eq!(bench.revisions().await, [""; 0]);
    operator.stop().await.unwrap();
}

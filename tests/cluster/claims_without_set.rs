//! Claims that are there before their set, as that was deleted without them (`expandClaims`).

use kube::api::DeleteParams;
use serde_json::{Value, json};
use steersman_testkit::cluster::{AuditMark, Fault};

use crate::bench::Bench;
use crate::claims::{Claims, entry, names, written};
use crate::developer::{Developer, contains_all};
use crate::faults::lane::Lane;

/// Takes a set away from its pods and claims, as `kubectl delete --cascade=orphan` does.
async fn orphan(claims: &Claims<'_>) {
    let orphaning = DeleteParams::orphan();
    claims.sets().delete("shop", &orphaning).await.unwrap();
}

/// Does that, and waits for the set that the operator makes in its place.
async fn orphan_and_wait(bench: &Bench, claims: &Claims<'_>) {
    let before = claims.sets().get("shop").await.unwrap().metadata.uid;
    orphan(claims).await;
    let is_other = |set: &Value| (set["metadata"]["uid"].as_str() != before.as_deref()).then_some(());
    bench.wait("another set", &claims.sets(), "shop", is_other).await;
}

async fn pause(bench: &Bench, mode: Value) {
    let annotations = json!({"metadata": {"annotations": {"steersman.dev/pause": mode}}});
    bench.patch_web("shop", annotations).await;
}

/// How often the operator has listed claims since `mark`.
async fn lists(bench: &Bench, mark: AuditMark) -> usize {
    let audit = bench.cluster.audit_since(mark).await.unwrap();
    let lists = audit
        .by_user(bench.user.name())
        .filter(|request| request.resource == "persistentvolumeclaims" && request.verb == "list");
    lists.requests.len()
}

#[tokio::test]
async fn claims_whose_set_is_gone_grow_before_it_comes_back() {
    let Some(bench) = Bench::with_kind("claims_without_set").await else {
        return;
    };
    let claims = Claims::of(&bench, true).await;
    bench.watches(&json!([entry(&bench)]).to_string());
    let mark = bench.cluster.audit_mark().await.unwrap();
    let operator = bench.released(json!({})).await;
    assert_eq!(lists(&bench, mark).await, 1);
    let bound = names(&["data-shop-0", "data-shop-1", "logs-shop-0"]);
    claims.bind(&bound).await;
    let pods = claims.uids(&claims.pods(), &names(&["shop-0", "shop-1"])).await;
    pause(&bench, json!("true")).await;
    let is_paused = |web: &Value| crate::bench::condition(web, "Paused").map(drop);
    bench.wait("the pause", &bench.webs(), "shop", is_paused).await;
    orphan(&claims).await;
    bench.wait_gone(&claims.sets(), "shop").await;

    let developer = Developer::of(&bench).await;
    let grown = json!({"storage": "2Gi"});
    developer.write_resource(&grown);
    let shown = developer.run(&["diff", "-f", "shop.yaml"]);
    let expands = "expands claim data-shop-0 from 1Gi to 2Gi\n  expands claim data-shop-1 from 1Gi to 2Gi\n";
    contains_all(&shown.stdout, &[expands]);

    bench.apply_web("shop", grown).await;
    let mark = bench.cluster.audit_mark().await.unwrap();
    pause(&bench, Value::Null).await;
    bench.wait_revision("shop", 2).await;
    assert_eq!(
        written(&bench, mark).await,
        [
            "patch persistentvolumeclaims data-shop-0",
            "patch persistentvolumeclaims data-shop-1",
            "patch statefulsets shop",
        ]
    );
    assert_eq!(lists(&bench, mark).await, 1);
    for (name, size) in bound.iter().zip(["2Gi", "2Gi", "1Gi"]) {
        assert_eq!(claims.size(name).await, size, "{name}");
    }
    assert_eq!(
        claims.uids(&claims.pods(), &names(&["shop-0", "shop-1"])).await,
        pods
    );
    let event = bench.wait_event("ClaimExpanded").await;
    assert!(event.contains("from 1Gi to 2Gi"), "{event}");

    // As it is again, nothing is to be done with them.
    orphan_and_wait(&bench, &claims).await;
    assert_eq!(claims.size("data-shop-0").await, "2Gi");
    operator.stop().await.unwrap();
}

#[tokio::test]
async fn claims_grow_to_another_size_that_comes_before_the_set_is_back() {
    let Some(lane) = Lane::new("claims_without_set").await else {
        return;
    };
    let bench = &lane.bench;
    let claims = Claims::of(bench, true).await;
    bench.watches(&json!([entry(bench)]).to_string());
    lane.start().await;
    bench.apply_web("shop", json!({})).await;
    bench.wait_revision("shop", 1).await;
    let bound = names(&["data-shop-0", "data-shop-1"]);
    claims.bind(&bound).await;
    let fault = lane
        .proxy
        .inject(Fault::on("delete", "statefulsets").name("shop").kill_after());
    bench.apply_web("shop", json!({"storage": "2Gi"})).await;
    lane.wait_killed().await;
    assert_eq!(lane.proxy.struck(fault), 1);
    bench.wait_gone(&claims.sets(), "shop").await;
    bench.apply_web("shop", json!({"storage": "3Gi"})).await;
    lane.keep_alive().await;
    bench.wait_revision("shop", 3).await;
    assert_eq!(claims.template("shop").await, "3Gi");
    for name in &bound {
        assert_eq!(claims.size(name).await, "3Gi", "{name}");
    }
    lane.stop().await;
}

/// A claim that is too small and nobody's, and one without a volume, keep the set from being created.
#[tokio::test]
async fn claims_that_cannot_grow_are_named_before_their_set_is_created() {
    let Some(bench) = Bench::with_kind("claims_without_set").await else {
        return;
    };
    let claims = Claims::of(&bench, true).await;
    bench.watches(&json!([entry(&bench)]).to_string());
    let claim = |name: &str, labels: Value| {
        json!({
            "apiVersion": "v1", "kind": "PersistentVolumeClaim", "metadata": {"name": name, "labels": labels},
            "spec": {"storageClassName": bench.namespace, "accessModes": ["ReadWriteOnce"],
                "resources": {"requests": {"storage": "1Gi"}}},
        })
    };
    bench.create(&claims.api(), claim("data-shop-1", json!({}))).await;
    let operator = bench.ready_operator().await;
    bench.apply_web("shop", json!({"storage": "2Gi"})).await;
    let (_, _, message) = bench.wait_failed("shop", "ReleaseFailed").await;
    let message = message.replace(&bench.namespace, "NS");
    contains_all(
        &message,
        &[
            "failed to apply StatefulSet NS/shop, which is not created, as claims of its pods are there and smaller",
            "PersistentVolumeClaim NS/data-shop-1 has the name of one of the set's",
        ],
    );
    assert!(claims.sets().get_opt("shop").await.unwrap().is_none());
    bench
        .create(&claims.api(), claim("data-shop-0", json!({"app": "shop"})))
        .await;
    claims
        .api()
        .delete("data-shop-1", &DeleteParams::default())
        .await
        .unwrap();
    let at_once = json!({"metadata": {"annotations": {"steersman.dev/reconcile-at": "now"}}});
    bench.patch_web("shop", at_once).await;
    let unbound = |web: &Value| {
        let (_, _, message) = crate::bench::condition(web, "ReleaseFailed")?;
        let is_said = message.contains("data-shop-0 is not bound")
            && message.contains("; where it waits for a pod, delete it");
        is_said.then_some(())
    };
    bench
        .wait("the claim in the message", &bench.webs(), "shop", unbound)
        .await;
    claims.bind(&names(&["data-shop-0"])).await;
    bench.wait_revision("shop", 1).await;
    assert_eq!(claims.size("data-shop-0").await, "2Gi");
    operator.stop().await.unwrap();
}

#[tokio::test]
async fn a_set_costs_no_request_more_where_claims_do_not_grow() {
    let Some(bench) = Bench::with_kind("claims_without_set").await else {
        return;
    };
    let claims = Claims::of(&bench, true).await;
    let mark = bench.cluster.audit_mark().await.unwrap();
    let operator = bench.released(json!({})).await;
    orphan_and_wait(&bench, &claims).await;
    assert_eq!(lists(&bench, mark).await, 0);
    operator.stop().await.unwrap();
}

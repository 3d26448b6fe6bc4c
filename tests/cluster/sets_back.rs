//! A `StatefulSet` that was deleted to be created again, where the operator ends and the resource is deleted in between: its
//! pods go with it.

use kube::api::{Api, DeleteParams, DynamicObject};
use serde_json::{Value, json};
use steersman_testkit::cluster::Fault;

use crate::claims::{Claims, entry, names};
use crate::faults::lane::Lane;

/// Makes a fault of what it strikes.
type Effect = fn(Fault) -> Fault;

async fn wait_pods_gone(lane: &Lane, pods: &Api<DynamicObject>) {
    for name in ["shop-0", "shop-1"] {
        lane.bench.wait_gone(pods, name).await;
    }
}

/// A release whose set is live with its pods.
async fn released(test: &str, grows: bool) -> Option<Lane> {
    let lane = Lane::new(test).await?;
    let claims = Claims::of(&lane.bench, true).await;
    if grows {
        lane.bench.watches(&json!([entry(&lane.bench)]).to_string());
    }
    lane.start().await;
    lane.bench.apply_web("shop", json!({})).await;
    lane.bench.wait_revision("shop", 1).await;
    claims.bind(&names(&["data-shop-0", "data-shop-1"])).await;
    for name in ["shop-0", "shop-1"] {
        lane.bench
            .wait("its pod", &claims.pods(), name, |_| Some(()))
            .await;
    }
    Some(lane)
}

#[tokio::test]
async fn pods_go_with_a_release_that_goes_before_their_set_is_back() {
    let effects: [(&str, Effect); 2] = [("delete", Fault::kill_after), ("patch", Fault::kill_before)];
    for grows in [true, false] {
        for (verb, effect) in effects {
            let Some(lane) = released("sets_back", grows).await else {
                return;
            };
            let bench = &lane.bench;
            let claims = Claims::in_place(bench);
            let force =
                json!({"metadata": {"annotations": {"helm.sdk.operatorframework.io/upgrade-force": "true"}}});
            if !grows {
                bench.patch_web("shop", force).await;
            }
            // The change is tried in place first, which the server refuses.
            let number = if verb == "patch" { 2 } else { 1 };
            let fault = Fault::on(verb, "statefulsets").name("shop").nth(number);
            let fault = if grows && verb == "patch" {
                fault.nth(3)
            } else {
                fault
            };
            let fault = lane.proxy.inject(effect(fault));
            bench.apply_web("shop", json!({"storage": "2Gi"})).await;
            lane.wait_killed().await;
            assert_eq!(lane.proxy.struck(fault), 1, "{verb} {grows}");
            bench.delete_web("shop").await;
            lane.keep_alive().await;
            bench.wait_gone(&bench.webs(), "shop").await;
            bench.wait_gone(&claims.sets(), "shop").await;
            wait_pods_gone(&lane, &claims.pods()).await;
            assert!(claims.api().get_opt("data-shop-0").await.unwrap().is_some());
            lane.stop().await;
        }
    }
}

/// What somebody else has deleted without its pods leaves them, as they may be wanted.
#[tokio::test]
async fn pods_whose_set_others_have_deleted_stay() {
    let Some(lane) = released("sets_back", true).await else {
        return;
    };
    let bench = &lane.bench;
    let claims = Claims::in_place(bench);
    lane.kill().await;
    claims
        .sets()
        .delete("shop", &DeleteParams::orphan())
        .await
        .unwrap();
    bench.wait_gone(&claims.sets(), "shop").await;
    bench.delete_web("shop").await;
    lane.start().await;
    bench.wait_gone(&bench.webs(), "shop").await;
    for name in ["shop-0", "shop-1"] {
        let pod = claims.pods().get(name).await.unwrap();
        assert_eq!(pod.metadata.deletion_timestamp, None, "{name}");
    }
    lane.stop().await;
}

/// A set that can't be created again is named with what it may have left.
#[tokio::test]
async fn a_set_that_cannot_come_back_is_named() {
    let Some(lane) = released("sets_back", true).await else {
        return;
    };
    let bench = &lane.bench;
    let claims = Claims::in_place(bench);
    let fault = Fault::on("delete", "statefulsets").name("shop").kill_after();
    lane.proxy.inject(fault);
    bench.apply_web("shop", json!({"storage": "2Gi"})).await;
    lane.wait_killed().await;
    bench.wait_gone(&claims.sets(), "shop").await;
    bench.delete_web("shop").await;
    let refused = Fault::on("patch", "statefulsets")
        .name("shop")
        .always()
        .refuse(422);
    lane.proxy.inject(refused);
    lane.keep_alive().await;
    bench.wait_gone(&bench.webs(), "shop").await;
    let event: String = bench.wait_event("PodsLeft").await;
    let said = "shop is gone, as it was to be created again, and can't be";
    assert!(
        event.contains(said) && event.contains("its pods may be left"),
        "{event}"
    );
    let left: Value = serde_json::to_value(claims.pods().get("shop-0").await.unwrap()).unwrap();
    assert_eq!(left["metadata"].get("deletionTimestamp"), None);
    lane.stop().await;
}

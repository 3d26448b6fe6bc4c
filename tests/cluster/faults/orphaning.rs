//! Deletions with `--cascade=orphan` whose first try fails: by the next, the garbage collector has taken off the finalizer
//! that says so.

use kube::api::{DeleteParams, PropagationPolicy};
use serde_json::{Value, json};
use steersman_testkit::cluster::Fault;

use super::lane::Lane;
use crate::records::secret_of;

/// Deletes a resource whose objects are to stay, with a fault that strikes until the collector has done its work.
async fn check(test: &str, fault: impl Fn(Fault) -> Fault) {
    let Some(lane) = Lane::ready(test).await else {
        return;
    };
    let bench = &lane.bench;
    bench.apply_web("shop", json!({"elsewhere": "kube-public"})).await;
    bench.wait_revision("shop", 1).await;
    let maps = bench.config_maps();
    let before = maps.get("shop-config").await.unwrap().metadata.uid;
    let first_write = Fault::on("write", "configmaps");
    let fault = lane.proxy.inject(fault(first_write));
    let parameters = DeleteParams {
        propagation_policy: Some(PropagationPolicy::Orphan),
        ..DeleteParams::default()
    };
    bench.webs().delete("shop", &parameters).await.unwrap();
    bench
        .wait("the collector's work", &bench.webs(), "shop", |web| {
            let finalizers = web.pointer("/metadata/finalizers");
            let is_done = finalizers.is_none_or(|all| !all.to_string().contains("\"orphan\""));
            (is_done && lane.proxy.struck(fault) > 0).then_some(())
        })
        .await;
    lane.proxy.take_back(fault);
    lane.keep_alive().await;
    bench.wait_gone(&bench.webs(), "shop").await;
    let after = maps.get("shop-config").await.unwrap().metadata;
    assert_eq!((after.uid, after.deletion_timestamp), (before, None));
    assert_eq!(after.owner_references.unwrap_or_default(), []);
    let role = format!("{}-shop", bench.namespace);
    let role = bench.cluster_roles().get(&role).await.unwrap();
    for labels in [after.labels, role.metadata.labels] {
        let labels = labels.unwrap();
        assert!(!labels.contains_key("steersman.dev/owner-uid"), "{labels:?}");
    }
    assert_eq!(bench.revisions().await, ["1 deployed"]);
    // The release goes on with another resource of the name.
    bench.apply_web("shop", json!({})).await;
    bench.wait_revision("shop", 2).await;
    bench.delete_web("shop").await;
    bench.wait_gone(&bench.webs(), "shop").await;
    lane.stop().await;
}

#[tokio::test]
async fn an_orphaned_release_stays_although_the_first_try_conflicts() {
    check("an_orphaned_release_conflicts", |fault| {
        fault.always().refuse(409)
    })
    .await;
}

#[tokio::test]
async fn an_orphaned_release_stays_although_the_first_try_is_refused() {
    check("an_orphaned_release_is_refused", |fault| {
        fault.always().refuse(500)
    })
    .await;
}

#[tokio::test]
async fn an_orphaned_release_stays_although_an_answer_is_lost() {
    check("an_orphaned_release_answer_is_lost", Fault::lose_answer).await;
}

#[tokio::test]
async fn an_orphaned_release_stays_although_the_operator_is_killed() {
    check("an_orphaned_release_is_killed", Fault::kill_before).await;
}

/// Somebody deletes it, and then thinks better of it.
#[tokio::test]
async fn what_is_left_of_a_release_stays_although_its_deletion_has_begun() {
    let Some(lane) = Lane::ready("an_orphaned_release_has_begun_to_go").await else {
        return;
    };
    let bench = &lane.bench;
    bench.apply_web("shop", json!({})).await;
    bench.wait_revision("shop", 1).await;
    let fault = lane
        .proxy
        .inject(Fault::on("delete", "configmaps").always().refuse(500));
    bench.delete_web("shop").await;
    let has_begun = |secret: &Value| (secret["metadata"]["labels"]["status"] == "uninstalling").then_some(());
    let first = secret_of("shop", 1);
    bench
        .wait("the beginning", &bench.secrets(), &first, has_begun)
        .await;
    lane.kill().await;
    lane.proxy.take_back(fault);
    let parameters = DeleteParams {
        propagation_policy: Some(PropagationPolicy::Orphan),
        ..DeleteParams::default()
    };
    bench.webs().delete("shop", &parameters).await.unwrap();
    let is_orphaned = |map: &Value| map["metadata"].get("ownerReferences").is_none().then_some(());
    bench
        .wait(
            "the collector's work",
            &bench.config_maps(),
            "shop-config",
            is_orphaned,
        )
        .await;
    bench
        .wait("the collector's work", &bench.secrets(), &first, is_orphaned)
        .await;
    lane.start().await;
    bench.wait_gone(&bench.webs(), "shop").await;
    let after = bench.config_maps().get("shop-config").await.unwrap().metadata;
    assert_eq!(after.deletion_timestamp, None);
    lane.stop().await;
}

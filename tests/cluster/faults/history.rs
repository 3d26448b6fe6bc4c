//! Crashes and refusals in the middle of a release's life, beyond what the campaign tells of them; and views of it that
//! are out of date.

use kube::api::{DeleteParams, Patch, PatchParams, PropagationPolicy};
use serde_json::json;
use steersman_testkit::cluster::Fault;

use super::judge::dump;
use super::lane::Lane;
use super::workload::{Workload, gadget_group};
use crate::bench::{condition, wait_until};

/// What metadata alone is asked for as.
const METADATA_LIST: &str = "application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1";

#[tokio::test]
async fn what_a_dead_upgrade_has_made_goes_when_the_change_is_taken_back() {
    let Some(lane) = Lane::ready("what_a_dead_upgrade_has_made").await else {
        return;
    };
    lane.bench.apply_web("shop", json!({})).await;
    lane.bench.wait_revision("shop", 1).await;
    let elsewhere = format!("{}-shop-elsewhere", lane.bench.namespace);
    let fault = Fault::on("patch", "configmaps").name(&elsewhere).kill_after();
    let fault = lane.proxy.inject(fault);
    let spec = json!({"extra": true, "elsewhere": "kube-public"});
    lane.bench.apply_web("shop", spec).await;
    lane.wait_killed().await;
    assert_eq!(lane.proxy.struck(fault), 1);
    lane.bench.apply_web("shop", json!({})).await;
    lane.start().await;
    lane.bench.wait_revision("shop", 3).await;
    let left = dump(&lane.bench, "shop").await;
    assert!(
        !left
            .keys()
            .any(|id| id.contains("extra") || id.contains("elsewhere")),
        "{:?}",
        left.keys()
    );
    assert_eq!(
        lane.bench.revisions().await,
        ["1 superseded", "2 failed", "3 deployed"]
    );
    lane.stop().await;
}

#[tokio::test]
async fn a_deletion_that_fails_is_tried_until_the_object_is_gone() {
    let Some(lane) = Lane::ready("a_deletion_that_fails").await else {
        return;
    };
    lane.bench.apply_web("shop", json!({"extra": true})).await;
    lane.bench.wait_revision("shop", 1).await;
    let refused = |status| {
        Fault::on("delete", "configmaps")
            .name("shop-extra")
            .times(2)
            .refuse(status)
    };
    let refused = [500, 403, 409].map(|status| lane.proxy.inject(refused(status)));
    lane.bench.apply_web("shop", json!({"extra": false})).await;
    lane.bench.wait_revision("shop", 2).await;
    for fault in refused {
        assert!(lane.proxy.struck(fault) > 0);
    }
    lane.bench
        .wait_gone(&lane.bench.config_maps(), "shop-extra")
        .await;
    assert_eq!(lane.bench.revisions().await, ["1 superseded", "2 deployed"]);
    lane.stop().await;
}

/// The first list of the revisions after a restart misses the newest.
#[tokio::test]
async fn a_revision_that_a_list_misses_is_neither_written_over_nor_lost() {
    let Some(lane) = Lane::ready("a_revision_that_a_list_misses").await else {
        return;
    };
    lane.bench.apply_web("shop", json!({"message": "1"})).await;
    lane.bench.wait_revision("shop", 1).await;
    let path = "/api/v1/secrets";
    let request = hyper::Request::get(format!("{path}?labelSelector=owner%3Dhelm%2Cname%3Dshop"));
    let request = request.header("Accept", METADATA_LIST).body(Vec::new()).unwrap();
    let old = lane.bench.client.request_text(request).await.unwrap();
    lane.bench.apply_web("shop", json!({"message": "2"})).await;
    lane.bench.wait_revision("shop", 2).await;
    lane.stop().await;
    let second = lane
        .bench
        .secrets()
        .get("sh.helm.release.v1.shop.v2")
        .await
        .unwrap();

    let fault = Fault::on("list", "secrets").path(path).part("owner");
    let fault = lane.proxy.inject(fault.replace_answer(200, &old));
    let held = lane.proxy.inject(Fault::on("watch", "secrets").hold_event(""));
    let mark = lane.bench.cluster.audit_mark().await.unwrap();
    lane.start().await;
    lane.bench.apply_web("shop", json!({"message": "3"})).await;
    lane.bench
        .wait("the change", &lane.bench.config_maps(), "shop-config", |map| {
            (map["data"]["message"] == "3").then_some(())
        })
        .await;
    lane.bench.wait_revision("shop", 3).await;
    assert_eq!(lane.proxy.struck(fault), 1);
    assert_eq!(
        lane.bench.revisions().await,
        ["1 superseded", "2 superseded", "3 deployed"]
    );
    let now = lane
        .bench
        .secrets()
        .get("sh.helm.release.v1.shop.v2")
        .await
        .unwrap();
    assert_eq!(now.metadata.uid, second.metadata.uid);
    let audit = lane.bench.cluster.audit_since(mark).await.unwrap();
    let deleted = audit.by_user(lane.bench.user.name()).verb("delete");
    assert!(deleted.is_empty(), "{deleted}");
    lane.proxy.take_back(held);
    lane.stop().await;
}

/// The watch does not tell of what Helm's own commands write, and of our own writes.
#[tokio::test]
async fn revisions_that_the_watch_has_not_told_of_are_neither_written_over_nor_left() {
    let Some(lane) = Lane::ready("revisions_that_the_watch_has_not_told_of").await else {
        return;
    };
    let bench = &lane.bench;
    bench.apply_web("shop", json!({"message": "1"})).await;
    bench.wait_revision("shop", 1).await;
    let held = lane.proxy.inject(Fault::on("watch", "secrets").hold_event(""));
    bench.apply_web("shop", json!({"message": "2"})).await;
    bench.wait_revision("shop", 2).await;
    let roll_back = || async {
        let arguments = [
            "rollback",
            "shop",
            "1",
            "-n",
            &bench.namespace,
            "--force-conflicts",
            "--no-hooks",
        ];
        bench.cluster.helm(&arguments).await.unwrap();
    };
    roll_back().await;
    bench.apply_web("shop", json!({"message": "4"})).await;
    bench.wait_revision("shop", 4).await;
    let expected = ["1 superseded", "2 superseded", "3 superseded", "4 deployed"];
    assert_eq!(bench.revisions().await, expected);

    roll_back().await;
    let last = "sh.helm.release.v1.shop.v5";
    let orphaned = json!({"metadata": {"ownerReferences": null}});
    let (parameters, patch) = (PatchParams::default(), Patch::Merge(orphaned));
    bench.secrets().patch(last, &parameters, &patch).await.unwrap();
    bench.delete_web("shop").await;
    bench.wait_gone(&bench.webs(), "shop").await;
    // Nobody but the operator deletes the last one, as it belongs to nobody.
    assert!(bench.secrets().get_opt(last).await.unwrap().is_none());
    assert!(dump(bench, "shop").await.is_empty());
    lane.proxy.take_back(held);
    lane.stop().await;
}

/// After a restart every list of objects is empty, although the objects are there.
#[tokio::test]
async fn objects_that_a_list_misses_are_neither_made_again_nor_deleted() {
    let Some(lane) = Lane::ready("objects_that_a_list_misses").await else {
        return;
    };
    lane.bench.apply_web("shop", json!({"password": "canary"})).await;
    lane.bench.wait_revision("shop", 1).await;
    lane.stop().await;
    let uids = || async {
        let map = lane.bench.config_maps().get("shop-config").await.unwrap();
        let service = lane.bench.services().get("shop").await.unwrap();
        (map.metadata.uid, service.metadata.uid)
    };
    let before = uids().await;
    let empty =
        json!({"kind": "List", "apiVersion": "v1", "metadata": {"resourceVersion": "1"}, "items": []});
    let faults = ["configmaps", "services", "deployments", "clusterroles"].map(|plural| {
        let fault = Fault::on("list", plural).answer(200, &empty.to_string());
        lane.proxy.inject(fault)
    });
    let mark = lane.bench.cluster.audit_mark().await.unwrap();
    lane.start().await;
    wait_until("the lists", || {
        faults.iter().all(|fault| lane.proxy.struck(*fault) > 0)
    })
    .await;
    lane.bench
        .apply_web("shop", json!({"password": "canary", "message": "bye"}))
        .await;
    lane.bench.wait_revision("shop", 2).await;
    assert_eq!(uids().await, before);
    let audit = lane
        .bench
        .cluster
        .audit_since(mark)
        .await
        .unwrap()
        .by_user(lane.bench.user.name());
    assert!(audit.verb("delete").is_empty(), "{audit}");
    lane.stop().await;
}

#[tokio::test]
async fn a_resource_whose_kinds_are_gone_can_go_too() {
    let Some(lane) = Lane::new("a_resource_whose_kinds_are_gone").await else {
        return;
    };
    (Workload::definition().prepare)(&lane.bench);
    lane.start().await;
    lane.bench.apply_web("shop", json!({"gadget": true})).await;
    lane.bench.wait_revision("shop", 1).await;
    lane.stop().await;
    let definition = format!("gadgets.{}", gadget_group(&lane.bench));
    lane.bench
        .cluster
        .kubectl(&["delete", "crd", &definition])
        .await
        .unwrap();
    lane.bench.delete_web("shop").await;
    lane.start().await;
    lane.bench.wait_gone(&lane.bench.webs(), "shop").await;
    assert!(dump(&lane.bench, "shop").await.is_empty());
    lane.stop().await;
}

#[tokio::test]
async fn however_a_resource_is_deleted_nothing_is_left() {
    let Some(lane) = Lane::ready("however_a_resource_is_deleted").await else {
        return;
    };
    for policy in [PropagationPolicy::Foreground, PropagationPolicy::Background] {
        lane.bench
            .apply_web("shop", json!({"elsewhere": "kube-public"}))
            .await;
        lane.bench.wait_revision("shop", 1).await;
        let parameters = DeleteParams {
            propagation_policy: Some(policy),
            ..DeleteParams::default()
        };
        lane.bench.webs().delete("shop", &parameters).await.unwrap();
        lane.bench.wait_gone(&lane.bench.webs(), "shop").await;
        let left = dump(&lane.bench, "shop").await;
        assert!(left.is_empty(), "{left:?}");
    }
    lane.stop().await;
}

#[tokio::test]
async fn of_two_resources_that_render_the_same_object_the_second_gives_way() {
    let Some(lane) = Lane::new("of_two_resources_that_render_the_same").await else {
        return;
    };
    let shared =
        "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: shared\ndata:\n  of: {{ .Release.Name }}\n";
    lane.bench.add_template("shared.yaml", shared);
    lane.start().await;
    lane.bench.apply_web("first", json!({})).await;
    lane.bench.wait_revision("first", 1).await;
    let maps = lane.bench.config_maps();
    let version = maps.get("shared").await.unwrap().metadata.resource_version;
    lane.bench.apply_web("second", json!({})).await;
    let (_, _, message) = lane.bench.wait_failed("second", "ReleaseFailed").await;
    assert!(
        message.contains("shared") && message.contains("\"first\""),
        "{message}"
    );
    lane.bench.apply_web("first", json!({"message": "bye"})).await;
    lane.bench.wait_revision("first", 2).await;
    let now = maps.get("shared").await.unwrap();
    assert_eq!(
        (now.data["data"]["of"].as_str(), now.metadata.resource_version),
        (Some("first"), version)
    );

    // When the first goes, so does the reason; what the second was refused is not its to delete meanwhile.
    lane.bench.delete_web("first").await;
    lane.bench.wait_gone(&lane.bench.webs(), "first").await;
    lane.bench
        .wait("the object", &maps, "shared", |map| {
            (map["data"]["of"] == "second").then_some(())
        })
        .await;
    lane.stop().await;
}

/// An object's namespace is being deleted when it is to be made, and later exists anew.
#[tokio::test]
async fn a_namespace_that_is_being_deleted_is_waited_for_in_peace() {
    let Some(lane) = Lane::ready("a_namespace_that_is_being_deleted").await else {
        return;
    };
    let cluster = lane.bench.cluster;
    let elsewhere = cluster.unique_namespace("elsewhere").await.unwrap();
    let blocker = json!({"apiVersion": "v1", "kind": "ConfigMap",
        "metadata": {"name": "blocker", "namespace": elsewhere, "finalizers": ["example.com/blocker"]}});
    cluster.apply_object(&blocker).await.unwrap();
    cluster
        .kubectl(&["delete", "namespace", &elsewhere, "--wait=false"])
        .await
        .unwrap();
    lane.bench
        .apply_web("shop", json!({"elsewhere": elsewhere}))
        .await;
    let (_, _, message) = lane.bench.wait_failed("shop", "ReleaseFailed").await;
    assert!(message.contains("being terminated"), "{message}");
    let trace = lane.proxy.trace();
    let tries = trace
        .iter()
        .filter(|call| call.namespace == elsewhere && call.is_write())
        .count();
    assert!(tries < 10, "{tries} tries");

    let free = r#"{"metadata": {"finalizers": null}}"#;
    cluster
        .kubectl(&[
            "patch",
            "configmap",
            "blocker",
            "-n",
            &elsewhere,
            "--type=merge",
            "-p",
            free,
        ])
        .await
        .unwrap();
    cluster
        .kubectl(&[
            "wait",
            "--for=delete",
            &format!("namespace/{elsewhere}"),
            "--timeout=60s",
        ])
        .await
        .unwrap();
    cluster
        .kubectl(&["create", "namespace", &elsewhere])
        .await
        .unwrap();
    let web = lane.bench.wait_revision("shop", 1).await;
    assert_eq!(condition(&web, "ReleaseFailed"), None);

    // And again when the release goes.
    cluster
        .kubectl(&["delete", "namespace", &elsewhere, "--wait=false"])
        .await
        .unwrap();
    lane.bench.delete_web("shop").await;
    lane.bench.wait_gone(&lane.bench.webs(), "shop").await;
    lane.stop().await;
}

/// A new resource of the same name is there before the end of the former is seen.
#[tokio::test]
async fn a_resource_that_has_taken_the_name_of_another_keeps_its_objects() {
    let Some(lane) = Lane::ready("a_resource_that_has_taken_the_name").await else {
        return;
    };
    lane.bench.apply_web("shop", json!({})).await;
    lane.bench.wait_revision("shop", 1).await;
    // The end of the first is told late, and only when the second has its objects.
    let held = lane
        .proxy
        .inject(Fault::on("watch", "webs").name("shop").hold_event("DELETED"));
    lane.bench.delete_web("shop").await;
    lane.bench.wait_gone(&lane.bench.webs(), "shop").await;
    lane.bench.apply_web("shop", json!({"message": "second"})).await;
    lane.proxy.take_back(held);
    let web = lane.bench.wait_revision("shop", 1).await;
    let uid = web["metadata"]["uid"].clone();
    lane.bench.apply_web("beacon", json!({})).await;
    lane.bench.wait_revision("beacon", 1).await;
    let map = lane.bench.config_maps().get("shop-config").await.unwrap();
    assert_eq!(map.data["data"]["message"], "second");
    assert_eq!(json!(map.metadata.owner_references.unwrap()[0].uid), uid);
    lane.stop().await;
}

#[tokio::test]
async fn what_is_asked_for_while_the_finalizer_is_written_counts() {
    let Some(lane) = Lane::ready("what_is_asked_for_while").await else {
        return;
    };
    let pause = std::time::Duration::from_secs(3);
    let slow = lane
        .proxy
        .inject(Fault::on("patch", "webs").name("shop").delay(pause));
    lane.bench.apply_web("shop", json!({})).await;
    wait_until("the finalizer", || lane.proxy.struck(slow) == 1).await;
    let paused = json!({"metadata": {"annotations": {"steersman.dev/pause": "true"}}});
    lane.bench.patch_web("shop", paused).await;
    lane.bench
        .wait("the pause", &lane.bench.webs(), "shop", |web| {
            condition(web, "Paused").filter(|(status, ..)| status == "True")
        })
        .await;
    assert!(lane.bench.revisions().await.is_empty());
    lane.stop().await;
}

#[tokio::test]
async fn nothing_is_installed_for_a_resource_that_is_gone() {
    let Some(lane) = Lane::ready("nothing_is_installed_for").await else {
        return;
    };
    lane.bench.apply_web("shop", json!({})).await;
    lane.bench.wait_revision("shop", 1).await;
    let mark = lane.bench.cluster.audit_mark().await.unwrap();
    // The operator does not hear that the resource goes. It sees that objects do, as if that were drift.
    let held = Fault::on("watch", "webs").hold_event("");
    lane.proxy.inject(held.always());
    lane.bench
        .patch_web("shop", json!({"metadata": {"finalizers": null}}))
        .await;
    lane.bench.delete_web("shop").await;
    let looked = || {
        let calls = lane.proxy.trace();
        calls
            .iter()
            .any(|call| (call.verb.as_str(), call.resource.as_str()) == ("get", "webs"))
    };
    wait_until("another look at the resource", looked).await;
    lane.stop().await;
    let audit = lane.bench.cluster.audit_since(mark).await.unwrap();
    let made = audit.by_user(lane.bench.user.name()).writes().resource("secrets");
    assert!(
        made.filter(|request| request.code == Some(201)).is_empty(),
        "{made}"
    );
    lane.stop().await;
}

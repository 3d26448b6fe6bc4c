//! Requests that are refused, lost, garbled or never answered: what works goes on, and all is well when they are over.

use kube::api::{Patch, PatchParams};
use serde_json::{Value, json};
use steersman_testkit::cluster::{Component, Fault};

use super::lane::Lane;
use super::workload::{Workload, gadget_group};
use crate::bench::{Bench, condition, wait_until};

#[tokio::test]
async fn conflicts_are_outlasted_and_take_nothing_that_others_have_written() {
    let Some(lane) = Lane::ready("conflicts_are_outlasted").await else {
        return;
    };
    let conflicts = ["webs", "webs/status"].map(|resource| {
        let fault = Fault::on("patch", resource).name("shop").times(3).refuse(409);
        lane.proxy.inject(fault)
    });
    lane.bench.apply_web("shop", json!({})).await;
    let theirs = json!({"metadata": {"finalizers": ["example.com/theirs"], "labels": {"theirs": "yes"}}});
    lane.bench.patch_web("shop", theirs).await;
    let web = lane.bench.wait_revision("shop", 1).await;
    assert_eq!(conflicts.map(|fault| lane.proxy.struck(fault)), [3, 3]);
    let finalizers = web["metadata"]["finalizers"].as_array().unwrap();
    assert_eq!(finalizers.len(), 2, "{finalizers:?}");
    assert_eq!(web["metadata"]["labels"]["theirs"], "yes");
    lane.stop().await;
}

/// What replaces a list goes under a name of its own, which must not stay on the object.
#[tokio::test]
async fn a_healer_takes_its_name_out_although_others_write_meanwhile() {
    let Some(lane) = Lane::ready("a_healer_takes_its_name_out").await else {
        return;
    };
    lane.bench.apply_web("shop", json!({})).await;
    lane.bench.wait_revision("shop", 1).await;
    // The first of the healer's requests replaces the ports.
    let healer = Fault::on("patch", "services")
        .name("shop")
        .part("fieldManager=steersman-heal");
    let conflicts = lane.proxy.inject(healer.nth(2).times(3).refuse(409));
    let services = lane.bench.services();
    let port = json!([{"op": "replace", "path": "/spec/ports/0/port", "value": 81}]);
    let port: Patch<()> = Patch::Json(serde_json::from_value(port).unwrap());
    services
        .patch("shop", &PatchParams::default(), &port)
        .await
        .unwrap();
    lane.bench
        .wait(
            "the port without the healer's name",
            &services,
            "shop",
            |service| {
                let ports = service.pointer("/spec/ports")?.as_array()?;
                let entries = service.pointer("/metadata/managedFields")?.as_array()?;
                let is_free = entries.iter().all(|entry| entry["manager"] != "steersman-heal");
                (ports.len() == 1 && ports[0]["port"] == 80 && is_free).then_some(())
            },
        )
        .await;
    assert_eq!(lane.proxy.struck(conflicts), 3);
    assert_eq!(lane.bench.revisions().await, ["1 deployed"]);
    lane.stop().await;
}

#[tokio::test]
async fn what_is_forbidden_is_named_and_done_when_it_is_allowed() {
    let Some(lane) = Lane::ready("what_is_forbidden_is_named").await else {
        return;
    };
    let forbidden = Fault::on("patch", "deployments").always().refuse(403);
    let forbidden = lane.proxy.inject(forbidden);
    lane.bench.apply_web("shop", json!({})).await;
    let (_, _, message) = lane.bench.wait_failed("shop", "ReleaseFailed").await;
    assert!(
        message.contains("failed to apply Deployment") && message.contains("fault 403"),
        "{message}"
    );
    lane.proxy.take_back(forbidden);
    lane.bench.wait_revision("shop", 1).await;
    assert_eq!(lane.bench.revisions().await, ["1 deployed"]);
    lane.stop().await;
}

/// For a while nobody is who he says, every answer is of another program, or every connection breaks.
#[tokio::test]
async fn an_api_server_that_is_out_of_its_mind_is_outlasted() {
    let Some(lane) = Lane::ready("an_api_server_that_is_out_of_its_mind").await else {
        return;
    };
    lane.bench.apply_web("shop", json!({})).await;
    lane.bench.wait_revision("shop", 1).await;
    let uid = |map: &Value| {
        map.pointer("/metadata/uid")
            .and_then(Value::as_str)
            .map(str::to_owned)
    };
    let maps = lane.bench.config_maps();
    let before = lane.bench.wait("the object", &maps, "shop-config", uid).await;
    let any = || Fault::on("", "").always();
    for (number, fault) in [
        any().refuse(401),
        any().answer(200, "<html>welcome to the captive portal</html>"),
        any().answer(200, ""),
        any().answer(200, "{}"),
        any(),
        any().refuse(503),
    ]
    .into_iter()
    .enumerate()
    {
        let what = format!("{fault:?}");
        let revision = number as u64 + 2;
        // The watch of the resource goes on, so the fault meets what follows.
        let fault = lane.proxy.inject(fault);
        lane.bench.apply_web("shop", json!({"message": what})).await;
        wait_until(&what, || lane.proxy.struck(fault) > 2).await;
        lane.proxy.take_back(fault);
        lane.bench.wait_revision("shop", revision).await;
    }
    assert_eq!(
        lane.bench.wait("the object", &maps, "shop-config", uid).await,
        before
    );
    let revisions = lane.bench.revisions().await;
    assert_eq!(revisions.len(), 7, "{revisions:?}");
    lane.stop().await;
}

#[tokio::test]
async fn connections_that_break_all_the_time_are_no_failure() {
    let Some(lane) = Lane::ready("connections_that_break_all_the_time").await else {
        return;
    };
    let breaking = lane.proxy.inject(Fault::on("", "").every(13));
    for (revision, message) in (1..).zip(["one", "two", "three"]) {
        lane.bench.apply_web("shop", json!({"message": message})).await;
        let web = lane.bench.wait_revision("shop", revision).await;
        assert_eq!(condition(&web, "ReleaseFailed"), None);
    }
    lane.bench.delete_web("shop").await;
    lane.bench.wait_gone(&lane.bench.webs(), "shop").await;
    lane.bench
        .wait_gone(&lane.bench.config_maps(), "shop-config")
        .await;
    assert!(lane.proxy.struck(breaking) > 3);
    lane.stop().await;
}

#[tokio::test]
async fn a_request_that_is_never_answered_holds_up_no_other_resource() {
    let Some(lane) = Lane::ready("a_request_that_is_never_answered").await else {
        return;
    };
    let silent = Fault::on("patch", "configmaps")
        .name("slow-config")
        .always()
        .hang();
    let silent = lane.proxy.inject(silent);
    lane.bench.apply_web("slow", json!({})).await;
    wait_until("the request", || lane.proxy.struck(silent) == 1).await;
    lane.bench.apply_web("shop", json!({})).await;
    lane.bench.wait_revision("shop", 1).await;
    lane.bench.apply_web("shop", json!({"message": "bye"})).await;
    lane.bench.wait_revision("shop", 2).await;
    lane.bench.delete_web("shop").await;
    lane.bench.wait_gone(&lane.bench.webs(), "shop").await;
    assert_eq!(lane.proxy.struck(silent), 1);
}

/// The server of a group does not answer, so that discovery says nothing of its kinds: they are not taken for gone.
#[tokio::test]
async fn a_kind_of_a_group_whose_server_is_silent_is_not_taken_for_gone() {
    let Some(lane) = Lane::new("a_kind_of_a_group_whose_server_is_silent").await else {
        return;
    };
    (Workload::definition().prepare)(&lane.bench);
    lane.start().await;
    lane.bench.apply_web("shop", json!({"gadget": true})).await;
    lane.bench.wait_revision("shop", 1).await;
    lane.stop().await;

    let group = gadget_group(&lane.bench);
    let gadgets = lane.bench.api(&group, "v1", "Gadget", "gadgets");
    let uid = gadgets.get("shop").await.unwrap().metadata.uid;
    let fault = Fault::on("get", "").path("/apis").always();
    let silent = lane
        .proxy
        .inject(fault.answer(200, &without_answer_of(&lane.bench, &group).await));
    lane.start().await;
    lane.bench.apply_web("shop", json!({"gadget": false})).await;
    let said = |web: &Value| {
        let message = condition(web, "Reconciling").map(|(_, _, message)| message)?;
        message.contains("does not answer").then_some(())
    };
    lane.bench
        .wait("the trouble", &lane.bench.webs(), "shop", said)
        .await;
    assert_eq!(gadgets.get("shop").await.unwrap().metadata.uid, uid);
    lane.proxy.take_back(silent);
    lane.bench.wait_revision("shop", 2).await;
    lane.bench.wait_gone(&gadgets, "shop").await;
    lane.stop().await;
}

/// What the API server says of its groups, as if the server of one of them did not answer.
async fn without_answer_of(bench: &Bench, group: &str) -> String {
    let found = bench.client.list_api_groups_aggregated().await.unwrap();
    let mut found = serde_json::to_value(found).unwrap();
    let of_group = |item: &&mut Value| item["metadata"]["name"] == group;
    let item = found["items"]
        .as_array_mut()
        .unwrap()
        .iter_mut()
        .find(of_group)
        .unwrap();
    for version in item["versions"].as_array_mut().unwrap() {
        version["freshness"] = json!("Stale");
        version["resources"] = json!([]);
    }
    found.to_string()
}

#[tokio::test]
async fn an_api_server_that_dies_and_comes_back_finds_an_operator_that_goes_on() {
    let Some(bench) = Bench::alone("an_api_server_that_dies").await else {
        return;
    };
    let cluster = bench.cluster;
    bench.define_kind().await;
    let operator = bench.ready_operator().await;
    for number in 0..10 {
        bench.apply_web(&format!("shop-{number}"), json!({})).await;
        bench.wait_revision(&format!("shop-{number}"), 1).await;
    }
    // Without nodes this is the last word that the controller of a Deployment has, and it comes behind the revision.
    let is_settled = |web: &Value| {
        let (_, _, message) = condition(web, "Ready")?;
        message.contains("0 of 1 pods available").then_some(())
    };
    for number in 0..10 {
        let name = format!("shop-{number}");
        bench
            .wait("the last word", &bench.webs(), &name, is_settled)
            .await;
    }
    cluster.kill_component(Component::ApiServer).unwrap();
    crate::bench::wait_for_line(&operator, "watch failed, trying again").await;
    cluster.start_component(Component::ApiServer).unwrap();
    cluster.kill_component(Component::Etcd).unwrap();
    cluster.start_component(Component::Etcd).unwrap();
    let mark = cluster.audit_mark().await.unwrap();
    bench.apply_web("shop-0", json!({"message": "bye"})).await;
    bench.wait_revision("shop-0", 2).await;
    let audit = cluster
        .audit_since(mark)
        .await
        .unwrap()
        .by_user(bench.user.name());
    let others = audit.writes().filter(|request| !request.name.contains("shop-0"));
    assert!(others.is_empty(), "{others}");
    assert!(audit.len() < 200, "{audit}");
    let deployed = bench.revisions().await;
    let deployed = deployed.iter().filter(|revision| revision.ends_with(" deployed"));
    assert_eq!(deployed.count(), 10);
    operator.stop().await.unwrap();
}

//! Watches that break off, repeat themselves, lag behind or leave something out; and lists that fail half way.

use serde_json::{Value, json};
use steersman_testkit::cluster::{AuditLog, Call, Fault};

use super::lane::Lane;
use crate::bench::{Bench, wait_until};

/// So many objects that a list of them has two pages.
const MANY: usize = 130;

fn with_many_objects(bench: &Bench) {
    let template = format!(
        "{{{{- range $i := until {MANY} }}}}\n---\napiVersion: v1\nkind: ConfigMap\nmetadata:\n  \
         name: {{{{ $.Release.Name }}}}-{{{{ $i }}}}\n{{{{- end }}}}\n"
    );
    bench.add_template("many.yaml", &template);
}

/// What the lane's operator asked to change since a mark, but for events.
async fn writes(lane: &Lane, mark: steersman_testkit::cluster::AuditMark) -> AuditLog {
    let audit = lane.bench.cluster.audit_since(mark).await.unwrap();
    audit
        .by_user(lane.bench.user.name())
        .writes()
        .filter(|request| request.resource != "events")
}

#[tokio::test]
async fn a_watch_that_is_cut_in_the_middle_of_an_event_goes_on_without_another_list() {
    let Some(lane) = Lane::ready("a_watch_that_is_cut").await else {
        return;
    };
    lane.bench.apply_web("shop", json!({})).await;
    lane.bench.wait_revision("shop", 1).await;
    let lists = |lane: &Lane| {
        let trace = lane.proxy.trace();
        let of_webs = |call: &&Call| call.verb == "list" && call.resource == "webs";
        trace.iter().filter(of_webs).count()
    };
    let before = lists(&lane);
    for (message, status) in [("cut", None), ("gone", Some(410)), ("failed", Some(500))] {
        let fault = Fault::on("watch", "webs").name("shop");
        let fault = match status {
            None => fault.cut_event("MODIFIED"),
            Some(status) => fault.fail_event("MODIFIED", status),
        };
        let fault = lane.proxy.inject(fault);
        // A change that a list shows has no event of its own.
        let mut attempt = 0;
        while lane.proxy.struck(fault) == 0 {
            attempt += 1;
            let message = format!("{message} {attempt}");
            lane.bench.apply_web("shop", json!({ "message": message })).await;
            let map = lane.bench.config_maps();
            lane.bench
                .wait("the change", &map, "shop-config", |map| {
                    (map["data"]["message"] == *message).then_some(())
                })
                .await;
        }
        let expected = usize::from(status == Some(410));
        let found = lists(&lane) - before;
        assert!(
            found <= expected + usize::from(message == "failed"),
            "{message}: {found} lists"
        );
    }
    lane.stop().await;
}

/// The answer to our own report shows a change whose event comes later, and counts for nothing then.
#[tokio::test]
async fn a_change_that_an_answer_tells_of_before_its_event_is_released() {
    let Some(lane) = Lane::ready("a_change_that_an_answer_tells_of").await else {
        return;
    };
    lane.bench.apply_web("shop", json!({"message": "first"})).await;
    lane.bench.wait_revision("shop", 1).await;
    for message in ["second", "third"] {
        let reporting = Fault::on("patch", "webs/status").name("shop");
        let reporting = lane
            .proxy
            .inject(reporting.delay(std::time::Duration::from_secs(1)));
        let next = format!("after the {message}");
        lane.bench.apply_web("shop", json!({"message": message})).await;
        wait_until("the report", || lane.proxy.struck(reporting) == 1).await;
        let lagging = lane
            .proxy
            .inject(Fault::on("watch", "webs").name("shop").hold_event("MODIFIED"));
        lane.bench.apply_web("shop", json!({"message": next})).await;
        let changed = lane
            .bench
            .webs()
            .get("shop")
            .await
            .unwrap()
            .metadata
            .resource_version;
        let version = |web: &Value| web["metadata"]["resourceVersion"].as_str().map(str::to_owned);
        let is_reported = |web: &Value| (version(web) != changed).then_some(());
        lane.bench
            .wait("the report", &lane.bench.webs(), "shop", is_reported)
            .await;
        lane.proxy.take_back(lagging);
        lane.bench
            .wait("the change", &lane.bench.config_maps(), "shop-config", |map| {
                (map["data"]["message"] == *next).then_some(())
            })
            .await;
    }
    lane.stop().await;
}

/// The answer that takes the last finalizer has the version of the report before, as what is gone gets no version. The event of
/// that report may come later than the answer.
#[tokio::test]
async fn a_resource_that_is_gone_is_not_let_go_once_more() {
    let Some(lane) = Lane::ready("a_resource_that_is_gone").await else {
        return;
    };
    lane.bench.apply_web("shop", json!({})).await;
    lane.bench.wait_revision("shop", 1).await;
    let event = |kind: &str| Fault::on("watch", "webs").name("shop").hold_event(kind);
    // The first one tells of the deletion, and the second of what we report of it.
    let report = lane.proxy.inject(event("MODIFIED").nth(2));
    let end = lane.proxy.inject(event("DELETED"));
    let before = lane.proxy.trace().len();
    lane.bench.delete_web("shop").await;
    lane.bench.wait_gone(&lane.bench.webs(), "shop").await;
    wait_until("the report's event", || lane.proxy.struck(report) == 1).await;
    lane.proxy.take_back(report);
    wait_until("the last event", || lane.proxy.struck(end) == 1).await;
    // As nothing is to come, there is nothing to wait for.
    tokio::time::sleep(std::time::Duration::from_secs(1)).await;
    let trace = lane.proxy.trace();
    let is_of_finalizer = |call: &&Call| call.verb == "patch" && call.resource == "webs";
    let writes = trace[before..].iter().filter(is_of_finalizer).count();
    assert_eq!(writes, 1, "{:?}", &trace[before..]);
    lane.proxy.take_back(end);
    lane.stop().await;
}

#[tokio::test]
async fn what_a_list_that_failed_half_way_did_not_name_is_not_taken_for_deleted() {
    let Some(lane) = Lane::new("what_a_list_that_failed").await else {
        return;
    };
    with_many_objects(&lane.bench);
    lane.start().await;
    lane.bench.apply_web("shop", json!({})).await;
    lane.bench.wait_revision("shop", 1).await;
    lane.stop().await;
    for fault in [
        Fault::on("list", "configmaps").part("continue=").refuse(410),
        Fault::on("list", "configmaps").part("continue=").refuse(500),
        Fault::on("list", "configmaps")
            .part("continue=")
            .truncate_answer(),
        Fault::on("list", "configmaps").truncate_answer(),
        Fault::on("list", "webs").truncate_answer(),
        Fault::on("list", "webs").answer(200, "{}"),
        Fault::on("list", "secrets").truncate_answer(),
    ] {
        let what = format!("{fault:?}");
        let mark = lane.bench.cluster.audit_mark().await.unwrap();
        let fault = lane.proxy.inject(fault);
        lane.start().await;
        // The resource has been looked at when another one has.
        lane.bench.apply_web("beacon", json!({})).await;
        lane.bench.wait_revision("beacon", 1).await;
        wait_until("the fault", || lane.proxy.struck(fault) == 1).await;
        lane.bench.delete_web("beacon").await;
        lane.bench.wait_gone(&lane.bench.webs(), "beacon").await;
        lane.stop().await;
        let about_shop = writes(&lane, mark)
            .await
            // What fails is said, and taken back.
            .filter(|request| request.name.contains("shop") && request.subresource != "status");
        assert!(about_shop.is_empty(), "{what}:\n{about_shop}");
    }
}

#[tokio::test]
async fn events_that_come_twice_change_nothing() {
    let Some(lane) = Lane::new("events_that_come_twice").await else {
        return;
    };
    lane.proxy
        .inject(Fault::on("watch", "").repeat_event("").always());
    lane.start().await;
    lane.bench.apply_web("shop", json!({})).await;
    lane.bench.wait_revision("shop", 1).await;
    let mark = lane.bench.cluster.audit_mark().await.unwrap();
    lane.bench.apply_web("beacon", json!({})).await;
    lane.bench.wait_revision("beacon", 1).await;
    let again = writes(&lane, mark)
        .await
        .filter(|request| request.name.contains("shop"));
    let besides_status = again.filter(|request| request.subresource != "status");
    assert!(besides_status.is_empty(), "{besides_status}");
    lane.bench.delete_web("shop").await;
    lane.bench.wait_gone(&lane.bench.webs(), "shop").await;
    lane.bench
        .wait_gone(&lane.bench.config_maps(), "shop-config")
        .await;
    lane.stop().await;
}

#[tokio::test]
async fn watches_that_lag_behind_our_own_writes_lead_to_no_other_revision() {
    let Some(lane) = Lane::ready("watches_that_lag_behind").await else {
        return;
    };
    lane.bench.apply_web("shop", json!({"message": "0"})).await;
    lane.bench.wait_revision("shop", 1).await;
    // The watches of the objects stand still, that of the resource does not.
    let held: Vec<_> = ["configmaps", "secrets", "services", "deployments", "clusterroles"]
        .map(|plural| lane.proxy.inject(Fault::on("watch", plural).hold_event("")))
        .to_vec();
    let mark = lane.bench.cluster.audit_mark().await.unwrap();
    for revision in 2..=4 {
        let message = format!("{}", revision - 1);
        lane.bench
            .apply_web("shop", json!({"message": message, "extra": revision == 3}))
            .await;
        lane.bench.wait_revision("shop", revision).await;
    }
    for fault in held {
        lane.proxy.take_back(fault);
    }
    lane.bench.apply_web("beacon", json!({})).await;
    lane.bench.wait_revision("beacon", 1).await;
    let revisions = writes(&lane, mark).await.verb("create").resource("secrets");
    let of_shop = revisions.filter(|request| request.name.contains(".shop."));
    assert_eq!(of_shop.len(), 3, "{of_shop}");
    lane.bench
        .wait_gone(&lane.bench.config_maps(), "shop-extra")
        .await;
    lane.stop().await;
}

/// An object that somebody has put in the place of ours while nobody was looking, with our mark, is dropped with it.
#[tokio::test]
async fn what_has_taken_the_place_of_an_object_unseen_is_pruned_with_it() {
    let Some(lane) = Lane::ready("what_has_taken_the_place").await else {
        return;
    };
    lane.bench.apply_web("shop", json!({"extra": true})).await;
    lane.bench.wait_revision("shop", 1).await;
    let maps = lane.bench.config_maps();
    let lagging = lane.proxy.inject(Fault::on("watch", "configmaps").hold_event(""));
    let mut copy = maps.get("shop-extra").await.unwrap();
    copy.metadata.uid = None;
    copy.metadata.resource_version = None;
    copy.metadata.managed_fields = None;
    maps.delete("shop-extra", &Default::default()).await.unwrap();
    maps.create(&Default::default(), &copy).await.unwrap();
    lane.bench.apply_web("shop", json!({"extra": false})).await;
    lane.bench.wait_revision("shop", 2).await;
    lane.bench.wait_gone(&maps, "shop-extra").await;
    lane.proxy.take_back(lagging);
    lane.stop().await;
}

/// Helm's and our own store are read where they are true: from etcd, not from what a server remembers.
#[tokio::test]
async fn lists_are_never_served_from_a_cache_that_lags() {
    let Some(lane) = Lane::ready("lists_are_never_served_from_a_cache").await else {
        return;
    };
    lane.bench.apply_web("shop", json!({})).await;
    lane.bench.wait_revision("shop", 1).await;
    lane.bench.delete_web("shop").await;
    lane.bench.wait_gone(&lane.bench.webs(), "shop").await;
    lane.stop().await;
    let trace = lane.proxy.trace();
    assert!(
        trace
            .iter()
            .any(|call| call.verb == "list" && call.resource == "secrets")
    );
    let lagging: Vec<_> = trace
        .iter()
        .filter(|call| matches!(call.verb.as_str(), "get" | "list") && call.uri.contains("resourceVersion="))
        .collect();
    assert!(lagging.is_empty(), "{lagging:#?}");
}

#[tokio::test]
async fn a_kind_that_can_never_be_watched_stops_no_release_and_is_asked_for_rarely() {
    let Some(lane) = Lane::new("a_kind_that_can_never_be_watched").await else {
        return;
    };
    let failing = ["list", "watch"].map(|verb| {
        lane.proxy
            .inject(Fault::on(verb, "services").always().refuse(500))
    });
    lane.start().await;
    lane.bench.apply_web("shop", json!({})).await;
    lane.bench.wait_revision("shop", 1).await;
    lane.bench.apply_web("shop", json!({"message": "bye"})).await;
    lane.bench.wait_revision("shop", 2).await;
    let maps = lane.bench.config_maps();
    maps.delete("shop-config", &Default::default()).await.unwrap();
    lane.bench
        .wait("the object", &maps, "shop-config", |map: &Value| {
            map.is_object().then_some(())
        })
        .await;
    let asked: usize = failing.iter().map(|fault| lane.proxy.struck(*fault)).sum();
    assert!((1..30).contains(&asked), "asked {asked} times");
    lane.bench.delete_web("shop").await;
    lane.bench.wait_gone(&lane.bench.webs(), "shop").await;
    lane.bench.wait_gone(&lane.bench.services(), "shop").await;
    lane.stop().await;
}

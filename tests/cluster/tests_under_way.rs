//! Tests of a release that run while the operator is killed and the resource gets another spec.

use std::time::Duration;

use serde_json::{Value, json};
use steersman_testkit::cluster::Fault;

use crate::bench::{Bench, condition};
use crate::faults::lane::Lane;
use crate::release_tests::{ask, chart, end_pod, pods, times_made, wait_pod, wait_tested};

/// Long enough for an operator to do what it should not.
const WHILE: Duration = Duration::from_secs(3);

/// Tests that run after each revision, or where somebody asks for them.
fn watch_tests(bench: &Bench, after_each_revision: bool) {
    let watches = json!([{"group": bench.group, "version": "v1", "kind": "Web", "chart": "web",
        "reconcilePeriod": "10h", "test": {"enable": after_each_revision, "timeout": "1h"}}]);
    bench.watches(&watches.to_string());
}

async fn observed_generation(bench: &Bench) -> Value {
    bench.webs().get("shop").await.unwrap().data["status"]["observedGeneration"].clone()
}

#[tokio::test]
async fn a_restart_waits_for_the_test_before_another_spec_and_drift() {
    for after_each_revision in [false, true] {
        let Some(bench) = Bench::with_kind("tests_under_way").await else {
            return;
        };
        chart(&bench);
        watch_tests(&bench, after_each_revision);
        let operator = bench.released(json!({})).await;
        let request = (!after_each_revision).then_some("1");
        if let Some(request) = request {
            ask(&bench, "shop", request).await;
        }
        let pod = wait_pod(&bench, "shop-test", None).await;
        let mark = bench.cluster.audit_mark().await.unwrap();
        let before = observed_generation(&bench).await;
        operator.kill().await.unwrap();
        bench.patch_web("shop", json!({"spec": {"message": "bye"}})).await;
        bench
            .config_maps()
            .delete("shop", &Default::default())
            .await
            .unwrap();
        let operator = bench.ready_operator().await;
        tokio::time::sleep(WHILE).await;
        assert_eq!(bench.revisions().await, ["1 deployed"], "{request:?}");
        assert!(bench.config_maps().get_opt("shop").await.unwrap().is_none());
        assert_eq!(wait_pod(&bench, "shop-test", None).await, pod);
        assert_eq!(
            observed_generation(&bench).await,
            before,
            "the spec is not in effect"
        );

        end_pod(&bench, "shop-test", 3).await;
        let (status, _, message) = wait_tested(&bench, "shop", request).await;
        assert_eq!(status, "False");
        assert!(message.contains("a test of revision 1 has failed"), "{message}");
        assert!(!message.contains(": ;"), "{message}");
        bench.wait_revision("shop", 2).await;
        bench.config_maps().get("shop").await.unwrap();
        let again = usize::from(after_each_revision);
        if after_each_revision {
            wait_pod(&bench, "shop-test", Some(&pod)).await;
        }
        assert_eq!(times_made(&bench, mark, "shop-test").await, again);
        operator.stop().await.unwrap();
    }
}

/// One that ended while no operator ran counts, too, and so does one without a restart.
#[tokio::test]
async fn what_has_come_of_a_test_is_told_before_another_revision() {
    let Some(bench) = Bench::with_kind("tests_under_way").await else {
        return;
    };
    chart(&bench);
    watch_tests(&bench, false);
    let mut operator = bench.released(json!({})).await;
    for (number, is_killed) in [(1_u64, true), (2, false)] {
        let request = number.to_string();
        let before = pods(&bench).get_opt("shop-test").await.unwrap();
        let before = before.and_then(|pod| pod.metadata.uid);
        ask(&bench, "shop", &request).await;
        wait_pod(&bench, "shop-test", before.as_deref()).await;
        let spec = json!({"spec": {"message": format!("number {number}")}});
        if is_killed {
            operator.kill().await.unwrap();
            end_pod(&bench, "shop-test", 3).await;
            bench.patch_web("shop", spec).await;
            operator = bench.ready_operator().await;
        } else {
            let observed = observed_generation(&bench).await;
            bench.patch_web("shop", spec).await;
            tokio::time::sleep(WHILE).await;
            assert_eq!(
                observed_generation(&bench).await,
                observed,
                "the spec is not in effect"
            );
            end_pod(&bench, "shop-test", 3).await;
        }
        let event = bench.wait_event("TestFailed").await;
        assert!(event.contains("has failed"), "{event}");
        let web = bench.wait_revision("shop", number + 1).await;
        assert_eq!(web["status"]["lastHandledTest"], request.as_str());
        assert_eq!(condition(&web, "TestSuccess"), None);
        let told = format!("a test of revision {number} has failed");
        assert!(bench.events().await.contains(&told), "{told}");
    }
    operator.stop().await.unwrap();
}

/// A request whose tests have begun, but none of which was started, is that of the revision that comes before them.
#[tokio::test]
async fn a_request_is_not_lost_where_another_revision_comes_before_the_first_test() {
    let Some(lane) = Lane::new("tests_under_way").await else {
        return;
    };
    let bench = &lane.bench;
    chart(bench);
    lane.start().await;
    bench.apply_web("shop", json!({})).await;
    bench.wait_revision("shop", 1).await;
    let begun = Fault::on("patch", "secrets").name("sh.helm.release.v1.shop.v1");
    let fault = lane.proxy.inject(begun.kill_after());
    ask(bench, "shop", "1").await;
    lane.wait_killed().await;
    assert_eq!(lane.proxy.struck(fault), 1);
    assert!(pods(bench).get_opt("shop-test").await.unwrap().is_none());
    bench.patch_web("shop", json!({"spec": {"message": "bye"}})).await;
    lane.keep_alive().await;
    bench.wait_revision("shop", 2).await;
    for pod in ["shop-test", "shop-later"] {
        wait_pod(bench, pod, None).await;
        end_pod(bench, pod, 0).await;
    }
    let (status, _, message) = wait_tested(bench, "shop", Some("1")).await;
    assert_eq!(status, "True");
    assert!(message.contains("revision 2"), "{message}");
    lane.stop().await;
}

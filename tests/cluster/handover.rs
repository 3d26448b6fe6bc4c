//! What becomes of the work when the acting replica goes.

use std::time::Duration;

use k8s_openapi::api::coordination::v1::Lease;
use kube::api::{Api, Patch, PatchParams};
use serde_json::{Value, json};
use steersman_testkit::cluster::OperatorProcess;
use tokio::time::timeout;

use crate::bench::{Bench, wait_for_line};
use crate::hooks::finish_job;
use crate::leader::replica;

/// How soon another replica acts after the acting one was killed.
const AFTER_A_KILL: Duration = Duration::from_secs(20);
/// How soon another replica acts after the acting one was asked to stop: one look at the lease, on a busy machine.
const AFTER_A_WORD: Duration = Duration::from_secs(5);

/// A replica that acts and one that stands by.
async fn pair(bench: &Bench) -> (OperatorProcess, OperatorProcess) {
    let first = replica(bench, "first.log");
    wait_for_line(&first, "Watching resource").await;
    let second = replica(bench, "second.log");
    wait_for_line(&second, "Attempting to acquire leader lease").await;
    (first, second)
}

#[tokio::test]
async fn a_leader_that_is_killed_is_followed_within_twenty_seconds() {
    let Some(bench) = Bench::with_kind("a_leader_that_is_killed_is_followed").await else {
        return;
    };
    let (first, second) = pair(&bench).await;
    bench.apply_web("shop", json!({})).await;
    bench.wait_revision("shop", 1).await;
    first.kill().await.unwrap();
    timeout(AFTER_A_KILL, wait_for_line(&second, "Watching resource"))
        .await
        .unwrap();
    bench.apply_web("shop", json!({"message": "bye"})).await;
    bench.wait_revision("shop", 2).await;
    assert_eq!(bench.revisions().await, ["1 superseded", "2 deployed"]);
    second.stop().await.unwrap();
}

#[tokio::test]
async fn a_leader_that_is_asked_to_stop_hands_its_work_over_at_once() {
    let Some(bench) = Bench::with_kind("a_leader_that_is_asked_to_stop").await else {
        return;
    };
    let (first, second) = pair(&bench).await;
    // A hook that ends when the test says so.
    bench.apply_web("shop", json!({"hooks": true})).await;
    let jobs = bench.api("batch", "v1", "Job", "jobs");
    let uid = |job: &Value| {
        job.pointer("/metadata/uid")
            .and_then(Value::as_str)
            .map(str::to_owned)
    };
    let begun = bench.wait("the job", &jobs, "shop-job", uid).await;
    assert_eq!(bench.revisions().await, ["1 pending-install"]);

    let handed_over = async {
        first.stop().await.unwrap();
        wait_for_line(&second, "Watching resource").await;
    };
    timeout(AFTER_A_WORD, handed_over).await.unwrap();
    let log = first.log_text();
    assert!(!log.contains("Release failed"), "{log}");

    finish_job(&bench, "Complete").await;
    bench.wait_revision("shop", 1).await;
    assert_eq!(
        bench.wait("the job", &jobs, "shop-job", uid).await,
        begun,
        "the hook ran again"
    );
    assert_eq!(bench.revisions().await, ["1 deployed"]);
    second.stop().await.unwrap();
}

#[tokio::test]
async fn a_leader_that_has_lost_its_lease_writes_nothing_more() {
    let Some(bench) = Bench::with_kind("a_leader_that_has_lost_its_lease").await else {
        return;
    };
    let operator = replica(&bench, "first.log");
    bench.apply_web("shop", json!({"hooks": true})).await;
    let jobs = bench.api("batch", "v1", "Job", "jobs");
    bench
        .wait("the job", &jobs, "shop-job", |job| job.is_object().then_some(()))
        .await;
    let leases: Api<Lease> = Api::namespaced(bench.client.clone(), &bench.namespace);
    let taken = Patch::Merge(json!({"spec": {"holderIdentity": "somebody"}}));
    leases
        .patch("the-lease", &PatchParams::default(), &taken)
        .await
        .unwrap();
    wait_for_line(&operator, "lost the lease `the-lease`: another process holds it").await;

    let mark = bench.cluster.audit_mark().await.unwrap();
    finish_job(&bench, "Complete").await;
    bench
        .apply_web("shop", json!({"hooks": true, "message": "bye"}))
        .await;
    while operator.ended().await.unwrap().is_none() {
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    let audit = bench.cluster.audit_since(mark).await.unwrap();
    let writes = audit.by_user(bench.user.name()).writes();
    assert!(writes.is_empty(), "{writes:#?}");
    assert_eq!(bench.revisions().await, ["1 pending-install"]);
}

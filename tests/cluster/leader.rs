//! Leader election against real Leases.

use std::time::Duration;

use k8s_openapi::api::coordination::v1::Lease;
use kube::api::{Api, Patch, PatchParams, PostParams};
use serde_json::json;
use steersman_operator::leader::{Elector, new_identity};
use steersman_testkit::cluster::{OperatorCommand, OperatorProcess, TestCluster};
use tokio::time::{sleep, timeout};

use crate::bench::{self, wait_for_line};

/// Far more than a lease that is free takes to be taken.
const SOON: Duration = Duration::from_secs(8);

struct Leases {
    client: kube::Client,
    namespace: String,
}

impl Leases {
    async fn new(test: &str) -> Option<Self> {
        let cluster = TestCluster::shared_or_skip(test)?;
        let namespace = cluster.unique_namespace("leader").await.unwrap();
        Some(Self {
            client: cluster.client().await.unwrap(),
            namespace,
        })
    }

    fn elector(&self, host: &str) -> Elector {
        Elector::new(
            self.client.clone(),
            &self.namespace,
            "the-lease",
            new_identity(host),
        )
    }

    fn leases(&self) -> Api<Lease> {
        Api::namespaced(self.client.clone(), &self.namespace)
    }

    async fn holder(&self) -> String {
        self.leases()
            .get("the-lease")
            .await
            .unwrap()
            .spec
            .unwrap()
            .holder_identity
            .unwrap()
    }
}

#[tokio::test]
async fn one_holds_the_lease_and_the_next_follows_when_it_is_given_back() {
    let test = "one_holds_the_lease_and_the_next_follows_when_it_is_given_back";
    let Some(bench) = Leases::new(test).await else {
        return;
    };
    let (mut first, mut second) = (bench.elector("first"), bench.elector("second"));
    timeout(SOON, first.acquire()).await.unwrap();
    assert!(
        timeout(Duration::from_secs(5), second.acquire()).await.is_err(),
        "two leaders"
    );
    assert!(
        timeout(Duration::from_secs(5), first.hold()).await.is_err(),
        "lost for no reason"
    );
    assert!(bench.holder().await.starts_with("first_"));

    first.release().await;
    timeout(SOON, second.acquire()).await.unwrap();
    assert!(bench.holder().await.starts_with("second_"));
    let lease = bench.leases().get("the-lease").await.unwrap().spec.unwrap();
    assert_eq!(lease.lease_transitions, Some(1));

    // What is not ours any more is not given back.
    first.release().await;
    assert!(bench.holder().await.starts_with("second_"));
}

#[tokio::test]
async fn a_lease_that_somebody_took_is_lost() {
    let Some(bench) = Leases::new("a_lease_that_somebody_took_is_lost").await else {
        return;
    };
    let mut elector = bench.elector("loser");
    timeout(SOON, elector.acquire()).await.unwrap();
    let taken = Patch::Merge(json!({"spec": {"holderIdentity": "somebody"}}));
    bench
        .leases()
        .patch("the-lease", &PatchParams::default(), &taken)
        .await
        .unwrap();
    assert_eq!(
        timeout(SOON, elector.hold()).await.unwrap(),
        "another process holds it"
    );
}

#[tokio::test]
async fn a_holder_that_died_is_followed_when_its_lease_has_run_out() {
    let Some(bench) = Leases::new("a_holder_that_died_is_followed").await else {
        return;
    };
    let left: Lease = serde_json::from_value(json!({
        "metadata": {"name": "the-lease"},
        "spec": {"holderIdentity": "\u{1b}[31mdead", "leaseDurationSeconds": 3, "leaseTransitions": 6,
                 "renewTime": "2999-01-01T00:00:00.000000Z"}
    }))
    .unwrap();
    bench
        .leases()
        .create(&PostParams::default(), &left)
        .await
        .unwrap();
    let mut elector = bench.elector("heir");
    assert!(
        timeout(Duration::from_millis(1500), elector.acquire())
            .await
            .is_err(),
        "taken too soon"
    );
    timeout(SOON, elector.acquire()).await.unwrap();
    let lease = bench.leases().get("the-lease").await.unwrap().spec.unwrap();
    assert_eq!(lease.lease_transitions, Some(7));
}

/// A replica of the operator that needs the lease.
pub(crate) fn replica(bench: &bench::Bench, name: &str) -> OperatorProcess {
    let namespace = format!("--leader-election-namespace={}", bench.namespace);
    let arguments = ["--leader-elect", "--leader-election-id=the-lease", &namespace];
    let command = OperatorCommand {
        binary: env!("CARGO_BIN_EXE_steersman").as_ref(),
        folder: bench.folder.path(),
        kubeconfig: bench.user.kubeconfig(),
        arguments: &arguments,
        environment: &[],
        log: &bench.folder.path().join(name),
    };
    OperatorProcess::start(&command).unwrap()
}

#[tokio::test]
async fn of_two_replicas_one_acts_and_the_other_stands_by_and_is_ready() {
    let Some(bench) = bench::Bench::with_kind("of_two_replicas_one_acts").await else {
        return;
    };
    let first = replica(&bench, "first.log");
    wait_for_line(&first, "Watching resource").await;
    let second = replica(&bench, "second.log");
    wait_for_line(&second, "Attempting to acquire leader lease").await;
    second.wait_until_ready(SOON).await.unwrap();
    let standing_by = "leader_election_master_status{name=\"the-lease\"} 0";
    assert!(second.metrics().await.unwrap().contains(standing_by));
    assert!(
        !second.log_text().contains("Watching resource"),
        "{}",
        second.log_text()
    );

    first.stop().await.unwrap();
    wait_for_line(&second, "Watching resource").await;
    second.wait_until_ready(SOON).await.unwrap();

    // Whoever loses the lease must not act any more, and ends.
    let leases: Api<Lease> = Api::namespaced(bench.client.clone(), &bench.namespace);
    let taken = Patch::Merge(json!({"spec": {"holderIdentity": "somebody"}}));
    leases
        .patch("the-lease", &PatchParams::default(), &taken)
        .await
        .unwrap();
    wait_for_line(
        &second,
        "error: lost the lease `the-lease`: another process holds it",
    )
    .await;
    let ended = async {
        loop {
            if let Some(status) = second.ended().await.unwrap() {
                return status.code();
            }
            sleep(Duration::from_millis(50)).await;
        }
    };
    assert_eq!(timeout(SOON, ended).await.unwrap(), Some(1));
}

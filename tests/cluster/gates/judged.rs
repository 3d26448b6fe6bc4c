//! What is said of an object before a revision changes it.

use std::time::Duration;

use jiff::Timestamp;
use serde_json::{Value, json};
use steersman_testkit::cluster::OperatorProcess;

use super::undone::CHECK;
use super::{give_address, set_addresses, site, stages, wait_reason, wait_stages};
use crate::bench::Bench;

/// An Ingress that a value changes in place.
const INGRESS: &str = "apiVersion: networking.k8s.io/v1
kind: Ingress
metadata:
  name: {{ .Release.Name }}-a
spec:
  defaultBackend: {service: {name: web, port: {number: {{ .Values.port | default 80 }}}}}
";

/// A site whose first revision is deployed.
async fn installed(test: &str) -> Option<(Bench, OperatorProcess)> {
    let bench = site(test, &[], &(stages(&["a"]) + CHECK)).await?;
    bench.add_template("a.yaml", INGRESS);
    let operator = bench.operator_with(&["--rollback-on-failure"]).await;
    bench.apply_web("site", json!({})).await;
    give_address(&bench, "site-a").await;
    bench.wait_revision("site", 1).await;
    Some((bench, operator))
}

/// The second revision waits, now and in a while, as what is said of its object is from before.
async fn goes_on_as_before(bench: &Bench) {
    // Until the watch shows the object, the stage waits with another message.
    let says_so = |web: &Value| {
        let message = web.pointer("/status/stages/0/message")?.as_str()?;
        message.contains("as before it was changed").then_some(())
    };
    bench
        .wait("what was said before", &bench.webs(), "site", says_so)
        .await;
    wait_stages(bench, "site", "a 2 Progressing").await;
    tokio::time::sleep(Duration::from_secs(2)).await;
    wait_stages(bench, "site", "a 2 Progressing").await;
}

#[tokio::test]
async fn a_failure_of_an_earlier_state_fails_no_stage() {
    let Some((bench, operator)) = installed("judged").await else {
        return;
    };
    set_addresses(&bench, "site-a", json!([{"ip": "192.0.2.66"}])).await;
    let failing = |web: &Value| {
        let conditions = web.pointer("/status/conditions").and_then(Value::as_array)?;
        let mut failing = conditions
            .iter()
            .filter(|one| one["reason"] == "DependentsFailed");
        failing.next().map(|_| ())
    };
    bench.wait("the failure", &bench.webs(), "site", failing).await;
    // The server tells times in seconds.
    tokio::time::sleep(Duration::from_millis(1100)).await;

    bench.apply_web("site", json!({"port": 81})).await;
    goes_on_as_before(&bench).await;
    // What is said from then on counts.
    set_addresses(
        &bench,
        "site-a",
        json!([{"ip": "192.0.2.66"}, {"ip": "192.0.2.67"}]),
    )
    .await;
    let message = wait_reason(&bench, "site", "Stalled", "StageFailed").await;
    assert!(message.contains("rolled back to revision 1"), "{message}");
    operator.stop().await.unwrap();
}

#[tokio::test]
async fn a_failure_that_was_said_in_the_second_of_the_change_fails_no_stage() {
    let Some((bench, operator)) = installed("judged-at-once").await else {
        return;
    };
    // The server tells times in seconds: all of it is to be in one.
    let rest = 1_000 - Timestamp::now().as_millisecond() % 1_000;
    tokio::time::sleep(Duration::from_millis(rest.unsigned_abs())).await;
    set_addresses(&bench, "site-a", json!([{"ip": "192.0.2.66"}])).await;
    bench.apply_web("site", json!({"port": 81})).await;
    goes_on_as_before(&bench).await;
    set_addresses(&bench, "site-a", json!([{"ip": "192.0.2.1"}])).await;
    bench.wait_revision("site", 2).await;
    operator.stop().await.unwrap();
}

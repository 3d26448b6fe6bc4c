//! What a release costs the API server.

use crate::bench::Bench;
use serde_json::json;

/// What there is besides the objects and the status: the finalizer, the revision before and after them, an event.
const BESIDES: usize = 4;

#[tokio::test]
async fn an_installation_takes_a_request_for_each_object_and_six_more() {
    let Some(bench) = Bench::with_kind("requests").await else {
        return;
    };
    let operator = bench.ready_operator().await;
    // Discovery and the watches of the kinds are paid once.
    bench.apply_web("first", json!({"message": "hi"})).await;
    bench.wait_revision("first", 1).await;

    let mark = bench.cluster.audit_mark().await.unwrap();
    bench.apply_web("second", json!({"message": "hi"})).await;
    bench
        .wait(
            "the controller of the Deployment",
            &bench.webs(),
            "second",
            |web| web["status"].to_string().contains("pods available").then_some(()),
        )
        .await;
    let audit = bench
        .cluster
        .audit_since(mark)
        .await
        .unwrap()
        .by_user(bench.user.name());
    let release = audit.filter(|request| request.uri.contains("second") || request.verb == "create");
    let objects = release
        .verb("patch")
        .filter(|request| request.code == Some(201))
        .len();
    assert!(objects > 3, "{audit}");
    let statuses = release.filter(|request| request.subresource == "status").len();
    assert!(release.len() - statuses <= objects + BESIDES, "{audit}");
    // Before the first object and after the last; once more where the Deployment's controller says its first word later
    // than the status waits for it.
    assert!((2..=3).contains(&statuses), "{audit}");
    operator.stop().await.unwrap();
}

//! Revisions that come into effect stage by stage.

use std::time::Duration;

use kube::api::{Patch, PatchParams};
use serde_json::json;

use super::{
    annotate, approved, give_address, ingresses, install, is_there, say, site, stages, wait_reason,
    wait_stages,
};
use crate::bench::PATIENCE;

const PARTS: [&str; 3] = ["a", "b", "c"];

#[tokio::test]
async fn a_stage_begins_when_the_one_before_it_is_ready() {
    let Some(bench) = site("stages", &PARTS, &stages(&PARTS)).await else {
        return;
    };
    let operator = bench.operator_with(&[]).await;
    bench.apply_web("site", json!({})).await;
    let message = wait_reason(&bench, "site", "Reconciling", "StageProgressing").await;
    assert!(
        message.contains("stage a of revision 1 is not ready yet"),
        "{message}"
    );
    wait_stages(&bench, "site", "a 1 Progressing, b 1 Pending, c 1 Pending").await;
    assert!(!is_there(&bench, "site-b-1").await);

    // The operator dies at each gate, and the next one goes on there.
    operator.kill().await.unwrap();
    give_address(&bench, "site-a-1").await;
    let operator = bench.operator_with(&[]).await;
    wait_stages(&bench, "site", "a 1 Ready, b 1 Progressing, c 1 Pending").await;
    assert!(!is_there(&bench, "site-c-1").await);
    operator.kill().await.unwrap();
    let operator = bench.operator_with(&[]).await;
    give_address(&bench, "site-b-1").await;
    wait_stages(&bench, "site", "a 1 Ready, b 1 Ready, c 1 Progressing").await;
    give_address(&bench, "site-c-1").await;
    bench.wait_revision("site", 1).await;
    wait_stages(&bench, "site", "a 1 Ready, b 1 Ready, c 1 Ready").await;
    assert_eq!(bench.revisions().await, ["1 deployed"]);
    let events = bench.events().await;
    for stage in PARTS {
        assert!(
            events.contains(&format!("stage {stage} of revision 1 is ready")),
            "{events}"
        );
    }

    // What has not changed passes at once.
    bench.apply_web("site", json!({"b": "2"})).await;
    wait_stages(&bench, "site", "a 2 Ready, b 2 Progressing, c 2 Pending").await;
    give_address(&bench, "site-b-2").await;
    bench.wait_revision("site", 2).await;
    assert!(!is_there(&bench, "site-b-1").await);
    operator.stop().await.unwrap();
}

#[tokio::test]
async fn a_stage_that_fails_leaves_the_later_ones_and_goes_on_when_it_is_ready() {
    let entry = stages(&PARTS) + "  wait: {timeout: 3s}\n";
    let Some(bench) = site("stages-fail", &PARTS, &entry).await else {
        return;
    };
    let operator = bench.operator_with(&[]).await;
    bench.apply_web("site", json!({})).await;
    give_address(&bench, "site-a-1").await;
    let message = wait_reason(&bench, "site", "Stalled", "StageFailed").await;
    assert!(
        message.contains("stage b of revision 1 was not ready within 3s"),
        "{message}"
    );
    wait_stages(&bench, "site", "a 1 Ready, b 1 Failed, c 1 Pending").await;
    assert!(!is_there(&bench, "site-c-1").await);
    give_address(&bench, "site-b-1").await;
    give_address(&bench, "site-c-1").await;
    bench.wait_revision("site", 1).await;
    assert_eq!(bench.revisions().await, ["1 deployed"]);
    operator.stop().await.unwrap();
}

#[tokio::test]
async fn a_stage_waits_for_somebodys_word() {
    let entry = approved(&approved(&stages(&PARTS), "b"), "c");
    let Some(bench) = site("stages-approve", &PARTS, &entry).await else {
        return;
    };
    let operator = bench.operator_with(&[]).await;
    bench.apply_web("site", json!({})).await;
    give_address(&bench, "site-a-1").await;
    let message = wait_reason(&bench, "site", "Reconciling", "ApprovalRequired").await;
    assert!(
        message.contains("steersman.dev/approve-stage is 1/b"),
        "{message}"
    );
    wait_stages(&bench, "site", "a 1 Ready, b 1 ApprovalRequired, c 1 Pending").await;
    annotate(&bench, "site", "steersman.dev/approve-stage", "2/b").await;
    tokio::time::sleep(Duration::from_secs(2)).await;
    assert!(!is_there(&bench, "site-b-1").await, "another revision is meant");
    let site = format!("webs.{}/site", bench.group);
    let (code, text) = say(&bench, &["skip", &site, "b"]);
    assert!(
        code != Some(0) && text.contains("stage `b` is ApprovalRequired"),
        "{text}"
    );
    let (code, text) = say(&bench, &["approve", &site, "b"]);
    assert!(
        code == Some(0) && text.contains("stage b of revision 1 may begin"),
        "{text}"
    );
    let (code, text) = say(&bench, &["approve", &site, "c"]);
    assert_eq!(code, Some(0), "{text}");
    let web = bench.webs().get("site").await.unwrap();
    let said = web.metadata.annotations.unwrap_or_default();
    assert_eq!(said["steersman.dev/approve-stage"], "1/b,1/c");
    give_address(&bench, "site-b-1").await;
    give_address(&bench, "site-c-1").await;
    bench.wait_revision("site", 1).await;
    // The status tells of it before the run is over, and counted.
    for part in PARTS {
        let series = format!(
            r#"steersman_stage_duration_seconds_count{{controller="web-controller",stage="{part}"}} 1"#
        );
        let counted = async {
            while !operator.metrics().await.unwrap().contains(&series) {
                tokio::time::sleep(Duration::from_millis(50)).await;
            }
        };
        tokio::time::timeout(PATIENCE, counted).await.expect(&series);
    }
    operator.stop().await.unwrap();
}

#[tokio::test]
async fn a_stage_is_passed_over_or_applied_once_more_on_request() {
    let entry = stages(&PARTS) + "  wait: {timeout: 2s}\n";
    let Some(bench) = site("stages-asked", &PARTS, &entry).await else {
        return;
    };
    let operator = bench.operator_with(&[]).await;
    bench.apply_web("site", json!({})).await;
    wait_reason(&bench, "site", "Stalled", "StageFailed").await;
    annotate(&bench, "site", "steersman.dev/retry-stage", "1/a/first").await;
    wait_stages(&bench, "site", "a 1 Progressing, b 1 Pending, c 1 Pending").await;
    wait_reason(&bench, "site", "Stalled", "StageFailed").await;
    annotate(&bench, "site", "steersman.dev/skip-stage", "1/a").await;
    wait_stages(&bench, "site", "a 1 Ready, b 1 Progressing, c 1 Pending").await;
    let event = bench.wait_event("StageSkipped").await;
    assert!(event.contains("stage a of revision 1"), "{event}");
    give_address(&bench, "site-b-1").await;
    wait_stages(&bench, "site", "a 1 Ready, b 1 Ready, c 1 Progressing").await;
    operator.kill().await.unwrap();
    let operator = bench.operator_with(&[]).await;
    give_address(&bench, "site-c-1").await;
    bench.wait_revision("site", 1).await;
    operator.stop().await.unwrap();
}

#[tokio::test]
async fn an_object_that_two_stages_claim_is_refused_before_anything_is_written() {
    let entry = stages(&PARTS) + "  - {name: all, objects: [{kind: Ingress, name: site-b.*}]}\n";
    let Some(bench) = site("stages-twice", &PARTS, &entry).await else {
        return;
    };
    let operator = bench.operator_with(&[]).await;
    bench.apply_web("site", json!({})).await;
    let message = wait_reason(&bench, "site", "Stalled", "RenderFailed").await;
    let (b, all) = ("stages b (line 8 of watches.yaml)", "all (line 12)");
    let object = format!("both claim Ingress {}/site-b-1", bench.namespace);
    assert_eq!(message, format!("{b} and {all} {object}"));
    assert!(!is_there(&bench, "site-a-1").await);
    assert_eq!(bench.revisions().await, Vec::<String>::new());
    operator.stop().await.unwrap();
}

#[tokio::test]
async fn what_comes_last_goes_first() {
    let Some(bench) = site("stages-end", &PARTS, &stages(&PARTS)).await else {
        return;
    };
    let operator = bench.operator_with(&[]).await;
    install(&bench, "site", &PARTS).await;
    let held = |finalizers: &[&str]| json!({"metadata": {"finalizers": finalizers}});
    let ingresses = ingresses(&bench);
    let patch = async |body: serde_json::Value| {
        let patch = Patch::Merge(&body);
        ingresses
            .patch("site-c-1", &PatchParams::default(), &patch)
            .await
            .unwrap();
    };
    patch(held(&["example.com/held"])).await;
    bench.delete_web("site").await;
    bench
        .wait("the deletion", &ingresses, "site-c-1", |found| {
            found.pointer("/metadata/deletionTimestamp").map(|_| ())
        })
        .await;
    tokio::time::sleep(Duration::from_secs(5)).await;
    assert!(is_there(&bench, "site-b-1").await && is_there(&bench, "site-a-1").await);
    patch(held(&[])).await;
    bench.wait_gone(&bench.webs(), "site").await;
    for part in PARTS {
        assert!(!is_there(&bench, &format!("site-{part}-1")).await);
    }
    operator.stop().await.unwrap();
}

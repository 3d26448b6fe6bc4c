//! A stage that does not become ready, by the page.

use serde_json::json;

use super::{Page, between, form_of};
use crate::gates::{give_address, site, stages, wait_reason, wait_stages};

/// Presses a button of a page, and confirms what it says it will do.
async fn press((page, cookie): (&Page, &str), shown: &str, path: &str, effect: &str) {
    let path = format!("{path}{}", between(shown, path, "\"").replace("&#38;", "&"));
    let shown = page.get(&path, cookie).await.body;
    assert!(shown.contains(effect), "{shown}");
    let done = page.post(&path, cookie, &form_of(&shown), &[]).await;
    assert_eq!(done.status, 303, "{}", done.body);
}

#[tokio::test]
async fn a_stage_is_applied_once_more_and_passed_over_when_somebody_confirms_it() {
    let parts = ["a", "b"];
    let entry = stages(&parts) + "  wait: {timeout: 3s}\n";
    let Some(bench) = site("ui_stages", &parts, &entry).await else {
        return;
    };
    let operator = bench.operator_with(&[]).await;
    bench.apply_web("site", json!({})).await;
    let page = Page::start(&bench, &[]);
    let cookie = page.log_in().await;
    let address = format!("/releases/webs.{}/{}/site", bench.group, bench.namespace);
    wait_reason(&bench, "site", "Stalled", "StageFailed").await;
    let shown = page.wait(&address, &cookie, "StageFailed").await;
    let button = |slug: &str| format!("{address}/actions/{slug}?");

    for none in [
        "skip?stage=1%2Fnone",
        "skip?stage=01%2Fa",
        "retry?stage=2%2Fa",
        "approve?stage=1%2Fa",
    ] {
        let answer = page.get(&format!("{address}/actions/{none}"), &cookie).await;
        assert_eq!(answer.status, 404, "{none}: {}", answer.body);
    }
    let effect = "The objects of stage 1/a are applied once more";
    press((&page, &cookie), &shown, &button("retry"), effect).await;
    wait_stages(&bench, "site", "a 1 Progressing, b 1 Pending").await;
    wait_reason(&bench, "site", "Stalled", "StageFailed").await;

    let effect = "What comes after stage 1/a goes on although that is not ready";
    press((&page, &cookie), &shown, &button("skip"), effect).await;
    wait_stages(&bench, "site", "a 1 Ready, b 1 Progressing").await;
    let event = bench.wait_event("StageSkipped").await;
    assert!(event.contains("stage a of revision 1"), "{event}");
    give_address(&bench, "site-b-1").await;
    bench.wait_revision("site", 1).await;
    page.wait(&address, &cookie, "StageSkipped").await;
    operator.stop().await.unwrap();
}

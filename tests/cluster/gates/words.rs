//! For which revision, and for which try of it, somebody has said a word.

use std::time::Duration;

use kube::api::{Patch, PatchParams};
use serde_json::{Value, json};

use super::undone::{CHECK, let_fail};
use super::{
    annotate, approved, give_address, is_there, say, shown_stages, site, stages, wait_reason, wait_stages,
};
use crate::bench::Bench;
use crate::records::secret_of;

const PARTS: [&str; 2] = ["a", "b"];
const APPROVE: &str = "steersman.dev/approve-stage";

#[tokio::test]
async fn a_word_is_of_no_later_revision_whose_number_is_free_again() {
    let entry = approved(&stages(&PARTS), "b");
    let Some(bench) = site("words-numbers", &PARTS, &entry).await else {
        return;
    };
    let operator = bench.operator_with(&[]).await;
    annotate_at_creation(&bench, "1/b,2/b").await;
    for part in PARTS {
        give_address(&bench, &format!("site-{part}-1")).await;
    }
    bench.wait_revision("site", 1).await;
    bench.apply_web("site", json!({"a": "2", "b": "2"})).await;
    for part in PARTS {
        give_address(&bench, &format!("site-{part}-2")).await;
    }
    bench.wait_revision("site", 2).await;

    let secrets = bench.secrets();
    let newest = secret_of("site", 2);
    secrets.delete(&newest, &Default::default()).await.unwrap();
    bench.apply_web("site", json!({"a": "3", "b": "3"})).await;
    give_address(&bench, "site-a-3").await;
    // What the deleted record had may have been made once more before.
    let asks_again = |web: &Value| {
        let stages = shown_stages(web);
        let is_so = |revision| stages == format!("a {revision} Ready, b {revision} ApprovalRequired");
        (is_so(3) || is_so(4)).then_some(())
    };
    bench
        .wait("the question", &bench.webs(), "site", asks_again)
        .await;
    assert!(!is_there(&bench, "site-b-3").await);
    operator.stop().await.unwrap();
}

/// A resource that says this from its first moment on.
async fn annotate_at_creation(bench: &Bench, words: &str) {
    let object = json!({
        "apiVersion": format!("{}/v1", bench.group), "kind": "Web",
        "metadata": {"name": "site", "annotations": {APPROVE: words}}, "spec": {},
    });
    bench.create(&bench.webs(), object).await;
}

#[tokio::test]
async fn what_is_undone_is_approved_again_also_where_it_was_applied_once_more() {
    let entry = approved(&stages(&PARTS), "b") + CHECK;
    let Some(bench) = site("words-undone", &PARTS, &entry).await else {
        return;
    };
    let operator = bench.operator_with(&["--rollback-on-failure"]).await;
    annotate_at_creation(&bench, "1/b").await;
    give_address(&bench, "site-a-1").await;
    let web = wait_stages(&bench, "site", "a 1 Ready, b 1 Progressing").await;
    let since = web["status"]["stages"][1]["since"].clone();
    // The status tells times in seconds.
    tokio::time::sleep(Duration::from_millis(1100)).await;
    annotate(&bench, "site", "steersman.dev/retry-stage", "1/b/again").await;
    let is_again = |web: &Value| (web.pointer("/status/stages/1/since")? != &since).then_some(());
    bench.wait("the retry", &bench.webs(), "site", is_again).await;
    let no_word = json!({"metadata": {"annotations": {APPROVE: null}}});
    bench.patch_web("site", no_word).await;
    let_fail(&bench, "site-b-1").await;
    let message = wait_reason(&bench, "site", "Stalled", "StageFailed").await;
    assert!(message.contains("what it has installed is removed"), "{message}");

    annotate(&bench, "site", "steersman.dev/reconcile-at", "1").await;
    give_address(&bench, "site-a-1").await;
    wait_stages(&bench, "site", "a 1 Ready, b 1 ApprovalRequired").await;
    assert!(!is_there(&bench, "site-b-1").await);
    operator.stop().await.unwrap();
}

#[tokio::test]
async fn the_command_says_nothing_of_what_is_not_recorded_or_goes() {
    let entry = approved(&stages(&PARTS), "b");
    let Some(bench) = site("words-said", &PARTS, &entry).await else {
        return;
    };
    let operator = bench.operator_with(&[]).await;
    bench.apply_web("site", json!({})).await;
    give_address(&bench, "site-a-1").await;
    let web = wait_stages(&bench, "site", "a 1 Ready, b 1 ApprovalRequired").await;
    operator.kill().await.unwrap();
    let resource = format!("webs.{}/site", bench.group);
    let refused = |why: &str| {
        let (code, text) = say(&bench, &["approve", &resource, "b"]);
        assert_eq!(code, Some(1), "{text}");
        assert!(text.contains(why), "{text}");
    };

    let mut stages = web["status"]["stages"].clone();
    stages[1]["revision"] = 2.into();
    let forged = Patch::Merge(json!({"status": {"stages": stages}}));
    let webs = bench.webs();
    webs.patch_status("site", &PatchParams::default(), &forged)
        .await
        .unwrap();
    refused("tells of revision 2, and the newest that is recorded is revision 1");
    bench.delete_web("site").await;
    refused("is being deleted");
    let operator = bench.operator_with(&[]).await;
    bench.wait_gone(&webs, "site").await;
    operator.stop().await.unwrap();
}

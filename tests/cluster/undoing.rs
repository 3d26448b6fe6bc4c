//! A revision that has failed is undone to its end, whatever happens meanwhile, and nothing of that is left for later.

use kube::api::{DeleteParams, Patch, PatchParams};
use serde_json::{Value, json};
use steersman_testkit::cluster::{Fault, FaultId};

use crate::bench::{Bench, condition, has_ended};
use crate::faults::lane::Lane;
use crate::hooks::finish_job_of;
use crate::large::{add_maps, noise};
use crate::records::{disown, secret_of};
use crate::while_waiting::{JOBS, job, wait_awaited};

const FLAGS: [&str; 1] = ["--rollback-on-failure"];

/// A revision that goes back by a Job, and one that fails by one before it.
fn specs() -> (Value, Value) {
    let back = json!({"name": "back", "on": "pre-rollback"});
    let up = json!({"name": "up", "on": "pre-upgrade"});
    let good = json!({ "jobs": [back] });
    (good, json!({"message": "bad", "extra": true, "jobs": [back, up]}))
}

/// An operator behind a proxy, whose release waits in the failed upgrade's rollback, or before it fails.
async fn lane(test: &str, fails: bool) -> Option<Lane> {
    let lane = Lane::new(test).await?;
    lane.bench.add_template("jobs.yaml", JOBS);
    lane.start_with(&FLAGS).await;
    let (good, bad) = specs();
    lane.bench.apply_web("shop", good).await;
    lane.bench.wait_revision("shop", 1).await;
    lane.bench.apply_web("shop", bad).await;
    wait_awaited(&lane.bench, "shop-up").await;
    if fails {
        finish_job_of(&lane.bench, "shop-up", "Failed").await;
        wait_awaited(&lane.bench, "shop-back").await;
    }
    Some(lane)
}

/// The rollback's Job ends, and its end has no answer.
async fn end_in_silence(lane: &Lane, ends: &str) -> FaultId {
    let silence = Fault::on("get", "jobs")
        .name("shop-back-job")
        .always()
        .refuse(500);
    let silence = lane.proxy.inject(silence);
    finish_job_of(&lane.bench, "shop-back", ends).await;
    silence
}

/// Has everything read and tried again.
pub(crate) async fn try_again(bench: &Bench, when: &str) {
    let annotation = json!({"metadata": {"annotations": {"steersman.dev/reconcile-at": when}}});
    bench.patch_web("shop", annotation).await;
}

async fn wait_undone(bench: &Bench) {
    let (_, _, message) = bench.wait_failed("shop", "Stalled").await;
    assert!(message.contains("shop-up-job"), "{message}");
    assert!(message.ends_with("; rolled back to revision 1"), "{message}");
    assert_eq!(bench.revisions().await, ["1 deployed", "2 failed"]);
}

#[tokio::test]
async fn a_moment_without_an_answer_is_no_end_of_it() {
    let Some(lane) = lane("a_moment_without_an_answer", true).await else {
        return;
    };
    let bench = &lane.bench;
    let up = job(bench, "shop-up").await.metadata.uid;
    let silence = end_in_silence(&lane, "Complete").await;
    let is_told = |web: &Value| {
        let (status, _, message) = condition(web, "ReleaseFailed")?;
        (status == "True" && message.contains("it can't be undone")).then_some(())
    };
    bench.wait("the failure", &bench.webs(), "shop", is_told).await;
    lane.proxy.take_back(silence);
    wait_undone(bench).await;
    assert_eq!(
        job(bench, "shop-up").await.metadata.uid,
        up,
        "it was not tried again before"
    );
    lane.stop().await;
}

#[tokio::test]
async fn a_hook_of_it_that_has_failed_is_not_run_again_for_want_of_an_answer() {
    let Some(lane) = lane("a_failed_hook_without_an_answer", true).await else {
        return;
    };
    let bench = &lane.bench;
    let back = job(bench, "shop-back").await.metadata.uid;
    let silence = end_in_silence(&lane, "Failed").await;
    let told = async |words: &str| {
        let is_told = |web: &Value| {
            let (_, _, message) = condition(web, "ReleaseFailed")?;
            message.contains(words).then_some(())
        };
        bench.wait(words, &bench.webs(), "shop", is_told).await;
    };
    told("it can't be undone yet").await;
    lane.proxy.take_back(silence);
    told("and it can't be undone: ").await;
    assert_eq!(job(bench, "shop-back").await.metadata.uid, back);
    lane.stop().await;
}

#[tokio::test]
async fn one_that_has_begun_is_brought_to_its_end_although_none_is_wanted_any_longer() {
    let Some(lane) = lane("an_undoing_that_is_not_wanted", true).await else {
        return;
    };
    let bench = &lane.bench;
    let former = job(bench, "shop-back").await.metadata.uid;
    lane.kill().await;
    lane.start_with(&[]).await;
    wait_awaited(bench, "shop-back").await;
    assert_eq!(job(bench, "shop-back").await.metadata.uid, former);
    finish_job_of(bench, "shop-back", "Complete").await;
    wait_undone(bench).await;
    try_again(bench, "now").await;
    wait_awaited(bench, "shop-up").await;
    finish_job_of(bench, "shop-up", "Failed").await;
    let (_, _, message) = bench.wait_failed("shop", "ReleaseFailed").await;
    assert!(!message.contains("rolled back"), "{message}");
    lane.kill().await;

    // It fails once more, and everything of the undoing begins anew.
    lane.start_with(&FLAGS).await;
    wait_awaited(bench, "shop-up").await;
    finish_job_of(bench, "shop-up", "Failed").await;
    wait_awaited(bench, "shop-back").await;
    assert_ne!(job(bench, "shop-back").await.metadata.uid, former);
    finish_job_of(bench, "shop-back", "Complete").await;
    wait_undone(bench).await;
    lane.stop().await;
}

#[tokio::test]
async fn nothing_is_undone_that_is_not_written_down_as_failed() {
    let Some(lane) = lane("not_written_down", false).await else {
        return;
    };
    let bench = &lane.bench;
    let first = job(bench, "shop-up").await.metadata.uid;
    let refused = Fault::on("patch", "secrets")
        .name(&secret_of("shop", 2))
        .refuse(500);
    let refused = lane.proxy.inject(refused);
    finish_job_of(bench, "shop-up", "Failed").await;
    let jobs = bench.api("batch", "v1", "Job", "jobs");
    let is_another = |job: &Value| {
        let uid = job.pointer("/metadata/uid")?.as_str();
        (uid != first.as_deref()).then_some(())
    };
    bench.wait("the next try", &jobs, "shop-up-job", is_another).await;
    assert_eq!(lane.proxy.struck(refused), 1);
    assert!(jobs.get_opt("shop-back-job").await.unwrap().is_none());
    finish_job_of(bench, "shop-up", "Failed").await;
    finish_job_of(bench, "shop-back", "Complete").await;
    wait_undone(bench).await;
    lane.stop().await;
}

/// Who may write Secrets puts back what a revision was while it was undone, after it has been deployed.
#[tokio::test]
async fn nothing_is_undone_for_records_that_somebody_has_put_back() {
    let Some(lane) = lane("undone_records_put_back", true).await else {
        return;
    };
    let bench = &lane.bench;
    let secrets = bench.secrets();
    let mut kept = Vec::new();
    for revision in [1, 2] {
        let name = secret_of("shop", revision);
        kept.push((
            name.clone(),
            secrets.get(&name).await.unwrap().data["data"].clone(),
        ));
    }
    finish_job_of(bench, "shop-back", "Complete").await;
    wait_undone(bench).await;
    try_again(bench, "now").await;
    wait_awaited(bench, "shop-up").await;
    finish_job_of(bench, "shop-up", "Complete").await;
    bench.wait_revision("shop", 2).await;
    let extra = bench.config_maps().get("shop-extra").await.unwrap().metadata.uid;
    for (name, data) in kept {
        let put_back = Patch::Merge(json!({ "data": data }));
        secrets
            .patch(&name, &PatchParams::default(), &put_back)
            .await
            .unwrap();
    }
    try_again(bench, "later").await;
    wait_awaited(bench, "shop-up").await;
    finish_job_of(bench, "shop-up", "Complete").await;
    let handled = |web: &Value| {
        let at = web.pointer("/status/lastHandledReconcileAt")?;
        (at == "later" && has_ended(web)).then_some(())
    };
    bench.wait("its end", &bench.webs(), "shop", handled).await;
    let found = bench.config_maps().get("shop-extra").await.unwrap().metadata.uid;
    assert_eq!(found, extra);
    lane.stop().await;
}

/// The same after a later revision was deployed, which goes with all that tells of it but the resource's status.
#[tokio::test]
async fn nothing_is_undone_that_a_later_revision_has_overtaken() {
    let Some(lane) = lane("undone_and_overtaken", true).await else {
        return;
    };
    let bench = &lane.bench;
    let secrets = bench.secrets();
    let mut kept = Vec::new();
    for revision in [1, 2] {
        let secret = secrets.get(&secret_of("shop", revision)).await.unwrap();
        kept.push(
            json!({"metadata": {"name": secret.metadata.name, "labels": secret.metadata.labels,
            "ownerReferences": secret.metadata.owner_references},
            "type": secret.data["type"], "data": secret.data["data"]}),
        );
    }
    finish_job_of(bench, "shop-back", "Complete").await;
    wait_undone(bench).await;
    let (good, bad) = specs();
    bench.apply_web("shop", good).await;
    bench.wait_revision("shop", 3).await;
    bench.apply_web("shop", bad).await;
    wait_awaited(bench, "shop-up").await;
    finish_job_of(bench, "shop-up", "Complete").await;
    bench.wait_revision("shop", 4).await;
    let extra = bench.config_maps().get("shop-extra").await.unwrap().metadata.uid;
    lane.kill().await;
    for revision in 1..=4 {
        let deleted = secrets
            .delete(&secret_of("shop", revision), &DeleteParams::default())
            .await;
        deleted.unwrap();
    }
    for secret in kept {
        bench.create(&secrets, secret).await;
    }
    lane.start_with(&FLAGS).await;
    wait_awaited(bench, "shop-up").await;
    finish_job_of(bench, "shop-up", "Complete").await;
    bench
        .wait("its end", &bench.webs(), "shop", |web| {
            has_ended(web).then_some(())
        })
        .await;
    let found = bench.config_maps().get("shop-extra").await.unwrap().metadata.uid;
    assert_eq!(found, extra);
    lane.stop().await;
}

/// A first revision fails, what it has installed is removed with a post-delete hook that ends like this, and in the end the
/// release is installed and deleted.
async fn hooks_of_the_end(test: &str, policy: &str, ends: &str, remedy: &str) {
    let Some(bench) = Bench::with_kind(test).await else {
        return;
    };
    bench.add_template("jobs.yaml", &JOBS.replace("before-hook-creation", policy));
    let operator = bench.operator_with(&FLAGS).await;
    let jobs = json!([
        {"name": "up", "on": "pre-install"}, {"name": "down", "on": "pre-delete"}, {"name": "last", "on": "post-delete"},
    ]);
    bench.apply_web("shop", json!({ "jobs": jobs })).await;
    finish_job_of(&bench, "shop-up", "Failed").await;
    wait_awaited(&bench, "shop-down").await;
    finish_job_of(&bench, "shop-down", "Complete").await;
    wait_awaited(&bench, "shop-last").await;
    finish_job_of(&bench, "shop-last", ends).await;
    bench
        .wait("the failure", &bench.webs(), "shop", |web| {
            let conditions = web.pointer("/status/conditions")?.to_string();
            conditions.contains(remedy).then_some(())
        })
        .await;
    try_again(&bench, "now").await;
    wait_awaited(&bench, "shop-up").await;
    finish_job_of(&bench, "shop-up", "Complete").await;
    bench.wait_revision("shop", 1).await;
    bench.delete_web("shop").await;
    for name in ["shop-down", "shop-last"] {
        wait_awaited(&bench, name).await;
        finish_job_of(&bench, name, "Complete").await;
    }
    bench.wait_gone(&bench.webs(), "shop").await;
    operator.stop().await.unwrap();
}

#[tokio::test]
async fn hooks_of_its_end_run_at_the_real_end_too() {
    let remedy = "; what it has installed is removed";
    hooks_of_the_end("hooks_of_the_end", "before-hook-creation", "Complete", remedy).await;
}

#[tokio::test]
async fn hooks_of_an_end_that_has_failed_run_at_the_real_end_too() {
    let remedy = "and it can't be undone";
    hooks_of_the_end("hooks_of_a_failed_end", "before-hook-creation", "Failed", remedy).await;
}

/// Their policies leave what has failed where it is.
#[tokio::test]
async fn what_hooks_of_an_undoing_have_left_is_not_in_the_way() {
    let remedy = "and it can't be undone";
    hooks_of_the_end("left_by_hooks_of_the_end", "hook-succeeded", "Failed", remedy).await;
}

/// What is too large for one Secret is signed with its parts.
#[tokio::test]
async fn a_large_revision_that_was_undone_is_the_operators_own_afterwards() {
    let Some(bench) = Bench::with_kind("a_large_revision_that_was_undone").await else {
        return;
    };
    bench.edit(
        "workload.yaml",
        "app: {{ .Release.Name }}",
        "app: {{ .Values.app | default .Release.Name }}",
    );
    add_maps(&bench, noise());
    let operator = bench.operator_with(&FLAGS).await;
    bench.apply_web("shop", json!({})).await;
    bench.wait_revision("shop", 1).await;
    bench.apply_web("shop", json!({"app": "other"})).await;
    for number in ["now", "later"] {
        let (_, _, message) = bench.wait_failed("shop", "Stalled").await;
        assert!(message.ends_with("; rolled back to revision 1"), "{message}");
        assert_eq!(bench.revisions().await, ["1 deployed", "2 failed"]);
        try_again(&bench, number).await;
        let handled = |web: &Value| {
            let at = web.pointer("/status/lastHandledReconcileAt")?;
            (at == number).then_some(())
        };
        bench.wait("the next try", &bench.webs(), "shop", handled).await;
    }
    operator.stop().await.unwrap();
}

/// Everything that the release has was made by a hook.
#[tokio::test]
async fn what_hooks_have_made_tells_that_a_release_is_orphaned() {
    let Some(bench) = Bench::with_kind("orphaned_hooks").await else {
        return;
    };
    bench.remove_templates();
    bench.add_template(
        "made.yaml",
        "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: {{ .Release.Name }}-made, annotations: {helm.sh/hook: pre-install}}\n",
    );
    let operator = bench.released(json!({})).await;
    operator.stop().await.unwrap();
    // As the garbage collector does it.
    let maps = bench.config_maps();
    disown(&maps, "shop-made").await;
    disown(&bench.secrets(), &secret_of("shop", 1)).await;
    bench.delete_web("shop").await;
    let operator = bench.ready_operator().await;
    bench.wait_gone(&bench.webs(), "shop").await;
    assert!(
        maps.get("shop-made")
            .await
            .unwrap()
            .metadata
            .deletion_timestamp
            .is_none()
    );
    assert_eq!(bench.revisions().await, ["1 deployed"]);
    operator.stop().await.unwrap();
}

//! Runs whose status, marks or names others have written.

use kube::api::{DeleteParams, Patch, PatchParams};
use serde_json::{Value, json};

use crate::bench::Bench;

use super::{
    RESTORE, annotate, begin, end_pod, jobs, pod_of, released, runs, wait_job, wait_phase, with_procedures,
};

const KIND: &str = "WebRestore";

/// Alone, and without a word.
pub(super) fn restore() -> String {
    format!(
        "{}    exclusive: true\n",
        RESTORE.replace("    confirm: true\n", "")
    )
}

/// Has a run be looked at.
pub(super) async fn rouse(bench: &Bench, run: &str) {
    let now = jiff::Timestamp::now().to_string();
    annotate(&runs(bench, KIND), run, "example.com/roused", &now).await;
}

/// Makes a run, and gives the name of the Job of its first step.
async fn begun(bench: &Bench, name: &str) -> String {
    begin(bench, KIND, name, json!({"snapshot": "monday"})).await;
    wait_job(bench, KIND, name, "copy", 1).await
}

async fn put_status(bench: &Bench, name: &str, status: &Value) {
    let patch = Patch::Merge(json!({ "status": status }));
    let api = runs(bench, KIND);
    api.patch_status(name, &PatchParams::default(), &patch)
        .await
        .unwrap();
}

/// Waits until the run has failed, as nobody knows what it has done.
pub(super) async fn wait_unknown(bench: &Bench, name: &str) {
    let run = wait_phase(bench, KIND, name, "Failed").await;
    let message = run["status"]["message"].as_str().unwrap();
    assert!(message.starts_with("it was begun, and nobody knows"), "{message}");
}

/// Waits for the last step, and ends it.
async fn clean(bench: &Bench, name: &str) {
    let job = wait_job(bench, KIND, name, "clean", 1).await;
    end_pod(bench, &job, "Succeeded", "cleaned").await;
}

#[tokio::test]
async fn a_run_that_has_lost_its_record_stops_and_cleans_up_and_does_not_begin_again() {
    let Some(bench) = with_procedures("procedurelost", &[KIND], &restore()).await else {
        return;
    };
    let operator = released(&bench).await;
    let api = runs(&bench, KIND);
    let snapshot = json!({"snapshot": "monday"});
    let lost = json!({"record": null, "phase": null, "startedAt": null, "steps": null});
    let ended = json!({"record": {"ended": "2026-01-01T00:00:00Z"}, "phase": "Succeeded", "steps": null});
    for (name, forged) in [("first", lost), ("second", ended)] {
        begin(&bench, KIND, name, snapshot.clone()).await;
        let copy = wait_job(&bench, KIND, name, "copy", 1).await;
        begin(&bench, KIND, &format!("after-{name}"), snapshot.clone()).await;
        let forged = Patch::Merge(json!({ "status": forged }));
        api.patch_status(name, &PatchParams::default(), &forged)
            .await
            .unwrap();
        rouse(&bench, name).await;
        let clean = wait_job(&bench, KIND, name, "clean", 1).await;
        let stopped = jobs(&bench).get_opt(&copy).await.unwrap();
        assert!(stopped.is_none(), "what is not known of is stopped");
        let waits = api.get(&format!("after-{name}")).await.unwrap();
        assert_eq!(
            waits.data["status"]["phase"], "Pending",
            "nothing else begins meanwhile"
        );
        end_pod(&bench, &clean, "Succeeded", "cleaned").await;
        let run = wait_phase(&bench, KIND, name, "Failed").await;
        let message = run["status"]["message"].as_str().unwrap();
        assert!(message.starts_with("it was begun, and nobody knows"), "{message}");
        let after = format!("after-{name}");
        wait_job(&bench, KIND, &after, "copy", 1).await;
        annotate(&api, &after, "steersman.dev/cancel", "true").await;
        let clean = wait_job(&bench, KIND, &after, "clean", 1).await;
        end_pod(&bench, &clean, "Succeeded", "cleaned").await;
        wait_phase(&bench, KIND, &after, "Cancelled").await;
    }
    operator.stop().await.unwrap();
}

#[tokio::test]
async fn an_older_record_that_is_put_back_leaves_no_job_behind() {
    let Some(bench) = with_procedures("procedureolder", &[KIND], &restore()).await else {
        return;
    };
    let mut operator = released(&bench).await;
    for (name, is_restarted) in [("first", false), ("second", true)] {
        let copy = begun(&bench, name).await;
        let older = runs(&bench, KIND).get(name).await.unwrap().data["status"].clone();
        end_pod(&bench, &copy, "Succeeded", "").await;
        let load = wait_job(&bench, KIND, name, "load", 1).await;
        // It is named before it is made, and is what tells the next process.
        pod_of(&bench, &load).await;
        if is_restarted {
            operator.kill().await.unwrap();
        }
        put_status(&bench, name, &older).await;
        if is_restarted {
            operator = bench.ready_operator().await;
        }
        rouse(&bench, name).await;
        let job = wait_job(&bench, KIND, name, "clean", 1).await;
        assert!(
            jobs(&bench).get_opt(&load).await.unwrap().is_none(),
            "it was stopped"
        );
        end_pod(&bench, &job, "Succeeded", "").await;
        wait_unknown(&bench, name).await;
        // Once it has ended, it stays so.
        put_status(&bench, name, &older).await;
        rouse(&bench, name).await;
        wait_unknown(&bench, name).await;
        let api = runs(&bench, KIND);
        api.delete(name, &DeleteParams::default()).await.unwrap();
        bench.wait_gone(&api, name).await;
    }
    operator.stop().await.unwrap();
}

#[tokio::test]
async fn the_last_steps_follow_on_what_the_operator_has_begun_alone_and_once() {
    let Some(bench) = with_procedures("procedureonce", &[KIND], &restore()).await else {
        return;
    };
    let operator = released(&bench).await;
    let api = runs(&bench, KIND);
    let copy = begun(&bench, "first").await;
    end_pod(&bench, &copy, "Failed", "no space").await;
    let copy = wait_job(&bench, KIND, "first", "copy", 2).await;
    end_pod(&bench, &copy, "Failed", "no space").await;
    clean(&bench, "first").await;
    wait_phase(&bench, KIND, "first", "Failed").await;
    begun(&bench, "second").await;
    let made = jobs(&bench).list(&Default::default()).await.unwrap().items.len();

    // Its status is wiped, its end was before: this process knows how that was.
    let end = api.get("first").await.unwrap().data["status"]["message"].clone();
    let wiped = json!({"record": null, "phase": null, "steps": null, "message": null});
    put_status(&bench, "first", &wiped).await;
    rouse(&bench, "first").await;
    let run = wait_phase(&bench, KIND, "first", "Failed").await;
    assert_eq!(run["status"]["message"], end);
    // The mark of another run, and no mark at all.
    let mark = api.get("second").await.unwrap().metadata.annotations.unwrap()["steersman.dev/begun"].clone();
    for (name, mark) in [("copied", Some(mark)), ("own", None)] {
        begin(&bench, KIND, name, json!({"snapshot": "monday"})).await;
        let uid = api.get(name).await.unwrap().metadata.uid.unwrap();
        annotate(&api, name, "steersman.dev/begun", &mark.unwrap_or(uid)).await;
        let run = wait_phase(&bench, KIND, name, "Failed").await;
        let message = run["status"]["message"].as_str().unwrap();
        assert!(message.starts_with("it is a copy of a run"), "{message}");
    }
    let now = jobs(&bench).list(&Default::default()).await.unwrap().items.len();
    assert_eq!(now, made, "no step of theirs was carried out");
    let second = api.get("second").await.unwrap();
    assert_eq!(second.data["status"]["phase"], "Running");
    operator.stop().await.unwrap();
}

#[tokio::test]
async fn a_paused_resource_has_no_next_step_carried_out_and_loses_none() {
    let procedures = format!("{}    timeout: 15s\n", restore());
    let Some(bench) = with_procedures("procedurepaused", &[KIND], &procedures).await else {
        return;
    };
    let operator = released(&bench).await;
    let copy = begun(&bench, "first").await;
    annotate(&bench.webs(), "shop", "steersman.dev/pause", "true").await;
    bench
        .wait("the pause", &runs(&bench, KIND), "first", |run| {
            let message = run.pointer("/status/message")?.as_str()?;
            message.contains("is paused").then_some(())
        })
        .await;
    end_pod(&bench, &copy, "Succeeded", "").await;
    tokio::time::sleep(std::time::Duration::from_secs(16)).await;
    let made = jobs(&bench).list(&Default::default()).await.unwrap().items.len();
    assert_eq!(made, 1);
    let patch = json!({"metadata": {"annotations": {"steersman.dev/pause": null}}});
    bench.patch_web("shop", patch).await;
    // The time of its steps is over, and what follows in any case does.
    clean(&bench, "first").await;
    let run = wait_phase(&bench, KIND, "first", "Failed").await;
    assert_eq!(run["status"]["message"], "the time of the run is over");
    operator.stop().await.unwrap();
}

#[tokio::test]
async fn an_operator_that_may_do_nothing_leaves_runs_where_they_are() {
    let Some(bench) = with_procedures("procedurestill", &[KIND], &restore()).await else {
        return;
    };
    let operator = released(&bench).await;
    let copy = begun(&bench, "first").await;
    operator.kill().await.unwrap();
    end_pod(&bench, &copy, "Succeeded", "").await;
    let api = runs(&bench, KIND);
    let before = api.get("first").await.unwrap();
    let mark = bench.cluster.audit_mark().await.unwrap();
    let operator = bench.operator_with(&["--dry-run"]).await;
    rouse(&bench, "first").await;
    begin(&bench, KIND, "second", json!({"snapshot": "monday"})).await;
    wait_phase(&bench, KIND, "second", "Pending").await;
    let sent = bench.cluster.audit_since(mark).await.unwrap();
    let sent = sent.sent_by(bench.user.name()).resource("jobs").writes();
    assert!(sent.is_empty(), "{:#?}", sent.requests);
    let after = api.get("first").await.unwrap();
    assert_eq!(after.data["status"], before.data["status"]);
    operator.stop().await.unwrap();
    let operator = bench.ready_operator().await;
    let load = wait_job(&bench, KIND, "first", "load", 1).await;
    end_pod(&bench, &load, "Succeeded", "").await;
    clean(&bench, "first").await;
    wait_phase(&bench, KIND, "first", "Succeeded").await;
    operator.stop().await.unwrap();
}

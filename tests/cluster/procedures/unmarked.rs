//! Runs and Jobs from which others have taken what the operator knows them by.

use kube::api::{Api, DeleteParams, DynamicObject, Patch, PatchParams};
use serde_json::{Value, json};
use steersman_testkit::cluster::OperatorProcess;

use super::forged::{restore, rouse, wait_unknown};
use super::{annotate, begin, end_pod, jobs, released, runs, wait_job, wait_phase, with_procedures};
use crate::bench::Bench;

const KIND: &str = "WebRestore";

async fn site(test: &str) -> Option<(Bench, OperatorProcess)> {
    let bench = with_procedures(test, &[KIND], &restore()).await?;
    let operator = released(&bench).await;
    Some((bench, operator))
}

async fn make(bench: &Bench, name: &str) {
    begin(bench, KIND, name, json!({"snapshot": "monday"})).await;
}

async fn merge(api: &Api<DynamicObject>, name: &str, patch: Value) {
    let patch = Patch::Merge(patch);
    api.patch(name, &PatchParams::default(), &patch).await.unwrap();
}

/// Has the status of a run say nothing, or what it said once.
async fn put_status(bench: &Bench, name: &str, status: &Value) {
    let put = json!([{"op": "replace", "path": "/status", "value": status}]);
    let put = Patch::<DynamicObject>::Json(serde_json::from_value(put).unwrap());
    runs(bench, KIND)
        .patch_status(name, &PatchParams::default(), &put)
        .await
        .unwrap();
    rouse(bench, name).await;
}

async fn take_mark_off(bench: &Bench, name: &str) {
    let off = json!({"metadata": {"annotations": {"steersman.dev/begun": null}}});
    merge(&runs(bench, KIND), name, off).await;
}

/// Waits until the last step is there, with nothing of the others, and ends it: the run has failed.
async fn wait_cleaned(bench: &Bench, name: &str, stopped: &str) {
    let clean = wait_job(bench, KIND, name, "clean", 1).await;
    let left = jobs(bench).get_opt(stopped).await.unwrap();
    assert!(left.is_none(), "{stopped} goes on");
    end_pod(bench, &clean, "Succeeded", "").await;
    wait_unknown(bench, name).await;
}

#[tokio::test]
async fn a_run_that_has_lost_its_mark_and_its_record_does_not_begin_again() {
    let Some((bench, mut operator)) = site("unmarked").await else {
        return;
    };
    for (name, is_restarted) in [("first", false), ("second", true)] {
        make(&bench, name).await;
        let copy = wait_job(&bench, KIND, name, "copy", 1).await;
        end_pod(&bench, &copy, "Succeeded", "").await;
        let load = wait_job(&bench, KIND, name, "load", 1).await;
        if is_restarted {
            operator.kill().await.unwrap();
        }
        take_mark_off(&bench, name).await;
        put_status(&bench, name, &json!({})).await;
        if is_restarted {
            operator = bench.ready_operator().await;
        }
        wait_cleaned(&bench, name, &load).await;
    }
    // The same once it has ended.
    let made = jobs(&bench).list(&Default::default()).await.unwrap().items.len();
    take_mark_off(&bench, "second").await;
    put_status(&bench, "second", &json!({})).await;
    let run = wait_phase(&bench, KIND, "second", "Failed").await;
    let message = run["status"]["message"].as_str().unwrap();
    assert!(message.contains("nobody knows"), "{message}");
    let now = jobs(&bench).list(&Default::default()).await.unwrap().items.len();
    assert_eq!(now, made, "no step was carried out once more");
    operator.stop().await.unwrap();
}

#[tokio::test]
async fn an_end_from_before_the_beginning_frees_nothing() {
    let Some((bench, operator)) = site("unended").await else {
        return;
    };
    make(&bench, "before").await;
    let before = wait_job(&bench, KIND, "before", "copy", 1).await;
    make(&bench, "first").await;
    wait_phase(&bench, KIND, "first", "Pending").await;
    let api = runs(&bench, KIND);
    annotate(&api, "first", "steersman.dev/cancel", "true").await;
    let ended = wait_phase(&bench, KIND, "first", "Cancelled").await["status"].clone();
    merge(
        &api,
        "first",
        json!({"metadata": {"annotations": {"steersman.dev/cancel": null}}}),
    )
    .await;
    put_status(&bench, "first", &json!({})).await;
    end_pod(&bench, &before, "Succeeded", "").await;
    for step in ["load", "clean"] {
        let job = wait_job(&bench, KIND, "before", step, 1).await;
        end_pod(&bench, &job, "Succeeded", "").await;
    }
    let copy = wait_job(&bench, KIND, "first", "copy", 1).await;
    make(&bench, "after").await;
    wait_phase(&bench, KIND, "after", "Pending").await;
    put_status(&bench, "first", &ended).await;
    let clean = wait_job(&bench, KIND, "first", "clean", 1).await;
    let left = jobs(&bench).get_opt(&copy).await.unwrap();
    assert!(left.is_none(), "{copy} goes on");
    let after = api.get("after").await.unwrap();
    assert_eq!(after.data["status"]["phase"], "Pending", "it is alone");
    end_pod(&bench, &clean, "Succeeded", "").await;
    wait_phase(&bench, KIND, "first", "Failed").await;
    wait_job(&bench, KIND, "after", "copy", 1).await;
    operator.stop().await.unwrap();
}

#[tokio::test]
async fn jobs_that_have_lost_their_marks_are_stopped_and_those_of_lost_runs_go() {
    let Some((bench, mut operator)) = site("unheld").await else {
        return;
    };
    let unheld = json!({"metadata": {"finalizers": null}});
    let unlabelled = json!({"metadata": {"labels": {"steersman.dev/owner-uid": null}}});
    for (name, taken) in [("first", &unheld), ("second", &unlabelled)] {
        make(&bench, name).await;
        let copy = wait_job(&bench, KIND, name, "copy", 1).await;
        merge(&jobs(&bench), &copy, taken.clone()).await;
        put_status(&bench, name, &json!({})).await;
        wait_cleaned(&bench, name, &copy).await;
    }
    let api = runs(&bench, KIND);
    for (name, is_restarted) in [("third", false), ("fourth", true)] {
        make(&bench, name).await;
        let copy = wait_job(&bench, KIND, name, "copy", 1).await;
        if is_restarted {
            operator.kill().await.unwrap();
        }
        api.delete(name, &DeleteParams::default()).await.unwrap();
        merge(&api, name, unheld.clone()).await;
        if is_restarted {
            bench.wait_gone(&api, name).await;
            bench
                .wait("its deletion", &jobs(&bench), &copy, |job| {
                    job.pointer("/metadata/deletionTimestamp").map(|_| ())
                })
                .await;
            operator = bench.ready_operator().await;
        }
        bench.wait_gone(&jobs(&bench), &copy).await;
    }
    operator.stop().await.unwrap();
}

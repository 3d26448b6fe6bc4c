//! Runs that are begun by somebody: their steps, and what becomes of them.

use kube::api::DeleteParams;
use serde_json::json;

use crate::bench::condition;

use super::{
    BACKUP, RESTORE, annotate, arguments, begin, end_pod, jobs, released, runs, wait_job, wait_phase,
    with_procedures,
};

#[tokio::test]
async fn a_run_makes_a_job_and_tells_what_that_has_said() {
    let Some(bench) = with_procedures("procedurerun", &["WebBackup"], BACKUP).await else {
        return;
    };
    let operator = released(&bench).await;
    begin(&bench, "WebBackup", "monday", json!({})).await;
    let job = wait_job(&bench, "WebBackup", "monday", "job", 1).await;
    assert_eq!(
        arguments(&bench, &job).await,
        ["backup", "job", "1", "none", "shop-one"]
    );
    let made = jobs(&bench).get(&job).await.unwrap();
    assert_eq!(made.metadata.owner_references.unwrap()[0].name, "monday");
    assert!(
        made.metadata
            .finalizers
            .unwrap()
            .contains(&"steersman.dev/procedure".to_owned()),
        "it does not go before its end is read"
    );
    end_pod(
        &bench,
        &job,
        "Succeeded",
        r#"{"snapshot": "s3://a", "bytes": 17}"#,
    )
    .await;
    let run = wait_phase(&bench, "WebBackup", "monday", "Succeeded").await;
    assert_eq!(
        run["status"]["result"],
        json!({"snapshot": "s3://a", "bytes": 17})
    );
    assert_eq!(run["status"]["steps"][0]["state"], "Succeeded");
    let ready = crate::bench::condition(&run, "Ready").unwrap();
    assert_eq!((ready.0.as_str(), ready.1.as_str()), ("True", "Succeeded"));
    bench
        .wait("the end", &runs(&bench, "WebBackup"), "monday", |run| {
            let finalizers = run.pointer("/metadata/finalizers");
            finalizers
                .is_none_or(|finalizers| finalizers == &json!([]))
                .then_some(())
        })
        .await;
    let ended = jobs(&bench).get(&job).await.unwrap();
    let left = ended.metadata.finalizers.unwrap_or_default();
    assert!(!left.contains(&"steersman.dev/procedure".to_owned()), "{left:?}");
    let shown = bench
        .wait("the resource's word", &bench.webs(), "shop", |web| {
            let shown = web.pointer("/status/procedures/backup")?;
            (shown["phase"] == "Succeeded").then(|| shown.clone())
        })
        .await;
    assert_eq!(shown["lastRun"], "monday");
    assert_eq!(shown["result"]["bytes"], 17);
    assert_eq!(shown["lastSuccess"], shown["lastEnd"]);
    operator.stop().await.unwrap();
}

#[tokio::test]
async fn steps_follow_each_other_and_the_last_ones_follow_in_any_case() {
    let Some(bench) = with_procedures("proceduresteps", &["WebRestore"], RESTORE).await else {
        return;
    };
    let operator = released(&bench).await;
    let snapshot = json!({"snapshot": "monday"});
    begin(&bench, "WebRestore", "first", snapshot).await;
    let held = wait_phase(&bench, "WebRestore", "first", "Pending").await;
    assert_eq!(
        held["status"]["message"],
        "it begins when annotation steersman.dev/confirm is true"
    );
    annotate(
        &runs(&bench, "WebRestore"),
        "first",
        "steersman.dev/confirm",
        "true",
    )
    .await;

    let copy = wait_job(&bench, "WebRestore", "first", "copy", 1).await;
    assert_eq!(arguments(&bench, &copy).await[1..4], ["copy", "1", "monday"]);
    end_pod(&bench, &copy, "Failed", "no space").await;
    let again = wait_job(&bench, "WebRestore", "first", "copy", 2).await;
    assert_ne!(copy, again);
    end_pod(&bench, &again, "Succeeded", "copied").await;
    let load = wait_job(&bench, "WebRestore", "first", "load", 1).await;
    end_pod(&bench, &load, "Failed", "it is broken").await;
    let load = wait_job(&bench, "WebRestore", "first", "load", 2).await;
    // Nobody goes on, and nothing is lost.
    operator.kill().await.unwrap();
    end_pod(&bench, &load, "Failed", "it is broken").await;
    let operator = bench.ready_operator().await;
    let clean = wait_job(&bench, "WebRestore", "first", "clean", 1).await;
    let run = runs(&bench, "WebRestore").get("first").await.unwrap();
    assert_eq!(run.data["status"]["phase"], "Finishing");
    end_pod(&bench, &clean, "Succeeded", "cleaned").await;
    let run = wait_phase(&bench, "WebRestore", "first", "Failed").await;
    let message = run["status"]["message"].as_str().unwrap();
    assert!(
        message.starts_with("step load: ") && message.contains("it is broken"),
        "{message}"
    );
    assert_eq!(crate::bench::condition(&run, "Stalled").unwrap().0, "True");
    let made = jobs(&bench).list(&Default::default()).await.unwrap();
    assert_eq!(made.items.len(), 5, "no try was made twice");
    operator.stop().await.unwrap();
}

/// The server keeps no null of a status, and writes numbers in its own way.
#[tokio::test]
async fn what_a_job_says_is_known_to_the_next_process_as_well() {
    let steps = "  - name: backup\n    steps: [{name: first, job: procedures/job.yaml}, {name: second, job: procedures/job.yaml}]\n";
    let Some(bench) = with_procedures("proceduresaid", &["WebBackup"], steps).await else {
        return;
    };
    let operator = released(&bench).await;
    begin(&bench, "WebBackup", "monday", json!({})).await;
    let job = wait_job(&bench, "WebBackup", "monday", "first", 1).await;
    let said = r#"{"error": null, "size": 1.0, "many": 18446744073709551615, "all": [{"a": null}, null, -0.0, 1e300]}"#;
    end_pod(&bench, &job, "Succeeded", said).await;
    let job = wait_job(&bench, "WebBackup", "monday", "second", 1).await;
    operator.kill().await.unwrap();
    let operator = bench.ready_operator().await;
    end_pod(&bench, &job, "Succeeded", "").await;
    let run = wait_phase(&bench, "WebBackup", "monday", "Succeeded").await;
    let size = &run["status"]["result"]["size"];
    assert_eq!(size, 1, "{run}");
    operator.stop().await.unwrap();
}

#[tokio::test]
async fn a_run_that_is_cancelled_or_deleted_stops_and_cleans_up() {
    let Some(bench) = with_procedures("procedurecancel", &["WebRestore"], RESTORE).await else {
        return;
    };
    let operator = released(&bench).await;
    for (name, is_deleted) in [("first", false), ("second", true)] {
        begin(&bench, "WebRestore", name, json!({"snapshot": "monday"})).await;
        let api = runs(&bench, "WebRestore");
        annotate(&api, name, "steersman.dev/confirm", "true").await;
        let copy = wait_job(&bench, "WebRestore", name, "copy", 1).await;
        if is_deleted {
            api.delete(name, &DeleteParams::default()).await.unwrap();
        } else {
            annotate(&api, name, "steersman.dev/cancel", "true").await;
        }
        let clean = wait_job(&bench, "WebRestore", name, "clean", 1).await;
        assert!(
            jobs(&bench).get_opt(&copy).await.unwrap().is_none(),
            "it was stopped"
        );
        end_pod(&bench, &clean, "Succeeded", "cleaned").await;
        if is_deleted {
            bench.wait_gone(&api, name).await;
        } else {
            let run = wait_phase(&bench, "WebRestore", name, "Cancelled").await;
            assert_eq!(run["status"]["steps"][1]["state"], "Skipped");
            assert_eq!(run["status"]["message"], "the run is cancelled");
        }
    }
    operator.stop().await.unwrap();
}

#[tokio::test]
async fn no_job_is_held_where_its_resource_or_its_step_is_gone() {
    let procedures = "  - {name: backup, steps: [{name: copy, job: procedures/job.yaml}]}\n";
    let Some(bench) = with_procedures("proceduregone", &["WebBackup"], procedures).await else {
        return;
    };
    let operator = released(&bench).await;
    begin(&bench, "WebBackup", "first", json!({})).await;
    let job = wait_job(&bench, "WebBackup", "first", "copy", 1).await;
    // The step is another one, and what it was is stopped.
    operator.stop().await.unwrap();
    let file = bench.folder.path().join("watches.yaml");
    let before = std::fs::read_to_string(&file).unwrap();
    bench.watches(&before.replace("name: copy", "name: other"));
    let operator = bench.ready_operator().await;
    let run = wait_phase(&bench, "WebBackup", "first", "Failed").await;
    assert_eq!(
        run["status"]["message"],
        "step copy: watches.yaml has no such step any longer"
    );
    bench.wait_gone(&jobs(&bench), &job).await;

    // Somebody takes the finalizer off the resource: nothing can be asked for it any longer.
    begin(&bench, "WebBackup", "second", json!({})).await;
    let job = wait_job(&bench, "WebBackup", "second", "other", 1).await;
    operator.stop().await.unwrap();
    bench.delete_web("shop").await;
    bench
        .patch_web("shop", json!({"metadata": {"finalizers": null}}))
        .await;
    bench.wait_gone(&bench.webs(), "shop").await;
    let operator = bench.ready_operator().await;
    let run = wait_phase(&bench, "WebBackup", "second", "Failed").await;
    assert_eq!(run["status"]["message"], "its resource is deleted");
    bench.wait_gone(&jobs(&bench), &job).await;
    operator.stop().await.unwrap();
}

/// What is to be done in any case may be about something outside of the release.
#[tokio::test]
async fn the_last_steps_follow_before_a_resource_is_deleted() {
    let procedures = "  - name: restore
    exclusive: true
    steps:
    - {values: {mode: down}}
    - {name: load, job: procedures/job.yaml}
    finally:
    - {values: {mode: null}}
    - {wait: ready}
    - {name: unlock, job: procedures/job.yaml}
";
    let Some(bench) = with_procedures("proceduredeleted", &["WebRestore"], procedures).await else {
        return;
    };
    let operator = released(&bench).await;
    begin(&bench, "WebRestore", "first", json!({})).await;
    let job = wait_job(&bench, "WebRestore", "first", "load", 1).await;
    bench.delete_web("shop").await;
    bench.wait_gone(&jobs(&bench), &job).await;
    let unlock = wait_job(&bench, "WebRestore", "first", "unlock", 1).await;
    // The next process knows of it, too.
    operator.kill().await.unwrap();
    let operator = bench.ready_operator().await;
    let said = bench
        .wait("why it is there", &bench.webs(), "shop", |web| {
            let (_, _, message) = condition(web, "Reconciling")?;
            message.contains("WebRestore first").then_some(message)
        })
        .await;
    let expected = "the resource is being deleted; WebRestore first is under way, and comes to its end first";
    assert_eq!(said, expected);
    // A word that nobody knows is no reason to wait.
    let policy = |word: &str| json!({"metadata": {"annotations": {"steersman.dev/deletion-policy": word}}});
    bench.patch_web("shop", policy("keep")).await;
    bench
        .wait("the refusal", &bench.webs(), "shop", |web| {
            condition(web, "Ready").filter(|(_, reason, _)| reason == "UninstallError")
        })
        .await;
    bench.patch_web("shop", policy("delete")).await;
    let there = bench.config_maps().get_opt("shop-map").await.unwrap();
    assert!(there.is_some(), "the release is there until then");
    end_pod(&bench, &unlock, "Succeeded", "").await;
    bench.wait_gone(&bench.webs(), "shop").await;
    let run = wait_phase(&bench, "WebRestore", "first", "Failed").await;
    assert_eq!(run["status"]["message"], "its resource is deleted");
    operator.stop().await.unwrap();
}

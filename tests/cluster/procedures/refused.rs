//! What is asked for and can't be, and what others do to runs: each is named, and nothing stays behind.

use kube::api::{Api, DeleteParams, Patch};
use serde_json::{Value, json};
use steersman_testkit::cluster::Fault;

use super::schedules::wait_made;
use super::{
    BACKUP, JOB, annotate, begin, end, end_pod, jobs, pod_of, pod_with, put_procedures, released, runs,
    wait_job, wait_phase, with_procedures,
};
use crate::bench::{Bench, condition, wait_until};
use crate::faults::lane::Lane;
use crate::faults::process::signal;

/// A node that never says that a pod has ended. Each has its own: pods of one that has been missing for forty seconds are deleted.
const ON_A_NODE: &str = "restartPolicy: Never
      nodeName: '{{ .Release.Namespace }}-{{ .Procedure.run }}-{{ .Procedure.step }}-{{ .Procedure.attempt }}'";

/// Of a Job that anybody may write to the status of whose pod.
#[tokio::test]
async fn a_megabyte_that_a_job_says_is_a_few_kilobytes_of_its_run() {
    let Some(bench) = with_procedures("proceduremegabyte", &["WebBackup"], BACKUP).await else {
        return;
    };
    let operator = released(&bench).await;
    let words = "many words ".repeat(95_000);
    for (run, phase) in [("long", "Succeeded"), ("failed", "Failed")] {
        begin(&bench, "WebBackup", run, json!({})).await;
        let job = wait_job(&bench, "WebBackup", run, "job", 1).await;
        end_pod(&bench, &job, phase, &words).await;
        let ended = wait_phase(&bench, "WebBackup", run, phase).await;
        let status = &ended["status"];
        let (message, result) = (status["message"].as_str(), status["result"].as_str());
        assert!(message.unwrap_or_default().len() <= 1024, "{message:?}");
        assert!(result.unwrap_or_default().len() <= 4096, "{result:?}");
        let said = if phase == "Failed" { message } else { result };
        assert!(said.unwrap().contains("many words many words"), "{said:?}");
        assert!(ended.to_string().len() < 20_000, "{run}");
    }
    let web = bench.webs().get("shop").await.unwrap();
    assert!(serde_json::to_string(&web).unwrap().len() < 20_000);
    assert!(operator.log_text().lines().all(|line| line.len() < 4096));
    operator.stop().await.unwrap();
}

#[tokio::test]
async fn a_run_for_a_resource_that_is_being_deleted_is_refused() {
    let Some(bench) = with_procedures("proceduregoing", &["WebBackup"], BACKUP).await else {
        return;
    };
    let operator = released(&bench).await;
    let held = "example.com/held";
    let web = bench.webs().get("shop").await.unwrap();
    let mut finalizers = web.metadata.finalizers.unwrap_or_default();
    finalizers.push(held.to_owned());
    bench
        .patch_web("shop", json!({"metadata": {"finalizers": finalizers}}))
        .await;
    bench.delete_web("shop").await;
    begin(&bench, "WebBackup", "late", json!({})).await;
    let run = wait_phase(&bench, "WebBackup", "late", "Failed").await;
    assert_eq!(run["status"]["message"], "Web shop is being deleted");
    // The release is gone, and somebody else keeps the resource.
    bench
        .wait("the release's end", &bench.webs(), "shop", |web| {
            (web["metadata"]["finalizers"] == json!([held])).then_some(())
        })
        .await;
    begin(&bench, "WebBackup", "later", json!({})).await;
    let run = wait_phase(&bench, "WebBackup", "later", "Failed").await;
    assert_eq!(run["status"]["message"], "Web shop is being deleted");
    let made = jobs(&bench).list(&Default::default()).await.unwrap();
    assert!(made.items.is_empty(), "{made:?}");
    bench
        .patch_web("shop", json!({"metadata": {"finalizers": null}}))
        .await;
    bench.wait_gone(&bench.webs(), "shop").await;
    operator.stop().await.unwrap();
}

/// `kubectl delete job`: its pods go with it.
#[tokio::test]
async fn a_job_that_somebody_deletes_is_made_again_where_its_step_may_be() {
    let procedures = "  - {name: backup, job: procedures/job.yaml}
  - name: sweep
    steps: [{name: all, job: procedures/job.yaml, idempotent: true}]
";
    let kinds = ["WebBackup", "WebSweep"];
    let Some(bench) = with_procedures("procedurejobdeleted", &kinds, procedures).await else {
        return;
    };
    let operator = released(&bench).await;
    for how in [DeleteParams::background(), DeleteParams::foreground()] {
        begin(&bench, "WebSweep", "again", json!({})).await;
        let job = wait_job(&bench, "WebSweep", "again", "all", 1).await;
        jobs(&bench).delete(&job, &how).await.unwrap();
        bench.wait_gone(&jobs(&bench), &job).await;
        let job = wait_job(&bench, "WebSweep", "again", "all", 2).await;
        end_pod(&bench, &job, "Succeeded", "").await;
        wait_phase(&bench, "WebSweep", "again", "Succeeded").await;
        runs(&bench, "WebSweep")
            .delete("again", &Default::default())
            .await
            .unwrap();
        bench.wait_gone(&runs(&bench, "WebSweep"), "again").await;

        begin(&bench, "WebBackup", "once", json!({})).await;
        let job = wait_job(&bench, "WebBackup", "once", "job", 1).await;
        jobs(&bench).delete(&job, &how).await.unwrap();
        let run = wait_phase(&bench, "WebBackup", "once", "Failed").await;
        let message = run["status"]["message"].as_str().unwrap();
        assert!(message.contains("its Job is gone, and nobody knows"), "{message}");
        bench.wait_gone(&jobs(&bench), &job).await;
        runs(&bench, "WebBackup")
            .delete("once", &Default::default())
            .await
            .unwrap();
        bench.wait_gone(&runs(&bench, "WebBackup"), "once").await;
    }
    operator.stop().await.unwrap();
}

/// Waits until a run says that its Job is being stopped. That stays so, for longer than it takes to look again, and this pod is there.
async fn check_stopping(bench: &Bench, run: &str, pod: &str) {
    let api = runs(bench, "WebSweep");
    let is_stopping = |run: &Value| {
        let (_, _, message) = condition(run, "Reconciling")?;
        message.contains("it is being stopped").then_some(())
    };
    bench.wait("its being stopped", &api, run, is_stopping).await;
    tokio::time::sleep(std::time::Duration::from_millis(2500)).await;
    let found = serde_json::to_value(api.get(run).await.unwrap()).unwrap();
    assert!(is_stopping(&found).is_some(), "{:#}", found["status"]);
    let pods = bench.api("", "v1", "Pod", "pods");
    let pod = pods.get(pod).await.unwrap();
    assert!(pod.metadata.deletion_timestamp.is_some());
}

/// Pods of others, with the labels of a Job's own ones and names that come before those: more than are listed at once.
async fn decoys(bench: &Bench, labels: &Value) {
    let pods = bench.api("", "v1", "Pod", "pods");
    for number in 0..51 {
        let pod = json!({"apiVersion": "v1", "kind": "Pod", "metadata": {"name": format!("a-{number}"), "labels": labels},
            "spec": {"containers": [{"name": "main", "image": "none"}]}});
        bench.create(&pods, pod).await;
    }
}

#[tokio::test]
async fn a_job_that_has_done_its_work_has_succeeded_although_somebody_deletes_it_at_once() {
    let procedures = "  - {name: backup, job: procedures/job.yaml, retries: 1}\n";
    let Some(bench) = with_procedures("procedurejobdone", &["WebBackup"], procedures).await else {
        return;
    };
    let operator = released(&bench).await;
    for run in ["first", "second", "third"] {
        begin(&bench, "WebBackup", run, json!({})).await;
        let job = wait_job(&bench, "WebBackup", run, "job", 1).await;
        end_pod(&bench, &job, "Succeeded", "").await;
        jobs(&bench)
            .delete(&job, &DeleteParams::background())
            .await
            .unwrap();
        let ended = wait_phase(&bench, "WebBackup", run, "Succeeded").await;
        assert_eq!(ended["status"]["steps"][0]["attempt"], 1, "{run}");
        bench.wait_gone(&jobs(&bench), &job).await;
    }
    operator.stop().await.unwrap();
}

/// The numbers of a Job do not count it, and whoever deletes the Job once more does not wait for it.
#[tokio::test]
async fn a_pod_that_is_at_its_end_is_waited_for_whoever_deletes_its_job() {
    let procedures = "  - name: sweep
    retries: 1
    steps: [{name: all, job: procedures/job.yaml, idempotent: true}]
    finally: [{name: unlock, job: procedures/job.yaml}]
";
    let Some(bench) = with_procedures("procedurepodending", &["WebSweep"], procedures).await else {
        return;
    };
    let file = bench.folder.path().join("web/procedures/job.yaml");
    let bound = JOB.replace("restartPolicy: Never", ON_A_NODE);
    std::fs::write(&file, bound).unwrap();
    let operator = released(&bench).await;
    let pods = bench.api("", "v1", "Pod", "pods");
    let (now, background) = (
        DeleteParams::default().grace_period(0),
        DeleteParams::background(),
    );

    // Told to end before its Job is deleted, and while that is.
    for (run, is_first) in [("pod-first", true), ("job-twice", false)] {
        begin(&bench, "WebSweep", run, json!({})).await;
        let job = wait_job(&bench, "WebSweep", run, "all", 1).await;
        let pod = pod_of(&bench, &job).await;
        if is_first {
            pods.delete(&pod, &DeleteParams::default()).await.unwrap();
        } else {
            let uid = jobs(&bench).get(&job).await.unwrap().metadata.uid;
            decoys(&bench, &json!({"batch.kubernetes.io/controller-uid": uid})).await;
            jobs(&bench).delete(&job, &background).await.unwrap();
            check_stopping(&bench, run, &pod).await;
        }
        jobs(&bench).delete(&job, &background).await.unwrap();
        check_stopping(&bench, run, &pod).await;
        pods.delete(&pod, &now).await.unwrap();
        let job = wait_job(&bench, "WebSweep", run, "all", 2).await;

        // The last step waits, too.
        let pod = pod_of(&bench, &job).await;
        annotate(&runs(&bench, "WebSweep"), run, "steersman.dev/cancel", "true").await;
        check_stopping(&bench, run, &pod).await;
        jobs(&bench).delete(&job, &background).await.unwrap();
        check_stopping(&bench, run, &pod).await;
        pods.delete(&pod, &now).await.unwrap();
        let job = wait_job(&bench, "WebSweep", run, "unlock", 1).await;
        end_pod(&bench, &job, "Succeeded", "").await;
        wait_phase(&bench, "WebSweep", run, "Cancelled").await;
    }
    operator.stop().await.unwrap();
}

/// What is said of it is not written then, and nothing has followed from it.
#[tokio::test]
async fn a_run_that_somebody_writes_to_as_it_begins_is_carried_out() {
    let Some(lane) = Lane::new("procedurewritten").await else {
        return;
    };
    let bench = &lane.bench;
    let procedures = "  - {name: backup, job: procedures/job.yaml}\n";
    put_procedures(bench, &["WebBackup"], procedures).await;
    lane.start().await;
    bench.apply_web("shop", json!({"message": "one"})).await;
    bench.wait_revision("shop", 1).await;
    let status = Fault::on("patch", "webbackups/status").name("first");
    let held = lane.proxy.inject(status.hold());
    begin(bench, "WebBackup", "first", json!({})).await;
    wait_until("the first word", || lane.proxy.struck(held) == 1).await;
    let label = Patch::Merge(json!({"metadata": {"labels": {"team": "shop"}}}));
    let api = runs(bench, "WebBackup");
    api.patch("first", &Default::default(), &label).await.unwrap();
    lane.proxy.take_back(held);
    let job = wait_job(bench, "WebBackup", "first", "job", 1).await;
    end_pod(bench, &job, "Succeeded", "").await;
    wait_phase(bench, "WebBackup", "first", "Succeeded").await;
    lane.stop().await;
}

/// Its pods have none of the labels that the server gives those of others, and more than a page of others have the same.
#[tokio::test]
async fn a_job_that_chooses_its_pods_itself_is_waited_for_and_heard_as_any() {
    let procedures = "  - name: sweep
    retries: 1
    steps: [{name: all, job: procedures/job.yaml, idempotent: true}]
";
    let Some(bench) = with_procedures("procedurepodchosen", &["WebSweep"], procedures).await else {
        return;
    };
    let label = "{mine: '{{ .Procedure.run }}-{{ .Procedure.attempt }}'}";
    let job = JOB
        .replace(
            "  template:\n",
            &format!("  manualSelector: true\n  selector: {{matchLabels: {label}}}\n  template:\n    metadata: {{labels: {label}}}\n"),
        )
        .replace("restartPolicy: Never", ON_A_NODE);
    std::fs::write(bench.folder.path().join("web/procedures/job.yaml"), job).unwrap();
    let operator = released(&bench).await;
    begin(&bench, "WebSweep", "chosen", json!({})).await;
    let job = wait_job(&bench, "WebSweep", "chosen", "all", 1).await;
    let pod = pod_with(&bench, "mine=chosen-1").await;
    // While nobody looks, the label goes, too, that it is found by.
    signal(&operator, "-STOP").await;
    let background = DeleteParams::background();
    jobs(&bench).delete(&job, &background).await.unwrap();
    let pods = bench.api("", "v1", "Pod", "pods");
    let unnamed = json!({"metadata": {"labels": {"mine": null}}});
    let merge = Patch::Merge(unnamed);
    pods.patch(&pod, &Default::default(), &merge).await.unwrap();
    signal(&operator, "-CONT").await;
    check_stopping(&bench, "chosen", &pod).await;
    let now = DeleteParams::default().grace_period(0);
    pods.delete(&pod, &now).await.unwrap();
    wait_job(&bench, "WebSweep", "chosen", "all", 2).await;
    let pod = pod_with(&bench, "mine=chosen-2").await;
    decoys(&bench, &json!({"mine": "chosen-2"})).await;
    end(&bench, &pod, "Succeeded", "all of it").await;
    let ended = wait_phase(&bench, "WebSweep", "chosen", "Succeeded").await;
    assert_eq!(ended["status"]["result"], "all of it", "{ended}");
    operator.stop().await.unwrap();
}

/// No Job can be made any longer in a namespace that goes.
#[tokio::test]
async fn runs_that_are_under_way_go_with_their_namespace() {
    let procedures = "  - name: restore
    steps: [{name: load, job: procedures/job.yaml}]
    finally: [{name: unlock, job: procedures/job.yaml}]
";
    let Some(bench) = with_procedures("procedurenamespace", &["WebRestore"], procedures).await else {
        return;
    };
    let operator = released(&bench).await;
    for run in ["first", "second"] {
        begin(&bench, "WebRestore", run, json!({})).await;
        wait_job(&bench, "WebRestore", run, "load", 1).await;
    }
    let namespaces: Api<k8s_openapi::api::core::v1::Namespace> = Api::all(bench.client.clone());
    namespaces
        .delete(&bench.namespace, &Default::default())
        .await
        .unwrap();
    let deadline = tokio::time::Instant::now() + bench.patience;
    while namespaces.get_opt(&bench.namespace).await.unwrap().is_some() {
        assert!(tokio::time::Instant::now() < deadline, "the namespace stays");
        tokio::time::sleep(std::time::Duration::from_millis(200)).await;
    }
    operator.stop().await.unwrap();
}

#[tokio::test]
async fn schedules_and_requests_that_are_none_are_told() {
    let procedures =
        "  - {name: backup, job: procedures/job.yaml, schedule: {value: backup.schedule, jitter: 1s}}
  - {name: restore, job: procedures/job.yaml, parameters: {snapshot: {required: true}}}
";
    let kinds = ["WebBackup", "WebRestore"];
    let Some(bench) = with_procedures("procedurerefused", &kinds, procedures).await else {
        return;
    };
    let operator = released(&bench).await;
    for (schedule, words) in [
        (
            "0 0 30 2 *",
            "procedure backup: the time of its schedule never comes",
        ),
        ("* * * * * *", "it has 6 fields, not five"),
    ] {
        let spec = json!({"message": "one", "backup": {"schedule": schedule}});
        bench.apply_web("shop", spec).await;
        bench.wait_event_with("ProcedureUnusable", words).await;
    }
    for (request, words) in [
        (
            "vacuum@1",
            "asks for a run of `vacuum`, and there is no such procedure, but backup",
        ),
        (
            "restore@1",
            "procedure restore needs `snapshot`, which an annotation does not say",
        ),
        ("backup", "asks for no run: it is PROCEDURE@ID"),
    ] {
        annotate(&bench.webs(), "shop", "steersman.dev/run", request).await;
        bench.wait_event_with("ProcedureUnusable", words).await;
    }
    for kind in kinds {
        let made = runs(&bench, kind).list(&Default::default()).await.unwrap();
        assert!(made.items.is_empty(), "{made:?}");
    }
    annotate(&bench.webs(), "shop", "steersman.dev/run", "backup@1").await;
    wait_made(&bench, "WebBackup", 1).await;
    operator.stop().await.unwrap();
}

//! Jobs that go by themselves when they have done their work.

use std::time::Duration;

use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use kube::api::{Api, DeleteParams, DynamicObject};
use serde_json::json;

use super::{annotate, give_address, site, wait_reason};
use crate::bench::{Bench, condition};
use crate::developer::Developer;
use crate::hooks::finish_job_of;

const JOB: &str = "apiVersion: batch/v1
kind: Job
metadata: {name: '{{ .Release.Name }}-job'}
spec:
  ttlSecondsAfterFinished: 600
  template:
    spec:
      restartPolicy: Never
      containers: [{name: main, image: 'none:{{ .Values.a }}'}]
";

fn jobs(bench: &Bench) -> Api<DynamicObject> {
    bench.api("batch", "v1", "Job", "jobs")
}

/// As the controller does when its time is over.
async fn delete_job(bench: &Bench) {
    let jobs = jobs(bench);
    jobs.delete("site-job", &DeleteParams::background())
        .await
        .unwrap();
    bench.wait_gone(&jobs, "site-job").await;
}

/// The Job is not made again.
async fn stays_away(bench: &Bench) {
    for _ in 0..6 {
        let found = jobs(bench).get_opt("site-job").await.unwrap();
        assert!(found.is_none(), "it has done its work");
        tokio::time::sleep(Duration::from_millis(500)).await;
    }
}

/// The same while another object is made again.
async fn stays_away_beside_drift(bench: &Bench) {
    let maps = bench.config_maps();
    maps.delete("site-a", &DeleteParams::default()).await.unwrap();
    bench
        .wait("the map", &maps, "site-a", |map| (!map.is_null()).then_some(()))
        .await;
    stays_away(bench).await;
}

/// Waits for a Job that has not ended, and gives its UID.
async fn running(bench: &Bench, former: &str) -> String {
    bench
        .wait("the Job", &jobs(bench), "site-job", |job| {
            let uid = job.pointer("/metadata/uid")?.as_str()?;
            (uid != former && job.pointer("/metadata/deletionTimestamp").is_none()).then(|| uid.to_owned())
        })
        .await
}

#[tokio::test]
async fn a_job_that_has_expired_is_not_made_again() {
    let Some(bench) = site("expiring", &["a"], "  wait: {timeout: 10m, jobs: true}\n").await else {
        return;
    };
    bench.add_template("job.yaml", JOB);
    let operator = bench.operator_with(&[]).await;
    bench.apply_web("site", json!({})).await;
    let first = running(&bench, "").await;
    // Nothing tells that it has done its work.
    delete_job(&bench).await;
    running(&bench, &first).await;
    finish_job_of(&bench, "site", "Complete").await;
    bench
        .wait("the Job's end", &bench.webs(), "site", |web| {
            let (_, _, message) = condition(web, "Reconciling")?;
            (message.contains("Ingress") && !message.contains("Job")).then_some(())
        })
        .await;
    delete_job(&bench).await;
    stays_away(&bench).await;
    let message = wait_reason(&bench, "site", "Reconciling", "DependentsProgressing").await;
    assert!(!message.contains("Job"), "{message}");
    give_address(&bench, "site-a-1").await;
    bench.wait_revision("site", 1).await;

    // So it is for the next process, and beside what is healed.
    operator.kill().await.unwrap();
    let operator = bench.operator_with(&[]).await;
    stays_away_beside_drift(&bench).await;
    let web = bench.webs().get("site").await.unwrap();
    let web = serde_json::to_value(web).unwrap();
    assert_eq!(condition(&web, "Ready").unwrap().0, "True", "{web}");
    let resource = format!("webs.{}/site", bench.group);
    let said = Developer::of(&bench).await.run(&["status", &resource]);
    assert!(said.stdout.contains("it has done its work"), "{}", said.stdout);

    // Another revision has it once more.
    bench.apply_web("site", json!({"a": "2"})).await;
    running(&bench, "").await;
    operator.stop().await.unwrap();
}

/// Waits until the revision says that its Job has done its work.
async fn noted(bench: &Bench, revision: u32) {
    let name = format!("sh.helm.release.v1.site.v{revision}");
    let says = |secret: &serde_json::Value| {
        let snapshot = secret.pointer("/data/steersman")?.as_str()?;
        let snapshot = BASE64_STANDARD.decode(snapshot).ok()?;
        let snapshot: serde_json::Value = serde_json::from_slice(&snapshot).ok()?;
        let mut objects = snapshot["objects"].as_array()?.iter();
        objects
            .any(|object| object["kind"] == "Job" && object["completed"] == true)
            .then_some(())
    };
    let secrets = bench.api("", "v1", "Secret", "secrets");
    bench.wait("the record", &secrets, &name, says).await;
}

#[tokio::test]
async fn a_job_that_ends_behind_its_gate_is_not_made_again_by_another_process_or_a_rollback() {
    let Some(bench) = site("expiringlater", &["a"], "").await else {
        return;
    };
    bench.add_template("job.yaml", JOB);
    let refused = "{{ if .Values.bad }}
apiVersion: v1
kind: Service
metadata: {name: bad}
spec: {type: None, ports: [{port: 80}]}
{{ end }}";
    bench.add_template("aaa.yaml", refused);
    let operator = bench.operator_with(&[]).await;
    bench.apply_web("site", json!({})).await;
    bench.wait_revision("site", 1).await;
    let first = running(&bench, "").await;
    finish_job_of(&bench, "site", "Complete").await;
    noted(&bench, 1).await;
    delete_job(&bench).await;
    stays_away(&bench).await;
    operator.kill().await.unwrap();

    let operator = bench.operator_with(&[]).await;
    stays_away_beside_drift(&bench).await;
    annotate(&bench, "site", "steersman.dev/rollback-on-failure", "true").await;
    bench.apply_web("site", json!({"bad": true})).await;
    bench.wait_failed("site", "ReleaseFailed").await;
    stays_away(&bench).await;

    bench.apply_web("site", json!({"a": "2"})).await;
    running(&bench, &first).await;
    operator.stop().await.unwrap();
}

#[tokio::test]
async fn a_rollback_takes_the_job_of_the_failed_revision_away_and_leaves_its_own_done() {
    let Some(bench) = site("expiringundone", &["a"], "").await else {
        return;
    };
    bench.add_template("job.yaml", JOB);
    let refused = "{{ if .Values.bad }}
apiVersion: networking.k8s.io/v1
kind: Ingress
metadata: {name: bad}
spec: {}
{{ end }}";
    bench.add_template("bad.yaml", refused);
    let operator = bench.operator_with(&[]).await;
    bench.apply_web("site", json!({})).await;
    bench.wait_revision("site", 1).await;
    annotate(&bench, "site", "steersman.dev/rollback-on-failure", "true").await;
    running(&bench, "").await;
    finish_job_of(&bench, "site", "Complete").await;
    noted(&bench, 1).await;
    delete_job(&bench).await;

    bench.apply_web("site", json!({"a": "2", "bad": true})).await;
    bench.wait_failed("site", "ReleaseFailed").await;
    let (_, _, words) = bench
        .wait("the rollback", &bench.webs(), "site", |web| {
            condition(web, "Stalled")
        })
        .await;
    assert!(words.contains("rolled back to revision 1"), "{words}");
    bench.wait_gone(&jobs(&bench), "site-job").await;
    stays_away_beside_drift(&bench).await;
    operator.stop().await.unwrap();
}

//! What happens to a release while it waits for a hook.

use std::time::Duration;

use kube::api::{DeleteParams, DynamicObject, ObjectMeta, Patch, PatchParams};
use serde_json::{Value, json};
use steersman_testkit::cluster::Fault;

use crate::bench::{Bench, condition};
use crate::faults::lane::Lane;
use crate::faults::process::signal;
use crate::hooks::finish_job_of;
use crate::records::{disown, packed, record_in, secret_of};

/// Hooks as the values list them: each a Job of an image, which runs for an event.
pub(crate) const JOBS: &str = "{{- range .Values.jobs }}
---
apiVersion: batch/v1
kind: Job
metadata:
  name: {{ $.Release.Name }}-{{ .name }}-job
  annotations: {helm.sh/hook: {{ .on | quote }}, helm.sh/hook-weight: {{ .weight | default 0 | quote }}, helm.sh/hook-delete-policy: {{ .policy | default \"before-hook-creation\" | quote }}}
spec:
  backoffLimit: 0
  template:
    spec:
      restartPolicy: Never
      containers: [{name: job, image: \"registry.example.com/job:{{ .image | default 1 }}\"}]
{{- end }}
";

async fn bench(test: &str) -> Option<Bench> {
    let bench = Bench::with_kind(test).await?;
    bench.add_template("jobs.yaml", JOBS);
    Some(bench)
}

/// Waits until the status says that this Job is waited for.
pub(crate) async fn wait_awaited(bench: &Bench, job: &str) {
    let told = |web: &Value| {
        let conditions = web.pointer("/status/conditions")?.to_string();
        conditions.contains(&format!("{job}-job runs")).then_some(())
    };
    bench.wait("the wait", &bench.webs(), "shop", told).await;
}

pub(crate) async fn job(bench: &Bench, name: &str) -> DynamicObject {
    let jobs = bench.api("batch", "v1", "Job", "jobs");
    jobs.get(&format!("{name}-job")).await.unwrap()
}

#[tokio::test]
async fn a_rollback_that_waits_goes_on_after_a_restart() {
    let Some(bench) = bench("a_rollback_that_waits").await else {
        return;
    };
    let flags = ["--rollback-on-failure"];
    let operator = bench.operator_with(&flags).await;
    let back = json!({"name": "back", "on": "pre-rollback"});
    bench.apply_web("shop", json!({ "jobs": [back] })).await;
    bench.wait_revision("shop", 1).await;
    let up = json!({"name": "up", "on": "pre-upgrade"});
    let bad = json!({"message": "bad", "jobs": [back, up]});
    bench.apply_web("shop", bad).await;
    finish_job_of(&bench, "shop-up", "Failed").await;
    wait_awaited(&bench, "shop-back").await;
    let uids =
        async || [job(&bench, "shop-up").await, job(&bench, "shop-back").await].map(|job| job.metadata.uid);
    let before = uids().await;
    operator.kill().await.unwrap();

    // The status still says so: what the next process does shows in what it is waiting for in the end.
    let operator = bench.operator_with(&flags).await;
    finish_job_of(&bench, "shop-back", "Complete").await;
    let (_, _, message) = bench.wait_failed("shop", "Stalled").await;
    assert!(
        message.contains("shop-up-job") && message.ends_with("; rolled back to revision 1"),
        "{message}"
    );
    assert_eq!(uids().await, before);
    assert_eq!(bench.revisions().await, ["1 deployed", "2 failed"]);
    operator.stop().await.unwrap();
}

/// Another version of the chart has its hooks elsewhere among the others.
#[tokio::test]
async fn after_a_restart_the_hooks_behind_the_one_that_ran_run() {
    let Some(bench) = bench("hooks_behind_the_one_that_ran").await else {
        return;
    };
    let up = |name: &str| json!({"name": name, "on": "pre-upgrade"});
    // It is there before any Job, which may have written into it.
    bench.add_template(
        "backup.yaml",
        "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: backup\n  annotations: {helm.sh/hook: pre-upgrade, helm.sh/hook-weight: \"-5\"}\n",
    );
    let backup = async || bench.config_maps().get("backup").await.unwrap().metadata.uid;
    let operator = bench.ready_operator().await;
    bench
        .apply_web("shop", json!({"jobs": [up("a-backup"), up("b-migrate")]}))
        .await;
    bench.wait_revision("shop", 1).await;
    let spec = json!({"jobs": [up("b-migrate"), up("c-seed"), up("d-verify")]});
    bench.apply_web("shop", spec).await;
    wait_awaited(&bench, "shop-b-migrate").await;
    let before = backup().await;
    operator.kill().await.unwrap();
    let operator = bench.ready_operator().await;
    for name in ["shop-b-migrate", "shop-c-seed"] {
        wait_awaited(&bench, name).await;
        finish_job_of(&bench, name, "Complete").await;
    }
    // This one ends while nobody runs.
    wait_awaited(&bench, "shop-d-verify").await;
    operator.kill().await.unwrap();
    finish_job_of(&bench, "shop-d-verify", "Complete").await;
    let operator = bench.ready_operator().await;
    bench.wait_revision("shop", 2).await;
    assert_eq!(backup().await, before);
    operator.stop().await.unwrap();
}

#[tokio::test]
async fn two_hooks_of_an_event_that_make_the_same_object_both_run() {
    let Some(bench) = bench("two_hooks_of_one_object").await else {
        return;
    };
    let one = |image: u8| json!({"name": "up", "on": "pre-install", "image": image});
    let operator = bench.ready_operator().await;
    bench.apply_web("shop", json!({"jobs": [one(1), one(2)]})).await;
    wait_awaited(&bench, "shop-up").await;
    let first = job(&bench, "shop-up").await.metadata.uid;
    finish_job_of(&bench, "shop-up", "Complete").await;
    let jobs = bench.api("batch", "v1", "Job", "jobs");
    let is_second = |job: &Value| (job.pointer("/metadata/uid")?.as_str() != first.as_deref()).then_some(());
    bench.wait("the second", &jobs, "shop-up-job", is_second).await;
    operator.kill().await.unwrap();
    let second = job(&bench, "shop-up").await;
    let image = second.data.pointer("/spec/template/spec/containers/0/image");
    assert_eq!(image, Some(&json!("registry.example.com/job:2")));
    let operator = bench.ready_operator().await;
    finish_job_of(&bench, "shop-up", "Complete").await;
    bench.wait_revision("shop", 1).await;
    assert_eq!(job(&bench, "shop-up").await.metadata.uid, second.metadata.uid);
    operator.stop().await.unwrap();
}

/// Nobody was there to delete it as its policy says.
#[tokio::test]
async fn a_job_that_has_ended_while_nobody_ran_is_not_in_the_way() {
    let Some(bench) = bench("ended_while_nobody_ran").await else {
        return;
    };
    let spec = |message: &str, policy: &str| {
        let up = json!({"name": "up", "on": "pre-upgrade,pre-delete", "policy": policy});
        json!({"message": message, "jobs": [up]})
    };
    let operator = bench.ready_operator().await;
    for name in ["well", "badly", "gone"] {
        bench.apply_web(name, json!({})).await;
        bench.wait_revision(name, 1).await;
    }
    bench.apply_web("well", spec("two", "hook-succeeded")).await;
    bench.apply_web("badly", spec("two", "hook-failed")).await;
    bench.apply_web("gone", spec("two", "hook-succeeded")).await;
    let jobs = bench.api("batch", "v1", "Job", "jobs");
    let mut uids = Vec::new();
    for name in ["well", "badly", "gone"] {
        let started = |job: &Value| job.pointer("/status/startTime").map(|_| ());
        bench
            .wait("the job", &jobs, &format!("{name}-up-job"), started)
            .await;
        uids.push(job(&bench, &format!("{name}-up")).await.metadata.uid);
    }
    operator.kill().await.unwrap();
    finish_job_of(&bench, "well-up", "Complete").await;
    finish_job_of(&bench, "badly-up", "Failed").await;
    finish_job_of(&bench, "gone-up", "Complete").await;
    bench.apply_web("well", spec("three", "hook-succeeded")).await;
    bench.apply_web("badly", spec("three", "hook-failed")).await;
    bench.delete_web("gone").await;
    let operator = bench.ready_operator().await;
    for (name, uid) in ["well", "badly", "gone"].into_iter().zip(uids) {
        let is_next = |job: &Value| (job.pointer("/metadata/uid")?.as_str() != uid.as_deref()).then_some(());
        bench
            .wait("the next one's", &jobs, &format!("{name}-up-job"), is_next)
            .await;
        finish_job_of(&bench, &format!("{name}-up"), "Complete").await;
    }
    bench.wait_revision("well", 3).await;
    bench.wait_revision("badly", 3).await;
    bench.wait_gone(&bench.webs(), "gone").await;
    operator.stop().await.unwrap();
}

#[tokio::test]
async fn the_job_of_a_revision_that_is_gone_is_not_taken_for_the_next_one_s() {
    let Some(bench) = bench("the_job_of_a_revision_that_is_gone").await else {
        return;
    };
    let operator = bench.ready_operator().await;
    // What Helm's record says of the time is not signed, and nothing follows from it.
    bench
        .apply_web("early", json!({"jobs": [{"name": "up", "on": "pre-install"}]}))
        .await;
    let jobs = bench.api("batch", "v1", "Job", "jobs");
    let is_there = |job: &Value| job.is_object().then_some(());
    bench.wait("the job", &jobs, "early-up-job", is_there).await;
    let early = job(&bench, "early-up").await.metadata.uid;
    let (secrets, name) = (bench.secrets(), secret_of("early", 1));
    let mut record = record_in(&secrets.get(&name).await.unwrap());
    record["info"]["last_deployed"] = "2020-01-02T03:04:05Z".into();
    let earlier = Patch::Merge(json!({"data": {"release": packed(&record)}}));
    secrets
        .patch(&name, &PatchParams::default(), &earlier)
        .await
        .unwrap();
    finish_job_of(&bench, "early-up", "Complete").await;
    bench.wait_revision("early", 1).await;
    assert_eq!(job(&bench, "early-up").await.metadata.uid, early);
    bench.delete_web("early").await;
    bench.wait_gone(&bench.webs(), "early").await;

    let spec = |image: u8| json!({"jobs": [{"name": "up", "on": "pre-install", "image": image}]});
    bench.apply_web("shop", spec(1)).await;
    wait_awaited(&bench, "shop-up").await;
    let name = secret_of("shop", 1);
    bench
        .secrets()
        .delete(&name, &DeleteParams::default())
        .await
        .unwrap();
    bench.apply_web("shop", spec(2)).await;
    finish_job_of(&bench, "shop-up", "Complete").await;
    let image = "/spec/template/spec/containers/0/image";
    let is_next = |job: &Value| (job.pointer(image)? == "registry.example.com/job:2").then_some(());
    bench.wait("the next one's", &jobs, "shop-up-job", is_next).await;
    assert_eq!(bench.revisions().await, ["1 pending-install"]);
    finish_job_of(&bench, "shop-up", "Complete").await;
    bench.wait_revision("shop", 1).await;
    operator.stop().await.unwrap();
}

#[tokio::test]
async fn what_is_waited_for_is_told_again_after_a_pause() {
    let Some(bench) = bench("told_after_a_pause").await else {
        return;
    };
    let operator = bench.ready_operator().await;
    let jobs = json!([{"name": "up", "on": "pre-install"}, {"name": "down", "on": "pre-delete"}]);
    bench.apply_web("shop", json!({ "jobs": jobs })).await;
    wait_awaited(&bench, "shop-up").await;
    for (paused, is_told) in [
        (
            "pause",
            (|web| condition(web, "Paused").is_some()) as fn(&Value) -> bool,
        ),
        ("dry-run", |web| web.pointer("/status/dryRun").is_some()),
    ] {
        let annotation = format!("steersman.dev/{paused}");
        let annotate = async |value: Value| {
            let metadata = json!({"metadata": {"annotations": {&annotation: value}}});
            bench.patch_web("shop", metadata).await;
        };
        annotate(json!("true")).await;
        let told = |web: &Value| is_told(web).then_some(());
        bench.wait(paused, &bench.webs(), "shop", told).await;
        annotate(Value::Null).await;
        let told = |web: &Value| (!is_told(web)).then_some(());
        bench.wait("its end", &bench.webs(), "shop", told).await;
        wait_awaited(&bench, "shop-up").await;
    }
    finish_job_of(&bench, "shop-up", "Complete").await;
    bench.wait_revision("shop", 1).await;

    bench.delete_web("shop").await;
    wait_awaited(&bench, "shop-down").await;
    let pause = |value: Value| json!({"metadata": {"annotations": {"steersman.dev/pause": value}}});
    bench.patch_web("shop", pause(json!("true"))).await;
    let is_told = |web: &Value| condition(web, "Paused").map(drop);
    bench.wait("the pause", &bench.webs(), "shop", is_told).await;
    bench.patch_web("shop", pause(Value::Null)).await;
    let is_over = |web: &Value| condition(web, "Paused").is_none().then_some(());
    bench.wait("its end", &bench.webs(), "shop", is_over).await;
    wait_awaited(&bench, "shop-down").await;
    finish_job_of(&bench, "shop-down", "Complete").await;
    bench.wait_gone(&bench.webs(), "shop").await;
    operator.stop().await.unwrap();
}

#[tokio::test]
async fn a_hook_that_runs_counts_although_hooks_are_left_out_meanwhile() {
    let Some(bench) = bench("a_hook_that_runs_counts").await else {
        return;
    };
    let operator = bench.ready_operator().await;
    let jobs = json!([{"name": "up", "on": "pre-install"}]);
    bench.apply_web("shop", json!({ "jobs": jobs })).await;
    wait_awaited(&bench, "shop-up").await;
    let annotation = "helm.sdk.operatorframework.io/install-disable-hooks";
    bench
        .patch_web("shop", json!({"metadata": {"annotations": {annotation: "true"}}}))
        .await;
    finish_job_of(&bench, "shop-up", "Failed").await;
    let (_, _, message) = bench.wait_failed("shop", "ReleaseFailed").await;
    assert!(message.contains("shop-up-job"), "{message}");
    // The next try leaves it out.
    bench.wait_revision("shop", 1).await;
    operator.stop().await.unwrap();
}

/// The hook has failed with its own Job. The other one is neither waited for nor touched.
#[tokio::test]
async fn a_job_of_the_same_name_is_not_waited_for() {
    let Some(bench) = bench("a_job_of_the_same_name").await else {
        return;
    };
    let operator = bench.ready_operator().await;
    let spec = json!({"jobs": [{"name": "up", "on": "pre-install"}]});
    bench.apply_web("shop", spec).await;
    wait_awaited(&bench, "shop-up").await;
    let jobs = bench.api("batch", "v1", "Job", "jobs");
    let another = json!({
        "apiVersion": "batch/v1", "kind": "Job", "metadata": {"name": "shop-up-job"},
        "spec": {"template": {"spec": {"restartPolicy": "Never", "containers": [{"name": "other", "image": "example.com/other:1"}]}}},
    });
    signal(&operator, "-STOP").await;
    let at_once = DeleteParams::background();
    jobs.delete("shop-up-job", &at_once).await.unwrap();
    bench.wait_gone(&jobs, "shop-up-job").await;
    bench.create(&jobs, another).await;
    let other = job(&bench, "shop-up").await.metadata;
    signal(&operator, "-CONT").await;
    bench
        .wait("what stands in its way", &bench.webs(), "shop", |web| {
            let (_, _, message) = condition(web, "ReleaseFailed")?;
            message.contains("is not of this release").then_some(())
        })
        .await;
    let now = job(&bench, "shop-up").await.metadata;
    let marks = |of: &ObjectMeta| (of.uid.clone(), of.labels.clone(), of.annotations.clone());
    assert_eq!(marks(&now), marks(&other));
    assert!(now.deletion_timestamp.is_none());
    jobs.delete("shop-up-job", &at_once).await.unwrap();
    let own = |job: &Value| {
        let run = job.pointer("/metadata/annotations/steersman.dev~1hook-run");
        run.map(|_| ())
    };
    bench.wait("the next try", &jobs, "shop-up-job", own).await;
    finish_job_of(&bench, "shop-up", "Complete").await;
    bench.wait_revision("shop", 1).await;
    operator.stop().await.unwrap();
}

/// Its time to live is over at once.
#[tokio::test]
async fn a_job_that_has_failed_and_is_gone_has_failed() {
    let Some(bench) = bench("a_job_that_has_failed_and_is_gone").await else {
        return;
    };
    bench.edit(
        "jobs.yaml",
        "backoffLimit: 0",
        "backoffLimit: 0\n  ttlSecondsAfterFinished: 0",
    );
    let operator = bench.ready_operator().await;
    let spec = json!({"jobs": [{"name": "up", "on": "pre-install"}]});
    bench.apply_web("shop", spec).await;
    wait_awaited(&bench, "shop-up").await;
    signal(&operator, "-STOP").await;
    finish_job_of(&bench, "shop-up", "Failed").await;
    let jobs = bench.api("batch", "v1", "Job", "jobs");
    bench.wait_gone(&jobs, "shop-up-job").await;
    signal(&operator, "-CONT").await;
    let (_, _, message) = bench.wait_failed("shop", "ReleaseFailed").await;
    assert!(message.contains("shop-up-job"), "{message}");
    operator.stop().await.unwrap();
}

/// A release of which nothing can have its resource as owner: only the revision tells that it was orphaned, and who may write
/// Secrets can do that.
#[tokio::test]
async fn where_no_object_can_tell_that_it_is_orphaned_the_resource_has_to() {
    let Some(bench) = Bench::with_kind("where_no_object_can_tell").await else {
        return;
    };
    bench.remove_templates();
    let role = "apiVersion: rbac.authorization.k8s.io/v1\nkind: ClusterRole\nmetadata: {name: {{ .Release.Namespace }}-{{ \
                .Release.Name }}}\nrules: [{apiGroups: [''], resources: [pods], verbs: [get]}]\n";
    bench.add_template("role.yaml", role);
    let operator = bench.ready_operator().await;
    for (name, policy) in [("one", "delete"), ("two", "orphan")] {
        let role = format!("{}-{name}", bench.namespace);
        bench.apply_web(name, json!({})).await;
        bench.wait_revision(name, 1).await;
        disown(&bench.secrets(), &secret_of(name, 1)).await;
        bench.delete_web(name).await;
        let (_, message) = bench.wait_stalled(name).await;
        assert!(message.contains("steersman.dev/deletion-policy"), "{message}");
        bench.cluster_roles().get(&role).await.unwrap();
        let said = json!({"metadata": {"annotations": {"steersman.dev/deletion-policy": policy}}});
        bench.patch_web(name, said).await;
        bench.wait_gone(&bench.webs(), name).await;
        let left = bench.cluster_roles().get_opt(&role).await.unwrap();
        assert_eq!(left.is_some(), policy == "orphan", "{policy}");
    }
    assert_eq!(bench.revisions().await, ["1 deployed"]);
    let role = format!("{}-two", bench.namespace);
    bench
        .cluster_roles()
        .delete(&role, &DeleteParams::default())
        .await
        .unwrap();
    operator.stop().await.unwrap();
}

async fn conditions(bench: &Bench) -> Value {
    bench.webs().get("shop").await.unwrap().data["status"]["conditions"].clone()
}

/// The same of an operator that has found the resource with these conditions.
async fn wait_awaited_anew(bench: &Bench, job: &str, before: &Value) {
    let told = |web: &Value| {
        let conditions = web.pointer("/status/conditions")?;
        (conditions != before && conditions.to_string().contains(&format!("{job}-job runs"))).then_some(())
    };
    bench.wait("the wait", &bench.webs(), "shop", told).await;
}

/// The operator is killed while a Job runs, and the resource has another spec by the next start.
#[tokio::test]
async fn a_job_that_runs_comes_to_its_end_before_another_spec_after_a_restart() {
    let Some(bench) = bench("another_spec_after_a_restart").await else {
        return;
    };
    let operator = bench.ready_operator().await;
    let jobs = json!([{"name": "up", "on": "pre-install,pre-upgrade"}]);
    bench.apply_web("shop", json!({ "jobs": jobs })).await;
    wait_awaited(&bench, "shop-up").await;
    let first = job(&bench, "shop-up").await.metadata.uid;
    operator.kill().await.unwrap();
    let before = conditions(&bench).await;
    bench
        .apply_web("shop", json!({"jobs": jobs, "message": "new"}))
        .await;
    let operator = bench.ready_operator().await;
    wait_awaited_anew(&bench, "shop-up", &before).await;
    assert_eq!(job(&bench, "shop-up").await.metadata.uid, first);
    let web = bench.webs().get("shop").await.unwrap();
    assert_eq!(web.data["status"]["observedGeneration"], 1);
    finish_job_of(&bench, "shop-up", "Failed").await;

    // That it has failed is of no account to the next one.
    let is_another = |job: &Value| {
        let uid = job.pointer("/metadata/uid")?.as_str();
        (uid != first.as_deref()).then_some(())
    };
    let jobs = bench.api("batch", "v1", "Job", "jobs");
    bench.wait("the next one", &jobs, "shop-up-job", is_another).await;
    finish_job_of(&bench, "shop-up", "Complete").await;
    bench.wait_revision("shop", 2).await;
    assert_eq!(bench.revisions().await, ["1 failed", "2 deployed"]);
    operator.stop().await.unwrap();
}

/// The same, and the resource is deleted meanwhile. No watch tells of the Job, so that it is looked at now and then.
#[tokio::test]
async fn a_job_that_runs_comes_to_its_end_before_a_deletion_after_a_restart() {
    let Some(lane) = Lane::new("a_deletion_after_a_restart").await else {
        return;
    };
    let bench = &lane.bench;
    bench.add_template("jobs.yaml", JOBS);
    lane.proxy.inject(Fault::on("watch", "jobs").always().refuse(403));
    lane.start().await;
    let up = json!({"name": "up", "on": "pre-install"});
    let down = json!({"name": "down", "on": "pre-delete"});
    bench.apply_web("shop", json!({"jobs": [up, down]})).await;
    wait_awaited(bench, "shop-up").await;
    lane.kill().await;
    let before = conditions(bench).await;
    bench.delete_web("shop").await;
    let mark = bench.cluster.audit_mark().await.unwrap();
    lane.start().await;
    wait_awaited_anew(bench, "shop-up", &before).await;
    let mut looks = 0;
    while looks < 4 {
        tokio::time::sleep(Duration::from_millis(200)).await;
        let audit = bench.cluster.audit_since(mark).await.unwrap();
        let jobs = audit.by_user(bench.user.name()).resource("jobs");
        assert!(jobs.writes().is_empty(), "{jobs}");
        looks = jobs.verb("get").len();
    }
    finish_job_of(bench, "shop-up", "Complete").await;
    finish_job_of(bench, "shop-down", "Complete").await;
    bench.wait_gone(&bench.webs(), "shop").await;
    lane.stop().await;
}

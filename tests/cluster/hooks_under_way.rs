//! Hooks that run, or are needed by those that run, while the operator is not there or has no answer.

use kube::api::{DeleteParams, DynamicObject, Patch, PatchParams};
use serde_json::{Value, json};
use steersman_testkit::cluster::Fault;

use crate::bench::{Bench, condition};
use crate::faults::lane::Lane;
use crate::hooks::finish_job_of;
use crate::while_waiting::{JOBS, job, wait_awaited};

/// What Jobs read: a hook that its policy takes away when all of an event have run, and one between Jobs, which is made anew
/// each time.
const CONF: &str = "{{- with .Values.conf }}
apiVersion: v1
kind: ConfigMap
metadata:
  name: {{ $.Release.Name }}-conf
  annotations: {helm.sh/hook: {{ . | quote }}, helm.sh/hook-weight: \"-5\", helm.sh/hook-delete-policy: hook-succeeded}
---
apiVersion: v1
kind: ConfigMap
metadata:
  name: {{ $.Release.Name }}-between
  annotations: {helm.sh/hook: {{ . | quote }}, helm.sh/hook-weight: \"1\"}
{{- end }}
";

fn add_hooks(bench: &Bench) {
    bench.add_template("jobs.yaml", JOBS);
    bench.add_template("conf.yaml", CONF);
}

async fn with_hooks(test: &str) -> Option<Bench> {
    let bench = Bench::with_kind(test).await?;
    add_hooks(&bench);
    Some(bench)
}

/// Waits until a Job has started, and gives its UID.
pub(crate) async fn wait_started(bench: &Bench, name: &str) -> String {
    wait_started_anew(bench, name, "").await
}

/// The same of one that is not the Job with this UID.
pub(crate) async fn wait_started_anew(bench: &Bench, name: &str, before: &str) -> String {
    let jobs = bench.api("batch", "v1", "Job", "jobs");
    let started = |job: &Value| {
        let uid = job.pointer("/metadata/uid")?.as_str()?;
        let has_started = job.pointer("/status/startTime").is_some();
        (has_started && uid != before).then(|| uid.to_owned())
    };
    bench
        .wait("the Job", &jobs, &format!("{name}-job"), started)
        .await
}

async fn uid(bench: &Bench, name: &str) -> Option<String> {
    job(bench, name).await.metadata.uid
}

/// The UID of what Jobs read; `None` where it is gone.
async fn conf(bench: &Bench, name: &str) -> Option<String> {
    map(bench, &format!("{name}-conf")).await
}

async fn map(bench: &Bench, name: &str) -> Option<String> {
    let found: Option<DynamicObject> = bench.config_maps().get_opt(name).await.unwrap();
    found.and_then(|found| found.metadata.uid)
}

/// Waits until the status tells of a failure.
async fn wait_told(bench: &Bench) {
    let failed = |web: &Value| {
        let (_, reason, _) = condition(web, "Reconciling")?;
        (reason == "ProgressingWithRetry").then_some(())
    };
    bench.wait("the failure", &bench.webs(), "shop", failed).await;
}

#[tokio::test]
async fn one_that_has_failed_while_nobody_ran_runs_again_where_its_policy_takes_it_away() {
    let Some(bench) = with_hooks("failed_while_nobody_ran").await else {
        return;
    };
    let spec = |on: &str| json!({"jobs": [{"name": "up", "on": on, "policy": "hook-succeeded,hook-failed"}]});
    let operator = bench.ready_operator().await;
    for (name, event) in [("before", "pre-delete"), ("after", "post-delete")] {
        bench.apply_web(name, spec(event)).await;
        bench.wait_revision(name, 1).await;
        bench.delete_web(name).await;
    }
    bench.apply_web("new", spec("pre-install")).await;
    let names = ["new", "before", "after"];
    let mut uids = Vec::new();
    for name in names {
        uids.push(wait_started(&bench, &format!("{name}-up")).await);
    }
    operator.kill().await.unwrap();
    for name in names {
        finish_job_of(&bench, &format!("{name}-up"), "Failed").await;
    }
    let operator = bench.ready_operator().await;
    for (name, before) in names.iter().zip(&uids) {
        wait_started_anew(&bench, &format!("{name}-up"), before).await;
        finish_job_of(&bench, &format!("{name}-up"), "Complete").await;
    }
    bench.wait_revision("new", 1).await;
    for name in ["before", "after"] {
        bench.wait_gone(&bench.webs(), name).await;
    }
    operator.stop().await.unwrap();
}

const CROWD: [&str; 4] = ["one", "two", "three", "four"];

/// Releases with a Job after their deletion, and another one whose Job runs, so that Jobs are watched and known at once.
async fn release_crowd(bench: &Bench) {
    let long = json!({"jobs": [{"name": "long", "on": "pre-install"}]});
    bench.apply_web("shop", long).await;
    wait_awaited(bench, "shop-long").await;
    for name in CROWD {
        let bye = json!({"jobs": [{"name": "bye", "on": "post-delete"}]});
        bench.apply_web(name, bye).await;
        bench.wait_revision(name, 1).await;
    }
}

/// Deletes them, and gives the UIDs of the Jobs that run after that.
async fn delete_crowd(bench: &Bench) -> Vec<String> {
    let mut uids = Vec::new();
    for name in CROWD {
        bench.delete_web(name).await;
        uids.push(wait_started(bench, &format!("{name}-bye")).await);
    }
    uids
}

/// Ends the Jobs of all but the first, which are still those with these UIDs.
async fn end_crowd(bench: &Bench, uids: &[String]) {
    for (name, before) in CROWD.iter().zip(uids).skip(1) {
        let found = uid(bench, &format!("{name}-bye")).await;
        assert_eq!(found.as_ref(), Some(before), "{name}");
        finish_job_of(bench, &format!("{name}-bye"), "Complete").await;
        bench.wait_gone(&bench.webs(), name).await;
    }
}

#[tokio::test]
async fn those_after_a_deletion_run_once_whatever_restarts() {
    let Some(bench) = with_hooks("after_a_deletion").await else {
        return;
    };
    let operator = bench.ready_operator().await;
    release_crowd(&bench).await;
    let uids = delete_crowd(&bench).await;
    operator.kill().await.unwrap();
    finish_job_of(&bench, "one-bye", "Complete").await;
    let operator = bench.ready_operator().await;
    bench.wait_gone(&bench.webs(), "one").await;
    operator.kill().await.unwrap();
    let operator = bench.ready_operator().await;
    // What comes first of a resource is seen to have come for all.
    bench.apply_web("seen", json!({})).await;
    bench.wait_revision("seen", 1).await;
    end_crowd(&bench, &uids).await;
    operator.stop().await.unwrap();
}

#[tokio::test]
async fn what_a_job_reads_stays_while_that_runs_whatever_restarts() {
    let Some(bench) = with_hooks("what_a_job_reads").await else {
        return;
    };
    let after = |name: &str| json!({"name": name, "on": "post-install"});
    let spec = json!({"conf": "pre-install,post-install", "jobs": [after("a-one"), after("b-two")]});
    let operator = bench.ready_operator().await;
    bench.apply_web("shop", spec).await;
    wait_awaited(&bench, "shop-a-one").await;
    let before = conf(&bench, "shop").await;
    assert!(before.is_some());
    operator.kill().await.unwrap();
    let operator = bench.ready_operator().await;
    finish_job_of(&bench, "shop-a-one", "Complete").await;
    wait_started(&bench, "shop-b-two").await;
    assert_eq!(conf(&bench, "shop").await, before);
    finish_job_of(&bench, "shop-b-two", "Complete").await;
    bench.wait_revision("shop", 1).await;
    bench.wait_gone(&bench.config_maps(), "shop-conf").await;
    operator.stop().await.unwrap();
}

#[tokio::test]
async fn what_a_job_of_an_undoing_reads_is_there() {
    let Some(bench) = with_hooks("what_a_job_of_an_undoing_reads").await else {
        return;
    };
    let hook = |name: &str, on: &str| json!({"name": name, "on": on});
    let spec = json!({"conf": "pre-delete,post-delete", "jobs": [
        hook("up", "pre-install"), hook("a-one", "post-delete"), hook("b-two", "post-delete"),
    ]});
    let operator = bench.operator_with(&["--rollback-on-failure"]).await;
    bench.apply_web("shop", spec).await;
    finish_job_of(&bench, "shop-up", "Failed").await;
    wait_started(&bench, "shop-a-one").await;
    let before = conf(&bench, "shop").await;
    assert!(before.is_some());
    finish_job_of(&bench, "shop-a-one", "Complete").await;
    wait_started(&bench, "shop-b-two").await;
    assert_eq!(conf(&bench, "shop").await, before);
    operator.stop().await.unwrap();
}

#[tokio::test]
async fn what_a_job_reads_stays_although_a_request_has_no_answer() {
    let Some(lane) = Lane::new("what_a_job_reads_without_an_answer").await else {
        return;
    };
    let bench = &lane.bench;
    add_hooks(bench);
    lane.start().await;
    let before = |name: &str, weight: u8| json!({"name": name, "on": "pre-install", "weight": weight});
    let spec = json!({"conf": "pre-install", "jobs": [before("a-one", 0), before("b-two", 2)]});
    bench.apply_web("shop", spec).await;
    wait_awaited(bench, "shop-a-one").await;
    let made = conf(bench, "shop").await;
    // It is made, and nobody knows of it.
    let silence = Fault::on("get", "jobs")
        .name("shop-b-two-job")
        .always()
        .refuse(500);
    let silence = lane.proxy.inject(silence);
    finish_job_of(bench, "shop-a-one", "Complete").await;
    wait_told(bench).await;
    assert_eq!(conf(bench, "shop").await, made);
    lane.proxy.take_back(silence);
    wait_started(bench, "shop-b-two").await;
    assert_eq!(conf(bench, "shop").await, made);
    finish_job_of(bench, "shop-b-two", "Complete").await;
    bench.wait_revision("shop", 1).await;
    lane.stop().await;
}

/// An upgrade whose Job, of this image, is what differs.
fn upgrade(image: u8) -> Value {
    json!({"jobs": [{"name": "up", "on": "pre-upgrade", "image": image}]})
}

/// An operator behind a proxy that has released `shop`.
async fn released(test: &str) -> Option<Lane> {
    let lane = Lane::new(test).await?;
    add_hooks(&lane.bench);
    lane.start().await;
    lane.bench.apply_web("shop", json!({})).await;
    lane.bench.wait_revision("shop", 1).await;
    Some(lane)
}

/// The Job with this UID comes to its end before that of the next spec runs.
async fn one_after_the_other(bench: &Bench, first: &str) {
    wait_awaited(bench, "shop-up").await;
    assert_eq!(uid(bench, "shop-up").await.as_deref(), Some(first));
    finish_job_of(bench, "shop-up", "Complete").await;
    wait_started_anew(bench, "shop-up", first).await;
    finish_job_of(bench, "shop-up", "Complete").await;
    bench.wait_revision("shop", 3).await;
}

#[tokio::test]
async fn one_whose_start_has_no_answer_comes_to_its_end_before_another_spec() {
    let Some(lane) = released("a_start_without_an_answer").await else {
        return;
    };
    let bench = &lane.bench;
    let lost = Fault::on("patch", "jobs").name("shop-up-job").lose_answer();
    let lost = lane.proxy.inject(lost);
    bench.apply_web("shop", upgrade(1)).await;
    let first = wait_started(bench, "shop-up").await;
    assert_eq!(lane.proxy.struck(lost), 1);
    bench.apply_web("shop", upgrade(2)).await;
    one_after_the_other(bench, &first).await;
    lane.stop().await;
}

/// The watch breaks while a Job runs, and looking at it is answered by this status.
async fn nobody_tells(test: &str, status: u16) {
    let Some(lane) = released(test).await else {
        return;
    };
    let bench = &lane.bench;
    bench.apply_web("shop", upgrade(1)).await;
    wait_awaited(bench, "shop-up").await;
    let first = wait_started(bench, "shop-up").await;
    bench.apply_web("shop", upgrade(2)).await;
    let silence = Fault::on("get", "jobs")
        .name("shop-up-job")
        .always()
        .refuse(status);
    let silence = lane.proxy.inject(silence);
    lane.proxy
        .inject(Fault::on("watch", "jobs").fail_event("MODIFIED", 500));
    let jobs = bench.api("batch", "v1", "Job", "jobs");
    let touch = Patch::Merge(json!({"metadata": {"annotations": {"example.com/touched": "yes"}}}));
    jobs.patch("shop-up-job", &PatchParams::default(), &touch)
        .await
        .unwrap();
    wait_told(bench).await;
    lane.proxy.take_back(silence);
    one_after_the_other(bench, &first).await;
    lane.stop().await;
}

#[tokio::test]
async fn one_that_nobody_tells_of_comes_to_its_end_before_another_spec() {
    nobody_tells("nobody_tells_of_a_job", 500).await;
}

#[tokio::test]
async fn one_that_may_not_be_looked_at_comes_to_its_end_before_another_spec() {
    nobody_tells("a_job_may_not_be_looked_at", 403).await;
}

#[tokio::test]
async fn those_before_a_deletion_run_although_the_end_of_an_undoing_was_waited_for() {
    let Some(lane) = Lane::new("an_undoing_before_a_deletion").await else {
        return;
    };
    let bench = &lane.bench;
    add_hooks(bench);
    let flags = ["--rollback-on-failure"];
    lane.start_with(&flags).await;
    let hook = |name: &str, on: &str| json!({"name": name, "on": on});
    let spec =
        json!({"jobs": [hook("up", "pre-install"), hook("pre", "pre-delete"), hook("post", "post-delete")]});
    bench.apply_web("shop", spec).await;
    finish_job_of(bench, "shop-up", "Failed").await;
    let pre = wait_started(bench, "shop-pre").await;
    finish_job_of(bench, "shop-pre", "Complete").await;
    let post = wait_started(bench, "shop-post").await;
    lane.kill().await;
    bench.delete_web("shop").await;
    lane.start_with(&flags).await;
    wait_awaited(bench, "shop-post").await;
    let silence = Fault::on("get", "jobs").name("shop-pre-job").refuse(500);
    lane.proxy.inject(silence);
    finish_job_of(bench, "shop-post", "Complete").await;
    wait_started_anew(bench, "shop-pre", &pre).await;
    finish_job_of(bench, "shop-pre", "Complete").await;
    wait_started_anew(bench, "shop-post", &post).await;
    finish_job_of(bench, "shop-post", "Complete").await;
    bench.wait_gone(&bench.webs(), "shop").await;
    lane.stop().await;
}

/// Each `ConfigMap` is made anew before the Job, also where one of them goes slowly.
#[tokio::test]
async fn what_a_job_reads_is_of_its_revision() {
    let Some(bench) = with_hooks("what_a_job_reads_is_of_its_revision").await else {
        return;
    };
    let slow = CONF
        .replace("-between", "-slow")
        .replace(r#"hook-weight: "1""#, r#"hook-weight: "0""#);
    bench.add_template("slow.yaml", &slow.replace("-conf", "-other"));
    let spec = |image: u8| {
        let up = json!({"name": "up", "on": "pre-upgrade", "image": image, "weight": 2});
        json!({"conf": "pre-upgrade", "jobs": [up]})
    };
    let operator = bench.ready_operator().await;
    bench.apply_web("shop", json!({})).await;
    bench.wait_revision("shop", 1).await;
    bench.apply_web("shop", spec(1)).await;
    let first = wait_started(&bench, "shop-up").await;
    finish_job_of(&bench, "shop-up", "Complete").await;
    bench.wait_revision("shop", 2).await;
    let before = map(&bench, "shop-between").await;
    assert!(before.is_some());
    let maps = bench.config_maps();
    let hold = |names: Value| Patch::Merge(json!({"metadata": {"finalizers": names}}));
    let parameters = PatchParams::default();
    maps.patch("shop-slow", &parameters, &hold(json!(["example.com/hold"])))
        .await
        .unwrap();
    bench.apply_web("shop", spec(2)).await;
    let is_waited_for = |web: &Value| {
        web["status"]
            .to_string()
            .contains("shop-slow is being deleted")
            .then_some(())
    };
    bench.wait("the wait", &bench.webs(), "shop", is_waited_for).await;
    maps.patch("shop-slow", &parameters, &hold(json!([])))
        .await
        .unwrap();
    wait_started_anew(&bench, "shop-up", &first).await;
    assert_ne!(map(&bench, "shop-between").await, before);
    finish_job_of(&bench, "shop-up", "Complete").await;
    bench.wait_revision("shop", 3).await;
    operator.stop().await.unwrap();
}

#[tokio::test]
async fn one_that_has_run_for_another_event_is_in_no_deletion_s_way() {
    let Some(bench) = with_hooks("one_of_another_event").await else {
        return;
    };
    let spec = json!({"jobs": [{"name": "both", "on": "post-install,post-delete", "policy": "hook-failed"}]});
    let operator = bench.ready_operator().await;
    bench.apply_web("shop", spec).await;
    let first = wait_started(&bench, "shop-both").await;
    finish_job_of(&bench, "shop-both", "Complete").await;
    bench.wait_revision("shop", 1).await;
    bench.delete_web("shop").await;
    wait_started_anew(&bench, "shop-both", &first).await;
    finish_job_of(&bench, "shop-both", "Complete").await;
    bench.wait_gone(&bench.webs(), "shop").await;
    operator.stop().await.unwrap();
}

#[tokio::test]
async fn what_a_job_of_a_deletion_reads_stays_although_a_request_has_no_answer() {
    let Some(lane) = Lane::new("what_a_job_of_a_deletion_reads").await else {
        return;
    };
    let bench = &lane.bench;
    add_hooks(bench);
    lane.start().await;
    let spec = json!({"conf": "pre-delete", "jobs": [{"name": "bye", "on": "pre-delete", "weight": 2}]});
    bench.apply_web("shop", spec).await;
    bench.wait_revision("shop", 1).await;
    lane.proxy
        .inject(Fault::on("patch", "jobs").name("shop-bye-job").lose_answer());
    bench.delete_web("shop").await;
    wait_started(bench, "shop-bye").await;
    let before = (conf(bench, "shop").await, map(bench, "shop-between").await);
    // It is tried again, and the Job found.
    let is_found = |_: &Value| {
        let trace = lane.proxy.trace();
        let of_job = trace.iter().rev().filter(|call| call.name == "shop-bye-job");
        let looks = of_job.take_while(|call| call.verb != "patch").count();
        (looks >= 2).then_some(())
    };
    bench.wait("the next try", &bench.webs(), "shop", is_found).await;
    assert!(before.0.is_some() && before.1.is_some());
    assert_eq!(
        (conf(bench, "shop").await, map(bench, "shop-between").await),
        before
    );
    finish_job_of(bench, "shop-bye", "Complete").await;
    bench.wait_gone(&bench.webs(), "shop").await;
    lane.stop().await;
}

/// What the revision before had as an object is a hook by now, and no longer to be pruned.
#[tokio::test]
async fn one_that_was_an_object_before_runs_once_whatever_restarts() {
    let Some(bench) = Bench::with_kind("one_that_was_an_object").await else {
        return;
    };
    let as_object = "{helm.sh/hook: {{ .on | quote }}";
    assert!(JOBS.contains(as_object));
    let either = JOBS.replace(
        as_object,
        "{ {{- with .on }}helm.sh/hook: {{ . | quote }}{{ else }}example.com/is: object{{ end }}",
    );
    bench.add_template("jobs.yaml", &either);
    let operator = bench.ready_operator().await;
    bench.apply_web("shop", json!({"jobs": [{"name": "up"}]})).await;
    bench.wait_revision("shop", 1).await;
    let object = wait_started(&bench, "shop-up").await;
    bench
        .apply_web("shop", json!({"jobs": [{"name": "up", "on": "post-upgrade"}]}))
        .await;
    let hook = wait_started_anew(&bench, "shop-up", &object).await;
    wait_awaited(&bench, "shop-up").await;
    operator.kill().await.unwrap();
    finish_job_of(&bench, "shop-up", "Complete").await;
    let operator = bench.ready_operator().await;
    bench.wait_revision("shop", 2).await;
    assert_eq!(uid(&bench, "shop-up").await, Some(hook));
    operator.stop().await.unwrap();
}

#[tokio::test]
async fn what_a_job_reads_stays_although_another_was_waited_for_before() {
    let Some(lane) = released("a_wait_of_the_event_before").await else {
        return;
    };
    let bench = &lane.bench;
    let hook = |name: &str, on: &str| json!({"name": name, "on": on, "weight": 2});
    let jobs = [hook("a-pre", "pre-upgrade"), hook("b-post", "post-upgrade")];
    bench
        .apply_web("shop", json!({"conf": "post-upgrade", "jobs": jobs}))
        .await;
    wait_awaited(bench, "shop-a-pre").await;
    lane.proxy
        .inject(Fault::on("patch", "jobs").name("shop-b-post-job").lose_answer());
    finish_job_of(bench, "shop-a-pre", "Complete").await;
    wait_started(bench, "shop-b-post").await;
    let before = (conf(bench, "shop").await, map(bench, "shop-between").await);
    assert!(before.0.is_some() && before.1.is_some());
    wait_awaited(bench, "shop-b-post").await;
    assert_eq!(
        (conf(bench, "shop").await, map(bench, "shop-between").await),
        before
    );
    finish_job_of(bench, "shop-b-post", "Complete").await;
    bench.wait_revision("shop", 2).await;
    lane.stop().await;
}

/// The watch has told of its end before its time to live was over.
#[tokio::test]
async fn one_that_has_failed_and_is_gone_has_failed_although_it_could_not_be_looked_at() {
    let Some(lane) = released("failed_and_gone_without_an_answer").await else {
        return;
    };
    let bench = &lane.bench;
    bench.apply_web("shop", upgrade(1)).await;
    wait_awaited(bench, "shop-up").await;
    let silence = Fault::on("get", "jobs").name("shop-up-job").always().refuse(500);
    let silence = lane.proxy.inject(silence);
    finish_job_of(bench, "shop-up", "Failed").await;
    wait_told(bench).await;
    let jobs = bench.api("batch", "v1", "Job", "jobs");
    jobs.delete("shop-up-job", &DeleteParams::background())
        .await
        .unwrap();
    bench.wait_gone(&jobs, "shop-up-job").await;
    lane.proxy.take_back(silence);
    let failed = |web: &Value| {
        web["status"]
            .to_string()
            .contains("shop-up-job failed")
            .then_some(())
    };
    bench.wait("the failure", &bench.webs(), "shop", failed).await;
    lane.stop().await;
}

/// One before it is out of the bounds that the watch has by now.
#[tokio::test]
async fn one_after_a_deletion_runs_once_beside_one_that_is_left_out() {
    let Some(bench) = with_hooks("beside_one_that_is_left_out").await else {
        return;
    };
    let pod = "apiVersion: v1\nkind: Pod\nmetadata:\n  name: {{ .Release.Name }}-first\n  annotations: {helm.sh/hook: post-delete, \
               helm.sh/hook-weight: \"-1\"}\nspec: {containers: [{name: a, image: registry.example.com/a}]}\n";
    bench.add_template("first.yaml", pod);
    let operator = bench.ready_operator().await;
    release_crowd(&bench).await;
    operator.stop().await.unwrap();
    bench.watches(&format!(
        "- group: {}\n  version: v1\n  kind: Web\n  chart: web\n  confine: {{kinds: {{deny: [Pod]}}}}\n",
        bench.group
    ));
    let operator = bench.ready_operator().await;
    let uids = delete_crowd(&bench).await;
    operator.kill().await.unwrap();
    let operator = bench.ready_operator().await;
    finish_job_of(&bench, "one-bye", "Complete").await;
    bench.wait_gone(&bench.webs(), "one").await;
    end_crowd(&bench, &uids).await;
    operator.stop().await.unwrap();
}

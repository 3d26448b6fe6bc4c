//! What hooks make that has no end, such as a claim: it is made once for a revision, as pods may use it by now.

use std::time::{Duration, Instant};

use kube::api::{DeleteParams, Patch, PatchParams};
use serde_json::{Value, json};
use steersman_testkit::cluster::Fault;

use crate::bench::{Bench, condition, wait_for_line, wait_until};
use crate::faults::lane::Lane;
use crate::hooks::finish_job_of;
use crate::hooks_under_way::{wait_started, wait_started_anew};
use crate::while_waiting::{JOBS, job, wait_awaited};

const CLAIM: &str = "apiVersion: v1
kind: PersistentVolumeClaim
metadata:
  name: {{ .Release.Name }}-data
  annotations: {helm.sh/hook: \"pre-install,pre-upgrade\"}
spec: {accessModes: [ReadWriteOnce], resources: {requests: {storage: 1Gi}}}
";

/// Two hooks of one event that make one object, each before a Job that reads it.
const TURNS: &str = "{{- range list \"first\" \"second\" }}
---
apiVersion: v1
kind: ConfigMap
metadata:
  name: {{ $.Release.Name }}-turns
  annotations: {helm.sh/hook: pre-install, helm.sh/hook-weight: {{ eq . \"first\" | ternary \"-1\" \"1\" | quote }}}
data: {turn: {{ . }}}
{{- end }}
";

/// How often what a hook has made was written, and deleted.
pub(crate) fn written_and_deleted(lane: &Lane, name: &str) -> (usize, usize) {
    let trace = lane.proxy.trace();
    let count = |verb: &str| {
        let calls = trace.iter();
        calls
            .filter(|call| call.name == name && call.verb == verb)
            .count()
    };
    (count("patch"), count("delete"))
}

#[tokio::test]
async fn a_claim_is_made_once_for_a_revision_however_often_that_is_tried() {
    let Some(lane) = Lane::new("a_claim_of_a_hook").await else {
        return;
    };
    let bench = &lane.bench;
    bench.add_template("claim.yaml", CLAIM);
    lane.start().await;
    let fault = || Fault::on("patch", "configmaps").name("shop-config");
    lane.proxy.inject(fault().refuse(500));
    bench.apply_web("shop", json!({"message": "one"})).await;
    bench.wait_revision("shop", 1).await;
    assert_eq!(written_and_deleted(&lane, "shop-data"), (1, 0));

    lane.proxy.inject(fault().kill_before());
    bench.apply_web("shop", json!({"message": "two"})).await;
    lane.wait_killed().await;
    lane.start().await;
    bench.wait_revision("shop", 2).await;
    assert_eq!(written_and_deleted(&lane, "shop-data"), (2, 1));

    // It has failed, and is tried again as it is.
    lane.proxy.inject(fault().times(2).refuse(422));
    bench.apply_web("shop", json!({"message": "three"})).await;
    bench.wait_revision("shop", 3).await;
    assert_eq!(written_and_deleted(&lane, "shop-data"), (3, 2));
    lane.stop().await;
}

#[tokio::test]
async fn what_two_hooks_of_an_event_make_is_the_later_ones_after_a_restart() {
    let Some(bench) = Bench::with_kind("what_two_hooks_make").await else {
        return;
    };
    bench.add_template("jobs.yaml", JOBS);
    bench.add_template("turns.yaml", TURNS);
    let made = async || {
        let map = bench.config_maps().get("shop-turns").await.unwrap();
        (map.data["data"]["turn"].clone(), map.metadata.uid)
    };
    let operator = bench.ready_operator().await;
    let up = |name: &str, weight: u8| json!({"name": name, "on": "pre-install", "weight": weight});
    let spec = json!({"jobs": [up("a-one", 0), up("b-two", 2)]});
    bench.apply_web("shop", spec).await;
    wait_awaited(&bench, "shop-a-one").await;
    let first = made().await;
    assert_eq!(first.0, "first");
    operator.kill().await.unwrap();
    let operator = bench.ready_operator().await;
    finish_job_of(&bench, "shop-a-one", "Complete").await;
    wait_awaited(&bench, "shop-b-two").await;
    let second = made().await;
    assert_eq!(second.0, "second");
    assert_ne!(second.1, first.1);
    operator.kill().await.unwrap();
    let operator = bench.ready_operator().await;
    finish_job_of(&bench, "shop-b-two", "Complete").await;
    bench.wait_revision("shop", 1).await;
    assert_eq!(made().await, second);
    operator.stop().await.unwrap();
}

/// It was an object of the revision before, too.
#[tokio::test]
async fn a_job_past_its_time_goes_on_while_its_revision_is_tried_again() {
    let Some(bench) = Bench::with_kind("a_job_past_its_time").await else {
        return;
    };
    let either = JOBS.replace(
        "{helm.sh/hook: {{ .on | quote }}",
        "{ {{- with .on }}helm.sh/hook: {{ . | quote }}{{ else }}example.com/is: object{{ end }}",
    );
    bench.add_template("jobs.yaml", &either);
    bench.add_template(
        "claim.yaml",
        &CLAIM.replace("pre-install,pre-upgrade", "post-upgrade"),
    );
    let claim = async || {
        let claims = bench.api("", "v1", "PersistentVolumeClaim", "persistentvolumeclaims");
        claims.get("shop-data").await.unwrap().metadata.uid
    };
    let operator = bench.operator_with(&["--hook-timeout=3s"]).await;
    bench.apply_web("shop", json!({"jobs": [{"name": "up"}]})).await;
    bench.wait_revision("shop", 1).await;
    let object = job(&bench, "shop-up").await.metadata.uid;
    let up = json!({"name": "up", "on": "post-upgrade", "weight": 1});
    bench.apply_web("shop", json!({ "jobs": [up] })).await;
    let timed_out = |web: &Value| {
        let (_, _, message) = condition(web, "Reconciling")?;
        message.contains("is not done after 3 s").then_some(())
    };
    bench
        .wait("the end of its time", &bench.webs(), "shop", timed_out)
        .await;
    let before = (job(&bench, "shop-up").await.metadata.uid, claim().await);
    assert_ne!(before.0, object);
    wait_for_line(&operator, "Hook was started before").await;
    assert_eq!((job(&bench, "shop-up").await.metadata.uid, claim().await), before);
    finish_job_of(&bench, "shop-up", "Complete").await;
    bench.wait_revision("shop", 2).await;
    assert_eq!((job(&bench, "shop-up").await.metadata.uid, claim().await), before);
    operator.stop().await.unwrap();
}

/// A claim, a `ConfigMap`, a Secret: what `made` lists, each plain or a hook, and a Job for each event of `jobs`.
const MADE: &str = "{{- range .Values.made }}
---
apiVersion: v1
kind: {{ .kind | default \"ConfigMap\" }}
metadata:
  name: {{ $.Release.Name }}-{{ .name }}
  annotations:
    {{- with .on }}
    helm.sh/hook: {{ . | quote }}
    {{- end }}
    helm.sh/hook-weight: {{ .weight | default \"-1\" | quote }}
    {{- with .policy }}
    helm.sh/hook-delete-policy: {{ . | quote }}
    {{- end }}
{{- if eq (.kind | default \"\") \"PersistentVolumeClaim\" }}
spec: {accessModes: [ReadWriteOnce], resources: {requests: {storage: 1Gi}}}
{{- else }}
data: { {{ .key | default \"key\" | quote }}: {{ .value | default \"value\" | quote }} }
{{- end }}
{{- end }}
";

/// An operator behind a proxy whose chart makes what the values list.
pub(crate) async fn making(test: &str) -> Option<Lane> {
    let lane = Lane::new(test).await?;
    lane.bench.add_template("jobs.yaml", JOBS);
    lane.bench.add_template("made.yaml", MADE);
    lane.start().await;
    Some(lane)
}

/// What the server refuses: such a key can't be.
fn refused(on: &str) -> Value {
    json!({"name": "refused", "on": on, "weight": "0", "key": "no key"})
}

/// Waits until it was tried so often to make `shop-refused`.
async fn wait_tried(lane: &Lane, times: usize) {
    let tried = || written_and_deleted(lane, "shop-refused").0 >= times;
    wait_until("the next try", tried).await;
}

/// The revision before had it as an object of its own.
#[tokio::test]
async fn what_a_hook_has_taken_over_is_not_pruned() {
    let Some(lane) = making("what_a_hook_has_taken_over").await else {
        return;
    };
    let bench = &lane.bench;
    let map = |on: &str| json!({"name": "map", "on": on});
    bench
        .apply_web("shop", json!({"made": [{"name": "map"}, {"name": "plain"}]}))
        .await;
    bench.wait_revision("shop", 1).await;
    bench
        .apply_web("shop", json!({"made": [map("pre-upgrade")]}))
        .await;
    bench.wait_revision("shop", 2).await;
    let made = bench.config_maps().get("shop-map").await.unwrap().metadata.uid;
    bench.wait_gone(&bench.config_maps(), "shop-plain").await;

    bench.apply_web("shop", json!({"made": [{"name": "map"}]})).await;
    bench.wait_revision("shop", 3).await;
    assert_eq!(
        bench.config_maps().get("shop-map").await.unwrap().metadata.uid,
        made
    );
    let before = written_and_deleted(&lane, "shop-map");
    bench
        .apply_web(
            "shop",
            json!({"made": [map("post-upgrade"), refused("post-upgrade")]}),
        )
        .await;
    wait_tried(&lane, 3).await;
    let after = written_and_deleted(&lane, "shop-map");
    assert_eq!((after.0 - before.0, after.1 - before.1), (1, 1));
    lane.stop().await;
}

#[tokio::test]
async fn what_goes_by_its_policy_does_not_hasten_the_next_try() {
    let Some(lane) = making("a_policy_and_the_next_try").await else {
        return;
    };
    let bench = &lane.bench;
    bench
        .apply_web("shop", json!({"made": [{"name": "plain"}]}))
        .await;
    bench.wait_revision("shop", 1).await;
    let read = json!({"name": "read", "on": "post-upgrade", "policy": "hook-succeeded"});
    let made = json!([{"name": "plain"}, read, refused("post-upgrade")]);
    bench.apply_web("shop", json!({ "made": made })).await;
    wait_tried(&lane, 2).await;
    let begun = Instant::now();
    wait_tried(&lane, 4).await;
    assert!(begun.elapsed() > Duration::from_secs(2), "{:?}", begun.elapsed());
    lane.stop().await;
}

/// What is written to it goes with it.
#[tokio::test]
async fn what_is_going_is_not_made_but_waited_for() {
    let Some(lane) = making("what_is_going").await else {
        return;
    };
    let bench = &lane.bench;
    let map = |value: &str| json!({"made": [{"name": "map", "on": "pre-install,pre-upgrade", "policy": "hook-failed", "value": value}]});
    bench.apply_web("shop", map("one")).await;
    bench.wait_revision("shop", 1).await;
    let maps = bench.config_maps();
    let hold = |names: Value| Patch::Merge(json!({"metadata": {"finalizers": names}}));
    let parameters = PatchParams::default();
    maps.patch("shop-map", &parameters, &hold(json!(["example.com/hold"])))
        .await
        .unwrap();
    maps.delete("shop-map", &DeleteParams::default()).await.unwrap();
    let former = maps.get("shop-map").await.unwrap();
    bench.apply_web("shop", map("two")).await;
    let waits = |web: &Value| {
        let told = web.pointer("/status/conditions")?.to_string();
        told.contains("shop-map is being deleted").then_some(())
    };
    bench.wait("the wait", &bench.webs(), "shop", waits).await;
    assert_eq!(maps.get("shop-map").await.unwrap().data["data"]["key"], "one");
    maps.patch("shop-map", &parameters, &hold(json!([])))
        .await
        .unwrap();
    bench.wait_revision("shop", 2).await;
    let made = maps.get("shop-map").await.unwrap();
    assert_eq!(made.data["data"]["key"], "two");
    assert_ne!(made.metadata.uid, former.metadata.uid);
    lane.stop().await;
}

/// A hook makes it before the objects, to be deleted then, and another one after them, to stay.
#[tokio::test]
async fn what_a_later_hook_has_made_goes_by_no_earlier_one_s_policy() {
    let Some(lane) = making("made_by_a_later_hook").await else {
        return;
    };
    let bench = &lane.bench;
    let map = |on: &str, policy: &str| json!({"name": "map", "on": on, "policy": policy});
    let up = json!({"name": "up", "on": "post-install", "policy": "before-hook-creation,hook-failed"});
    let made = [
        map("pre-install", "hook-succeeded"),
        map("post-install", "before-hook-creation"),
    ];
    bench.apply_web("shop", json!({"made": made, "jobs": [up]})).await;
    let first = wait_started(bench, "shop-up").await;
    let made = bench.config_maps().get("shop-map").await.unwrap().metadata.uid;
    finish_job_of(bench, "shop-up", "Failed").await;
    wait_started_anew(bench, "shop-up", &first).await;
    finish_job_of(bench, "shop-up", "Complete").await;
    bench.wait_revision("shop", 1).await;
    assert_eq!(
        bench.config_maps().get("shop-map").await.unwrap().metadata.uid,
        made
    );
    lane.stop().await;
}

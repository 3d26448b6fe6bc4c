//! What hooks make that has no end, such as a claim: it is made once for a revision, as pods may use it by now.

use serde_json::{Value, json};
use steersman_testkit::cluster::Fault;

use crate::bench::{Bench, condition, wait_for_line};
use crate::faults::lane::Lane;
use crate::hooks::finish_job_of;
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
fn written_and_deleted(lane: &Lane, name: &str) -> (usize, usize) {
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

/// The kind may have gone with the release. What comes before a deletion is needed, and is waited for.
#[tokio::test]
async fn one_after_a_deletion_is_left_out_when_its_kind_is_gone() {
    let Some(bench) = Bench::with_kind("a_hook_of_a_kind_that_is_gone").await else {
        return;
    };
    bench.define("Note", "notes").await;
    let note = |on: &str| {
        format!(
            "{{{{- if eq .Values.note \"{on}\" }}}}\napiVersion: {}/v1\nkind: Note\nmetadata:\n  name: {{{{ .Release.Name }}}}-note\n  \
             annotations: {{helm.sh/hook: {on}}}\n{{{{- end }}}}\n",
            bench.group
        )
    };
    for on in ["pre-delete", "post-delete"] {
        bench.add_template(&format!("{on}.yaml"), &note(on));
    }
    let operator = bench.ready_operator().await;
    for (name, on) in [("before", "pre-delete"), ("after", "post-delete")] {
        bench.apply_web(name, json!({ "note": on })).await;
        bench.wait_revision(name, 1).await;
    }
    bench.delete_definition(&format!("notes.{}", bench.group)).await;
    bench.delete_web("after").await;
    bench.wait_gone(&bench.webs(), "after").await;
    let told = bench.wait_event("HookLeftOut").await;
    assert!(told.contains("post-delete.yaml: no matches for kind"), "{told}");

    bench.delete_web("before").await;
    let held = |web: &Value| {
        let conditions = web.pointer("/status/conditions")?.to_string();
        conditions
            .contains("pre-delete.yaml: no matches for kind")
            .then_some(())
    };
    bench.wait("the reason", &bench.webs(), "before", held).await;
    bench.define("Note", "notes").await;
    bench.wait_gone(&bench.webs(), "before").await;
    operator.stop().await.unwrap();
}

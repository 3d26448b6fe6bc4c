//! A chart looks up what is partly its own: whatever is in the Secrets of an answer is masked, whoever has written it, and
//! wherever it is said.

use kube::api::{DeleteParams, Patch, PatchParams};
use serde_json::{Value, json};
use steersman_testkit::cluster::Fault;

use crate::bench::{Bench, condition, wait_for_line};
use crate::faults::lane::Lane;
use crate::hooks::finish_job_of;
use crate::looked_up::{CANARY, quoting, set_secret, wait_untold};
use crate::undoing::try_again;
use crate::while_waiting::{JOBS, wait_awaited};

/// What a Secret called `existing` has under `canary`, in an object that the server is made to refuse.
const COPY: &str = "
{{- $found := lookup \"v1\" \"Secret\" .Release.Namespace \"existing\" }}
apiVersion: v1
kind: ConfigMap
metadata: {name: labelled}
data:
  of: {{ dig \"data\" \"canary\" \"\" $found | b64dec | quote }}
  message: {{ .Values.message | default \"a\" | quote }}
";

fn refusing() -> Fault {
    quoting(Fault::on("patch", "configmaps").name("labelled"))
}

/// The server's words about what has failed.
async fn refusal(bench: &Bench) -> String {
    let is_told = |web: &Value| {
        let (_, _, message) = condition(web, "ReleaseFailed")?;
        message.contains("Invalid value: ").then_some(message)
    };
    bench.wait("the failure", &bench.webs(), "shop", is_told).await
}

async fn assert_unseen(lane: &Lane) {
    let web = lane.bench.webs().get("shop").await.unwrap();
    assert!(!web.data.to_string().contains(CANARY), "{}", web.data);
    let log = lane.log().await;
    assert_eq!(log.lines().find(|line| line.contains(CANARY)), None);
    let events = lane.bench.events().await;
    assert_eq!(events.lines().find(|line| line.contains(CANARY)), None);
}

/// The operator's own entry says that it has applied `stringData`, also after others have written another value.
#[tokio::test]
async fn what_others_have_written_over_a_value_of_the_release_is_masked() {
    let Some(lane) = Lane::new("written_over").await else {
        return;
    };
    let bench = &lane.bench;
    bench.add_template(
        "own.yaml",
        "apiVersion: v1\nkind: Secret\nmetadata: {name: existing}\nstringData: {canary: of the chart}\n",
    );
    bench.add_template("copy.yaml", COPY);
    lane.start().await;
    bench.apply_web("shop", json!({})).await;
    bench.wait_revision("shop", 1).await;
    lane.kill().await;
    let patch = Patch::Merge(json!({"stringData": {"canary": CANARY}}));
    let parameters = PatchParams::default();
    bench
        .secrets()
        .patch("existing", &parameters, &patch)
        .await
        .unwrap();
    lane.start().await;
    bench.apply_web("shop", json!({"message": "b"})).await;
    bench.wait_revision("shop", 2).await;
    let copied = bench.config_maps().get("labelled").await.unwrap();
    assert_eq!(copied.data["data"]["of"], CANARY);
    lane.proxy.inject(refusing());
    bench.apply_web("shop", json!({"message": "c"})).await;
    let message = refusal(bench).await;
    assert!(message.contains("Invalid value: ********"), "{message}");
    assert_unseen(&lane).await;
    // The Secret is as the chart has it again.
    lane.kill().await;
    lane.start().await;
    wait_untold(&lane).await;
    lane.stop().await;
}

/// Charts keep what they have drawn once that way: it makes no revision, and is known again from the Secret.
#[tokio::test]
async fn what_a_chart_keeps_in_a_secret_of_its_own_is_known_after_a_restart() {
    let Some(lane) = Lane::new("kept_in_its_own").await else {
        return;
    };
    let bench = &lane.bench;
    let kept = format!(
        "{{{{- $found := lookup \"v1\" \"Secret\" .Release.Namespace \"existing\" }}}}\napiVersion: v1\nkind: Secret\n\
         metadata: {{name: existing}}\nstringData:\n  canary: {{{{ if $found }}}}{{{{ $found.data.canary | b64dec }}}}\
         {{{{ else }}}}{CANARY}{{{{ end }}}}\n  word: {{{{ if $found }}}}{{{{ $found.data.word | b64dec }}}}{{{{ else }}}}\
         {{{{ randAlphaNum 9 }}}}{{{{ end }}}}\n"
    );
    bench.add_template("kept.yaml", &kept);
    bench.add_template("copy.yaml", COPY);
    lane.start().await;
    for (revision, message) in [(1, "a"), (2, "b")] {
        bench.apply_web("shop", json!({ "message": message })).await;
        bench.wait_revision("shop", revision).await;
    }
    lane.kill().await;
    lane.start().await;
    try_again(bench, "now").await;
    let is_handled = |web: &Value| (web["status"]["lastHandledReconcileAt"] == "now").then_some(());
    bench
        .wait("the reconcile", &bench.webs(), "shop", is_handled)
        .await;
    assert_eq!(bench.revisions().await, ["1 superseded", "2 deployed"]);
    lane.proxy.inject(refusing());
    bench.apply_web("shop", json!({"message": "c"})).await;
    let message = refusal(bench).await;
    assert!(message.contains("Invalid value: ********"), "{message}");
    assert_unseen(&lane).await;
    lane.stop().await;
}

#[tokio::test]
async fn what_a_revision_has_made_is_masked_when_that_is_gone() {
    let Some(lane) = Lane::new("made_by_a_gone_revision").await else {
        return;
    };
    let bench = &lane.bench;
    let made = format!(
        "{{{{- if not (lookup \"v1\" \"Secret\" .Release.Namespace \"existing\") }}}}\napiVersion: v1\nkind: Secret\nmetadata: \
         {{name: existing, annotations: {{helm.sh/hook: pre-install}}}}\nstringData: {{canary: {CANARY}}}\n{{{{- else }}}}\n\
         {COPY}\n{{{{- end }}}}\n"
    );
    bench.add_template("made.yaml", &made);
    bench.add_template("jobs.yaml", JOBS);
    let flags = ["--history-max", "2"];
    lane.start_with(&flags).await;
    for revision in 1..=4 {
        bench
            .apply_web("shop", json!({ "message": revision.to_string() }))
            .await;
        bench.wait_revision("shop", revision).await;
    }
    let up = json!({"name": "up", "on": "pre-upgrade"});
    bench
        .apply_web("shop", json!({"message": "last", "jobs": [up]}))
        .await;
    wait_awaited(bench, "shop-up").await;
    let revisions = bench.revisions().await;
    assert!(
        !revisions.iter().any(|revision| revision.starts_with("1 ")),
        "{revisions:?}"
    );
    lane.kill().await;
    lane.proxy.inject(refusing());
    finish_job_of(bench, "shop-up", "Complete").await;
    lane.start_with(&flags).await;
    let message = refusal(bench).await;
    assert!(message.contains("Invalid value: ********"), "{message}");
    assert_unseen(&lane).await;
    lane.stop().await;
}

/// Anybody may give a Secret the type of a revision. Another one is beside it, which stays as it is.
#[tokio::test]
async fn a_secret_that_says_it_is_a_revision_counts_among_others() {
    let Some(lane) = Lane::new("says_it_is_a_revision").await else {
        return;
    };
    let bench = &lane.bench;
    let secret = async |canary: &str| {
        let object = json!({"apiVersion": "v1", "kind": "Secret", "type": "helm.sh/release.v1",
            "metadata": {"name": "existing", "namespace": bench.namespace}, "stringData": {"canary": canary}});
        bench.cluster.apply_object(&object).await.unwrap();
    };
    secret(CANARY).await;
    let ordinary = json!({"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "ordinary", "namespace": bench.namespace},
        "stringData": {"token": "nothing else"}});
    bench.cluster.apply_object(&ordinary).await.unwrap();
    let list = "
{{- $canary := \"\" }}
{{- range (lookup \"v1\" \"Secret\" .Release.Namespace \"\").items }}
{{- if eq .metadata.name \"existing\" }}{{ $canary = .data.canary | b64dec }}{{ end }}
{{- end }}
apiVersion: v1
kind: ConfigMap
metadata: {name: labelled}
data: {of: {{ $canary | quote }}, message: {{ .Values.message | default \"a\" | quote }}}
";
    bench.add_template("list.yaml", list);
    lane.start().await;
    bench.apply_web("shop", json!({})).await;
    bench.wait_revision("shop", 1).await;
    lane.kill().await;
    secret("another one").await;
    lane.proxy.inject(refusing());
    bench.apply_web("shop", json!({"message": "b"})).await;
    lane.start().await;
    wait_untold(&lane).await;
    lane.stop().await;
}

/// Objects that are called after what was looked up.
const NAMED: &str = "
{{- $name := dig \"data\" \"canary\" \"\" (lookup \"v1\" \"Secret\" .Release.Namespace \"existing\") | b64dec }}
apiVersion: v1
kind: ConfigMap
metadata: {name: {{ $name }}}
data: {of: chart}
---
apiVersion: v1
kind: PersistentVolumeClaim
metadata: {name: {{ $name }}-claim}
spec:
  storageClassName: none-such
  accessModes: [ReadWriteOnce]
  resources: {requests: {storage: 1Gi}}
";

/// What the operator has said in events.
async fn own_events(bench: &Bench) -> Vec<String> {
    let events = bench.api("", "v1", "Event", "events");
    let events = events.list(&Default::default()).await.unwrap();
    let own = events
        .items
        .iter()
        .filter(|event| event.data["source"]["component"] == "steersman");
    own.map(|event| format!("{} {}", event.data["reason"], event.data["message"]))
        .collect()
}

#[tokio::test]
async fn names_that_were_looked_up_are_masked_in_events_and_conditions() {
    let Some(bench) = Bench::with_kind("names_that_were_looked_up").await else {
        return;
    };
    set_secret(&bench, CANARY, 0).await;
    bench.add_template("named.yaml", NAMED);
    let operator = bench.ready_operator().await;
    bench.apply_web("shop", json!({})).await;
    let said = async |kind: &str, words: &str| {
        let is_told = |web: &Value| {
            let (_, _, message) = condition(web, kind)?;
            message.contains(words).then(|| web.to_string())
        };
        let web = bench.wait("the message", &bench.webs(), "shop", is_told).await;
        assert!(!web.contains(CANARY), "{web}");
        assert!(web.contains("********"), "{web}");
    };
    said("Ready", "********-claim: ").await;
    let patch = json!({"metadata": {"finalizers": ["example.com/stays"]}, "data": {"of": "others"}});
    let parameters = PatchParams::default();
    let maps = bench.config_maps();
    maps.patch(CANARY, &parameters, &Patch::Merge(patch))
        .await
        .unwrap();
    let restored = bench.wait_event("DriftCorrected").await;
    assert!(restored.contains("ConfigMap "), "{restored}");
    bench.delete_web("shop").await;
    said("Ready", "Still there: ConfigMap ").await;
    let events = own_events(&bench).await;
    assert_eq!(events.iter().find(|event| event.contains(CANARY)), None);
    let log = operator.log_text();
    assert_eq!(log.lines().find(|line| line.contains(CANARY)), None);
    let patch = json!({"metadata": {"finalizers": null}});
    maps.patch(CANARY, &parameters, &Patch::Merge(patch))
        .await
        .unwrap();
    bench.wait_gone(&bench.webs(), "shop").await;
    operator.stop().await.unwrap();
}

#[tokio::test]
async fn the_name_of_what_is_looked_up_is_masked_in_the_log() {
    let Some(bench) = Bench::with_kind("name_of_a_lookup").await else {
        return;
    };
    let group = &bench.group;
    bench.watches(&format!(
        "- {{group: {group}, version: v1, kind: Web, chart: web, reconcilePeriod: 1s}}\n"
    ));
    set_secret(&bench, CANARY, 0).await;
    let named = "
{{- $name := dig \"data\" \"canary\" \"\" (lookup \"v1\" \"Secret\" .Release.Namespace \"existing\") | b64dec }}
{{- $found := lookup \"v1\" \"ConfigMap\" .Release.Namespace $name }}
apiVersion: v1
kind: ConfigMap
metadata: {name: by-name}
data: {of: {{ dig \"data\" \"of\" \"none\" $found | quote }}}
";
    bench.add_template("by-name.yaml", named);
    let operator = bench.ready_operator().await;
    bench.apply_web("shop", json!({})).await;
    bench.wait_revision("shop", 1).await;
    let map = json!({"apiVersion": "v1", "kind": "ConfigMap", "data": {"of": "others"},
        "metadata": {"name": CANARY, "namespace": bench.namespace}});
    bench.cluster.apply_object(&map).await.unwrap();
    wait_for_line(&operator, "what the chart looks up has changed").await;
    bench.wait_revision("shop", 2).await;
    let log = operator.log_text();
    assert_eq!(log.lines().find(|line| line.contains(CANARY)), None);
    let said = log
        .lines()
        .find(|line| line.contains("looks up has changed"))
        .unwrap();
    assert!(said.contains("ConfigMap ") && said.contains("********"), "{said}");
    bench
        .config_maps()
        .delete(CANARY, &DeleteParams::default())
        .await
        .unwrap();
    operator.stop().await.unwrap();
}

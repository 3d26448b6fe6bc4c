//! Fields that can't be changed are named, and their objects replaced where that is asked for.

use kube::api::{DeleteParams, Patch, PatchParams};
use serde_json::{Value, json};

use crate::bench::{Bench, condition};

const FORCE: &str = "helm.sdk.operatorframework.io/upgrade-force";

#[tokio::test]
async fn a_field_that_cannot_change_is_named_and_its_object_replaced_on_request() {
    let Some(bench) = Bench::with_kind("immutable").await else {
        return;
    };
    let app = "app: {{ .Values.app | default .Release.Name }}";
    bench.edit("workload.yaml", "app: {{ .Release.Name }}", app);
    let operator = bench.ready_operator().await;
    bench.apply_web("shop", json!({})).await;
    bench.wait_revision("shop", 1).await;
    let uid = |object: kube::api::DynamicObject| object.metadata.uid.unwrap();
    let deployment = uid(bench.deployments().get("shop").await.unwrap());
    let service = uid(bench.services().get("shop").await.unwrap());

    bench.apply_web("shop", json!({"app": "other"})).await;
    let (status, _, message) = bench.wait_failed("shop", "Stalled").await;
    assert_eq!(status, "True");
    let expected = format!(
        "failed to apply Deployment {}/shop: spec.selector can't be changed in place; undo the change, or set the \
         annotation {FORCE}: \"True\"",
        bench.namespace
    );
    assert!(message.contains(&expected), "{message}");
    assert_eq!(bench.revisions().await, ["1 deployed", "2 failed"]);
    assert_eq!(uid(bench.deployments().get("shop").await.unwrap()), deployment);

    let annotations = json!({"metadata": {"annotations": {FORCE: "True"}}});
    bench.patch_web("shop", annotations).await;
    let web = bench.wait_revision("shop", 2).await;
    assert_eq!(condition(&web, "Stalled"), None);
    assert_eq!(bench.revisions().await, ["1 superseded", "2 deployed"]);
    let now = bench.deployments().get("shop").await.unwrap();
    assert_eq!(now.data["spec"]["selector"]["matchLabels"]["app"], "other");
    assert_ne!(uid(now), deployment);
    assert_eq!(
        uid(bench.services().get("shop").await.unwrap()),
        service,
        "only what can't be changed"
    );
    let events = bench.events().await;
    assert!(events.contains("ObjectRecreated"), "{events}");
    operator.stop().await.unwrap();
}

#[tokio::test]
async fn nothing_is_replaced_with_which_data_would_go_or_that_would_not_come_back() {
    let Some(bench) = Bench::with_kind("immutable").await else {
        return;
    };
    let app = "app: {{ .Values.app | default .Release.Name }}";
    bench.edit("workload.yaml", "app: {{ .Release.Name }}", app);
    bench.edit(
        "workload.yaml",
        "- name: web",
        "- name: {{ .Values.container | default \"web\" }}",
    );
    bench.add_template(
        "claim.yaml",
        "apiVersion: v1\nkind: PersistentVolumeClaim\nmetadata: {name: data}\nspec:\n  storageClassName: {{ .Values.class | \
         default \"slow\" }}\n  accessModes: [ReadWriteOnce]\n  resources: {requests: {storage: 1Gi}}\n",
    );
    let operator = bench.ready_operator().await;
    bench.apply_web("shop", json!({})).await;
    bench.wait_revision("shop", 1).await;
    let annotations = json!({"metadata": {"annotations": {FORCE: "True"}}});
    bench.patch_web("shop", annotations).await;

    bench.apply_web("shop", json!({"class": "fast"})).await;
    let (_, _, message) = bench.wait_failed("shop", "ReleaseFailed").await;
    assert!(
        message.contains(
            "/data: spec can't be changed in place; it is not deleted, as what it holds would be lost"
        ),
        "{message}"
    );
    let before = bench.deployments().get("shop").await.unwrap().metadata.uid;
    bench
        .apply_web("shop", json!({"app": "other", "container": "Not A Name"}))
        .await;
    let (_, _, message) = bench.wait_failed("shop", "ReleaseFailed").await;
    assert!(
        message.contains("spec.template.spec.containers[0].name"),
        "{message}"
    );
    assert_eq!(
        bench.deployments().get("shop").await.unwrap().metadata.uid,
        before
    );
    operator.stop().await.unwrap();
}

/// Objects with fields of their own that can't be changed; `choice` changes them.
const CHOICES: &str = r#"apiVersion: batch/v1
kind: Job
metadata: {name: task}
spec: {template: {spec: {restartPolicy: Never, containers: [{name: task, image: "task:{{ .Values.task | default 1 }}"}]}}}
---
apiVersion: apps/v1
kind: StatefulSet
metadata: {name: store}
spec:
  serviceName: store
  selector: {matchLabels: {app: store}}
  template: {metadata: {labels: {app: store}}, spec: {containers: [{name: store, image: "store:1"}]}}
  volumeClaimTemplates:
  - metadata: {name: data}
    spec: {accessModes: [ReadWriteOnce], resources: {requests: {storage: "{{ .Values.storage | default "1Gi" }}"}}}
---
apiVersion: v1
kind: Service
metadata: {name: heads}
spec:
  {{- if .Values.headless }}
  clusterIP: None
  {{- end }}
  ports: [{port: 80}]
"#;

#[tokio::test]
async fn one_that_is_being_deleted_is_in_nobodys_way_for_ever() {
    let Some(bench) = Bench::with_kind("immutable").await else {
        return;
    };
    bench.add_template("choices.yaml", CHOICES);
    let operator = bench.ready_operator().await;
    bench.apply_web("shop", json!({})).await;
    bench.wait_revision("shop", 1).await;
    let jobs = bench.api("batch", "v1", "Job", "jobs");
    let holding = |finalizers: &[&str]| Patch::Merge(json!({"metadata": {"finalizers": finalizers}}));
    let parameters = PatchParams::default();
    let held = holding(&["example.com/hold"]);
    jobs.patch("task", &parameters, &held).await.unwrap();
    jobs.delete("task", &DeleteParams::background()).await.unwrap();

    bench.apply_web("shop", json!({"task": 2})).await;
    let says_so = |web: &Value| {
        let conditions = web.pointer("/status/conditions")?.to_string();
        conditions
            .contains("/task: an earlier one is being deleted")
            .then_some(())
    };
    bench
        .wait("what is waited for", &bench.webs(), "shop", says_so)
        .await;
    jobs.patch("task", &parameters, &holding(&[])).await.unwrap();
    bench.wait_revision("shop", 2).await;
    let task = jobs.get("task").await.unwrap();
    assert_eq!(
        task.data
            .pointer("/spec/template/spec/containers/0/image")
            .unwrap(),
        "task:2"
    );
    operator.stop().await.unwrap();
}

#[tokio::test]
async fn jobs_sets_and_services_are_named_with_what_cannot_change() {
    let Some(bench) = Bench::with_kind("immutable").await else {
        return;
    };
    bench.add_template("choices.yaml", CHOICES);
    let operator = bench.ready_operator().await;
    bench.apply_web("shop", json!({})).await;
    bench.wait_revision("shop", 1).await;
    let choices = [
        (
            json!({"task": 2}),
            "batch",
            "Job",
            "jobs",
            "task",
            "spec.template",
        ),
        (
            json!({"storage": "2Gi"}),
            "apps",
            "StatefulSet",
            "statefulsets",
            "store",
            "spec",
        ),
        (
            json!({"headless": true}),
            "",
            "Service",
            "services",
            "heads",
            "spec.clusterIPs[0]",
        ),
    ];
    for ((choice, group, kind, plural, name, field), revision) in choices.into_iter().zip(2..) {
        let api = bench.api(group, "v1", kind, plural);
        let before = api.get(name).await.unwrap().metadata.uid;
        bench.apply_web("shop", choice).await;
        let (status, _, message) = bench.wait_failed("shop", "Stalled").await;
        assert_eq!(status, "True");
        let said = format!(
            "failed to apply {kind} {}/{name}: {field} can't be changed in place",
            bench.namespace
        );
        assert!(message.contains(&said), "{said}\n{message}");
        assert_eq!(api.get(name).await.unwrap().metadata.uid, before);

        let force = |value: serde_json::Value| json!({"metadata": {"annotations": {FORCE: value}}});
        bench.patch_web("shop", force(json!("True"))).await;
        bench.wait_revision("shop", revision).await;
        assert_ne!(api.get(name).await.unwrap().metadata.uid, before, "{kind}");
        bench.patch_web("shop", force(json!(null))).await;
    }
    operator.stop().await.unwrap();
}

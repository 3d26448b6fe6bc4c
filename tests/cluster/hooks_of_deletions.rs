//! Hooks of the deletion of a release: what they need, and what runs no more.

use kube::api::ListParams;
use serde_json::{Value, json};
use steersman_testkit::cluster::Fault;

use crate::bench::Bench;
use crate::faults::lane::Lane;
use crate::hooks::finish_job_of;
use crate::hooks_made::{making, written_and_deleted};
use crate::hooks_under_way::{wait_started, wait_started_anew};
use crate::large::{add_maps, noise};

const NOTE: &str = "{{- if eq (.Values.note | default \"\") \"EVENT\" }}
apiVersion: v1
kind: List
metadata:
  annotations: {helm.sh/hook: EVENT}
items:
- apiVersion: GROUP/v1
  kind: Note
  metadata: {name: {{ .Release.Name }}-note}
- apiVersion: v1
  kind: ConfigMap
  metadata: {name: {{ .Release.Name }}-kept, annotations: {helm.sh/resource-policy: keep}}
- apiVersion: rbac.authorization.k8s.io/v1
  kind: ClusterRole
  metadata: {name: {{ .Release.Name }}-{{ .Release.Namespace }}}
{{- end }}
";

/// The kind may have gone with the release. What comes before a deletion is needed, and is waited for.
#[tokio::test]
async fn one_after_a_deletion_is_left_out_when_its_kind_is_gone() {
    let Some(bench) = Bench::with_kind("a_hook_of_a_kind_that_is_gone").await else {
        return;
    };
    bench.define("Note", "notes").await;
    let note = |on: &str| NOTE.replace("EVENT", on).replace("GROUP", &bench.group);
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
    // What is of a kind that is served runs.
    bench.config_maps().get("after-kept").await.unwrap();
    let role = format!("after-{}", bench.namespace);
    bench.wait_gone(&bench.cluster_roles(), &role).await;

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

const LAST: &str = "apiVersion: v1
kind: List
metadata:
  annotations: {helm.sh/hook: post-delete}
items:
- apiVersion: GROUP/v1
  kind: Note
  metadata: {name: {{ .Release.Name }}-note}
- apiVersion: batch/v1
  kind: Job
  metadata: {name: {{ .Release.Name }}-bye-job}
  spec:
    template:
      spec:
        restartPolicy: Never
        containers: [{name: bye, image: registry.example.com/bye:1}]
";

/// They stand in one document.
#[tokio::test]
async fn a_job_beside_an_object_of_a_kind_that_is_gone_is_waited_for_after_a_restart() {
    let Some(lane) = Lane::new("a_job_beside_a_kind_that_is_gone").await else {
        return;
    };
    let bench = &lane.bench;
    bench.define("Note", "notes").await;
    bench.add_template("last.yaml", &LAST.replace("GROUP", &bench.group));
    lane.start().await;
    bench.apply_web("shop", json!({})).await;
    bench.wait_revision("shop", 1).await;
    bench.delete_definition(&format!("notes.{}", bench.group)).await;
    bench.delete_web("shop").await;
    wait_started(bench, "shop-bye").await;
    lane.kill().await;
    lane.start().await;
    finish_job_of(bench, "shop-bye", "Complete").await;
    bench.wait_gone(&bench.webs(), "shop").await;
    assert_eq!(written_and_deleted(&lane, "shop-bye-job").0, 1);
    lane.stop().await;
}

#[tokio::test]
async fn what_hooks_have_made_goes_after_the_hooks_of_a_deletion() {
    let Some(lane) = making("what_hooks_made_goes_last").await else {
        return;
    };
    let bench = &lane.bench;
    let made = json!([
        {"name": "plain"}, {"name": "read", "on": "pre-install"}, {"name": "last", "on": "post-delete"}
    ]);
    let bye = json!({"name": "bye", "on": "post-delete", "weight": 1, "policy": "before-hook-creation,hook-failed"});
    bench
        .apply_web("shop", json!({"made": made, "jobs": [bye]}))
        .await;
    bench.wait_revision("shop", 1).await;
    bench.delete_web("shop").await;
    let first = wait_started(bench, "shop-bye").await;
    finish_job_of(bench, "shop-bye", "Failed").await;
    wait_started_anew(bench, "shop-bye", &first).await;
    bench.wait_gone(&bench.config_maps(), "shop-plain").await;
    assert!(bench.config_maps().get_opt("shop-read").await.unwrap().is_some());
    assert_eq!(written_and_deleted(&lane, "shop-last"), (1, 0));
    finish_job_of(bench, "shop-bye", "Complete").await;
    bench.wait_gone(&bench.webs(), "shop").await;
    for name in ["shop-read", "shop-last"] {
        bench.wait_gone(&bench.config_maps(), name).await;
    }
    lane.stop().await;
}

/// The older one would begin the deletion anew.
#[tokio::test]
async fn the_revision_that_knows_of_a_deletion_goes_last() {
    let Some(lane) = making("the_last_revision_goes_last").await else {
        return;
    };
    let bench = &lane.bench;
    let bye = json!({"name": "bye", "on": "pre-delete"});
    bench.apply_web("shop", json!({"jobs": [bye]})).await;
    bench.wait_revision("shop", 1).await;
    // Too large for one Secret.
    let mut noise = noise();
    add_maps(bench, &mut noise);
    bench.wait_revision("shop", 2).await;
    let parts = bench
        .secrets()
        .list(&ListParams::default().labels("steersman.dev/release=shop"))
        .await
        .unwrap();
    assert!(!parts.items.is_empty(), "the revision has no parts");
    lane.proxy.inject(
        Fault::on("delete", "secrets")
            .name("sh.helm.release.v1.shop.v1")
            .refuse(500),
    );
    bench.delete_web("shop").await;
    finish_job_of(bench, "shop-bye", "Complete").await;
    bench.wait_gone(&bench.webs(), "shop").await;
    assert_eq!(written_and_deleted(&lane, "shop-bye-job").0, 1);
    lane.stop().await;
}

const DEFINED: &str = "apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata:
  name: lates.GROUP
  annotations: {helm.sh/hook: post-delete, helm.sh/hook-weight: \"-1\"}
spec:
  group: GROUP
  scope: Namespaced
  names: {kind: Late, plural: lates}
  versions:
  - {name: v1, served: true, storage: true, schema: {openAPIV3Schema: {type: object}}}
---
apiVersion: GROUP/v1
kind: Late
metadata:
  name: {{ .Release.Name }}-late
  annotations: {helm.sh/hook: post-delete}
---
apiVersion: GROUP/v1
kind: Never
metadata:
  name: {{ .Release.Name }}-never
  annotations: {helm.sh/hook: post-delete}
---
apiVersion: v1
kind: ConfigMap
metadata:
  annotations: {helm.sh/hook: pre-rollback}
";

#[tokio::test]
async fn those_of_kinds_that_are_gone_and_without_a_name_hold_no_deletion_up() {
    let Some(lane) = Lane::new("a_hook_defines_a_kind").await else {
        return;
    };
    let bench = &lane.bench;
    bench.add_template("defined.yaml", &DEFINED.replace("GROUP", &bench.group));
    lane.start().await;
    bench.apply_web("shop", json!({})).await;
    bench.wait_revision("shop", 1).await;
    bench.delete_web("shop").await;
    bench.wait_gone(&bench.webs(), "shop").await;
    assert_eq!(written_and_deleted(&lane, "shop-late").0, 1);
    bench.delete_definition(&format!("lates.{}", bench.group)).await;
    lane.stop().await;
}

//! An object that says itself that it is to be kept (`helm.sh/resource-policy: keep`) stays, whatever its release wants.

use kube::api::{Api, DeleteParams, DynamicObject, Patch, PatchParams, PropagationPolicy};
use serde_json::{Value, json};
use steersman_testkit::cluster::Fault;

use crate::bench::{Bench, condition};
use crate::developer::{Developer, contains_all};
use crate::hooks::finish_job;

const FORCE: &str = "helm.sdk.operatorframework.io/upgrade-force";

/// Annotates a live object, as a person does.
async fn keep(api: &Api<DynamicObject>, name: &str) -> Option<String> {
    let patch = json!({"metadata": {"annotations": {"helm.sh/resource-policy": "keep"}}});
    let kept = api
        .patch(name, &PatchParams::default(), &Patch::Merge(patch))
        .await
        .unwrap();
    kept.metadata.uid
}

/// Waits until an object carries nothing of its former resource, and checks that it is the one that was kept.
async fn is_free(bench: &Bench, api: &Api<DynamicObject>, name: &str, uid: Option<&str>) {
    let found = bench
        .wait("an object without an owner", api, name, |found| {
            let metadata = &found["metadata"];
            let label = metadata["labels"].get("steersman.dev/owner-uid");
            let is_free = label.is_none() && metadata.get("ownerReferences").is_none();
            (metadata.is_object() && is_free).then(|| metadata.clone())
        })
        .await;
    assert_eq!(found["uid"].as_str(), uid, "{name}");
    assert_eq!(found.get("deletionTimestamp"), None, "{name}");
}

#[tokio::test(flavor = "multi_thread")]
async fn what_says_itself_that_it_is_kept_is_neither_pruned_nor_uninstalled() {
    let Some(bench) = Bench::with_kind("keeping").await else {
        return;
    };
    let operator = bench.ready_operator().await;
    bench.apply_web("shop", json!({"extra": true})).await;
    bench.wait_revision("shop", 1).await;
    let (maps, roles) = (bench.config_maps(), bench.cluster_roles());
    let extra = keep(&maps, "shop-extra").await;
    let developer = Developer::of(&bench).await;
    developer.write_resource(&json!({}));
    let said = developer.check(&["diff", "-f", "shop.yaml"], 1);
    contains_all(&said, &[" 0 deleted"]);
    bench.apply_web("shop", json!({})).await;
    bench.wait_revision("shop", 2).await;
    is_free(&bench, &maps, "shop-extra", extra.as_deref()).await;

    let role = format!("{}-shop", bench.namespace);
    let (config, kept_role) = (keep(&maps, "shop-config").await, keep(&roles, &role).await);
    bench.delete_web("shop").await;
    bench.wait_gone(&bench.webs(), "shop").await;
    bench.wait_gone(&bench.services(), "shop").await;
    is_free(&bench, &maps, "shop-config", config.as_deref()).await;
    is_free(&bench, &roles, &role, kept_role.as_deref()).await;
    operator.stop().await.unwrap();
    bench
        .cluster
        .kubectl(&["delete", "clusterrole", &role])
        .await
        .unwrap();
}

/// The garbage collector deletes what has an owner before the operator does anything.
#[tokio::test]
async fn what_the_chart_keeps_outlives_a_deletion_in_the_foreground() {
    let Some(bench) = Bench::with_kind("keeping").await else {
        return;
    };
    bench.add_template(
        "kept.yaml",
        "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: kept, annotations: {helm.sh/resource-policy: keep}}\n---\n\
         apiVersion: v1\nkind: ConfigMap\nmetadata: {name: kept-hook, annotations: {helm.sh/resource-policy: keep, \
         helm.sh/hook: pre-install}}\n",
    );
    let operator = bench.ready_operator().await;
    bench.apply_web("shop", json!({})).await;
    bench.wait_revision("shop", 1).await;
    let maps = bench.config_maps();
    let uid = async |name: &str| maps.get(name).await.unwrap().metadata.uid;
    let (object, hook) = (uid("kept").await, uid("kept-hook").await);
    let parameters = DeleteParams {
        propagation_policy: Some(PropagationPolicy::Foreground),
        ..DeleteParams::default()
    };
    bench.webs().delete("shop", &parameters).await.unwrap();
    bench.wait_gone(&bench.webs(), "shop").await;
    bench.wait_gone(&maps, "shop-config").await;
    is_free(&bench, &maps, "kept", object.as_deref()).await;
    is_free(&bench, &maps, "kept-hook", hook.as_deref()).await;
    operator.stop().await.unwrap();
}

/// The annotation is written in the moment of the deletion, and its event comes late.
#[tokio::test]
async fn what_is_kept_at_the_last_moment_stays() {
    let Some(lane) = crate::faults::Lane::ready("what_is_kept_at_the_last_moment").await else {
        return;
    };
    let bench = &lane.bench;
    bench.apply_web("shop", json!({})).await;
    bench.wait_revision("shop", 1).await;
    let watch = Fault::on("watch", "configmaps").name("shop-config");
    let held = lane.proxy.inject(watch.hold_event("MODIFIED"));
    let maps = bench.config_maps();
    let uid = keep(&maps, "shop-config").await;
    bench.delete_web("shop").await;
    bench.wait_gone(&bench.webs(), "shop").await;
    lane.proxy.take_back(held);
    is_free(bench, &maps, "shop-config", uid.as_deref()).await;
    lane.stop().await;
}

#[tokio::test]
async fn the_newest_revision_that_names_an_object_says_whether_it_is_kept() {
    let Some(bench) = Bench::with_kind("keeping").await else {
        return;
    };
    bench.add_template(
        "policy.yaml",
        "{{- if .Values.policy }}\napiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: policy\n  annotations: \
         {helm.sh/resource-policy: {{ .Values.policy }}}\n{{- end }}\n",
    );
    let operator = bench.ready_operator().await;
    let maps = bench.config_maps();
    for (first, second, stays) in [("none", "keep", true), ("keep", "none", false)] {
        bench.apply_web("shop", json!({"policy": first})).await;
        bench.wait_revision("shop", 1).await;
        bench.apply_web("shop", json!({"policy": second})).await;
        bench.wait_revision("shop", 2).await;
        let uid = maps.get("policy").await.unwrap().metadata.uid;
        bench.delete_web("shop").await;
        bench.wait_gone(&bench.webs(), "shop").await;
        if stays {
            is_free(&bench, &maps, "policy", uid.as_deref()).await;
            maps.delete("policy", &Default::default()).await.unwrap();
        } else {
            bench.wait_gone(&maps, "policy").await;
        }
    }
    operator.stop().await.unwrap();
}

#[tokio::test]
async fn what_says_itself_that_it_is_kept_is_not_replaced() {
    let Some(bench) = Bench::with_kind("keeping").await else {
        return;
    };
    let app = "app: {{ .Values.app | default .Release.Name }}";
    bench.edit("workload.yaml", "app: {{ .Release.Name }}", app);
    let operator = bench.ready_operator().await;
    bench.apply_web("shop", json!({})).await;
    bench.wait_revision("shop", 1).await;
    let uid = keep(&bench.deployments(), "shop").await;
    let force = json!({"metadata": {"annotations": {FORCE: "True"}}});
    bench.patch_web("shop", force).await;
    bench.apply_web("shop", json!({"app": "other"})).await;
    let (_, _, message) = bench.wait_failed("shop", "ReleaseFailed").await;
    assert!(
        message.contains(
            "/shop: spec.selector can't be changed in place; its annotation helm.sh/resource-policy keeps it"
        ),
        "{message}"
    );
    assert_eq!(bench.deployments().get("shop").await.unwrap().metadata.uid, uid);
    operator.stop().await.unwrap();
}

#[tokio::test]
async fn what_says_itself_that_it_is_kept_outlives_an_installation_that_is_undone() {
    let Some(bench) = Bench::with_kind("keeping").await else {
        return;
    };
    bench.edit("hooks.yaml", "pre-install,pre-delete", "post-install");
    let operator = bench.operator_with(&["--rollback-on-failure"]).await;
    bench.apply_web("shop", json!({"hooks": true})).await;
    let maps = bench.config_maps();
    let jobs = bench.api("batch", "v1", "Job", "jobs");
    bench
        .wait("the hook", &jobs, "shop-job", |job| job.is_object().then_some(()))
        .await;
    let uid = keep(&maps, "shop-config").await;
    finish_job(&bench, "Failed").await;
    bench
        .wait("the removal", &bench.webs(), "shop", |web| {
            let (_, _, message) = condition(web, "ReleaseFailed")?;
            message.contains("what it has installed is removed").then_some(())
        })
        .await;
    bench.wait_gone(&bench.services(), "shop").await;
    is_free(&bench, &maps, "shop-config", uid.as_deref()).await;
    operator.stop().await.unwrap();
}

/// Hooks that run before each revision and that no policy keeps.
const HOOKS: &str = r#"
{{- range $kind, $more := dict "ConfigMap" "" "Job" "spec: {backoffLimit: 0, template: {spec: {restartPolicy: Never, containers: [{name: job, image: 'job:1'}]}}}" }}
---
apiVersion: {{ if eq $kind "Job" }}batch/v1{{ else }}v1{{ end }}
kind: {{ $kind }}
metadata:
  name: {{ $.Release.Name }}-{{ lower $kind }}
  annotations: {helm.sh/hook: "pre-install,pre-upgrade"}
{{ $more }}
{{- end }}
"#;

#[tokio::test]
async fn what_a_hook_has_made_is_kept_from_its_delete_policy_too() {
    let Some(bench) = Bench::with_kind("keeping").await else {
        return;
    };
    bench.add_template("before.yaml", HOOKS);
    let operator = bench.ready_operator().await;
    let (maps, jobs) = (bench.config_maps(), bench.api("batch", "v1", "Job", "jobs"));
    bench.apply_web("shop", json!({})).await;
    finish_job(&bench, "Complete").await;
    bench.wait_revision("shop", 1).await;
    let uid = keep(&maps, "shop-configmap").await;
    let job = keep(&jobs, "shop-job").await;

    // A Job can't run again where it is kept.
    bench.apply_web("shop", json!({"message": "again"})).await;
    let (_, _, message) = bench.wait_failed("shop", "ReleaseFailed").await;
    assert!(
        message.contains(
            "shop-job exists already, and its annotation helm.sh/resource-policy keeps it; delete it"
        ),
        "{message}"
    );
    assert_eq!(maps.get("shop-configmap").await.unwrap().metadata.uid, uid);
    assert_eq!(jobs.get("shop-job").await.unwrap().metadata.uid, job);
    jobs.delete("shop-job", &DeleteParams::background())
        .await
        .unwrap();
    bench
        .wait("another job", &jobs, "shop-job", |found| {
            let uid = found.pointer("/metadata/uid").and_then(Value::as_str)?;
            (Some(uid) != job.as_deref()).then_some(())
        })
        .await;
    finish_job(&bench, "Complete").await;
    bench.wait_revision("shop", 2).await;

    bench.delete_web("shop").await;
    bench.wait_gone(&bench.webs(), "shop").await;
    bench.wait_gone(&jobs, "shop-job").await;
    is_free(&bench, &maps, "shop-configmap", uid.as_deref()).await;
    operator.stop().await.unwrap();
}
/// A hook's object may be what the release lives on: a password that was made once, a claim with data.
#[tokio::test]
async fn what_hooks_have_made_stays_with_the_objects_of_an_orphaned_release() {
    let Some(bench) = Bench::with_kind("keeping").await else {
        return;
    };
    bench.add_template(
        "made.yaml",
        "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: {{ .Release.Name }}-made-{{ .Values.message }}\n  annotations: \
         {helm.sh/hook: 'pre-install,pre-upgrade'}\n",
    );
    let operator = bench.operator_with(&["--history-max=1"]).await;
    let maps = bench.config_maps();
    let mut made = Vec::new();
    for (turn, message) in [(1, "old"), (2, "new")] {
        bench.apply_web("shop", json!({"message": message})).await;
        bench.wait_revision("shop", turn).await;
        let name = format!("shop-made-{message}");
        made.push((name.clone(), maps.get(&name).await.unwrap().metadata.uid));
    }
    assert_eq!(bench.revisions().await, ["2 deployed"]);
    let policy = json!({"metadata": {"annotations": {"steersman.dev/deletion-policy": "orphan"}}});
    bench.patch_web("shop", policy).await;
    bench.delete_web("shop").await;
    bench.wait_gone(&bench.webs(), "shop").await;
    // The finalizer goes last.
    for (name, uid) in made {
        is_free(&bench, &maps, &name, uid.as_deref()).await;
    }
    operator.stop().await.unwrap();
}

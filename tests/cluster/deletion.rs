//! Who may delete: what proves that an object is ours, and which of our objects are meant.

use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use kube::api::{Api, DynamicObject, Patch, PatchParams};
use serde_json::{Value, json};

use crate::bench::{Bench, condition};
use crate::developer::{Developer, contains_all};

/// Makes a copy of an object under another name, with its labels and annotations, as controllers do.
async fn copy(api: &Api<DynamicObject>, name: &str, copied_as: &str) -> Option<String> {
    let original = api.get(name).await.unwrap();
    let copied = DynamicObject {
        metadata: ObjectMeta {
            name: Some(copied_as.to_owned()),
            labels: original.metadata.labels,
            annotations: original.metadata.annotations,
            ..ObjectMeta::default()
        },
        ..original
    };
    let parameters = kube::api::PostParams {
        field_manager: Some("external-secrets".to_owned()),
        ..Default::default()
    };
    let created = api.create(&parameters, &copied).await.unwrap();
    created.metadata.uid
}

async fn is_untouched(api: &Api<DynamicObject>, name: &str, uid: Option<&str>) {
    let found = api.get(name).await.unwrap().metadata;
    assert_eq!(found.uid.as_deref(), uid, "{name}");
    assert_eq!(found.deletion_timestamp, None, "{name}");
}

#[tokio::test]
async fn what_controllers_have_copied_our_label_to_is_not_deleted() {
    let Some(bench) = Bench::with_kind("deletion").await else {
        return;
    };
    let operator = bench.ready_operator().await;
    bench.apply_web("shop", json!({"extra": true})).await;
    bench.wait_revision("shop", 1).await;
    let (maps, roles) = (bench.config_maps(), bench.cluster_roles());
    let role = format!("{}-shop", bench.namespace);
    let role_copy = format!("{role}-copy");
    let of_role = copy(&roles, &role, &role_copy).await;
    let of_config = copy(&maps, "shop-config", "copy").await;
    bench.apply_web("shop", json!({})).await;
    bench.wait_revision("shop", 2).await;
    bench.wait_gone(&maps, "shop-extra").await;
    // One that has taken the name of an object that an earlier revision had.
    let of_extra = copy(&maps, "shop-config", "shop-extra").await;
    operator.stop().await.unwrap();

    // By the watch's first list, and by its events.
    let operator = bench.ready_operator().await;
    bench.apply_web("shop", json!({"message": "bye"})).await;
    bench.wait_revision("shop", 3).await;
    let of_secret = copy(&bench.secrets(), "shop-secret", "later").await;
    bench.delete_web("shop").await;
    bench.wait_gone(&bench.webs(), "shop").await;
    bench.wait_gone(&maps, "shop-config").await;
    is_untouched(&maps, "copy", of_config.as_deref()).await;
    is_untouched(&maps, "shop-extra", of_extra.as_deref()).await;
    is_untouched(&bench.secrets(), "later", of_secret.as_deref()).await;
    is_untouched(&roles, &role_copy, of_role.as_deref()).await;
    operator.stop().await.unwrap();
    bench
        .cluster
        .kubectl(&["delete", "clusterrole", &role_copy])
        .await
        .unwrap();
}

/// Whoever takes the notes of managers off an object leaves nothing that proves our label.
#[tokio::test]
async fn an_object_that_nothing_proves_to_be_ours_any_longer_is_applied_again() {
    let Some(bench) = Bench::with_kind("deletion").await else {
        return;
    };
    let operator = bench.ready_operator().await;
    bench.apply_web("shop", json!({})).await;
    bench.wait_revision("shop", 1).await;
    let (maps, roles) = (bench.config_maps(), bench.cluster_roles());
    let role = format!("{}-shop", bench.namespace);
    for (api, name) in [(&maps, "shop-config"), (&roles, role.as_str())] {
        let uid = api.get(name).await.unwrap().metadata.uid;
        let patch = Patch::Merge(json!({"metadata": {"managedFields": [{}]}}));
        api.patch(name, &PatchParams::default(), &patch).await.unwrap();
        let healed = bench
            .wait("our entry", api, name, |found| {
                let entries = found.pointer("/metadata/managedFields")?.as_array()?;
                let is_ours =
                    |entry: &Value| entry["manager"] == "steersman" && entry["operation"] == "Apply";
                entries
                    .iter()
                    .any(is_ours)
                    .then(|| found["metadata"]["uid"].clone())
            })
            .await;
        assert_eq!(healed.as_str(), uid.as_deref(), "{name}");
    }
    bench.delete_web("shop").await;
    bench.wait_gone(&bench.webs(), "shop").await;
    bench.wait_gone(&roles, &role).await;
    operator.stop().await.unwrap();
}

/// The same event under both of its API groups.
const EVENT: &str = r#"
{{- range .Values.events }}
---
apiVersion: {{ .version }}
kind: Event
metadata:
  name: {{ .name }}
  annotations: {helm.sh/resource-policy: {{ .policy | default "delete" }}}
eventTime: "2026-01-01T00:00:00.000000Z"
action: Told
reason: Told
reportingInstance: test
type: Normal
{{- if eq .version "v1" }}
reportingComponent: test
message: told
involvedObject: {kind: Namespace, name: {{ $.Release.Namespace }}, namespace: {{ $.Release.Namespace }}}
{{- else }}
reportingController: test
note: told
regarding: {kind: Namespace, name: {{ $.Release.Namespace }}, namespace: {{ $.Release.Namespace }}}
{{- end }}
{{- end }}
"#;

#[tokio::test(flavor = "multi_thread")]
async fn what_was_applied_under_another_api_group_is_not_pruned() {
    let Some(bench) = Bench::with_kind("deletion").await else {
        return;
    };
    bench.add_template("event.yaml", EVENT);
    let event =
        |name: &str, version: &str, policy: &str| json!({"name": name, "version": version, "policy": policy});
    let events = |version: &str| {
        vec![
            event("shop-event", version, ""),
            event("shop-kept", version, "keep"),
        ]
    };
    let operator = bench.ready_operator().await;
    let mut first = events("v1");
    first.push(event("shop-gone", "v1", ""));
    bench.apply_web("shop", json!({"events": first})).await;
    bench.wait_revision("shop", 1).await;
    let api = bench.api("events.k8s.io", "v1", "Event", "events");
    let before = [api.get("shop-event").await, api.get("shop-kept").await];
    let before = before.map(|event| event.unwrap().metadata.uid);

    let developer = Developer::of(&bench).await;
    let second = json!({"events": events("events.k8s.io/v1")});
    developer.write_resource(&second);
    let said = developer.check(&["diff", "-f", "shop.yaml"], 1);
    contains_all(&said, &[" 1 deleted", "Event NS/shop-gone"]);
    bench.apply_web("shop", second).await;
    bench.wait_revision("shop", 2).await;
    bench.wait_gone(&api, "shop-gone").await;
    for (name, uid) in ["shop-event", "shop-kept"].into_iter().zip(before) {
        is_untouched(&api, name, uid.as_deref()).await;
        let labels = api.get(name).await.unwrap().metadata.labels.unwrap();
        assert!(
            labels.contains_key("steersman.dev/owner-uid"),
            "{name} is still ours"
        );
    }
    bench.delete_web("shop").await;
    bench.wait_gone(&bench.webs(), "shop").await;
    bench.wait_gone(&api, "shop-event").await;
    operator.stop().await.unwrap();
}

#[tokio::test]
async fn what_carries_the_uid_goes_although_its_record_is_lost() {
    let Some(bench) = Bench::with_kind("deletion").await else {
        return;
    };
    let operator = bench.ready_operator().await;
    for name in ["shop", "other"] {
        bench.apply_web(name, json!({"elsewhere": "kube-public"})).await;
        bench.wait_revision(name, 1).await;
    }
    operator.stop().await.unwrap();
    let lose = async |name: &str| {
        let secret = format!("sh.helm.release.v1.{name}.v1");
        bench
            .secrets()
            .delete(&secret, &Default::default())
            .await
            .unwrap();
        bench.delete_web(name).await;
    };
    let is_gone = async |name: &str| {
        bench.wait_gone(&bench.webs(), name).await;
        let role = format!("{}-{name}", bench.namespace);
        bench.wait_gone(&bench.cluster_roles(), &role).await;
        let maps = ["get", "configmaps", "-n", "kube-public", "-o", "name"];
        let maps = bench.cluster.kubectl(&maps).await.unwrap();
        assert!(!maps.contains(&format!("{role}-elsewhere")), "{maps}");
    };
    lose("shop").await;
    let operator = bench.ready_operator().await;
    is_gone("shop").await;
    bench.wait_revision("other", 1).await;

    // Each kind was looked at, and is not looked at again.
    let mark = bench.cluster.audit_mark().await.unwrap();
    lose("other").await;
    is_gone("other").await;
    let audit = bench.cluster.audit_since(mark).await.unwrap();
    let lists = audit
        .by_user(bench.user.name())
        .verb("list")
        .filter(|request| request.resource != "secrets");
    assert!(lists.is_empty(), "{lists}");
    operator.stop().await.unwrap();
}

/// A set whose claims go with it.
const SET: &str = r#"apiVersion: apps/v1
kind: StatefulSet
metadata: {name: store}
spec:
  serviceName: store
  persistentVolumeClaimRetentionPolicy: {whenDeleted: Delete, whenScaled: Delete}
  selector: {matchLabels: {app: {{ .Values.app | default "store" }}}}
  template:
    metadata: {labels: {app: {{ .Values.app | default "store" }}}}
    spec: {containers: [{name: store, image: "store:1"}]}
  volumeClaimTemplates:
  - metadata: {name: data}
    spec: {accessModes: [ReadWriteOnce], resources: {requests: {storage: "{{ .Values.storage | default "1Gi" }}"}}}
"#;

#[tokio::test]
async fn the_claims_and_pods_of_a_set_that_is_replaced_stay() {
    let Some(bench) = Bench::with_kind("deletion").await else {
        return;
    };
    bench.add_template("set.yaml", SET);
    let operator = bench.ready_operator().await;
    bench.apply_web("shop", json!({})).await;
    bench.wait_revision("shop", 1).await;
    let sets = bench.api("apps", "v1", "StatefulSet", "statefulsets");
    let claims = bench.api("", "v1", "PersistentVolumeClaim", "persistentvolumeclaims");
    let pods = bench.api("", "v1", "Pod", "pods");
    let owner = |found: &Value| {
        found
            .pointer("/metadata/ownerReferences/0/uid")?
            .as_str()
            .map(str::to_owned)
    };
    let first = sets.get("store").await.unwrap().metadata.uid;
    let mut before = Vec::new();
    for (api, name) in [(&claims, "data-store-0"), (&pods, "store-0")] {
        let of_first = |found: &Value| owner(found).filter(|uid| Some(uid) == first.as_ref());
        bench.wait("its set", api, name, of_first).await;
        before.push(api.get(name).await.unwrap().metadata.uid);
    }
    let force = json!({"metadata": {"annotations": {"helm.sdk.operatorframework.io/upgrade-force": "True"}}});
    bench.patch_web("shop", force).await;
    bench.apply_web("shop", json!({"storage": "2Gi"})).await;
    bench.wait_revision("shop", 2).await;
    let second = sets.get("store").await.unwrap().metadata.uid;
    assert_ne!(first, second);
    for ((api, name), uid) in [(&claims, "data-store-0"), (&pods, "store-0")]
        .into_iter()
        .zip(before)
    {
        let of_second = |found: &Value| owner(found).filter(|uid| Some(uid) == second.as_ref());
        bench.wait("the new set", api, name, of_second).await;
        is_untouched(api, name, uid.as_deref()).await;
    }

    // A set that would not adopt its pods stays.
    bench
        .apply_web("shop", json!({"storage": "2Gi", "app": "other"}))
        .await;
    let (_, _, message) = bench
        .wait("the refusal", &bench.webs(), "shop", |web| {
            condition(web, "ReleaseFailed").filter(|(_, _, message)| message.contains("StatefulSet"))
        })
        .await;
    assert!(
        message.contains("its pods stay as they are, and a set with this selector would not adopt them"),
        "{message}"
    );
    assert_eq!(sets.get("store").await.unwrap().metadata.uid, second);
    operator.stop().await.unwrap();
}

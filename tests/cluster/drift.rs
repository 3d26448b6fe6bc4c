//! Objects that somebody else changes are put back.

use std::time::Duration;

use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use kube::api::{Api, DeleteParams, DynamicObject, Patch, PatchParams};
use kube::core::{ApiResource, GroupVersionKind};
use serde_json::{Value, json};

use crate::bench::{Bench, condition, wait_for_line};

#[tokio::test]
async fn what_is_deleted_or_edited_comes_back() {
    let Some(bench) = Bench::with_kind("drift").await else {
        return;
    };
    let operator = bench.ready_operator().await;
    bench.apply_web("shop", json!({})).await;
    bench.wait_revision("shop", 1).await;
    let maps = bench.config_maps();
    let edit = |patch: Value| {
        (
            PatchParams {
                field_manager: Some("someone".to_owned()),
                ..PatchParams::default()
            },
            Patch::Merge(patch),
        )
    };

    let before = maps.get("shop-config").await.unwrap().metadata.uid;
    maps.delete("shop-config", &DeleteParams::default())
        .await
        .unwrap();
    bench
        .wait("a new object", &maps, "shop-config", |map| {
            map.pointer("/metadata/uid")
                .and_then(Value::as_str)
                .filter(|uid| Some(*uid) != before.as_deref())
                .map(|_| ())
        })
        .await;

    let (parameters, patch) = edit(json!({"data": {"message": "bye", "added": "theirs"}}));
    maps.patch("shop-config", &parameters, &patch).await.unwrap();
    let data = bench
        .wait("the message", &maps, "shop-config", |map| {
            (map["data"]["message"] == "hello").then(|| map["data"].clone())
        })
        .await;
    assert_eq!(
        data["added"], "theirs",
        "what the chart does not render is left alone"
    );

    let (parameters, patch) = edit(json!({"metadata": {"labels": {"tier": "other"}}}));
    maps.patch("shop-config", &parameters, &patch).await.unwrap();
    bench
        .wait("the label", &maps, "shop-config", |map| {
            (map["metadata"]["labels"]["tier"] == "config").then_some(())
        })
        .await;

    let (parameters, patch) = edit(json!({"metadata": {"labels": {"steersman.dev/owner-uid": null}}}));
    maps.patch("shop-config", &parameters, &patch).await.unwrap();
    bench
        .wait("the mark", &maps, "shop-config", |map| {
            map["metadata"]["labels"]["steersman.dev/owner-uid"]
                .as_str()
                .map(|_| ())
        })
        .await;

    let (parameters, patch) = edit(json!({"spec": {"replicas": 5}}));
    bench
        .deployments()
        .patch("shop", &parameters, &patch)
        .await
        .unwrap();
    bench
        .wait("one replica", &bench.deployments(), "shop", |deployment| {
            (deployment["spec"]["replicas"] == 1).then_some(())
        })
        .await;

    let ports: Patch<()> = Patch::Json(
        serde_json::from_value(json!([{"op": "replace", "path": "/spec/ports/0/port", "value": 81}]))
            .unwrap(),
    );
    bench
        .services()
        .patch("shop", &PatchParams::default(), &ports)
        .await
        .unwrap();
    bench
        .wait("the port", &bench.services(), "shop", |service| {
            let ports = service["spec"]["ports"].as_array()?;
            (ports.len() == 1 && ports[0]["port"] == 80).then_some(())
        })
        .await;

    assert_eq!(
        bench.revisions().await,
        ["1 deployed"],
        "drift is healed without another revision"
    );
    operator.stop().await.unwrap();
}

/// What is refused stays refused while what was deployed before it is put back, however often.
#[tokio::test]
async fn a_refused_spec_is_never_ready_while_others_keep_changing_objects() {
    let Some(bench) = Bench::with_kind("drift_of_a_refused_spec").await else {
        return;
    };
    bench.add_template(
        "bad.yaml",
        "{{ if .Values.bad }}{{ fail \"it is bad\" }}{{ end }}",
    );
    let operator = bench.ready_operator().await;
    bench.apply_web("shop", json!({})).await;
    bench.wait_revision("shop", 1).await;
    bench.apply_web("shop", json!({"bad": true})).await;
    bench.wait_stalled("shop").await;
    let fights = async || bench.events().await.contains("keeps changing");
    let (maps, mut number) = (bench.config_maps(), 0);
    while !fights().await {
        number += 1;
        edit(
            &maps,
            "shop-config",
            json!({"data": {"message": number.to_string()}}),
        )
        .await;
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
    for _ in 0..10 {
        let web = bench.webs().get("shop").await.unwrap().data;
        let (ready, _, message) = condition(&web, "Ready").unwrap();
        assert_eq!(ready, "False", "{message}");
        assert!(message.contains("it is bad"), "{message}");
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
    operator.stop().await.unwrap();
}

pub(crate) fn watch(bench: &Bench, drift_detection: &str) -> String {
    let group = &bench.group;
    format!("- {{group: {group}, version: v1, kind: Web, chart: web, driftDetection: {drift_detection}}}\n")
}

/// Merges `patch` into an object, as somebody else.
pub(crate) async fn edit(api: &Api<DynamicObject>, name: &str, patch: Value) {
    let parameters = PatchParams {
        field_manager: Some("someone".to_owned()),
        ..PatchParams::default()
    };
    api.patch(name, &parameters, &Patch::Merge(patch)).await.unwrap();
}

pub(crate) async fn replicas(bench: &Bench) -> Value {
    bench.deployments().get("shop").await.unwrap().data["spec"]["replicas"].clone()
}

#[tokio::test]
async fn objects_in_other_namespaces_and_in_none_come_back() {
    let Some(bench) = Bench::with_kind("drift").await else {
        return;
    };
    let other = bench.cluster.unique_namespace("elsewhere").await.unwrap();
    let operator = bench.ready_operator().await;
    bench.apply_web("shop", json!({ "elsewhere": other })).await;
    bench.wait_revision("shop", 1).await;
    let kind = ApiResource::from_gvk_with_plural(&GroupVersionKind::gvk("", "v1", "ConfigMap"), "configmaps");
    let maps: Api<DynamicObject> = Api::namespaced_with(bench.client.clone(), &other, &kind);
    let gvk = GroupVersionKind::gvk("rbac.authorization.k8s.io", "v1", "ClusterRole");
    let kind = ApiResource::from_gvk_with_plural(&gvk, "clusterroles");
    let roles: Api<DynamicObject> = Api::all_with(bench.client.clone(), &kind);
    let (map, role) = (
        format!("{}-shop-elsewhere", bench.namespace),
        format!("{}-shop", bench.namespace),
    );
    edit(&maps, &map, json!({"data": {"color": "red"}})).await;
    bench
        .wait("the color", &maps, &map, |map| {
            (map["data"]["color"] == "blue").then_some(())
        })
        .await;
    for (api, name) in [(&maps, &map), (&roles, &role)] {
        let marks = json!({"steersman.dev/owner-uid": null, "app.kubernetes.io/managed-by": "somebody"});
        edit(api, name, json!({"metadata": {"labels": marks}})).await;
        bench
            .wait("the marks", api, name, |found| {
                let labels = &found["metadata"]["labels"];
                let is_marked = labels["steersman.dev/owner-uid"].is_string();
                (is_marked && labels["app.kubernetes.io/managed-by"] == "Helm").then_some(())
            })
            .await;
        let before = api.get(name).await.unwrap().metadata.uid;
        api.delete(name, &DeleteParams::default()).await.unwrap();
        bench
            .wait("a new object", api, name, |found| {
                let uid = found["metadata"]["uid"].as_str()?;
                (Some(uid) != before.as_deref()).then_some(())
            })
            .await;
    }
    operator.stop().await.unwrap();
}

/// What the status says of drift that is not put back at once.
async fn wait_left(bench: &Bench) -> Value {
    let left = |web: &Value| web.pointer("/status/drift").cloned();
    bench
        .wait("drift in the status", &bench.webs(), "shop", left)
        .await
}

async fn wait_none_left(bench: &Bench) {
    let none = |web: &Value| web.pointer("/status/drift").is_none().then_some(());
    bench
        .wait("no drift in the status", &bench.webs(), "shop", none)
        .await;
}

#[tokio::test]
async fn drift_is_only_said_where_the_watch_wants_so() {
    let Some(bench) = Bench::with_kind("drift").await else {
        return;
    };
    bench.watches(&watch(&bench, "{mode: warn}"));
    let operator = bench.ready_operator().await;
    bench.apply_web("shop", json!({})).await;
    bench.wait_revision("shop", 1).await;
    edit(
        &bench.config_maps(),
        "shop-config",
        json!({"data": {"message": "theirs"}}),
    )
    .await;
    let said = bench.wait_event("DriftDetected").await;
    assert!(said.contains("shop-config was changed or deleted"), "{said}");
    let map = bench.config_maps().get("shop-config").await.unwrap();
    assert_eq!(map.data["data"]["message"], "theirs");
    let drift = wait_left(&bench).await;
    assert_eq!(drift["total"], 1);
    let object = drift["objects"][0].as_str().unwrap_or_default();
    assert!(object.contains("shop-config"), "{drift}");
    assert!(
        drift["message"].as_str().unwrap_or_default().contains("`warn`"),
        "{drift}"
    );
    // Another revision is the release's own affair.
    bench.apply_web("shop", json!({"message": "ours"})).await;
    bench.wait_revision("shop", 2).await;
    let map = bench.config_maps().get("shop-config").await.unwrap();
    assert_eq!(map.data["data"]["message"], "ours");
    wait_none_left(&bench).await;
    operator.stop().await.unwrap();

    bench.watches(&watch(&bench, "{mode: disabled}"));
    let operator = bench.ready_operator().await;
    bench
        .config_maps()
        .delete("shop-config", &DeleteParams::default())
        .await
        .unwrap();
    bench.apply_web("other", json!({})).await;
    bench.wait_revision("other", 1).await;
    let found = bench.config_maps().get_opt("shop-config").await.unwrap();
    assert!(found.is_none(), "healed although nobody looks");
    assert!(!operator.log_text().contains("drift:"));
    operator.stop().await.unwrap();
}

#[tokio::test]
async fn a_workload_that_is_scaled_by_others_from_now_on_keeps_its_number() {
    let Some(bench) = Bench::with_kind("drift").await else {
        return;
    };
    let operator = bench.ready_operator().await;
    bench.apply_web("shop", json!({"replicas": 4})).await;
    bench.wait_revision("shop", 1).await;
    let mark = bench.cluster.audit_mark().await.unwrap();
    bench
        .apply_web("shop", json!({"replicas": 4, "autoscaling": true}))
        .await;
    bench.wait_revision("shop", 2).await;
    assert_eq!(replicas(&bench).await, 4);
    // Its autoscaler, or a person.
    bench
        .cluster
        .kubectl(&["scale", "-n", &bench.namespace, "deployment/shop", "--replicas=7"])
        .await
        .unwrap();
    bench
        .apply_web("shop", json!({"autoscaling": true, "message": "later"}))
        .await;
    bench.wait_revision("shop", 3).await;
    assert_eq!(replicas(&bench).await, 7);
    let audit = bench.cluster.audit_since(mark).await.unwrap();
    let audit = audit.by_user(bench.user.name()).writes().resource("deployments");
    assert_eq!(audit.len(), 3, "a handover and two upgrades:\n{audit}");
    assert!(!operator.log_text().contains("corrected drift"));

    bench.apply_web("shop", json!({"replicas": 2})).await;
    bench.wait_revision("shop", 4).await;
    assert_eq!(replicas(&bench).await, 2);
    operator.stop().await.unwrap();
}

#[tokio::test]
async fn a_fight_over_a_value_is_said_and_slowed_down() {
    let Some(bench) = Bench::with_kind("drift").await else {
        return;
    };
    let operator = bench.ready_operator().await;
    bench.apply_web("shop", json!({})).await;
    bench.wait_revision("shop", 1).await;
    let maps = bench.config_maps();
    // Whoever finds our value writes theirs.
    for turn in 0..6 {
        edit(
            &maps,
            "shop-config",
            json!({"data": {"message": format!("theirs {turn}")}}),
        )
        .await;
        if turn < 5 {
            bench
                .wait("our message", &maps, "shop-config", |map| {
                    (map["data"]["message"] == "hello").then_some(())
                })
                .await;
        }
    }
    let said = bench.wait_event("DriftFight").await;
    assert!(
        said.contains("\"someone\" keeps changing ConfigMap") && said.contains("shop-config"),
        "{said}"
    );
    let map = maps.get("shop-config").await.unwrap();
    assert_eq!(map.data["data"]["message"], "theirs 5", "corrected at once");
    let drift = wait_left(&bench).await;
    assert!(
        drift["message"]
            .as_str()
            .unwrap_or_default()
            .contains("put back more slowly"),
        "{drift}"
    );
    // Other objects of the release do not wait for it.
    bench
        .secrets()
        .delete("shop-secret", &DeleteParams::default())
        .await
        .unwrap();
    bench
        .wait("the secret", &bench.secrets(), "shop-secret", |found| {
            found.get("data").map(|_| ())
        })
        .await;
    bench
        .wait("the slow correction", &maps, "shop-config", |map| {
            (map["data"]["message"] == "hello").then_some(())
        })
        .await;
    wait_none_left(&bench).await;
    operator.stop().await.unwrap();
}

/// The name of a manager is free text: whoever applies the same fields in ours changes the values, and whose the fields are
/// stays as it was.
#[tokio::test]
async fn what_is_applied_in_the_operators_name_is_put_back() {
    let Some(bench) = Bench::with_kind("drift").await else {
        return;
    };
    let operator = bench.released(json!({"message": "good"})).await;
    let maps = bench.config_maps();
    let forge = async |message: &str| {
        // The server notes the time of an apply in seconds.
        tokio::time::sleep(Duration::from_millis(1100)).await;
        let live = maps.get("shop-config").await.unwrap();
        let mut data = live.data["data"].clone();
        data["message"] = message.into();
        let metadata = &live.metadata;
        let forged = json!({"apiVersion": "v1", "kind": "ConfigMap", "data": data, "metadata": {"name": "shop-config",
            "labels": metadata.labels, "annotations": metadata.annotations, "ownerReferences": metadata.owner_references}});
        let parameters = PatchParams::apply("steersman").force();
        let forged = maps
            .patch("shop-config", &parameters, &Patch::Apply(forged))
            .await;
        let entries = |metadata: &ObjectMeta| {
            let entries = metadata.managed_fields.iter().flatten();
            let fields = entries.map(|entry| entry.fields_v1.clone().unwrap().0);
            fields.collect::<Vec<Value>>()
        };
        assert_eq!(
            entries(&forged.unwrap().metadata),
            entries(metadata),
            "the same fields"
        );
    };
    let is_good = async || {
        bench
            .wait("the message", &maps, "shop-config", |map| {
                (map["data"]["message"] == "good").then_some(())
            })
            .await;
    };
    forge("forged").await;
    is_good().await;
    wait_for_line(&operator, "corrected drift").await;
    operator.stop().await.unwrap();

    // What was put back is not put back again, and while nobody looks the same is seen later.
    let mark = bench.cluster.audit_mark().await.unwrap();
    let operator = bench.ready_operator().await;
    bench.apply_web("other", json!({})).await;
    bench.wait_revision("other", 1).await;
    operator.stop().await.unwrap();
    let audit = bench.cluster.audit_since(mark).await.unwrap();
    let audit = audit.by_user(bench.user.name()).writes().resource("configmaps");
    let again = audit.filter(|request| request.name == "shop-config");
    assert!(again.is_empty(), "{again}");
    forge("forged later").await;
    let operator = bench.ready_operator().await;
    is_good().await;
    operator.stop().await.unwrap();
}

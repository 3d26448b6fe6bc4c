//! How objects are applied, recognised and deleted.

use std::collections::BTreeSet;
use std::sync::Arc;

use k8s_openapi::api::core::v1::{ConfigMap, Service};
use kube::api::{Api, Patch, PatchParams};
use serde_json::{Value, json};
use steersman_cluster::Owner;
use steersman_cluster::discovery::Discovery;
use steersman_model::{Change, ObjectId, RenderedObject};
use steersman_operator::apply::{Applier, ApplyError, Deletion};
use steersman_operator::dependents::{Dependents, Interests};
use steersman_testkit::cluster::TestCluster;
use tokio_util::sync::CancellationToken;

/// An applier for a custom resource of its own, in a namespace of its own.
struct Bench {
    client: kube::Client,
    applier: Applier,
    owner: Owner,
    namespace: String,
}

impl Bench {
    async fn new(cluster: &TestCluster) -> Self {
        let client = cluster.client().await.unwrap();
        let namespace = cluster.unique_namespace("apply").await.unwrap();
        // Its UID must be a real object's, or the garbage collector deletes what it owns.
        let root: ConfigMap = serde_json::from_value(json!({"metadata": {"name": "owner"}})).unwrap();
        let maps: Api<ConfigMap> = Api::namespaced(client.clone(), &namespace);
        let root = maps.create(&Default::default(), &root).await.unwrap();
        let owner = Owner {
            api_version: "v1".to_owned(),
            kind: "ConfigMap".to_owned(),
            namespace: Some(namespace.clone()),
            name: "owner".to_owned(),
            uid: root.metadata.uid.unwrap(),
            chart: "web".to_owned(),
            release: "web".to_owned(),
            release_namespace: namespace.clone(),
        };
        let discovery = Arc::new(Discovery::new(client.clone()));
        let dependents = Dependents::new(
            client.clone(),
            Interests {
                charts: BTreeSet::from(["web".to_owned()]),
                ..Interests::default()
            },
            BTreeSet::new(),
            CancellationToken::new(),
        );
        let applier = Applier::new(client.clone(), discovery, Arc::new(dependents));
        Self {
            client,
            applier,
            owner,
            namespace,
        }
    }

    async fn apply(&self, object: Value) -> Result<Change, ApplyError> {
        let objects = RenderedObject::from_document("web/t.yaml", &object).unwrap();
        let changes = self.applier.apply(&self.owner, objects).await?;
        Ok(changes.into_values().next().unwrap().change)
    }

    fn id(&self, kind: &str, name: &str) -> ObjectId {
        ObjectId {
            group: String::new(),
            kind: kind.to_owned(),
            namespace: Some(self.namespace.clone()),
            name: name.to_owned(),
        }
    }
}

fn config_map(name: &str, data: Value) -> Value {
    json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name}, "data": data})
}

#[tokio::test]
async fn an_object_of_somebody_else_is_neither_written_nor_deleted() {
    let Some(cluster) = TestCluster::shared_or_skip("applying") else {
        return;
    };
    let bench = Bench::new(cluster).await;
    let maps: Api<ConfigMap> = Api::namespaced(bench.client.clone(), &bench.namespace);
    let theirs = serde_json::from_value(config_map("theirs", json!({"a": "1"}))).unwrap();
    maps.create(&Default::default(), &theirs).await.unwrap();

    let error = bench
        .apply(config_map("theirs", json!({"a": "2"})))
        .await
        .unwrap_err();
    assert!(
        error.to_string().starts_with(&format!(
            "ConfigMap {}/theirs exists and cannot be imported into the current release: invalid ownership \
             metadata; label validation error: missing key \"app.kubernetes.io/managed-by\"",
            bench.namespace
        )),
        "{error}"
    );
    let deletion = bench
        .applier
        .delete(&bench.owner, &bench.id("ConfigMap", "theirs"))
        .await
        .unwrap();
    assert!(matches!(deletion, Deletion::NotOurs(_)), "{deletion:?}");
    let live = maps.get("theirs").await.unwrap();
    assert_eq!(live.data.unwrap()["a"], "1");
}

#[tokio::test]
async fn an_object_of_a_helm_release_of_the_same_name_is_taken_over() {
    let Some(cluster) = TestCluster::shared_or_skip("applying") else {
        return;
    };
    let bench = Bench::new(cluster).await;
    let maps: Api<ConfigMap> = Api::namespaced(bench.client.clone(), &bench.namespace);
    let mut former = config_map("former", json!({"a": "1"}));
    former["metadata"]["labels"] = json!({"app.kubernetes.io/managed-by": "Helm"});
    former["metadata"]["annotations"] =
        json!({"meta.helm.sh/release-name": "web", "meta.helm.sh/release-namespace": bench.namespace});
    maps.create(&Default::default(), &serde_json::from_value(former).unwrap())
        .await
        .unwrap();

    assert_eq!(
        bench
            .apply(config_map("former", json!({"a": "2"})))
            .await
            .unwrap(),
        Change::Configured
    );
    assert_eq!(maps.get("former").await.unwrap().data.unwrap()["a"], "2");
}

#[tokio::test]
async fn an_object_is_created_applied_again_and_deleted() {
    let Some(cluster) = TestCluster::shared_or_skip("applying") else {
        return;
    };
    let bench = Bench::new(cluster).await;
    let maps: Api<ConfigMap> = Api::namespaced(bench.client.clone(), &bench.namespace);
    assert_eq!(
        bench.apply(config_map("ours", json!({"a": "1"}))).await.unwrap(),
        Change::Created
    );
    let first = maps.get("ours").await.unwrap();
    assert_eq!(
        bench.apply(config_map("ours", json!({"a": "1"}))).await.unwrap(),
        Change::Configured
    );
    let second = maps.get("ours").await.unwrap();
    assert_eq!(first.metadata.resource_version, second.metadata.resource_version);
    assert_eq!(first.metadata.owner_references.unwrap()[0].uid, bench.owner.uid);

    // Deleted and created again by somebody else: our knowledge of it is out of date.
    maps.delete("ours", &Default::default()).await.unwrap();
    let theirs = serde_json::from_value(config_map("ours", json!({"a": "theirs"}))).unwrap();
    maps.create(&Default::default(), &theirs).await.unwrap();
    let error = bench
        .apply(config_map("ours", json!({"a": "1"})))
        .await
        .unwrap_err();
    assert!(matches!(error, ApplyError::Foreign { .. }), "{error}");
    let deletion = bench
        .applier
        .delete(&bench.owner, &bench.id("ConfigMap", "ours"))
        .await
        .unwrap();
    assert!(matches!(deletion, Deletion::NotOurs(_)), "{deletion:?}");
    assert_eq!(maps.get("ours").await.unwrap().data.unwrap()["a"], "theirs");
}

#[tokio::test]
async fn an_edited_service_port_is_healed_and_a_later_revision_can_drop_it() {
    let Some(cluster) = TestCluster::shared_or_skip("applying") else {
        return;
    };
    let bench = Bench::new(cluster).await;
    let services: Api<Service> = Api::namespaced(bench.client.clone(), &bench.namespace);
    let service = |ports: Value| {
        json!({"apiVersion": "v1", "kind": "Service", "metadata": {"name": "web"},
               "spec": {"selector": {"app": "web"}, "ports": ports}})
    };
    let both = json!([{"name": "http", "port": 80}, {"name": "admin", "port": 90}]);
    bench.apply(service(both.clone())).await.unwrap();
    let edit = json!([{"op": "replace", "path": "/spec/ports/0/port", "value": 81}]);
    let edit: Patch<()> = Patch::Json(serde_json::from_value(edit).unwrap());
    services
        .patch("web", &PatchParams::default(), &edit)
        .await
        .unwrap();

    bench.apply(service(both)).await.unwrap();
    let ports = |service: Service| {
        let ports = service.spec.unwrap().ports.unwrap();
        ports.into_iter().map(|port| port.port).collect::<Vec<_>>()
    };
    let healed = services.get("web").await.unwrap();
    let managers: Vec<_> = healed
        .metadata
        .managed_fields
        .iter()
        .flatten()
        .filter_map(|entry| entry.manager.clone())
        .collect();
    assert!(!managers.contains(&"steersman-heal".to_owned()), "{managers:?}");
    assert_eq!(ports(healed), [80, 90]);

    bench
        .apply(service(json!([{"name": "http", "port": 80}])))
        .await
        .unwrap();
    assert_eq!(ports(services.get("web").await.unwrap()), [80]);
}

#[tokio::test]
async fn our_fields_are_as_they_were_after_an_apply_that_changes_nothing() {
    let Some(cluster) = TestCluster::shared_or_skip("applying") else {
        return;
    };
    let bench = Bench::new(cluster).await;
    let claim = json!({"apiVersion": "v1", "kind": "PersistentVolumeClaim", "metadata": {"name": "same"},
        "spec": {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1024Mi"}}}});
    let secret =
        json!({"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "same"}, "stringData": {"a": "1"}});
    let objects = [config_map("same", json!({"a": "1"})), claim, secret];
    let objects = || {
        let objects = objects.iter();
        let objects = objects.flat_map(|object| RenderedObject::from_document("web/t.yaml", object).unwrap());
        objects.collect::<Vec<RenderedObject>>()
    };
    let first = bench.applier.apply(&bench.owner, objects()).await.unwrap();
    // The server notes the time of an apply in seconds.
    tokio::time::sleep(std::time::Duration::from_millis(1100)).await;
    let second = bench.applier.apply(&bench.owner, objects()).await.unwrap();
    for (id, applied) in &first {
        assert!(
            applied.fields.is_some_and(|fields| fields.changed_at.is_some()),
            "{id}"
        );
        assert_eq!(applied.fields, second[id].fields, "{id}");
    }
}

#[tokio::test]
async fn a_change_that_the_server_does_not_allow_is_told_and_changes_nothing() {
    let Some(cluster) = TestCluster::shared_or_skip("applying") else {
        return;
    };
    let bench = Bench::new(cluster).await;
    let deployment = |app: &str, image: &str| {
        json!({"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "web"}, "spec": {
            "replicas": 0, "selector": {"matchLabels": {"app": app}},
            "template": {"metadata": {"labels": {"app": app}}, "spec": {"containers": [{"name": "web", "image": image}]}}}})
    };
    bench.apply(deployment("web", "web:1")).await.unwrap();
    let error = bench.apply(deployment("other", "web:2")).await.unwrap_err();
    let text = steersman_model::chain(&error);
    assert!(
        text.contains("Deployment") && text.contains("/web: ") && text.contains("spec.selector"),
        "{text}"
    );
    let live: Api<k8s_openapi::api::apps::v1::Deployment> =
        Api::namespaced(bench.client.clone(), &bench.namespace);
    let live = serde_json::to_value(live.get("web").await.unwrap()).unwrap();
    assert_eq!(
        live.pointer("/spec/template/spec/containers/0/image").unwrap(),
        "web:1"
    );
}

#[tokio::test]
async fn a_service_with_one_port_without_a_name_is_healed_too() {
    let Some(cluster) = TestCluster::shared_or_skip("applying") else {
        return;
    };
    let bench = Bench::new(cluster).await;
    let services: Api<Service> = Api::namespaced(bench.client.clone(), &bench.namespace);
    let service = json!({"apiVersion": "v1", "kind": "Service", "metadata": {"name": "web"},
        "spec": {"selector": {"app": "web"}, "ports": [{"port": 80}]}});
    bench.apply(service.clone()).await.unwrap();
    let edit = json!([{"op": "replace", "path": "/spec/ports/0/port", "value": 81}]);
    let edit: Patch<()> = Patch::Json(serde_json::from_value(edit).unwrap());
    services
        .patch("web", &PatchParams::default(), &edit)
        .await
        .unwrap();
    bench.apply(service).await.unwrap();
    let ports = services.get("web").await.unwrap().spec.unwrap().ports.unwrap();
    assert_eq!(ports.iter().map(|port| port.port).collect::<Vec<_>>(), [80]);
}

//! The control plane as tests of the operator use it.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use k8s_openapi::api::core::v1::{ConfigMap, Namespace};
use kube::Api;
use kube::api::{DeleteParams, ObjectMeta, Patch, PatchParams, PostParams};
use serde_json::json;
use steersman_testkit::cluster::{Component, ControlPlane, ControlPlaneError, TestCluster};

#[tokio::test]
async fn a_user_may_do_nothing_until_rbac_says_so() {
    let Some(cluster) = TestCluster::shared_or_skip("a_user_may_do_nothing_until_rbac_says_so") else {
        return;
    };
    let namespace = cluster.unique_namespace("rbac").await.unwrap();
    let user = cluster.user("nobody", &[]).unwrap();
    let config_maps = Api::<ConfigMap>::namespaced(user.client().await.unwrap(), &namespace);

    let refusal = config_maps
        .list(&kube::api::ListParams::default())
        .await
        .unwrap_err();
    assert!(
        matches!(&refusal, kube::Error::Api(status) if status.code == 403),
        "{refusal}"
    );
    cluster.grant_cluster_role(&user, "view").await.unwrap();
    config_maps.list(&kube::api::ListParams::default()).await.unwrap();
}

#[tokio::test]
async fn the_audit_log_tells_users_apart_and_keeps_what_they_sent() {
    let Some(cluster) = TestCluster::shared_or_skip("the_audit_log_tells_users_apart") else {
        return;
    };
    let namespace = cluster.unique_namespace("audit").await.unwrap();
    let user = cluster.user("audited", &["some-group"]).unwrap();
    cluster.grant_cluster_role(&user, "cluster-admin").await.unwrap();
    let config_maps = Api::<ConfigMap>::namespaced(user.client().await.unwrap(), &namespace);

    let mark = cluster.audit_mark().await.unwrap();
    let applied = Patch::Apply(
        json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "mine"}, "data": {"a": "1"}}),
    );
    config_maps
        .patch("mine", &PatchParams::apply("tester").force(), &applied)
        .await
        .unwrap();
    let created = ConfigMap {
        metadata: ObjectMeta {
            name: Some("others".to_owned()),
            ..ObjectMeta::default()
        },
        data: Some(BTreeMap::new()),
        ..ConfigMap::default()
    };
    let of_admin = Api::<ConfigMap>::namespaced(cluster.client().await.unwrap(), &namespace);
    of_admin.create(&PostParams::default(), &created).await.unwrap();
    let audit = cluster.audit_since(mark).await.unwrap().namespace(&namespace);

    let mine = audit.by_user("audited");
    assert_eq!(mine.len(), 1, "{mine}");
    let request = &mine.requests[0];
    assert_eq!(
        (request.verb.as_str(), request.name.as_str(), request.code),
        ("patch", "mine", Some(201))
    );
    assert!(request.uri.contains("fieldManager=tester"), "{}", request.uri);
    assert_eq!(request.body().unwrap()["data"]["a"], "1");
    assert_eq!(
        audit.by_user("admin").writes().resource("configmaps").len(),
        1,
        "{audit}"
    );
    assert!(
        cluster
            .audit_since(cluster.audit_mark().await.unwrap())
            .await
            .unwrap()
            .by_user("audited")
            .is_empty()
    );
}

#[tokio::test]
async fn a_user_of_several_groups_is_known_by_his_own_name() {
    let Some(cluster) = TestCluster::shared_or_skip("a_user_of_several_groups") else {
        return;
    };
    let user = cluster.user("grouped", &["one", "two"]).unwrap();
    let mark = cluster.audit_mark().await.unwrap();
    let name = cluster
        .kubectl_command(&user)
        .args(["auth", "whoami", "-o", "json"])
        .output()
        .unwrap();
    let text = String::from_utf8_lossy(&name.stdout).into_owned();
    assert!(
        ["grouped", "one", "two"]
            .iter()
            .all(|word| text.contains(&format!("\"{word}\""))),
        "{text}"
    );
    assert!(
        !cluster
            .audit_since(mark)
            .await
            .unwrap()
            .by_user("grouped")
            .is_empty()
    );
}

#[tokio::test]
async fn owned_objects_are_collected_and_namespaces_are_emptied() {
    let Some(cluster) = TestCluster::shared_or_skip("owned_objects_are_collected") else {
        return;
    };
    let namespace = cluster.unique_namespace("collect").await.unwrap();
    let client = cluster.client().await.unwrap();
    let config_maps = Api::<ConfigMap>::namespaced(client.clone(), &namespace);
    let named = |name: &str| json!({"metadata": {"name": name}});
    let owner: ConfigMap = serde_json::from_value(named("owner")).unwrap();
    let owner = config_maps.create(&PostParams::default(), &owner).await.unwrap();
    let mut dependent = named("dependent");
    dependent["metadata"]["ownerReferences"] =
        json!([{"apiVersion": "v1", "kind": "ConfigMap", "name": "owner", "uid": owner.metadata.uid}]);
    let dependent: ConfigMap = serde_json::from_value(dependent).unwrap();
    config_maps
        .create(&PostParams::default(), &dependent)
        .await
        .unwrap();

    config_maps
        .delete("owner", &DeleteParams::default())
        .await
        .unwrap();
    eventually("the dependent is collected", async || {
        config_maps.get_opt("dependent").await.unwrap().is_none()
    })
    .await;
    let namespaces = Api::<Namespace>::all(client);
    namespaces
        .delete(&namespace, &DeleteParams::default())
        .await
        .unwrap();
    eventually("the namespace is gone", async || {
        namespaces.get_opt(&namespace).await.unwrap().is_none()
    })
    .await;
}

#[tokio::test]
async fn kubectl_and_helm_use_this_cluster() {
    let Some(cluster) = TestCluster::shared_or_skip("kubectl_and_helm_use_this_cluster") else {
        return;
    };
    let namespace = cluster.unique_namespace("programs").await.unwrap();
    let yaml = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: applied}\ndata: {a: b}\n---\n\
                apiVersion: v1\nkind: ConfigMap\nmetadata: {name: second}\n"
        .replace("{name", &format!("{{namespace: {namespace}, name"));
    cluster.apply(&yaml).await.unwrap();
    let listed = cluster
        .kubectl(&["get", "configmap", "-n", &namespace, "-o", "name"])
        .await
        .unwrap();
    assert!(
        listed.contains("configmap/applied") && listed.contains("configmap/second"),
        "{listed}"
    );
    assert!(cluster.helm(&["version"]).await.unwrap().contains("v4.3.1"));
    assert_eq!(
        cluster
            .helm(&["list", "--namespace", &namespace, "--output", "json"])
            .await
            .unwrap()
            .trim(),
        "[]"
    );

    let error = cluster
        .kubectl(&["get", "nonsense"])
        .await
        .unwrap_err()
        .to_string();
    assert!(error.starts_with("kubectl get nonsense failed: "), "{error}");
    assert!(error.contains("doesn't have a resource type"), "{error}");
}

#[tokio::test]
async fn an_api_server_that_crashed_comes_back_with_its_objects() {
    let Some(cluster) = TestCluster::start_or_skip("an_api_server_that_crashed_comes_back") else {
        return;
    };
    let namespace = cluster.unique_namespace("crash").await.unwrap();
    let client = cluster.client().await.unwrap();
    cluster.kill_component(Component::ApiServer).unwrap();
    assert!(client.apiserver_version().await.is_err());
    cluster.start_component(Component::ApiServer).unwrap();
    assert!(
        Api::<Namespace>::all(client)
            .get_opt(&namespace)
            .await
            .unwrap()
            .is_some()
    );
}

#[tokio::test]
async fn an_existing_cluster_is_used_and_left_as_it_is() {
    let Some(cluster) = TestCluster::shared_or_skip("an_existing_cluster_is_used") else {
        return;
    };
    let existing = ControlPlane::existing(cluster.admin().kubeconfig()).unwrap();
    let user = existing.user("impersonated", &[]).unwrap();
    let mark = cluster.audit_mark().await.unwrap();
    let refusal = Api::<Namespace>::all(user.client().await.unwrap())
        .get("default")
        .await
        .unwrap_err();
    assert!(refusal.to_string().contains("impersonated"), "{refusal}");
    assert_eq!(
        cluster
            .audit_since(mark)
            .await
            .unwrap()
            .by_user("impersonated")
            .refused()
            .len(),
        1
    );
    assert!(matches!(
        existing.audit_mark().await,
        Err(ControlPlaneError::NotOurs(_))
    ));
    assert!(matches!(
        existing.stop_component(Component::Etcd),
        Err(ControlPlaneError::NotOurs(_))
    ));

    existing.stop().unwrap();
    assert!(cluster.kubectl(&["get", "namespace", "default"]).await.is_ok());
}

async fn eventually(what: &str, condition: impl AsyncFn() -> bool) {
    let begun = Instant::now();
    while !condition().await {
        assert!(
            begun.elapsed() < Duration::from_mins(1),
            "not within 60 s: {what}"
        );
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
}

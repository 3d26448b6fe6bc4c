//! What the API server does not take, or not as the chart says it.

use kube::api::DeleteParams;
use serde_json::{Value, json};
use steersman_testkit::cluster::TestCluster;

use crate::bench::{Bench, PATIENCE, condition};
use crate::takeover::{helm_as, managers};

const IMAGE: &str = "          image: registry.example.com/web:1\n";

/// Gives the chart's container more fields.
fn add_to_container(bench: &Bench, lines: &str) {
    bench.edit("workload.yaml", IMAGE, &format!("{IMAGE}{lines}"));
}

fn container(deployment: &Value) -> Value {
    deployment["spec"]["template"]["spec"]["containers"][0].clone()
}

#[tokio::test]
async fn a_value_of_a_wrong_type_is_named_and_its_revision_has_failed() {
    let Some(bench) = Bench::with_kind("refusals").await else {
        return;
    };
    add_to_container(
        &bench,
        "          env: [{name: PORT, value: {{ .Values.number | default \"\\\"80\\\"\" }}}]\n",
    );
    bench.add_template(
        "pin.yaml",
        "{{- with .Values.pin }}\napiVersion: v1\nkind: Secret\nmetadata: {name: pin}\nstringData: {pin: {{ . }}}\n{{- end }}\n",
    );
    let operator = bench.operator_with(&["--rollback-on-failure"]).await;
    bench.apply_web("shop", json!({})).await;
    bench.wait_revision("shop", 1).await;

    bench
        .apply_web("shop", json!({"number": 8080, "extra": true}))
        .await;
    let (status, _, message) = bench.wait_failed("shop", "Stalled").await;
    assert_eq!(status, "True");
    let expected = format!(
        "failed to apply Deployment {}/shop: spec.template.spec.containers[name=\"web\"].env[name=\"PORT\"].value: \
         expected string; the template has to quote it",
        bench.namespace
    );
    assert!(
        message.contains(&expected) && message.ends_with("; rolled back to revision 1"),
        "{message}"
    );
    assert_eq!(bench.revisions().await, ["1 deployed", "2 failed"]);
    bench.wait_gone(&bench.config_maps(), "shop-extra").await;

    // The server's answer shows what it got.
    bench.apply_web("shop", json!({"pin": 73_915_502})).await;
    let (_, _, message) = bench.wait_failed("shop", "ReleaseFailed").await;
    assert!(
        message.contains("/pin: stringData.pin: expected string"),
        "{message}"
    );
    let shown = format!("{message}{}{}", bench.events().await, operator.log_text());
    assert!(!shown.contains("73915502"), "{shown}");

    bench.apply_web("shop", json!({"message": "fine"})).await;
    let web = bench.wait_revision("shop", 4).await;
    assert_eq!(condition(&web, "Stalled"), None);
    operator.stop().await.unwrap();
}

/// What clients that create objects get away with.
const FORGIVEN: &str = "          env: [{name: A, value: one}, {name: B, value: b}, {name: A, value: {{ .Values.message }}}]\n          \
                        ports: [{containerPort: 80, name: a}, {containerPort: 80, name: b}]\n          nonsense: {a: 1}\n";

fn mended(message: &str) -> Value {
    json!([
        [{"name": "B", "value": "b"}, {"name": "A", "value": message}],
        [{"name": "b", "containerPort": 80, "protocol": "TCP"}],
    ])
}

fn env_and_ports(deployment: &Value) -> Value {
    let container = container(deployment);
    json!([container["env"], container["ports"]])
}

async fn wait_mended(bench: &Bench, message: &str) {
    let wanted = mended(message);
    bench
        .wait(
            "the mended container",
            &bench.deployments(),
            "shop",
            |deployment| (env_and_ports(deployment) == wanted).then_some(()),
        )
        .await;
}

#[tokio::test]
async fn what_clients_that_create_objects_get_away_with_is_mended_and_said() {
    let Some(bench) = Bench::with_kind("refusals").await else {
        return;
    };
    add_to_container(&bench, FORGIVEN);
    let operator = bench.ready_operator().await;
    bench.apply_web("shop", json!({"message": "two"})).await;
    bench.wait_revision("shop", 1).await;
    wait_mended(&bench, "two").await;
    let events = bench.events().await;
    let place = "spec.template.spec.containers[name=\"web\"]";
    for said in [
        format!("{place}.env has several items with [name=\"A\"], of which the last counts"),
        format!("{place}.ports has several items with [containerPort=80,protocol=\"TCP\"]"),
        format!("{place}.nonsense is no field of its kind, and left out"),
    ] {
        assert!(events.contains(&said), "{said}\n{events}");
    }
    let arguments = ["get", "manifest", "shop", "-n", &bench.namespace];
    let manifest = bench.cluster.helm(&arguments).await.unwrap();
    assert!(
        manifest.contains("nonsense") && manifest.contains("value: one"),
        "{manifest}"
    );

    bench.apply_web("shop", json!({"message": "three"})).await;
    bench.wait_revision("shop", 2).await;
    wait_mended(&bench, "three").await;
    bench
        .deployments()
        .delete("shop", &DeleteParams::default())
        .await
        .unwrap();
    wait_mended(&bench, "three").await;
    operator.stop().await.unwrap();
}

#[tokio::test]
async fn what_clients_that_create_objects_got_away_with_is_taken_over() {
    let Some(bench) = Bench::with_kind("refusals").await else {
        return;
    };
    add_to_container(&bench, FORGIVEN);
    helm_as(
        &bench,
        "helm-operator",
        &[
            "install",
            "--server-side=false",
            "--set",
            "password=canary,message=two",
        ],
    )
    .await;
    let before = serde_json::to_value(bench.deployments().get("shop").await.unwrap()).unwrap();
    assert_eq!(
        container(&before)["env"].as_array().unwrap().len(),
        3,
        "Helm gets away with it"
    );

    let operator = bench.ready_operator().await;
    bench
        .apply_web("shop", json!({"password": "canary", "message": "two"}))
        .await;
    bench.wait_revision("shop", 1).await;
    assert_eq!(bench.revisions().await, ["1 deployed"]);
    wait_mended(&bench, "two").await;
    let now = bench.deployments().get("shop").await.unwrap();
    assert_eq!(json!(now.metadata.uid), before["metadata"]["uid"]);
    bench
        .apply_web("shop", json!({"password": "canary", "message": "three"}))
        .await;
    bench.wait_revision("shop", 2).await;
    wait_mended(&bench, "three").await;
    operator.stop().await.unwrap();
}

#[tokio::test]
async fn what_the_server_would_not_create_is_not_mended() {
    let Some(bench) = Bench::with_kind("refusals").await else {
        return;
    };
    let port = "      port: {{ .Values.port }}\n";
    bench.edit(
        "workload.yaml",
        port,
        &format!("{port}    - {{name: other, port: 80}}\n"),
    );
    let operator = bench.ready_operator().await;
    bench.apply_web("shop", json!({})).await;
    let (status, _, message) = bench.wait_failed("shop", "Stalled").await;
    assert_eq!(status, "True");
    let said = "/shop: spec.ports: duplicate entries for key [port=80,protocol=\"TCP\"]";
    assert!(message.contains(said), "{message}");
    operator.stop().await.unwrap();
}

#[tokio::test]
async fn a_strategy_can_change_although_the_server_has_filled_in_the_former_one() {
    let Some(bench) = Bench::with_kind("refusals").await else {
        return;
    };
    let replicas = "  replicas: {{ .Values.replicas }}\n";
    let strategy = "  strategy: {{ .Values.strategy | default dict | toJson }}\n";
    bench.edit("workload.yaml", replicas, &format!("{replicas}{strategy}"));
    let operator = bench.ready_operator().await;
    let surge = json!({"type": "RollingUpdate", "rollingUpdate": {"maxSurge": 2}});
    let recreate = json!({"type": "Recreate"});
    let strategies = [json!({}), recreate.clone(), surge, recreate];
    for (strategy, revision) in strategies.into_iter().zip(1..) {
        bench.apply_web("shop", json!({"strategy": strategy})).await;
        bench.wait_revision("shop", revision).await;
        let deployment = bench.deployments().get("shop").await.unwrap();
        let live = &deployment.data["spec"]["strategy"];
        if strategy["type"] == "Recreate" {
            assert_eq!(*live, strategy);
        } else {
            let expected = strategy.pointer("/rollingUpdate/maxSurge").cloned();
            assert_eq!(
                live["rollingUpdate"]["maxSurge"],
                expected.unwrap_or(json!("25%"))
            );
        }
        let managers = managers(&deployment);
        assert!(
            !managers.iter().any(|manager| manager.starts_with("steersman-")),
            "{managers:?}"
        );
    }
    operator.stop().await.unwrap();
}

/// A definition with a field that definitions do not have.
const THING: &str = "apiVersion: apiextensions.k8s.io/v1\nkind: CustomResourceDefinition\nmetadata: {name: things.GROUP}\nspec:\n  \
                     group: GROUP\n  scope: Namespaced\n  nonsense: true\n  names: {kind: Thing, listKind: ThingList, plural: \
                     things, singular: thing}\n  versions: [{name: v1, served: true, storage: true, schema: \
                     {openAPIV3Schema: {type: object}}}]\n";

#[tokio::test]
async fn definitions_are_mended_as_well() {
    let Some(bench) = Bench::with_kind("refusals").await else {
        return;
    };
    let file = bench.folder.path().join("web/crds/thing.yaml");
    std::fs::write(file, THING.replace("GROUP", &bench.group)).unwrap();
    let operator = bench.ready_operator().await;
    bench.apply_web("shop", json!({})).await;
    bench.wait_revision("shop", 1).await;
    let definition = format!("crd/things.{}", bench.group);
    bench.cluster.kubectl(&["get", &definition]).await.unwrap();
    operator.stop().await.unwrap();
}

#[tokio::test]
async fn a_dry_run_foresees_what_is_mended() {
    let Some(bench) = Bench::with_kind("refusals").await else {
        return;
    };
    add_to_container(&bench, FORGIVEN);
    let replicas = "  replicas: {{ .Values.replicas }}\n";
    let strategy = "  strategy: {{ .Values.strategy | default dict | toJson }}\n";
    bench.edit("workload.yaml", replicas, &format!("{replicas}{strategy}"));
    let operator = bench.ready_operator().await;
    let password = "canary";
    bench.apply_web("shop", json!({"password": password})).await;
    bench.wait_revision("shop", 1).await;
    let annotations = json!({"metadata": {"annotations": {"steersman.dev/dry-run": "true"}}});
    bench.patch_web("shop", annotations).await;
    let spec = json!({"password": password, "replicas": 3, "strategy": {"type": "Recreate"}});
    bench.apply_web("shop", spec).await;
    let said = bench
        .wait("the dry run", &bench.webs(), "shop", |web| {
            let said = web.pointer("/status/dryRun")?;
            let is_current = said["observedGeneration"] == web["metadata"]["generation"];
            is_current.then(|| said.clone())
        })
        .await;
    let objects = said["objects"].as_array().unwrap();
    let deployment = objects
        .iter()
        .find(|object| object["kind"] == "Deployment")
        .unwrap();
    assert_eq!(deployment["would"], "be changed", "{said:#}");
    let fields = deployment["fields"].to_string();
    assert!(
        fields.contains("/spec/replicas") && fields.contains("/spec/strategy"),
        "{said:#}"
    );
    operator.stop().await.unwrap();
}

#[tokio::test]
async fn a_policy_that_denies_one_object_is_named_until_it_is_lifted() {
    let Some(bench) = Bench::with_kind("refusals").await else {
        return;
    };
    deny(bench.cluster, &bench.namespace).await;
    let operator = bench.ready_operator().await;
    bench.apply_web("shop", json!({"extra": true})).await;
    let (_, reason, message) = bench.wait_failed("shop", "ReleaseFailed").await;
    assert_eq!(reason, "InstallError");
    let said = format!("failed to apply ConfigMap {}/shop-extra: ", bench.namespace);
    assert!(
        message.contains(&said) && message.contains("nothing extra here"),
        "{message}"
    );
    assert_eq!(bench.revisions().await, ["1 failed"]);

    let binding = format!("validatingadmissionpolicybindings/{}", bench.namespace);
    bench.cluster.kubectl(&["delete", &binding]).await.unwrap();
    let web = bench.wait_revision("shop", 1).await;
    assert_eq!(condition(&web, "ReleaseFailed"), None);
    assert_eq!(bench.revisions().await, ["1 deployed"]);
    operator.stop().await.unwrap();
}

/// Has the server deny config maps called `shop-extra`, and waits until it does.
async fn deny(cluster: &TestCluster, namespace: &str) {
    let rule = json!({"apiGroups": [""], "apiVersions": ["v1"], "operations": ["CREATE"], "resources": ["configmaps"]});
    let selector = json!({"matchLabels": {"kubernetes.io/metadata.name": namespace}});
    let policy = json!({"apiVersion": "admissionregistration.k8s.io/v1", "kind": "ValidatingAdmissionPolicy",
    "metadata": {"name": namespace},
    "spec": {
        "failurePolicy": "Fail",
        "matchConstraints": {"resourceRules": [rule], "namespaceSelector": selector},
        "validations": [{"expression": "object.metadata.name != 'shop-extra'", "message": "nothing extra here"}],
    }});
    let binding = json!({"apiVersion": "admissionregistration.k8s.io/v1", "kind": "ValidatingAdmissionPolicyBinding",
        "metadata": {"name": namespace},
        "spec": {"policyName": namespace, "validationActions": ["Deny"]}});
    cluster.apply_object(&policy).await.unwrap();
    cluster.apply_object(&binding).await.unwrap();
    let attempt = [
        "create",
        "configmap",
        "shop-extra",
        "--dry-run=server",
        "-n",
        namespace,
    ];
    let begun = std::time::Instant::now();
    while cluster.kubectl(&attempt).await.is_ok() {
        assert!(begun.elapsed() < PATIENCE, "the policy is not in effect");
        tokio::time::sleep(std::time::Duration::from_millis(100)).await;
    }
}

#[tokio::test]
async fn a_quota_that_is_exhausted_is_named_until_it_is_raised() {
    let Some(bench) = Bench::with_kind("refusals").await else {
        return;
    };
    let quota = |count: &str| {
        json!({"apiVersion": "v1", "kind": "ResourceQuota",
        "metadata": {"name": "few", "namespace": bench.namespace}, "spec": {"hard": {"count/deployments.apps": count}}})
    };
    bench.cluster.apply(&quota("0").to_string()).await.unwrap();
    let quotas = bench.api("", "v1", "ResourceQuota", "resourcequotas");
    let is_counted = |quota: &Value| quota.pointer("/status/hard").map(|_| ());
    bench.wait("the count", &quotas, "few", is_counted).await;
    let operator = bench.ready_operator().await;
    bench.apply_web("shop", json!({})).await;
    let (_, _, message) = bench.wait_failed("shop", "ReleaseFailed").await;
    let said = format!("failed to apply Deployment {}/shop: ", bench.namespace);
    assert!(
        message.contains(&said) && message.contains("exceeded quota: few"),
        "{message}"
    );

    bench.cluster.apply(&quota("1").to_string()).await.unwrap();
    bench.wait_revision("shop", 1).await;
    assert_eq!(bench.revisions().await, ["1 deployed"]);
    operator.stop().await.unwrap();
}

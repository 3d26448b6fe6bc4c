//! Releases that Helm or helm-operator made go on as ours, and back.

use kube::api::{Api, DynamicObject, ListParams, Patch, PatchParams};
use serde_json::{Value, json};

use crate::bench::{Bench, condition};

/// Runs Helm, and makes what it has written look as if a program of this name had: helm-operator,
/// and operators made with Helm's library, write under the name of their binary.
pub(crate) async fn helm_as(bench: &Bench, name: &str, arguments: &[&str]) -> String {
    let chart = bench.folder.path().join("web");
    let release = ["shop", chart.to_str().unwrap(), "--namespace", &bench.namespace];
    let output = bench.cluster.helm(&[arguments, &release].concat()).await.unwrap();
    for api in [
        bench.config_maps(),
        bench.services(),
        bench.deployments(),
        bench.secrets(),
    ] {
        for object in api.list(&ListParams::default()).await.unwrap() {
            rename_helm(&api, object, name).await;
        }
    }
    let roles = bench.cluster_roles();
    let role = roles.get(&format!("{}-shop", bench.namespace)).await.unwrap();
    rename_helm(&roles, role, name).await;
    output
}

async fn rename_helm(api: &Api<DynamicObject>, mut object: DynamicObject, name: &str) {
    loop {
        let mut entries = object.metadata.managed_fields.unwrap_or_default();
        let helms = entries.iter_mut().filter(|entry| {
            let manager = entry.manager.as_deref().unwrap_or_default();
            manager.eq_ignore_ascii_case("helm")
        });
        let mut found = false;
        for entry in helms {
            entry.manager = Some(name.to_owned());
            found = true;
        }
        if !found {
            return;
        }
        let version = object.metadata.resource_version;
        let patch = Patch::Merge(json!({"metadata": {"managedFields": entries, "resourceVersion": version}}));
        let named = object.metadata.name.unwrap();
        match api.patch(&named, &PatchParams::default(), &patch).await {
            Ok(_) => return,
            // A controller has written the object's status meanwhile.
            Err(kube::Error::Api(status)) if status.code == 409 => object = api.get(&named).await.unwrap(),
            Err(error) => panic!("{error}"),
        }
    }
}

/// What tells an object from one of the same name, and whether its spec was written.
fn incarnation(object: &DynamicObject) -> (Option<String>, Option<i64>) {
    (object.metadata.uid.clone(), object.metadata.generation)
}

/// Manager and operation of each entry but that of the status.
pub(crate) fn managers(object: &DynamicObject) -> Vec<String> {
    let entries = object.metadata.managed_fields.iter().flatten();
    entries
        .filter(|entry| entry.subresource.is_none())
        .map(|entry| {
            let text = |text: &Option<String>| text.clone().unwrap_or_default();
            format!("{} {}", text(&entry.manager), text(&entry.operation))
        })
        .collect()
}

pub(crate) const VARIABLE: &str = "          env: [{name: A, value: b}]\n";

/// Gives the chart's container an environment variable.
pub(crate) fn add_variable(bench: &Bench) {
    let image = "          image: registry.example.com/web:1\n";
    bench.edit("workload.yaml", image, &format!("{image}{VARIABLE}"));
}

async fn taken_over_and_back(arguments: &[&str], manager: &str) {
    let Some(bench) = Bench::with_kind("takeover").await else {
        return;
    };
    add_variable(&bench);
    let values = ["--set", "password=canary,message=hi"];
    helm_as(&bench, manager, &[&["install"], arguments, &values].concat()).await;
    let (deployment, service) = (
        bench.deployments().get("shop").await.unwrap(),
        bench.services().get("shop").await.unwrap(),
    );

    let operator = bench.ready_operator().await;
    let spec = json!({"password": "canary", "message": "hi"});
    bench.apply_web("shop", spec.clone()).await;
    let web = bench.wait_revision("shop", 1).await;
    assert_eq!(bench.revisions().await, ["1 deployed"], "nothing has changed");
    assert_eq!(condition(&web, "Deployed").unwrap().1, "InstallSuccessful");
    for (api, name, before) in [
        (bench.deployments(), "shop", &deployment),
        (bench.services(), "shop", &service),
    ] {
        let now = api.get(name).await.unwrap();
        assert_eq!(incarnation(&now), incarnation(before));
        let ours = managers(&now);
        let expected = ["steersman Apply".to_owned()];
        assert!(
            ours.starts_with(&expected) && !ours.iter().any(|entry| entry.starts_with(manager)),
            "{ours:?}"
        );
    }
    operator.stop().await.unwrap();

    bench.edit("workload.yaml", VARIABLE, "");
    bench.edit("configmap.yaml", "  labels:\n    tier: config\n", "");
    let key = "  revision: {{ .Release.Revision | quote }}\n";
    bench.edit("configmap.yaml", key, "");
    let operator = bench.ready_operator().await;
    bench.wait_revision("shop", 2).await;
    let map = bench.config_maps().get("shop-config").await.unwrap();
    assert_eq!(map.data["data"], json!({"message": "hi"}), "dropped keys go");
    assert_eq!(map.metadata.labels.unwrap().get("tier"), None);
    let now = bench.deployments().get("shop").await.unwrap();
    assert_eq!(now.metadata.uid, deployment.metadata.uid);
    assert_eq!(now.data.pointer("/spec/template/spec/containers/0/env"), None);
    assert_eq!(bench.revisions().await, ["1 superseded", "2 deployed"]);
    operator.stop().await.unwrap();

    // Back, with a chart and values of its own, and over again.
    add_variable(&bench);
    let values = ["--set", "password=canary,message=hi,extra=true"];
    let force: &[&str] = if arguments.is_empty() {
        &["--force-conflicts"]
    } else {
        &[]
    };
    helm_as(
        &bench,
        manager,
        &[&["upgrade"], arguments, force, &values].concat(),
    )
    .await;
    bench.config_maps().get("shop-extra").await.unwrap();
    bench.edit("workload.yaml", VARIABLE, "");
    let operator = bench.ready_operator().await;
    bench.wait_revision("shop", 4).await;
    bench.wait_gone(&bench.config_maps(), "shop-extra").await;
    let now = bench.deployments().get("shop").await.unwrap();
    assert_eq!(now.metadata.uid, deployment.metadata.uid);
    assert_eq!(now.data.pointer("/spec/template/spec/containers/0/env"), None);
    assert!(!operator.log_text().contains("canary"));
    operator.stop().await.unwrap();
}

#[tokio::test]
async fn a_release_of_helm_operator_is_taken_over_in_place_and_can_go_back() {
    taken_over_and_back(&["--server-side=false"], "helm-operator").await;
}

#[tokio::test]
async fn a_release_that_helm_applied_is_taken_over_in_place_and_can_go_back() {
    taken_over_and_back(&[], "helm").await;
}

#[tokio::test]
async fn other_values_at_the_takeover_are_another_revision() {
    let Some(bench) = Bench::with_kind("takeover").await else {
        return;
    };
    let arguments = [
        "install",
        "--server-side=false",
        "--set",
        "password=canary,extra=true",
    ];
    helm_as(&bench, "manager", &arguments).await;
    let before = bench.deployments().get("shop").await.unwrap();
    let operator = bench.ready_operator().await;
    bench
        .apply_web("shop", json!({"password": "canary", "replicas": 2}))
        .await;
    bench.wait_revision("shop", 2).await;
    bench.wait_gone(&bench.config_maps(), "shop-extra").await;
    let now = bench.deployments().get("shop").await.unwrap();
    assert_eq!(now.metadata.uid, before.metadata.uid);
    assert_eq!(now.data["spec"]["replicas"], Value::from(2));
    assert_eq!(bench.revisions().await, ["1 superseded", "2 deployed"]);
    operator.stop().await.unwrap();

    // Only its Secrets tell the name of an operator that adds to an object of ours.
    bench.edit("configmap.yaml", "data:\n", "data:\n  more: here\n");
    let arguments = [
        "upgrade",
        "--server-side=false",
        "--set",
        "password=canary,replicas=2",
    ];
    helm_as(&bench, "manager", &arguments).await;
    bench.edit("configmap.yaml", "data:\n  more: here\n", "data:\n");
    let operator = bench.ready_operator().await;
    bench.wait_revision("shop", 4).await;
    let map = bench.config_maps().get("shop-config").await.unwrap();
    assert_eq!(map.data["data"]["more"], Value::Null, "{:#?}", managers(&map));

    bench.delete_web("shop").await;
    bench.wait_gone(&bench.webs(), "shop").await;
    assert_eq!(bench.revisions().await, [""; 0]);
    assert!(bench.deployments().get_opt("shop").await.unwrap().is_none());
    operator.stop().await.unwrap();
}

#[tokio::test]
async fn a_release_whose_first_revision_is_gone_goes_on_from_its_last() {
    let Some(bench) = Bench::with_kind("takeover").await else {
        return;
    };
    let values = ["--server-side=false", "--set", "password=canary"];
    helm_as(
        &bench,
        "helm-operator",
        &[&["install"], values.as_slice()].concat(),
    )
    .await;
    let upgrade = ["upgrade", "--history-max=1"];
    for _ in 0..2 {
        helm_as(&bench, "helm-operator", &[&upgrade, values.as_slice()].concat()).await;
    }
    assert_eq!(bench.revisions().await, ["2 superseded", "3 deployed"]);
    let operator = bench.ready_operator().await;
    // Which releases have revisions is known from here on.
    bench.apply_web("first", json!({})).await;
    bench.wait_revision("first", 1).await;

    bench.apply_web("shop", json!({"password": "canary"})).await;
    bench.wait_revision("shop", 3).await;
    let first = "sh.helm.release.v1.shop.v1";
    assert!(bench.secrets().get_opt(first).await.unwrap().is_none());
    operator.stop().await.unwrap();
}

//! `steersman status`, beside what is there.

use std::fs;

use kube::api::{Api, DeleteParams, DynamicObject, Patch, PatchParams};
use kube::core::{ApiResource, GroupVersionKind};
use serde_json::{Value, json};

use crate::bench::{Bench, condition};
use crate::developer::{Developer, contains_all};

#[tokio::test(flavor = "multi_thread")]
async fn a_status_is_a_tree_with_the_health_of_every_object() {
    let Some(bench) = Bench::with_kind("a_status_is_a_tree").await else {
        return;
    };
    let developer = Developer::of(&bench).await;
    // Other tests have a kind of this name, too.
    let kind = format!("webs.{}", bench.group);
    let shop = format!("{kind}/shop");
    let said = developer.run(&["status", &shop]);
    assert_eq!(said.code, Some(2), "{}", said.stderr);
    let operator = bench.ready_operator().await;
    // No node runs, so a replica would never be ready.
    bench.apply_web("shop", json!({"replicas": 0})).await;
    bench.wait_revision("shop", 1).await;
    bench
        .wait("readiness", &bench.webs(), "shop", |web| {
            condition(web, "Ready").filter(|(status, ..)| status == "True")
        })
        .await;
    let said = developer.check(&["status", &shop], 0);
    contains_all(
        &said,
        &[
            "Web NS/shop  ready\n",
            "│ chart web 1.2.3",
            "│ revision 1 is deployed since 20",
            "│ Ready=True",
            "├─ ConfigMap shop-config",
            "Deployment shop",
        ],
    );
    assert!(!said.contains('\u{1b}'), "colours in a pipe: {said}");

    bench.apply_web("shop", json!({"replicas": 1})).await;
    bench.wait_revision("shop", 2).await;
    operator.stop().await.unwrap();
    bench
        .services()
        .delete("shop", &DeleteParams::default())
        .await
        .unwrap();
    let said = developer.check(&["status", &kind, "shop", "-o", "json"], 1);
    let view: Value = serde_json::from_str(&said).unwrap();
    let health = |kind: &str| {
        let objects = view["objects"].as_array().unwrap();
        let found = objects.iter().find(|object| object["kind"] == kind).unwrap();
        found["health"].as_str().unwrap().to_owned()
    };
    assert_eq!(
        (
            view["ready"].clone(),
            health("Service"),
            health("Deployment"),
            health("Secret")
        ),
        (
            json!(false),
            "missing".to_owned(),
            "progressing".to_owned(),
            "ready".to_owned()
        )
    );
    assert_eq!(view["release"]["revision"], 2);
    let said = developer.check(&["status", &kind, "shop", "-o", "yaml"], 1);
    contains_all(&said, &["---\nconditions:\n", "- health: missing\n"]);
}

/// More workloads, with a label in common.
const WORKLOADS: &str = r"
apiVersion: apps/v1
kind: StatefulSet
metadata: {name: store}
spec:
  serviceName: store
  selector: {matchLabels: {app: shop, part: store}}
  template:
    metadata: {labels: {app: shop, part: store}}
    spec: {containers: [{name: store, image: registry.example.com/store:1}]}
---
apiVersion: batch/v1
kind: Job
metadata: {name: count}
spec:
  template:
    metadata: {labels: {app: count}}
    spec: {restartPolicy: Never, containers: [{name: count, image: registry.example.com/count:1}]}
";

#[tokio::test(flavor = "multi_thread")]
async fn pods_are_below_their_workloads_with_what_they_wait_for() {
    let Some(bench) = Bench::with_kind("pods_are_below_their_workloads").await else {
        return;
    };
    let developer = Developer::of(&bench).await;
    bench.add_template("workloads.yaml", WORKLOADS);
    let operator = bench.ready_operator().await;
    bench.apply_web("shop", json!({"replicas": 1})).await;
    bench.wait_revision("shop", 1).await;
    let pods = bench.api("", "v1", "Pod", "pods");
    bench
        .wait("the pod", &pods, "store-0", |pod| {
            pod["metadata"]["uid"].as_str().map(drop)
        })
        .await;
    let crashed = json!({"status": {"phase": "Running", "containerStatuses": [{"name": "store", "ready": false,
        "restartCount": 4, "image": "i", "imageID": "i",
        "state": {"waiting": {"reason": "CrashLoopBackOff", "message": "back-off 1m20s"}},
        "lastState": {"terminated": {"exitCode": 137, "reason": "OOMKilled"}}}]}});
    pods.patch_status("store-0", &PatchParams::default(), &Patch::Merge(crashed))
        .await
        .unwrap();
    // One that looks like the others, and that nobody of the release owns.
    let stranger = json!({"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "stranger", "namespace": bench.namespace,
        "labels": {"app": "shop", "part": "store"}}, "spec": {"containers": [{"name": "a", "image": "i"}]}});
    bench.cluster.apply_object(&stranger).await.unwrap();
    for kind in ["deployment/shop", "job/count"] {
        let wanted = if kind.starts_with("job") {
            "{.status.active}=1"
        } else {
            "{.status.replicas}=1"
        };
        let wait = [
            "wait",
            "-n",
            &bench.namespace,
            &format!("--for=jsonpath={wanted}"),
            kind,
        ];
        bench.cluster.kubectl(&wait).await.unwrap();
    }
    operator.stop().await.unwrap();

    let mark = bench.cluster.audit_mark().await.unwrap();
    let shop = format!("webs.{}/shop", bench.group);
    let said = developer.check(&["status", &shop], 1);
    let lines: Vec<&str> = said.lines().collect();
    let at = |part: &str| {
        let found = lines.iter().position(|line| line.contains(part));
        found.unwrap_or_else(|| panic!("no `{part}` in:\n{said}"))
    };
    let set = at("  └─ ReplicaSet shop-");
    assert_eq!(set, at("─ Deployment shop ") + 1, "{said}");
    assert!(lines[set].contains("0 of 1 pods available"), "{said}");
    assert!(lines[set + 1].contains("     └─ Pod shop-"), "{said}");
    assert!(
        lines[set + 1].contains("progressing: Pending, 0/1 ready"),
        "{said}"
    );
    assert_eq!(at("  └─ Pod store-0 "), at("─ StatefulSet store ") + 1, "{said}");
    assert!(
        lines[at("Pod store-0")]
            .contains("Running, 0/1 ready, 4 restarts; store: CrashLoopBackOff: back-off 1m20s"),
        "{said}"
    );
    assert_eq!(at("  └─ Pod count-"), at("─ Job count ") + 1, "{said}");
    assert!(!said.contains("stranger"), "{said}");

    // One list of ReplicaSets; and of pods one for the label that two workloads have, one for the Job.
    let audit = bench.cluster.audit_since(mark).await.unwrap();
    let lists = audit.by_user(developer.name());
    let lists: Vec<String> = lists
        .requests
        .iter()
        .filter(|request| request.verb == "list" && request.resource != "secrets")
        .map(|request| request.uri.replace(&bench.namespace, "NS"))
        .collect();
    assert_eq!(lists.len(), 3, "{lists:#?}");
    assert!(
        lists.iter().all(|uri| uri.contains("labelSelector=")),
        "{lists:#?}"
    );

    let said = developer.check(&["status", &shop, "-o", "json"], 1);
    let view: Value = serde_json::from_str(&said).unwrap();
    let objects = view["objects"].as_array().unwrap();
    let store = objects
        .iter()
        .find(|object| object["kind"] == "StatefulSet")
        .unwrap();
    assert_eq!(
        store["children"][0]["pod"],
        json!({"phase": "Running", "containers": 1, "readyContainers": 0, "restarts": 4,
            "waiting": [{"container": "store", "reason": "CrashLoopBackOff",
                "message": "back-off 1m20s; it ended before with OOMKilled, exit code 137"}]})
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn a_resource_without_a_namespace_is_found_by_any_name_of_its_kind() {
    let Some(bench) = Bench::new("a_resource_without_a_namespace_is_found").await else {
        return;
    };
    let developer = Developer::of(&bench).await;
    let group = &bench.group;
    let home = format!("{}-home", bench.namespace);
    let short = bench.namespace.as_str();
    let definition = json!({
        "apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
        "metadata": {"name": format!("realms.{group}")},
        "spec": {"group": group, "scope": "Cluster",
            "names": {"kind": "Realm", "plural": "realms", "singular": "realm", "shortNames": [short]},
            "versions": [{"name": "v1", "served": true, "storage": true, "subresources": {"status": {}},
                "schema": {"openAPIV3Schema": {"type": "object", "x-kubernetes-preserve-unknown-fields": true}}}]}});
    bench.cluster.apply_object(&definition).await.unwrap();
    let established = [
        "wait",
        "--for=condition=Established",
        &format!("crd/realms.{group}"),
    ];
    bench.cluster.kubectl(&established).await.unwrap();
    let namespace = json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": home}});
    bench.cluster.apply_object(&namespace).await.unwrap();
    bench.watches(&format!(
        "- {{group: {group}, version: v1, kind: Realm, chart: web, releaseNamespace: {home}}}\n"
    ));
    let operator = bench.ready_operator().await;
    let kind = GroupVersionKind::gvk(group, "v1", "Realm");
    let realms: Api<DynamicObject> = Api::all_with(
        bench.client.clone(),
        &ApiResource::from_gvk_with_plural(&kind, "realms"),
    );
    let realm = json!({"apiVersion": format!("{group}/v1"), "kind": "Realm", "metadata": {"name": "shop"}, "spec": {"replicas": 0}});
    bench.cluster.apply_object(&realm).await.unwrap();
    bench
        .wait("readiness", &realms, "shop", |realm| {
            condition(realm, "Ready").filter(|(status, ..)| status == "True")
        })
        .await;
    operator.stop().await.unwrap();

    // The watches.yaml is not needed, and `-n` has no say.
    fs::remove_file(bench.folder.path().join("watches.yaml")).unwrap();
    for name in [short, &format!("realms.{group}"), &format!("realm.{group}")] {
        let said = developer.check(&["status", &format!("{name}/shop")], 0);
        contains_all(
            &said,
            &[
                "Realm shop  ready\n",
                "│ revision 1 is deployed",
                "ConfigMap NS-home/shop-config",
            ],
        );
    }
    let said = developer.run(&["status", short, "other"]);
    assert_eq!(said.code, Some(2), "{}", said.stderr);
    assert_eq!(said.stderr, "error: there is no Realm `other`\n");
}

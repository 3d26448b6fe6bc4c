//! In which order kinds come and go, beside Helm.

use serde_json::json;
use steersman_testkit::cluster::AuditLog;

use crate::bench::Bench;

/// Kinds in none of Helm's orders.
const KINDS: &str = r#"
apiVersion: batch/v1
kind: CronJob
metadata: {name: a}
spec:
  schedule: "0 0 1 1 *"
  jobTemplate: {spec: {template: {spec: {restartPolicy: Never, containers: [{name: a, image: "registry.example.com/a:1"}]}}}}
---
apiVersion: networking.k8s.io/v1
kind: Ingress
metadata: {name: a}
spec: {defaultBackend: {service: {name: a, port: {number: 80}}}}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: RoleBinding
metadata: {name: a}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: Role, name: a}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: Role
metadata: {name: a}
---
apiVersion: apps/v1
kind: StatefulSet
metadata: {name: a}
spec:
  serviceName: a
  selector: {matchLabels: {app: a}}
  template: {metadata: {labels: {app: a}}, spec: {containers: [{name: a, image: "registry.example.com/a:1"}]}}
---
apiVersion: v1
kind: PersistentVolumeClaim
metadata: {name: a}
spec: {accessModes: [ReadWriteOnce], resources: {requests: {storage: 1Gi}}}
---
apiVersion: v1
kind: ServiceAccount
metadata: {name: a}
---
apiVersion: policy/v1
kind: PodDisruptionBudget
metadata: {name: a}
spec: {minAvailable: 0, selector: {matchLabels: {app: a}}}
---
apiVersion: v1
kind: ResourceQuota
metadata: {name: a}
spec: {hard: {pods: "100"}}
---
apiVersion: v1
kind: LimitRange
metadata: {name: a}
spec: {limits: []}
---
apiVersion: networking.k8s.io/v1
kind: NetworkPolicy
metadata: {name: a}
spec: {podSelector: {}}
"#;

/// The resources of a release's objects in the order of their requests, each once in a row.
fn resources(audit: &AuditLog, user: &str, namespace: &str, verbs: &[&str]) -> Vec<String> {
    let requests = audit.by_user(user).namespace(namespace);
    let requests = requests.requests.into_iter().filter(|request| {
        let is_of_operator = request.resource == "webs"
            || request.resource == "events"
            || request.subresource == "status"
            || request.name.starts_with("sh.helm.release")
            || request
                .body()
                .is_some_and(|body| body["type"] == "helm.sh/release.v1");
        !is_of_operator && verbs.contains(&request.verb.as_str())
    });
    let mut resources: Vec<String> = requests.map(|request| request.resource).collect();
    resources.dedup();
    resources
}

#[tokio::test]
async fn kinds_come_and_go_in_the_order_of_helm() {
    let Some(bench) = Bench::with_kind("order").await else {
        return;
    };
    bench.add_template("kinds.yaml", KINDS);
    let twin = bench.cluster.unique_namespace("twin").await.unwrap();
    let chart = bench.folder.path().join("web");
    let chart = chart.to_str().unwrap();
    let mark = bench.cluster.audit_mark().await.unwrap();
    let wait = ["--namespace", &twin];
    bench
        .cluster
        .helm(&[&["install", "twin", chart][..], &wait].concat())
        .await
        .unwrap();
    let installed = bench.cluster.audit_since(mark).await.unwrap();
    let mark = bench.cluster.audit_mark().await.unwrap();
    bench
        .cluster
        .helm(&[&["uninstall", "twin"][..], &wait].concat())
        .await
        .unwrap();
    let uninstalled = bench.cluster.audit_since(mark).await.unwrap();
    let admin = bench.cluster.admin().name();
    let created = resources(&installed, admin, &twin, &["create", "patch"]);
    let deleted = resources(&uninstalled, admin, &twin, &["delete"]);
    assert!(created.len() > 12, "{created:?}");

    let operator = bench.ready_operator().await;
    let mark = bench.cluster.audit_mark().await.unwrap();
    bench.apply_web("shop", json!({})).await;
    bench.wait_revision("shop", 1).await;
    let audit = bench.cluster.audit_since(mark).await.unwrap();
    let user = bench.user.name();
    assert_eq!(
        resources(&audit, user, &bench.namespace, &["create", "patch"]),
        created
    );

    let mark = bench.cluster.audit_mark().await.unwrap();
    bench.delete_web("shop").await;
    bench.wait_gone(&bench.webs(), "shop").await;
    let audit = bench.cluster.audit_since(mark).await.unwrap();
    assert_eq!(resources(&audit, user, &bench.namespace, &["delete"]), deleted);
    operator.stop().await.unwrap();
}

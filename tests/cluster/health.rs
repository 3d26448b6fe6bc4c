//! A resource is ready when the objects of its release are.

use kube::api::{Api, DynamicObject, Patch, PatchParams};
use serde_json::{Value, json};

use crate::bench::{Bench, condition};

const CHART: &str = r"
apiVersion: v1
kind: Service
metadata: {name: entry}
spec: {type: LoadBalancer, ports: [{port: 80}]}
---
apiVersion: networking.k8s.io/v1
kind: Ingress
metadata: {name: entry}
spec: {defaultBackend: {service: {name: entry, port: {number: 80}}}}
---
apiVersion: v1
kind: PersistentVolumeClaim
metadata: {name: disk}
spec: {accessModes: [ReadWriteOnce], resources: {requests: {storage: 1Gi}}}
---
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: gauges.GROUP}
spec:
  group: GROUP
  names: {kind: Gauge, plural: gauges, singular: gauge}
  scope: Namespaced
  versions:
    - name: v1
      served: true
      storage: true
      subresources: {status: {}}
      schema: {openAPIV3Schema: {type: object, x-kubernetes-preserve-unknown-fields: true}}
---
apiVersion: GROUP/v1
kind: Gauge
metadata: {name: gauge}
spec: {}
";

async fn report(api: &Api<DynamicObject>, name: &str, status: Value) {
    let patch = Patch::Merge(json!({ "status": status }));
    api.patch_status(name, &PatchParams::default(), &patch)
        .await
        .unwrap();
}

/// Waits until just these objects are not ready, and gives the resource.
async fn wait_not_ready(bench: &Bench, expect: &[&str]) -> Value {
    bench
        .wait("the list", &bench.webs(), "shop", |web| {
            let listed = web.pointer("/status/health/notReady")?.as_array()?;
            let text = |object: &Value, key: &str| object[key].as_str().unwrap_or_default().to_owned();
            let mut listed: Vec<String> = listed
                .iter()
                .map(|object| {
                    format!(
                        "{} {}: {}",
                        text(object, "kind"),
                        text(object, "name"),
                        text(object, "message")
                    )
                })
                .collect();
            listed.sort();
            (listed == expect).then(|| web.clone())
        })
        .await
}

#[tokio::test]
async fn what_is_not_ready_is_listed_until_it_is() {
    let Some(bench) = Bench::with_kind("health").await else {
        return;
    };
    let group = format!("gauges.{}", bench.group);
    let template = bench.folder.path().join("web/templates/health.yaml");
    std::fs::write(template, CHART.replace("GROUP", &group)).unwrap();
    let operator = bench.ready_operator().await;
    bench.apply_web("shop", json!({"replicas": 0})).await;
    let claim = "PersistentVolumeClaim disk: it is not bound";
    let ingress = "Ingress entry: it has no address";
    let service = "Service entry: its load balancer has no address";
    let web = wait_not_ready(&bench, &[ingress, claim, service]).await;
    let (status, reason, message) = condition(&web, "Ready").unwrap();
    assert_eq!(
        (status.as_str(), reason.as_str()),
        ("False", "DependentsProgressing")
    );
    assert!(message.contains("it is not bound"), "{message}");

    let gauges = bench.api(&group, "v1", "Gauge", "gauges");
    let ready =
        |status: &str| json!({"conditions": [{"type": "Ready", "status": status, "reason": "Calibrating"}]});
    report(&gauges, "gauge", ready("False")).await;
    let gauge = "Gauge gauge: Calibrating";
    wait_not_ready(&bench, &[gauge, ingress, claim, service]).await;

    let address = json!({"loadBalancer": {"ingress": [{"ip": "192.0.2.1"}]}});
    report(&bench.services(), "entry", address.clone()).await;
    let ingresses = bench.api("networking.k8s.io", "v1", "Ingress", "ingresses");
    report(&ingresses, "entry", address).await;
    report(&gauges, "gauge", ready("True")).await;
    wait_not_ready(&bench, &[claim]).await;
    // A volume, as a storage class would bring it.
    let volume = json!({"apiVersion": "v1", "kind": "PersistentVolume", "metadata": {"name": bench.namespace},
        "spec": {"capacity": {"storage": "1Gi"}, "accessModes": ["ReadWriteOnce"], "hostPath": {"path": "/none"},
            "claimRef": {"name": "disk", "namespace": bench.namespace}}});
    bench.cluster.apply_object(&volume).await.unwrap();
    let claims = bench.api("", "v1", "PersistentVolumeClaim", "persistentvolumeclaims");
    let bound = json!({"spec": {"volumeName": bench.namespace}});
    claims
        .patch("disk", &PatchParams::default(), &Patch::Merge(bound))
        .await
        .unwrap();
    report(&claims, "disk", json!({"phase": "Bound"})).await;
    let namespace = bench.namespace.as_str();
    let web = format!("webs.{}/shop", bench.group);
    bench
        .cluster
        .kubectl(&[
            "wait",
            "-n",
            namespace,
            "--for=condition=Ready",
            &web,
            "--timeout=60s",
        ])
        .await
        .unwrap();
    let web = wait_not_ready(&bench, &[]).await;
    let health = &web["status"]["health"];
    assert_eq!(health["ready"], health["total"]);
    operator.stop().await.unwrap();
}

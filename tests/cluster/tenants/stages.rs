//! Stages of a tenant's release: what is applied behind a gate is bound as what comes before it.

use std::fs;
use std::time::Duration;

use kube::api::{Patch, PatchParams, PostParams};
use serde_json::{Value, json};

use super::{By, Tenants};
use crate::bench::condition;

/// The first stage is ready when it has an address, and the values say what the second one has.
const CHART: &str = "
apiVersion: networking.k8s.io/v1
kind: Ingress
metadata: {name: '{{ .Release.Name }}-gate'}
spec: {defaultBackend: {service: {name: web, port: {number: 80}}}}
---
apiVersion: v1
kind: ConfigMap
metadata:
  name: '{{ .Release.Name }}-behind'
  namespace: {{ .Values.place | default .Release.Namespace }}
data: {value: '1'}
";

async fn staged(test: &str, by: By) -> Option<Tenants> {
    let tenants = Tenants::new(test, by).await?;
    let bench = &tenants.bench;
    fs::remove_file(bench.folder.path().join("web/templates/web.yaml")).unwrap();
    bench.add_template("parts.yaml", CHART);
    let mut entry = json!({"group": bench.group, "version": "v1", "kind": "Web", "chart": "web",
        "serviceAccountName": "deployer",
        "stages": [{"name": "gate", "objects": [{"kind": "Ingress"}]}, {"name": "behind", "objects": [{"kind": "ConfigMap"}]}]});
    if by == By::Both {
        entry["confine"] = json!({});
    }
    bench.watches(&json!([entry]).to_string());
    tenants.generate_roles().await;
    Some(tenants)
}

async fn wait_stage(tenants: &Tenants, web: &str, place: usize, state: &str) {
    let at = format!("/status/stages/{place}/state");
    let is_there = |web: &Value| (web.pointer(&at)? == state).then_some(());
    let webs = tenants.bench.webs();
    tenants.bench.wait("the stage", &webs, web, is_there).await;
}

async fn open(tenants: &Tenants, namespace: &str, name: &str) {
    let address = json!({"status": {"loadBalancer": {"ingress": [{"ip": "192.0.2.1"}]}}});
    let ingresses = tenants.objects(namespace, "networking.k8s.io", "Ingress", "ingresses");
    let patch = Patch::Merge(&address);
    ingresses
        .patch_status(name, &PatchParams::default(), &patch)
        .await
        .unwrap();
}

#[tokio::test]
async fn what_is_out_of_bounds_behind_a_gate_is_refused_before_it() {
    let Some(tenants) = staged("out_of_bounds_behind_a_gate", By::Both).await else {
        return;
    };
    let operator = tenants.operator(&[]).await;
    let a = &tenants.bench.namespace;
    tenants.apply(a, "shop", json!({"place": tenants.other})).await;
    let (_, _, message) = tenants.bench.wait_failed("shop", "ReleaseFailed").await;
    assert!(message.contains("may not be part of the release"), "{message}");
    let ingresses = tenants.objects(a, "networking.k8s.io", "Ingress", "ingresses");
    assert!(ingresses.get_opt("shop-gate").await.unwrap().is_none());
    operator.stop().await.unwrap();
}

#[tokio::test]
async fn stages_are_applied_healed_and_judged_as_the_account() {
    let Some(tenants) = staged("stages_as_the_account", By::Impersonation).await else {
        return;
    };
    let (a, b) = (&tenants.bench.namespace, &tenants.other);
    let operator = tenants.operator(&[]).await;
    let mark = tenants.bench.cluster.audit_mark().await.unwrap();
    tenants.apply(a, "honest", json!({})).await;
    tenants.apply(a, "greedy", json!({"place": b})).await;
    for name in ["honest", "greedy"] {
        wait_stage(&tenants, name, 0, "Progressing").await;
    }

    // Another tenant's object with every mark of the first one's opens no gate.
    let ingresses = tenants.objects(a, "networking.k8s.io", "Ingress", "ingresses");
    let gate = ingresses.get("honest-gate").await.unwrap();
    let forged = json!({"apiVersion": "networking.k8s.io/v1", "kind": "Ingress",
        "metadata": {"name": "honest-gate", "labels": gate.metadata.labels, "annotations": gate.metadata.annotations},
        "spec": gate.data["spec"]});
    let theirs = tenants.objects(b, "networking.k8s.io", "Ingress", "ingresses");
    let forged = serde_json::from_value(forged).unwrap();
    theirs.create(&PostParams::default(), &forged).await.unwrap();
    open(&tenants, b, "honest-gate").await;
    tokio::time::sleep(Duration::from_secs(2)).await;
    wait_stage(&tenants, "honest", 0, "Progressing").await;

    // What drifts at a gate is healed.
    ingresses
        .delete("honest-gate", &Default::default())
        .await
        .unwrap();
    let is_new = |found: &Value| {
        let uid = found.pointer("/metadata/uid")?.as_str()?;
        (Some(uid) != gate.metadata.uid.as_deref()).then_some(())
    };
    tenants
        .bench
        .wait("the Ingress", &ingresses, "honest-gate", is_new)
        .await;
    for name in ["honest", "greedy"] {
        open(&tenants, a, &format!("{name}-gate")).await;
    }
    tenants.wait_revision(a, "honest", 1).await;
    let refused = |web: &Value| condition(web, "ReleaseFailed").map(|(_, _, message)| message);
    let webs = tenants.bench.webs();
    let message = tenants.bench.wait("the refusal", &webs, "greedy", refused).await;
    assert!(message.contains("forbidden"), "{message}");
    let maps = tenants.objects(b, "", "ConfigMap", "configmaps");
    assert!(maps.get_opt("greedy-behind").await.unwrap().is_none());

    let account = Tenants::account(a);
    let sent = tenants.sent_since(mark).await;
    let of_objects = sent.filter(|request| {
        ["ingresses", "configmaps"].contains(&request.resource.as_str()) && request.is_write()
    });
    assert!(!of_objects.is_empty());
    for request in &of_objects.requests {
        assert_eq!(request.user, account, "{request:?}");
        assert!(
            request.namespace != *b || request.code == Some(403),
            "{request:?}"
        );
    }
    operator.stop().await.unwrap();
}

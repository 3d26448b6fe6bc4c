//! A release whose account may do nothing any more.

use std::time::Instant;

use kube::api::{Api, DeleteParams, DynamicObject, Patch, PatchParams};
use kube::core::{ApiResource, GroupVersionKind};
use serde_json::json;

use super::{By, Tenants};
use crate::bench::{PATIENCE, condition, wait_for_line};

/// Takes its rights from the account in a namespace, and returns when the API server acts on that.
async fn unbind(tenants: &Tenants, namespace: &str) {
    let group = "rbac.authorization.k8s.io";
    let bindings = tenants.objects(namespace, group, "RoleBinding", "rolebindings");
    bindings
        .delete("deployer", &DeleteParams::default())
        .await
        .unwrap();
    let account = Tenants::account(namespace);
    let may = [
        "auth",
        "can-i",
        "delete",
        "configmaps",
        "-n",
        namespace,
        "--as",
        &account,
    ];
    let begun = Instant::now();
    while tenants.bench.cluster.kubectl(&may).await.is_ok() {
        assert!(begun.elapsed() < PATIENCE, "the account still may");
    }
}

/// One that is deleted, and one that leaves its objects.
const NAMES: [&str; 2] = ["shop", "blog"];

/// Has the objects and the records of the releases stay until they are let go.
async fn hold(tenants: &Tenants, namespace: &str, is_held: bool) {
    let finalizers: &[&str] = if is_held { &["example.com/held"] } else { &[] };
    let patch = Patch::Merge(json!({"metadata": {"finalizers": finalizers}}));
    for name in NAMES {
        let record = format!("sh.helm.release.v1.{name}.v1");
        for (kind, plural, name) in [("ConfigMap", "configmaps", name), ("Secret", "secrets", &record)] {
            let api = tenants.objects(namespace, "", kind, plural);
            api.patch(name, &PatchParams::default(), &patch).await.unwrap();
        }
    }
}

fn namespaces(tenants: &Tenants) -> Api<DynamicObject> {
    let kind = GroupVersionKind::gvk("", "v1", "Namespace");
    Api::all_with(tenants.bench.client.clone(), &ApiResource::from_gvk(&kind))
}

#[tokio::test]
async fn an_account_that_is_gone_keeps_no_namespace_from_being_deleted() {
    let test = "an_account_that_is_gone_keeps_no_namespace";
    let Some(tenants) = Tenants::new(test, By::Impersonation).await else {
        return;
    };
    let operator = tenants.operator(&[]).await;
    let b = &tenants.other;
    for name in NAMES {
        tenants.apply(b, name, json!({"hook": name == "shop"})).await;
        tenants.wait_revision(b, name, 1).await;
    }
    let orphan = json!({"metadata": {"annotations": {"steersman.dev/deletion-policy": "orphan"}}});
    tenants
        .webs(b)
        .patch("blog", &PatchParams::default(), &Patch::Merge(orphan))
        .await
        .unwrap();
    // The objects and the record of each outlast the namespace's first deletions.
    hold(&tenants, b, true).await;
    unbind(&tenants, b).await;
    namespaces(&tenants)
        .delete(b, &DeleteParams::default())
        .await
        .unwrap();
    for name in NAMES {
        tenants.bench.wait_gone(&tenants.webs(b), name).await;
    }
    // Without its record, if that is being deleted already, nothing but a label says what is of the release.
    let lines = [
        "the release goes with its namespace, as its ServiceAccount may not delete it any more",
        "left alone, as only its label says that it is of this release",
    ];
    let log = operator.log_text();
    assert!(lines.iter().any(|line| log.contains(line)), "{log}");
    hold(&tenants, b, false).await;
    tenants.bench.wait_gone(&namespaces(&tenants), b).await;
    operator.stop().await.unwrap();
}

#[tokio::test]
async fn a_deletion_waits_for_the_rights_of_its_account_and_says_which() {
    let test = "a_deletion_waits_for_the_rights_of_its_account";
    let Some(tenants) = Tenants::new(test, By::Impersonation).await else {
        return;
    };
    let operator = tenants.operator(&[]).await;
    let b = &tenants.other;
    tenants.apply(b, "shop", json!({})).await;
    tenants.wait_revision(b, "shop", 1).await;
    unbind(&tenants, b).await;
    tenants
        .webs(b)
        .delete("shop", &DeleteParams::default())
        .await
        .unwrap();
    let message = tenants
        .bench
        .wait("the refusal", &tenants.webs(b), "shop", |web| {
            let failed = condition(web, "ReleaseFailed")?;
            Some(failed.2)
        })
        .await;
    let account = Tenants::account(b);
    assert!(
        message.contains(&account) && message.contains("cannot delete resource"),
        "{message}"
    );
    wait_for_line(&operator, "cannot delete resource").await;
    tenants
        .objects(b, "apps", "Deployment", "deployments")
        .get("shop")
        .await
        .unwrap();
    tenants.bind(b).await;
    tenants.bench.wait_gone(&tenants.webs(b), "shop").await;
    operator.stop().await.unwrap();
}

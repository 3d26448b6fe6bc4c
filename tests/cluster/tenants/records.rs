//! What a tenant can write besides values: the record of its own release, labels, annotations.

use kube::api::{DeleteParams, Patch, PatchParams};
use serde_json::{Value, json};
use steersman_operator::release::{HookRecord, ReleaseRecord};
use steersman_testkit::cluster::{AuditLog, Request};

use super::{By, CANARY, Tenants};
use crate::records::changed;

/// Changes the stored revision of the tenant's release.
async fn forge(tenants: &Tenants, change: impl Fn(&mut ReleaseRecord), status: &str) {
    let secrets = tenants.bench.secrets();
    let name = "sh.helm.release.v1.shop.v1";
    let secret = secrets.get(name).await.unwrap();
    let release = changed(&secret, change);
    let patch = json!({"metadata": {"labels": {"status": status}}, "data": {"release": release}});
    secrets
        .patch(name, &PatchParams::default(), &Patch::Merge(patch))
        .await
        .unwrap();
}

fn planted(namespace: &str, more: &str) -> String {
    format!(
        "apiVersion: v1\nkind: ConfigMap\nmetadata: {{name: planted, namespace: {namespace}{more}}}\ndata: {{a: b}}\n"
    )
}

/// Requests about the other tenant's namespace that were let through, but those for its own resources.
///
/// With the operator's rights, an object that a record names is looked for, as it may have been made before there were
/// bounds; it is not there, or somebody else's by its marks.
fn reached(tenants: &Tenants, by: By, audit: &AuditLog) -> AuditLog {
    let account = Tenants::account(&tenants.bench.namespace);
    let is_refused = |request: &Request| request.code == Some(403) && request.user == account;
    audit.namespace(&tenants.other).filter(|request| {
        let is_looked_for = by == By::Confinement && request.verb == "get" && request.name == "planted";
        request.group != tenants.bench.group && !is_refused(request) && !is_looked_for
    })
}

/// What is done with a release whose record was forged.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Then {
    Upgraded,
    Deleted,
}

/// A release of the tenant whose record says, while no operator runs, what `change` makes of it. Gives the operator's log.
async fn check_record(by: By, status: &str, then: Then, change: impl Fn(&mut ReleaseRecord, &str)) -> String {
    let Some(tenants) = Tenants::new("records_of_tenants", by).await else {
        return String::new();
    };
    let (a, b) = (tenants.bench.namespace.clone(), tenants.other.clone());
    let operator = tenants.operator(&[]).await;
    tenants.apply(&a, "shop", json!({})).await;
    tenants.wait_revision(&a, "shop", 1).await;
    operator.stop().await.unwrap();
    forge(&tenants, |record| change(record, &b), status).await;

    let mark = tenants.bench.cluster.audit_mark().await.unwrap();
    let operator = tenants.operator(&[]).await;
    let maps = tenants.bench.config_maps();
    maps.delete("shop", &DeleteParams::default()).await.unwrap();
    match then {
        Then::Upgraded => tenants.apply(&a, "shop", json!({"message": "other"})).await,
        Then::Deleted => tenants.bench.delete_web("shop").await,
    }
    let account = Tenants::account(&a);
    let settled = |web: &Value| {
        let is_refused = by == By::Both && web.pointer("/status/conditions")?.to_string().contains(&account);
        // What nobody vouches for may have become a revision of its own before.
        let revision = web.pointer("/status/revision").and_then(Value::as_u64);
        let is_upgraded = revision.is_some_and(|revision| revision > 1);
        (is_refused || is_upgraded).then_some(())
    };
    let api = tenants.bench.webs();
    let settling = |web: &Value| web.is_null().then_some(()).or_else(|| settled(web));
    tenants.bench.wait("an end", &api, "shop", settling).await;
    // A release besides is not held up.
    tenants.apply(&a, "honest", json!({})).await;
    tenants.wait_revision(&a, "honest", 1).await;
    let audit = tenants.sent_since(mark).await;
    let reached = reached(&tenants, by, &audit);
    assert!(reached.is_empty(), "{reached}");
    let found = tenants.objects(&b, "", "ConfigMap", "configmaps");
    assert!(found.get_opt("planted").await.unwrap().is_none());
    assert!(!tenants.said_to(&a, &operator).await.contains(CANARY));
    operator.stop().await.unwrap();
    operator.log_text()
}

#[tokio::test]
async fn a_manifest_that_a_tenant_has_written_reaches_no_other_one() {
    let with_object = |record: &mut ReleaseRecord, other: &str| {
        record.manifest += "---\n# Source: web/templates/web.yaml\n";
        record.manifest += &planted(other, "");
    };
    for by in [By::Confinement, By::Both] {
        for then in [Then::Upgraded, Then::Deleted] {
            check_record(by, "deployed", then, with_object).await;
        }
    }
}

#[tokio::test]
async fn a_failed_revision_that_a_tenant_has_written_reaches_no_other_one() {
    let with_object = |record: &mut ReleaseRecord, other: &str| {
        record.info.status = steersman_model::ReleaseStatus::Failed;
        record.manifest += "---\n# Source: web/templates/web.yaml\n";
        record.manifest += &planted(other, "");
    };
    for by in [By::Confinement, By::Both] {
        check_record(by, "failed", Then::Upgraded, with_object).await;
    }
}

#[tokio::test]
async fn a_hook_that_a_tenant_has_written_is_left_out_of_the_deletion() {
    let with_hook = |record: &mut ReleaseRecord, other: &str| {
        record.hooks = Some(vec![HookRecord {
            name: "planted".to_owned(),
            kind: "ConfigMap".to_owned(),
            path: "web/templates/web.yaml".to_owned(),
            manifest: planted(other, ", annotations: {helm.sh/hook: pre-delete}"),
            events: vec!["pre-delete".to_owned()],
            weight: 0,
            delete_policies: Vec::new(),
            last_run: json!({"phase": ""}),
        }]);
    };
    for by in [By::Confinement, By::Both] {
        let log = check_record(by, "deployed", Then::Deleted, with_hook).await;
        assert!(log.is_empty() || log.contains("so no hook of it runs"), "{log}");
    }
}

/// Labels and annotations of the tenant's own objects say that they are the other's.
#[tokio::test]
async fn a_label_reaches_no_other_tenant() {
    let Some(tenants) = Tenants::new("a_label_reaches_no_other_tenant", By::Both).await else {
        return;
    };
    let (a, b) = (tenants.bench.namespace.clone(), tenants.other.clone());
    let operator = tenants.operator(&[]).await;
    tenants.apply(&b, "shop", json!({})).await;
    tenants.wait_revision(&b, "shop", 1).await;
    let owner = tenants.webs(&b).get("shop").await.unwrap().metadata.uid.unwrap();
    let text = format!(
        "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: pose\n  labels: {{steersman.dev/owner-uid: {owner}}}\n  \
         annotations: {{operator-sdk/primary-resource: {b}/shop, operator-sdk/primary-resource-type: Web.{}}}\n  \
         ownerReferences: [{{apiVersion: v1, kind: ConfigMap, name: shop, uid: {owner}}}]\n",
        tenants.bench.group
    );
    let mark = tenants.bench.cluster.audit_mark().await.unwrap();
    tenants.apply(&a, "posing", json!({ "text": text })).await;
    tenants.wait_revision(&a, "posing", 1).await;
    let found = tenants.bench.config_maps().get("pose").await.unwrap();
    let web = tenants.bench.webs().get("posing").await.unwrap();
    let labels = found.metadata.labels.unwrap_or_default();
    assert_eq!(labels.get("steersman.dev/owner-uid"), web.metadata.uid.as_ref());
    tenants.bench.delete_web("posing").await;
    tenants.bench.wait_gone(&tenants.bench.webs(), "posing").await;
    let audit = tenants.sent_since(mark).await;
    let reached = reached(&tenants, By::Both, &audit);
    assert!(reached.is_empty(), "{reached}");
    let shop = tenants.webs(&b).get("shop").await.unwrap();
    assert_eq!(
        shop.data.pointer("/status/revision").and_then(Value::as_u64),
        Some(1)
    );
    operator.stop().await.unwrap();
}

/// What a tenant writes by itself carries the other's UID: that one's deletion is not kept waiting, and nothing of the
/// tenant's goes with it.
#[tokio::test]
async fn an_object_with_the_label_of_another_tenant_keeps_nothing_from_being_deleted() {
    let test = "an_object_with_the_label_of_another_tenant";
    let Some(tenants) = Tenants::new(test, By::Both).await else {
        return;
    };
    let (a, b) = (tenants.bench.namespace.clone(), tenants.other.clone());
    let operator = tenants.operator(&[]).await;
    tenants.apply(&b, "shop", json!({})).await;
    tenants.wait_revision(&b, "shop", 1).await;
    let owner = tenants.webs(&b).get("shop").await.unwrap().metadata.uid.unwrap();
    let labels = json!({"steersman.dev/owner-uid": owner, "helm.sdk.operatorframework.io/chart": "web"});
    let posing = json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "posing", "namespace": a, "labels": labels}});
    tenants.bench.cluster.apply_object(&posing).await.unwrap();
    tenants
        .webs(&b)
        .delete("shop", &DeleteParams::default())
        .await
        .unwrap();
    tenants.bench.wait_gone(&tenants.webs(&b), "shop").await;
    tenants.bench.config_maps().get("posing").await.unwrap();
    operator.stop().await.unwrap();
}

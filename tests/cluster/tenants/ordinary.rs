//! Releases that want no more than is theirs: what they cost, and with whose rights each request is sent.

use kube::api::{DeleteParams, Patch, PatchParams};
use serde_json::{Value, json};
use steersman_testkit::cluster::{AuditLog, Request};

use super::{By, Tenants};
use crate::bench::Bench;

/// Everything that becomes of a release in a namespace: two revisions, drift, its end.
async fn live(tenants: &Tenants, namespace: &str) {
    let values = json!({"hook": true, "known": "kube-root-ca.crt"});
    tenants.apply(namespace, "shop", values).await;
    tenants.wait_revision(namespace, "shop", 1).await;
    let values = json!({"hook": true, "known": "kube-root-ca.crt", "message": "other"});
    tenants.apply(namespace, "shop", values).await;
    tenants.wait_revision(namespace, "shop", 2).await;
    let maps = tenants.objects(namespace, "", "ConfigMap", "configmaps");
    maps.delete("shop", &DeleteParams::default()).await.unwrap();
    let bench = &tenants.bench;
    bench
        .wait("the object", &maps, "shop", |found| {
            (!found.is_null()).then_some(())
        })
        .await;
    let deployments = tenants.objects(namespace, "apps", "Deployment", "deployments");
    let image = json!({"spec": {"template": {"spec": {"containers": [{"name": "web", "image": "other"}]}}}});
    deployments
        .patch("shop", &PatchParams::default(), &Patch::Strategic(image))
        .await
        .unwrap();
    bench
        .wait("the image", &deployments, "shop", |found| {
            let image = found.pointer("/spec/template/spec/containers/0/image")?;
            (image == "registry.example.com/web:1").then_some(())
        })
        .await;
    tenants
        .webs(namespace)
        .delete("shop", &DeleteParams::default())
        .await
        .unwrap();
    bench.wait_gone(&tenants.webs(namespace), "shop").await;
    bench.wait_gone(&deployments, "shop").await;
    bench.wait_gone(&maps, "shop-hook").await;
}

#[tokio::test]
async fn releases_live_by_the_generated_roles_and_the_operator_does_only_its_own_work_itself() {
    let test = "releases_live_by_the_generated_roles";
    let Some(tenants) = Tenants::new(test, By::Both).await else {
        return;
    };
    let operator = tenants.operator(&[]).await;
    let mark = tenants.bench.cluster.audit_mark().await.unwrap();
    let (a, b) = (tenants.bench.namespace.clone(), tenants.other.clone());
    live(&tenants, &a).await;
    let watches = watches(&tenants.sent_since(mark).await);
    live(&tenants, &b).await;
    let audit = tenants.sent_since(mark).await;
    let forbidden = audit.filter(|request| request.code == Some(403));
    assert!(forbidden.is_empty(), "{forbidden}");
    assert_eq!(
        self::watches(&audit),
        watches,
        "another tenant needs no other watch"
    );

    let own = audit.by_user(tenants.bench.user.name());
    let foreign = own.filter(|request| !is_own_work(&tenants.bench, request));
    assert!(foreign.is_empty(), "{foreign}");
    for namespace in [&a, &b] {
        let account = Tenants::account(namespace);
        let of_account = audit.by_user(&account);
        let outside = of_account.filter(|request| request.namespace != *namespace);
        assert!(!of_account.is_empty() && outside.is_empty(), "{outside}");
        let mut groups = of_account.requests[0].groups.clone();
        groups.sort();
        let of_namespace = format!("system:serviceaccounts:{namespace}");
        assert_eq!(
            groups,
            ["system:authenticated", "system:serviceaccounts", &of_namespace]
        );
    }
    operator.stop().await.unwrap();
}

/// Whether a request is about what is the operator's own work.
fn is_own_work(bench: &Bench, request: &Request) -> bool {
    let Request {
        group,
        resource,
        verb,
        name,
        ..
    } = request;
    let is_followed = matches!(verb.as_str(), "list" | "watch");
    let is_revision = resource == "secrets"
        && (name.starts_with("sh.helm.release.v1.") || request.uri.contains("owner%3Dhelm"));
    resource.is_empty()
        || *group == bench.group
        || resource == "events"
        || resource.ends_with("reviews")
        || is_followed
        || is_revision
        || resource == "secrets" && verb == "create"
}

/// What is watched, each once.
fn watches(audit: &AuditLog) -> Vec<String> {
    let mut found: Vec<String> = audit
        .verb("watch")
        .requests
        .iter()
        .map(|request| format!("{} {}", request.namespace, request.resource))
        .collect();
    found.sort();
    found.dedup();
    found
}

/// How many requests of each kind a second release takes until its status has settled.
async fn cost(by: Option<By>) -> Option<Vec<String>> {
    let tenants = Tenants::new(
        "confined_releases_cost_no_request_more",
        by.unwrap_or(By::Confinement),
    )
    .await?;
    let bench = &tenants.bench;
    if by.is_none() {
        let group = &bench.group;
        bench.watches(&format!(
            "- {{group: {group}, version: v1, kind: Web, chart: web}}\n"
        ));
    }
    let operator = tenants.operator(&[]).await;
    let values = json!({"known": "kube-root-ca.crt", "hook": true});
    tenants.apply(&bench.namespace, "first", values.clone()).await;
    tenants.wait_revision(&bench.namespace, "first", 1).await;
    let mark = bench.cluster.audit_mark().await.unwrap();
    tenants.apply(&bench.namespace, "second", values).await;
    tenants.wait_revision(&bench.namespace, "second", 1).await;
    tenants
        .apply(&bench.namespace, "second", json!({"message": "other"}))
        .await;
    tenants.wait_revision(&bench.namespace, "second", 2).await;
    tenants
        .webs(&bench.namespace)
        .delete("second", &DeleteParams::default())
        .await
        .unwrap();
    bench.wait_gone(&tenants.webs(&bench.namespace), "second").await;
    let audit = tenants.sent_since(mark).await;
    // How often the status is written follows from the pace of others.
    let counted = audit.filter(|request| {
        let of_second = request.uri.contains("second") || request.resource == "secrets";
        of_second && request.subresource != "status" && request.verb != "watch"
    });
    let described = |request: &Request| {
        let Request {
            verb, resource, name, ..
        } = request;
        format!("{verb} {resource} {name}")
    };
    let mut requests: Vec<String> = counted.requests.iter().map(described).collect();
    requests.sort();
    // So does how often something is looked for that is being deleted, and whether the finalizer meets a write of others.
    let may_repeat = |request: &str| request.starts_with("get ") || request.starts_with("patch webs ");
    requests.dedup_by(|one, other| one == other && may_repeat(one));
    operator.stop().await.unwrap();
    Some(requests)
}

#[tokio::test]
async fn confined_releases_cost_no_request_more() {
    let Some(unconfined) = cost(None).await else {
        return;
    };
    assert!(unconfined.len() > 10, "{unconfined:?}");
    for by in [By::Impersonation, By::Confinement, By::Both] {
        let confined = cost(Some(by)).await.unwrap_or_default();
        assert_eq!(confined, unconfined, "{by:?}");
    }
}

#[tokio::test]
async fn an_account_of_the_flag_is_that_of_entries_without_one() {
    let test = "an_account_of_the_flag";
    let Some(tenants) = Tenants::new(test, By::Impersonation).await else {
        return;
    };
    let group = &tenants.bench.group;
    tenants.bench.watches(&format!(
        "- {{group: {group}, version: v1, kind: Web, chart: web}}\n"
    ));
    let operator = tenants.operator(&["--default-service-account=deployer"]).await;
    let mark = tenants.bench.cluster.audit_mark().await.unwrap();
    let a = tenants.bench.namespace.clone();
    tenants.apply(&a, "shop", json!({})).await;
    tenants.wait_revision(&a, "shop", 1).await;
    let audit = tenants.sent_since(mark).await;
    let applied = audit.resource("deployments").verb("patch");
    assert_eq!(applied.by_user(&Tenants::account(&a)).len(), 1, "{audit}");
    operator.stop().await.unwrap();

    // Another account goes on from there: nothing is applied for its sake, and what it does it does by its own rights.
    may_impersonate_anybody(&tenants).await;
    let operator = tenants.operator(&["--default-service-account=intern"]).await;
    let mark = tenants.bench.cluster.audit_mark().await.unwrap();
    tenants.apply(&a, "shop", json!({"message": "other"})).await;
    let message = tenants
        .bench
        .wait("the refusal", &tenants.bench.webs(), "shop", |web| {
            let failed = crate::bench::condition(web, "ReleaseFailed")?;
            Some(failed.2)
        })
        .await;
    let refusal = format!("User \"system:serviceaccount:{a}:intern\" cannot");
    assert!(message.contains(&refusal), "{message}");
    let audit = tenants.sent_since(mark).await;
    assert!(audit.by_user(&Tenants::account(&a)).is_empty(), "{audit}");
    let web = tenants.bench.webs().get("shop").await.unwrap();
    assert_eq!(
        web.data.pointer("/status/revision").and_then(Value::as_u64),
        Some(1)
    );
    operator.stop().await.unwrap();
}

async fn may_impersonate_anybody(tenants: &Tenants) {
    let (name, user) = (format!("{}-any", tenants.role()), tenants.bench.user.name());
    let group = "rbac.authorization.k8s.io";
    let list = json!({"apiVersion": "v1", "kind": "List", "items": [
        {"apiVersion": format!("{group}/v1"), "kind": "ClusterRole", "metadata": {"name": name},
            "rules": [{"apiGroups": [""], "resources": ["serviceaccounts"], "verbs": ["impersonate"]}]},
        {"apiVersion": format!("{group}/v1"), "kind": "ClusterRoleBinding", "metadata": {"name": name},
            "roleRef": {"apiGroup": group, "kind": "ClusterRole", "name": name},
            "subjects": [{"apiGroup": group, "kind": "User", "name": user}]},
    ]});
    tenants.bench.cluster.apply_object(&list).await.unwrap();
}

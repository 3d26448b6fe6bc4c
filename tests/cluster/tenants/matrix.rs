//! What one tenant tries ends in a condition that names the rule, and reaches nothing of the other.

use kube::api::ListParams;
use serde_json::{Value, json};
use steersman_testkit::cluster::{AuditLog, Request};

use super::attempts::{Attempt, attempts};
use super::{By, CANARY, Tenants};
use crate::bench::condition;

#[tokio::test]
async fn a_tenant_reaches_no_more_than_its_account_may() {
    check("a_tenant_reaches_no_more_than_its_account_may", By::Impersonation).await;
}

#[tokio::test]
async fn a_tenant_reaches_no_more_than_its_watch_allows() {
    check("a_tenant_reaches_no_more_than_its_watch_allows", By::Confinement).await;
}

#[tokio::test]
async fn a_tenant_is_held_back_by_both() {
    check("a_tenant_is_held_back_by_both", By::Both).await;
}

async fn check(test: &str, by: By) {
    let Some(tenants) = Tenants::new(test, by).await else {
        return;
    };
    let operator = tenants.operator(&[]).await;
    let (a, b) = (&tenants.bench.namespace, &tenants.other);
    tenants.apply(b, "shop", json!({})).await;
    tenants.wait_revision(b, "shop", 1).await;
    let before = inhabitants(&tenants).await;

    let mark = tenants.bench.cluster.audit_mark().await.unwrap();
    let attempts = attempts(&tenants);
    for attempt in &attempts {
        tenants
            .apply(a, attempt.name, json!({ "text": attempt.text }))
            .await;
    }
    for attempt in &attempts {
        let message = refusal(&tenants, attempt.name).await;
        judge(attempt, by, &message, &Tenants::account(a));
    }
    // What can be had is had.
    tenants.apply(a, "honest", json!({"message": "own"})).await;
    tenants.wait_revision(a, "honest", 1).await;

    let audit = tenants.sent_since(mark).await;
    let elsewhere = audit.filter(|request| is_elsewhere(&tenants, request));
    if by.is_confining() {
        assert_eq!(described(&elsewhere), [""; 0]);
        assert_eq!(
            stored(&tenants).await,
            ["honest"],
            "nothing is stored of what is refused"
        );
    } else {
        let others =
            elsewhere.filter(|request| request.user != Tenants::account(a) || request.code != Some(403));
        assert_eq!(
            described(&others),
            [""; 0],
            "only the account asks, and is refused"
        );
        assert!(!elsewhere.is_empty());
    }
    assert_eq!(inhabitants(&tenants).await, before);
    let said = tenants.said_to(a, &operator).await;
    assert!(!said.contains(CANARY));
    operator.stop().await.unwrap();
}

/// What the status says of a resource that is refused.
async fn refusal(tenants: &Tenants, name: &str) -> String {
    let (_, _, message) = tenants.bench.wait_failed(name, "ReleaseFailed").await;
    message
}

fn judge(attempt: &Attempt, by: By, message: &str, account: &str) {
    let Attempt {
        name,
        object,
        rule,
        forbidden,
        ..
    } = attempt;
    let mut parts = if by.is_confining() {
        vec![object.as_str(), rule, "web/templates/web.yaml"]
    } else {
        vec![account, forbidden]
    };
    if name.starts_with("lookup") {
        parts.push("web/templates/web.yaml");
    }
    for part in parts {
        assert!(message.contains(part), "{name}: no {part} in: {message}");
    }
    assert!(!message.contains(CANARY));
}

/// Whether a request is about the other tenant, the operator's namespace or the whole cluster, and is not one of the
/// operator's own, as watches are, and what the status of the other tenant's resource tells of its health.
fn is_elsewhere(tenants: &Tenants, request: &Request) -> bool {
    if request.group == tenants.bench.group {
        return false;
    }
    let is_own_work = request.resource.is_empty()
        || request.resource.ends_with("reviews")
        || matches!(request.verb.as_str(), "list" | "watch") && request.impersonator.is_none();
    if request.namespace == tenants.other || request.namespace == tenants.own {
        return true;
    }
    request.namespace.is_empty() && !is_own_work
}

fn described(audit: &AuditLog) -> Vec<String> {
    let requests = audit.requests.iter();
    requests
        .map(|request| {
            let Request {
                user,
                verb,
                uri,
                code,
                ..
            } = request;
            format!("{user} {verb} {uri} {code:?}")
        })
        .collect()
}

/// What is in the other tenant's namespace and in the operator's, with the versions.
async fn inhabitants(tenants: &Tenants) -> Vec<String> {
    let mut found = Vec::new();
    for namespace in [&tenants.other, &tenants.own] {
        for (group, kind, plural) in [
            ("", "ConfigMap", "configmaps"),
            ("", "Secret", "secrets"),
            ("rbac.authorization.k8s.io", "RoleBinding", "rolebindings"),
        ] {
            let api = tenants.objects(namespace, group, kind, plural);
            let list = api.list_metadata(&ListParams::default()).await.unwrap();
            found.extend(list.items.into_iter().map(|object| {
                let metadata = object.metadata;
                format!(
                    "{plural} {} {}",
                    metadata.name.unwrap(),
                    metadata.resource_version.unwrap()
                )
            }));
        }
    }
    found
}

/// The releases with a stored revision.
async fn stored(tenants: &Tenants) -> Vec<String> {
    let selector = ListParams::default().labels("owner=helm");
    let found = tenants.bench.secrets().list_metadata(&selector).await.unwrap();
    let names = found.items.into_iter().map(|secret| {
        let labels = secret.metadata.labels.unwrap();
        labels["name"].clone()
    });
    names.collect()
}

#[tokio::test]
async fn a_dry_run_refuses_what_a_reconcile_refuses() {
    let test = "a_dry_run_refuses_what_a_reconcile_refuses";
    let Some(tenants) = Tenants::new(test, By::Both).await else {
        return;
    };
    let (a, b) = (&tenants.bench.namespace, &tenants.other);
    let planted = format!("apiVersion: v1\nkind: ConfigMap\nmetadata: {{name: planted, namespace: {b}}}\n");
    let operator = tenants.operator(&["--dry-run"]).await;
    let mark = tenants.bench.cluster.audit_mark().await.unwrap();
    tenants.apply(a, "object", json!({ "text": planted })).await;
    tenants.apply(a, "honest", json!({})).await;
    let summary = |web: &Value| {
        let summary = web.pointer("/status/dryRun/summary")?;
        Some(summary.as_str()?.to_owned())
    };
    let refused = tenants
        .bench
        .wait("the dry run", &tenants.bench.webs(), "object", summary)
        .await;
    let refusal = format!(
        "web/templates/web.yaml: ConfigMap {b}/planted may not be part of the release: `confine.namespaces` of the watch \
         has namespace {a} alone"
    );
    assert!(refused.contains(&refusal), "{refused}");
    let honest = tenants
        .bench
        .wait("the dry run", &tenants.bench.webs(), "honest", summary)
        .await;
    assert!(honest.contains("2 objects would change"), "{honest}");
    let audit = tenants.sent_since(mark).await;
    assert_eq!(described(&audit.namespace(b)), [""; 0]);
    let tried = audit.filter(|request| request.uri.contains("dryRun=All"));
    let account = Tenants::account(a);
    assert!(!tried.is_empty() && tried.by_user(&account) == tried, "{tried}");
    operator.stop().await.unwrap();

    let web = json!({"apiVersion": format!("{}/v1", tenants.bench.group), "kind": "Web",
        "metadata": {"name": "object", "namespace": a}, "spec": {"text": planted}});
    let folder = tenants.bench.folder.path();
    std::fs::write(folder.join("object.json"), web.to_string()).unwrap();
    let output = std::process::Command::new(env!("CARGO_BIN_EXE_steersman"))
        .args(["diff", "-f", "object.json"])
        .env("KUBECONFIG", tenants.bench.cluster.admin().kubeconfig())
        .current_dir(folder)
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!(output.status.code(), Some(2), "{said}");
    assert!(said.contains("`confine.namespaces` of the watch"), "{said}");
    let web = tenants.bench.webs().get("object").await.unwrap();
    assert_eq!(condition(&serde_json::to_value(web).unwrap(), "Deployed"), None);
}

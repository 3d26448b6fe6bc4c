//! A release as somebody sees it who may not read all that belongs to it.

use std::process::Command;
use std::time::{Duration, Instant};

use kube::api::DeleteParams;
use serde_json::{Value, json};
use steersman_testkit::cluster::User;

use super::{Page, between};
use crate::bench::{Bench, condition};

/// Much sooner than a watch ends by itself, which is after nearly five minutes.
const SOON: Duration = Duration::from_mins(2);

const GROUP: &str = "rbac.authorization.k8s.io";

/// Somebody with a role in the bench's namespace who may look at resources of its kind there, too.
async fn somebody(bench: &Bench, name: &str, role: Value) -> User {
    let name = format!("{name}-{}", bench.namespace);
    let user = bench.cluster.user(&name, &[]).unwrap();
    let looker = json!({"apiGroup": GROUP, "kind": "Role", "name": "looker"});
    for (number, role) in [looker, role].into_iter().enumerate() {
        let metadata = json!({"name": format!("{name}-{number}"), "namespace": bench.namespace});
        let binding = json!({"apiVersion": format!("{GROUP}/v1"), "kind": "RoleBinding", "metadata": metadata,
            "roleRef": role, "subjects": [{"apiGroup": GROUP, "kind": "User", "name": name}]});
        bench.cluster.apply_object(&binding).await.unwrap();
    }
    user
}

async fn role(bench: &Bench, name: &str, group: &str, resource: &str) -> Value {
    let metadata = json!({"name": name, "namespace": bench.namespace});
    let rules = [json!({"apiGroups": [group], "resources": [resource], "verbs": ["get", "list", "watch"]})];
    let role =
        json!({"apiVersion": format!("{GROUP}/v1"), "kind": "Role", "metadata": metadata, "rules": rules});
    bench.cluster.apply_object(&role).await.unwrap();
    json!({"apiGroup": GROUP, "kind": "Role", "name": name})
}

#[tokio::test]
async fn who_may_not_read_all_of_a_release_sees_the_rest_and_is_told() {
    let Some(bench) = Bench::with_kind("ui_rights").await else {
        return;
    };
    let operator = bench.ready_operator().await;
    // No node runs, so a replica would never be ready.
    bench.apply_web("shop", json!({"replicas": 0})).await;
    let is_ready = |web: &Value| condition(web, "Ready").filter(|(status, ..)| status == "True");
    bench.wait("readiness", &bench.webs(), "shop", is_ready).await;
    operator.stop().await.unwrap();
    role(&bench, "looker", &bench.group, "*").await;
    let address = format!("/releases/webs.{}/{}/shop", bench.group, bench.namespace);

    // Kubernetes' own role of who looks has no Secrets in it, and so no revisions.
    let view = json!({"apiGroup": GROUP, "kind": "ClusterRole", "name": "view"});
    let viewer = somebody(&bench, "viewer", view).await;
    let page = Page::start_as(&bench, viewer.kubeconfig(), &["-n", &bench.namespace]);
    let cookie = page.log_in().await;
    let shown = page.wait(&address, &cookie, "Deployment shop").await;
    for part in [
        "You may not read its revisions",
        "secrets is forbidden",
        "Service shop",
        "InstallSuccessful",
    ] {
        assert!(shown.contains(part), "no {part}: {shown}");
    }
    for part in ["There is no revision", "id=\"history\""] {
        assert!(!shown.contains(part), "{part}: {shown}");
    }
    let link = format!("{address}/object?");
    let object = format!("{link}{}", between(&shown, &link, "\"").replace("&#38;", "&"));
    let object = page.get(&object, &cookie).await;
    assert!(
        object.status == 200 && object.body.contains("kind: "),
        "{}",
        object.body
    );
    for (below, status, part) in [
        ("values", 200, "You may not read its revisions"),
        ("compare?from=1&to=1", 502, "secrets is forbidden"),
        ("actions/pause?", 200, "name=\"token\""),
        (
            "object?group=apps&kind=Deployment&namespace=&name=other",
            404,
            "There is no Deployment other",
        ),
    ] {
        let answer = page.get(&format!("{address}/{below}"), &cookie).await;
        assert!(
            answer.status == status && answer.body.contains(part),
            "{below}: {}",
            answer.body
        );
    }
    assert_eq!(
        status(&bench, &viewer),
        Some(2),
        "what may not be read is not known"
    );

    // The other way round.
    let secrets = role(&bench, "secrets", "", "secrets").await;
    let keeper = somebody(&bench, "keeper", secrets).await;
    let page = Page::start_as(&bench, keeper.kubeconfig(), &["-n", &bench.namespace]);
    let cookie = page.log_in().await;
    let shown = page.wait(&address, &cookie, "Deployment shop").await;
    for part in [
        "<span class=\"health unknown\">Unknown",
        "deployments.apps &#34;shop&#34; is forbidden",
        "id=\"history\"",
    ] {
        assert!(shown.contains(part), "no {part}: {shown}");
    }
    assert_eq!(
        status(&bench, &keeper),
        Some(2),
        "what may not be read is not known"
    );
    assert_eq!(status(&bench, &bench.user), Some(0));

    // A watch that has begun goes on for minutes, and nobody sees rows by it who may not list any longer.
    page.wait("/", &cookie, "Web shop").await;
    let bindings = bench.api(GROUP, "v1", "RoleBinding", "rolebindings");
    let looker = format!("keeper-{}-0", bench.namespace);
    bindings.delete(&looker, &DeleteParams::default()).await.unwrap();
    let begun = Instant::now();
    let list = page.wait("/", &cookie, "be looked at").await;
    assert!(!list.contains("Web shop") && begun.elapsed() < SOON, "{list}");
}

/// How `steersman status` of the resource ends for somebody.
fn status(bench: &Bench, user: &User) -> Option<i32> {
    let output = Command::new(env!("CARGO_BIN_EXE_steersman"))
        .args([
            "status",
            &format!("webs.{}/shop", bench.group),
            "-n",
            &bench.namespace,
        ])
        .env("KUBECONFIG", user.kubeconfig())
        .output()
        .unwrap();
    output.status.code()
}

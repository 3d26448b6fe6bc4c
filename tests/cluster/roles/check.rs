//! `rbac check` against a cluster.

use std::time::{Duration, Instant};

use serde_json::json;

use super::{define_shops, generated, rbac};
use crate::bench::{Bench, PATIENCE};

const FINE: &str = "The role is what the operator needs.\n";

/// What `rbac check` says once that is what is expected: roles take effect a moment after they were written.
async fn check(bench: &Bench, flags: &[&str], is_expected: impl Fn(&str) -> bool) {
    let kubeconfig = bench.cluster.admin().kubeconfig().to_string_lossy().into_owned();
    let mut all = vec!["--kubeconfig", &kubeconfig, "--user", bench.user.name()];
    all.extend(flags);
    let begun = Instant::now();
    loop {
        let output = rbac("check", bench.folder.path(), &all);
        let said = String::from_utf8_lossy(&output.stdout).into_owned();
        let code = i32::from(said != FINE);
        if output.status.code() == Some(code) && is_expected(&said) {
            return;
        }
        assert!(begun.elapsed() < PATIENCE, "{flags:?}: {output:?}\n{said}");
        tokio::time::sleep(Duration::from_millis(200)).await;
    }
}

/// Binds a role to the bench's user.
async fn bind(bench: &Bench, kind: &str, role: &str, namespace: Option<&str>) {
    let name = format!("{role}-{}", kind.to_lowercase());
    let (binding, place) = match namespace {
        Some(namespace) => ("RoleBinding", format!(", namespace: {namespace}")),
        None => ("ClusterRoleBinding", String::new()),
    };
    let text = format!(
        "apiVersion: rbac.authorization.k8s.io/v1\nkind: {binding}\nmetadata: {{name: {name}{place}}}\n\
         roleRef: {{apiGroup: rbac.authorization.k8s.io, kind: {kind}, name: {role}}}\n\
         subjects: [{{apiGroup: rbac.authorization.k8s.io, kind: User, name: {}}}]\n",
        bench.user.name()
    );
    bench.cluster.apply(&text).await.unwrap();
}

#[tokio::test]
async fn what_a_user_may_do_everywhere_is_told_from_what_it_may_in_a_namespace() {
    let Some(mut bench) = Bench::new("what_a_user_may_do_everywhere").await else {
        return;
    };
    define_shops(&bench, &bench.namespace).await;
    let role = format!("poor-{}", bench.namespace);
    bench.user = bench.cluster.user(&role, &[]).unwrap();
    let own = ["--operator-namespace", bench.namespace.as_str()];
    let flags = [&own[..], &["--no-leader-election", "--name", &role]].concat();
    let roles = generated(bench.folder.path(), &flags);
    bench.cluster.apply(&roles).await.unwrap();

    let namespace = bench.namespace.clone();
    bind(&bench, "ClusterRole", &role, Some(&namespace)).await;
    let in_namespace = ["--namespace", namespace.as_str()];
    let lacks_all = |said: &str| {
        said.lines().any(|line| {
            let words: Vec<&str> = line.split_whitespace().collect();
            words.starts_with(&[
                "missing",
                "deployments.apps",
                "everywhere",
                "create,delete,get,list,patch,watch",
            ])
        })
    };
    check(&bench, &in_namespace, lacks_all).await;
    // There it may do what is needed in the namespace, and nothing of the cluster.
    let listed = ["--watch-namespace", namespace.as_str()];
    check(&bench, &listed, |said| {
        said.contains("missing  clusterroles.rbac.authorization.k8s.io  everywhere")
            && !said
                .lines()
                .any(|line| line.starts_with("missing") && !line.contains(" clusterroles."))
    })
    .await;
    bind(&bench, "ClusterRole", &role, None).await;
    check(&bench, &in_namespace, |said| said == FINE).await;
}

#[tokio::test]
async fn roles_of_some_namespaces_are_checked_in_these() {
    let Some(mut bench) = Bench::new("roles_of_some_namespaces").await else {
        return;
    };
    let far = bench.cluster.unique_namespace("far").await.unwrap();
    define_shops(&bench, &far).await;
    let other = bench.cluster.unique_namespace("op").await.unwrap();
    let role = format!("poor-{}", bench.namespace);
    bench.user = bench.cluster.user(&role, &[]).unwrap();
    let namespaces = format!("{},{other}", bench.namespace);
    let listed = ["--watch-namespace", namespaces.as_str()];
    let own = ["--operator-namespace", bench.namespace.as_str()];
    let flags = [&listed[..], &own[..], &["--no-leader-election", "--name", &role]].concat();
    let roles = generated(bench.folder.path(), &flags);
    bench.cluster.apply(&roles).await.unwrap();
    bind(&bench, "ClusterRole", &role, None).await;
    bind(&bench, "Role", &role, Some(&bench.namespace)).await;
    bind(&bench, "Role", &role, Some(&other)).await;
    check(&bench, &listed, |said| {
        let missing = || said.lines().filter(|line| line.starts_with("missing"));
        missing().count() > 0 && missing().all(|line| line.contains(&format!(" {far} ")))
    })
    .await;
    bind(&bench, "Role", &role, Some(&far)).await;
    check(&bench, &listed, |said| said == FINE).await;

    // What is granted beyond that is seen where it is.
    let more = format!("{role}-more");
    let text = json!({"apiVersion": "rbac.authorization.k8s.io/v1", "kind": "Role",
        "metadata": {"name": more, "namespace": other},
        "rules": [{"apiGroups": [""], "resources": ["pods"], "verbs": ["get"]}]});
    bench.cluster.apply_object(&text).await.unwrap();
    bind(&bench, "Role", &more, Some(&other)).await;
    let expect = format!("unused pods {other} get");
    check(&bench, &listed, |said| {
        let words: Vec<&str> = said.lines().skip(1).flat_map(str::split_whitespace).collect();
        words.join(" ") == expect
    })
    .await;

    let gone = ["delete", "role", &role, "-n", &other];
    bench.cluster.kubectl(&gone).await.unwrap();
    check(&bench, &listed, |said| {
        let missing = || said.lines().filter(|line| line.starts_with("missing"));
        let is_there = missing().any(|line| line.contains(" deployments.apps "));
        is_there && missing().all(|line| line.contains(&format!(" {other} ")))
    })
    .await;
}

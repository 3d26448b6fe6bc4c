//! An operator that may write roles without having their rules.

use std::fs;

use serde_json::json;

use super::{generated, refused};
use crate::bench::{Bench, wait_for_line};

#[tokio::test]
async fn roles_are_written_and_bound_by_the_names_that_the_chart_fixes() {
    let Some(mut bench) = Bench::new("roles_are_written_and_bound").await else {
        return;
    };
    let name = format!("bold-{}", bench.namespace);
    let binding = |kind: &str, role: &str| {
        format!(
            "---\napiVersion: rbac.authorization.k8s.io/v1\nkind: {kind}\nmetadata:\n  name: {name}\nroleRef:\n  \
             apiGroup: rbac.authorization.k8s.io\n  kind: ClusterRole\n  name: {role}\n\
             subjects: [{{kind: ServiceAccount, name: default, namespace: default}}]\n"
        )
    };
    let role = format!(
        "apiVersion: rbac.authorization.k8s.io/v1\nkind: ClusterRole\nmetadata:\n  name: {name}\n  \
         labels: {{message: {{{{ .Values.message }}}}}}\nrules:\n- apiGroups: ['']\n  resources: [nodes]\n  verbs: [delete]\n"
    );
    let templates = bench.folder.path().join("bold/templates");
    fs::create_dir_all(&templates).unwrap();
    fs::write(
        templates.join("../Chart.yaml"),
        "{apiVersion: v2, name: bold, version: 1.0.0}\n",
    )
    .unwrap();
    let text = role + &binding("ClusterRoleBinding", &name) + &binding("RoleBinding", "view");
    fs::write(templates.join("roles.yaml"), text).unwrap();
    let group = &bench.group;
    bench.watches(&format!(
        "- {{group: {group}, version: v1, kind: Web, chart: bold}}\n"
    ));
    bench.define_kind().await;

    let operator_role = format!("operator-of-{name}");
    let flags = [
        "--allow-escalation",
        "--no-leader-election",
        "--operator-namespace",
        &bench.namespace,
        "--name",
        &operator_role,
    ];
    let roles = generated(bench.folder.path(), &flags);
    assert!(!roles.contains("nodes"), "{roles}");
    bench.cluster.apply(&roles).await.unwrap();
    bench.user = bench.cluster.user(&operator_role, &[]).unwrap();
    bench
        .cluster
        .grant_cluster_role(&bench.user, &operator_role)
        .await
        .unwrap();

    let mark = bench.cluster.audit_mark().await.unwrap();
    let operator = bench.ready_operator().await;
    wait_for_line(&operator, "No permission is missing").await;
    for (message, revision) in [("one", 1), ("two", 2)] {
        bench.apply_web("shop", json!({ "message": message })).await;
        bench.wait_revision("shop", revision).await;
    }
    bench.delete_web("shop").await;
    bench.wait_gone(&bench.webs(), "shop").await;
    bench.wait_gone(&bench.cluster_roles(), &name).await;
    operator.stop().await.unwrap();
    let audit = bench
        .cluster
        .audit_since(mark)
        .await
        .unwrap()
        .by_user(bench.user.name());
    assert_eq!(refused(&audit), [""; 0]);
}

//! What goes with a resource, and what only looks like it.

use kube::api::{DeleteParams, PostParams, PropagationPolicy};
use serde_json::json;

use super::{Roles, says};

/// Makes an object that no garbage collector takes, named as the resource, and reads another one.
const TASKS: &str = "
- kubernetes.core.k8s:
    definition:
      apiVersion: rbac.authorization.k8s.io/v1
      kind: ClusterRole
      metadata: {name: \"{{ ansible_operator_meta.namespace }}-{{ ansible_operator_meta.name }}\"}
- kubernetes.core.k8s_info:
    api_version: rbac.authorization.k8s.io/v1
    kind: ClusterRole
    name: \"{{ ansible_operator_meta.namespace }}-strange\"
- ansible.builtin.shell: until test -e {{ runs_file }}.go; do sleep 0.1; done
  when: waits | default(false)
";

async fn roles(test: &str) -> Option<Roles> {
    Roles::new(test, TASKS, ", deleteDependents: true").await
}

#[tokio::test]
async fn what_a_run_has_only_read_stays() {
    let Some(roles) = roles("what_a_run_has_only_read_stays").await else {
        return;
    };
    let (bench, namespace) = (&roles.bench, &roles.bench.namespace);
    let operator = roles.operator().await;
    bench.apply_web("shop", says("one")).await;
    let web = roles.wait_done("shop").await;
    // A controller copies labels.
    let strange = format!("{namespace}-strange");
    let labels = json!({"steersman.dev/owner-uid": web["metadata"]["uid"]});
    let copy = json!({
        "apiVersion": "rbac.authorization.k8s.io/v1", "kind": "ClusterRole",
        "metadata": {"name": strange, "labels": labels},
    });
    let copy = serde_json::from_value(copy).unwrap();
    let created = bench.cluster_roles().create(&PostParams::default(), &copy).await;
    created.expect("nobody else has it");
    bench.patch_web("shop", json!({"spec": says("two")})).await;
    roles.wait_runs(2).await;
    roles.wait_done("shop").await;
    bench.delete_web("shop").await;
    bench.wait_gone(&bench.webs(), "shop").await;
    bench
        .wait_gone(&bench.cluster_roles(), &format!("{namespace}-shop"))
        .await;
    let found = bench
        .cluster_roles()
        .get(&strange)
        .await
        .expect("it is another's");
    assert_eq!(found.metadata.deletion_timestamp, None);
    operator.stop().await.unwrap();
}

#[tokio::test]
async fn what_is_left_stays_where_the_deletion_says_so() {
    let Some(roles) = roles("what_is_left_stays_where_the_deletion_says_so").await else {
        return;
    };
    let (bench, namespace) = (&roles.bench, &roles.bench.namespace);
    let operator = roles.operator().await;
    for name in ["orphaned", "annotated"] {
        bench.apply_web(name, says("one")).await;
    }
    for name in ["orphaned", "annotated"] {
        roles.wait_done(name).await;
    }
    let orphan = DeleteParams {
        propagation_policy: Some(PropagationPolicy::Orphan),
        ..DeleteParams::default()
    };
    bench.webs().delete("orphaned", &orphan).await.unwrap();
    let policy = json!({"metadata": {"annotations": {"steersman.dev/deletion-policy": "orphan"}}});
    bench.patch_web("annotated", policy).await;
    bench.delete_web("annotated").await;
    for name in ["orphaned", "annotated"] {
        bench.wait_gone(&bench.webs(), name).await;
        let left = bench.cluster_roles().get(&format!("{namespace}-{name}")).await;
        assert_eq!(
            left.expect("it is left").metadata.deletion_timestamp,
            None,
            "{name}"
        );
    }
    operator.stop().await.unwrap();
}

#[tokio::test]
async fn what_a_run_that_was_cut_off_has_made_goes_too() {
    let Some(roles) = roles("what_a_run_that_was_cut_off_has_made_goes_too").await else {
        return;
    };
    let bench = &roles.bench;
    let made = format!("{}-shop", bench.namespace);
    let operator = roles.operator().await;
    bench.apply_web("shop", json!({"waits": true})).await;
    let is_there = |role: &serde_json::Value| role.is_object().then_some(());
    bench
        .wait("the role", &bench.cluster_roles(), &made, is_there)
        .await;
    operator.kill().await.unwrap();
    bench.delete_web("shop").await;
    let operator = roles.operator().await;
    bench.wait_gone(&bench.webs(), "shop").await;
    bench.wait_gone(&bench.cluster_roles(), &made).await;
    operator.stop().await.unwrap();
}

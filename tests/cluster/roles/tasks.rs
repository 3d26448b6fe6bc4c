//! An operator whose kind is made by a role of Ansible, with exactly what the role's tasks say that it needs.

use std::fs;

use kube::api::DeleteParams;
use serde_json::{Value, json};
use steersman_testkit::ansible::Ansible;
use steersman_testkit::cluster::OperatorProcess;

use super::{generated, refused};
use crate::bench::{Bench, RUN_PATIENCE, condition};

const TASKS: &str = r#"
- name: read the password
  kubernetes.core.k8s_info:
    kind: Secret
    name: password
    namespace: "{{ ansible_operator_meta.namespace }}"
  register: password
- name: make the map
  kubernetes.core.k8s:
    template: map.yml.j2
- name: make the deployment
  kubernetes.core.k8s:
    definition:
      apiVersion: apps/v1
      kind: Deployment
      metadata:
        name: "{{ ansible_operator_meta.name }}"
        namespace: "{{ ansible_operator_meta.namespace }}"
      spec:
        selector: {matchLabels: {app: web}}
        template:
          metadata: {labels: {app: web}}
          spec: {containers: [{name: web, image: registry.example.com/web:1}]}
"#;

const MAP: &str = r#"
apiVersion: v1
kind: ConfigMap
metadata:
  name: {{ ansible_operator_meta.name }}-made
  namespace: {{ ansible_operator_meta.namespace }}
data:
  message: "{{ message_text }}"
  found: "{{ password.resources | length }}"
"#;

fn write_role(bench: &Bench) {
    let role = bench.folder.path().join("roles/web");
    for (file, text) in [("tasks/main.yml", TASKS), ("templates/map.yml.j2", MAP)] {
        let path = role.join(file);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }
    bench.watches(&format!(
        "- {{group: {}, version: v1, kind: Web, role: web}}\n",
        bench.group
    ));
}

/// Gives the bench's user the generated role alone.
async fn bind(bench: &mut Bench) {
    let name = format!("runs-{}", bench.namespace);
    let user = format!("system:serviceaccount:{}:runs", bench.namespace);
    bench.user = bench.cluster.user(&user, &[]).unwrap();
    let namespace = bench.namespace.clone();
    let flags = [
        "--no-leader-election",
        "--operator-namespace",
        &namespace,
        "--service-account",
        "runs",
        "--name",
        &name,
    ];
    let roles = generated(bench.folder.path(), &flags);
    bench.cluster.apply(&roles).await.unwrap();
}

fn start(bench: &Bench, ansible: &Ansible) -> OperatorProcess {
    let (path, collections) = (ansible.path(), ansible.collections());
    let environment = [
        ("PATH", path.as_str()),
        ("ANSIBLE_COLLECTIONS_PATH", collections.to_str().unwrap()),
        ("ANSIBLE_GATHERING", "explicit"),
    ];
    let own = format!("--leader-election-namespace={}", bench.namespace);
    let flags = [
        "--zap-log-level=debug",
        &own,
        "--record-permissions=permissions.yaml",
    ];
    bench.start(bench.folder.path(), &flags, &environment)
}

#[tokio::test]
async fn a_run_is_refused_nothing_that_its_tasks_say() {
    let Some(ansible) = Ansible::find_or_skip("a_run_is_refused_nothing") else {
        return;
    };
    let Some(mut bench) = Bench::with_kind("a_run_is_refused_nothing").await else {
        return;
    };
    bench.patience = RUN_PATIENCE;
    write_role(&bench);
    bind(&mut bench).await;
    let secret = json!({"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "password"}, "data": {}});
    bench.create(&bench.secrets(), secret).await;

    let mark = bench.cluster.audit_mark().await.unwrap();
    let operator = start(&bench, &ansible);
    bench.apply_web("shop", json!({"messageText": "one"})).await;
    let maps = bench.config_maps();
    let says = |text: &'static str| {
        move |map: &Value| {
            (map.pointer("/data/message")? == text && map.pointer("/data/found")? == "1").then_some(())
        }
    };
    let is_there = |object: &Value| (!object.is_null()).then_some(());
    let done = |web: &Value| {
        condition(web, "Successful")
            .filter(|(status, ..)| status == "True")
            .map(drop)
    };
    bench.wait("the map", &maps, "shop-made", says("one")).await;
    bench
        .wait("the deployment", &bench.deployments(), "shop", is_there)
        .await;
    bench.wait("the success", &bench.webs(), "shop", done).await;

    // What is changed and what is gone is made again, for which the operator watches it.
    bench.apply_web("shop", json!({"messageText": "two"})).await;
    bench.wait("the change", &maps, "shop-made", says("two")).await;
    bench.wait("the success", &bench.webs(), "shop", done).await;
    maps.delete("shop-made", &DeleteParams::default()).await.unwrap();
    bench.wait("the map again", &maps, "shop-made", says("two")).await;
    bench.wait("the success", &bench.webs(), "shop", done).await;
    operator.stop().await.unwrap();

    let audit = bench.cluster.audit_since(mark).await.unwrap();
    let audit = audit.by_user(bench.user.name());
    assert_eq!(refused(&audit), [""; 0]);
    assert!(!audit.requests.is_empty());

    // What the runs have asked for is what their tasks say.
    let recorded = fs::read_to_string(bench.folder.path().join("permissions.yaml")).unwrap();
    for resource in ["configmaps", "deployments", "secrets"] {
        assert!(recorded.contains(&format!("- {resource}\n")), "{recorded}");
    }
    let with_record = generated(bench.folder.path(), &["--recorded", "permissions.yaml"]);
    let rules = |text: &str| {
        let lines = text.lines().filter(|line| !line.starts_with('#'));
        lines.map(str::to_owned).collect::<Vec<_>>()
    };
    assert_eq!(
        rules(&with_record),
        rules(&generated(bench.folder.path(), &[])),
        "{recorded}"
    );
}

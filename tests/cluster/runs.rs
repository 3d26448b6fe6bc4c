//! Roles as operators, with the real ansible-runner.

use std::fs;

use serde_json::{Value, json};
use steersman_testkit::ansible::Ansible;
use steersman_testkit::cluster::OperatorProcess;

use crate::bench::{Bench, condition};

const TASKS: &str = "- name: make the map
  kubernetes.core.k8s:
    definition:
      apiVersion: v1
      kind: ConfigMap
      metadata:
        name: \"{{ ansible_operator_meta.name }}-made\"
        namespace: \"{{ ansible_operator_meta.namespace }}\"
      data: {message: \"{{ message_text }}\"}
";

/// An operator whose kind is made by a role.
async fn with_role(test: &str, tasks: &str) -> Option<(Bench, Ansible)> {
    let ansible = Ansible::find_or_skip(test)?;
    let bench = Bench::with_kind(test).await?;
    let folder = bench.folder.path();
    fs::create_dir_all(folder.join("roles/web/tasks")).unwrap();
    fs::write(folder.join("roles/web/tasks/main.yml"), tasks).unwrap();
    let role = folder.join("roles/web");
    bench.watches(&format!(
        "- {{group: {}, version: v1, kind: Web, role: {}}}\n",
        bench.group,
        role.display()
    ));
    Some((bench, ansible))
}

async fn operator(bench: &Bench, ansible: &Ansible) -> OperatorProcess {
    let (path, collections) = (ansible.path(), ansible.collections());
    let environment = [
        ("PATH", path.as_str()),
        ("ANSIBLE_COLLECTIONS_PATH", collections.to_str().unwrap()),
        ("ANSIBLE_GATHERING", "explicit"),
    ];
    bench.operator_in(bench.folder.path(), &environment)
}

#[tokio::test]
async fn a_role_makes_what_the_resource_says_and_puts_it_back() {
    let Some((bench, ansible)) = with_role("a_role_makes", TASKS).await else {
        return;
    };
    let operator = operator(&bench, &ansible).await;
    bench.apply_web("shop", json!({"messageText": "one"})).await;
    let maps = bench.config_maps();
    let says = |text: &'static str| move |map: &Value| (map.pointer("/data/message")? == text).then_some(());
    bench.wait("the map", &maps, "shop-made", says("one")).await;
    let made = maps.get("shop-made").await.unwrap();
    let uid = bench.webs().get("shop").await.unwrap().metadata.uid.unwrap();
    assert_eq!(made.metadata.labels.unwrap()["steersman.dev/owner-uid"], uid);
    assert_eq!(made.metadata.owner_references.unwrap()[0].uid, uid);
    let done = |web: &Value| {
        condition(web, "Successful")
            .filter(|(status, ..)| status == "True")
            .map(drop)
    };
    bench.wait("the success", &bench.webs(), "shop", done).await;

    bench.apply_web("shop", json!({"messageText": "two"})).await;
    bench.wait("the change", &maps, "shop-made", says("two")).await;
    operator.stop().await.unwrap();
}

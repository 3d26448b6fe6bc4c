//! What happens when a resource is deleted.

use kube::api::{Patch, PatchParams};
use serde_json::{Value, json};
use steersman_testkit::cluster::{Fault, FaultProxy};

use super::{MAP, Roles, says};
use crate::bench::condition;

/// Makes objects that the garbage collector does not take with the resource.
const ELSEWHERE: &str = "
- kubernetes.core.k8s:
    definition:
      apiVersion: v1
      kind: Namespace
      metadata: {name: \"{{ ansible_operator_meta.namespace }}-more\"}
- kubernetes.core.k8s:
    definition:
      apiVersion: rbac.authorization.k8s.io/v1
      kind: ClusterRole
      metadata: {name: \"{{ ansible_operator_meta.namespace }}-{{ item }}\"}
  loop: [mine, kept]
";

/// And no longer: it writes the status, so the finalizer can't be taken off the resource that it was given, and the first request
/// to take it off fails.
#[tokio::test]
async fn a_finalizer_runs_until_it_succeeds() {
    let test = "a_finalizer_runs_until_it_succeeds";
    let tasks = "
- ansible.builtin.fail: {msg: still in use}
  when: is_end | default(false) and in_use | default(false)
- ansible.builtin.shell: echo end >> {{ runs_file }}.ended; wc -l < {{ runs_file }}.ended
  register: ended
  when: is_end | default(false)
- operator_sdk.util.k8s_status:
    api_version: \"{{ api }}\"
    kind: Web
    name: \"{{ ansible_operator_meta.name }}\"
    namespace: \"{{ ansible_operator_meta.namespace }}\"
    status: {ended: \"time {{ ended.stdout }}\"}
  when: is_end | default(false)
";
    let fields = ", finalizer: {name: example.com/end, vars: {is_end: true}}";
    let Some(mut roles) = Roles::new(test, tasks, fields).await else {
        return;
    };
    let proxy = FaultProxy::start(roles.bench.cluster, &roles.bench.user)
        .await
        .unwrap();
    roles.bench.user = proxy.user().clone();
    let bench = &roles.bench;
    let operator = roles.operator().await;
    let api = format!("{}/v1", bench.group);
    bench.apply_web("shop", json!({"inUse": true, "api": api})).await;
    let web = roles.wait_done("shop").await;
    assert_eq!(web["metadata"]["finalizers"], json!(["example.com/end"]));
    let fault = proxy.inject(Fault::on("patch", "webs").name("shop").refuse(503));
    bench.delete_web("shop").await;
    let blocked = |web: &Value| {
        let (_, reason, message) = condition(web, "Ready")?;
        (reason == "Finalizing" && message.contains("still in use")).then_some(())
    };
    bench.wait("what blocks", &bench.webs(), "shop", blocked).await;
    bench.patch_web("shop", json!({"spec": {"inUse": false}})).await;
    bench.wait_gone(&bench.webs(), "shop").await;
    assert_eq!(proxy.struck(fault), 1);
    let ended = std::fs::read_to_string(roles.path("runs.ended")).unwrap();
    assert_eq!(ended.lines().count(), 1, "finalizers that have succeeded");
    operator.stop().await.unwrap();
}

#[tokio::test]
async fn dependents_elsewhere_go_with_the_resource_where_the_entry_says_so() {
    let test = "dependents_elsewhere_go_with_the_resource_where_the_entry_says_so";
    let Some(roles) = Roles::new(test, ELSEWHERE, ", watchClusterScopedResources: true").await else {
        return;
    };
    let (bench, name) = (&roles.bench, roles.bench.namespace.clone());
    let (mine, kept, more) = (
        format!("{name}-mine"),
        format!("{name}-kept"),
        format!("{name}-more"),
    );
    let operator = roles.operator().await;
    bench.apply_web("shop", json!({})).await;
    roles.wait_done("shop").await;
    bench.delete_web("shop").await;
    bench.wait_gone(&bench.webs(), "shop").await;
    // As with ansible-operator.
    let role = bench.cluster_roles().get(&mine).await.unwrap();
    assert_eq!(
        role.metadata.annotations.unwrap()["operator-sdk/primary-resource"],
        format!("{name}/shop")
    );
    operator.stop().await.unwrap();

    roles.entry(
        "role: web",
        ", watchClusterScopedResources: true, deleteDependents: true",
    );
    let operator = roles.operator().await;
    bench.apply_web("shop", json!({})).await;
    roles.wait_done("shop").await;
    // What changes elsewhere is put back, too.
    let runs = roles.runs();
    let changed = Patch::Merge(json!({"metadata": {"labels": {"theirs": "yes"}}}));
    bench
        .cluster_roles()
        .patch(&mine, &PatchParams::default(), &changed)
        .await
        .unwrap();
    roles.wait_runs(runs + 1).await;
    roles.wait_done("shop").await;
    let keep = Patch::Merge(json!({"metadata": {"annotations": {"helm.sh/resource-policy": "keep"}}}));
    bench
        .cluster_roles()
        .patch(&kept, &PatchParams::default(), &keep)
        .await
        .unwrap();
    roles.wait_runs(runs + 2).await;
    roles.wait_done("shop").await;
    bench.delete_web("shop").await;
    bench.wait_gone(&bench.webs(), "shop").await;
    bench.wait_gone(&bench.cluster_roles(), &mine).await;
    let gone = |found: &Value| {
        (found.is_null() || found.pointer("/metadata/deletionTimestamp").is_some()).then_some(())
    };
    bench.wait("the end", &roles.namespaces(), &more, gone).await;
    bench.cluster_roles().get(&kept).await.expect("it is kept");
    operator.stop().await.unwrap();
}

#[tokio::test]
async fn a_deletion_ends_the_run_that_is_under_way() {
    let test = "a_deletion_ends_the_run_that_is_under_way";
    let fields = ", finalizer: {name: example.com/end, playbook: end.yml}";
    let Some(roles) = Roles::new(test, "", "").await else {
        return;
    };
    let end = "- hosts: localhost\n  gather_facts: false\n  tasks:\n  - ansible.builtin.file: {path: ended, state: touch}\n";
    roles.write(
        "end.yml",
        &end.replace("ended", &roles.path("ended").display().to_string()),
    );
    let folder = roles.bench.folder.path().display().to_string();
    // It leaves its process group.
    let tasks = format!(
        "- ansible.builtin.shell: echo a >> {{{{ runs_file }}}}; setsid sh -c 'sleep 1000; echo {folder}'\n"
    );
    roles.write("roles/web/tasks/main.yml", &tasks);
    roles.entry("role: web", fields);
    let operator = roles.operator().await;
    roles.bench.apply_web("shop", says("one")).await;
    roles.wait_runs(1).await;
    roles.bench.delete_web("shop").await;
    roles.bench.wait_gone(&roles.bench.webs(), "shop").await;
    assert!(roles.path("ended").exists());
    assert_eq!(roles.processes(), Vec::<String>::new());
    operator.stop().await.unwrap();
}

#[tokio::test]
async fn what_is_no_longer_selected_is_finalized_when_it_is_deleted() {
    let test = "what_is_no_longer_selected_is_finalized_when_it_is_deleted";
    let fields = ", selector: {matchLabels: {team: a}}, finalizer: {name: example.com/end, vars: {message_text: the end}}";
    let Some(roles) = Roles::new(test, MAP, fields).await else {
        return;
    };
    let bench = &roles.bench;
    let operator = roles.operator().await;
    bench.apply_web("other", says("other")).await;
    bench.apply_web("shop", says("one")).await;
    bench
        .patch_web("shop", json!({"metadata": {"labels": {"team": "a"}}}))
        .await;
    roles.wait_done("shop").await;
    bench
        .patch_web("shop", json!({"metadata": {"labels": {"team": "b"}}}))
        .await;
    roles.stays_at(1).await;
    operator.stop().await.unwrap();
    bench.delete_web("shop").await;
    let operator = roles.operator().await;
    bench.wait_gone(&bench.webs(), "shop").await;
    assert_eq!(roles.runs(), 2);
    operator.stop().await.unwrap();
}

/// Of a run that was cut off no record tells, and the run after it makes something else.
#[tokio::test]
async fn what_a_run_that_was_cut_off_has_left_goes_with_the_resource() {
    let test = "what_a_run_that_was_cut_off_has_left_goes_with_the_resource";
    let tasks = "
- kubernetes.core.k8s:
    definition:
      apiVersion: rbac.authorization.k8s.io/v1
      kind: ClusterRole
      metadata: {name: \"{{ ansible_operator_meta.namespace }}-{{ message_text }}\"}
- ansible.builtin.shell: echo {{ message_text }} >> {{ runs_file }}.made; test {{ message_text }} = b || sleep 1000
";
    let Some(roles) = Roles::new(test, tasks, ", deleteDependents: true").await else {
        return;
    };
    let bench = &roles.bench;
    let [cut, last] = ["a", "b"].map(|text| format!("{}-{text}", bench.namespace));
    let operator = roles.operator().await;
    bench.apply_web("shop", says("a")).await;
    crate::bench::wait_until("the first run", || roles.path("runs.made").exists()).await;
    operator.stop().await.unwrap();
    bench.apply_web("shop", says("b")).await;
    let operator = roles.operator().await;
    roles.wait_done("shop").await;
    operator.stop().await.unwrap();

    let with = |names: Value| Patch::Merge(json!({"metadata": {"finalizers": names}}));
    let params = PatchParams::default();
    let held = with(json!(["example.com/hold"]));
    bench.cluster_roles().patch(&last, &params, &held).await.unwrap();
    let release = "helm.sdk.operatorframework.io/uninstall-release";
    let mut finalizers = bench
        .webs()
        .get("shop")
        .await
        .unwrap()
        .metadata
        .finalizers
        .unwrap();
    finalizers.push(release.to_owned());
    bench
        .patch_web("shop", json!({"metadata": {"finalizers": finalizers}}))
        .await;
    let operator = roles.operator().await;
    bench.delete_web("shop").await;
    let says_of = |text: String| {
        move |web: &Value| {
            let (_, reason, message) = condition(web, "Ready")?;
            (reason == "Finalizing" && message.contains(&text)).then_some(())
        }
    };
    let webs = bench.webs();
    let waits = says_of(format!("waits until ClusterRole {last} is gone"));
    bench.wait("what is held", &webs, "shop", waits).await;
    bench.wait_gone(&bench.cluster_roles(), &cut).await;
    let free = with(json!(null));
    bench.cluster_roles().patch(&last, &params, &free).await.unwrap();
    bench
        .wait("the other finalizer", &webs, "shop", says_of(release.to_owned()))
        .await;
    bench
        .patch_web("shop", json!({"metadata": {"finalizers": null}}))
        .await;
    bench.wait_gone(&webs, "shop").await;
    bench.wait_gone(&bench.cluster_roles(), &last).await;
    operator.stop().await.unwrap();
}

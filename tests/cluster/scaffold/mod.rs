//! Projects as `init` writes them, from `make install` to `make undeploy`: make and kubectl run what is in the Makefile.

mod project;
mod tutorial;

use std::fs;
use std::path::{Path, PathBuf};

use hyper::StatusCode;
use serde_json::{Value, json};
use steersman_testkit::cluster::{OperatorCommand, OperatorProcess};

use crate::bench::{Bench, PATIENCE};
use crate::developer::contains_all;
use crate::metrics::Reader;
use project::{BINARY, Project};

const IMAGE: &str = "IMG=registry.example.com/team/operator:v1";

/// `make install`, `make run` and `make uninstall`.
async fn runs_on_this_machine(project: &Project<'_>) {
    project.make(&["install"]).succeeded();
    project.make(&["install"]).succeeded();
    let flags = "RUN_FLAGS=--metrics-bind-address=127.0.0.1:0 --health-probe-bind-address=127.0.0.1:0";
    let mut running = project.start_make(&["run", flags]);
    project.install_sample();
    project.kubectl(&["get", project.workload, &project.sample()]);
    refuses_to_go(project, "uninstall");
    project.delete_sample();
    running.signal("INT");
    running.end().await;
    assert!(!running.log().contains("ERROR"), "{}", running.log());
    project.make(&["uninstall"]).succeeded();
    assert_eq!(project.left(), [""; 0]);
}

/// While there is a sample, nothing of the project goes.
fn refuses_to_go(project: &Project<'_>, target: &str) {
    let said = project.make(&[target]);
    assert!(!said.success);
    contains_all(&said.stderr, &[&project.sample(), "--cascade"]);
    let sample = project.get(&[&project.resource(), &project.sample()]);
    assert_eq!(sample["metadata"]["deletionTimestamp"], Value::Null);
}

/// `make deploy`, with this test in the place of a node: it says that the operator's pod is ready.
async fn deploys(project: &Project<'_>) -> Value {
    let mut deploying = project.start_make(&["deploy", IMAGE]);
    let system = project.system();
    let pods = ["pods", "-n", &system];
    let find = || project.get(&pods).pointer("/items/0/metadata/name").cloned();
    project
        .wait_until("a pod that Pod Security admits", || find().is_some())
        .await;
    let (pod, status) = (
        find().unwrap(),
        json!({"status": {"phase": "Running", "conditions": [
        {"type": "Ready", "status": "True", "lastTransitionTime": "2020-01-01T00:00:00Z"}]}}),
    );
    project.kubectl(&[
        "patch",
        "pod",
        pod.as_str().unwrap(),
        "-n",
        &system,
        "--subresource=status",
        "-p",
        &status.to_string(),
    ]);
    assert!(deploying.end().await, "{}", deploying.log());
    let name = format!("{}-controller-manager", project.name);
    project.get(&["deployment", &name, "-n", &system])
}

/// A kubeconfig of the `ServiceAccount` of the operator, and the name by which the API server knows it.
fn service_account(project: &Project<'_>, deployment: &Value) -> (PathBuf, String) {
    let account = deployment["spec"]["template"]["spec"]["serviceAccountName"]
        .as_str()
        .unwrap();
    let system = project.system();
    let token = project.kubectl(&["create", "token", account, "-n", &system]);
    let shown = project.kubectl(&["config", "view", "--raw", "--flatten", "-o", "json"]);
    let mut kubeconfig: Value = serde_json::from_str(&shown).unwrap();
    kubeconfig["users"][0]["user"] = json!({"token": token.trim()});
    let file = project.bench.folder.path().join("service-account");
    fs::write(&file, kubeconfig.to_string()).unwrap();
    (file, format!("system:serviceaccount:{system}:{account}"))
}

/// Starts the operator of the Deployment as its `ServiceAccount`, with its flags.
async fn operate(project: &Project<'_>, deployment: &Value, kubeconfig: &Path) -> OperatorProcess {
    let container = &deployment["spec"]["template"]["spec"]["containers"][0];
    let namespace = format!("--leader-election-namespace={}", project.system());
    let mut arguments = vec!["--watch-files=false", &namespace];
    let of_container = container["args"].as_array().unwrap();
    let of_container = of_container.iter().map(|argument| argument.as_str().unwrap());
    arguments.extend(of_container.filter(|argument| !argument.contains("-bind-address=")));
    assert_eq!(container["env"][0]["name"], "WATCH_NAMESPACE");
    let watched = container["env"][0]["value"].as_str().unwrap_or_default();
    let mut environment = project.environment();
    environment.push(("WATCH_NAMESPACE", watched.to_owned()));
    let environment: Vec<(&str, &str)> = environment
        .iter()
        .map(|(name, value)| (*name, value.as_str()))
        .collect();
    let operator = OperatorProcess::start(&OperatorCommand {
        binary: Path::new(BINARY),
        folder: &project.folder,
        kubeconfig,
        arguments: &arguments,
        environment: &environment,
        log: &project.bench.folder.path().join("operator.log"),
    })
    .unwrap();
    operator.wait_until_ready(PATIENCE).await.unwrap();
    operator
}

/// Install, upgrade, drift and metrics.
async fn live(project: &Project<'_>, operator: &OperatorProcess) {
    project.install_sample();
    let (resource, sample) = (project.resource(), project.sample());
    let patch = r#"{"spec":{"replicaCount":2}}"#;
    project.kubectl(&["patch", &resource, &sample, "--type=merge", "-p", patch]);
    project.wait_for("jsonpath={.status.revision}=2");
    let workload = project.get(&[project.workload, &sample]);
    assert_eq!(workload["spec"]["replicas"], 2);

    project.kubectl(&["scale", project.workload, &sample, "--replicas=7"]);
    project.kubectl(&["delete", "service", &sample]);
    let healed = || {
        let workload = project.get(&[project.workload, &sample]);
        let services = project.kubectl(&["get", "services", "-o", "name"]);
        workload["spec"]["replicas"] == 2 && services.contains(&sample)
    };
    project.wait_until("the healing", healed).await;

    let (namespace, role) = (
        &project.bench.namespace,
        format!("{}-metrics-reader", project.name),
    );
    let account = [
        "create",
        "serviceaccount",
        "reader",
        "--dry-run=client",
        "-o",
        "json",
    ];
    let account = project.kubectl(&account);
    project.bench.cluster.apply(&account).await.unwrap();
    let token = project.kubectl(&["create", "token", "reader"]);
    let reader = Reader::of(operator);
    reader
        .wait_for(StatusCode::FORBIDDEN, None, Some(token.trim()))
        .await;
    let subject = format!("--serviceaccount={namespace}:reader");
    project.kubectl(&[
        "create",
        "clusterrolebinding",
        &role,
        &format!("--clusterrole={role}"),
        &subject,
    ]);
    let page = reader
        .wait_for(StatusCode::OK, Some(StatusCode::FORBIDDEN), Some(token.trim()))
        .await;
    assert!(page.contains("steersman_release_revision"), "{page}");
    project.kubectl(&["delete", "clusterrolebinding", &role]);
}

/// What the operator of a Deployment does between two others, which it may do by the roles of the project alone.
async fn under_its_roles(project: &Project<'_>, deployment: &Value, disturb: impl FnOnce()) {
    let cluster = project.bench.cluster;
    let (kubeconfig, user) = service_account(project, deployment);
    let mark = cluster.audit_mark().await.unwrap();
    let operator = operate(project, deployment, &kubeconfig).await;
    live(project, &operator).await;
    disturb();
    project.delete_sample();
    assert_eq!(project.bench.revisions().await, [""; 0]);
    operator.stop().await.unwrap();
    let log = operator.log_text();
    assert!(!log.contains("lacks"), "{log}");

    let asked = cluster.audit_since(mark).await.unwrap().by_user(&user);
    assert!(!asked.writes().is_empty());
    let refused = asked.filter(|request| request.code == Some(403));
    assert!(refused.is_empty(), "{:#?}", refused.requests);
}

/// From `make deploy` to `make undeploy`.
async fn runs_in_the_cluster(project: &Project<'_>) {
    let deployment = deploys(project).await;
    under_its_roles(project, &deployment, || refuses_to_go(project, "undeploy")).await;
    project.make(&["undeploy"]).succeeded();
    assert_eq!(project.left(), [""; 0]);
    project.make(&["undeploy"]).succeeded();
}

/// As docs/how-to/rbac.md has it: an operator that watches one namespace, and may do something in that alone.
async fn runs_in_one_namespace(project: &Project<'_>) {
    let (name, system, namespace) = (&project.name, project.system(), &project.bench.namespace);
    let folder = project.folder.join("config/namespaced");
    fs::create_dir(&folder).unwrap();
    let arguments = format!(
        "rbac generate --watch-namespace={namespace} --name={name} --operator-namespace={system} --no-leader-election \
         --service-account={name}-controller-manager --output=config/namespaced/roles.yaml"
    );
    let arguments: Vec<&str> = arguments.split_whitespace().collect();
    project.run(BINARY, &arguments).succeeded();
    let kustomization = format!(
        "resources:\n- ../default\n- roles.yaml\npatches:\n- patch: |\n    $patch: delete\n    apiVersion: \
         rbac.authorization.k8s.io/v1\n    kind: ClusterRoleBinding\n    metadata: {{name: {name}-manager-rolebinding}}\n- \
         patch: |\n    apiVersion: apps/v1\n    kind: Deployment\n    metadata: {{name: {name}-controller-manager, \
         namespace: {system}}}\n    spec: {{template: {{spec: {{containers: [{{name: manager, env: [{{name: \
         WATCH_NAMESPACE, value: '{namespace}'}}]}}]}}}}}}\n"
    );
    fs::write(folder.join("kustomization.yaml"), kustomization).unwrap();
    let deploy = ["deploy", "--kustomize-dir=config/namespaced", "--wait=false"];
    project.run(BINARY, &deploy).succeeded();
    let deployment = format!("{name}-controller-manager");
    let deployment = project.get(&["deployment", &deployment, "-n", &system]);
    under_its_roles(project, &deployment, || {}).await;
    let undeploy = ["undeploy", "--kustomize-dir=config/namespaced"];
    project.run(BINARY, &undeploy).succeeded();
    assert_eq!(project.left(), [""; 0]);
}

#[tokio::test(flavor = "multi_thread")]
async fn the_memcached_example_lives_by_its_makefile() {
    let Some(bench) = Bench::new("the_memcached_example_lives_by_its_makefile").await else {
        return;
    };
    let chart = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/project/memcached");
    let chart = format!("--helm-chart={}", chart.display());
    let arguments = [
        "--plugins=helm",
        "--group=cache",
        "--version=v1alpha1",
        "--kind=Memcached",
        &chart,
    ];
    let project = Project::init(&bench, "memcached", "statefulset", &arguments);
    runs_on_this_machine(&project).await;
    runs_in_the_cluster(&project).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_chart_to_begin_with_lives_by_its_makefile() {
    let Some(bench) = Bench::new("a_chart_to_begin_with_lives_by_its_makefile").await else {
        return;
    };
    let project = Project::init(&bench, "shop", "deployment", &["--kind=Shop"]);
    runs_on_this_machine(&project).await;
    runs_in_the_cluster(&project).await;
    runs_in_one_namespace(&project).await;
}

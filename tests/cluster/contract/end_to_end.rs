//! The end-to-end test of a project of operator-sdk, step by step.

use std::path::Path;
use std::time::{Duration, Instant};

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use hyper::StatusCode;
use kube::api::{Api, DynamicObject};
use serde_json::json;
use steersman_testkit::cluster::{OperatorCommand, OperatorProcess, helm_operator_or_say};
use tokio::sync::Mutex;

use crate::bench::{Bench, PATIENCE, wait_for_line};
use crate::metrics::Reader;
use crate::node::run_pods;

const GROUP: &str = "cache.example.com";
const SAMPLE: &str = "memcached-sample";
const INSTANCE: &str = "app.kubernetes.io/instance=memcached-sample";

const STATEFUL_SET: &str = r"
apiVersion: apps/v1
kind: StatefulSet
metadata:
  name: {{ .Release.Name }}
  labels: &labels
    app.kubernetes.io/name: {{ .Chart.Name }}
    app.kubernetes.io/instance: {{ .Release.Name }}
spec:
  serviceName: {{ .Release.Name }}
  updateStrategy: {type: RollingUpdate}
  replicas: {{ .Values.replicaCount }}
  selector:
    matchLabels: *labels
  template:
    metadata:
      labels: *labels
    spec:
      containers:
        - name: memcached
          image: {{ .Values.image }}
          ports: [{name: memcache, containerPort: 11211}]
";

const SERVICE: &str = r"
apiVersion: v1
kind: Service
metadata:
  name: {{ .Release.Name }}
  labels: &labels
    app.kubernetes.io/name: {{ .Chart.Name }}
    app.kubernetes.io/instance: {{ .Release.Name }}
spec:
  clusterIP: None
  selector: *labels
  ports: [{name: memcache, port: 11211}]
";

const BUDGET: &str = r"
apiVersion: policy/v1
kind: PodDisruptionBudget
metadata:
  name: {{ .Release.Name }}
spec:
  minAvailable: {{ .Values.pdbMinAvailable }}
  selector: {matchLabels: {app.kubernetes.io/instance: {{ .Release.Name }}}}
";

fn write_project(folder: &Path) {
    let chart = folder.join("helm-charts/memcached");
    std::fs::create_dir_all(chart.join("templates")).unwrap();
    for (name, text) in [
        (
            "Chart.yaml",
            "apiVersion: v2\nname: memcached\nversion: 0.0.2\nappVersion: 1.5.20\n",
        ),
        (
            "values.yaml",
            "image: memcached:1.5.20\nreplicaCount: 3\npdbMinAvailable: 2\n",
        ),
        ("templates/statefulset.yaml", STATEFUL_SET),
        ("templates/svc.yaml", SERVICE),
        ("templates/pdb.yaml", BUDGET),
        (
            "templates/NOTES.txt",
            "Memcached is at {{ .Release.Name }}:11211.\n",
        ),
    ] {
        std::fs::write(chart.join(name), text).unwrap();
    }
    let watches = "# Use the 'create api' subcommand to add watches to this file.\n- group: cache.example.com\n  \
         version: v1alpha1\n  kind: Memcached\n  chart: helm-charts/memcached\n# +kubebuilder:scaffold:watch\n";
    std::fs::write(folder.join("watches.yaml"), watches).unwrap();
}

fn sample(replicas: u32) -> String {
    json!({"apiVersion": format!("{GROUP}/v1alpha1"), "kind": "Memcached",
        "metadata": {"name": SAMPLE, "namespace": "default"},
        "spec": {"image": "memcached:1.5.20", "replicaCount": replicas, "pdbMinAvailable": 2}})
    .to_string()
}

/// The bench with the names of the test's project, and the custom resources of its kind.
async fn project(test: &str) -> Option<(Bench, Api<DynamicObject>)> {
    let mut bench = Bench::new(test).await?;
    write_project(bench.folder.path());
    GROUP.clone_into(&mut bench.group);
    "default".clone_into(&mut bench.namespace);
    bench
        .define_as(GROUP, "Namespaced", "Memcached", "memcacheds", &["v1alpha1"])
        .await;
    let memcacheds = bench.api(GROUP, "v1alpha1", "Memcached", "memcacheds");
    Some((bench, memcacheds))
}

/// The operator with the arguments of the project's Deployment.
async fn manager(bench: &Bench, binary: &Path) -> OperatorProcess {
    let operator = OperatorProcess::start(&OperatorCommand {
        binary,
        folder: bench.folder.path(),
        kubeconfig: bench.user.kubeconfig(),
        arguments: &[
            "--leader-elect",
            "--leader-election-id=memcached-operator",
            "--leader-election-namespace=default",
            "--metrics-secure",
            "--metrics-require-rbac",
        ],
        environment: &[],
        log: &bench.folder.path().join("manager.log"),
    })
    .unwrap();
    operator.wait_until_ready(PATIENCE).await.unwrap();
    operator
}

/// Reads /metrics as the test does: with the token of a `ServiceAccount`, from a Secret, that has the reader's role.
async fn metrics_with_token(bench: &Bench, operator: &OperatorProcess) -> String {
    let roles = Path::new(env!("CARGO_MANIFEST_DIR")).join("deploy/rbac/metrics_auth_role.yaml");
    let roles = std::fs::read_to_string(roles).unwrap();
    bench.cluster.apply(&roles).await.unwrap();
    let secret = json!({"apiVersion": "v1", "kind": "Secret", "type": "kubernetes.io/service-account-token",
        "metadata": {"name": "memcached-operator-token", "namespace": "default",
            "annotations": {"kubernetes.io/service-account.name": "default"}}});
    bench.cluster.apply_object(&secret).await.unwrap();
    let binding = json!({
        "apiVersion": "rbac.authorization.k8s.io/v1", "kind": "ClusterRoleBinding",
        "metadata": {"name": "memcached-operator-metrics-reader"},
        "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": "visitors-operator-metrics-reader"},
        "subjects": [{"kind": "ServiceAccount", "name": "default", "namespace": "default"}],
    });
    bench.cluster.apply_object(&binding).await.unwrap();
    let token = bench
        .wait(
            "the token",
            &bench.secrets(),
            "memcached-operator-token",
            |secret| secret["data"]["token"].as_str().map(str::to_owned),
        )
        .await;
    let token = String::from_utf8(STANDARD.decode(token).unwrap()).unwrap();
    // A binding takes effect a moment after it was written.
    Reader::of(operator)
        .wait_for(StatusCode::OK, Some(StatusCode::FORBIDDEN), Some(&token))
        .await
}

/// Waits until the operator has logged `line` so many times.
async fn wait_for_lines(operator: &OperatorProcess, line: &str, times: usize) {
    let begun = Instant::now();
    while operator.log_text().matches(line).count() < times {
        let log = operator.log_text();
        assert!(
            begun.elapsed() < PATIENCE,
            "`{line}` is not there {times} times:\n{log}"
        );
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
}

#[tokio::test]
async fn the_end_to_end_test_of_operator_sdk() {
    let binary = Path::new(env!("CARGO_BIN_EXE_steersman"));
    walk("the_end_to_end_test_of_operator_sdk", binary).await;
}

/// Whether the test asks for what helm-operator does.
#[tokio::test]
async fn the_go_operator_passes_the_same_test() {
    let test = "the_go_operator_passes_the_same_test";
    if let Some(binary) = helm_operator_or_say(test) {
        walk(test, &binary).await;
    }
}

async fn walk(test: &str, binary: &Path) {
    // The names of the project are the same for both.
    static TURN: Mutex<()> = Mutex::const_new(());
    let _turn = TURN.lock().await;
    let Some((bench, memcacheds)) = project(test).await else {
        return;
    };
    let operator = manager(&bench, binary).await;
    let kubectl = async |arguments: &[&str]| bench.cluster.kubectl(arguments).await.unwrap();
    let kubelet = tokio::spawn(run_pods(bench.api("", "v1", "Pod", "pods"), INSTANCE));
    let sets = bench.api("apps", "v1", "StatefulSet", "statefulsets");
    let wait_replicas = async |expect: u64| {
        bench
            .wait("the number of replicas", &sets, SAMPLE, |set| {
                (set["spec"]["replicas"] == expect).then_some(())
            })
            .await;
    };

    // 4
    bench.cluster.apply(&sample(1)).await.unwrap();
    wait_for_line(&operator, "Installed release").await;
    // 5: what is in the log is in the status.
    let name = [
        "get",
        "Memcached",
        "-o",
        "jsonpath={..status.deployedRelease.name}",
    ];
    let release = kubectl(&name).await;
    assert_eq!(release, SAMPLE);
    // 6
    let rollout = kubectl(&["rollout", "status", "statefulset", &release, "--timeout=60s"]).await;
    assert!(
        rollout.contains("statefulset rolling update complete"),
        "{rollout}"
    );
    // 7
    let label = format!("app.kubernetes.io/instance={release}");
    let service = kubectl(&["get", "Service", "-l", &label, "-o", "jsonpath={..metadata.name}"]).await;
    assert_eq!(service, SAMPLE);
    // 8
    kubectl(&["scale", "statefulset", &release, "--replicas", "2"]).await;
    wait_replicas(1).await;
    // 9
    bench.cluster.apply(&sample(2)).await.unwrap();
    wait_for_line(&operator, "Upgraded release").await;
    wait_replicas(2).await;
    // 10
    let page = metrics_with_token(&bench, &operator).await;
    let line = r#"resource_created_at_seconds{group="cache.example.com",kind="Memcached",name="memcached-sample",namespace="default",version="v1alpha1"}"#;
    assert!(page.contains(line), "{page}");

    // 11
    let wait = "helm.sdk.operatorframework.io/uninstall-wait=true";
    kubectl(&["annotate", "Memcached", SAMPLE, wait]).await;
    let finalizers = |list: &str| format!(r#"{{"metadata":{{"finalizers":[{list}]}}}}"#);
    let fake = finalizers(r#""helm.sdk.operatorframework.io/fake-finalizer""#);
    kubectl(&["patch", "statefulset", &release, "-p", &fake, "--type=merge"]).await;
    kubectl(&["delete", "Memcached", SAMPLE, "--wait=false"]).await;
    wait_for_line(&operator, "Uninstall wait").await;
    wait_for_line(&operator, "Waiting until all resources are deleted").await;
    assert!(!operator.log_text().contains("Removing finalizer"));
    memcacheds.get(SAMPLE).await.unwrap();
    // 12
    let none = finalizers("");
    kubectl(&["patch", "statefulset", &release, "-p", &none, "--type=merge"]).await;
    wait_for_line(&operator, "Removing finalizer").await;
    bench.wait_gone(&memcacheds, SAMPLE).await;
    // 13
    bench.cluster.apply(&sample(2)).await.unwrap();
    wait_for_lines(&operator, "Installed release", 2).await;
    // 14
    kubectl(&["delete", "Memcached", SAMPLE]).await;
    wait_for_lines(&operator, "Uninstalled release", 2).await;
    wait_for_lines(&operator, "Removing finalizer", 2).await;
    bench.wait_gone(&sets, SAMPLE).await;
    kubelet.abort();
    operator.stop().await.unwrap();
}

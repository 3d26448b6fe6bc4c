//! What operator-sdk asks of helm-operator, case by case.
//!
//! Its end-to-end test of a project (`test/e2e/helm`), in its order; [`the_end_to_end_test_of_operator_sdk`] walks it
//! with the operator as a process. No node is here, so the test does for the pods of the release what a kubelet does,
//! and what needs the operator itself in a pod, from an image, is left to a cluster with nodes:
//!
//! | step | where |
//! |---|---|
//! | 1 the operator's pod runs | a cluster with nodes |
//! | 2, 3 `ServiceMonitor` and metrics Service of the project | a cluster with nodes: they are of a generated project |
//! | 4 to 9, 11 to 14 the release from its resource, and its end | here |
//! | 10 /metrics with the token of a `ServiceAccount` and the role of `deploy/` | here; `metrics::metrics_are_for_bearers_of_tokens_with_the_role` for those without |
//!
//! The cases of its unit tests, and of helm-operator-plugins':
//!
//! | case | test |
//! |---|---|
//! | watches: valid, in any case of the keys, every field, `watchDependentResources` set and unset | `src/watches/load/tests.rs::every_field_is_read`, `an_entry_without_anything_optional_has_the_defaults_of_helm_operator`, `keys_are_read_in_any_case` |
//! | watches: environment and template in overrides | `src/watches/load/tests.rs::every_field_is_read`, `src/watches/expand.rs::variables_are_replaced_as_go_replaces_them` |
//! | watches: several kinds, the same kind twice | `src/watches/load/tests.rs::one_kind_in_two_groups_and_versions_is_fine`, `a_duplicate_names_both_lines` |
//! | watches: no version, no kind, bad chart path, bad override template, invalid YAML | `src/watches/load/tests.rs::every_problem_is_reported_with_its_place`, `a_broken_chart_is_a_problem_of_its_line`, `override_values_are_checked`, `a_file_of_another_shape_is_refused`, `tests/cli/run.rs::a_broken_watches_file_is_reported_whole` |
//! | watches: `reconcilePeriod`, `selector` with labels and expressions | `src/watches/load/tests.rs::durations_are_checked`, `selectors_are_checked` |
//! | annotations: booleans | `src/controls.rs::booleans_are_those_of_helm_operator` |
//! | annotations: `reconcile-period`, its precedence and what can't be parsed | `src/controller/changes.rs::the_annotation_sets_the_period`, `a_watch_sets_the_period_before_the_flag` |
//! | annotations: descriptions, hooks left out | `controls::hooks_can_be_left_out_and_the_history_says_what_it_is_told` |
//! | annotations: `uninstall-wait` | `the_end_to_end_test_of_operator_sdk`, `uninstall::a_resource_that_asks_not_to_wait_goes_when_the_deletes_are_sent` |
//! | conditions: new, the same, changed, removed; status absent, a map, anything | `src/status/conditions.rs::the_transition_time_moves_with_the_status_alone`, `conditions_of_others_stay_and_ours_that_are_not_wanted_go`, `src/status/report.rs::a_status_of_any_shape_becomes_one` |
//! | drift: value replaced, missing one added, what is added stays, nothing to do | `drift::what_is_deleted_or_edited_comes_back`, `lifecycle::a_restart_writes_nothing` |
//! | drift: the same of custom resources, with nulls and annotations | `a_custom_resource_of_a_chart_is_put_back_where_the_chart_says_something` |
//! | ownership: whole cluster and namespaces, `keep`, lists | `src/apply/mark.rs::owner_references_are_set_where_kubernetes_allows_them`, `src/apply/object.rs::keep_is_read_as_helm_reads_it`, `lists_are_taken_apart` |
//! | reconcile: install, upgrade, unchanged | `lifecycle::a_resource_becomes_a_release_that_helm_reads`, `lifecycle::another_spec_is_another_revision_and_what_it_drops_is_pruned`, `a_release_that_needs_nothing_is_told_of_when_it_was_read_and_else_in_the_detailed_log` |
//! | reconcile: status failed or superseded | `src/reconcile/decide.rs::what_was_written_down_and_not_deployed_is_applied_again_if_it_is_still_wanted`, `a_revision_that_is_no_longer_deployed_is_followed_by_another` |
//! | reconcile: installation or upgrade fails, rollback | `failure::an_object_of_somebody_else_is_named_and_taken_when_it_is_free`, `rollback::a_failed_upgrade_goes_back_where_that_is_wanted`, `rollback::hooks_of_the_deployed_revision_run_before_and_after_a_rollback` |
//! | reconcile: object deleted, changed, in another namespace | `drift::what_is_deleted_or_edited_comes_back`, `drift::objects_in_other_namespaces_and_in_none_come_back` |
//! | reconcile: uninstallation without a release, under either finalizer | `uninstall::a_resource_without_a_release_is_let_go` |
//! | reconcile: pause | `controls::a_paused_resource_is_left_alone_until_the_pause_is_over` |
//! | selector: not labelled, labelled later, two managers | `selection::a_resource_that_stops_matching_is_let_go_and_taken_up_again`, `selection::an_operator_with_another_selector_takes_over_what_it_selects` |
//! | storage: round trip, parts, owner | `src/release/codec.rs::what_was_packed_is_unpacked`, `large::a_manifest_that_no_secret_holds_is_kept_in_parts`, `lifecycle::a_resource_becomes_a_release_that_helm_reads` |
//! | `WATCH_NAMESPACE` | `src/config.rs::watch_namespace_is_a_list_with_commas`, `watching::listed_namespaces_are_watched_whether_they_exist_or_come_or_go` |
//!
//! Charts of all kinds of sources and the rules of a generated role are cases of the command line's project commands.

use std::path::Path;
use std::time::{Duration, Instant};

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use hyper::StatusCode;
use kube::api::{Api, DynamicObject, ListParams, Patch, PatchParams};
use serde_json::json;
use steersman_testkit::cluster::{OperatorCommand, OperatorProcess};

use crate::bench::{Bench, PATIENCE, wait_for_line};
use crate::metrics::Reader;

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
async fn manager(bench: &Bench) -> OperatorProcess {
    let operator = OperatorProcess::start(&OperatorCommand {
        binary: Path::new(env!("CARGO_BIN_EXE_steersman")),
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

/// Says that each pod of the release runs, as a kubelet would.
async fn run_pods(pods: Api<DynamicObject>) {
    loop {
        for pod in pods.list(&ListParams::default().labels(INSTANCE)).await.unwrap() {
            if pod.data["status"]["phase"] != "Pending" {
                continue;
            }
            let ready = json!({"phase": "Running", "conditions": [{"type": "Ready", "status": "True"}]});
            let patch = Patch::Merge(json!({ "status": ready }));
            // It may be gone by now.
            let _ = pods
                .patch_status(&pod.metadata.name.unwrap(), &PatchParams::default(), &patch)
                .await;
        }
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
}

/// Reads /metrics as the test does: with the token of a `ServiceAccount`, from a Secret, that has the reader's role.
async fn metrics_with_token(bench: &Bench, operator: &OperatorProcess) -> String {
    let roles = Path::new(env!("CARGO_MANIFEST_DIR")).join("deploy/rbac/metrics_auth_role.yaml");
    let roles = std::fs::read_to_string(roles).unwrap();
    bench.cluster.apply(&roles).await.unwrap();
    let secret = json!({"apiVersion": "v1", "kind": "Secret", "type": "kubernetes.io/service-account-token",
        "metadata": {"name": "memcached-operator-token", "namespace": "default",
            "annotations": {"kubernetes.io/service-account.name": "default"}}});
    bench.cluster.apply(&secret.to_string()).await.unwrap();
    let binding = json!({
        "apiVersion": "rbac.authorization.k8s.io/v1", "kind": "ClusterRoleBinding",
        "metadata": {"name": "memcached-operator-metrics-reader"},
        "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": "visitors-operator-metrics-reader"},
        "subjects": [{"kind": "ServiceAccount", "name": "default", "namespace": "default"}],
    });
    bench.cluster.apply(&binding.to_string()).await.unwrap();
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
    let Some((bench, memcacheds)) = project("the_end_to_end_test_of_operator_sdk").await else {
        return;
    };
    let operator = manager(&bench).await;
    let kubectl = async |arguments: &[&str]| bench.cluster.kubectl(arguments).await.unwrap();
    let kubelet = tokio::spawn(run_pods(bench.api("", "v1", "Pod", "pods")));
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

/// How often the log says at this level that a release was found as it should be.
fn reconciled(operator: &OperatorProcess, level: &str) -> usize {
    let level = format!(r#""level":"{level}""#);
    let log = operator.log_text();
    let lines = log
        .lines()
        .filter(|line| line.contains(&level) && line.contains("Reconciled release"));
    lines.count()
}

#[tokio::test]
async fn a_release_that_needs_nothing_is_told_of_when_it_was_read_and_else_in_the_detailed_log() {
    let Some(bench) = Bench::with_kind("contract").await else {
        return;
    };
    let operator = bench.ready_operator().await;
    bench.apply_web("shop", json!({})).await;
    bench.wait_revision("shop", 1).await;
    wait_for_line(&operator, "Installed release").await;
    assert_eq!(reconciled(&operator, "info"), 0);
    operator.stop().await.unwrap();

    let operator = bench.ready_operator().await;
    wait_for_line(&operator, "Reconciled release").await;
    let period =
        json!({"metadata": {"annotations": {"helm.sdk.operatorframework.io/reconcile-period": "200ms"}}});
    bench.patch_web("shop", period).await;
    let begun = Instant::now();
    while reconciled(&operator, "debug") < 3 {
        assert!(begun.elapsed() < PATIENCE, "{}", operator.log_text());
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    assert_eq!(reconciled(&operator, "info"), 1);
    let again = json!({"metadata": {"annotations": {"steersman.dev/reconcile-at": "now"}}});
    bench.patch_web("shop", again).await;
    let begun = Instant::now();
    while reconciled(&operator, "info") < 2 {
        assert!(begun.elapsed() < PATIENCE, "{}", operator.log_text());
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    assert_eq!(bench.revisions().await, ["1 deployed"]);
    operator.stop().await.unwrap();
}

#[tokio::test]
async fn a_custom_resource_of_a_chart_is_put_back_where_the_chart_says_something() {
    let Some(bench) = Bench::with_kind("contract").await else {
        return;
    };
    bench.add_template(
        "thing.yaml",
        "apiVersion: fixtures.example.com/v1\nkind: Gadget\nmetadata:\n  name: thing\nspec:\n  size: 1\n  \
         color: null\n  shape: {kind: round, of: steel}\n",
    );
    let operator = bench.ready_operator().await;
    bench.apply_web("shop", json!({})).await;
    bench.wait_revision("shop", 1).await;
    let things = bench.api("fixtures.example.com", "v1", "Gadget", "gadgets");
    let thing = things.get("thing").await.unwrap();
    let rendered = json!({"size": 1, "color": null, "shape": {"kind": "round", "of": "steel"}});
    assert_eq!(thing.data["spec"], rendered);

    let annotations = json!({"theirs": "stays"});
    let edit = json!({"metadata": {"annotations": annotations},
        "spec": {"size": 2, "color": "red", "shape": {"kind": null}, "more": true}});
    things
        .patch("thing", &PatchParams::default(), &Patch::Merge(edit))
        .await
        .unwrap();
    let wanted = json!({"size": 1, "color": null, "shape": {"kind": "round", "of": "steel"}, "more": true});
    let thing = bench
        .wait("the spec", &things, "thing", |thing| {
            (thing["spec"] == wanted).then(|| thing.clone())
        })
        .await;
    assert_eq!(thing["metadata"]["annotations"]["theirs"], "stays");
    assert_eq!(bench.revisions().await, ["1 deployed"]);
    operator.stop().await.unwrap();
}

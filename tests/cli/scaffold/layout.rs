//! The files of a project, beside those of operator-sdk.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use steersman_testkit::program::operator_sdk_or_say;

use super::{MEMCACHED, Place, built, files, names, run};

/// The lines that programs look for.
pub(super) fn markers(files: &BTreeMap<String, String>) -> BTreeSet<String> {
    files
        .iter()
        .flat_map(|(path, text)| text.lines().map(move |line| (path, line)))
        .filter(|(_, line)| line.contains("+kubebuilder:"))
        .map(|(path, line)| format!("{path}: {line}"))
        .collect()
}

/// The targets and variables of a Makefile.
pub(super) fn targets_and_variables(text: &str) -> BTreeSet<String> {
    let mut found = BTreeSet::new();
    for line in text.lines() {
        if let Some((name, _)) = line.split_once(" ?= ") {
            found.insert(name.to_owned());
        } else if let Some(names) = line.strip_prefix(".PHONY: ") {
            found.extend(names.split(' ').map(str::to_owned));
        }
    }
    found
}

#[test]
fn the_memcached_example_is_laid_out_as_by_operator_sdk() {
    let place = Place::new();
    let said = place.succeed(MEMCACHED);
    assert!(said.stderr.contains("next: "), "{}", said.stderr);
    let files = files(&place.project());
    let names: Vec<&str> = files.keys().map(String::as_str).collect();
    assert_eq!(names, FILES);
    assert_eq!(
        files["watches.yaml"],
        "# yaml-language-server: $schema=.steersman/watches.schema.json\n# Use the 'create api' subcommand to add watches to this file.\n- group: cache.example.com\n  version: v1alpha1\n  \
         kind: Memcached\n  chart: helm-charts/memcached\n# +kubebuilder:scaffold:watch\n"
    );
    assert_eq!(
        files["config/samples/cache_v1alpha1_memcached.yaml"],
        "apiVersion: cache.example.com/v1alpha1\nkind: Memcached\nmetadata:\n  name: memcached-sample\nspec:\n  # Default \
         values copied from <project_dir>/helm-charts/memcached/values.yaml\n  # -- Number of pods\n  replicaCount: 3\n\n  # \
         -- The image\n  image: memcached:1.5\n"
    );
    assert_eq!(
        markers(&files),
        BTreeSet::from_iter(
            [
                "config/crd/kustomization.yaml: # +kubebuilder:scaffold:crdkustomizeresource",
                "config/rbac/role.yaml: # +kubebuilder:scaffold:rules",
                "config/samples/kustomization.yaml: # +kubebuilder:scaffold:manifestskustomizesamples",
                "config/scorecard/kustomization.yaml: # +kubebuilder:scaffold:patches",
                "watches.yaml: # +kubebuilder:scaffold:watch",
            ]
            .map(str::to_owned)
        )
    );
    for folder in [
        "crd",
        "manager",
        "network-policy",
        "prometheus",
        "rbac",
        "samples",
        "scorecard",
    ] {
        built(&place.project(), folder);
    }
    let objects = built(&place.project(), "default");
    let find = |kind: &str| objects.iter().find(|object| object["kind"] == kind).unwrap();
    let deployment = find("Deployment");
    assert_eq!(
        deployment["metadata"]["name"],
        "memcached-operator-controller-manager"
    );
    assert_eq!(deployment["metadata"]["namespace"], "memcached-operator-system");
    let pod = &deployment["spec"]["template"]["spec"];
    assert_eq!(pod["containers"][0]["name"], "manager");
    assert_eq!(pod["serviceAccountName"], "memcached-operator-controller-manager");
    assert_eq!(
        pod["containers"][0]["args"],
        serde_json::json!([
            "--metrics-require-rbac",
            "--metrics-secure",
            "--metrics-bind-address=:8443",
            "--leader-elect",
            "--leader-election-id=memcached-operator",
            "--health-probe-bind-address=:8081",
        ])
    );
    assert_eq!(
        pod["containers"][0]["env"],
        serde_json::json!([{"name": "WATCH_NAMESPACE", "value": ""}])
    );
    // What `manifests` prints is the same.
    let printed = place
        .succeed(&["manifests", "--kustomize-dir", "config/crd"])
        .stdout;
    assert!(
        printed.contains("name: memcacheds.cache.example.com\n"),
        "{printed}"
    );
}

#[test]
fn operator_sdk_writes_the_same_and_takes_what_is_written() {
    let Some(sdk) = operator_sdk_or_say("the layout of a project") else {
        return;
    };
    let place = Place::new();
    place.succeed(MEMCACHED);
    let ours = files(&place.project());
    let sdk_place = Place::new();
    let said = run(&sdk, &sdk_place.project(), MEMCACHED);
    assert_eq!(said.code, Some(0), "{}", said.stderr);
    let theirs = files(&sdk_place.project());

    let missing: Vec<&String> = theirs.keys().filter(|path| !ours.contains_key(*path)).collect();
    assert!(missing.is_empty(), "{missing:?}");
    let more: Vec<&String> = ours.keys().filter(|path| !theirs.contains_key(*path)).collect();
    let expected = [
        "config/manager/pod_disruption_budget.yaml",
        "config/rbac/signing_keys_role.yaml",
        "config/rbac/signing_keys_role_binding.yaml",
    ];
    assert_eq!(more, expected);
    assert_eq!(ours["watches.yaml"], theirs["watches.yaml"]);
    assert_eq!(markers(&ours), markers(&theirs));
    let (own, other) = (
        targets_and_variables(&ours["Makefile"]),
        targets_and_variables(&theirs["Makefile"]),
    );
    let lacking: Vec<&String> = other.difference(&own).collect();
    assert!(lacking.is_empty(), "{lacking:?}");
    for path in [
        "config/samples/cache_v1alpha1_memcached.yaml",
        "PROJECT",
        "config/manager/manager.yaml",
    ] {
        for line in theirs[path]
            .lines()
            .filter(|line| !line.trim().is_empty() && !line.contains('#'))
        {
            // What differs on purpose is in docs/compatibility/operator-sdk.md.
            let is_meant =
                line.contains("memory: 64Mi") || line.trim().starts_with("image:") || line.trim() == "-";
            let is_there = ours[path].lines().any(|other| other.trim() == line.trim());
            assert!(is_there || is_meant, "{path}: {line}");
        }
    }
    let (own, other) = (
        built(&place.project(), "default"),
        built(&sdk_place.project(), "default"),
    );
    let (own, other) = (names(&own), names(&other));
    assert_eq!(other.difference(&own).count(), 0, "{other:?}");
    assert_eq!(
        own.difference(&other).collect::<Vec<_>>(),
        [
            "NetworkPolicy memcached-operator-allow-metrics-traffic",
            "PodDisruptionBudget memcached-operator-controller-manager",
        ]
    );

    // operator-sdk goes on with our project.
    let project = place.project();
    for arguments in [
        &["generate", "kustomize", "manifests", "--interactive=false", "-q"][..],
        &[
            "create",
            "api",
            "--group",
            "cache",
            "--version",
            "v1alpha1",
            "--kind",
            "Other",
        ],
    ] {
        let said = run(&sdk, &project, arguments);
        assert_eq!(said.code, Some(0), "{arguments:?}: {}", said.stderr);
    }
    let manifests = steersman_kustomize::to_yaml(&built(&project, "manifests")).unwrap();
    place.write("manifests.yaml", &manifests);
    let script = format!(
        "cat ../manifests.yaml | {0} generate bundle -q --overwrite --version 0.0.1 && {0} bundle validate ./bundle",
        sdk.display()
    );
    let said = run(Path::new("sh"), &project, &["-c", &script]);
    assert_eq!(said.code, Some(0), "{}", said.stderr);
    assert!(
        said.stderr
            .contains("All validation tests have completed successfully"),
        "{}",
        said.stderr
    );
}

#[test]
fn a_project_grows_kind_by_kind() {
    let place = Place::new();
    place.succeed(&["init", "--domain", "example.com"]);
    place.refuse(
        &["create", "api"],
        "either --kind or --helm-chart need to be provided",
    );
    place.succeed(&["create", "api", "--kind", "Shop"]);
    place.succeed(&[
        "create",
        "api",
        "--version",
        "v1",
        "--helm-chart",
        "../charts/memcached",
    ]);
    assert_eq!(names(&built(&place.project(), "crd")).len(), 2);
    built(&place.project(), "default");
    assert!(place.read("watches.yaml").contains("kind: Memcached\n"));
    // The chart to begin with renders, and keeps to the strictest of Pod Security Standards.
    let rendered = place.succeed(&["template", "one", "helm-charts/shop"]).stdout;
    for setting in [
        "runAsNonRoot: true",
        "readOnlyRootFilesystem: true",
        "type: RuntimeDefault",
        "- ALL",
    ] {
        assert!(rendered.contains(setting), "{rendered}");
    }

    let before = files(&place.project());
    place.refuse(
        &["create", "api", "--kind", "Shop"],
        "the API resource already exists",
    );
    place.refuse(
        &["create", "api", "--kind", "Other", "--group", "other"],
        "multiple groups are not allowed",
    );
    place.refuse(
        &[
            "create",
            "api",
            "--kind",
            "Another",
            "--helm-chart",
            "../charts/memcached",
        ],
        "helm-charts/memcached/Chart.yaml",
    );
    place.refuse(
        &["create", "api", "--helm-chart-version", "1"],
        "can only be used with --helm-chart",
    );
    place.refuse(&["create", "api", "--kind", "shop"], "the kind `shop`");
    place.refuse(&["init", "--domain", "example.com"], "these files exist");
    place.refuse(&["init", "--plugins", "go"], "plugins");
    place.edit("PROJECT", "projectName:", "multigroup: true\nprojectName:");
    assert_eq!(files(&place.project()).len(), before.len());
    place.succeed(&["create", "api", "--kind", "Other", "--group", "other"]);
}

#[test]
fn commands_of_a_project_need_one() {
    let place = Place::new();
    place.refuse(&["create", "api", "--kind", "Shop"], "there is no PROJECT file");
    let said = place.run(&["create", "api", "--kind", "Shop", "--helm-chart", "missing/chart"]);
    assert_eq!(said.code, Some(2), "{}", said.stderr);
}

/// What operator-sdk writes for the example, `config/manager/pod_disruption_budget.yaml`, and the role of the signing keys.
const FILES: &[&str] = &[
    ".gitignore",
    ".steersman/watches.schema.json",
    "Dockerfile",
    "Makefile",
    "PROJECT",
    "config/crd/bases/cache.example.com_memcacheds.yaml",
    "config/crd/kustomization.yaml",
    "config/default/kustomization.yaml",
    "config/default/manager_metrics_patch.yaml",
    "config/default/metrics_service.yaml",
    "config/manager/kustomization.yaml",
    "config/manager/manager.yaml",
    "config/manager/pod_disruption_budget.yaml",
    "config/manifests/kustomization.yaml",
    "config/network-policy/allow-metrics-traffic.yaml",
    "config/network-policy/kustomization.yaml",
    "config/prometheus/kustomization.yaml",
    "config/prometheus/monitor.yaml",
    "config/prometheus/rules.yaml",
    "config/rbac/kustomization.yaml",
    "config/rbac/leader_election_role.yaml",
    "config/rbac/leader_election_role_binding.yaml",
    "config/rbac/memcached_admin_role.yaml",
    "config/rbac/memcached_editor_role.yaml",
    "config/rbac/memcached_viewer_role.yaml",
    "config/rbac/metrics_auth_role.yaml",
    "config/rbac/metrics_auth_role_binding.yaml",
    "config/rbac/metrics_reader_role.yaml",
    "config/rbac/role.yaml",
    "config/rbac/role_binding.yaml",
    "config/rbac/service_account.yaml",
    "config/rbac/signing_keys_role.yaml",
    "config/rbac/signing_keys_role_binding.yaml",
    "config/samples/cache_v1alpha1_memcached.yaml",
    "config/samples/kustomization.yaml",
    "config/scorecard/bases/config.yaml",
    "config/scorecard/kustomization.yaml",
    "config/scorecard/patches/basic.config.yaml",
    "config/scorecard/patches/olm.config.yaml",
    "helm-charts/memcached/Chart.yaml",
    "helm-charts/memcached/templates/deployment.yaml",
    "helm-charts/memcached/values.yaml",
    "watches.yaml",
];

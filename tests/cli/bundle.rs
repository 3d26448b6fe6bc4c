//! Bundles and catalogs for OLM, written and checked by the program, and judged by the Operator Framework's libraries.

use std::fs;
use std::path::Path;

use serde_json::Value;
use steersman_testkit::bundle_judge::BundleJudge;

use crate::build::{self, Crane};
use crate::program::Project;

pub(crate) const SERVICE_VERSION: &str = "bundle/manifests/web-operator.clusterserviceversion.yaml";

pub(crate) const DEFINITION: &str = "
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: webs.example.com}
spec:
  group: example.com
  names: {kind: Web, listKind: WebList, plural: webs, singular: web}
  scope: Namespaced
  versions:
  - name: v1
    served: true
    storage: true
    schema:
      openAPIV3Schema:
        description: A site
        type: object
        properties: {spec: {type: object, properties: {replicas: {type: integer}}}, status: {type: object}}
";

const RBAC: &str = "
apiVersion: v1
kind: ServiceAccount
metadata: {name: manager, namespace: system}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRole
metadata: {name: manager}
rules:
- {apiGroups: [example.com], resources: [webs], verbs: [get, list, watch, patch]}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRoleBinding
metadata: {name: manager}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: manager}
subjects: [{kind: ServiceAccount, name: manager, namespace: system}]
";

const DEPLOYMENT: &str = "
apiVersion: apps/v1
kind: Deployment
metadata: {name: manager, namespace: system, labels: {app: operator}}
spec:
  selector: {matchLabels: {app: operator}}
  template:
    metadata: {labels: {app: operator}}
    spec:
      serviceAccountName: manager
      containers:
      - name: manager
        image: controller:latest
        env: [{name: WATCH_NAMESPACE, value: ''}]
        resources: {requests: {cpu: 10m, memory: 32Mi}}
";

/// A project in operator-sdk's layout, without a base and without the kustomization of `config/manifests`.
pub(crate) fn project() -> Project {
    with_layout(Project::new())
}

fn with_layout(project: Project) -> Project {
    project.write(
        "charts/web/Chart.yaml",
        "apiVersion: v2\nname: web\nversion: 1.0.0\ndescription: Serves a site\nkubeVersion: '>=1.29.0'\n",
    );
    project.write(
        "charts/web/templates/service.yaml",
        "apiVersion: v1\nkind: Service\nmetadata: {name: web}\nspec: {ports: [{port: 80}]}\n",
    );
    project.write(
        "PROJECT",
        "projectName: web-operator\nlayout:\n- helm.sdk.operatorframework.io/v1\n",
    );
    project.write("config/crd/web.yaml", DEFINITION);
    project.write("config/rbac/rbac.yaml", RBAC);
    project.write("config/manager/manager.yaml", DEPLOYMENT);
    project.write(
        "config/default/kustomization.yaml",
        "namespace: web-system\nnamePrefix: web-\nresources: [../crd, ../rbac, ../manager]\n",
    );
    for (folder, file) in [
        ("crd", "web.yaml"),
        ("rbac", "rbac.yaml"),
        ("manager", "manager.yaml"),
    ] {
        project.write(
            &format!("config/{folder}/kustomization.yaml"),
            &format!("resources: [{file}]\n"),
        );
    }
    project.write("config/samples/kustomization.yaml", "resources: [web.yaml]\n");
    project.write(
        "config/samples/web.yaml",
        "apiVersion: example.com/v1\nkind: Web\nmetadata: {name: web-sample}\nspec: {replicas: 2}\n",
    );
    project
}

/// Runs the program, which must succeed.
#[track_caller]
pub(crate) fn run(project: &Project, arguments: &[&str]) -> String {
    let ended = project.run(&[&["bundle"], arguments].concat());
    assert_eq!(
        ended.code,
        Some(0),
        "{arguments:?}: {}{}",
        ended.stdout,
        ended.stderr
    );
    ended.stdout
}

pub(crate) fn read(project: &Project, path: &str) -> Value {
    let text = fs::read_to_string(project.path().join(path)).unwrap();
    steersman_yaml::to_json(&text).unwrap()
}

#[test]
fn a_project_becomes_a_bundle() {
    let project = project().with_variable("SOURCE_DATE_EPOCH", "1767225600");
    let stdout = run(
        &project,
        &[
            "--version=0.0.1",
            "--image=registry.example.com/web-operator:v0.0.1",
            "--channels=stable",
        ],
    );
    assert!(
        stdout.starts_with("wrote version 0.0.1 of web-operator to `bundle`\n"),
        "{stdout}"
    );
    let version = read(&project, SERVICE_VERSION);
    assert_eq!(
        version["metadata"]["annotations"]["createdAt"],
        "2026-01-01T00:00:00Z"
    );
    let spec = &version["spec"];
    assert_eq!(spec["description"], "Serves a site");
    assert_eq!(spec["minKubeVersion"], "1.29.0");
    let container = &spec["install"]["spec"]["deployments"][0]["spec"]["template"]["spec"]["containers"][0];
    assert_eq!(container["image"], "registry.example.com/web-operator:v0.0.1");
    let owned = &spec["customresourcedefinitions"]["owned"][0];
    assert_eq!(
        owned["resources"],
        serde_json::json!([{"kind": "Service", "name": "", "version": "v1"}])
    );
    // The base is for people to edit, so it is written once and then left alone.
    let base = "config/manifests/bases/web-operator.clusterserviceversion.yaml";
    let text = fs::read_to_string(project.path().join(base)).unwrap();
    project.write(base, &text.replace("maturity: alpha", "maturity: stable"));
    run(&project, &["--quiet", "--version=0.0.1"]);
    assert_eq!(read(&project, SERVICE_VERSION)["spec"]["maturity"], "stable");

    assert!(run(&project, &["validate"]).contains("`bundle` is sound"));
    if let Some(judge) = BundleJudge::find_or_skip() {
        let findings = judge.bundle(&project.path().join("bundle"));
        assert!(
            findings.iter().all(|finding| finding.level != "Error"),
            "{findings:?}"
        );
    }
}

#[test]
fn the_same_project_gives_the_same_bundle() {
    let project = project();
    run(&project, &["--version=0.0.1"]);
    let text = |path: &str| fs::read_to_string(project.path().join(path)).unwrap();
    let first = text(SERVICE_VERSION).replace("createdAt: \"20", "createdAt: \"19");
    project.write(SERVICE_VERSION, &first);
    run(&project, &["--version=0.0.1"]);
    assert_eq!(
        text(SERVICE_VERSION),
        first,
        "the time of creation stays where nothing changes"
    );
}

#[test]
fn a_second_version_is_an_upgrade_in_a_catalog() {
    let project = project();
    run(&project, &["--version=0.0.1", "--channels=stable"]);
    let first = "bundle=registry.example.com/web-bundle:v0.0.1";
    run(&project, &["catalog", first]);
    run(&project, &["--version=0.0.2", "--channels=stable"]);
    assert_eq!(
        read(&project, SERVICE_VERSION)["spec"]["replaces"],
        "web-operator.v0.0.1"
    );
    let stdout = run(
        &project,
        &["catalog", "bundle=registry.example.com/web-bundle:v0.0.2"],
    );
    assert!(stdout.contains("with the channels stable"), "{stdout}");
    assert!(project.path().join("catalog.Dockerfile").exists());
    if let Some(judge) = BundleJudge::find_or_skip() {
        let verdict = judge.catalog(&project.path().join("catalog"));
        assert_eq!(verdict.error, "");
        assert_eq!(verdict.heads["web-operator/stable"], "web-operator.v0.0.2");
    }
}

#[test]
fn a_bundle_that_is_not_sound_is_said_so() {
    let project = project();
    run(&project, &["--version=0.0.1"]);
    fs::remove_file(project.path().join("bundle/manifests/example.com_webs.yaml")).unwrap();
    let ended = project.run(&["bundle", "validate", "bundle"]);
    assert_eq!(ended.code, Some(1));
    assert!(
        ended
            .stdout
            .contains("error: manifests/web-operator.clusterserviceversion.yaml: "),
        "{}",
        ended.stdout
    );
    let ended = project.run(&["bundle", "validate", "bundle", "-o", "json-alpha1"]);
    let result: Value = serde_json::from_str(&ended.stdout).unwrap();
    assert_eq!(result["passed"], false);
    assert_eq!(result["outputs"][0]["type"], "error");
    let ended = project.run(&["bundle", "catalog", "bundle=registry.example.com/b:v1"]);
    assert_eq!(ended.code, Some(1));
    assert!(
        ended.stderr.contains("bundle `bundle` is not sound"),
        "{}",
        ended.stderr
    );
    assert!(!project.path().join("catalog").exists());
}

#[test]
fn plain_manifests_become_a_bundle_too() {
    let project = Project::new();
    let all = [DEFINITION, RBAC, DEPLOYMENT].join("---");
    project.write("deploy/all.yaml", &all);
    run(&project, &["--version=0.0.1"]);
    assert!(
        project
            .path()
            .join("bundle/manifests/manager.clusterserviceversion.yaml")
            .exists()
    );
    project.write("manifests/all.yaml", &all);
    let stdout = run(
        &project,
        &["--input-dir=manifests", "--package=other", "--stdout"],
    );
    assert!(stdout.contains("name: other.v0.0.1"), "{stdout}");
    assert!(
        !project
            .path()
            .join("bundle/manifests/other.clusterserviceversion.yaml")
            .exists()
    );
}

#[test]
fn what_is_wrong_with_the_arguments_is_said() {
    let project = Project::new();
    fs::remove_file(project.path().join("watches.yaml")).unwrap();
    for (arguments, code, expect) in [
        (
            vec!["bundle"],
            2,
            "there is neither `config/manifests` nor `deploy` nor `watches.yaml` here",
        ),
        (vec!["bundle", "validate"], 2, "failed to read folder `bundle`"),
        (
            vec!["bundle", "validate", "charts", "--select-optional=name=x"],
            2,
            "`name=x` selects nothing",
        ),
        (vec!["bundle", "catalog", "charts"], 2, "`charts` names no image"),
        (
            vec!["bundle", "--input-dir=charts", "--package=../x"],
            2,
            "`../x` is no name of a package",
        ),
        (
            vec!["bundle", "--input-dir=charts", "--package=x"],
            1,
            "there is no Deployment among the 0 objects",
        ),
    ] {
        let ended = project.run(&arguments);
        assert_eq!(ended.code, Some(code), "{arguments:?}: {}", ended.stderr);
        assert!(ended.stderr.contains(expect), "{arguments:?}: {}", ended.stderr);
    }
}

#[test]
fn images_are_pinned_to_what_the_registry_has() {
    let Some(crane) = Crane::find_or_skip() else {
        return;
    };
    let project = with_layout(build::project());
    let registry = crane.serve(&project);
    let name = format!("{}/team/web-operator", registry.address);
    let tag = format!("{name}:v1");
    build::build(&project, &["--push", "-t", &tag]);
    let digest = crane.run(&project, &["digest", &tag]);
    run(
        &project,
        &["--version=0.0.1", "--use-image-digests", "--image", &tag],
    );
    let pinned = format!("{name}@{}", digest.trim());
    let version = read(&project, SERVICE_VERSION);
    let related = &version["spec"]["relatedImages"];
    assert_eq!(
        related,
        &serde_json::json!([{"name": "manager", "image": pinned}])
    );
    assert_eq!(
        version["metadata"]["annotations"]["containerImage"],
        pinned.as_str()
    );

    let ended = project.run(&[
        "bundle",
        "--use-image-digests",
        "--image",
        &format!("{name}:none"),
    ]);
    assert_eq!(ended.code, Some(1));
    assert!(
        ended.stderr.contains("failed to find the digest of"),
        "{}",
        ended.stderr
    );
}

#[test]
fn links_out_of_a_bundle_are_not_followed() {
    let project = project();
    run(&project, &["--version=0.0.1"]);
    let secret = project.write(
        "secret.yaml",
        "apiVersion: v1\nkind: Secret\nmetadata: {name: s}\n",
    );
    link(&secret, &project.path().join("bundle/manifests/secret.yaml"));
    let stdout = run(&project, &["validate"]);
    assert!(stdout.contains("is sound"), "{stdout}");
    run(&project, &["catalog", "bundle=registry.example.com/b:v1"]);
    let catalog = fs::read_to_string(project.path().join("catalog/web-operator/catalog.yaml")).unwrap();
    assert!(!catalog.contains("Secret"));
}

#[cfg(unix)]
fn link(to: &Path, at: &Path) {
    std::os::unix::fs::symlink(to, at).unwrap();
}

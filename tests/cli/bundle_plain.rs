//! Bundles and manifests of projects that are watches.yaml and charts alone.

use serde_json::Value;
use steersman_testkit::bundle_judge::BundleJudge;

use crate::bundle::{DEFINITION, SERVICE_VERSION, read, run};
use crate::program::Project;

/// A project of watches.yaml and charts alone.
fn plain_project() -> Project {
    let project = Project::new();
    project.write(
        "charts/web/templates/all.yaml",
        "apiVersion: v1\nkind: Service\nmetadata: {name: web}\nspec: {ports: [{port: 80}]}\n---\n\
         apiVersion: batch/v1\nkind: Job\nmetadata: {name: web}\nspec: {}\n",
    );
    project.write("charts/web/values.yaml", "# How many\nreplicas: 2\n");
    project.write(
        "shared/Chart.yaml",
        "apiVersion: v2\nname: shared\nversion: 1.0.0\n",
    );
    project.write(
        "watches.yaml",
        "- {version: v1, group: example.com, kind: Web, chart: charts/web}\n\
         - {version: v1, group: example.com, kind: Shared, chart: shared, releaseNamespace: shared}\n",
    );
    project
}

#[test]
fn watches_and_charts_alone_become_a_bundle() {
    let project = plain_project();
    run(
        &project,
        &[
            "--version=0.0.1",
            "--package=web-operator",
            "--image=registry.example.com/web:v1",
        ],
    );
    let stdout = run(&project, &["validate"]);
    assert!(stdout.contains("`bundle` is sound"), "{stdout}");
    if let Some(judge) = BundleJudge::find_or_skip() {
        let findings = judge.bundle(&project.path().join("bundle"));
        assert!(
            findings.iter().all(|finding| finding.level != "Error"),
            "{findings:?}"
        );
    }
    assert!(
        !project.path().join("config").exists(),
        "nothing is written beside the bundle"
    );

    // The objects are those that `manifests` prints.
    let ended = project.run(&["manifests", "--image=registry.example.com/web:v1", "-o=json"]);
    assert_eq!(ended.code, Some(0), "{}", ended.stderr);
    let list: Value = serde_json::from_str(&ended.stdout).unwrap();
    let object = |kind: &str, ending: &str| {
        let items = list["items"].as_array().unwrap().iter();
        items
            .filter(|object| object["kind"] == kind)
            .find(|object| object["metadata"]["name"].as_str().unwrap().ends_with(ending))
            .unwrap()
    };
    let definition = |plural: &str| read(&project, &format!("bundle/manifests/example.com_{plural}.yaml"));
    for plural in ["webs", "shareds"] {
        let printed = object("CustomResourceDefinition", &format!("{plural}.example.com"));
        assert_eq!(definition(plural)["spec"], printed["spec"], "{plural}");
    }
    assert_eq!(definition("shareds")["spec"]["scope"], "Cluster");
    let version = read(&project, SERVICE_VERSION);
    let install = &version["spec"]["install"]["spec"];
    let deployment = object("Deployment", "controller-manager");
    assert_eq!(install["deployments"][0]["name"], deployment["metadata"]["name"]);
    assert_eq!(
        install["deployments"][0]["spec"]["selector"],
        deployment["spec"]["selector"]
    );
    let rules = object("ClusterRole", "manager-role")["rules"].as_array().unwrap();
    let granted = install["clusterPermissions"][0]["rules"].as_array().unwrap();
    assert!(rules.iter().all(|rule| granted.contains(rule)), "{granted:?}");
    let examples = version["metadata"]["annotations"]["alm-examples"]
        .as_str()
        .unwrap();
    let examples: Value = serde_json::from_str(examples).unwrap();
    assert!(
        examples
            .as_array()
            .unwrap()
            .iter()
            .any(|example| example["spec"] == serde_json::json!({"replicas": 2}))
    );
}

#[test]
fn a_definition_of_the_projects_own_is_taken() {
    let project = plain_project();
    let own = DEFINITION
        .replace("plural: webs", "plural: webz")
        .replace("name: webs.", "name: webz.");
    project.write("config/crd/bases/example.com_webz.yaml", &own);
    run(&project, &["--version=0.0.1", "--package=web-operator"]);
    let written = read(&project, "bundle/manifests/example.com_webz.yaml");
    let own = steersman_yaml::to_json(&own).unwrap();
    assert_eq!(written["spec"]["versions"], own["spec"]["versions"]);
    let version = read(&project, SERVICE_VERSION);
    let granted = version["spec"]["install"]["spec"]["clusterPermissions"][0]["rules"].to_string();
    assert!(
        granted.contains(r#""webz""#) && !granted.contains(r#""webs""#),
        "{granted}"
    );
}

#[test]
fn several_versions_of_a_kind_without_a_definition_are_refused() {
    let project = Project::new();
    project.write(
        "watches.yaml",
        "- {version: v1, group: example.com, kind: Web, chart: charts/web}\n\
         - {version: v2, group: example.com, kind: Web, chart: charts/web}\n",
    );
    for command in [&["manifests"][..], &["bundle", "--package=web-operator"]] {
        let ended = project.run(command);
        assert_eq!(ended.code, Some(2), "{}", ended.stderr);
        assert!(
            ended.stderr.contains("several versions of Web in example.com"),
            "{}",
            ended.stderr
        );
    }
}

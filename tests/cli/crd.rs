//! `crd`.

use std::path::{Path, PathBuf};

use crate::program::Project;

fn root() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR"))
}

fn text(path: &Path) -> String {
    std::fs::read_to_string(path).unwrap()
}

#[test]
fn the_example_is_deployed_with_the_definition_that_is_printed() {
    let chart = root().join("helm-charts/visitors");
    let project = Project::new();
    let entry = format!(
        "- group: example.com\n  version: v1alpha1\n  kind: VisitorsSite\n  chart: {}\n",
        chart.display()
    );
    project.write("watches.yaml", &entry);
    let ended = project.run(&["crd"]);
    assert_eq!((ended.code, ended.stderr.as_str()), (Some(0), ""));
    assert_eq!(
        ended.stdout,
        text(&root().join("deploy/crds/visitorssites.example.com.yaml"))
    );
    let flags = ["--group=example.com", "--version=v1alpha1", "--kind=VisitorsSite"];
    let chart = chart.display().to_string();
    let alone = project.run(&[&["crd", "--chart", &chart], flags.as_slice()].concat());
    assert_eq!(alone.stdout, ended.stdout);
}

#[test]
fn each_kind_has_a_file_of_its_own_on_request() {
    let project = Project::new();
    project.write("charts/web/values.yaml", "# Number of pods\nreplicas: 1\n");
    let ended = project.run(&[
        "crd",
        "--output-dir",
        "config/crd/bases",
        "--kind",
        "Web",
        "--plural",
        "webbs",
    ]);
    assert_eq!((ended.code, ended.stderr.as_str()), (Some(0), ""));
    assert_eq!(ended.stdout, "config/crd/bases/example.com_webbs.yaml\n");
    let written = text(&project.path().join("config/crd/bases/example.com_webbs.yaml"));
    assert!(
        written.contains("description: \"Number of pods (default: 1)\""),
        "{written}"
    );
    let json = project.run(&["crd", "-o", "json", "--defaults"]).stdout;
    let json: serde_json::Value = serde_json::from_str(&json).unwrap();
    let spec = &json["spec"]["versions"][0]["schema"]["openAPIV3Schema"]["properties"]["spec"];
    assert_eq!(spec["properties"]["replicas"]["default"], 1);
}

#[test]
fn what_a_definition_cannot_say_is_noted_beside_the_output() {
    let project = Project::new();
    let schema = r#"{"properties": {"hosts": {"type": "array", "uniqueItems": true}}}"#;
    project.write("charts/web/values.schema.json", schema);
    let ended = project.run(&["crd"]);
    assert_eq!(ended.code, Some(0));
    assert_eq!(
        ended.stderr,
        "note: Web spec.hosts: uniqueItems has no counterpart in a definition and is not checked\n"
    );
}

/// A project whose kinds are made by a chart, by a role, and by a playbook that runs it.
fn mixed() -> Project {
    let project = Project::new();
    project.write(
        "roles/store/meta/argument_specs.yml",
        "argument_specs:\n  main:\n    short_description: Runs a store\n    options:\n      disk_type: {choices: [ssd, \
         hdd]}\n      pod_ip: {}\n      pull_policy: {required: true}\n",
    );
    project.write(
        "roles/store/defaults/main.yml",
        "# How many pods\nreplica_count: 2\nMY_VAR: x\n",
    );
    project.write("play.yml", "- hosts: localhost\n  roles: [store]\n");
    let entry =
        |kind: &str, rest: &str| format!("- {{version: v1, group: example.com, kind: {kind}, {rest}}}\n");
    let entries = [
        entry("Web", "chart: charts/web"),
        entry("Store", "role: store, vars: {pull_policy: Always}"),
        entry(
            "Shop",
            "playbook: play.yml, snakeCaseParameters: false, manageStatus: false",
        ),
        "- {version: v1, group: '', kind: ConfigMap, role: store, manageStatus: false}\n".to_owned(),
    ];
    project.write("watches.yaml", &entries.concat());
    project
}

#[test]
fn roles_have_definitions_beside_charts() {
    let project = mixed();
    let ended = project.run(&["crd"]);
    assert_eq!(ended.code, Some(0), "{}", ended.stderr);
    assert_eq!(
        ended.stdout.matches("kind: CustomResourceDefinition\n").count(),
        3
    );
    assert_eq!(
        ended.stderr,
        "note: ConfigMap is a kind of Kubernetes' own, which defines it\nnote: Store spec: no key of a resource becomes a \
         variable of this name, so it is left out: MY_VAR\n"
    );
    let of = |kind: &str| -> serde_json::Value {
        let ended = project.run(&["crd", "-o", "json", "--kind", kind]);
        let definition: serde_json::Value = serde_json::from_str(&ended.stdout).unwrap();
        definition["spec"]["versions"][0]["schema"]["openAPIV3Schema"].clone()
    };
    let keys = |schema: &serde_json::Value| -> Vec<String> {
        let properties = schema["properties"]["spec"]["properties"].as_object().unwrap();
        properties.keys().cloned().collect()
    };
    let store = of("Store");
    assert_eq!(store["description"], "Runs a store");
    assert_eq!(keys(&store), ["diskType", "podIp", "replicaCount"]);
    let replicas = &store["properties"]["spec"]["properties"]["replicaCount"];
    assert_eq!(replicas["description"], "How many pods (default: 2)");
    assert_eq!(store.get("required"), None, "watches.yaml gives what is required");
    // Keys are variables, and the status is the role's.
    let shop = of("Shop");
    assert_eq!(
        keys(&shop),
        ["MY_VAR", "disk_type", "pod_ip", "pull_policy", "replica_count"]
    );
    assert_eq!(shop["properties"]["status"].get("default"), None);
    let ended = project.run(&["crd", "--kind", "Wep"]);
    assert!(
        ended
            .stderr
            .ends_with("its kinds are Web, Store, Shop, ConfigMap\n"),
        "{}",
        ended.stderr
    );
}

#[test]
fn what_is_said_of_keys_is_what_the_operator_makes_of_them() {
    let project = mixed();
    let ended = project.run(&["crd", "-o", "json", "--kind", "Store"]);
    let definition: serde_json::Value = serde_json::from_str(&ended.stdout).unwrap();
    let schema = &definition["spec"]["versions"][0]["schema"]["openAPIV3Schema"];
    let properties = schema["properties"]["spec"]["properties"].as_object().unwrap();
    let variables: Vec<String> = properties
        .keys()
        .map(|key| steersman_ansible::snake_case(key))
        .collect();
    assert_eq!(variables, ["disk_type", "pod_ip", "replica_count"]);
}

#[test]
fn a_project_of_roles_and_charts_alone_has_manifests() {
    let project = mixed();
    let ended = project.run(&["manifests"]);
    assert_eq!(ended.code, Some(0), "{}", ended.stderr);
    for name in ["webs.example.com", "stores.example.com", "shops.example.com"] {
        assert!(
            ended.stdout.contains(&format!("  name: {name}\n")),
            "{}",
            ended.stdout
        );
    }
    assert!(ended.stdout.contains("memory: 768Mi\n"), "{}", ended.stdout);
    assert!(
        ended.stderr.contains("note: Store: the operator gets no rules"),
        "{}",
        ended.stderr
    );
}

#[test]
fn what_is_wrong_is_said_with_a_hint() {
    let project = Project::new();
    let ended = project.run(&["crd", "--kind", "Wep"]);
    assert_eq!(ended.code, Some(2));
    assert_eq!(
        ended.stderr,
        "error: `./watches.yaml` has no kind Wep\n\nhint: its kinds are Web\n"
    );
    let ended = project.run(&[
        "crd",
        "--chart",
        "charts/web",
        "--group",
        "example",
        "--version",
        "v1",
        "--kind",
        "Web",
    ]);
    assert_eq!(ended.code, Some(2));
    assert!(
        ended.stderr.contains("the group \"example\" is not a DNS name"),
        "{}",
        ended.stderr
    );
}

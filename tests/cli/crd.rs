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

//! What the tooling makes of `status` and `scale`: the definition, and what is wrong with one.

use std::fs;

use serde_json::{Value, json};
use steersman_watches::RESERVED_STATUS;

use crate::program::Project;

const ENTRY: &str = "\
- group: example.com
  version: v1
  kind: Web
  chart: charts/web
  status:
    fields:
      endpoint: release.name + ':80'
      members: {type: integer, value: \"object('v1', 'Service', release.name).spec.ports[0].port\", description: How many}
    columns: [members, {name: Where, field: endpoint, priority: 1}]
  scale: {spec: cluster.size, status: members}
";

fn project() -> Project {
    let project = Project::new();
    project.write(
        "charts/web/templates/service.yaml",
        "apiVersion: v1\nkind: Service\nmetadata: {name: web}\nspec: {ports: [{port: 80}]}\n",
    );
    project.write("charts/web/values.yaml", "cluster: {size: 3}\n");
    project.write("watches.yaml", ENTRY);
    project
}

fn definition(project: &Project) -> Value {
    let ended = project.run(&["crd", "-o", "json"]);
    assert_eq!((ended.code, ended.stderr.as_str()), (Some(0), ""));
    serde_json::from_str(&ended.stdout).unwrap()
}

#[test]
fn the_definition_has_the_fields_the_columns_and_the_scale() {
    let project = project();
    let definition = definition(&project);
    let version = &definition["spec"]["versions"][0];
    let schema = &version["schema"]["openAPIV3Schema"]["properties"];
    let status = &schema["status"]["properties"];
    assert_eq!(status["endpoint"], json!({"type": "string"}));
    assert_eq!(
        status["members"],
        json!({"type": "integer", "format": "int64", "description": "How many"})
    );
    let columns = version["additionalPrinterColumns"].as_array().unwrap();
    let names: Vec<&str> = columns
        .iter()
        .map(|column| column["name"].as_str().unwrap())
        .collect();
    assert_eq!(
        names,
        [
            "Ready", "Reason", "Revision", "Members", "Where", "Chart", "App", "Message", "Age"
        ]
    );
    let shown = json!({"name": "Members", "type": "integer", "jsonPath": ".status.members", "description": "How many"});
    assert_eq!(columns[3], shown);
    assert_eq!(
        version["subresources"]["scale"],
        json!({"specReplicasPath": ".spec.cluster.size", "statusReplicasPath": ".status.members"})
    );
    // A resource that says nothing of it has the chart's number.
    let spec = &schema["spec"];
    assert_eq!(
        (&spec["default"], &spec["properties"]["cluster"]["default"]),
        (&json!({}), &json!({}))
    );
    let size = &spec["properties"]["cluster"]["properties"]["size"];
    assert_eq!((&size["type"], &size["default"]), (&json!("integer"), &json!(3)));
}

#[test]
fn what_the_operator_writes_itself_is_reserved() {
    let project = project();
    project.write("watches.yaml", ENTRY.split("  status:").next().unwrap());
    let definition = definition(&project);
    let pointer = "/spec/versions/0/schema/openAPIV3Schema/properties/status/properties";
    let own = definition.pointer(pointer).and_then(Value::as_object).unwrap();
    for name in own.keys() {
        assert!(RESERVED_STATUS.contains(&name.as_str()), "{name}");
    }
    assert_eq!(
        definition.pointer("/spec/versions/0/subresources"),
        Some(&json!({"status": {}}))
    );
    // And all that the documents tell of.
    let document =
        fs::read_to_string(concat!(env!("CARGO_MANIFEST_DIR"), "/docs/reference/status.md")).unwrap();
    let fields = document
        .split("## Fields")
        .nth(1)
        .unwrap()
        .split("\n## ")
        .next()
        .unwrap();
    let named: Vec<&str> = fields
        .lines()
        .filter_map(|line| line.strip_prefix("| `")?.split(['`', '.']).next())
        .collect();
    assert!(named.len() > 10, "{named:?}");
    for name in named {
        assert!(RESERVED_STATUS.contains(&name), "{name}");
    }
}

#[test]
fn a_definition_that_lacks_what_the_entry_adds_is_told() {
    let project = project();
    let write = ["crd", "--output-dir", "config/crd/bases"];
    assert_eq!(project.run(&write).code, Some(0));
    let found = || project.run(&["check"]).stdout;
    let about_status =
        |text: &str| text.contains("status") || text.contains("scale") || text.contains("column");
    assert!(!about_status(&found()), "{}", found());

    let path = "config/crd/bases/example.com_webs.yaml";
    let whole = fs::read_to_string(project.path().join(path)).unwrap();
    let edit = |from: &str, to: &str| {
        assert!(whole.contains(from), "{from}\n{whole}");
        project.write(path, &whole.replace(from, to));
        found()
    };
    let text = edit(
        "specReplicasPath: .spec.cluster.size",
        "specReplicasPath: .spec.size",
    );
    assert!(
        text.contains("the scale subresource is missing, or is another than the entry's"),
        "{text}"
    );
    let text = edit("jsonPath: .status.endpoint", "jsonPath: .status.other");
    assert!(
        text.contains("the column Where is missing, which the entry adds"),
        "{text}"
    );
    let text = edit(
        "format: int64\n                type: integer\n              observed",
        "type: string\n              observed",
    );
    assert!(text.contains("status.members is refused"), "{text}");

    // An expression over objects that the chart does not make, and a number that the entry sets itself.
    project.write(path, &whole);
    project.write(
        "watches.yaml",
        &ENTRY.replace("'v1', 'Service'", "'apps/v1', 'StatefulSet'"),
    );
    let expect = "watches.yaml:1: warning: an expression that looks at StatefulSet.apps finds nothing: the chart of \
                  example.com/v1 Web makes no such object\n";
    assert!(found().contains(expect), "{}", found());
    project.write(
        "watches.yaml",
        &format!("{ENTRY}  overrides: {{cluster: {{size: 5}}}}\n"),
    );
    assert!(
        found().contains("scaling has no effect: the entry's overrides set `cluster.size`"),
        "{}",
        found()
    );
}

#[test]
fn what_is_wrong_is_told_with_its_line() {
    let project = project();
    project.write(
        "watches.yaml",
        &ENTRY.replace("columns: [members,", "columns: [membres,"),
    );
    let ended = project.run(&["check"]);
    assert_eq!(ended.code, Some(1));
    let expect = "watches.yaml:9: error: [0].status.columns[0]: `membres` is none of `status.fields`: there are `endpoint`, `members`\n";
    assert!(ended.stdout.starts_with(expect), "{}", ended.stdout);
    let role =
        "- {version: v1, kind: Run, playbook: a.yml, status: {fields: {a: release.name}}, scale: {}}\n";
    project.write("watches.yaml", role);
    project.write("a.yml", "- hosts: localhost\n");
    let text = project.run(&["check"]).stdout;
    for field in ["status", "scale"] {
        assert!(
            text.contains(&format!("[0].{field}: is for entries with a chart")),
            "{text}"
        );
    }
}

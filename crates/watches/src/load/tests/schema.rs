//! The schema of the file, held against the loader.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use boon::{Compiler, SchemaIndex, Schemas};
use serde_json::{Value, json};
use steersman_model::Environment;

use crate::load::{
    ansible, confine, dependencies, drift, entry, health, options, order, post_render, procedures, selector,
    status, values_from,
};
use crate::{SCHEMA, Watches};

/// The objects that the loader reads, by the name that they have in the schema, and which fields it knows of each.
const OBJECTS: &[(&str, &[&str])] = &[
    ("chartEntry", entry::FIELDS),
    ("roleEntry", ansible::FIELDS),
    ("finalizer", ansible::FINALIZER_FIELDS),
    ("kind", ansible::KIND_FIELDS),
    ("selector", selector::SELECTOR_FIELDS),
    ("expression", selector::EXPRESSION_FIELDS),
    ("driftDetection", drift::FIELDS),
    ("ignoreRule", drift::RULE_FIELDS),
    ("target", drift::TARGET_FIELDS),
    ("wait", order::WAIT_FIELDS),
    ("stage", order::STAGE_FIELDS),
    ("test", options::TEST_FIELDS),
    ("valuesFrom", values_from::FIELDS),
    ("valueSource", values_from::SOURCE_FIELDS),
    ("dependency", dependencies::FIELDS),
    ("healthCheck", health::FIELDS),
    ("confine", confine::FIELDS),
    ("kinds", confine::KINDS_FIELDS),
    ("patch", post_render::FIELDS),
    ("procedure", procedures::FIELDS),
    ("parameter", procedures::parameters::FIELDS),
    ("step", procedures::steps::FIELDS),
    ("schedule", procedures::schedule::FIELDS),
    ("trigger", procedures::triggers::ON_FIELDS),
    ("before", procedures::triggers::BEFORE_FIELDS),
    ("history", procedures::HISTORY_FIELDS),
    ("status", status::FIELDS),
    ("statusField", status::FIELD_FIELDS),
    ("statusColumn", status::COLUMN_FIELDS),
    ("scale", status::SCALE_FIELDS),
];

/// Entries with every field. `DIR` is a folder with what they name.
const EVERYTHING: &str = r#"
- group: example.com
  version: v1
  kind: Web
  chart: DIR/web
  valueFiles: [values-production.yaml]
  overrides: {image: {pullPolicy: Always}}
  overrideValues: {image.tag: v7}
  postRender:
  - target: {kind: Deployment}
    patch: [{op: add, path: /metadata/labels/a, value: b}, {op: move, from: /a, path: /b}]
  - {target: {}, merge: {metadata: {labels: {a: b}}}}
  - {target: {}, strategicMerge: "metadata: {labels: {a: b}}"}
  watchDependentResources: true
  reconcilePeriod: 5m
  selector:
    matchLabels: {tier: web}
    matchExpressions:
    - {key: team, operator: In, values: [red]}
  releaseNamespace: default
  crds: create-replace
  driftDetection:
    mode: warn
    ignore:
    - paths: [/spec/replicas]
      target: {group: apps, version: v1, kind: Deployment, namespace: a, name: web-.*, labelSelector: a=b, annotationSelector: c}
  wait: {timeout: 10m, jobs: true}
  stages:
  - {name: database, objects: [{kind: StatefulSet}], timeout: 15m}
  - {name: web, objects: [{kind: Deployment, name: web}], approve: true}
  valuesFrom:
    fromResources: true
    sources:
    - {kind: Secret, name: "{{ .metadata.name }}", valuesKey: a, targetPath: b.c, literal: true, optional: true}
  dependsOn:
  - {apiVersion: apps/v1, kind: Deployment, name: db, namespace: shared, readyExpr: status.up}
  healthChecks:
  - {apiVersion: a.com/v1, kind: Db, current: status.up, inProgress: status.down, failed: status.lost}
  procedures:
  - name: backup
    job: procedures/job.yaml
    idempotent: true
    schedule: {cron: "0 3 * * *", timeZone: Europe/Berlin, jitter: 5m, deadline: 6h, concurrency: replace}
    before: {upgrade: true, changed: [image.tag]}
    retries: 2
    timeout: 1h
    history: {succeeded: 3, failed: 5}
  - {name: vacuum, job: procedures/job.yaml, schedule: {value: vacuum.schedule}}
  - name: restore
    kind: WebRestore
    confirm: true
    exclusive: true
    parameters:
      snapshot: {type: string, required: true, description: which one}
      mode: {enum: [fast, whole], default: fast}
    steps:
    - {name: restore, job: procedures/job.yaml, idempotent: false, timeout: 30m}
    - values: {maintenance: true, members: "{{ .Procedure.parameters.mode }}"}
    - {wait: ready}
    finally: [{job: procedures/job.yaml}, {values: {maintenance: null}}]
  - {name: resize, job: procedures/job.yaml, on: {changed: [size], by: 1}}
  status:
    fields:
      endpoint: release.name
      members: {type: integer, value: "object('v1', 'ConfigMap', 'a').data.size", description: how many}
    columns: [members, {name: Where, field: endpoint, priority: 1}]
  scale: {spec: size, status: members, selector: endpoint}
  conflicts: fail
  expandClaims: true
  test: {enable: true, timeout: 5m}
  reuseValues: false
  manifestInStatus: true
  maxConcurrentReconciles: 4
  serviceAccountName: deployer
  confine:
    namespaces: [release, shared]
    clusterScoped: false
    kinds: {allow: [Service, PersistentVolumeClaim], deny: [DaemonSet]}
    lookup: release
  dryRunOption: server
- {version: v1, kind: Waves, chart: DIR/web, order: argocd}
- group: example.com
  version: v1
  kind: Run
  role: DIR/role
  vars: {a: b}
  finalizer: {name: example.com/finalizer, role: DIR/role, playbook: DIR/playbook.yml, vars: {c: d}}
  deleteDependents: true
  reconcilePeriod: 1h
  watchDependentResources: true
  watchClusterScopedResources: false
  blacklist:
  - {group: "", version: v1, kind: Secret}
  watchAnnotationsChanges: false
  snakeCaseParameters: true
  markUnsafe: true
  manageStatus: true
  maxRunnerArtifacts: 5
  maxConcurrentReconciles: 2
  selector: {matchLabels: {team: red}}
  serviceAccountName: deployer
- {version: v1, kind: Play, playbook: DIR/playbook.yml}
"#;

struct Schema {
    schemas: Schemas,
    root: SchemaIndex,
}

impl Schema {
    fn new() -> Self {
        let mut compiler = Compiler::new();
        let mut schemas = Schemas::new();
        compiler.add_resource("file:///watches.json", document()).unwrap();
        let root = compiler.compile("file:///watches.json", &mut schemas).unwrap();
        Self { schemas, root }
    }

    fn check(&self, value: &Value) -> Result<(), String> {
        let checked = self.schemas.validate(value, self.root);
        checked.map_err(|error| format!("{error:#}"))
    }
}

fn document() -> Value {
    serde_json::from_str(SCHEMA).unwrap()
}

/// A folder with what [`EVERYTHING`] names.
fn folder() -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    super::write_chart(&folder.path().join("web"));
    fs::create_dir(folder.path().join("role")).unwrap();
    fs::write(folder.path().join("playbook.yml"), "- hosts: localhost\n").unwrap();
    fs::write(folder.path().join("values-production.yaml"), "a: b\n").unwrap();
    fs::create_dir(folder.path().join("web/procedures")).unwrap();
    fs::write(folder.path().join("web/procedures/job.yaml"), "kind: Job\n").unwrap();
    folder
}

/// What the loader makes of a file, in a folder with what it names.
fn load(folder: &Path, text: &str) -> Result<Watches, String> {
    let file = folder.join("watches.yaml");
    fs::write(&file, text).unwrap();
    Watches::load(&file, &Environment::default()).map_err(|error| error.to_string())
}

#[test]
fn the_schema_has_the_fields_that_the_loader_knows() {
    let schema = document();
    for (name, fields) in OBJECTS {
        let known: BTreeSet<&str> = fields.iter().copied().collect();
        let properties = schema["$defs"][name]["properties"].as_object().unwrap();
        let mut said: BTreeSet<&str> = properties.keys().map(String::as_str).collect();
        // The loader knows it to say that it may not be there.
        if *name == "roleEntry" {
            said.insert("chart");
        }
        assert_eq!(
            said, known,
            "{name}: what the schema has, and what the loader knows"
        );
        assert_eq!(schema["$defs"][name]["additionalProperties"], false, "{name}");
        for (field, property) in properties {
            let description = property["description"].as_str().unwrap_or_default();
            assert!(description.ends_with('.'), "{name}.{field} has no description");
        }
    }
}

#[test]
fn a_file_with_every_field_is_valid_and_read_without_a_notice() {
    let folder = folder();
    let text = EVERYTHING.replace("DIR", folder.path().to_str().unwrap());
    let watches = load(folder.path(), &text).unwrap();
    assert!(watches.notices().is_empty(), "{:?}", watches.notices());
    let value = read(&text);
    Schema::new().check(&value).unwrap();
    let all = value.to_string();
    for (name, fields) in OBJECTS {
        for field in fields
            .iter()
            .filter(|field| *name != "roleEntry" || **field != "chart")
        {
            assert!(
                all.contains(&format!("\"{field}\":")),
                "{name}.{field} is not tried"
            );
        }
    }
}

#[test]
fn the_schema_refuses_the_fields_that_the_loader_does_not_know() {
    let folder = folder();
    let text = EVERYTHING.replace("DIR", folder.path().to_str().unwrap());
    let whole = read(&text);
    let schema = Schema::new();
    let (mut refused, mut free) = (0, 0);
    // Each key there is a parameter, or a field of the status.
    let is_fixed = |place: &String| !place.ends_with("/parameters") && !place.ends_with("/status/fields");
    for place in places_of_objects(&whole).into_iter().filter(is_fixed) {
        let mut file = whole.clone();
        file.pointer_mut(&place).unwrap()["noSuchField"] = "x".into();
        let is_noticed = match load(folder.path(), &file.to_string()) {
            Ok(watches) => watches
                .notices()
                .iter()
                .any(|notice| notice.message.starts_with("unknown field is ignored")),
            Err(error) => error.contains("unknown field"),
        };
        assert_eq!(schema.check(&file).is_err(), is_noticed, "{place}");
        if is_noticed { refused += 1 } else { free += 1 }
    }
    assert!(refused >= OBJECTS.len() && free > 3, "{refused} {free}");
}

/// What a text says to editors: they take `on` for what it is, as YAML 1.2 does.
fn read(text: &str) -> Value {
    fn with_on(value: Value) -> Value {
        match value {
            Value::Object(map) => {
                let named = |key: String| if key == "true" { "on".to_owned() } else { key };
                map.into_iter()
                    .map(|(key, value)| (named(key), with_on(value)))
                    .collect()
            }
            Value::Array(items) => items.into_iter().map(with_on).collect(),
            value => value,
        }
    }
    with_on(steersman_yaml::to_json(text).unwrap())
}

/// Pointers to all maps in a value.
fn places_of_objects(value: &Value) -> Vec<String> {
    let mut found = Vec::new();
    let mut open = vec![(String::new(), value)];
    while let Some((place, value)) = open.pop() {
        match value {
            Value::Object(map) => {
                let step = |key: &str| format!("{place}/{}", key.replace('~', "~0").replace('/', "~1"));
                open.extend(map.iter().map(|(key, value)| (step(key), value)));
                found.push(place);
            }
            Value::Array(items) => {
                let items = items.iter().enumerate();
                open.extend(items.map(|(index, value)| (format!("{place}/{index}"), value)));
            }
            _ => {}
        }
    }
    found
}

#[test]
fn what_the_loader_refuses_is_refused() {
    let schema = Schema::new();
    let entry = |more: Value| {
        let mut entry = json!({"version": "v1", "kind": "Web", "chart": "web"});
        entry
            .as_object_mut()
            .unwrap()
            .extend(more.as_object().unwrap().clone());
        json!([entry])
    };
    assert_eq!(schema.check(&entry(json!({}))), Ok(()));
    for file in [
        json!([]),
        json!({}),
        json!([{"version": "v1", "kind": "Web"}]),
        json!([{"version": "v1", "kind": "Web", "role": "a", "chart": "b"}]),
        json!([{"version": "v1", "kind": "Web", "role": "a", "valueFiles": ["b"]}]),
        entry(json!({"version": "V1"})),
        entry(json!({"postRender": [{"target": {}}]})),
        entry(json!({"postRender": [{"patch": []}]})),
        entry(json!({"postRender": [{"target": {}, "patch": [], "merge": {}}]})),
        entry(json!({"postRender": [{"target": {}, "patch": {"a": "b"}}]})),
        entry(json!({"postRender": [{"target": {}, "patch": [{"op": "ad", "path": "/a"}]}]})),
        entry(json!({"overrides": ["a"]})),
        entry(json!({"wait": "yes"})),
        entry(json!({"order": "flux"})),
        entry(json!({"stages": [{"name": "a"}]})),
        entry(json!({"stages": [{"name": "a", "objects": [{}]}]})),
        entry(json!({"stages": [{"name": "unclaimed", "objects": [{"kind": "A"}]}]})),
        entry(json!({"dependsOn": [{"apiVersion": "v1", "kind": "A"}]})),
        entry(json!({"valuesFrom": [{"kind": "Pod", "name": "a"}]})),
        entry(json!({"valuesFrom": {"fromResource": true}})),
        entry(json!({"healthChecks": [{"apiVersion": "v1", "kind": "A"}]})),
        entry(json!({"procedures": [{"name": "a"}]})),
        entry(json!({"procedures": [{"name": "a", "job": "b", "steps": [{"wait": "ready"}]}]})),
        entry(json!({"procedures": [{"name": "A", "job": "b"}]})),
        entry(json!({"procedures": [{"name": "a", "job": "b", "schedule": {}}]})),
        entry(json!({"procedures": [{"name": "a", "job": "b", "parameters": {"resource": {}}}]})),
        entry(json!({"procedures": [{"name": "a", "job": "b", "retries": 21}]})),
        entry(json!({"procedures": [{"name": "a", "steps": [{"wait": true}]}]})),
        entry(json!({"status": {"columns": ["a"]}})),
        entry(json!({"status": {"fields": {"conditions": "a"}}})),
        entry(json!({"status": {"fields": {"a": {"type": "list", "value": "b"}}}})),
        entry(json!({"status": {"fields": {"a": {"type": "string"}}}})),
        entry(json!({"scale": {"spec": "a[0]", "status": "b"}})),
        entry(json!({"crds": "keep"})),
    ] {
        assert!(schema.check(&file).is_err(), "{file}");
    }
}

#[test]
fn the_files_of_this_project_are_valid() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let schema = Schema::new();
    let mut count = 0;
    for (path, text) in texts(&root) {
        let value = read(&text);
        // A file without an entry yet.
        if !value.is_null() {
            count += 1;
            schema
                .check(&value)
                .unwrap_or_else(|error| panic!("{}: {error}\n{text}", path.display()));
        }
    }
    assert!(count > 5, "{count} files");
}

/// Each `watches.yaml` of the project, and those in its documents.
fn texts(root: &Path) -> Vec<(PathBuf, String)> {
    let mut found = Vec::new();
    let mut open: Vec<PathBuf> = ["docs", "examples", "crates", "tests", "watches.yaml"]
        .iter()
        .map(|name| root.join(name))
        .collect();
    while let Some(path) = open.pop() {
        let name = path
            .file_name()
            .and_then(|name| name.to_str())
            .unwrap_or_default();
        if path.is_dir() {
            let entries = fs::read_dir(&path).unwrap();
            open.extend(entries.map(|entry| entry.unwrap().path()));
        } else if name == "watches.yaml" {
            found.push((path.clone(), fs::read_to_string(&path).unwrap()));
        } else if path.extension().is_some_and(|extension| extension == "md") {
            let text = fs::read_to_string(&path).unwrap();
            let blocks = text.split("```yaml watches.yaml\n").skip(1);
            found.extend(blocks.map(|block| {
                let end = block.find("```").unwrap();
                (path.clone(), block[..end].to_owned())
            }));
        }
    }
    found
}

//! What a `ClusterServiceVersion` says about the kinds that its operator serves.

use std::collections::{BTreeMap, VecDeque};

use serde_json::{Map, Value, json};

use super::manifests::Manifests;
use super::value::{display_name, list, name, text};

/// How many fields of a kind are described, those nearest to the root first: what a form of a console can show.
pub const MAX_DESCRIPTORS: usize = 40;

/// How deep fields are described: `spec.a.b.c`.
const MAX_DEPTH: usize = 3;

/// How long a description is at most, in characters.
const MAX_DESCRIPTION: usize = 300;

const UI: &str = "urn:alm:descriptor:com.tectonic.ui";
const KUBERNETES: &str = "urn:alm:descriptor:io.kubernetes";

/// A kind of objects that resources of an owned kind consist of.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct ResourceReference {
    /// The kind, such as `Deployment`.
    pub kind: String,
    /// Its version without the group, such as `v1`.
    pub version: String,
}

/// The entries of `customresourcedefinitions.owned`: one for each version of each definition. What the base says of a
/// kind stays as it is; what it leaves out follows from the definition.
pub(super) fn owned(
    manifests: &Manifests,
    base: &Value,
    resources: &BTreeMap<String, Vec<ResourceReference>>,
) -> Vec<Value> {
    let known = list(base, "/spec/customresourcedefinitions/owned");
    let mut entries = Vec::new();
    for definition in &manifests.definitions {
        for version in list(definition, "/spec/versions") {
            let mut entry = describe(definition, version, resources.get(name(definition)));
            let same = |candidate: &&Value| {
                ["name", "version", "kind"]
                    .iter()
                    .all(|key| candidate.get(key) == entry.get(*key))
            };
            if let Some(Value::Object(known)) = known.iter().find(same) {
                entry.extend(known.clone());
            }
            entries.push(Value::Object(entry));
        }
    }
    entries
}

fn describe(
    definition: &Value,
    version: &Value,
    resources: Option<&Vec<ResourceReference>>,
) -> Map<String, Value> {
    let kind = text(definition, "/spec/names/kind");
    let schema = version.pointer("/schema/openAPIV3Schema").unwrap_or(&Value::Null);
    let mut entry = Map::new();
    entry.insert("name".to_owned(), name(definition).into());
    entry.insert("version".to_owned(), text(version, "/name").into());
    entry.insert("kind".to_owned(), kind.into());
    entry.insert("displayName".to_owned(), display_name(kind).into());
    let description = match shortened(text(schema, "/description")) {
        text if text.is_empty() => format!("{} of this operator", display_name(kind)),
        text => text,
    };
    entry.insert("description".to_owned(), description.into());
    let resources: Vec<Value> = resources
        .into_iter()
        .flatten()
        .map(|resource| json!({"kind": resource.kind, "name": "", "version": resource.version}))
        .collect();
    let spec = descriptors(schema.pointer("/properties/spec"), spec_descriptor);
    let mut status = descriptors(schema.pointer("/properties/status"), status_descriptor);
    if status.is_empty() {
        status = usual_status();
    }
    for (key, values) in [
        ("resources", resources),
        ("specDescriptors", spec),
        ("statusDescriptors", status),
    ] {
        if !values.is_empty() {
            entry.insert(key.to_owned(), values.into());
        }
    }
    entry
}

/// What the operator writes into every status, for definitions that say nothing about it.
fn usual_status() -> Vec<Value> {
    vec![
        json!({
            "path": "conditions",
            "displayName": "Conditions",
            "description": "How the release of the chart is",
            "x-descriptors": [format!("{KUBERNETES}.conditions")],
        }),
        json!({
            "path": "deployedRelease.name",
            "displayName": "Release",
            "description": "The name of the release of the chart",
            "x-descriptors": [format!("{UI}:text")],
        }),
    ]
}

/// Describes the fields below a schema, level by level.
fn descriptors(schema: Option<&Value>, choose: fn(&str, &Value) -> Option<Vec<String>>) -> Vec<Value> {
    let mut found = Vec::new();
    let mut waiting: VecDeque<(Vec<String>, &Value)> = VecDeque::new();
    waiting.extend(schema.map(|schema| (Vec::new(), schema)));
    while let Some((path, schema)) = waiting.pop_front() {
        let Some(properties) = schema.get("properties").and_then(Value::as_object) else {
            continue;
        };
        let mut names: Vec<&String> = properties.keys().collect();
        names.sort();
        for field in names {
            if found.len() == MAX_DESCRIPTORS {
                return found;
            }
            let mut path = path.clone();
            path.push(field.clone());
            match choose(field, &properties[field]) {
                // The parts of a path are joined by dots, so a name with one can't be a part.
                Some(kinds) if !field.contains('.') => {
                    found.push(descriptor(&path, &properties[field], kinds));
                }
                None if path.len() < MAX_DEPTH && !field.contains('.') => {
                    waiting.push_back((path, &properties[field]));
                }
                _ => {}
            }
        }
    }
    found
}

fn descriptor(path: &[String], schema: &Value, kinds: Vec<String>) -> Value {
    let words: Vec<String> = path.iter().map(|part| display_name(part)).collect();
    let mut entry = json!({
        "path": path.join("."),
        "displayName": words.join(" "),
        "x-descriptors": kinds,
    });
    let description = shortened(text(schema, "/description"));
    if !description.is_empty() {
        entry["description"] = description.into();
    }
    entry
}

/// How a console shows a field of the spec, if it can: by what its name says, then by its type.
fn spec_descriptor(field: &str, schema: &Value) -> Option<Vec<String>> {
    let lower = field.to_lowercase();
    let ends_with = |endings: &[&str]| endings.iter().any(|ending| lower.ends_with(ending));
    let one = |text: String| Some(vec![text]);
    match text(schema, "/type") {
        "integer" if lower == "replicas" || lower == "replicacount" => one(format!("{UI}:podCount")),
        "integer" | "number" => one(format!("{UI}:number")),
        "boolean" => one(format!("{UI}:booleanSwitch")),
        "object" if lower == "resources" => one(format!("{UI}:resourceRequirements")),
        "object" if lower == "updatestrategy" => one(format!("{UI}:updateStrategy")),
        "string" if !list(schema, "/enum").is_empty() => Some(choices(schema)),
        "string" if lower == "pullpolicy" || lower == "imagepullpolicy" => {
            one(format!("{UI}:imagePullPolicy"))
        }
        "string" if ends_with(&["secretname", "existingsecret", "secretref"]) => {
            one(format!("{KUBERNETES}:Secret"))
        }
        "string" if ends_with(&["configmap", "configmapname"]) => one(format!("{KUBERNETES}:ConfigMap")),
        "string" if ends_with(&["serviceaccountname"]) => one(format!("{KUBERNETES}:ServiceAccount")),
        "string" if ends_with(&["storageclass", "storageclassname"]) => {
            one(format!("{KUBERNETES}:StorageClass"))
        }
        "string" if ends_with(&["password", "passwd", "token", "secretkey", "apikey"]) => {
            one(format!("{UI}:password"))
        }
        "string" => one(format!("{UI}:text")),
        _ => None,
    }
}

/// The values of an enumeration.
fn choices(schema: &Value) -> Vec<String> {
    list(schema, "/enum")
        .iter()
        .filter_map(Value::as_str)
        .filter(|choice| !choice.is_empty())
        .map(|choice| format!("{UI}:select:{choice}"))
        .collect()
}

fn status_descriptor(field: &str, schema: &Value) -> Option<Vec<String>> {
    match text(schema, "/type") {
        "array" if field == "conditions" => Some(vec![format!("{KUBERNETES}.conditions")]),
        "string" | "integer" | "number" | "boolean" => Some(vec![format!("{UI}:text")]),
        _ => None,
    }
}

/// A description on one line, of a bounded length.
fn shortened(text: &str) -> String {
    let line = text.split_whitespace().collect::<Vec<_>>().join(" ");
    match line.char_indices().nth(MAX_DESCRIPTION) {
        Some((end, _)) => {
            let end = line[..end].rfind(' ').unwrap_or(end);
            format!("{}…", &line[..end])
        }
        None => line,
    }
}

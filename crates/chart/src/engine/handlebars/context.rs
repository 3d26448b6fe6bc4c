//! What templates see: the dot of Go templates, as JSON.

use std::collections::BTreeSet;

use serde_json::{Map as JsonMap, Value as Json};
use steersman_gotemplate::{Failure, Map, MapType, Runtime, Value};

use super::value::ToJson;

/// The entries of the dot.
pub(super) const KEYS: &[&str] = &[
    "Capabilities",
    "Chart",
    "Files",
    "Release",
    "Subcharts",
    "Template",
    "Values",
];

/// The entries of the dot that templates mention, as they are now: Go templates can change values.
pub(super) fn data(
    dot: &Value,
    mentioned: &BTreeSet<&'static str>,
    runtime: &mut dyn Runtime,
    limit: usize,
) -> Result<Json, Failure> {
    let Value::Map(dot) = dot else {
        return Ok(Json::Object(JsonMap::new()));
    };
    let wanted = mentioned
        .iter()
        .filter_map(|key| Some((*key, dot.get(key.as_bytes())?)));
    let wanted = wanted.map(|(key, value)| (key, plain(value)));
    let mut conversion = ToJson {
        runtime,
        objects: None,
        limit,
        bytes: 0,
    };
    conversion.convert(&Value::Map(Map::from_entries(MapType::Any, wanted)))
}

/// Capabilities by the names of their fields, which are not those of their JSON.
fn plain(value: Value) -> Value {
    let Value::Object(object) = &value else {
        return value;
    };
    if object.type_name() != "*common.Capabilities" {
        return value;
    }
    let fields = |name: &str, fields: &[&str]| {
        let Some(Value::Object(object)) = object.field(name) else {
            return Value::Nil;
        };
        let fields = fields
            .iter()
            .filter_map(|field| Some((*field, object.field(field)?)));
        Value::map(fields)
    };
    Value::map([
        ("APIVersions", object.field("APIVersions").unwrap_or_default()),
        (
            "HelmVersion",
            fields(
                "HelmVersion",
                &[
                    "Version",
                    "GitCommit",
                    "GitTreeState",
                    "GoVersion",
                    "KubeClientVersion",
                ],
            ),
        ),
        (
            "KubeVersion",
            fields("KubeVersion", &["Version", "Major", "Minor"]),
        ),
    ])
}

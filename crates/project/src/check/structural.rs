//! What an API server makes of a value by a structural schema.

use boon::{Compiler, ErrorKind, SchemaIndex, Schemas, ValidationError};
use serde_json::{Map, Value, json};

use crate::definition::plain_value;

const LOCATION: &str = "schema.json";

/// A structural schema, compiled.
pub(super) struct Structural<'a> {
    schema: &'a Value,
    schemas: Schemas,
    index: SchemaIndex,
}

/// What a server says of a value.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Verdict {
    /// JSON pointers of what it refuses, and why.
    pub refused: Vec<(String, String)>,
    /// JSON pointers of fields that it does not know, and drops.
    pub dropped: Vec<String>,
}

/// What a server says of a resource, by the `openAPIV3Schema` of its definition.
///
/// ```
/// use serde_json::json;
/// use steersman_project::check::judge;
///
/// let replicas = json!({"type": "integer", "minimum": 1});
/// let spec = json!({"type": "object", "properties": {"replicas": replicas}});
/// let schema = json!({"type": "object", "properties": {"spec": spec}});
/// let verdict = judge(&schema, &json!({"spec": {"replicas": 0, "image": "web"}}))?;
/// assert_eq!(verdict.refused[0].0, "/spec/replicas");
/// assert_eq!(verdict.dropped, ["/spec/image"]);
/// # Ok::<(), String>(())
/// ```
///
/// # Errors
/// It is no schema.
pub fn judge(schema: &Value, resource: &Value) -> Result<Verdict, String> {
    Ok(Structural::new(schema)?.judge(resource))
}

impl<'a> Structural<'a> {
    /// Compiles the `openAPIV3Schema` of a definition.
    ///
    /// # Errors
    /// It is no schema.
    pub(super) fn new(schema: &'a Value) -> Result<Self, String> {
        let mut document = plain(schema);
        if let Value::Object(document) = &mut document {
            document.insert(
                "$schema".to_owned(),
                json!("http://json-schema.org/draft-04/schema#"),
            );
        }
        let mut compiler = Compiler::new();
        let mut schemas = Schemas::new();
        compiler
            .add_resource(LOCATION, document)
            .map_err(|error| error.to_string())?;
        let index = compiler
            .compile(LOCATION, &mut schemas)
            .map_err(|error| error.to_string())?;
        Ok(Self {
            schema,
            schemas,
            index,
        })
    }

    /// What a server says of a whole resource.
    pub(super) fn judge(&self, resource: &Value) -> Verdict {
        let mut value = plain_value(resource);
        let mut verdict = Verdict::default();
        prune(self.schema, &mut value, "", true, &mut verdict.dropped);
        if let Err(error) = self.schemas.validate(&value, self.index) {
            innermost(&error, &mut verdict.refused);
        }
        verdict
    }
}

/// A structural schema in the words of JSON Schema, draft 4.
fn plain(schema: &Value) -> Value {
    let Value::Object(schema) = schema else {
        return schema.clone();
    };
    let mut result = Map::new();
    for (key, value) in schema {
        let value = match (key.as_str(), value) {
            ("properties", Value::Object(properties)) => properties
                .iter()
                .map(|(key, property)| (key.clone(), plain(property)))
                .collect(),
            ("items" | "additionalProperties" | "not", value) => plain(value),
            ("allOf" | "anyOf" | "oneOf", Value::Array(schemas)) => schemas.iter().map(plain).collect(),
            ("default" | "example", _) => continue,
            (key, _) if key.starts_with("x-kubernetes-") => continue,
            (_, value) => value.clone(),
        };
        result.insert(key.clone(), value);
    }
    if schema.get("x-kubernetes-int-or-string") == Some(&Value::Bool(true)) {
        result.insert("type".to_owned(), json!(["integer", "string"]));
    }
    if schema.get("nullable") == Some(&Value::Bool(true)) {
        match result.get_mut("type") {
            Some(Value::Array(types)) => types.push(json!("null")),
            Some(name) => *name = json!([name.clone(), "null"]),
            None => {}
        }
        // Of a null nothing else is asked.
        if ["allOf", "anyOf", "oneOf", "not"]
            .iter()
            .any(|key| result.contains_key(*key))
        {
            return json!({"anyOf": [{"enum": [null]}, result]});
        }
    }
    Value::Object(result)
}

/// Does what a server does before it validates: fields that the schema does not know go, and so do nulls where none is
/// allowed.
fn prune(schema: &Value, value: &mut Value, path: &str, is_root: bool, dropped: &mut Vec<String>) {
    match value {
        Value::Object(entries) => {
            let properties = schema.get("properties").and_then(Value::as_object);
            let each = schema.get("additionalProperties").filter(|each| each.is_object());
            let keeps_all = schema.get("x-kubernetes-preserve-unknown-fields") == Some(&Value::Bool(true))
                || schema.get("additionalProperties") == Some(&Value::Bool(true));
            entries.retain(|key, value| {
                if is_root && ["apiVersion", "kind", "metadata"].contains(&key.as_str()) {
                    return true;
                }
                let path = format!("{path}/{}", key.replace('~', "~0").replace('/', "~1"));
                let Some(inner) = properties.and_then(|properties| properties.get(key)).or(each) else {
                    if !keeps_all {
                        dropped.push(path);
                    }
                    return keeps_all;
                };
                if value.is_null() && inner.get("nullable") != Some(&Value::Bool(true)) {
                    return false;
                }
                prune(inner, value, &path, false, dropped);
                true
            });
        }
        Value::Array(items) => {
            if let Some(inner) = schema.get("items") {
                for (place, item) in items.iter_mut().enumerate() {
                    prune(inner, item, &format!("{path}/{place}"), false, dropped);
                }
            }
        }
        _ => {}
    }
}

/// The errors that have no others inside, each place once.
fn innermost(error: &ValidationError<'_, '_>, refused: &mut Vec<(String, String)>) {
    // That null would do is no help.
    let wants_null = matches!(&error.kind, ErrorKind::Enum { want } if **want == [Value::Null]);
    if error.causes.is_empty() && !wants_null {
        let place = error.instance_location.to_string();
        if !refused.iter().any(|(known, _)| *known == place) {
            refused.push((place, error.kind.to_string()));
        }
    }
    for cause in &error.causes {
        innermost(cause, refused);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(schema: &Value, spec: Value, expect: &[&str]) {
        let schema = json!({
            "type": "object",
            "properties": {"metadata": {"type": "object"}, "spec": schema},
        });
        let structural = Structural::new(&schema).unwrap();
        let verdict = structural
            .judge(&json!({"apiVersion": "a/v1", "kind": "A", "metadata": {"name": "x"}, "spec": spec}));
        let refused = verdict
            .refused
            .iter()
            .map(|(place, why)| format!("{place}: {why}"));
        let dropped = verdict.dropped.iter().map(|place| format!("{place} dropped"));
        let found: Vec<String> = refused.chain(dropped).collect();
        assert_eq!(found, expect);
    }

    #[test]
    fn values_are_judged_as_the_server_judges_them() {
        let schema = json!({
            "type": "object",
            "required": ["host"],
            "properties": {
                "host": {"type": "string", "maxLength": 3},
                "port": {"x-kubernetes-int-or-string": true, "minimum": 1, "nullable": true},
                "count": {"type": "integer", "minimum": 1, "exclusiveMinimum": true},
                "mode": {"type": "string", "nullable": true, "allOf": [{"enum": ["a"]}]},
                "any": {"x-kubernetes-preserve-unknown-fields": true},
                "labels": {"type": "object", "additionalProperties": {"type": "string"}},
            },
        });
        check(
            &schema,
            json!({"host": "a", "port": "http", "count": 2.0, "mode": null, "any": [{"x": 1}]}),
            &[],
        );
        check(
            &schema,
            json!({"host": "a", "port": null, "count": null, "labels": {"a": "b"}}),
            &[],
        );
        check(
            &schema,
            json!({"host": "long", "port": 0, "count": 1, "mode": "b"}),
            &[
                "/spec/count: must be > 1 but got 1",
                "/spec/host: length must be <=3, but got 4",
                "/spec/mode: value must be 'a'",
                "/spec/port: must be >=1, but got 0",
            ],
        );
        check(
            &schema,
            json!({"labels": {"a": 1}}),
            &[
                "/spec: missing properties 'host'",
                "/spec/labels/a: want string, but got number",
            ],
        );
    }

    #[test]
    fn unknown_fields_are_dropped_where_they_are_not_preserved() {
        let inner = json!({"type": "object", "properties": {"a": {"type": "string"}}});
        let schema = json!({
            "type": "object",
            "x-kubernetes-preserve-unknown-fields": true,
            "properties": {"closed": inner, "list": {"type": "array", "items": inner}},
        });
        check(
            &schema,
            json!({"x": 1, "closed": {"a": "b", "c/d": 1}, "list": [{"a": "b"}, {"e": 1}]}),
            &["/spec/closed/c~1d dropped", "/spec/list/1/e dropped"],
        );
    }
}

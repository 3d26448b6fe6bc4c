//! Whether examples are resources of the kinds that the bundle brings.

use serde_json::Value;

use super::super::value::{group_version, list, text};
use super::definitions::keys;
use super::{Contents, Findings, Located};

/// How deep a value is compared with its schema.
const MAX_DEPTH: usize = 128;

/// How many differences of one example are listed.
const MAX_DIFFERENCES: usize = 20;

pub(super) fn check(located: &Located, contents: &Contents, findings: &mut Findings) {
    let Located { file, object } = located;
    let annotations = object.pointer("/metadata/annotations");
    let annotation = |key: &str| annotations.and_then(|map| map.get(key)).and_then(Value::as_str);
    let (key, text) = match (annotation("alm-examples"), annotation("olm.examples")) {
        (Some(text), other) => {
            if other.is_some() {
                let field = "metadata.annotations[olm.examples]";
                findings.warn(file, field, "counts for nothing beside `alm-examples`");
            }
            ("alm-examples", text)
        }
        (None, Some(text)) => ("olm.examples", text),
        (None, None) => {
            return findings.warn(file, "metadata.annotations", "there are no `alm-examples`");
        }
    };
    let field = format!("metadata.annotations[{key}]");
    let examples: Vec<Value> = match serde_json::from_str(if text.is_empty() { "[]" } else { text }) {
        Ok(Value::Array(examples)) => examples,
        Ok(_) => return findings.error(file, &field, "is no list"),
        Err(error) => return findings.error(file, &field, format!("is no JSON: {error}")),
    };
    check_kinds(file, &field, object, &examples, findings);
    for (index, example) in examples.iter().enumerate() {
        if let Some(schema) = schema_of(contents, example) {
            let mut walk = Walk::default();
            walk.compare(example, schema, "", 0);
            for (path, message) in walk.differences {
                findings.error(file, &format!("{field}[{index}]{path}"), message);
            }
        }
    }
}

fn check_kinds(file: &str, field: &str, object: &Value, examples: &[Value], findings: &mut Findings) {
    let owned = list(object, "/spec/customresourcedefinitions/owned");
    let provided: Vec<(&str, &str, &str)> = owned
        .iter()
        .filter_map(|entry| {
            let (_, group) = text(entry, "/name").split_once('.')?;
            Some((group, text(entry, "/version"), text(entry, "/kind")))
        })
        .collect();
    let kind_of = |example| {
        let (group, version) = group_version(example);
        (group, version, text(example, "/kind"))
    };
    for (index, example) in examples.iter().enumerate() {
        let (group, version, kind) = kind_of(example);
        if !provided.contains(&(group, version, kind)) {
            let message = format!("the operator does not own {kind} {group}/{version}");
            findings.error(file, &format!("{field}[{index}]"), message);
        }
    }
    for (group, version, kind) in &provided {
        if !examples
            .iter()
            .any(|example| kind_of(example) == (*group, *version, *kind))
        {
            findings.warn(
                file,
                field,
                format!("there is no example of {kind} {group}/{version}"),
            );
        }
    }
}

/// The schema of an example's kind.
fn schema_of<'a>(contents: &'a Contents, example: &Value) -> Option<&'a Value> {
    let (group, version) = group_version(example);
    let kind = text(example, "/kind");
    let definition = contents.of_kind("CustomResourceDefinition").find(|located| {
        keys(&located.object)
            .iter()
            .any(|key| key.0 == group && key.1 == version && key.2 == kind)
    })?;
    list(&definition.object, "/spec/versions")
        .iter()
        .find(|candidate| text(candidate, "/name") == version)?
        .pointer("/schema/openAPIV3Schema")
}

/// A comparison of a value with a structural schema, as the API server makes it: types, enumerations, bounds, required
/// fields, and fields that it would drop. Patterns, formats and rules are left to the server.
#[derive(Default)]
struct Walk {
    differences: Vec<(String, String)>,
}

impl Walk {
    fn compare(&mut self, value: &Value, schema: &Value, path: &str, depth: usize) {
        if depth > MAX_DEPTH || self.differences.len() >= MAX_DIFFERENCES {
            return;
        }
        if value.is_null() {
            if schema.get("nullable") != Some(&Value::Bool(true)) && !text(schema, "/type").is_empty() {
                self.tell(path, "is null, which the definition does not allow".to_owned());
            }
            return;
        }
        if let Some(expect) = wrong_type(value, schema) {
            return self.tell(path, format!("is {} and should be {expect}", type_name(value)));
        }
        let allowed = list(schema, "/enum");
        if !allowed.is_empty() && !allowed.contains(value) {
            self.tell(path, format!("is none of {}", Value::from(allowed)));
        }
        self.compare_bounds(value, schema, path);
        match value {
            Value::Object(map) => self.compare_fields(map, schema, path, depth),
            Value::Array(items) => {
                if let Some(schema) = schema.get("items") {
                    for (index, item) in items.iter().enumerate() {
                        self.compare(item, schema, &format!("{path}[{index}]"), depth + 1);
                    }
                }
            }
            _ => {}
        }
    }

    fn compare_fields(
        &mut self,
        map: &serde_json::Map<String, Value>,
        schema: &Value,
        path: &str,
        depth: usize,
    ) {
        for required in list(schema, "/required").iter().filter_map(Value::as_str) {
            if !map.contains_key(required) {
                self.tell(&format!("{path}.{required}"), "is required".to_owned());
            }
        }
        let is_true = |key: &str| schema.get(key) == Some(&Value::Bool(true));
        let is_open =
            is_true("x-kubernetes-preserve-unknown-fields") || is_true("x-kubernetes-embedded-resource");
        let others = schema.get("additionalProperties");
        for (key, value) in map {
            if path.is_empty() && ["apiVersion", "kind", "metadata"].contains(&key.as_str()) {
                continue;
            }
            // The API server drops a field that is null where the definition does not allow that.
            if value.is_null() {
                continue;
            }
            let path = format!("{path}.{key}");
            let properties = schema.get("properties");
            match (properties.and_then(|properties| properties.get(key)), others) {
                (Some(schema), _) | (None, Some(schema @ Value::Object(_))) => {
                    self.compare(value, schema, &path, depth + 1);
                }
                (None, Some(Value::Bool(true))) => {}
                (None, _) if is_open => {}
                (None, _) => self.tell(
                    &path,
                    "is no field of the definition; the API server drops it".to_owned(),
                ),
            }
        }
    }

    fn compare_bounds(&mut self, value: &Value, schema: &Value, path: &str) {
        let bound = |key: &str| schema.get(key).and_then(Value::as_f64);
        let (number, what) = match value {
            Value::Number(number) => (number.as_f64(), "imum"),
            Value::String(text) => (Some(text.chars().count() as f64), "Length"),
            Value::Array(items) => (Some(items.len() as f64), "Items"),
            _ => return,
        };
        let Some(number) = number else { return };
        for (key, is_outside) in [
            (format!("min{what}"), f64::lt as fn(&f64, &f64) -> bool),
            (format!("max{what}"), f64::gt),
        ] {
            if let Some(bound) = bound(&key).filter(|bound| is_outside(&number, bound)) {
                self.tell(path, format!("breaks `{key}: {bound}`"));
            }
        }
    }

    fn tell(&mut self, path: &str, message: String) {
        self.differences.push((path.to_owned(), message));
    }
}

/// The type that a value should have and has not.
fn wrong_type(value: &Value, schema: &Value) -> Option<String> {
    if schema.get("x-kubernetes-int-or-string") == Some(&Value::Bool(true)) {
        let fits = value.is_string() || is_integer(value);
        return (!fits).then(|| "an integer or a string".to_owned());
    }
    let (fits, name) = match text(schema, "/type") {
        "object" => (value.is_object(), "an object"),
        "array" => (value.is_array(), "a list"),
        "string" => (value.is_string(), "a string"),
        "boolean" => (value.is_boolean(), "a boolean"),
        "number" => (value.is_number(), "a number"),
        "integer" => (is_integer(value), "an integer"),
        _ => return None,
    };
    (!fits).then(|| name.to_owned())
}

fn is_integer(value: &Value) -> bool {
    value.is_i64() || value.is_u64() || value.as_f64().is_some_and(|number| number.fract() == 0.0)
}

fn type_name(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "a boolean",
        Value::Number(_) => "a number",
        Value::String(_) => "a string",
        Value::Array(_) => "a list",
        Value::Object(_) => "an object",
    }
}

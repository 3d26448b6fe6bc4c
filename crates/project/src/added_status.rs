//! What an entry of watches.yaml adds to the status of its resources, as far as definitions depend on it.

use serde_json::{Map, Value, json};

/// Fields of a status that an entry adds, which of them `kubectl get` shows, and what `kubectl scale` changes.
///
/// ```
/// use steersman_chart::Chart;
/// use steersman_project::definition::{Definition, Options};
/// use steersman_project::{AddedColumn, AddedField, AddedStatus, CustomKind, ScalePaths};
///
/// let chart = Chart::from_files([
///     ("Chart.yaml", b"{apiVersion: v2, name: web, version: 1.0.0}".as_slice()),
///     ("values.yaml", b"size: 2\n"),
/// ])?;
/// let members = AddedField { name: "members".into(), type_name: "integer", description: None };
/// let column = AddedColumn { name: "Members".into(), field: "members".into(), priority: 0 };
/// let scale = ScalePaths { spec: "size".into(), status: "members".into(), selector: None };
/// let status = AddedStatus { fields: vec![members], columns: vec![column], scale: Some(scale) };
/// let options = Options { status, ..Options::default() };
/// let definition = Definition::of(&CustomKind::new("example.com", "v1", "Web"), &chart, &options)?;
/// let version = &definition.value()["spec"]["versions"][0];
/// assert_eq!(version["subresources"]["scale"]["statusReplicasPath"], ".status.members");
/// assert_eq!(definition.schema()["properties"]["spec"]["properties"]["size"]["default"], 2);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct AddedStatus {
    /// In the order of the file.
    pub fields: Vec<AddedField>,
    /// In the order of the file.
    pub columns: Vec<AddedColumn>,
    /// What `kubectl scale` changes and sees, where the entry says so.
    pub scale: Option<ScalePaths>,
}

/// A name in the status, and what the schema says of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AddedField {
    /// As it stands in `status`.
    pub name: String,
    /// `string`, `integer`, `number` or `boolean`, as schemas say it.
    pub type_name: &'static str,
    /// For people.
    pub description: Option<String>,
}

/// A column of `kubectl get`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AddedColumn {
    /// Its head.
    pub name: String,
    /// The field that it shows.
    pub field: String,
    /// Above 0 it is shown with `-o wide` alone.
    pub priority: i32,
}

/// What `kubectl scale` changes and sees.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ScalePaths {
    /// The path below the spec, with dots between.
    pub spec: String,
    /// The field with the number that there is.
    pub status: String,
    /// The field with a selector of the pods.
    pub selector: Option<String>,
}

impl AddedStatus {
    /// Adds the fields to the schema of a status.
    pub(crate) fn describe(&self, properties: &mut Value) {
        for field in &self.fields {
            let mut schema = json!({ "type": field.type_name });
            if field.type_name == "integer" {
                schema["format"] = "int64".into();
            }
            if let Some(description) = &field.description {
                schema["description"] = description.as_str().into();
            }
            properties[&field.name] = schema;
        }
    }

    /// The columns, as a definition has them.
    pub(crate) fn columns(&self) -> impl Iterator<Item = Value> {
        self.columns.iter().filter_map(|column| {
            let field = self.fields.iter().find(|field| field.name == column.field)?;
            let mut shown = json!({
                "name": column.name,
                "type": field.type_name,
                "jsonPath": format!(".status.{}", column.field),
            });
            if let Some(description) = &field.description {
                shown["description"] = description.as_str().into();
            }
            if column.priority > 0 {
                shown["priority"] = column.priority.into();
            }
            Some(shown)
        })
    }

    /// A status that has all of the fields.
    pub(crate) fn sample(&self) -> Value {
        let fields = self.fields.iter().map(|field| {
            let value = match field.type_name {
                "string" => json!("text"),
                "boolean" => json!(true),
                _ => json!(1),
            };
            (field.name.clone(), value)
        });
        Value::Object(fields.collect())
    }
}

impl ScalePaths {
    /// The subresource, as a definition has it.
    pub(crate) fn subresource(&self) -> Value {
        let mut scale = json!({
            "specReplicasPath": format!(".spec.{}", self.spec),
            "statusReplicasPath": format!(".status.{}", self.status),
        });
        if let Some(selector) = &self.selector {
            scale["labelSelectorPath"] = format!(".status.{selector}").into();
        }
        scale
    }

    /// The number among values, if it is there.
    pub(crate) fn number_in(&self, values: &Map<String, Value>) -> Option<i64> {
        let mut steps = self.spec.split('.');
        let first = values.get(steps.next()?)?;
        let number = steps.try_fold(first, |value, step| value.get(step))?;
        // Numbers of files have fractions, as in Helm.
        let whole = number.as_f64().filter(|number| number.fract() == 0.0);
        number.as_i64().or(whole.map(|number| number as i64))
    }

    /// Has the schema of a spec take the number, with this default: the API server scales no resource that does not say it.
    pub(crate) fn describe(&self, spec: &mut Value, default: Option<i64>) {
        let mut schema = spec;
        for step in self.spec.split('.') {
            if schema.is_null() {
                *schema = json!({"x-kubernetes-preserve-unknown-fields": true});
            }
            // A map of values that are all alike has no fields of its own, and `{}` is nothing where something is required.
            if !schema.is_object() || schema.get("additionalProperties").is_some() {
                return;
            }
            let is_free = schema.get("required").is_none() && schema.get("default").is_none();
            if default.is_some() && is_free {
                schema["default"] = json!({});
            }
            schema["type"] = "object".into();
            schema = &mut schema["properties"][step];
        }
        if !schema.is_object() {
            *schema = json!({});
        }
        let is_number = matches!(schema["type"].as_str(), Some("integer"));
        if let Value::Object(fields) = schema {
            fields.remove("nullable");
            if !is_number {
                fields.remove("x-kubernetes-int-or-string");
                fields.remove("x-kubernetes-preserve-unknown-fields");
                fields.insert("type".to_owned(), "integer".into());
            }
            if let Some(default) = default {
                fields.insert("default".to_owned(), default.into());
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn described(path: &str, spec: Value, default: Option<i64>) -> Value {
        let scale = ScalePaths {
            spec: path.to_owned(),
            status: "members".to_owned(),
            selector: None,
        };
        let mut spec = spec;
        scale.describe(&mut spec, default);
        spec
    }

    #[test]
    fn the_number_of_a_scale_has_a_default_wherever_it_is() {
        let size = json!({"type": "integer", "nullable": true, "description": "How many"});
        assert_eq!(
            described(
                "size",
                json!({"type": "object", "properties": {"size": size}}),
                Some(3)
            ),
            json!({"type": "object", "default": {}, "properties": {"size": {"type": "integer", "description": "How many", "default": 3}}})
        );
        // Where the spec has to say something, it is there.
        let required =
            json!({"type": "object", "required": ["host"], "properties": {"cluster": {"type": "object"}}});
        assert_eq!(
            described("cluster.size", required, Some(3)),
            json!({"type": "object", "required": ["host"], "properties": {"cluster": {"type": "object", "default": {},
                "properties": {"size": {"type": "integer", "default": 3}}}}})
        );
        assert_eq!(
            described("size", json!({"type": "object"}), None),
            json!({"type": "object", "properties": {"size": {"type": "integer"}}})
        );
        let missing = described("a.b", json!({"type": "object"}), Some(1));
        assert_eq!(missing["properties"]["a"]["type"], "object");
        assert_eq!(
            missing["properties"]["a"]["properties"]["b"],
            json!({"type": "integer", "default": 1})
        );
        let map = json!({"type": "object", "additionalProperties": {"type": "integer"}});
        assert_eq!(described("size", map.clone(), Some(1)), map);
    }
}

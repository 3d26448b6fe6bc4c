//! Paths to fields, as kustomize's configuration writes them.

use crate::identity::Gvk;
use serde_json::{Map, Value};

/// A field of some kinds of objects.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct FieldSpec {
    /// The kinds; what is empty stands for any.
    pub(crate) gvk: Gvk,
    /// The names of fields with `/` between them; lists on the way are walked item by item.
    pub(crate) path: String,
    /// Whether the field comes into being where it is missing.
    pub(crate) create: bool,
}

impl FieldSpec {
    pub(crate) fn new(group: &str, version: &str, kind: &str, path: &str, create: bool) -> Self {
        Self {
            gvk: Gvk {
                group: group.to_owned(),
                version: version.to_owned(),
                kind: kind.to_owned(),
            },
            path: path.to_owned(),
            create,
        }
    }

    /// Calls `set` with each place that the path leads to in an object of one of the kinds. What is missing on the
    /// way is made, the last field as `fresh`, where the specification says so and `fresh` is given.
    ///
    /// # Errors
    ///
    /// A field on the way is neither a map nor a list, or `set` says so.
    pub(crate) fn apply(
        &self,
        object: &mut Map<String, Value>,
        fresh: Option<&Value>,
        set: &mut dyn FnMut(&mut Value) -> Result<(), String>,
    ) -> Result<(), String> {
        if !Gvk::of(object).is_selected_by(&self.gvk) {
            return Ok(());
        }
        let names = split_path(&self.path, '/');
        let fresh = fresh.filter(|_| self.create);
        enter(object, &names, fresh, set).map_err(|problem| format!("field `{}`: {problem}", self.path))
    }
}

fn walk(
    value: &mut Value,
    names: &[String],
    fresh: Option<&Value>,
    set: &mut dyn FnMut(&mut Value) -> Result<(), String>,
) -> Result<(), String> {
    if names.is_empty() {
        return set(value);
    }
    match value {
        Value::Null => Ok(()),
        Value::Array(items) => items
            .iter_mut()
            .try_for_each(|item| walk(item, names, fresh, set)),
        Value::Object(map) => enter(map, names, fresh, set),
        _ => Err("a map or a list is expected on the way there".to_owned()),
    }
}

fn enter(
    map: &mut Map<String, Value>,
    names: &[String],
    fresh: Option<&Value>,
    set: &mut dyn FnMut(&mut Value) -> Result<(), String>,
) -> Result<(), String> {
    let Some((name, rest)) = names.split_first() else {
        return Ok(());
    };
    let (name, is_list) = match name.strip_suffix("[]") {
        Some(name) => (name, true),
        None => (name.as_str(), false),
    };
    if let Some(fresh) = fresh.filter(|_| !is_list) {
        let fresh = if rest.is_empty() {
            fresh.clone()
        } else {
            Value::Object(Map::new())
        };
        let slot = map.entry(name).or_insert(Value::Null);
        if slot.is_null() {
            *slot = fresh;
        }
    }
    match map.get_mut(name) {
        Some(field) => walk(field, rest, fresh, set),
        None => Ok(()),
    }
}

/// The names of a path; a `\` before the separator makes it a part of a name.
pub(crate) fn split_path(path: &str, separator: char) -> Vec<String> {
    let mut names: Vec<String> = Vec::new();
    let mut continues = false;
    for part in path.strip_prefix(separator).unwrap_or(path).split(separator) {
        let (text, escaped) = match part.strip_suffix('\\') {
            Some(text) => (text, true),
            None => (part, false),
        };
        match names.last_mut() {
            Some(last) if continues => {
                last.push(separator);
                last.push_str(text);
            }
            _ => names.push(text.to_owned()),
        }
        continues = escaped;
    }
    if continues && let Some(last) = names.last_mut() {
        last.push('\\');
    }
    names
}

#[cfg(test)]
mod tests {
    use super::{FieldSpec, split_path};
    use serde_json::{Value, json};

    #[test]
    fn separators_can_be_escaped() {
        assert_eq!(split_path("a/b", '/'), ["a", "b"]);
        assert_eq!(
            split_path(r"metadata/annotations/ingress.io\/auth", '/'),
            ["metadata", "annotations", "ingress.io/auth"]
        );
    }

    #[test]
    fn lists_are_walked_and_fields_are_made() {
        let mut object = json!({"kind": "Pod", "spec": {"containers": [{"name": "a"}, {"name": "b"}]}});
        let map = object.as_object_mut().unwrap();
        let mut names = Vec::new();
        FieldSpec::new("", "", "", "spec/containers/name", false)
            .apply(map, None, &mut |value| {
                names.push(value.clone());
                Ok(())
            })
            .unwrap();
        assert_eq!(names, ["a", "b"]);
        FieldSpec::new("", "", "", "metadata/labels", true)
            .apply(map, Some(&json!({})), &mut |value| {
                value["x"] = Value::from("y");
                Ok(())
            })
            .unwrap();
        assert_eq!(object["metadata"], json!({"labels": {"x": "y"}}));
    }
}

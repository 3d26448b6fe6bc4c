//! Strategic merge patches, as kustomize merges them: lists with merge keys are merged item by item, items of the
//! patch first.

use crate::merge_schema::{Edition, List, Shape};
use crate::resource::scalar_text;
use serde_json::{Map, Value};

/// The field of a patch that says what to do with a map or a list.
const DIRECTIVE: &str = "$patch";

enum Directive {
    Merge,
    Replace,
    Delete,
}

/// Merges a patch into an object, as an edition knows its lists; nothing is left of an object that the patch deletes.
///
/// # Errors
///
/// Both have different types at the same place, or a directive is not known.
pub(crate) fn merge(object: Value, patch: &Value, edition: Edition) -> Result<Option<Value>, String> {
    Merger { edition }.values(Some(object), Some(patch), Shape::Unknown)
}

/// Whether all directives in a patch are known.
///
/// # Errors
///
/// One is not.
pub(crate) fn check_directives(patch: &Value) -> Result<(), String> {
    match patch {
        Value::Object(fields) => {
            directive(fields)?;
            fields.values().try_for_each(check_directives)
        }
        Value::Array(items) => items.iter().try_for_each(check_directives),
        _ => Ok(()),
    }
}

/// Merges by what an edition knows.
#[derive(Clone, Copy)]
struct Merger {
    edition: Edition,
}

impl Merger {
    /// A value of the object and one of the patch, at the same place; nothing where the place becomes empty.
    fn values(
        self,
        dest: Option<Value>,
        patch: Option<&Value>,
        shape: Shape,
    ) -> Result<Option<Value>, String> {
        match (dest, patch) {
            (dest, None) => Ok(dest),
            (Some(Value::Object(dest)), Some(Value::Object(patch))) => {
                let shape = shape.or_of(&dest, patch, self.edition);
                self.maps(dest, patch, shape)
            }
            (Some(Value::Array(dest)), Some(Value::Array(patch))) => self.lists(dest, patch, shape),
            (None | Some(Value::Null), Some(patch)) => self.added(patch, shape),
            (Some(_), Some(Value::Null)) => Ok(None),
            (Some(Value::Object(_) | Value::Array(_)), Some(_))
            | (Some(_), Some(Value::Object(_) | Value::Array(_))) => {
                Err("the patch has another type of value than the object".to_owned())
            }
            (Some(_), Some(patch)) => Ok(Some(patch.clone())),
        }
    }

    fn maps(
        self,
        mut dest: Map<String, Value>,
        patch: &Map<String, Value>,
        shape: Shape,
    ) -> Result<Option<Value>, String> {
        match directive(patch)? {
            Directive::Delete => return Ok(None),
            Directive::Replace => {
                let patch = without_directive(patch);
                return self.added(&Value::Object(patch), shape);
            }
            Directive::Merge => {}
        }
        for (key, value) in patch.iter().filter(|(key, _)| *key != DIRECTIVE) {
            let shape = shape.field(key, self.edition);
            let merged = self
                .values(dest.remove(key), Some(value), shape)
                .map_err(|problem| format!("{key}: {problem}"))?;
            if let Some(merged) = merged {
                dest.insert(key.clone(), merged);
            }
        }
        Ok(Some(Value::Object(dest)))
    }

    /// What a patch adds where the object has nothing: itself, without directives and nulls.
    fn added(self, patch: &Value, shape: Shape) -> Result<Option<Value>, String> {
        match patch {
            Value::Null => Ok(None),
            Value::Object(fields) => {
                if matches!(directive(fields)?, Directive::Delete) {
                    return Ok(None);
                }
                let mut map = Map::new();
                for (key, value) in fields.iter().filter(|(key, _)| *key != DIRECTIVE) {
                    if let Some(value) = self.added(value, shape.field(key, self.edition))? {
                        map.insert(key.clone(), value);
                    }
                }
                Ok(Some(Value::Object(map)))
            }
            Value::Array(items) => match shape.list() {
                Some(_) => self.lists(Vec::new(), items, shape),
                None => Ok(Some(patch.clone())),
            },
            scalar => Ok(Some(scalar.clone())),
        }
    }

    fn lists(self, dest: Vec<Value>, patch: &[Value], shape: Shape) -> Result<Option<Value>, String> {
        let Some(list) = shape.list() else {
            return Ok(Some(Value::Array(patch.to_vec())));
        };
        let is_lone = |item: &&Value| matches!(item, Value::Object(map) if map.len() == 1 && map.contains_key(DIRECTIVE));
        let lone = patch.iter().find(is_lone);
        let patch: Vec<&Value> = patch.iter().filter(|item| !is_lone(item)).collect();
        let dest = match lone.and_then(Value::as_object).map(directive).transpose()? {
            Some(Directive::Delete) => return Ok(None),
            Some(Directive::Replace) => Vec::new(),
            Some(Directive::Merge) | None => dest,
        };
        let merged = if list.keys.is_empty() {
            merge_scalars(dest, &patch)
        } else {
            self.items(dest, &patch, list)?
        };
        Ok((!merged.is_empty()).then_some(Value::Array(merged)))
    }

    fn items(self, dest: Vec<Value>, patch: &[&Value], list: List) -> Result<Vec<Value>, String> {
        let mut rest: Vec<Option<Value>> = dest.into_iter().map(Some).collect();
        let mut merged = Vec::new();
        for item in patch {
            let same = (0..rest.len()).find(|index| {
                rest[*index]
                    .as_ref()
                    .is_some_and(|other| are_same(other, item, list.keys))
            });
            let is_like_another = || {
                rest.iter()
                    .flatten()
                    .any(|other| are_alike(other, item, list.keys))
            };
            if same.is_none() && is_like_another() {
                // kustomize adds such an item, and then removes it as one of the object's.
                continue;
            }
            let found = same.and_then(|index| rest[index].take());
            let is_replaced = item
                .get(DIRECTIVE)
                .is_some_and(|directive| directive == "replace");
            let value = match found {
                // kustomize puts the item of the object back in the place of what replaces it.
                Some(found) if is_replaced => Some(found),
                found => self.values(found, Some(item), *list.items)?,
            };
            let value = value.filter(|value| value.as_object().is_none_or(|map| !map.is_empty()));
            match same {
                // With several keys, items keep the order of the object.
                Some(index) if list.keys.len() > 1 => rest[index] = value,
                _ => merged.extend(value),
            }
        }
        merged.extend(rest.into_iter().flatten());
        Ok(merged)
    }
}

fn directive(patch: &Map<String, Value>) -> Result<Directive, String> {
    match patch.get(DIRECTIVE) {
        None => Ok(Directive::Merge),
        Some(Value::String(text)) => match text.as_str() {
            "merge" => Ok(Directive::Merge),
            "replace" => Ok(Directive::Replace),
            "delete" => Ok(Directive::Delete),
            other => Err(format!("unknown patch strategy `{other}`")),
        },
        Some(_) => Err("a patch strategy has to be a text".to_owned()),
    }
}

fn without_directive(patch: &Map<String, Value>) -> Map<String, Value> {
    let mut patch = patch.clone();
    patch.remove(DIRECTIVE);
    patch
}

/// A list that is a set.
fn merge_scalars(dest: Vec<Value>, patch: &[&Value]) -> Vec<Value> {
    let mut merged: Vec<Value> = Vec::new();
    for item in patch.iter().map(|item| (*item).clone()).chain(dest) {
        if !merged.contains(&item) {
            merged.push(item);
        }
    }
    merged
}

/// Whether two items have the same keys.
fn are_same(left: &Value, right: &Value, keys: &[&str]) -> bool {
    let text = |item: &Value, key: &str| item.get(key).and_then(scalar_text);
    let has_any = keys.iter().any(|key| text(left, key).is_some());
    has_any && keys.iter().all(|key| text(left, key) == text(right, key))
}

/// Whether two items have one key in common, and others that only one of them has.
fn are_alike(left: &Value, right: &Value, keys: &[&str]) -> bool {
    let text = |item: &Value, key: &str| item.get(key).and_then(scalar_text);
    let is_common = |key: &&&str| text(left, key).is_some() && text(left, key) == text(right, key);
    let is_compatible = |key: &&str| match (text(left, key), text(right, key)) {
        (Some(left), Some(right)) => left == right,
        _ => true,
    };
    keys.len() > 1 && keys.iter().any(|key| is_common(&key)) && keys.iter().all(is_compatible)
}

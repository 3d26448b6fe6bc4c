//! The values of a release: the custom resource's spec with the watch's overrides on top.

use std::collections::BTreeMap;

use serde_json::{Map, Value};
use steersman_chart::Values;
use steersman_chart::values::set::set_string;

/// How deep a spec may be nested. A client reads a few more levels of an answer, of which some are around the spec.
const MAX_LEVELS: usize = 100;

/// The values can't be made.
#[derive(Debug, thiserror::Error)]
pub enum ValuesError {
    /// The spec is something else than a map.
    #[error("failed to read the spec: it must be a map")]
    Spec,
    /// The spec has maps in maps, or lists, beyond all reason: what is deeper may not even be known.
    #[error("failed to read the spec: it is nested deeper than {MAX_LEVELS} levels")]
    Deep,
    /// What other objects have was not read.
    #[error("values that come from other objects were not read")]
    Incomplete,
    /// An override is not in the syntax of `--set`.
    #[error("failed to apply override value `{key}`: {reason}")]
    Override {
        /// `image.tag`, as `overrideValues` has it.
        key: String,
        /// Why.
        reason: String,
    },
}

/// What the user gave: `spec` with `overrides`, which are strings as with `--set-string`.
///
/// A missing, null or empty spec gives no values, so that the chart's own count.
///
/// ```
/// use std::collections::BTreeMap;
/// use serde_json::json;
/// use steersman_watches::values::user_values;
///
/// let resource = json!({"kind": "Web", "spec": {"replicas": 2, "image": {"tag": "v6"}}});
/// let overrides = BTreeMap::from([("image.tag".to_owned(), "v7".to_owned())]);
/// let values = user_values(&resource, &overrides)?;
/// assert_eq!(serde_json::Value::Object(values), json!({"replicas": 2, "image": {"tag": "v7"}}));
/// # Ok::<(), steersman_watches::values::ValuesError>(())
/// ```
///
/// # Errors
/// The spec is not a map, or is nested too deeply, or an override can't be read.
pub fn user_values(object: &Value, overrides: &BTreeMap<String, String>) -> Result<Values, ValuesError> {
    let mut values = match object.get("spec") {
        None | Some(Value::Null) => Map::new(),
        Some(spec) if is_deeper(spec, MAX_LEVELS) => return Err(ValuesError::Deep),
        Some(Value::Object(spec)) => spec.clone(),
        Some(_) => return Err(ValuesError::Spec),
    };
    for (key, value) in overrides {
        apply_override(&mut values, key, value)?;
    }
    Ok(values)
}

/// Puts an override over what `values` have.
pub(crate) fn apply_override(values: &mut Values, key: &str, value: &str) -> Result<(), ValuesError> {
    set_string(values, &format!("{key}={value}")).map_err(|reason| ValuesError::Override {
        key: key.to_owned(),
        reason: without_parts_of(value, reason),
    })
}

/// Whether a value has more levels of maps and lists than these.
fn is_deeper(value: &Value, levels: usize) -> bool {
    let next = levels.checked_sub(1);
    let is_deeper = |value: &Value| next.is_some_and(|next| is_deeper(value, next));
    match value {
        Value::Object(map) => next.is_none() || map.values().any(is_deeper),
        Value::Array(items) => next.is_none() || items.iter().any(is_deeper),
        _ => false,
    }
}

/// The reason without what it quotes of the value, which may be secret.
fn without_parts_of(value: &str, reason: String) -> String {
    let parts = value.split([',', '{', '}', '[', ']', '=', '\\']).map(str::trim);
    parts
        .filter(|part| part.len() > 3)
        .fold(reason, |reason, part| reason.replace(part, "********"))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn check(object: Value, overrides: &[(&str, &str)], expect: Value) {
        let overrides = overrides
            .iter()
            .map(|&(key, value)| (key.to_owned(), value.to_owned()))
            .collect();
        assert_eq!(Value::Object(user_values(&object, &overrides).unwrap()), expect);
    }

    #[test]
    fn a_missing_spec_gives_no_values() {
        check(json!({}), &[], json!({}));
        check(json!({"spec": null}), &[], json!({}));
        check(json!({"spec": {}}), &[], json!({}));
        assert!(user_values(&json!({"spec": []}), &BTreeMap::new()).is_err());
    }

    #[test]
    fn an_override_that_can_t_be_read_is_not_quoted() {
        let overrides = BTreeMap::from([("auth.password".to_owned(), "part-a,part-b,part-c".to_owned())]);
        let error = user_values(&json!({}), &overrides).unwrap_err().to_string();
        assert!(
            error.contains("auth.password") && !error.contains("part-"),
            "{error}"
        );
    }

    #[test]
    fn overrides_are_strings_on_top_of_the_spec() {
        check(
            json!({"spec": {"image": {"tag": "1"}, "replicas": 2}}),
            &[("image.tag", "7"), ("list", "{a,b}")],
            json!({"image": {"tag": "7"}, "replicas": 2, "list": ["a", "b"]}),
        );
    }

    #[test]
    fn a_spec_is_not_nested_without_end() {
        let spec = |levels: usize| (1..levels).fold(json!({}), |inner, _| json!({ "a": [inner] }));
        let read = |levels| user_values(&json!({"spec": spec(levels)}), &BTreeMap::new());
        // Each step has a list in a map.
        assert!(read(50).is_ok());
        let error = read(51).unwrap_err().to_string();
        assert_eq!(
            error,
            "failed to read the spec: it is nested deeper than 100 levels"
        );
    }
}

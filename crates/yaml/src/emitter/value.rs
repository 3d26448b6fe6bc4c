//! JSON values as YAML.

use super::{Emitter, Style, sort_keys};
use crate::{Error, MAX_DEPTH};
use serde_json::Value;

/// A value as sigs.k8s.io/yaml's `Marshal` writes it, its keys in goyaml's order. Strings that Go's way
/// through JSON damages or refuses are written in quotes instead; [`marshal`] does neither.
///
/// Values nested deeper than [`MAX_DEPTH`] give an empty text.
///
/// ```
/// let text = steersman_yaml::to_string(&serde_json::json!({"version": "1.10", "replicas": 2}));
/// assert_eq!(text, "replicas: 2\nversion: \"1.10\"\n");
/// ```
#[must_use]
pub fn to_string(value: &Value) -> String {
    let mut text = String::new();
    let mut emitter = Emitter::new(&mut text, Style::V2);
    emitter.imitates_json = false;
    emitter.value(value);
    if emitter.finish().is_err() {
        text.clear();
    }
    text
}

/// A value in [`Style::V3Pretty`].
#[must_use]
pub fn to_string_pretty(value: &Value) -> String {
    marshal(value, Style::V3Pretty).unwrap_or_default()
}

/// A value in the given style, exactly as Go would write it.
///
/// # Errors
///
/// See [`Emitter::finish`].
pub fn marshal(value: &Value, style: Style) -> Result<String, Error> {
    let mut text = String::new();
    let mut emitter = Emitter::new(&mut text, style);
    emitter.value(value);
    emitter.finish()?;
    Ok(text)
}

impl Emitter<'_> {
    /// Writes a whole value, its keys in goyaml's order.
    pub fn value(&mut self, value: &Value) {
        match value {
            Value::Null => self.null(),
            Value::Bool(value) => self.bool(*value),
            Value::Number(number) => {
                if let Some(number) = number.as_i64() {
                    self.int(number);
                } else if let Some(number) = number.as_u64() {
                    self.uint(number);
                } else {
                    self.float(number.as_f64().unwrap_or_default());
                }
            }
            Value::String(text) => self.string(text),
            Value::Array(items) => {
                self.begin_sequence(items.len());
                if self.depth() <= MAX_DEPTH {
                    for item in items {
                        self.value(item);
                    }
                }
                self.end_sequence();
            }
            Value::Object(object) => {
                self.begin_mapping(object.len());
                if self.depth() <= MAX_DEPTH {
                    let mut pairs: Vec<(&String, &Value)> = object.iter().collect();
                    sort_keys(&mut pairs, self.style, |(key, _)| key);
                    for (key, value) in pairs {
                        self.string(key);
                        self.value(value);
                    }
                }
                self.end_mapping();
            }
        }
    }
}

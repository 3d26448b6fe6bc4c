//! Results as JSON.

use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use serde_json::Value;

use crate::budget::MAX_NESTING;
use crate::durations::duration_text;
use crate::error::EvaluationError;
use crate::moment::time_text;
use crate::resources::Resources;
use crate::value::Val;

impl Resources {
    /// A result as JSON, which is made of what is left of the budget.
    ///
    /// # Errors
    /// The result is too large.
    pub(crate) fn json_of(&mut self, value: &Val<'_>) -> Result<Value, EvaluationError> {
        self.json_within(value, MAX_NESTING)
    }

    fn json_within(&mut self, value: &Val<'_>, depth: usize) -> Result<Value, EvaluationError> {
        let depth = depth.checked_sub(1).ok_or(EvaluationError::TooDeep)?;
        self.budget.allocate(size_of::<Value>())?;
        Ok(match value {
            Val::Null | Val::Optional(None) => Value::Null,
            Val::Bool(value) => Value::from(*value),
            Val::Int(number) => Value::from(*number),
            Val::Uint(number) => Value::from(*number),
            Val::Double(number) => Value::from(*number),
            Val::Text(text) => {
                self.budget.allocate(text.as_str().len())?;
                Value::from(text.as_str())
            }
            Val::Bytes(bytes) => {
                self.budget.allocate(bytes.len() * 2)?;
                Value::from(BASE64_STANDARD.encode(bytes))
            }
            Val::Time(time) => Value::from(time_text(*time)),
            Val::Duration(length) => Value::from(duration_text(*length)),
            Val::Type(name) => Value::from(*name),
            Val::Optional(Some(value)) => self.json_within(value, depth)?,
            Val::List(list) => {
                let items = list.iter().map(|item| self.json_within(&item, depth));
                Value::Array(items.collect::<Result<_, _>>()?)
            }
            Val::Map(map) => {
                let mut fields = serde_json::Map::new();
                for key in map.keys() {
                    let found = key.key().and_then(|key| map.get(&key)).unwrap_or(Val::Null);
                    self.budget.spend(1 + map.len() / 64)?;
                    let name = key_text(&key);
                    self.budget.allocate(name.len() + size_of::<String>())?;
                    fields.insert(name, self.json_within(&found, depth)?);
                }
                Value::Object(fields)
            }
        })
    }
}

/// A key of a map as the name of a field.
fn key_text(key: &Val<'_>) -> String {
    match key {
        Val::Bool(value) => value.to_string(),
        Val::Int(number) => number.to_string(),
        Val::Uint(number) => number.to_string(),
        Val::Text(text) => text.as_str().to_owned(),
        _ => String::new(),
    }
}

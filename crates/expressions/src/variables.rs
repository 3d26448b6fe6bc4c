//! What an expression can name.

use std::collections::BTreeMap;

use serde_json::Value;

/// JSON by the names that an expression has for it.
#[derive(Clone, Debug, Default)]
pub struct Variables<'a>(BTreeMap<&'a str, &'a Value>);

impl<'a> Variables<'a> {
    /// The top-level fields of an object: `status`, `spec`, `metadata`. None for what is no object.
    pub fn of_fields(object: &'a Value) -> Self {
        let fields = object.as_object().into_iter().flatten();
        Self(fields.map(|(name, value)| (name.as_str(), value)).collect())
    }

    /// The same with another one, which takes the place of one of its name.
    #[must_use]
    pub fn with(mut self, name: &'a str, value: &'a Value) -> Self {
        self.0.insert(name, value);
        self
    }

    pub(crate) fn get(&self, name: &str) -> Option<&'a Value> {
        self.0.get(name).copied()
    }
}

//! What an expression can name.

use std::collections::BTreeMap;

use serde_json::Value;

use crate::objects::Objects;

/// JSON by the names that an expression has for it.
#[derive(Clone, Debug, Default)]
pub struct Variables<'a> {
    values: BTreeMap<&'a str, &'a Value>,
    objects: Option<&'a dyn Objects>,
}

impl<'a> Variables<'a> {
    /// The top-level fields of an object: `status`, `spec`, `metadata`. None for what is no object.
    pub fn of_fields(object: &'a Value) -> Self {
        let fields = object.as_object().into_iter().flatten();
        Self {
            values: fields.map(|(name, value)| (name.as_str(), value)).collect(),
            objects: None,
        }
    }

    /// The same with another one, which takes the place of one of its name.
    #[must_use]
    pub fn with(mut self, name: &'a str, value: &'a Value) -> Self {
        self.values.insert(name, value);
        self
    }

    /// The same where objects can be looked up.
    #[must_use]
    pub fn with_objects(mut self, objects: &'a dyn Objects) -> Self {
        self.objects = Some(objects);
        self
    }

    pub(crate) fn get(&self, name: &str) -> Option<&'a Value> {
        self.values.get(name).copied()
    }

    pub(crate) fn objects(&self) -> Option<&'a dyn Objects> {
        self.objects
    }
}

//! A JSON object of which some fields are read and changed, while the others stay as they were written.

use std::fmt;

use serde::de::{DeserializeOwned, Error as _, MapAccess, Visitor};
use serde::ser::SerializeMap as _;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::value::{RawValue, to_raw_value};

/// The fields of an object in their order, each as its text. Numbers keep their digits, and what is nested deeply or is long
/// takes no more memory than its text.
#[derive(Debug, Default)]
pub(super) struct Fields(Vec<(String, Box<RawValue>)>);

impl Fields {
    /// The value at `key`; `None` where there is none, or `null`.
    ///
    /// # Errors
    /// It is of another type.
    pub(super) fn get<T: DeserializeOwned>(&self, key: &str) -> Result<Option<T>, serde_json::Error> {
        let found = self.0.iter().find(|(name, _)| name == key);
        match found {
            Some((_, value)) => serde_json::from_str(value.get()),
            None => Ok(None),
        }
    }

    /// Puts a value in the place of the one that is there, or at the end.
    ///
    /// # Errors
    /// The value can't be JSON.
    pub(super) fn set<T: Serialize>(&mut self, key: &str, value: &T) -> Result<(), serde_json::Error> {
        let value = to_raw_value(value)?;
        match self.0.iter_mut().find(|(name, _)| name == key) {
            Some((_, slot)) => *slot = value,
            None => self.0.push((key.to_owned(), value)),
        }
        Ok(())
    }
}

impl Serialize for Fields {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(Some(self.0.len()))?;
        for (key, value) in &self.0 {
            map.serialize_entry(key, value)?;
        }
        map.end()
    }
}

impl<'de> Deserialize<'de> for Fields {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_map(FieldsVisitor)
    }
}

struct FieldsVisitor;

impl<'de> Visitor<'de> for FieldsVisitor {
    type Value = Fields;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a JSON object")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Fields, A::Error> {
        let mut fields: Vec<(String, Box<RawValue>)> = Vec::new();
        while let Some((key, value)) = map.next_entry::<String, Box<RawValue>>()? {
            // Of two the server may take the one that was not marked.
            if fields.iter().any(|(name, _)| *name == key) {
                return Err(A::Error::custom(format_args!("`{key}` is there twice")));
            }
            fields.push((key, value));
        }
        Ok(Fields(fields))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_not_touched_stays_as_it_was_written() {
        let deep = format!("{}{}", "[".repeat(5000), "]".repeat(5000));
        let text = format!(r#"{{"b":1e400,"a":{{"x":1,"x":2.50}},"deep":{deep},"labels":{{}}}}"#);
        let mut fields: Fields = serde_json::from_str(&text).unwrap();
        fields.set("labels", &["new"]).unwrap();
        fields.set("more", &1).unwrap();
        let expect = text.replace(r#""labels":{}"#, r#""labels":["new"],"more":1"#);
        assert_eq!(serde_json::to_string(&fields).unwrap(), expect);
        assert!(fields.get::<String>("a").is_err());
        assert_eq!(fields.get::<String>("none").unwrap(), None);
    }

    #[test]
    fn a_field_is_there_once() {
        let error = serde_json::from_str::<Fields>(r#"{"metadata":{},"metadata":{}}"#).unwrap_err();
        assert!(
            error.to_string().starts_with("`metadata` is there twice"),
            "{error}"
        );
    }
}

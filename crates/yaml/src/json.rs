//! From the tree to JSON, with the messages of sigs.k8s.io/yaml.

use crate::{Content, Error, Node, go_syntax, number};
use serde_json::{Map, Number, Value};
use std::collections::BTreeMap;

impl Node {
    /// This node as the key of a JSON object, as sigs.k8s.io/yaml spells it: `true` for `yes`, `1.1` for
    /// `1.10`.
    ///
    /// # Errors
    ///
    /// A null, an integer above `i64::MAX` and a collection are no keys.
    pub fn key_string(&self) -> Result<String, Error> {
        self.key_string_of(None)
    }

    fn key_string_of(&self, value: Option<&Node>) -> Result<String, Error> {
        Ok(match &self.value {
            Content::String(text) => text.clone(),
            Content::Bool(true) => "true".to_owned(),
            Content::Bool(false) => "false".to_owned(),
            Content::Int(number) => number.to_string(),
            Content::Float(number) => number::float_key(*number),
            Content::Null | Content::Uint(_) | Content::Sequence(_) | Content::Mapping(_) => {
                let value = value.map_or_else(|| "<nil>".to_owned(), go_syntax::format);
                return Err(Error::conversion(
                    format!(
                        "unsupported map key of type: {}, key: {}, value: {value}",
                        go_syntax::type_name(self),
                        go_syntax::format(self),
                    ),
                    self.line,
                ));
            }
        })
    }

    /// The value that sigs.k8s.io/yaml's `YAMLToJSON` yields. Integers stay integers and other numbers stay
    /// floats; a caller that imitates Go's `encoding/json` turns all of them into floats.
    ///
    /// # Errors
    ///
    /// JSON has no infinity, no NaN and no key that is null or a collection.
    pub fn to_json(&self) -> Result<Value, Error> {
        Ok(match &self.value {
            Content::Null => Value::Null,
            Content::Bool(value) => Value::Bool(*value),
            Content::Int(value) => Value::from(*value),
            Content::Uint(value) => Value::from(*value),
            Content::Float(value) => Value::Number(json_float(*value, self.line)?),
            Content::String(text) => Value::String(text.clone()),

            Content::Sequence(_) | Content::Mapping(_) => self.clone().into_json()?,
        })
    }

    /// [`Node::to_json`] without copying any text.
    ///
    /// # Errors
    ///
    /// As [`Node::to_json`].
    pub fn into_json(self) -> Result<Value, Error> {
        Ok(match self.value {
            Content::String(text) => Value::String(text),
            Content::Sequence(items) => {
                // Loops instead of adapters: each level of the recursion costs one frame.
                let mut array = Vec::with_capacity(items.len());
                for item in items {
                    array.push(item.into_json()?);
                }
                Value::Array(array)
            }
            Content::Mapping(pairs) => {
                check_keys(&pairs)?;
                let mut object = Map::new();
                // What is wrong with a value that is overwritten goes unnoticed.
                let mut failures = BTreeMap::new();
                for (key, value) in pairs {
                    let key = match key.value {
                        Content::String(text) => text,
                        _ => key.key_string()?,
                    };
                    match value.into_json() {
                        Ok(value) => {
                            failures.remove(&key);
                            object.insert(key, value);
                        }
                        Err(failure) => {
                            failures.insert(key, failure);
                        }
                    }
                }
                match failures.pop_first() {
                    Some((_, failure)) => return Err(failure),
                    None => Value::Object(object),
                }
            }
            _ => self.to_json()?,
        })
    }
}

/// Refuses the last pair whose key is none; of equal keys the last one counts.
fn check_keys(pairs: &[(Node, Node)]) -> Result<(), Error> {
    for (key, value) in pairs.iter().rev() {
        if matches!(
            key.value,
            Content::Null | Content::Uint(_) | Content::Sequence(_) | Content::Mapping(_)
        ) {
            key.key_string_of(Some(value))?;
        }
    }
    Ok(())
}

fn json_float(value: f64, line: u32) -> Result<Number, Error> {
    Number::from_f64(value).ok_or_else(|| {
        let name = if value.is_nan() {
            "NaN"
        } else if value > 0.0 {
            "+Inf"
        } else {
            "-Inf"
        };
        Error::conversion(format!("json: unsupported value: {name}"), line)
    })
}

#[cfg(test)]
mod tests {
    use super::{Content, Node};

    fn node(value: Content) -> Node {
        Node {
            value,
            line: 1,
            column: 1,
        }
    }

    #[test]
    fn keys_become_strings() {
        for (key, expect) in [
            (Content::Bool(true), "true"),
            (Content::Int(-3), "-3"),
            (Content::Float(1.1), "1.1"),
            (Content::Float(1e6), "1e+06"),
            (Content::Float(f64::INFINITY), ".inf"),
            (Content::String("x".to_owned()), "x"),
        ] {
            assert_eq!(node(key).key_string().unwrap(), expect);
        }
    }

    #[test]
    fn keys_that_json_does_not_know_are_refused() {
        let mapping = node(Content::Mapping(vec![(
            node(Content::Null),
            node(Content::Int(1)),
        )]));
        assert_eq!(
            mapping.to_json().unwrap_err().to_string(),
            "unsupported map key of type: %!s(<nil>), key: <nil>, value: 1"
        );
    }
}

//! What is known of a value, between where it is read and the structural schema that is written.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Number, Value};

/// What is known of a value. The default knows nothing: every value is fine.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Node {
    /// What the value may be.
    pub(super) types: Types,
    /// Prose, from a comment or a schema.
    pub(super) description: Option<String>,
    /// What the chart takes where nothing is given.
    pub(super) default: Option<Value>,
    /// What holds for the value itself.
    pub(super) limits: Limits,
    /// Of each group at least one holds as well.
    pub(super) any_of: Vec<Vec<Limits>>,
    /// None of these holds.
    pub(super) not: Vec<Limits>,
    /// What is known of the items of a list.
    pub(super) items: Option<Box<Node>>,
    /// What is known of the values of a map.
    pub(super) properties: BTreeMap<String, Node>,
    /// The keys that a map has to have.
    pub(super) required: BTreeSet<String>,
    /// The keys of a map that are no properties.
    pub(super) rest: Rest,
}

/// What becomes of keys that are not among the properties.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) enum Rest {
    /// There may be any.
    #[default]
    Open,
    /// There are none.
    Closed,
    /// There may be any, and their values are all alike.
    Each(Box<Node>),
}

/// Limits of a value; each but `choice` is about values of one type only.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Limits {
    pub(super) choice: Option<Vec<Value>>,
    pub(super) minimum: Option<Bound>,
    pub(super) maximum: Option<Bound>,
    pub(super) multiple_of: Option<Number>,
    pub(super) min_length: Option<u64>,
    pub(super) max_length: Option<u64>,
    pub(super) pattern: Option<String>,
    pub(super) format: Option<String>,
    pub(super) min_items: Option<u64>,
    pub(super) max_items: Option<u64>,
    pub(super) max_properties: Option<u64>,
}

/// A smallest or largest number.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Bound {
    pub(super) number: Number,
    /// Whether the number itself is out.
    pub(super) exclusive: bool,
}

/// Types of JSON Schema that a value may have, one bit each; `number` is two.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Types(u8);

impl Default for Types {
    fn default() -> Self {
        Self::ANY
    }
}

impl Types {
    pub(super) const NONE: Self = Self(0);
    pub(super) const NULL: Self = Self(1);
    pub(super) const BOOLEAN: Self = Self(1 << 1);
    /// Whole numbers.
    pub(super) const INTEGER: Self = Self(1 << 2);
    /// Other numbers.
    pub(super) const FRACTION: Self = Self(1 << 3);
    pub(super) const STRING: Self = Self(1 << 4);
    pub(super) const ARRAY: Self = Self(1 << 5);
    pub(super) const OBJECT: Self = Self(1 << 6);
    pub(super) const NUMBER: Self = Self::INTEGER.or(Self::FRACTION);
    pub(super) const INTEGER_OR_STRING: Self = Self::INTEGER.or(Self::STRING);
    pub(super) const SCALAR: Self = Self::NUMBER.or(Self::STRING).or(Self::BOOLEAN).or(Self::NULL);
    pub(super) const ANY: Self = Self::SCALAR.or(Self::ARRAY).or(Self::OBJECT);

    pub(super) const fn or(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }

    pub(super) const fn and(self, other: Self) -> Self {
        Self(self.0 & other.0)
    }

    pub(super) const fn without(self, other: Self) -> Self {
        Self(self.0 & !other.0)
    }

    pub(super) const fn meets(self, other: Self) -> bool {
        self.0 & other.0 != 0
    }

    pub(super) const fn contains(self, other: Self) -> bool {
        self.0 & other.0 == other.0
    }

    /// The one bit that fits: a number without a fraction is an integer.
    pub(super) fn of(value: &Value) -> Self {
        match value {
            Value::Null => Self::NULL,
            Value::Bool(_) => Self::BOOLEAN,
            Value::Number(number) if is_whole(number) => Self::INTEGER,
            Value::Number(_) => Self::FRACTION,
            Value::String(_) => Self::STRING,
            Value::Array(_) => Self::ARRAY,
            Value::Object(_) => Self::OBJECT,
        }
    }

    /// The types of a name in JSON Schema.
    pub(super) fn named(name: &str) -> Option<Self> {
        Some(match name {
            "null" => Self::NULL,
            "boolean" => Self::BOOLEAN,
            "integer" => Self::INTEGER,
            "number" => Self::NUMBER,
            "string" => Self::STRING,
            "array" => Self::ARRAY,
            "object" => Self::OBJECT,
            _ => return None,
        })
    }
}

impl Node {
    /// A value of these types.
    pub(super) fn of(types: Types) -> Self {
        Self {
            types,
            ..Self::default()
        }
    }

    /// Keeps the description and the default, and takes any value.
    pub(super) fn loosened(self) -> Self {
        Self {
            description: self.description,
            default: self.default,
            ..Self::default()
        }
    }

    /// Whether there are fewer nodes in this one than so many, itself included.
    pub(super) fn is_smaller_than(&self, limit: usize) -> bool {
        fn count(node: &Node, left: &mut usize) -> bool {
            *left = left.saturating_sub(1);
            let rest = match &node.rest {
                Rest::Each(each) => Some(&**each),
                Rest::Open | Rest::Closed => None,
            };
            let mut inner = node.properties.values().chain(node.items.as_deref()).chain(rest);
            *left > 0 && inner.all(|node| count(node, left))
        }
        let mut left = limit;
        count(self, &mut left)
    }

    /// Whether a list or map is a possible value whose parts are limited.
    pub(super) fn describes_parts(&self) -> bool {
        self.items.is_some()
            || !self.properties.is_empty()
            || !self.required.is_empty()
            || self.rest != Rest::Open
    }
}

/// Whether a number has no fraction, as JSON Schema counts it.
pub(super) fn is_whole(number: &Number) -> bool {
    !number.is_f64() || number.as_f64().is_some_and(|float| float.fract() == 0.0)
}

/// A number as it is written without a fraction that is zero.
pub(super) fn plain(number: &Number) -> Number {
    match number.as_f64() {
        Some(float) if number.is_f64() && float.fract() == 0.0 && float.abs() < 9e15 => {
            Number::from(float as i64)
        }
        _ => number.clone(),
    }
}

/// A value with its numbers written plainly.
pub(crate) fn plain_value(value: &Value) -> Value {
    match value {
        Value::Number(number) => Value::Number(plain(number)),
        Value::Array(items) => Value::Array(items.iter().map(plain_value).collect()),
        Value::Object(entries) => Value::Object(
            entries
                .iter()
                .map(|(key, value)| (key.clone(), plain_value(value)))
                .collect(),
        ),
        other => other.clone(),
    }
}

//! Values of an evaluation. What lies in the JSON is borrowed from it, and what is made is shared: a copy costs nothing.

use std::cmp::Ordering;
use std::collections::BTreeMap;
use std::rc::Rc;

use jiff::Timestamp;
use serde_json::Value;

use crate::error::EvaluationError;

#[derive(Clone)]
pub(crate) enum Val<'a> {
    Null,
    Bool(bool),
    Int(i64),
    Uint(u64),
    Double(f64),
    Text(Text<'a>),
    Bytes(Rc<[u8]>),
    List(List<'a>),
    Map(Map<'a>),
    Time(Timestamp),
    /// In nanoseconds.
    Duration(i64),
    Type(&'static str),
    Optional(Option<Rc<Val<'a>>>),
}

#[derive(Clone)]
pub(crate) enum Text<'a> {
    Borrowed(&'a str),
    Made(Rc<str>),
}

#[derive(Clone)]
pub(crate) enum List<'a> {
    Json(&'a [Value]),
    Made(Rc<[Val<'a>]>),
}

#[derive(Clone)]
pub(crate) enum Map<'a> {
    Json(&'a serde_json::Map<String, Value>),
    Made(Rc<BTreeMap<Key<'a>, Val<'a>>>),
}

/// A key of a map that an expression has made. Numbers of different types that are equal are one key.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Key<'a> {
    Bool(bool),
    Int(i64),
    /// One that is no [`Key::Int`].
    Uint(u64),
    Text(Text<'a>),
}

/// The names of types, as expressions have them.
pub(crate) const TYPES: &[&str] = &[
    "bool",
    "bytes",
    "double",
    "int",
    "list",
    "map",
    "null_type",
    "optional_type",
    "string",
    "type",
    "uint",
];
const TIMESTAMP: &str = "google.protobuf.Timestamp";
const DURATION: &str = "google.protobuf.Duration";

impl<'a> Val<'a> {
    /// Numbers are as Kubernetes reads them: integers where they fit into 64 bits.
    pub(crate) fn of(value: &'a Value) -> Self {
        match value {
            Value::Null => Self::Null,
            Value::Bool(value) => Self::Bool(*value),
            Value::Number(number) => match number.as_i64() {
                Some(number) => Self::Int(number),
                None => Self::Double(number.as_f64().unwrap_or(f64::NAN)),
            },
            Value::String(text) => Self::Text(Text::Borrowed(text)),
            Value::Array(items) => Self::List(List::Json(items)),
            Value::Object(fields) => Self::Map(Map::Json(fields)),
        }
    }

    pub(crate) fn text(text: &str) -> Self {
        Self::Text(Text::Made(text.into()))
    }

    pub(crate) fn list(items: Vec<Self>) -> Self {
        Self::List(List::Made(items.into()))
    }

    /// An optional with a value.
    pub(crate) fn some(value: Self) -> Self {
        Self::Optional(Some(Rc::new(value)))
    }

    /// The name of its type.
    pub(crate) fn kind(&self) -> &'static str {
        match self {
            Self::Null => "null_type",
            Self::Bool(_) => "bool",
            Self::Int(_) => "int",
            Self::Uint(_) => "uint",
            Self::Double(_) => "double",
            Self::Text(_) => "string",
            Self::Bytes(_) => "bytes",
            Self::List(_) => "list",
            Self::Map(_) => "map",
            Self::Time(_) => TIMESTAMP,
            Self::Duration(_) => DURATION,
            Self::Type(_) => "type",
            Self::Optional(_) => "optional_type",
        }
    }

    /// As a key of a map, if it is of a type that can be one.
    pub(crate) fn key(&self) -> Option<Key<'a>> {
        Some(match self {
            Self::Bool(value) => Key::Bool(*value),
            Self::Int(number) => Key::Int(*number),
            Self::Uint(number) => i64::try_from(*number).map_or(Key::Uint(*number), Key::Int),
            Self::Double(number) => Key::Int(whole(*number)?),
            Self::Text(text) => Key::Text(text.clone()),
            _ => return None,
        })
    }
}

/// That these are not what an operator or function takes.
pub(crate) fn types(what: &'static str, values: &[&Val<'_>]) -> EvaluationError {
    let kinds: Vec<&str> = values.iter().map(|value| value.kind()).collect();
    EvaluationError::Types {
        what,
        types: kinds.join(" and "),
    }
}

/// A double that is an integer.
pub(crate) fn whole(number: f64) -> Option<i64> {
    let is_whole = number.fract() == 0.0 && number.abs() < 9.0e15;
    is_whole.then_some(number as i64)
}

impl Text<'_> {
    pub(crate) fn as_str(&self) -> &str {
        match self {
            Self::Borrowed(text) => text,
            Self::Made(text) => text,
        }
    }
}

impl PartialEq for Text<'_> {
    fn eq(&self, other: &Self) -> bool {
        self.as_str() == other.as_str()
    }
}

impl Eq for Text<'_> {}

impl PartialOrd for Text<'_> {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Text<'_> {
    fn cmp(&self, other: &Self) -> Ordering {
        self.as_str().cmp(other.as_str())
    }
}

impl<'a> List<'a> {
    pub(crate) fn len(&self) -> usize {
        match self {
            Self::Json(items) => items.len(),
            Self::Made(items) => items.len(),
        }
    }

    pub(crate) fn get(&self, index: usize) -> Option<Val<'a>> {
        match self {
            Self::Json(items) => items.get(index).map(Val::of),
            Self::Made(items) => items.get(index).cloned(),
        }
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = Val<'a>> + use<'a> {
        let list = self.clone();
        (0..list.len()).filter_map(move |index| list.get(index))
    }
}

impl<'a> Map<'a> {
    pub(crate) fn len(&self) -> usize {
        match self {
            Self::Json(fields) => fields.len(),
            Self::Made(entries) => entries.len(),
        }
    }

    pub(crate) fn field(&self, name: &str) -> Option<Val<'a>> {
        match self {
            Self::Json(fields) => fields.get(name).map(Val::of),
            Self::Made(entries) => entries.get(&Key::Text(Text::Made(name.into()))).cloned(),
        }
    }

    pub(crate) fn get(&self, key: &Key<'_>) -> Option<Val<'a>> {
        match (self, key) {
            (_, Key::Text(name)) => self.field(name.as_str()),
            (Self::Json(_), _) => None,
            (Self::Made(entries), key) => {
                // A lookup by a key that lives shorter than the map.
                let found = entries.iter().find(|(known, _)| *known == key);
                found.map(|(_, value)| value.clone())
            }
        }
    }

    /// The keys, in order.
    pub(crate) fn keys(&self) -> Vec<Val<'a>> {
        match self {
            Self::Json(fields) => fields
                .keys()
                .map(|name| Val::Text(Text::Borrowed(name)))
                .collect(),
            Self::Made(entries) => entries.keys().map(Key::to_val).collect(),
        }
    }
}

impl<'a> Key<'a> {
    pub(crate) fn to_val(&self) -> Val<'a> {
        match self {
            Self::Bool(value) => Val::Bool(*value),
            Self::Int(number) => Val::Int(*number),
            Self::Uint(number) => Val::Uint(*number),
            Self::Text(text) => Val::Text(text.clone()),
        }
    }
}

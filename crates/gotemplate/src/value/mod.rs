//! Values as Go's reflection sees them: numbers of several types, two kinds of nothing, and
//! maps that are shared by reference.

mod cost;
mod frozen;
mod list;
mod map;
mod object;
mod parameter;
mod release;
mod runtime;
mod string;
pub mod world;

use std::rc::Rc;
use std::sync::Arc;

pub use frozen::{Frozen, FrozenMap};
pub use list::{List, ListType};
pub(crate) use map::WeakMap;
pub use map::{Map, MapMethod, MapType, NamedMap};
pub use object::{Encoded, Object, Signature};
pub use parameter::Parameter;
pub use runtime::{Failure, Runtime};
pub use string::Str;
pub use world::World;

/// A value of a template.
///
/// Cloning is cheap: text is counted, and lists, maps and objects are shared, so that a map
/// changed through one name is changed for all who hold it, as in Go.
///
/// ```
/// use steersman_gotemplate::{Map, MapType, Value, format};
///
/// let labels = Map::from_entries(MapType::Any, [("app", Value::from("web"))]);
/// let alias = Value::from(labels.clone());
/// labels.insert("tier", Value::from("front"));
/// assert_eq!(format::print_value(&alias), "map[app:web tier:front]");
///
/// assert_eq!(Value::Int(1).type_name(), "int");
/// assert_eq!(Value::Int64(1).type_name(), "int64");
/// assert!(!Value::string("").is_true());
/// ```
#[derive(Clone, Debug, Default)]
pub enum Value {
    /// No value at all, Go's zero `reflect.Value`: the field of a map that lacks it. Printed
    /// as `<no value>`.
    #[default]
    Invalid,
    /// A nil `interface {}`: what YAML's `null` becomes.
    Nil,
    /// `bool`: never a word such as `yes`, which YAML has read already.
    Bool(bool),
    /// `int`: an integer that stands in a template, and what `len` gives.
    Int(i64),
    /// `int64`: an integer of a custom resource or of `--set`, and what Sprig computes.
    Int64(i64),
    /// `uint64`: the parts of a semantic version, for example.
    Uint64(u64),
    /// `uint8`, a byte of an indexed string.
    Byte(u8),
    /// `float64`: every number of a values file, whether or not it has a fraction.
    Float(f64),
    /// `string`: bytes, nearly always UTF-8.
    Str(Str),
    /// `[]byte`, which JSON has in base64.
    Bytes(Arc<[u8]>),
    /// A slice of some Go type; see [`ListType`].
    List(List),
    /// A map with strings as keys.
    Map(Map),
    /// A struct, pointer or named type with fields and methods.
    Object(Rc<dyn Object>),
}

// Values are moved and cloned at every step of an execution.
const _: () = assert!(size_of::<Value>() == 24);

impl Value {
    /// Text of any kind that [`Str`] is made of; `Value::from` does the same for `&str` and `String`.
    pub fn string(text: impl Into<Str>) -> Self {
        Self::Str(text.into())
    }

    /// A list of Go's type `[]interface {}`, as YAML has them.
    #[must_use]
    pub fn list(items: Vec<Value>) -> Self {
        Self::List(List::new(ListType::Any, items))
    }

    /// A list of Go's type `[]string`, which functions tell from a `[]interface {}`.
    pub fn strings<T: Into<Str>>(items: impl IntoIterator<Item = T>) -> Self {
        Self::List(List::new(
            ListType::String,
            items.into_iter().map(Value::string).collect(),
        ))
    }

    /// A `map[string]interface {}`.
    pub fn map<K: Into<Str>>(entries: impl IntoIterator<Item = (K, Value)>) -> Self {
        Self::Map(Map::from_entries(MapType::Any, entries))
    }

    /// Wraps what the caller has fields and methods for; clones share it.
    pub fn object(object: impl Object + 'static) -> Self {
        Self::Object(Rc::new(object))
    }

    /// An equal value that shares no map with this one; see [`Map::deep_copy`].
    fn deep_copy(&self) -> Self {
        match self {
            Self::Map(map) => crate::stack::grow(|| Self::Map(map.deep_copy())),
            Self::List(list) if !list.is_nil() => crate::stack::grow(|| {
                let items = list.items().iter().map(Self::deep_copy).collect();
                Self::List(List::new(list.list_type(), items))
            }),
            other => other.clone(),
        }
    }

    /// Whether this is nothing, of either kind.
    #[must_use]
    pub fn is_nil(&self) -> bool {
        matches!(self, Self::Invalid | Self::Nil)
    }

    /// Go's truth: whether the value is not the zero value of its kind, and not empty.
    #[must_use]
    pub fn is_true(&self) -> bool {
        match self {
            Self::Invalid | Self::Nil => false,
            Self::Bool(value) => *value,
            Self::Int(number) | Self::Int64(number) => *number != 0,
            Self::Uint64(number) => *number != 0,
            Self::Byte(number) => *number != 0,
            Self::Float(number) => *number != 0.0,
            Self::Str(text) => !text.is_empty(),
            Self::Bytes(bytes) => !bytes.is_empty(),
            Self::List(list) => !list.is_empty(),
            Self::Map(map) => !map.is_empty(),
            Self::Object(object) => object.is_true(),
        }
    }

    /// Go's name of the value's type, as `%T` prints it.
    #[must_use]
    pub fn type_name(&self) -> &str {
        match self {
            Self::Invalid | Self::Nil => "<nil>",
            Self::Bool(_) => "bool",
            Self::Int(_) => "int",
            Self::Int64(_) => "int64",
            Self::Uint64(_) => "uint64",
            Self::Byte(_) => "uint8",
            Self::Float(_) => "float64",
            Self::Str(_) => "string",
            Self::Bytes(_) => "[]uint8",
            Self::List(list) => list.list_type().type_name(),
            Self::Map(map) => map.map_type().type_name(),
            Self::Object(object) => object.type_name(),
        }
    }

    /// Go's name of the value's kind, as `reflect.Kind` prints it.
    #[must_use]
    pub fn kind_name(&self) -> &str {
        match self {
            Self::Invalid | Self::Nil => "invalid",
            Self::Bytes(_) | Self::List(_) => "slice",
            Self::Map(_) => "map",
            Self::Object(object) => object.kind_name(),
            scalar => scalar.type_name(),
        }
    }
}

impl From<bool> for Value {
    fn from(value: bool) -> Self {
        Self::Bool(value)
    }
}

impl From<f64> for Value {
    fn from(value: f64) -> Self {
        Self::Float(value)
    }
}

impl From<&str> for Value {
    fn from(value: &str) -> Self {
        Self::Str(value.into())
    }
}

impl From<String> for Value {
    fn from(value: String) -> Self {
        Self::Str(value.into())
    }
}

impl From<Str> for Value {
    fn from(value: Str) -> Self {
        Self::Str(value)
    }
}

impl From<List> for Value {
    fn from(value: List) -> Self {
        Self::List(value)
    }
}

impl From<Map> for Value {
    fn from(value: Map) -> Self {
        Self::Map(value)
    }
}

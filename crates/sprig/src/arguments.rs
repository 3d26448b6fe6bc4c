//! Reading arguments that were already converted to the types of their parameters.
//!
//! An argument that is missing or of another type reads as Go's zero value; a template never sees
//! that, because calls are checked before they are made.

use std::borrow::Cow;

use steersman_gotemplate::{Map, MapType, Str, Value};

const NOTHING: &Value = &Value::Nil;

/// The argument at `place`, whatever it is.
pub(crate) fn any(arguments: &[Value], place: usize) -> &Value {
    arguments.get(place).unwrap_or(NOTHING)
}

/// The arguments from `place` on, for a variadic parameter.
pub(crate) fn rest(arguments: &[Value], place: usize) -> &[Value] {
    arguments.get(place..).unwrap_or_default()
}

/// Text; empty where the place is taken by something else, which the signature rules out.
pub(crate) fn string(arguments: &[Value], place: usize) -> Str {
    match arguments.get(place) {
        Some(Value::Str(text)) => text.clone(),
        _ => Str::default(),
    }
}

/// The bytes of a `string`.
pub(crate) fn bytes(arguments: &[Value], place: usize) -> &[u8] {
    match arguments.get(place) {
        Some(Value::Str(text)) => text.as_bytes(),
        _ => b"",
    }
}

/// The text of a `string`, with U+FFFD for what is not UTF-8.
pub(crate) fn text(arguments: &[Value], place: usize) -> Cow<'_, str> {
    match arguments.get(place) {
        Some(Value::Str(text)) => text.text(),
        _ => Cow::Borrowed(""),
    }
}

/// An `int` or `int64`.
pub(crate) fn integer(arguments: &[Value], place: usize) -> i64 {
    match arguments.get(place) {
        Some(Value::Int(number) | Value::Int64(number)) => *number,
        _ => 0,
    }
}

/// A number with a fraction; 0 where something else is there.
pub(crate) fn float(arguments: &[Value], place: usize) -> f64 {
    match arguments.get(place) {
        Some(Value::Float(number)) => *number,
        _ => 0.0,
    }
}

/// True for `true` alone: no other value is asked for its truth.
pub(crate) fn boolean(arguments: &[Value], place: usize) -> bool {
    matches!(arguments.get(place), Some(Value::Bool(true)))
}

/// A map, or nothing for a nil one.
pub(crate) fn map(arguments: &[Value], place: usize) -> Option<&Map> {
    match arguments.get(place) {
        Some(Value::Map(map)) => Some(map),
        _ => None,
    }
}

/// A map; an empty one for a nil one, which functions that only read cannot tell apart.
pub(crate) fn map_or_empty(arguments: &[Value], place: usize) -> Map {
    map(arguments, place).map_or_else(|| Map::new(MapType::Any), Map::clone)
}

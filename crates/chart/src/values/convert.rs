//! Values as JSON, which can be shared by threads, and as templates see them.

use serde_json::Number;
use steersman_gotemplate::format::print_value;
use steersman_gotemplate::{Frozen, Map, MapType, Value};

use super::Values;

/// `values` as a map of templates.
pub(crate) fn to_map(values: &Values) -> Map {
    // Both sides are sorted by key in the same order, so that each insertion is an append.
    Map::from_entries(
        MapType::Any,
        values.iter().map(|(key, value)| (key.as_str(), to_value(value))),
    )
}

/// A JSON value as templates see it.
///
/// ```
/// use steersman_chart::{Value, values::to_value};
///
/// assert!(matches!(to_value(&serde_json::json!(3)), Value::Int64(3)));
/// ```
pub fn to_value(json: &serde_json::Value) -> Value {
    match json {
        serde_json::Value::Null => Value::Nil,
        serde_json::Value::Bool(value) => Value::Bool(*value),
        serde_json::Value::Number(number) => number
            .as_i64()
            .map_or_else(|| Value::Float(number.as_f64().unwrap_or_default()), Value::Int64),
        serde_json::Value::String(text) => Value::string(text.as_str()),
        serde_json::Value::Array(items) => Value::list(items.iter().map(to_value).collect()),
        serde_json::Value::Object(entries) => Value::Map(to_map(entries)),
    }
}

/// A JSON value as templates see it, before they do.
pub(crate) fn to_frozen(json: &serde_json::Value) -> Frozen {
    match json {
        serde_json::Value::Null => Frozen::Nil,
        serde_json::Value::Bool(value) => Frozen::Bool(*value),
        serde_json::Value::Number(number) => number.as_i64().map_or_else(
            || Frozen::Float(number.as_f64().unwrap_or_default()),
            Frozen::Int64,
        ),
        serde_json::Value::String(text) => Frozen::Str(text.as_str().into()),
        serde_json::Value::Array(items) => Frozen::List(items.iter().map(to_frozen).collect()),
        serde_json::Value::Object(entries) => Frozen::Map(
            entries
                .iter()
                .map(|(key, value)| (key.as_str().into(), to_frozen(value)))
                .collect(),
        ),
    }
}

/// A map of templates as values. It was made of values, so that nothing in it has no JSON.
pub(crate) fn from_map(map: &Map) -> Values {
    map.entries()
        .iter()
        .map(|(key, value)| (key.text().into_owned(), from_value(value)))
        .collect()
}

fn from_value(value: &Value) -> serde_json::Value {
    match value {
        Value::Invalid | Value::Nil => serde_json::Value::Null,
        Value::Bool(value) => (*value).into(),
        Value::Int(number) | Value::Int64(number) => (*number).into(),
        Value::Uint64(number) => (*number).into(),
        Value::Byte(number) => (*number).into(),
        Value::Float(number) => Number::from_f64(*number).map_or(serde_json::Value::Null, Into::into),
        Value::Str(text) => text.text().into(),
        Value::Bytes(bytes) => String::from_utf8_lossy(bytes).into(),
        Value::List(list) => list.items().iter().map(from_value).collect(),
        Value::Map(map) => serde_json::Value::Object(from_map(map)),
        object @ Value::Object(_) => print_value(object).text().into(),
    }
}

//! JSON, where Helm differs from Sprig: what is no object or no array gives a message in its
//! place.

use steersman_gotemplate::{List, ListType, Map, MapType, Runtime, Value};
use steersman_sprig::json::{decode, decoded_bytes};

use super::{Outcome, bytes, error_map};

pub(super) fn from_json(runtime: &mut dyn Runtime, arguments: &[Value]) -> Outcome {
    let source = bytes(arguments, 0);
    runtime.reserve(decoded_bytes(source))?;
    Ok(match decode(source) {
        Ok(map @ Value::Map(_)) => map,
        Ok(Value::Nil) => Map::nil(MapType::Any).into(),
        Ok(other) => error_map(mismatch(&other, "map[string]interface {}")),
        Err(error) => error_map(error.to_string()),
    })
}

pub(super) fn from_json_array(runtime: &mut dyn Runtime, arguments: &[Value]) -> Outcome {
    let source = bytes(arguments, 0);
    runtime.reserve(decoded_bytes(source))?;
    Ok(match decode(source) {
        Ok(list @ Value::List(_)) => list,
        Ok(Value::Nil) => List::nil(ListType::Any).into(),
        Ok(other) => Value::list(vec![mismatch(&other, "[]interface {}").into()]),
        Err(error) => Value::list(vec![error.to_string().into()]),
    })
}

/// Go's message for JSON of another type than wanted.
pub(super) fn mismatch(found: &Value, wanted: &str) -> String {
    let found = match found {
        Value::Bool(_) => "bool",
        Value::Str(_) => "string",
        Value::List(_) => "array",
        Value::Map(_) => "object",
        _ => "number",
    };
    format!("json: cannot unmarshal {found} into Go value of type {wanted}")
}

//! `index`, `slice` and `len`.

use crate::function::{Failure, Runtime};
use crate::value::{List, MapType, Object, Str, Value};

pub(super) fn index(_: &mut dyn Runtime, arguments: &[Value]) -> Result<Value, Failure> {
    let Some((item, indexes)) = arguments.split_first() else {
        return Err(Failure::new("index without an item"));
    };
    if item.is_nil() {
        return Err(Failure::new("index of untyped nil"));
    }
    let mut item = item.clone();
    for index in indexes {
        item = element(&item, index)?;
    }
    Ok(item)
}

fn element(item: &Value, index: &Value) -> Result<Value, Failure> {
    match item {
        Value::Invalid | Value::Nil => Err(Failure::new("index of nil pointer")),
        Value::Str(text) => {
            let place = position(index, text.len())?;
            let byte = text.as_bytes().get(place).copied();
            byte.map(Value::Byte)
                .ok_or_else(|| Failure::new("reflect: string index out of range"))
        }
        Value::Bytes(bytes) => {
            let place = position(index, bytes.len())?;
            bytes.get(place).copied().map(Value::Byte).ok_or_else(past_end)
        }
        Value::List(list) => at(list.items(), index),
        Value::Map(map) => {
            let zero = match map.map_type() {
                MapType::String => Value::from(""),
                MapType::Any | MapType::Named(_) => Value::Nil,
            };
            Ok(map.get(key(index)?.as_bytes()).unwrap_or(zero))
        }
        Value::Object(object) => object_element(object.as_ref(), index),
        scalar => Err(cannot_index(scalar.type_name())),
    }
}

fn object_element(object: &dyn Object, index: &Value) -> Result<Value, Failure> {
    match object.kind_name() {
        "map" => {
            let key = key(index)?;
            let entries = object.entries().unwrap_or_default();
            let found = entries.into_iter().find(|(name, _)| name == key);
            let value = found.map(|(_, value)| value);
            Ok(value.or_else(|| object.field(&key.text())).unwrap_or(Value::Nil))
        }
        "slice" => at(&object.items().unwrap_or_default(), index),
        _ => Err(cannot_index(pointed_to(object.type_name()))),
    }
}

fn at(items: &[Value], index: &Value) -> Result<Value, Failure> {
    let place = position(index, items.len())?;
    items.get(place).cloned().ok_or_else(past_end)
}

fn past_end() -> Failure {
    Failure::new("reflect: slice index out of range")
}

fn cannot_index(type_name: &str) -> Failure {
    Failure::new(format!("can't index item of type {type_name}"))
}

/// The type that a pointer's methods and fields are looked up in.
fn pointed_to(type_name: &str) -> &str {
    type_name.strip_prefix('*').unwrap_or(type_name)
}

fn key(index: &Value) -> Result<&Str, Failure> {
    match index {
        Value::Str(key) => Ok(key),
        Value::Invalid | Value::Nil => Err(Failure::new("value is nil; should be of type string")),
        other => Err(Failure::new(format!(
            "value has type {}; should be string",
            other.type_name()
        ))),
    }
}

/// An index into something of this capacity, which may be just past its end.
fn position(index: &Value, capacity: usize) -> Result<usize, Failure> {
    let number = match index {
        Value::Int(number) | Value::Int64(number) => *number,
        Value::Uint64(number) => *number as i64,
        Value::Byte(number) => i64::from(*number),
        Value::Invalid | Value::Nil => return Err(Failure::new("cannot index slice/array with nil")),
        other => match other {
            Value::Object(object) if object.integer().is_some() => object.integer().unwrap_or(0),
            _ => {
                let type_name = other.type_name();
                return Err(Failure::new(format!(
                    "cannot index slice/array with type {type_name}"
                )));
            }
        },
    };
    let place = usize::try_from(number).ok();
    place
        .filter(|place| *place <= capacity)
        .ok_or_else(|| Failure::new(format!("index out of range: {number}")))
}

pub(super) fn slice(runtime: &mut dyn Runtime, arguments: &[Value]) -> Result<Value, Failure> {
    let Some((item, indexes)) = arguments.split_first() else {
        return Err(Failure::new("slice without an item"));
    };
    if item.is_nil() {
        return Err(Failure::new("slice of untyped nil"));
    }
    if indexes.len() > 3 {
        let count = indexes.len();
        return Err(Failure::new(format!("too many slice indexes: {count}")));
    }
    let length = match item {
        Value::Str(_) if indexes.len() == 3 => {
            return Err(Failure::new("cannot 3-index slice a string"));
        }
        Value::Str(text) => text.len(),
        Value::Bytes(bytes) => bytes.len(),
        Value::List(list) => list.len(),
        other => {
            let type_name = pointed_to(other.type_name());
            return Err(Failure::new(format!("can't slice item of type {type_name}")));
        }
    };
    let mut bounds = [0, length, length];
    for (bound, index) in bounds.iter_mut().zip(indexes) {
        *bound = position(index, length)?;
    }
    let [start, end, capacity] = bounds;
    if start > end {
        return Err(Failure::new(format!("invalid slice index: {start} > {end}")));
    }
    if end > capacity {
        return Err(Failure::new(format!("invalid slice index: {end} > {capacity}")));
    }
    runtime.reserve((end - start) * size_of::<Value>())?;
    Ok(match item {
        Value::Str(text) => Value::Str(Str::from_bytes(text.as_bytes()[start..end].to_vec())),
        Value::Bytes(bytes) => Value::Bytes(bytes[start..end].into()),
        Value::List(list) => Value::List(List::new(list.list_type(), list.items()[start..end].to_vec())),
        _ => Value::Nil,
    })
}

pub(super) fn len(_: &mut dyn Runtime, arguments: &[Value]) -> Result<Value, Failure> {
    let item = arguments.first().unwrap_or(&Value::Invalid);
    let length = match item {
        Value::Str(text) => text.len(),
        Value::Bytes(bytes) => bytes.len(),
        Value::List(list) => list.len(),
        Value::Map(map) => map.len(),
        Value::Nil => return Err(Failure::new("len of nil pointer")),
        Value::Invalid => {
            let message = "reflect: call of reflect.Value.Type on zero Value";
            return Err(Failure::new(message));
        }
        Value::Object(object) => match object.kind_name() {
            "map" => object.entries().unwrap_or_default().len(),
            "slice" => object.items().unwrap_or_default().len(),
            _ => return Err(no_length(pointed_to(object.type_name()))),
        },
        scalar => return Err(no_length(scalar.type_name())),
    };
    Ok(Value::Int(length as i64))
}

fn no_length(type_name: &str) -> Failure {
    Failure::new(format!("len of type {type_name}"))
}

//! Deep equality and deep copies.

use std::rc::Rc;

use steersman_gotemplate::stack::grow;
use steersman_gotemplate::{Failure, List, Map, Object, Runtime, Str, Value};

use crate::MAXIMUM_DEPTH;

/// Whether both are of one type and have the same content, as Go's `reflect.DeepEqual` sees it.
///
/// # Errors
/// The values are nested more than [`MAXIMUM_DEPTH`] deep, or a budget of `runtime` is spent.
pub fn deep_equal(runtime: &mut dyn Runtime, left: &Value, right: &Value) -> Result<bool, Failure> {
    equal_within(runtime, left, right, MAXIMUM_DEPTH)
}

fn equal_within(
    runtime: &mut dyn Runtime,
    left: &Value,
    right: &Value,
    depth: usize,
) -> Result<bool, Failure> {
    Ok(match (left, right) {
        (Value::Invalid | Value::Nil, Value::Invalid | Value::Nil) => true,
        (Value::Bool(left), Value::Bool(right)) => left == right,
        (Value::Int(left), Value::Int(right)) | (Value::Int64(left), Value::Int64(right)) => left == right,
        (Value::Uint64(left), Value::Uint64(right)) => left == right,
        (Value::Byte(left), Value::Byte(right)) => left == right,
        #[expect(clippy::float_cmp, reason = "equality of floats is what Go compares")]
        (Value::Float(left), Value::Float(right)) => left == right,
        (Value::Str(left), Value::Str(right)) => left == right,
        (Value::Bytes(left), Value::Bytes(right)) => left == right,
        (Value::List(left), Value::List(right)) => {
            let depth = deeper(depth)?;
            grow(|| lists_equal(runtime, left, right, depth))?
        }
        (Value::Map(left), Value::Map(right)) => {
            let depth = deeper(depth)?;
            grow(|| maps_equal(runtime, left, right, depth))?
        }
        (Value::Object(left), Value::Object(right)) => {
            let depth = deeper(depth)?;
            grow(|| objects_equal(runtime, left, right, depth))?
        }
        _ => false,
    })
}

/// One level less, or the failure of values that are nested too deep.
fn deeper(depth: usize) -> Result<usize, Failure> {
    depth
        .checked_sub(1)
        .ok_or_else(|| Failure::exhausted("values are nested too deep"))
}

fn lists_equal(runtime: &mut dyn Runtime, left: &List, right: &List, depth: usize) -> Result<bool, Failure> {
    if left.list_type() != right.list_type() || left.len() != right.len() || left.is_nil() != right.is_nil() {
        return Ok(false);
    }
    runtime.spend(2 + left.len() as u64 / 8)?;
    for (left, right) in left.items().iter().zip(right.items()) {
        if !equal_within(runtime, left, right, depth)? {
            return Ok(false);
        }
    }
    Ok(true)
}

fn maps_equal(runtime: &mut dyn Runtime, left: &Map, right: &Map, depth: usize) -> Result<bool, Failure> {
    if left.map_type() != right.map_type() || left.len() != right.len() || left.is_nil() != right.is_nil() {
        return Ok(false);
    }
    if left.is_same(right) {
        return Ok(true);
    }
    runtime.spend(4 + left.len() as u64 / 4)?;
    for ((left_key, left), (right_key, right)) in left.entries().iter().zip(right.entries()) {
        if *left_key != right_key || !equal_within(runtime, left, &right, depth)? {
            return Ok(false);
        }
    }
    Ok(true)
}

fn objects_equal(
    runtime: &mut dyn Runtime,
    left: &Rc<dyn Object>,
    right: &Rc<dyn Object>,
    depth: usize,
) -> Result<bool, Failure> {
    if Rc::ptr_eq(left, right) {
        return Ok(true);
    }
    if left.type_name() != right.type_name()
        || left.text() != right.text()
        || left.integer() != right.integer()
    {
        return Ok(false);
    }
    let (left, right) = (parts(left.as_ref()), parts(right.as_ref()));
    if left.len() != right.len() {
        return Ok(false);
    }
    for ((left_key, left), (right_key, right)) in left.iter().zip(&right) {
        if left_key != right_key || !equal_within(runtime, left, right, depth)? {
            return Ok(false);
        }
    }
    Ok(true)
}

/// What an object consists of, in an order of its own, with names.
fn parts(object: &dyn Object) -> Vec<(Str, Value)> {
    if let Some(entries) = object.entries() {
        return entries;
    }
    if let Some(items) = object.items() {
        return items.into_iter().map(|item| (Str::default(), item)).collect();
    }
    let members = object.members().unwrap_or_default();
    members
        .into_iter()
        .map(|(name, value)| (name.into(), value))
        .collect()
}

/// A copy that shares no map with `value`.
///
/// # Errors
/// The values are nested more than [`MAXIMUM_DEPTH`] deep, or a budget of `runtime` is spent.
pub fn deep_copy(runtime: &mut dyn Runtime, value: &Value) -> Result<Value, Failure> {
    copy_within(runtime, value, MAXIMUM_DEPTH)
}

fn copy_within(runtime: &mut dyn Runtime, value: &Value, depth: usize) -> Result<Value, Failure> {
    match value {
        Value::List(list) if list.is_nil() => Ok(value.clone()),
        Value::List(list) => {
            let depth = deeper(depth)?;
            runtime.reserve((list.len() + 2).saturating_mul(size_of::<Value>()))?;
            runtime.spend(list.len() as u64 / 8)?;
            let items: Result<Vec<_>, _> = list
                .items()
                .iter()
                .map(|item| grow(|| copy_within(runtime, item, depth)))
                .collect();
            Ok(List::new(list.list_type(), items?).into())
        }
        Value::Map(map) if map.is_nil() => Ok(value.clone()),
        Value::Map(map) => {
            let depth = deeper(depth)?;
            // A map has room for some entries from the start, and for more than it has.
            runtime.reserve((map.len() + 4).saturating_mul(2 * size_of::<(Str, Value)>()))?;
            runtime.spend(4 + map.len() as u64 / 4)?;
            let copy = Map::new(map.map_type());
            for (key, item) in map.entries() {
                copy.insert(key, grow(|| copy_within(runtime, &item, depth))?);
            }
            Ok(copy.into())
        }
        scalar => Ok(scalar.clone()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::test_runtime::{TestRuntime, int};

    #[test]
    fn a_copy_is_equal_but_apart() {
        let inner = Map::from_entries(steersman_gotemplate::MapType::Any, [("a", int(1))]);
        let value = Value::map([("m", Value::Map(inner.clone())), ("l", Value::list(vec![int(2)]))]);
        let copy = deep_copy(&mut TestRuntime::default(), &value).unwrap();
        assert!(deep_equal(&mut TestRuntime::default(), &value, &copy).unwrap());
        inner.insert("a", int(3));
        assert!(!deep_equal(&mut TestRuntime::default(), &value, &copy).unwrap());
    }

    #[test]
    fn a_map_that_contains_itself_is_refused() {
        let map = Map::new(steersman_gotemplate::MapType::Any);
        map.insert("self", Value::Map(map.clone()));
        assert!(deep_copy(&mut TestRuntime::default(), &Value::Map(map.clone())).is_err());
        map.remove(b"self");
    }
}

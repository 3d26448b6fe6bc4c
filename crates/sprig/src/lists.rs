//! Lists: making, cutting, searching.

use std::borrow::Cow;

use steersman_gotemplate::{Failure, List, ListType, Runtime, Value};

use crate::arguments::{any, integer, rest};
use crate::cast::to_int64;
use crate::defaults::is_empty;
use crate::equal::deep_equal;
use crate::{Outcome, text};

/// The items of a slice, or the message of a function that was given something else.
fn items<'a>(value: &'a Value, refusal: &str) -> Result<Cow<'a, [Value]>, Failure> {
    if value.is_nil() {
        return Err(Failure::new(
            "runtime error: invalid memory address or nil pointer dereference",
        ));
    }
    text::items(value).ok_or_else(|| Failure::new(format!("{refusal} {}", value.kind_name())))
}

/// A list of `items`; Go's nil slice where the function gives nothing for an empty list.
fn list_of(items: &[Value]) -> Value {
    Value::list(items.to_vec())
}

pub(crate) fn list(_: &mut dyn Runtime, arguments: &[Value]) -> Outcome {
    Ok(list_of(arguments))
}

pub(crate) fn first(_: &mut dyn Runtime, arguments: &[Value]) -> Outcome {
    let items = items(any(arguments, 0), "Cannot find first on type")?;
    Ok(items.first().cloned().unwrap_or(Value::Nil))
}

pub(crate) fn last(_: &mut dyn Runtime, arguments: &[Value]) -> Outcome {
    let items = items(any(arguments, 0), "Cannot find last on type")?;
    Ok(items.last().cloned().unwrap_or(Value::Nil))
}

pub(crate) fn all_but_first(_: &mut dyn Runtime, arguments: &[Value]) -> Outcome {
    let items = items(any(arguments, 0), "Cannot find rest on type")?;
    Ok(items
        .split_first()
        .map_or_else(nil_list, |(_, rest)| list_of(rest)))
}

pub(crate) fn all_but_last(_: &mut dyn Runtime, arguments: &[Value]) -> Outcome {
    let items = items(any(arguments, 0), "Cannot find initial on type")?;
    Ok(items
        .split_last()
        .map_or_else(nil_list, |(_, initial)| list_of(initial)))
}

/// A nil `[]interface {}`, which JSON shows as `null`.
fn nil_list() -> Value {
    List::nil(ListType::Any).into()
}

pub(crate) fn push(runtime: &mut dyn Runtime, arguments: &[Value]) -> Outcome {
    let items = items(any(arguments, 0), "Cannot push on type")?;
    longer(runtime, &[&items, std::slice::from_ref(any(arguments, 1))])
}

pub(crate) fn prepend(runtime: &mut dyn Runtime, arguments: &[Value]) -> Outcome {
    let items = items(any(arguments, 0), "Cannot prepend on type")?;
    longer(runtime, &[std::slice::from_ref(any(arguments, 1)), &items])
}

fn longer(runtime: &mut dyn Runtime, parts: &[&[Value]]) -> Outcome {
    let count: usize = parts.iter().map(|part| part.len()).sum();
    runtime.reserve(count.saturating_mul(size_of::<Value>()))?;
    Ok(Value::list(parts.concat()))
}

pub(crate) fn concat(runtime: &mut dyn Runtime, arguments: &[Value]) -> Outcome {
    let mut result = Vec::new();
    for value in arguments {
        if !value.is_nil() && text::items(value).is_none() {
            let kind = value.kind_name();
            return Err(Failure::new(format!("Cannot concat type {kind} as list")));
        }
        let items = items(value, "")?;
        runtime.reserve(items.len().saturating_mul(size_of::<Value>()))?;
        result.extend_from_slice(&items);
    }
    if result.is_empty() {
        return Ok(nil_list());
    }
    Ok(Value::list(result))
}

pub(crate) fn reverse(runtime: &mut dyn Runtime, arguments: &[Value]) -> Outcome {
    let items = items(any(arguments, 0), "Cannot find reverse on type")?;
    runtime.reserve(items.len().saturating_mul(size_of::<Value>()))?;
    Ok(Value::list(items.iter().rev().cloned().collect()))
}

pub(crate) fn compact(_: &mut dyn Runtime, arguments: &[Value]) -> Outcome {
    let items = items(any(arguments, 0), "Cannot compact on type")?;
    Ok(Value::list(
        items.iter().filter(|item| !is_empty(item)).cloned().collect(),
    ))
}

pub(crate) fn uniq(runtime: &mut dyn Runtime, arguments: &[Value]) -> Outcome {
    let items = items(any(arguments, 0), "Cannot find uniq on type")?;
    let mut result: Vec<Value> = Vec::new();
    for item in items.iter() {
        runtime.spend(1 + result.len() as u64 / 4)?;
        if !contains(runtime, &result, item)? {
            result.push(item.clone());
        }
    }
    Ok(Value::list(result))
}

fn contains(runtime: &mut dyn Runtime, items: &[Value], wanted: &Value) -> Result<bool, Failure> {
    for item in items {
        if deep_equal(runtime, wanted, item)? {
            return Ok(true);
        }
    }
    Ok(false)
}

pub(crate) fn without(runtime: &mut dyn Runtime, arguments: &[Value]) -> Outcome {
    let items = items(any(arguments, 0), "Cannot find without on type")?;
    let omitted = rest(arguments, 1);
    runtime.spend((items.len() as u64).saturating_mul(omitted.len() as u64) / 16)?;
    let mut result = Vec::new();
    for item in items.iter() {
        if !contains(runtime, omitted, item)? {
            result.push(item.clone());
        }
    }
    Ok(Value::list(result))
}

pub(crate) fn has(runtime: &mut dyn Runtime, arguments: &[Value]) -> Outcome {
    let haystack = any(arguments, 1);
    if haystack.is_nil() {
        return Ok(false.into());
    }
    let items = items(haystack, "Cannot find has on type")?;
    runtime.spend(items.len() as u64 / 16)?;
    Ok(contains(runtime, &items, any(arguments, 0))?.into())
}

pub(crate) fn slice(_: &mut dyn Runtime, arguments: &[Value]) -> Outcome {
    let source = any(arguments, 0);
    let items = items(source, "list should be type of slice or array but")?;
    if items.is_empty() {
        return Ok(Value::Nil);
    }
    let from = arguments.get(1).map_or(0, to_int64);
    let to = arguments.get(2).map_or(items.len() as i64, to_int64);
    let part = usize::try_from(from)
        .ok()
        .zip(usize::try_from(to).ok())
        .and_then(|(from, to)| items.get(from..to))
        .ok_or_else(|| Failure::new("reflect.Value.Slice: slice index out of bounds"))?;
    Ok(match source {
        Value::List(list) => List::new(list.list_type(), part.to_vec()).into(),
        Value::Bytes(bytes) => Value::Bytes(bytes.get(from as usize..to as usize).unwrap_or_default().into()),
        _ => list_of(part),
    })
}

/// Go computes the number of chunks in floats, which decides what odd sizes give.
pub(crate) fn chunk(runtime: &mut dyn Runtime, arguments: &[Value]) -> Outcome {
    let size = integer(arguments, 0);
    let items = items(any(arguments, 1), "Cannot chunk type")?;
    let count = ((items.len() as f64 - 1.0) / size as f64).floor() + 1.0;
    if !(0.0..=items.len() as f64).contains(&count) {
        return Err(Failure::new("runtime error: makeslice: len out of range"));
    }
    runtime.reserve(items.len().saturating_mul(size_of::<Value>() * 2))?;
    let size = usize::try_from(size.unsigned_abs()).unwrap_or(usize::MAX).max(1);
    let chunks = items.chunks(size).take(count as usize).map(list_of).collect();
    Ok(List::new(ListType::Lists, chunks).into())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::test_runtime::{call, check, int, texts};

    #[test]
    fn items_are_taken_from_both_ends() {
        let list = texts(&["a", "b", "c"]);
        check("first", &[list.clone()], "a");
        check("last", &[list.clone()], "c");
        check("rest", &[list.clone()], "[b c]");
        check("initial", &[list], "[a b]");
        check("first", &[texts(&[])], "<nil>");
    }

    #[test]
    fn what_is_no_list_is_refused_in_gos_words() {
        check("first", &["x".into()], "error: Cannot find first on type string");
        check(
            "rest",
            &[Value::Nil],
            "error: runtime error: invalid memory address or nil pointer dereference",
        );
        check("concat", &[int(1)], "error: Cannot concat type int as list");
    }

    #[test]
    fn slices_keep_their_type_and_their_bounds() {
        let list = Value::strings(["a", "b", "c"]);
        check("slice", &[list.clone(), int(1), int(2)], "[b]");
        assert_eq!(
            call("slice", &[list.clone(), int(1)]).unwrap().type_name(),
            "[]string"
        );
        check(
            "slice",
            &[list, int(1), int(4)],
            "error: reflect.Value.Slice: slice index out of bounds",
        );
    }

    #[test]
    fn equal_items_are_of_one_type() {
        let list = Value::list(vec![int(1), Value::Int64(1), int(1), Value::Float(1.0)]);
        check("uniq", &[list.clone()], "[1 1 1]");
        check("has", &[int(1), list.clone()], "true");
        check("without", &[list, int(1), Value::Float(1.0)], "[1]");
    }

    #[test]
    fn chunks_have_a_size() {
        let list = texts(&["a", "b", "c"]);
        check("chunk", &[int(2), list.clone()], "[[a b] [c]]");
        check("chunk", &[int(9), list.clone()], "[[a b c]]");
        check(
            "chunk",
            &[int(0), list],
            "error: runtime error: makeslice: len out of range",
        );
        check("chunk", &[int(2), texts(&[])], "[]");
    }
}

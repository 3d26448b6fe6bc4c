//! Texts into lists and maps of texts, and back.

use bstr::ByteSlice;
use steersman_gotemplate::{Failure, List, ListType, Map, MapType, Runtime, Str, Value};

use crate::Outcome;
use crate::arguments::{any, bytes, integer};
use crate::text::{items, strings, strval};

pub(crate) fn split(runtime: &mut dyn Runtime, arguments: &[Value]) -> Outcome {
    let parts = parts(runtime, bytes(arguments, 0), bytes(arguments, 1), -1)?;
    numbered(runtime, parts)
}

pub(crate) fn splitn(runtime: &mut dyn Runtime, arguments: &[Value]) -> Outcome {
    let parts = parts(
        runtime,
        bytes(arguments, 0),
        bytes(arguments, 2),
        integer(arguments, 1),
    )?;
    numbered(runtime, parts)
}

pub(crate) fn split_list(runtime: &mut dyn Runtime, arguments: &[Value]) -> Outcome {
    let parts = parts(runtime, bytes(arguments, 0), bytes(arguments, 1), -1)?;
    Ok(Value::strings(parts))
}

/// The parts of `source`, at most `limit` of them unless it is negative; without a separator its
/// characters.
fn parts(
    runtime: &mut dyn Runtime,
    separator: &[u8],
    source: &[u8],
    limit: i64,
) -> Result<Vec<Str>, Failure> {
    let limit = usize::try_from(limit).unwrap_or(usize::MAX);
    if limit == 0 {
        return Ok(Vec::new());
    }
    let text = |part: &[u8]| Str::from_bytes(part.to_vec());
    if separator.is_empty() {
        runtime.reserve(source.len().saturating_mul(size_of::<Value>()))?;
        let mut parts = Vec::new();
        for (from, to, _) in source.char_indices() {
            if parts.len() + 1 == limit {
                parts.push(text(source.get(from..).unwrap_or_default()));
                break;
            }
            parts.push(text(source.get(from..to).unwrap_or_default()));
        }
        return Ok(parts);
    }
    let count = source.find_iter(separator).count().min(limit) + 1;
    runtime.reserve(count.saturating_mul(size_of::<Value>()))?;
    Ok(source.splitn_str(limit, separator).map(text).collect())
}

fn numbered(runtime: &mut dyn Runtime, parts: Vec<Str>) -> Outcome {
    // Every part gets a key, and a place in a list that is sorted before it is a map.
    runtime.reserve(parts.len().saturating_mul(4 * size_of::<(Str, Value)>()))?;
    let mut entries: Vec<(Str, Value)> = parts
        .into_iter()
        .enumerate()
        .map(|(place, part)| (format!("_{place}").into(), part.into()))
        .collect();
    // `_10` comes before `_2`; a map is filled fastest in the order of its keys.
    entries.sort_by(|left, right| left.0.cmp(&right.0));
    Ok(Map::from_entries(MapType::String, entries).into())
}

pub(crate) fn join(runtime: &mut dyn Runtime, arguments: &[Value]) -> Outcome {
    let parts = strings(runtime, any(arguments, 1))?;
    let separator = bytes(arguments, 0);
    let size = parts.iter().map(Str::len).sum::<usize>();
    runtime.reserve(size.saturating_add(separator.len().saturating_mul(parts.len())))?;
    Ok(Str::from_bytes(bstr::join(separator, parts.iter().map(Str::as_bytes))).into())
}

pub(crate) fn to_strings(runtime: &mut dyn Runtime, arguments: &[Value]) -> Outcome {
    match any(arguments, 0) {
        Value::List(list) if list.list_type() == ListType::String => Ok(list.clone().into()),
        other => {
            let texts = strings(runtime, other)?;
            Ok(Value::strings(reserved(runtime, texts)?))
        }
    }
}

/// The texts, with the memory that they take announced.
fn reserved(runtime: &mut dyn Runtime, texts: Vec<Str>) -> Result<Vec<Str>, Failure> {
    let size = texts.iter().map(Str::len).sum::<usize>();
    runtime.reserve(size.saturating_add(texts.len().saturating_mul(size_of::<Value>())))?;
    Ok(texts)
}

pub(crate) fn sort_alpha(runtime: &mut dyn Runtime, arguments: &[Value]) -> Outcome {
    let list = any(arguments, 0);
    if items(list).is_none() {
        return Ok(Value::strings([strval(runtime, list)?]));
    }
    let texts = strings(runtime, list)?;
    let mut sorted = reserved(runtime, texts)?;
    sorted.sort();
    Ok(List::new(ListType::String, sorted.into_iter().map(Value::Str).collect()).into())
}

//! Maps: making, reading, changing in place.

use steersman_gotemplate::{Failure, Map, MapType, Runtime, Str, Value};

use crate::Outcome;
use crate::arguments::{any, bytes, map, map_or_empty, rest, string};
use crate::merge::{Overwrite, merge_into};
use crate::text::strval;

pub(crate) fn dict(runtime: &mut dyn Runtime, arguments: &[Value]) -> Outcome {
    let result = Map::new(MapType::Any);
    for pair in arguments.chunks(2) {
        let key = strval(runtime, any(pair, 0))?;
        runtime.reserve(key.len() + 2 * size_of::<Value>())?;
        let value = pair.get(1).cloned().unwrap_or_else(|| "".into());
        result.insert(key, value);
    }
    Ok(result.into())
}

pub(crate) fn get(_: &mut dyn Runtime, arguments: &[Value]) -> Outcome {
    let found = map(arguments, 0).and_then(|map| map.get(bytes(arguments, 1)));
    Ok(found.unwrap_or_else(|| "".into()))
}

pub(crate) fn set(runtime: &mut dyn Runtime, arguments: &[Value]) -> Outcome {
    let Some(map) = map(arguments, 0).filter(|map| !map.is_nil()) else {
        return Err(Failure::new("assignment to entry in nil map"));
    };
    runtime.reserve(2 * size_of::<Value>())?;
    map.insert(string(arguments, 1), any(arguments, 2).clone());
    runtime.changed(map);
    Ok(map.clone().into())
}

pub(crate) fn unset(_: &mut dyn Runtime, arguments: &[Value]) -> Outcome {
    let Some(map) = map(arguments, 0) else {
        return Ok(Map::nil(MapType::Any).into());
    };
    map.remove(bytes(arguments, 1));
    Ok(map.clone().into())
}

pub(crate) fn has_key(_: &mut dyn Runtime, arguments: &[Value]) -> Outcome {
    let found = map(arguments, 0).is_some_and(|map| map.contains(bytes(arguments, 1)));
    Ok(found.into())
}

/// The maps among the arguments from `place` on; nil ones have nothing to give.
fn maps(arguments: &[Value], place: usize) -> impl Iterator<Item = &Map> {
    rest(arguments, place).iter().filter_map(|value| match value {
        Value::Map(map) => Some(map),
        _ => None,
    })
}

pub(crate) fn pluck(_: &mut dyn Runtime, arguments: &[Value]) -> Outcome {
    let key = bytes(arguments, 0);
    Ok(Value::list(
        maps(arguments, 1).filter_map(|map| map.get(key)).collect(),
    ))
}

pub(crate) fn keys(runtime: &mut dyn Runtime, arguments: &[Value]) -> Outcome {
    let count: usize = maps(arguments, 0).map(Map::len).sum();
    runtime.reserve(count.saturating_mul(size_of::<Value>()))?;
    Ok(Value::strings(maps(arguments, 0).flat_map(Map::keys)))
}

pub(crate) fn values(runtime: &mut dyn Runtime, arguments: &[Value]) -> Outcome {
    let map = map_or_empty(arguments, 0);
    runtime.reserve(map.len().saturating_mul(size_of::<Value>()))?;
    Ok(Value::list(
        map.entries().into_iter().map(|(_, value)| value).collect(),
    ))
}

pub(crate) fn pick(_: &mut dyn Runtime, arguments: &[Value]) -> Outcome {
    let source = map_or_empty(arguments, 0);
    let result = Map::new(MapType::Any);
    for place in 1..arguments.len() {
        if let Some(value) = source.get(bytes(arguments, place)) {
            result.insert(string(arguments, place), value);
        }
    }
    Ok(result.into())
}

pub(crate) fn omit(runtime: &mut dyn Runtime, arguments: &[Value]) -> Outcome {
    let source = map_or_empty(arguments, 0);
    runtime.reserve(source.len().saturating_mul(2 * size_of::<Value>()))?;
    let omitted: Vec<Str> = (1..arguments.len())
        .map(|place| string(arguments, place))
        .collect();
    let kept = source
        .entries()
        .into_iter()
        .filter(|(key, _)| !omitted.contains(key));
    Ok(Map::from_entries(MapType::Any, kept).into())
}

pub(crate) fn dig(_: &mut dyn Runtime, arguments: &[Value]) -> Outcome {
    let [path @ .., fallback, source] = arguments else {
        return Err(Failure::new("dig needs at least three arguments"));
    };
    if path.is_empty() {
        return Err(Failure::new("dig needs at least three arguments"));
    }
    let mut here = asserted_map(source)?;
    let keys: Result<Vec<_>, _> = path.iter().map(asserted_string).collect();
    let mut keys = keys?.into_iter();
    let mut key = keys.next().unwrap_or_default();
    for next in keys {
        let Some(step) = here.get(key.as_bytes()) else {
            return Ok(fallback.clone());
        };
        here = asserted_map(&step)?;
        key = next;
    }
    Ok(here.get(key.as_bytes()).unwrap_or_else(|| fallback.clone()))
}

/// The map, if the value's type is the very `map[string]interface {}`.
fn asserted_map(value: &Value) -> Result<Map, Failure> {
    match value {
        Value::Map(map) if map.map_type() == MapType::Any => Ok(map.clone()),
        other => Err(failed_assertion(other, MapType::Any.type_name())),
    }
}

fn asserted_string(value: &Value) -> Result<Str, Failure> {
    match value {
        Value::Str(text) => Ok(text.clone()),
        other => Err(failed_assertion(other, "string")),
    }
}

fn failed_assertion(value: &Value, wanted: &str) -> Failure {
    let found = if value.is_nil() { "nil" } else { value.type_name() };
    Failure::new(format!(
        "interface conversion: interface {{}} is {found}, not {wanted}"
    ))
}

pub(crate) fn merge(runtime: &mut dyn Runtime, arguments: &[Value]) -> Outcome {
    merged(runtime, arguments, Overwrite::Empty, Refusal::EmptyText)
}

pub(crate) fn must_merge(runtime: &mut dyn Runtime, arguments: &[Value]) -> Outcome {
    merged(runtime, arguments, Overwrite::Empty, Refusal::Failure)
}

pub(crate) fn merge_overwrite(runtime: &mut dyn Runtime, arguments: &[Value]) -> Outcome {
    merged(runtime, arguments, Overwrite::All, Refusal::EmptyText)
}

pub(crate) fn must_merge_overwrite(runtime: &mut dyn Runtime, arguments: &[Value]) -> Outcome {
    merged(runtime, arguments, Overwrite::All, Refusal::Failure)
}

/// What becomes of a merge that is refused.
enum Refusal {
    EmptyText,
    Failure,
}

fn merged(runtime: &mut dyn Runtime, arguments: &[Value], overwrite: Overwrite, refusal: Refusal) -> Outcome {
    // A nil map cannot be filled: a new one takes its place.
    let destination = map(arguments, 0)
        .filter(|map| !map.is_nil())
        .cloned()
        .unwrap_or_else(|| Map::new(MapType::Any));
    for source in maps(arguments, 1) {
        match merge_into(runtime, &destination, source, overwrite) {
            Ok(()) => {}
            Err(failure) if failure.refused && matches!(refusal, Refusal::EmptyText) => return Ok("".into()),
            Err(failure) => return Err(failure.failure),
        }
    }
    Ok(destination.into())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::test_runtime::{call, check, int};

    fn sample() -> Value {
        Value::map([("a", int(1)), ("b", Value::map([("c", "d".into())]))])
    }

    #[test]
    fn keys_are_read_and_tested() {
        check("get", &[sample(), "a".into()], "1");
        check("get", &[sample(), "z".into()], "");
        check("hasKey", &[sample(), "b".into()], "true");
        check("keys", &[sample()], "[a b]");
        check("values", &[sample()], "[1 map[c:d]]");
        check("pick", &[sample(), "a".into(), "z".into()], "map[a:1]");
        check("omit", &[sample(), "a".into()], "map[b:map[c:d]]");
        check("pluck", &["a".into(), sample(), sample()], "[1 1]");
    }

    #[test]
    fn a_map_is_changed_in_place() {
        let map = sample();
        call("set", &[map.clone(), "z".into(), int(3)]).unwrap();
        call("unset", &[map.clone(), "a".into()]).unwrap();
        check("keys", &[map], "[b z]");
    }

    #[test]
    fn nil_maps_are_read_as_empty_and_cannot_be_set() {
        check("get", &[Value::Nil, "a".into()], "");
        check("keys", &[Value::Nil], "[]");
        check(
            "set",
            &[Value::Nil, "a".into(), int(1)],
            "error: assignment to entry in nil map",
        );
    }

    #[test]
    fn digging_follows_a_path() {
        check("dig", &["b".into(), "c".into(), "no".into(), sample()], "d");
        check("dig", &["b".into(), "z".into(), "no".into(), sample()], "no");
        check("dig", &["z".into(), "z".into(), "no".into(), sample()], "no");
        check(
            "dig",
            &["a".into(), "z".into(), "no".into(), sample()],
            "error: interface conversion: interface {} is int, not map[string]interface {}",
        );
    }

    #[test]
    fn a_key_without_a_value_has_the_empty_text() {
        check("dict", &["a".into(), int(1), true.into()], "map[a:1 true:]");
    }
}

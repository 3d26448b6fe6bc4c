//! Merging maps in place, the way the library `mergo` does.

use steersman_gotemplate::stack::grow;
use steersman_gotemplate::{Failure, Map, MapType, Runtime, Value};

use crate::MAXIMUM_DEPTH;
use crate::defaults::is_empty;

/// What a merge replaces in its destination.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Overwrite {
    /// Only missing and empty values.
    Empty,
    /// Every value that the source has, save maps, which are merged.
    All,
}

/// Why a merge stopped.
#[derive(Debug, thiserror::Error)]
#[error("{failure}")]
pub struct MergeError {
    /// The failure of a function that merges.
    pub failure: Failure,
    /// Whether the library itself refuses the values, rather than a budget or Go's runtime.
    pub refused: bool,
}

impl From<Failure> for MergeError {
    fn from(failure: Failure) -> Self {
        Self {
            failure,
            refused: false,
        }
    }
}

/// Merges `source` into `destination`, in place and at all depths.
///
/// Maps that the destination lacks are taken over as they are: both share them afterwards.
///
/// # Errors
/// The maps are nested more than [`MAXIMUM_DEPTH`] deep or have values that cannot be merged, or a
/// budget of `runtime` is spent. What was merged until then stays.
pub fn merge_into(
    runtime: &mut dyn Runtime,
    destination: &Map,
    source: &Map,
    overwrite: Overwrite,
) -> Result<(), MergeError> {
    merge_within(runtime, destination, source, overwrite, MAXIMUM_DEPTH)
}

fn merge_within(
    runtime: &mut dyn Runtime,
    destination: &Map,
    source: &Map,
    overwrite: Overwrite,
    depth: usize,
) -> Result<(), MergeError> {
    let Some(depth) = depth.checked_sub(1) else {
        return Err(Failure::exhausted("maps are nested too deep to be merged").into());
    };
    runtime.spend(source.len() as u64 / 4)?;
    for (key, value) in source.entries() {
        let existing = destination.get(key.as_bytes());
        if value.is_nil() {
            if overwrite == Overwrite::All {
                store(runtime, destination, key, value)?;
            }
            continue;
        }
        match (&existing, &value) {
            (Some(Value::Map(into)), Value::Map(from)) => {
                grow(|| merge_within(runtime, into, from, overwrite, depth))?;
                if !into.is_empty() {
                    continue;
                }
            }
            (Some(Value::Object(object)), Value::Map(_))
                if object.kind_name() == "ptr" && overwrite == Overwrite::Empty =>
            {
                return Err(MergeError {
                    failure: Failure::new("src and dst must be of same type"),
                    refused: true,
                });
            }
            _ => {}
        }
        let keeps = overwrite == Overwrite::Empty && existing.as_ref().is_some_and(|value| !is_empty(value));
        if !keeps {
            store(runtime, destination, key, value)?;
        }
    }
    Ok(())
}

fn store(
    runtime: &mut dyn Runtime,
    destination: &Map,
    key: steersman_gotemplate::Str,
    value: Value,
) -> Result<(), Failure> {
    if destination.map_type() == MapType::String && !matches!(value, Value::Str(_)) {
        return Err(Failure::new(
            "reflect.Value.SetMapIndex: value of type interface {} is not assignable to type string",
        ));
    }
    runtime.reserve(2 * size_of::<Value>())?;
    destination.insert(key, value);
    runtime.changed(destination);
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::test_runtime::{check, int};

    fn nested(entries: &[(&str, Value)]) -> Value {
        Value::map(entries.iter().cloned())
    }

    #[test]
    fn missing_and_empty_values_are_filled() {
        check(
            "merge",
            &[
                nested(&[("a", int(1)), ("e", "".into())]),
                nested(&[("a", int(2)), ("b", int(3)), ("e", "x".into())]),
            ],
            "map[a:1 b:3 e:x]",
        );
    }

    #[test]
    fn maps_are_merged_at_all_depths() {
        let into = || nested(&[("m", nested(&[("a", int(1))]))]);
        let from = || nested(&[("m", nested(&[("a", int(2)), ("b", int(3))]))]);
        check("merge", &[into(), from()], "map[m:map[a:1 b:3]]");
        check("mergeOverwrite", &[into(), from()], "map[m:map[a:2 b:3]]");
    }

    #[test]
    fn overwriting_takes_empty_values_and_nil_too() {
        check(
            "mergeOverwrite",
            &[
                nested(&[("a", int(1)), ("b", int(1)), ("l", Value::list(vec![int(1)]))]),
                nested(&[("a", int(0)), ("b", Value::Nil), ("l", Value::list(vec![]))]),
            ],
            "map[a:0 b:<nil> l:[]]",
        );
        check(
            "merge",
            &[
                nested(&[("a", int(1))]),
                nested(&[("a", Value::Nil), ("b", Value::Nil)]),
            ],
            "map[a:1]",
        );
    }

    #[test]
    fn a_map_and_another_value_are_not_merged() {
        let map = || nested(&[("a", nested(&[("b", int(1))]))]);
        let text = || nested(&[("a", "x".into())]);
        check("merge", &[map(), text()], "map[a:map[b:1]]");
        check("merge", &[text(), map()], "map[a:x]");
        check("mergeOverwrite", &[map(), text()], "map[a:x]");
        check("mergeOverwrite", &[text(), map()], "map[a:map[b:1]]");
    }
}

//! What `.Values` is: the defaults of all charts under the values of the user.
//!
//! The rules, with the parts that surprise (what a null does, how `global` travels, that maps in
//! it stay shared between charts), are those of Helm's `pkg/chart/common/util/coalesce.go`.
//! Everything works in place on maps that are shared by reference, as there.

use steersman_gotemplate::format::sprintf;
use steersman_gotemplate::{Map, MapType, Value};

use super::{Values, to_map};
use crate::error::ValuesError;

const GLOBAL: &str = "global";

/// A chart with the charts that it depends on, as far as values are concerned.
pub(crate) trait Tree: Sized {
    /// The name under which the parent knows the chart.
    fn name(&self) -> &str;
    /// The chart's defaults.
    fn values(&self) -> &Values;
    /// The charts it depends on.
    fn dependencies(&self) -> &[Self];
}

/// Lays `destination` over the defaults of `chart`, for rendering: a null removes a default.
pub(crate) fn coalesce(chart: &impl Tree, destination: &Map) -> Result<(), ValuesError> {
    join(chart, destination, Nulls::Remove)
}

/// Like [`coalesce`], but keeps nulls, so that they can remove something later.
pub(crate) fn merge(chart: &impl Tree, destination: &Map) -> Result<(), ValuesError> {
    join(chart, destination, Nulls::Keep)
}

/// Lays `destination` over `source`, keeping nulls.
pub(crate) fn merge_tables(destination: &Map, source: &Map) {
    join_tables(destination, source, Nulls::Keep);
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Nulls {
    Remove,
    Keep,
}

fn join<T: Tree>(chart: &T, destination: &Map, nulls: Nulls) -> Result<(), ValuesError> {
    join_defaults(chart, destination, nulls);
    for dependency in chart.dependencies() {
        let name = dependency.name();
        let below = match destination.get(name.as_bytes()) {
            None => {
                let below = Map::new(MapType::Any);
                destination.insert(name, Value::Map(below.clone()));
                below
            }
            Some(Value::Map(below)) => below,
            Some(other) => {
                // Helm formats the value with the verb for booleans.
                let shown = sprintf(b"%t", &[other]);
                return Err(ValuesError(format!("type mismatch on {name}: {shown}")));
            }
        };
        join_globals(&below, destination);
        join(dependency, &below, nulls)?;
    }
    Ok(())
}

/// Takes the globals of a parent over into the values of a dependency.
fn join_globals(destination: &Map, source: &Map) {
    let globals = match destination.get(GLOBAL.as_bytes()) {
        None => Map::new(MapType::Any),
        Some(Value::Map(globals)) => globals,
        Some(_) => return,
    };
    let from_parent = match source.get(GLOBAL.as_bytes()) {
        None => Vec::new(),
        Some(Value::Map(globals)) => globals.entries(),
        Some(_) => return,
    };
    for (key, value) in from_parent {
        match (value, globals.get(key.as_bytes())) {
            (Value::Map(table), own) => {
                let copy = Map::from_entries(MapType::Any, table.entries());
                match own {
                    None => {}
                    Some(Value::Map(own)) => join_tables(&copy, &own, Nulls::Keep),
                    Some(_) => continue,
                }
                globals.insert(key, Value::Map(copy));
            }
            (_, Some(Value::Map(_))) => {}
            (value, _) => {
                globals.insert(key, value);
            }
        }
    }
    destination.insert(GLOBAL, Value::Map(globals));
}

fn join_defaults<T: Tree>(chart: &T, destination: &Map, nulls: Nulls) {
    let remove = nulls == Nulls::Remove;
    for (key, default) in to_map(chart.values()).entries() {
        match destination.get(key.as_bytes()) {
            Some(Value::Nil | Value::Invalid) if remove => {
                destination.remove(key.as_bytes());
            }
            Some(Value::Map(given)) => {
                let Value::Map(default) = default else { continue };
                let is_dependency = chart
                    .dependencies()
                    .iter()
                    .any(|dependency| key == *dependency.name());
                let nulls = if is_dependency { Nulls::Keep } else { nulls };
                if nulls == Nulls::Remove {
                    remove_nulls(&default);
                }
                join_tables(&given, &default, nulls);
            }
            Some(_) => {}
            None => {
                if remove {
                    match &default {
                        Value::Nil => continue,
                        Value::Map(default) => remove_nulls(default),
                        _ => {}
                    }
                }
                destination.insert(key, default);
            }
        }
    }
}

/// Lays `destination` over `source`, and leaves both changed.
fn join_tables(destination: &Map, source: &Map, nulls: Nulls) {
    let original = source.entries();
    let had_value = |key: &[u8]| {
        original
            .binary_search_by(|(name, _)| name.as_bytes().cmp(key))
            .is_ok_and(|place| original.get(place).is_some_and(|(_, value)| !value.is_nil()))
    };
    for (key, value) in destination.entries() {
        if value.is_nil() {
            source.insert(key, Value::Nil);
        }
    }
    for (key, value) in source.entries() {
        let given = destination.get(key.as_bytes());
        match (given, value) {
            (Some(given), _) if nulls == Nulls::Remove && given.is_nil() && had_value(key.as_bytes()) => {
                destination.remove(key.as_bytes());
            }
            (None, value) => {
                destination.insert(key, value);
            }
            (Some(Value::Map(given)), Value::Map(value)) => join_tables(&given, &value, nulls),
            _ => {}
        }
    }
}

fn remove_nulls(map: &Map) {
    for (key, value) in map.entries() {
        match value {
            Value::Nil | Value::Invalid => {
                map.remove(key.as_bytes());
            }
            Value::Map(inner) => remove_nulls(&inner),
            _ => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::values::{from_map, read};

    struct Sample {
        name: &'static str,
        values: Values,
        dependencies: Vec<Sample>,
    }

    impl Tree for Sample {
        fn name(&self) -> &str {
            self.name
        }
        fn values(&self) -> &Values {
            &self.values
        }
        fn dependencies(&self) -> &[Self] {
            &self.dependencies
        }
    }

    fn sample(name: &'static str, values: &str, dependencies: Vec<Sample>) -> Sample {
        let values = read(values.as_bytes()).unwrap();
        Sample {
            name,
            values,
            dependencies,
        }
    }

    fn check(chart: &Sample, user: &str, expect: &str) {
        let map = to_map(&read(user.as_bytes()).unwrap());
        let found = match coalesce(chart, &map) {
            Ok(()) => serde_json::Value::Object(from_map(&map)).to_string(),
            Err(error) => error.to_string(),
        };
        assert_eq!(found, expect);
    }

    #[test]
    fn a_null_removes_the_default() {
        let chart = sample("web", "a: x\nb: {c: w, d: z}\n", vec![]);
        check(&chart, "a: null\nb: {c: null}\n", r#"{"b":{"d":"z"}}"#);
        check(&chart, "m: null\n", r#"{"a":"x","b":{"c":"w","d":"z"},"m":null}"#);
    }

    #[test]
    fn a_null_among_the_defaults_is_dropped() {
        check(
            &sample("web", "a: null\nb: {c: null}\n", vec![]),
            "{}",
            r#"{"b":{}}"#,
        );
    }

    #[test]
    fn a_parent_overrides_its_dependencies_and_shares_globals() {
        let database = sample("database", "size: small\nglobal: {own: o}\n", vec![]);
        let chart = sample(
            "web",
            "database: {size: big}\nglobal: {domain: d, tls: {use: w}}\n",
            vec![database],
        );
        check(
            &chart,
            "global: {domain: user}\n",
            r#"{"database":{"global":{"domain":"user","own":"o","tls":{"use":"w"}},"size":"big"},"global":{"domain":"user","tls":{"use":"w"}}}"#,
        );
    }

    #[test]
    fn a_dependency_needs_a_map() {
        let chart = sample("web", "", vec![sample("database", "", vec![])]);
        check(&chart, "database: true\n", "type mismatch on database: true");
        check(
            &chart,
            "database: x\n",
            "type mismatch on database: %!t(string=x)",
        );
    }
}

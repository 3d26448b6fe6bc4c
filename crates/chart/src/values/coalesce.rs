//! What `.Values` is: the defaults of all charts under the values of the user.
//!
//! The rules, with the parts that surprise (what a null does, how `global` travels, that maps in
//! it stay shared between charts), are those of Helm's `pkg/chart/common/util/coalesce.go`.
//! Everything works in place on maps that are shared by reference, as there.

use steersman_gotemplate::format::sprintf;
use steersman_gotemplate::{Frozen, Map, MapType, Value};

use super::defaults::{DefaultValue, Defaults};
use crate::error::ValuesError;
use crate::notice::{Notice, shown};

const GLOBAL: &str = "global";

/// Where in all values the work is, for notices: the names of charts and keys from the root on.
#[derive(Clone, Copy)]
struct Place<'a> {
    above: Option<&'a Place<'a>>,
    name: &'a str,
}

impl<'a> Place<'a> {
    fn below(&'a self, name: &'a str) -> Self {
        Self {
            above: Some(self),
            name,
        }
    }
}

impl std::fmt::Display for Place<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self.above {
            Some(above) if above.above.is_some() || !above.name.is_empty() => {
                write!(f, "{above}.{}", self.name)
            }
            _ => f.write_str(self.name),
        }
    }
}

/// Above all keys: it prints as an empty text.
const ROOT: Place<'static> = Place {
    above: None,
    name: "",
};

/// What joining needs besides the values.
struct Joining<'a> {
    nulls: Nulls,
    notices: &'a mut Vec<Notice>,
}

impl Joining<'_> {
    fn notice(&mut self, message: String) {
        self.notices.push(Notice::info(message));
    }

    /// The same with nulls kept.
    fn keeping(&mut self) -> Joining<'_> {
        Joining {
            nulls: Nulls::Keep,
            notices: self.notices,
        }
    }
}

/// A chart with the charts that it depends on, as far as values are concerned.
pub(crate) trait Tree: Sized {
    /// The name under which the parent knows the chart.
    fn name(&self) -> &str;
    /// The chart's defaults.
    fn defaults(&self) -> &Defaults;
    /// The charts it depends on.
    fn dependencies(&self) -> &[Self];
}

/// Lays `destination` over the defaults of `chart`, for rendering: a null removes a default. What
/// does not fit together is left as it is and noticed.
pub(crate) fn coalesce(
    chart: &impl Tree,
    destination: &Map,
    notices: &mut Vec<Notice>,
) -> Result<(), ValuesError> {
    let nulls = Nulls::Remove;
    join(chart, destination, ROOT, &mut Joining { nulls, notices })
}

/// Like [`coalesce`], but keeps nulls, so that they can remove something later.
pub(crate) fn merge(
    chart: &impl Tree,
    destination: &Map,
    notices: &mut Vec<Notice>,
) -> Result<(), ValuesError> {
    let nulls = Nulls::Keep;
    join(chart, destination, ROOT, &mut Joining { nulls, notices })
}

/// Lays `destination` over `source`, keeping nulls.
pub(crate) fn merge_tables(destination: &Map, source: &Map, notices: &mut Vec<Notice>) {
    let nulls = Nulls::Keep;
    join_tables(destination, source, ROOT, &mut Joining { nulls, notices });
}

/// Lays `destination` over `source`: a null removes what is below it.
pub(crate) fn coalesce_tables(destination: &Map, source: &Map, notices: &mut Vec<Notice>) {
    let nulls = Nulls::Remove;
    join_tables(destination, source, ROOT, &mut Joining { nulls, notices });
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Nulls {
    Remove,
    Keep,
}

fn join<T: Tree>(
    chart: &T,
    destination: &Map,
    place: Place<'_>,
    joining: &mut Joining<'_>,
) -> Result<(), ValuesError> {
    let place = place.below(chart.name());
    join_defaults(chart, destination, place, joining);
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
        join_globals(&below, destination, place, joining);
        join(dependency, &below, place, joining)?;
    }
    Ok(())
}

/// Takes the globals of a parent over into the values of a dependency.
fn join_globals(destination: &Map, source: &Map, place: Place<'_>, joining: &mut Joining<'_>) {
    let globals = match destination.get(GLOBAL.as_bytes()) {
        None => Map::new(MapType::Any),
        Some(Value::Map(globals)) => globals,
        Some(_) => {
            joining.notice("warning: skipping globals because destination global is not a table.".to_owned());
            return;
        }
    };
    let from_parent = match source.get(GLOBAL.as_bytes()) {
        None => Vec::new(),
        Some(Value::Map(globals)) => globals.entries(),
        Some(_) => {
            joining.notice("warning: skipping globals because source global is not a table.".to_owned());
            return;
        }
    };
    for (key, value) in from_parent {
        match (value, globals.get(key.as_bytes())) {
            (Value::Map(table), own) => {
                let copy = Map::from_entries(MapType::Any, table.entries());
                match own {
                    None => {}
                    Some(Value::Map(own)) => {
                        let name = key.to_string();
                        join_tables(&copy, &own, place.below(&name), &mut joining.keeping());
                    }
                    Some(_) => {
                        joining.notice(format!(
                            "Conflict: cannot merge map onto non-map for {}. Skipping.",
                            sprintf(b"%q", &[Value::Str(key)])
                        ));
                        continue;
                    }
                }
                globals.insert(key, Value::Map(copy));
            }
            (_, Some(Value::Map(_))) => joining.notice(format!("key {key} is table. Skipping")),
            (value, _) => {
                globals.insert(key, value);
            }
        }
    }
    destination.insert(GLOBAL, Value::Map(globals));
}

fn join_defaults<T: Tree>(chart: &T, destination: &Map, place: Place<'_>, joining: &mut Joining<'_>) {
    let remove = joining.nulls == Nulls::Remove;
    for DefaultValue { key, full, pruned } in chart.defaults().iter() {
        match destination.get(key.as_bytes()) {
            Some(Value::Nil | Value::Invalid) if remove => {
                destination.remove(key.as_bytes());
            }
            Some(Value::Map(given)) => {
                let (Frozen::Map(full), Frozen::Map(pruned)) = (full, pruned) else {
                    if !matches!(full, Frozen::Nil) {
                        joining.notice(format!("warning: skipped value for {place}.{key}: Not a table."));
                    }
                    continue;
                };
                let is_dependency = chart
                    .dependencies()
                    .iter()
                    .any(|dependency| *key == *dependency.name());
                let name = key.to_string();
                let place = place.below(&name);
                if is_dependency {
                    join_tables(&given, &full.thaw(), place, &mut joining.keeping());
                } else {
                    let default = if remove { pruned } else { full };
                    join_tables(&given, &default.thaw(), place, joining);
                }
            }
            Some(_) => {}
            None if remove && matches!(full, Frozen::Nil) => {}
            None => {
                let default = if remove { pruned } else { full };
                destination.insert(key.clone(), default.thaw());
            }
        }
    }
}

/// Lays `destination` over `source`, and leaves both changed.
fn join_tables(destination: &Map, source: &Map, place: Place<'_>, joining: &mut Joining<'_>) {
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
            (Some(given), _)
                if joining.nulls == Nulls::Remove && given.is_nil() && had_value(key.as_bytes()) =>
            {
                destination.remove(key.as_bytes());
            }
            (None, value) => {
                destination.insert(key, value);
            }
            (Some(Value::Map(given)), Value::Map(value)) => {
                let name = key.to_string();
                join_tables(&given, &value, place.below(&name), joining);
            }
            (Some(_), value @ Value::Map(_)) => {
                let (place, value) = (format!("{}", place.below(&key.to_string())), shown(&value));
                joining.notice(format!(
                    "warning: cannot overwrite table with non table for {place} ({value})"
                ));
            }
            (Some(Value::Map(_)), value) if !value.is_nil() => {
                let (place, value) = (format!("{}", place.below(&key.to_string())), shown(&value));
                joining.notice(format!(
                    "warning: destination for {place} is a table. Ignoring non-table value ({value})"
                ));
            }
            _ => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::values::{from_map, read, to_map};

    struct Sample {
        name: &'static str,
        defaults: Defaults,
        dependencies: Vec<Sample>,
    }

    impl Tree for Sample {
        fn name(&self) -> &str {
            self.name
        }
        fn defaults(&self) -> &Defaults {
            &self.defaults
        }
        fn dependencies(&self) -> &[Self] {
            &self.dependencies
        }
    }

    fn sample(name: &'static str, values: &str, dependencies: Vec<Sample>) -> Sample {
        let values = read(values.as_bytes()).unwrap();
        Sample {
            name,
            defaults: Defaults::new(&values),
            dependencies,
        }
    }

    fn check(chart: &Sample, user: &str, expect: &str) {
        let map = to_map(&read(user.as_bytes()).unwrap());
        let found = match coalesce(chart, &map, &mut Vec::new()) {
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

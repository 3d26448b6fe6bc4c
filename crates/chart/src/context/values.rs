//! `common.Values`, Helm's type of `.Values` and of the dot itself: a map with methods.

use steersman_gotemplate::{
    Failure, Map, MapMethod, MapType, NamedMap, Parameter, Runtime, Signature, Value, format,
};

use crate::functions::{Unwritable, to_yaml};

/// Go's type of values and of the dot itself.
pub(super) const VALUES: MapType = MapType::Named(&NamedMap {
    name: "common.Values",
    methods: &[
        method("AsMap", &[], as_map),
        method("Encode", &[Parameter::Named("io.Writer")], encode),
        method("PathValue", &[Parameter::String], path_value),
        method("Table", &[Parameter::String], table),
        method("YAML", &[], yaml),
    ],
});

type Outcome = Result<Value, Failure>;

const fn method(
    name: &'static str,
    parameters: &'static [Parameter],
    call: fn(&mut dyn Runtime, &Map, &[Value]) -> Outcome,
) -> MapMethod {
    MapMethod {
        name,
        signature: Signature::new(parameters),
        call,
    }
}

/// The same map under its plain type.
#[expect(clippy::unnecessary_wraps, reason = "methods have one type")]
fn as_map(_: &mut dyn Runtime, values: &Map, _: &[Value]) -> Outcome {
    Ok(Value::Map(if values.is_empty() {
        Map::new(MapType::Any)
    } else {
        values.retyped(MapType::Any)
    }))
}

/// Never called: a template has no writer that it could give.
#[expect(clippy::unnecessary_wraps, reason = "methods have one type")]
fn encode(_: &mut dyn Runtime, _: &Map, _: &[Value]) -> Outcome {
    Ok(Value::Nil)
}

/// The value at the end of a path with dots, which is no map.
fn path_value(_: &mut dyn Runtime, values: &Map, arguments: &[Value]) -> Outcome {
    let path = path(arguments);
    if path.is_empty() {
        return Err(Failure::new("YAML path cannot be empty"));
    }
    let (tables, key) = match path.rsplit_once('.') {
        Some((tables, key)) => (Some(tables), key),
        None => (None, path.as_str()),
    };
    let table = match tables {
        Some(tables) => find_table(values, tables).ok(),
        None => Some(values.clone()),
    };
    match table.and_then(|table| table.get(key.as_bytes())) {
        Some(value) if !is_plain_map(&value) => Ok(value),
        _ => Err(Failure::new(format!("{} is not a value", format::quote(key)))),
    }
}

/// The map at the end of a path with dots.
fn table(_: &mut dyn Runtime, values: &Map, arguments: &[Value]) -> Outcome {
    find_table(values, &path(arguments)).map(Value::Map)
}

/// All of it as YAML, with the line break at its end.
fn yaml(runtime: &mut dyn Runtime, values: &Map, _: &[Value]) -> Outcome {
    let mut text = to_yaml(&Value::Map(values.clone())).map_err(Unwritable::into_failure)?;
    text.push('\n');
    runtime.reserve(text.len())?;
    Ok(Value::from(text))
}

fn path(arguments: &[Value]) -> String {
    match arguments.first() {
        Some(Value::Str(path)) => path.text().into_owned(),
        _ => String::new(),
    }
}

fn find_table(values: &Map, path: &str) -> Result<Map, Failure> {
    path.split('.').try_fold(values.retyped(VALUES), |table, key| {
        match table.get(key.as_bytes()) {
            Some(Value::Map(inner)) if inner.map_type() != MapType::String => Ok(inner.retyped(VALUES)),
            _ => Err(Failure::new(format!("{} is not a table", format::quote(key)))),
        }
    })
}

fn is_plain_map(value: &Value) -> bool {
    matches!(value, Value::Map(map) if map.map_type() == MapType::Any)
}

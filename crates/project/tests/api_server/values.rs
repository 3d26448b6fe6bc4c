//! Values of cases, as they are in a custom resource.

use serde_json::{Map, Number, Value, json};
use steersman_chart::{Values, values};
use steersman_testkit::corpus::{Case, Corpus};

/// The values that a case gives.
pub(crate) fn of_case(corpus: &Corpus, case: &Case) -> Values {
    let mut all = Values::new();
    for file in &case.values {
        let content = std::fs::read(corpus.path(file)).expect("a readable file of the corpus");
        values::overlay(
            &mut all,
            values::read(&content).expect("a readable file of the corpus"),
        );
    }
    for text in &case.set {
        values::set::set(&mut all, text).expect("a readable file of the corpus");
    }
    all
}

/// Values as kubectl sends them: whole numbers are integers.
pub(crate) fn as_in_a_resource(values: &Values) -> Value {
    fn convert(value: &Value) -> Value {
        match value {
            Value::Number(number) => Value::Number(whole(number)),
            Value::Array(items) => items.iter().map(convert).collect(),
            Value::Object(entries) => Value::Object(convert_all(entries)),
            other => other.clone(),
        }
    }
    fn convert_all(entries: &Map<String, Value>) -> Map<String, Value> {
        entries
            .iter()
            .map(|(key, value)| (key.clone(), convert(value)))
            .collect()
    }
    Value::Object(convert_all(values))
}

fn whole(number: &Number) -> Number {
    match number.as_f64() {
        Some(float) if number.is_f64() && float.fract() == 0.0 && float.abs() < 9e15 => {
            Number::from(float as i64)
        }
        _ => number.clone(),
    }
}

/// The first place where what came back is not what was sent.
pub(crate) fn difference(sent: &Value, found: &Value, path: &str) -> Option<String> {
    match (sent, found) {
        (Value::Object(sent), Value::Object(found)) => {
            let keys: std::collections::BTreeSet<&String> = sent.keys().chain(found.keys()).collect();
            keys.into_iter().find_map(|key| {
                let path = format!("{path}.{key}");
                match (sent.get(key), found.get(key)) {
                    (Some(sent), Some(found)) => difference(sent, found, &path),
                    _ => Some(path),
                }
            })
        }
        (Value::Array(sent), Value::Array(found)) if sent.len() == found.len() => {
            (sent.iter().zip(found).enumerate())
                .find_map(|(place, (sent, found))| difference(sent, found, &format!("{path}[{place}]")))
        }
        (Value::Number(sent), Value::Number(found)) if sent.as_f64() == found.as_f64() => None,
        (sent, found) => (sent != found).then(|| path.to_owned()),
    }
}

/// The same values, each time with another mistake in one place.
pub(crate) fn broken(spec: &Value) -> Vec<Value> {
    let mut places = Vec::new();
    leaves(spec, String::new(), &mut places);
    let chosen = [places.len() / 3, places.len() * 2 / 3];
    let mut all: Vec<Value> = chosen
        .iter()
        .filter_map(|index| places.get(*index))
        .map(|place| {
            let mut spec = spec.clone();
            let value = spec.pointer_mut(place).unwrap();
            *value = if value.is_string() {
                json!({"unexpected": 1})
            } else {
                json!("unexpected")
            };
            spec
        })
        .collect();
    let mut more = spec.clone();
    more["unexpected"] = json!(1);
    all.push(more);
    all
}

/// The places of scalars.
fn leaves(value: &Value, place: String, places: &mut Vec<String>) {
    match value {
        Value::Object(entries) => {
            for (key, value) in entries {
                let key = key.replace('~', "~0").replace('/', "~1");
                leaves(value, format!("{place}/{key}"), places);
            }
        }
        Value::Array(items) => {
            for (index, item) in items.iter().enumerate() {
                leaves(item, format!("{place}/{index}"), places);
            }
        }
        Value::Null => {}
        _ => places.push(place),
    }
}

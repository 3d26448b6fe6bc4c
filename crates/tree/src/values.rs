//! The values of a release, each with where it comes from. Pure.

use std::collections::BTreeMap;

use serde_json::Value;
use steersman_chart::Values;
use steersman_model::harmless;
use steersman_operator::release::Stored;
use steersman_operator::status::{Redactor, is_secret_key};
use steersman_watches::Watch;

/// What stands for a value that is not shown.
const MASK: &str = "********";
/// So much of a path or a value is told, in bytes.
const LONGEST: usize = 512;

/// One value, which is no map with something in it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ValueView {
    /// Such as `image.tag`.
    pub path: String,
    /// Texts as they are, all else as JSON; secrets masked.
    pub value: String,
    /// Such as `the resource`.
    pub source: String,
    /// Whether it is other than the chart's own.
    pub is_changed: bool,
}

/// The values of a release, by what wins: the chart's own, the files of the entry, the spec of the resource, what the entry puts over
/// it, and what steps of procedures do. What comes from other objects is no part of it. `deployed` is the revision in effect.
/// `redactor` masks what is secret besides what is so in all of these.
///
/// At most `most` of them, and how many others there are. What is too large to be told is cut.
pub fn values_by_source(
    watch: &Watch,
    spec: &Values,
    deployed: Option<&Stored>,
    mut redactor: Redactor,
    most: usize,
) -> (Vec<ValueView>, usize) {
    let entry = &watch.values;
    let mut layers = vec![("the chart".to_owned(), watch.chart.values().clone())];
    let files = entry.files.iter();
    layers.extend(files.map(|file| (file.name.clone(), file.values.clone())));
    layers.push(("the resource".to_owned(), spec.clone()));
    layers.push(("watches.yaml".to_owned(), entry.above()));
    if let Some(stored) = deployed {
        let overlay = stored.snapshot.overlay.values().clone();
        layers.push(("a step of a procedure".to_owned(), overlay));
    }
    let mut leaves = BTreeMap::new();
    for (place, (_, values)) in layers.iter().enumerate() {
        for (key, value) in values {
            lay(vec![key.clone()], value, place, &mut leaves);
        }
    }
    for (_, values) in &layers {
        redactor.add_values(&Value::Object(values.clone()));
    }
    if let Some(stored) = deployed {
        redactor.add_manifest(&stored.record.manifest);
    }
    // By what `--set` calls them: an item of a list is within its list.
    let of_environment: Vec<&str> = (entry.from_environment.iter())
        .map(|key| key.split('[').next().unwrap_or(key))
        .collect();
    let more = leaves.len().saturating_sub(most);
    let leaves = leaves.into_iter().take(most).map(|(path, (value, place))| {
        let value = match value {
            Value::String(text) => text,
            value => number(&value).unwrap_or_else(|| value.to_string()),
        };
        (path, value, place)
    });
    let leaves: Vec<_> = leaves.collect();
    let values: Vec<&str> = leaves.iter().map(|(_, value, _)| value.as_str()).collect();
    let masked = redactor.mask_all(&values).into_iter();
    let views = leaves.iter().zip(masked).map(|((path, value, place), masked)| {
        let is_secret = path.iter().any(|key| is_secret_key(key));
        let path = path.join(".");
        // What the environment of the operator has is its own.
        let is_of_environment = of_environment.contains(&path.as_str());
        let value = if (is_secret && !value.is_empty() && value != "null") || is_of_environment {
            MASK.to_owned()
        } else {
            cut(harmless(&masked))
        };
        ValueView {
            path: cut(harmless(&path)),
            value,
            source: layers
                .get(*place)
                .map(|(source, _)| source.clone())
                .unwrap_or_default(),
            is_changed: *place > 0,
        }
    });
    (views.collect(), more)
}

/// A whole number as people write it: Helm reads those of files as floating-point.
fn number(value: &Value) -> Option<String> {
    let number = value.as_f64().filter(|_| value.is_f64())?;
    let is_whole = number.fract() == 0.0 && number.abs() < 1e15;
    is_whole.then(|| format!("{number:.0}"))
}

/// The beginning of a text: a page has room for so much of each.
pub(crate) fn cut(mut text: String) -> String {
    if text.len() > LONGEST {
        text.truncate(text.floor_char_boundary(LONGEST));
        text.push('…');
    }
    text
}

type Leaves = BTreeMap<Vec<String>, (Value, usize)>;

/// The paths that begin with this one, in their order.
fn below<'a>(path: &'a [String], leaves: &'a Leaves) -> impl Iterator<Item = &'a Vec<String>> {
    let from = leaves.range(path.to_vec()..);
    from.map(|(other, _)| other)
        .take_while(move |other| other.starts_with(path))
}

/// Puts a value over those that are there: maps are merged, a null removes, and all else takes the place.
fn lay(path: Vec<String>, value: &Value, place: usize, leaves: &mut Leaves) {
    match value {
        Value::Object(map) if !map.is_empty() => {
            leaves.remove(&path);
            for (key, value) in map {
                let mut path = path.clone();
                path.push(key.clone());
                lay(path, value, place, leaves);
            }
        }
        // An empty map changes nothing of one that is there.
        Value::Object(_)
            if below(&path, leaves)
                .next()
                .is_some_and(|other| other.len() > path.len()) => {}
        value => {
            let gone: Vec<Vec<String>> = below(&path, leaves).cloned().collect();
            for other in gone {
                leaves.remove(&other);
            }
            for length in 1..path.len() {
                leaves.remove(path.get(..length).unwrap_or_default());
            }
            if !value.is_null() || place == 0 {
                leaves.insert(path, (value.clone(), place));
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn laid(layers: &[Value]) -> Vec<(String, Value, usize)> {
        let mut leaves = Leaves::new();
        for (place, layer) in layers.iter().enumerate() {
            for (key, value) in layer.as_object().unwrap() {
                lay(vec![key.clone()], value, place, &mut leaves);
            }
        }
        leaves
            .into_iter()
            .map(|(path, (value, place))| (path.join("."), value, place))
            .collect()
    }

    #[test]
    fn what_comes_later_wins_and_the_rest_stays() {
        let told = laid(&[
            json!({"image": {"tag": "1", "pull": "Always"}, "args": [1], "off": {"a": 1}, "port": 80, "empty": {"b": 2}}),
            json!({"image": {"tag": "2"}, "args": [], "off": null, "port": {"http": 81}, "empty": {}}),
        ]);
        let expected = [
            ("args", json!([]), 1),
            ("empty.b", json!(2), 0),
            ("image.pull", json!("Always"), 0),
            ("image.tag", json!("2"), 1),
            ("port.http", json!(81), 1),
        ];
        assert_eq!(
            told,
            expected.map(|(path, value, place)| (path.to_owned(), value, place))
        );
    }
}

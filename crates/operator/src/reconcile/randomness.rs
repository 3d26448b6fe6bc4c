//! Whether a chart gives something else than before, apart from what is random in it.
//!
//! Two renderings from the same inputs show what is random: where they differ, a difference from the stored revision
//! means nothing.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Map, Value};

/// Stands where two renderings differ.
const NOISE: &str = "\u{0}noise";

/// `apiVersion`, kind, namespace and name of an object.
type Identity = [String; 4];

/// Whether `stored` is what `one` is, but for the places where `one` and `other` differ. The order of the objects does
/// not matter; objects whose names are random are counted by kind.
pub(super) fn is_same_but_for_noise(stored: &[Value], one: &[Value], other: &[Value]) -> bool {
    let (stored, one, other) = (by_identity(stored), by_identity(one), by_identity(other));
    let certain: BTreeSet<&Identity> = one.keys().filter(|id| other.contains_key(*id)).collect();
    let is_as_before = certain
        .iter()
        .all(|id| match (stored.get(*id), one.get(*id), other.get(*id)) {
            (Some(stored), Some(one), Some(other)) => {
                let wanted = without_noise(one, one, other);
                without_noise(stored, one, other) == wanted
            }
            _ => false,
        });
    is_as_before && kinds_of_rest(&stored, &certain) == kinds_of_rest(&one, &certain)
}

fn by_identity(objects: &[Value]) -> BTreeMap<Identity, &Value> {
    let identity = |object: &Value| {
        let pointers = ["/apiVersion", "/kind", "/metadata/namespace", "/metadata/name"];
        pointers.map(|pointer| {
            object
                .pointer(pointer)
                .and_then(Value::as_str)
                .unwrap_or_default()
                .to_owned()
        })
    };
    objects.iter().map(|object| (identity(object), object)).collect()
}

fn kinds_of_rest<'a>(
    objects: &'a BTreeMap<Identity, &Value>,
    certain: &BTreeSet<&Identity>,
) -> BTreeMap<(&'a str, &'a str), usize> {
    let mut kinds = BTreeMap::new();
    for id in objects.keys().filter(|id| !certain.contains(id)) {
        let [api_version, kind, ..] = id;
        *kinds.entry((api_version.as_str(), kind.as_str())).or_default() += 1;
    }
    kinds
}

/// `value` with a mark in each place where `one` and `other` differ. Of texts with as many lines each, the lines
/// that differ are such places. The depth is bounded by the reader of YAML.
fn without_noise(value: &Value, one: &Value, other: &Value) -> Value {
    if one == other {
        return value.clone();
    }
    match (value, one, other) {
        (Value::Object(value), Value::Object(one), Value::Object(other)) => {
            let certain = one.len() == other.len() && one.keys().all(|key| other.contains_key(key));
            let mut cleaned = Map::new();
            for (key, value) in value {
                match (one.get(key), other.get(key)) {
                    (Some(one), Some(other)) => {
                        cleaned.insert(key.clone(), without_noise(value, one, other));
                    }
                    (None, None) if certain => {
                        cleaned.insert(key.clone(), value.clone());
                    }
                    // It is there or not by chance.
                    _ => {}
                }
            }
            Value::Object(cleaned)
        }
        (Value::Array(value), Value::Array(one), Value::Array(other))
            if one.len() == other.len() && one.len() == value.len() =>
        {
            let items = value.iter().zip(one).zip(other);
            Value::Array(
                items
                    .map(|((value, one), other)| without_noise(value, one, other))
                    .collect(),
            )
        }
        (Value::String(value), Value::String(one), Value::String(other)) => {
            let lines = |text: &'_ str| text.split('\n').map(str::to_owned).collect::<Vec<_>>();
            let (value, one, other) = (lines(value), lines(one), lines(other));
            if one.len() != other.len() || one.len() == 1 {
                return NOISE.into();
            }
            if value.len() != one.len() {
                return value.join("\n").into();
            }
            let lines = value.into_iter().zip(one.iter().zip(&other));
            let cleaned =
                lines.map(|(value, (one, other))| if one == other { value } else { NOISE.to_owned() });
            cleaned.collect::<Vec<_>>().join("\n").into()
        }
        // A list whose length is certain and is another one now.
        (Value::Array(_), Value::Array(one), Value::Array(other)) if one.len() == other.len() => {
            value.clone()
        }
        _ => NOISE.into(),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn map(name: &str, data: Value) -> Value {
        json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name}, "data": data})
    }

    fn check(stored: Value, one: Value, other: Value, same: bool) {
        let stored = map("a", stored);
        let (one, other) = (map("a", one), map("a", other));
        let found = is_same_but_for_noise(
            std::slice::from_ref(&stored),
            std::slice::from_ref(&one),
            std::slice::from_ref(&other),
        );
        assert_eq!(found, same, "{stored} {one} {other}");
    }

    #[test]
    fn without_anything_random_every_difference_counts() {
        check(json!({"a": 1}), json!({"a": 1}), json!({"a": 1}), true);
        check(json!({"a": 2}), json!({"a": 1}), json!({"a": 1}), false);
        check(json!({"a": 1, "b": 1}), json!({"a": 1}), json!({"a": 1}), false);
        check(json!({}), json!({"a": 1}), json!({"a": 1}), false);
        check(json!({"a": [1, 2]}), json!({"a": [1]}), json!({"a": [1]}), false);
    }

    #[test]
    fn what_is_random_does_not_count_and_all_else_does() {
        let random = |text: &str, color: &str| json!({"token": text, "color": color});
        check(random("x", "red"), random("y", "red"), random("z", "red"), true);
        check(
            random("x", "red"),
            random("y", "blue"),
            random("z", "blue"),
            false,
        );
        let file = |text: &str, color: &str| json!({"file": format!("token={text}\ncolor={color}\n")});
        check(file("x", "red"), file("y", "red"), file("z", "red"), true);
        check(file("x", "red"), file("y", "blue"), file("z", "blue"), false);
        check(
            json!({"file": "token=x\n"}),
            file("y", "red"),
            file("z", "red"),
            false,
        );
        let list = |text: &str, color: &str| json!({"list": [text, color]});
        check(list("x", "red"), list("y", "red"), list("z", "red"), true);
        check(list("x", "red"), list("y", "blue"), list("z", "blue"), false);
        check(json!({"list": ["x"]}), list("y", "red"), list("z", "red"), false);
    }

    #[test]
    fn random_keys_lengths_and_names_do_not_count() {
        let keyed = |key: &str, color: &str| json!({key: 1, "color": color});
        check(keyed("x", "red"), keyed("y", "red"), keyed("z", "red"), true);
        check(keyed("x", "red"), keyed("y", "blue"), keyed("z", "blue"), false);
        check(json!({}), json!({"token": "y"}), json!({"token": "z"}), false);
        check(
            json!({"l": [1]}),
            json!({"l": [1, 2]}),
            json!({"l": [1, 2, 3]}),
            true,
        );
        let objects =
            |name: &str, color: &str| vec![map(name, json!({})), map("sure", json!({"color": color}))];
        let same = |stored: &[Value], color: &str| {
            is_same_but_for_noise(stored, &objects("b", color), &objects("c", color))
        };
        assert!(same(&objects("a", "red"), "red"));
        assert!(!same(&objects("a", "red"), "blue"));
        assert!(!same(&objects("a", "red")[1..], "red"), "one fewer");
        assert!(
            !same(&[objects("a", "red"), objects("d", "red")].concat(), "red"),
            "one more"
        );
    }
}

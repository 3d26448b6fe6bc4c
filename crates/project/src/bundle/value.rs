//! Looking into JSON objects of Kubernetes.

use serde_json::{Map, Value};

/// The text at a JSON pointer, empty if there is none.
pub(super) fn text<'a>(object: &'a Value, pointer: &str) -> &'a str {
    object
        .pointer(pointer)
        .and_then(Value::as_str)
        .unwrap_or_default()
}

/// The list at a JSON pointer, empty if there is none.
pub(super) fn list<'a>(object: &'a Value, pointer: &str) -> &'a [Value] {
    object
        .pointer(pointer)
        .and_then(Value::as_array)
        .map_or(&[], Vec::as_slice)
}

/// `metadata.name`; empty where it is missing.
pub(super) fn name(object: &Value) -> &str {
    text(object, "/metadata/name")
}

/// The namespace of an object, empty if it has none.
pub(super) fn namespace(object: &Value) -> &str {
    text(object, "/metadata/namespace")
}

/// Group and version of an object's `apiVersion`; the group is empty for the core.
pub(super) fn group_version(object: &Value) -> (&str, &str) {
    let text = text(object, "/apiVersion");
    text.split_once('/').unwrap_or(("", text))
}

/// The object under a key, made where it is missing or something else.
pub(super) fn child<'a>(object: &'a mut Map<String, Value>, key: &str) -> &'a mut Map<String, Value> {
    let value = object.entry(key).or_insert(Value::Null);
    if !value.is_object() {
        *value = Value::Object(Map::new());
    }
    value.as_object_mut().expect("an object was put there")
}

/// An object as it is handed over: without its namespace, which OLM chooses, and without what a server adds.
pub(super) fn portable(mut object: Value) -> Value {
    if let Some(map) = object.as_object_mut() {
        map.remove("status");
        if let Some(metadata) = map.get_mut("metadata").and_then(Value::as_object_mut) {
            for key in ["namespace", "creationTimestamp"] {
                metadata.remove(key);
            }
        }
    }
    object
}

/// A value with the keys of all objects in order, whatever order the map has.
pub(super) fn sorted(value: &Value) -> Value {
    match value {
        Value::Object(map) => {
            let mut keys: Vec<&String> = map.keys().collect();
            keys.sort();
            keys.into_iter()
                .map(|key| (key.clone(), sorted(&map[key])))
                .collect::<Map<_, _>>()
                .into()
        }
        Value::Array(items) => items.iter().map(sorted).collect(),
        other => other.clone(),
    }
}

/// Words from a name in camel case, or with dashes, dots or underscores: `memcached-operator` is `Memcached Operator`.
pub(super) fn display_name(name: &str) -> String {
    let mut words = String::new();
    let mut before: Option<char> = None;
    for character in name.chars() {
        let splits = character.is_uppercase()
            && before.is_some_and(|before| before.is_alphanumeric() && !before.is_uppercase());
        if matches!(character, '-' | '.' | '_' | ' ') {
            words.push(' ');
        } else {
            if splits {
                words.push(' ');
            }
            words.push(character);
        }
        before = Some(character);
    }
    let capitalised = words.split_whitespace().map(|word| {
        let mut characters = word.chars();
        let first = characters.next().into_iter().flat_map(char::to_uppercase);
        first.chain(characters).collect::<String>()
    });
    capitalised.collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use super::display_name;

    #[test]
    fn names_become_words() {
        for (name, expect) in [
            ("memcached-operator", "Memcached Operator"),
            ("replicaCount", "Replica Count"),
            ("my..odd__name", "My Odd Name"),
            ("enableTLS", "Enable TLS"),
            ("VisitorsSite", "Visitors Site"),
            ("", ""),
        ] {
            assert_eq!(display_name(name), expect, "{name}");
        }
    }
}

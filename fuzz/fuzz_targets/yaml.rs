//! Reading YAML, and writing what was read: it reads back as the same value.

#![no_main]

use libfuzzer_sys::fuzz_target;
use serde_json::Value;
use steersman_yaml::{parse_bytes, parse_documents, to_json, to_string, to_string_pretty};

fuzz_target!(|input: &[u8]| {
    if let Ok(text) = std::str::from_utf8(input) {
        let _ = parse_documents(text);
    }
    let Ok(node) = parse_bytes(input) else { return };
    let Ok(value) = node.into_json() else { return };
    let _ = to_string_pretty(&value);
    let text = to_string(&value);
    // Infinities and overlong keys can be read, but not written.
    if text.is_empty() || has_merge_key(&value) {
        return;
    }
    match to_json(&text) {
        Ok(again) => assert!(same(&again, &value), "{value} became {again} by {text:?}"),
        Err(error) => panic!("{value} cannot be read back: {error}: {text:?}"),
    }
});

/// Whether a key is `<<`, which goyaml writes plain, so that it merges when it is read.
fn has_merge_key(value: &Value) -> bool {
    match value {
        Value::Array(items) => items.iter().any(has_merge_key),
        Value::Object(entries) => entries
            .iter()
            .any(|(key, value)| key == "<<" || has_merge_key(value)),
        _ => false,
    }
}

/// Equality by which a whole float is an integer, as it is written like one.
fn same(left: &Value, right: &Value) -> bool {
    match (left, right) {
        (Value::Number(left), Value::Number(right)) => left == right || left.as_f64() == right.as_f64(),
        (Value::Array(left), Value::Array(right)) => {
            left.len() == right.len() && left.iter().zip(right).all(|(left, right)| same(left, right))
        }
        (Value::Object(left), Value::Object(right)) => {
            left.len() == right.len()
                && left
                    .iter()
                    .all(|(key, value)| right.get(key).is_some_and(|other| same(value, other)))
        }
        _ => left == right,
    }
}

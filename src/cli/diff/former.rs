//! What an object had, where that may be secret and nobody can tell: what was in a Secret before.

use std::collections::BTreeSet;

use serde_json::Value;

use super::text::MASK;

/// Shorter texts are not masked anywhere: they occur in ordinary words.
const SHORTEST: usize = 4;

/// `before` with a mask for each line of a text, and each number, that `after` does not have. What that has is shown there.
pub(super) fn without_former(before: &Value, after: &Value) -> Value {
    let mut kept = BTreeSet::new();
    gather(after, &mut kept);
    masked(before, &kept)
}

fn gather(value: &Value, lines: &mut BTreeSet<String>) {
    match value {
        Value::String(text) => lines.extend(text.split('\n').map(str::to_owned)),
        Value::Number(number) => lines.extend([number.to_string()]),
        Value::Array(items) => items.iter().for_each(|item| gather(item, lines)),
        Value::Object(map) => map.values().for_each(|item| gather(item, lines)),
        Value::Null | Value::Bool(_) => {}
    }
}

fn masked(value: &Value, kept: &BTreeSet<String>) -> Value {
    let is_shown = |text: &str| text.trim().len() < SHORTEST || kept.contains(text);
    match value {
        Value::String(text) => {
            let lines = text.split('\n');
            let lines = lines.map(|line| if is_shown(line) { line } else { MASK });
            Value::String(lines.collect::<Vec<_>>().join("\n"))
        }
        Value::Number(number) if !is_shown(&number.to_string()) => MASK.into(),
        Value::Array(items) => items.iter().map(|item| masked(item, kept)).collect(),
        Value::Object(map) => {
            let items = map.iter();
            let items = items.map(|(key, item)| (key.clone(), masked(item, kept)));
            Value::Object(items.collect())
        }
        Value::Null | Value::Bool(_) | Value::Number(_) => value.clone(),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn what_an_object_has_no_longer_is_masked_line_by_line() {
        let before = json!({"image": "shop:1", "port": 8080, "replicas": 2, "ready": true, "pin": 123_456,
            "args": ["--user", "canary"], "config": "port=8080\nword=canary\n\nend of it"});
        let after = json!({"image": "shop:2", "port": 8080, "replicas": 3, "ready": false, "args": ["--user"],
            "config": "port=8080\nword=other\nend of it"});
        let shown = without_former(&before, &after);
        let expected = json!({"image": "***", "port": 8080, "replicas": 2, "ready": true, "pin": "***",
            "args": ["--user", "***"], "config": "port=8080\n***\n\nend of it"});
        assert_eq!(shown, expected);
    }
}

//! Objects as text, with what is secret masked.

use std::collections::BTreeSet;
use std::time::Duration;

use serde_json::{Map, Value};
use similar::TextDiff;
use steersman_model::harmless;
use steersman_operator::status::Redactor;

/// kubectl's annotation with all of an object, values of a Secret included.
const LAST_APPLIED: &str = "kubectl.kubernetes.io/last-applied-configuration";
const MASK: &str = "***";
/// For so long the shortest difference is looked for: what is found then is right, and longer.
const LONGEST: Duration = Duration::from_millis(500);
/// Shorter texts are not masked anywhere: they occur in ordinary words.
const SHORTEST: usize = 4;

/// Two states of an object.
pub(crate) struct States {
    pub(crate) name: String,
    pub(crate) before: Option<Value>,
    pub(crate) after: Option<Value>,
}

/// What differs between two states of an object, as a unified diff of its YAML; `name` is in its first lines. What a Secret has is
/// never in it: what changes there, changes its mask. `None` where only what is masked differs, or nothing.
pub fn unified(
    name: &str,
    before: Option<&Value>,
    after: Option<&Value>,
    redactor: &Redactor,
) -> Option<String> {
    let states = States {
        name: name.to_owned(),
        before: before.cloned(),
        after: after.cloned(),
    };
    unified_all(&[states], redactor).pop().flatten()
}

/// The same of each of these, in their order. All are masked together: that takes not much longer than one of them.
pub(crate) fn unified_all(states: &[States], redactor: &Redactor) -> Vec<Option<String>> {
    let text = |object: Option<Value>| object.as_ref().map(steersman_yaml::to_string);
    let states_of = |states: &States| masked(states.before.as_ref(), states.after.as_ref());
    let mut both: Vec<_> = states.iter().map(states_of).collect();
    let objects = both.iter_mut();
    mask_long(
        objects.flat_map(|(before, after)| before.iter_mut().chain(after)),
        redactor,
    );
    let texts = both
        .into_iter()
        .map(|(before, after)| (text(before), text(after)));
    let texts: Vec<_> = texts.collect();
    let both = texts.iter().flat_map(|(before, after)| [before, after]);
    let both: Vec<&str> = both.map(|text| text.as_deref().unwrap_or_default()).collect();
    let masked = redactor.mask_all(&both);
    let masked = masked.iter().map(|text| harmless(text)).collect::<Vec<_>>();
    let unified = states.iter().zip(masked.chunks(2)).map(|(states, pair)| {
        let [old, new] = pair else { return None };
        let name = harmless(&states.name);
        let of = |object: &Option<Value>| {
            if object.is_some() {
                name.as_str()
            } else {
                "/dev/null"
            }
        };
        unified_text((of(&states.before), old), (of(&states.after), new))
    });
    unified.collect()
}

/// What differs between two texts, each with its name, as a unified diff; `None` where nothing does. All differences are made here:
/// what looks for them takes 150 kB wherever it is called.
pub fn unified_text((of_old, old): (&str, &str), (of_new, new): (&str, &str)) -> Option<String> {
    if old == new {
        return None;
    }
    let diff = TextDiff::configure().timeout(LONGEST).diff_lines(old, new);
    let mut unified = diff.unified_diff();
    Some(unified.context_radius(3).header(of_old, of_new).to_string())
}

/// An object as YAML, without what only the server counts. What a Secret has is masked.
pub fn yaml(object: &Value, redactor: &Redactor) -> String {
    let (mut object, _) = masked(Some(object), None);
    let metadata = object.as_mut().and_then(|object| object.get_mut("metadata"));
    if let Some(metadata) = metadata.and_then(Value::as_object_mut) {
        metadata.remove("managedFields");
    }
    mask_long(object.iter_mut(), redactor);
    let text = object.as_ref().map(steersman_yaml::to_string);
    harmless(&redactor.mask(&text.unwrap_or_default()))
}

/// Masks the texts of several lines: in YAML each line is behind others' indentation.
fn mask_long<'a>(objects: impl Iterator<Item = &'a mut Value>, redactor: &Redactor) {
    let mut open: Vec<&mut Value> = objects.collect();
    let mut long = Vec::new();
    while let Some(value) = open.pop() {
        match value {
            Value::String(text) if text.contains('\n') => long.push(text),
            Value::Array(items) => open.extend(items),
            Value::Object(map) => open.extend(map.values_mut()),
            _ => {}
        }
    }
    let texts: Vec<&str> = long.iter().map(|text| text.as_str()).collect();
    let masked = redactor.mask_all(&texts);
    for (text, masked) in long.into_iter().zip(masked) {
        *text = masked;
    }
}

/// Both states without the values of a Secret: what changes, changes its mask.
fn masked(before: Option<&Value>, after: Option<&Value>) -> (Option<Value>, Option<Value>) {
    let is_secret = |object: &Value| object["apiVersion"] == "v1" && object["kind"] == "Secret";
    let (mut before, mut after) = (before.cloned(), after.cloned());
    if !before.iter().chain(&after).any(is_secret) {
        return (before, after);
    }
    for object in before.iter_mut().chain(&mut after) {
        if let Some(annotations) = object
            .pointer_mut("/metadata/annotations")
            .and_then(Value::as_object_mut)
            && let Some(value) = annotations.get_mut(LAST_APPLIED)
        {
            *value = MASK.into();
        }
    }
    for part in ["data", "stringData"] {
        let values = |object: &Option<Value>| -> Map<String, Value> {
            let part = object.as_ref().and_then(|object| object.get(part));
            part.and_then(Value::as_object).cloned().unwrap_or_default()
        };
        let (old, new) = (values(&before), values(&after));
        let mask =
            |values: &Map<String, Value>, others: &Map<String, Value>, when: &str| -> Map<String, Value> {
                let masks = values.iter().map(|(key, value)| {
                    let changes = others.get(key).is_some_and(|other| other != value);
                    let mask = if changes {
                        format!("{MASK} ({when})")
                    } else {
                        MASK.to_owned()
                    };
                    (key.clone(), mask.into())
                });
                masks.collect()
            };
        for (object, masks) in [
            (&mut before, mask(&old, &new, "before")),
            (&mut after, mask(&new, &old, "after")),
        ] {
            if let Some(values) = object.as_mut().and_then(|object| object.get_mut(part)) {
                *values = Value::Object(masks);
            }
        }
    }
    (before, after)
}

/// `before` with a mask for each line of a text, and each number, that `after` does not have, for where it may be secret and nobody
/// can tell: what was in a Secret before. What `after` has is shown there.
pub fn without_former(before: &Value, after: &Value) -> Value {
    let mut kept = BTreeSet::new();
    gather(after, &mut kept);
    without(before, &kept)
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

fn without(value: &Value, kept: &BTreeSet<String>) -> Value {
    let is_shown = |text: &str| text.trim().len() < SHORTEST || kept.contains(text);
    match value {
        Value::String(text) => {
            let lines = text.split('\n');
            let lines = lines.map(|line| if is_shown(line) { line } else { MASK });
            Value::String(lines.collect::<Vec<_>>().join("\n"))
        }
        Value::Number(number) if !is_shown(&number.to_string()) => MASK.into(),
        Value::Array(items) => items.iter().map(|item| without(item, kept)).collect(),
        Value::Object(map) => {
            let items = map.iter();
            let items = items.map(|(key, item)| (key.clone(), without(item, kept)));
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

    #[test]
    fn a_secret_of_short_lines_is_masked_as_a_whole() {
        let secret =
            json!({"apiVersion": "v1", "kind": "Secret", "stringData": {"codes": "ab12-9z\ncd34-8y\n"}});
        let mut redactor = Redactor::default();
        redactor.add_object(&secret);
        let copy = json!({"kind": "ConfigMap", "data": {"codes": "ab12-9z\ncd34-8y\n", "within": "of\nab12-9z\ncd34-8y\nit"}});
        let shown = [
            yaml(&copy, &redactor),
            unified("a", None, Some(&copy), &redactor).unwrap(),
        ];
        for text in shown {
            assert!(!text.contains("ab12") && !text.contains("cd34"), "{text}");
        }
    }

    #[test]
    fn yaml_has_no_value_of_a_secret() {
        let secret = json!({"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "a", "managedFields": [{"manager": "x"}],
            "annotations": {LAST_APPLIED: "canary"}}, "data": {"password": "Y2FuYXJ5LTI="}});
        let text = yaml(&secret, &Redactor::new([], &json!({"password": "canary"})));
        assert!(
            text.contains("password: '***'") || text.contains("password: \"***\""),
            "{text}"
        );
        assert!(
            !text.contains("canary") && !text.contains("Y2Fu") && !text.contains("managedFields"),
            "{text}"
        );
    }
}

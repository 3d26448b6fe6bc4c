//! Foreseeing what goes from an object when the fields of its former manager become ours.
//!
//! An apply takes away what we owned and no longer send, unless somebody else owns it, too. A dry run of it knows only
//! what we own already, so what the takeover adds to that is worked out here, by the rules of server-side apply
//! (structured-merge-diff's `prune`). What the server makes of the rest, such as defaults, it can be asked.

use k8s_openapi::apimachinery::pkg::apis::meta::v1::ManagedFieldsEntry;
use serde_json::{Map, Value};

use crate::apply::ownership::takeover::TakenOver;

/// `applied`, which is the answer to a dry run, without the values that are owned only by whom the object is taken over
/// from. `None` if all of them stay.
pub(in crate::apply) fn without_dropped(
    applied: &Value,
    after: &[ManagedFieldsEntry],
    taken_over: &TakenOver<'_>,
) -> Option<Value> {
    let owners: Vec<&Value> = after
        .iter()
        .filter(|entry| !taken_over.is_former(entry))
        .filter_map(|entry| entry.fields_v1.as_ref().map(|fields| &fields.0))
        .collect();
    let mut pruned = applied.clone();
    prune(&mut pruned, taken_over.fields(), &owners);
    (pruned != *applied).then_some(pruned)
}

/// Takes out of `value` what `fields` name and no set of `owners` does.
fn prune(value: &mut Value, fields: &Value, owners: &[&Value]) {
    let Some(fields) = fields.as_object() else { return };
    for (key, inner) in fields.iter().filter(|(key, _)| *key != ".") {
        let owning: Vec<&Value> = owners.iter().filter_map(|owner| owner.get(key)).collect();
        if owning.is_empty() && is_member(key, inner) {
            remove(value, key);
        } else if !owning.iter().any(|owner| is_leaf(owner))
            && let Some(child) = child_mut(value, key)
        {
            prune(child, inner, &owning);
        }
    }
}

/// A set without fields stands for the whole value.
fn is_leaf(fields: &Value) -> bool {
    fields.as_object().is_none_or(Map::is_empty)
}

/// Whether the value itself is owned, and not only something inside of it. That goes without saying for fields of a
/// struct; items have a `.` for it.
fn is_member(key: &str, inner: &Value) -> bool {
    key.starts_with("f:") || is_leaf(inner) || inner.get(".").is_some()
}

fn remove(value: &mut Value, key: &str) {
    match value {
        Value::Object(map) => {
            if let Some(name) = key.strip_prefix("f:") {
                map.remove(name);
            }
        }
        Value::Array(items) => {
            if let Some(place) = place_of(items, key) {
                items.remove(place);
            }
        }
        _ => {}
    }
}

fn child_mut<'a>(value: &'a mut Value, key: &str) -> Option<&'a mut Value> {
    match value {
        Value::Object(map) => map.get_mut(key.strip_prefix("f:")?),
        Value::Array(items) => {
            let place = place_of(items, key)?;
            items.get_mut(place)
        }
        _ => None,
    }
}

/// Where the item is that a set of fields names by its keys, its value or its place.
fn place_of(items: &[Value], key: &str) -> Option<usize> {
    let (kind, text) = key.split_at_checked(2)?;
    let named: Value = serde_json::from_str(text).ok()?;
    match kind {
        "k:" => {
            let keys = named.as_object()?;
            let is_it = |item: &Value| keys.iter().all(|(name, value)| item.get(name) == Some(value));
            items.iter().position(is_it)
        }
        "v:" => items.iter().position(|item| *item == named),
        "i:" => usize::try_from(named.as_u64()?)
            .ok()
            .filter(|place| *place < items.len()),
        _ => None,
    }
}

/// The JSON merge patch (RFC 7396) that makes `to` of `from`; `None` if they are the same.
pub(in crate::apply) fn merge_patch(from: &Value, to: &Value) -> Option<Value> {
    let (Value::Object(old), Value::Object(new)) = (from, to) else {
        return (from != to).then(|| to.clone());
    };
    let mut patch = Map::new();
    for (key, value) in new {
        let change = old
            .get(key)
            .map_or_else(|| Some(value.clone()), |old| merge_patch(old, value));
        patch.extend(change.map(|change| (key.clone(), change)));
    }
    let gone = old.keys().filter(|key| !new.contains_key(*key));
    patch.extend(gone.map(|key| (key.clone(), Value::Null)));
    (!patch.is_empty()).then_some(Value::Object(patch))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn entry(manager: &str, operation: &str, fields: &Value) -> Value {
        json!({"manager": manager, "operation": operation, "apiVersion": "v1", "fieldsType": "FieldsV1", "fieldsV1": fields})
    }

    fn entries(entries: &[Value]) -> Vec<ManagedFieldsEntry> {
        let entries = entries
            .iter()
            .map(|entry| serde_json::from_value(entry.clone()).unwrap());
        entries.collect()
    }

    /// What stays of `value` when Helm has owned `helms`, we apply `ours`, and `theirs` is somebody else's.
    fn check(value: &Value, helms: Value, ours: &Value, theirs: &Value, expect: Option<Value>) {
        let mut helms = helms;
        helms["f:metadata"]["f:annotations"]["f:meta.helm.sh/release-name"] = json!({});
        let helm = entry("helm", "Update", &helms);
        let kubectl = entry("kubectl", "Update", theirs);
        let before = entries(&[kubectl.clone(), helm.clone()]);
        let after = entries(&[entry("steersman", "Apply", ours), kubectl, helm]);
        let taken_over = TakenOver::of(&before, &[]).unwrap();
        assert_eq!(without_dropped(value, &after, &taken_over), expect, "{value}");
    }

    #[test]
    fn what_nobody_else_owns_goes() {
        check(
            &json!({"data": {"a": "1", "b": "2", "c": "3"}, "metadata": {"labels": {"x": "y"}, "annotations": {"n": "1"}}}),
            json!({"f:data": {".": {}, "f:a": {}, "f:b": {}, "f:c": {}}, "f:metadata": {"f:labels": {"f:x": {}}}}),
            &json!({"f:data": {"f:a": {}}, "f:metadata": {"f:annotations": {"f:n": {}}}}),
            &json!({"f:data": {"f:b": {}}}),
            Some(json!({"data": {"a": "1", "b": "2"}, "metadata": {"annotations": {"n": "1"}}})),
        );
        let same = json!({"f:data": {"f:a": {}}});
        check(
            &json!({"data": {"a": "1"}}),
            same.clone(),
            &same,
            &json!({}),
            None,
        );
    }

    #[test]
    fn items_go_by_key_by_value_and_by_place() {
        check(
            &json!({"c": [{"name": "a", "image": "1", "env": [{"name": "X", "value": "1"}]}, {"name": "b", "image": "2"}],
                "v": ["p", "q"], "i": [1, 2]}),
            json!({"f:c": {"k:{\"name\":\"a\"}": {".": {}, "f:name": {}, "f:image": {}, "f:env": {"k:{\"name\":\"X\"}": {".": {}, "f:name": {}}}},
                    "k:{\"name\":\"b\"}": {".": {}, "f:name": {}, "f:image": {}}},
                "f:v": {"v:\"p\"": {}, "v:\"q\"": {}}, "f:i": {"i:1": {}, "i:7": {}}}),
            &json!({"f:c": {"k:{\"name\":\"a\"}": {".": {}, "f:name": {}, "f:image": {}}}, "f:v": {"v:\"p\"": {}}, "f:i": {"i:0": {}}}),
            &json!({}),
            Some(json!({"c": [{"name": "a", "image": "1"}], "v": ["p"], "i": [1]})),
        );
    }

    #[test]
    fn what_somebody_owns_as_a_whole_stays_whole() {
        check(
            &json!({"spec": {"selector": {"a": "1", "b": "2"}}}),
            json!({"f:spec": {"f:selector": {"f:a": {}, "f:b": {}}}}),
            &json!({"f:spec": {"f:selector": {}}}),
            &json!({}),
            None,
        );
        // A part of an item is somebody's, the item itself nobody's whom it could be taken from.
        check(
            &json!({"c": [{"name": "a", "image": "1"}]}),
            json!({"f:c": {"k:{\"name\":\"a\"}": {"f:image": {}}}}),
            &json!({}),
            &json!({}),
            Some(json!({})),
        );
    }

    #[test]
    fn a_patch_says_no_more_than_what_differs() {
        let check = |from: Value, to: Value, expect: Option<Value>| {
            let patch = merge_patch(&from, &to);
            assert_eq!(patch, expect, "{from} {to}");
        };
        check(
            json!({"a": 1, "b": {"c": [1]}}),
            json!({"a": 1, "b": {"c": [1]}}),
            None,
        );
        check(
            json!({"a": 1, "b": {"c": [1], "d": 1}, "e": {}}),
            json!({"b": {"c": [1, 2], "d": 1}, "e": {"f": 1}, "g": "x"}),
            Some(json!({"a": null, "b": {"c": [1, 2]}, "e": {"f": 1}, "g": "x"})),
        );
    }
}

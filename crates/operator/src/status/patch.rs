//! Writing a status.

use kube::api::{Api, DynamicObject, Patch, PatchParams};
use serde_json::{Map, Value, json};
use steersman_cluster::RequestError;
use steersman_model::FIELD_MANAGER;

/// The status could not be written.
#[derive(Debug, thiserror::Error)]
#[error("failed to write the status")]
pub struct StatusError(#[source] pub RequestError);

/// Writes what is different in `next`, if the object has this `version` yet, where one is given. `None` when nothing is different,
/// or when the object is gone.
///
/// # Errors
/// The server refuses the request.
pub async fn write_status(
    api: &Api<DynamicObject>,
    name: &str,
    (uid, version): (&str, Option<&str>),
    current: &Value,
    next: &Value,
) -> Result<Option<DynamicObject>, StatusError> {
    let changed = difference(current, next);
    if changed.is_empty() {
        return Ok(None);
    }
    // Under its UID: a resource of the same name that was created meanwhile is another one.
    let mut patch = json!({ "metadata": { "uid": uid }, "status": changed });
    if let Some(version) = version {
        patch["metadata"]["resourceVersion"] = version.into();
    }
    let patch = Patch::Merge(patch);
    let parameters = PatchParams {
        field_manager: Some(FIELD_MANAGER.to_owned()),
        ..PatchParams::default()
    };
    match api.patch_status(name, &parameters, &patch).await {
        Ok(object) if object.metadata.uid.as_deref() == Some(uid) => Ok(Some(object)),
        // Whatever stands between us and the server may answer, too.
        Ok(_) => Err(StatusError(RequestError::local(
            "the server's answer is not the resource",
        ))),
        Err(kube::Error::Api(status)) if status.is_not_found() => {
            without_subresource(api, name, &parameters, &patch).await
        }
        Err(error) => Err(StatusError(error.into())),
    }
}

/// A definition need not have a status subresource. Or the object is gone.
async fn without_subresource(
    api: &Api<DynamicObject>,
    name: &str,
    parameters: &PatchParams,
    patch: &Patch<Value>,
) -> Result<Option<DynamicObject>, StatusError> {
    match api.patch(name, parameters, patch).await {
        Ok(object) => Ok(Some(object)),
        Err(kube::Error::Api(status)) if status.is_not_found() => Ok(None),
        Err(error) => Err(StatusError(error.into())),
    }
}

/// A merge patch for the keys at the top of the status: what one of them no longer holds, goes.
fn difference(current: &Value, next: &Value) -> Map<String, Value> {
    let mut patch = Map::new();
    for (key, value) in next.as_object().into_iter().flatten() {
        if !is_same(current.get(key), value) {
            patch.insert(key.clone(), merge_patch(current.get(key), value));
        }
    }
    patch
}

/// Whether this is there, as the server keeps it: without the nulls of maps, and with `1` for `1.0`.
fn is_same(current: Option<&Value>, next: &Value) -> bool {
    let is_there = |value: &Value| !value.is_null();
    match (current, next) {
        (None, next) => next.is_null(),
        (Some(Value::Object(current)), Value::Object(next)) => {
            let stays =
                |(key, value): (&String, &Value)| !is_there(value) || next.get(key).is_some_and(is_there);
            let mut all = next.iter();
            all.all(|(key, value)| is_same(current.get(key), value)) && current.iter().all(stays)
        }
        (Some(Value::Array(current)), Value::Array(next)) => {
            let mut both = current.iter().zip(next);
            current.len() == next.len() && both.all(|(current, next)| is_same(Some(current), next))
        }
        (Some(Value::Number(current)), Value::Number(next)) => {
            let is_exact = current.is_i64() && next.is_i64();
            current == next || !is_exact && current.as_f64() == next.as_f64()
        }
        (Some(current), next) => current == next,
    }
}

/// What makes `current` into `next`, as RFC 7396 has it.
fn merge_patch(current: Option<&Value>, next: &Value) -> Value {
    let (Some(Value::Object(current)), Value::Object(next)) = (current, next) else {
        return next.clone();
    };
    let mut patch = Map::new();
    for key in current.keys().filter(|key| !next.contains_key(*key)) {
        patch.insert(key.clone(), Value::Null);
    }
    for (key, value) in next {
        if !is_same(current.get(key), value) {
            patch.insert(key.clone(), merge_patch(current.get(key), value));
        }
    }
    Value::Object(patch)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_patch_takes_away_what_is_not_wanted_any_longer() {
        let current =
            json!({"deployedRelease": {"name": "a", "manifest": "long"}, "revision": 1, "theirs": {"x": 1}});
        let next = json!({"deployedRelease": {"name": "a"}, "revision": 2, "theirs": {"x": 1}, "chart": {"name": "c"}});
        let expect = json!({"deployedRelease": {"manifest": null}, "revision": 2, "chart": {"name": "c"}});
        assert_eq!(Value::Object(difference(&current, &next)), expect);
        assert_eq!(difference(&next, &next), Map::new());
    }

    #[test]
    fn what_the_server_writes_in_its_own_way_is_no_difference() {
        let kept = json!({"result": {"size": 1, "list": [{"a": 2}, null]}});
        let said = json!({"result": {"size": 1.0, "error": null, "list": [{"a": 2.0, "b": null}, null]}});
        assert_eq!(difference(&kept, &said), Map::new());
        for other in [
            json!({"size": 2}),
            json!({"list": [{"a": 2}]}),
            json!({"list": null}),
        ] {
            let mut next = said.clone();
            let keys = other.as_object().cloned().unwrap_or_default();
            next["result"].as_object_mut().unwrap().extend(keys);
            let expect = json!({ "result": other });
            assert_eq!(Value::Object(difference(&kept, &next)), expect);
        }
    }
}

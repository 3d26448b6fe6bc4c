//! Healing what an apply can't heal.
//!
//! The server merges some lists by a key of their items: the ports of a Service by number, for
//! one. When somebody changes the key of our item, the item is theirs; applying ours again puts
//! it beside theirs, and the server refuses two ports of one name. Such lists are replaced as a
//! whole, and fields that are forbidden beside what the chart wants now are taken away, provided nobody wrote the object
//! meanwhile.

use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use kube::api::{Api, DynamicObject, Patch, PatchParams};
use serde_json::{Map, Value, json};
use steersman_cluster::RequestError;
use steersman_watches::ConflictPolicy;

use super::forbidden::{is_of_others, without_forbidden};
use crate::apply::request::Existing;

/// Who writes the replacement. Fields written under another name than the applier's would stay
/// owned by it when a later revision drops them, so its entry is removed afterwards.
const HEALER: &str = "steersman-heal";

/// How often the healer's entry is taken out, where others write the object meanwhile.
const RELEASE_ATTEMPTS: u32 = 5;

/// The object could not be healed.
#[derive(Debug, thiserror::Error)]
pub enum HealError {
    /// Nothing of the object is known to be in the way, or it is another manager's who is not to be overruled.
    #[error("nothing of the object is in the way")]
    NothingToReplace,
    /// The object is invalid without that, too.
    #[error("the object is refused without what was in the way, too")]
    Refused,
    /// Another request failed.
    #[error("failed to {attempt}")]
    Request {
        /// A verb and its object, such as `read the object`.
        attempt: &'static str,
        /// What the server said.
        source: RequestError,
    },
}

/// Replaces every list of the live object that differs from that of `value`, or takes away what `refusal` says may not
/// stand beside `value`; then applies `value`.
pub(in crate::apply) async fn heal(
    existing: Existing<'_>,
    value: &Value,
    refusal: &RequestError,
    conflicts: ConflictPolicy,
) -> Result<ObjectMeta, HealError> {
    let failed = |attempt| {
        move |error: kube::Error| HealError::Request {
            attempt,
            source: error.into(),
        }
    };
    let Existing { api, name, uid } = existing;
    let live = api.get(name).await.map_err(failed("read the object"))?;
    let others = match conflicts {
        ConflictPolicy::Overwrite => false,
        ConflictPolicy::Fail if refusal.is_list_conflict() => true,
        ConflictPolicy::Fail => is_of_others(
            live.metadata.managed_fields.as_deref().unwrap_or_default(),
            refusal,
        ),
    };
    let patch = if refusal.is_list_conflict() {
        differing_lists(value, &live.data)
    } else {
        without_forbidden(value, &live.data, refusal)
    };
    let Some(Value::Object(mut patch)) = patch.filter(|_| !others) else {
        return Err(HealError::NothingToReplace);
    };
    patch.insert(
        "metadata".to_owned(),
        json!({ "uid": uid, "resourceVersion": live.metadata.resource_version }),
    );
    let parameters = PatchParams {
        field_manager: Some(HEALER.to_owned()),
        ..PatchParams::default()
    };
    match api
        .patch_metadata(name, &parameters, &Patch::Merge(Value::Object(patch)))
        .await
    {
        Ok(_) => {}
        Err(error) => {
            let error = RequestError::from(error);
            return Err(if error.is_invalid() {
                HealError::Refused
            } else {
                HealError::Request {
                    attempt: "take out what is in the way",
                    source: error,
                }
            });
        }
    }
    let applied = existing
        .apply(value, conflicts)
        .await
        .map_err(|source| HealError::Request {
            attempt: "apply the object again",
            source,
        })?;
    release_fields(api, name, applied)
        .await
        .map_err(failed("release the replaced fields"))
}

/// Takes the healer's entry out of `managedFields`. Controllers write the status of what was applied at just this moment:
/// given up for that, the entry would stay for good, as the next apply has nothing to heal.
async fn release_fields(
    api: &Api<DynamicObject>,
    name: &str,
    mut metadata: ObjectMeta,
) -> Result<ObjectMeta, kube::Error> {
    let uid = metadata.uid.clone();
    for _ in 1..RELEASE_ATTEMPTS {
        match release_fields_once(api, name, &metadata).await {
            Err(kube::Error::Api(status)) if status.code == 409 => {
                metadata = api.get_metadata(name).await?.metadata;
                if metadata.uid != uid {
                    return Ok(metadata);
                }
            }
            released => return released,
        }
    }
    release_fields_once(api, name, &metadata).await
}

async fn release_fields_once(
    api: &Api<DynamicObject>,
    name: &str,
    metadata: &ObjectMeta,
) -> Result<ObjectMeta, kube::Error> {
    let mut fields = metadata.managed_fields.clone().unwrap_or_default();
    let before = fields.len();
    fields.retain(|entry| entry.manager.as_deref() != Some(HEALER));
    if fields.len() == before {
        return Ok(metadata.clone());
    }
    let patch = json!({"metadata": {
        "resourceVersion": metadata.resource_version,
        "managedFields": fields,
    }});
    let parameters = PatchParams {
        field_manager: Some(HEALER.to_owned()),
        ..PatchParams::default()
    };
    Ok(api
        .patch_metadata(name, &parameters, &Patch::Merge(patch))
        .await?
        .metadata)
}

/// A merge patch of the lists in `wanted` that `live` has differently; `None` when there is none.
/// A list counts as different when an item of it is not wanted under any of the wanted ones.
fn differing_lists(wanted: &Value, live: &Value) -> Option<Value> {
    let (Value::Object(wanted), Value::Object(live)) = (wanted, live) else {
        return None;
    };
    let mut patch = Map::new();
    for (key, wanted) in wanted.iter().filter(|(key, _)| *key != "metadata") {
        let Some(live) = live.get(key) else { continue };
        match (wanted, live) {
            (Value::Array(items), Value::Array(found)) => {
                let alike = items.len() == found.len()
                    && items
                        .iter()
                        .zip(found)
                        .all(|(wanted, found)| is_within(wanted, found));
                if !alike {
                    patch.insert(key.clone(), Value::Array(items.clone()));
                }
            }
            (Value::Object(_), Value::Object(_)) => {
                if let Some(inner) = differing_lists(wanted, live) {
                    patch.insert(key.clone(), inner);
                }
            }
            _ => {}
        }
    }
    (!patch.is_empty()).then_some(Value::Object(patch))
}

/// Whether everything that `wanted` says is so in `found`.
fn is_within(wanted: &Value, found: &Value) -> bool {
    match (wanted, found) {
        (Value::Object(wanted), Value::Object(found)) => wanted
            .iter()
            .all(|(key, value)| found.get(key).is_some_and(|found| is_within(value, found))),
        (Value::Array(wanted), Value::Array(found)) => {
            wanted.len() == found.len() && wanted.iter().zip(found).all(|(a, b)| is_within(a, b))
        }
        _ => wanted == found,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(wanted: Value, live: Value, expect: Option<Value>) {
        assert_eq!(differing_lists(&wanted, &live), expect);
    }

    #[test]
    fn only_lists_that_differ_are_replaced() {
        check(
            json!({"spec": {"type": "ClusterIP", "ports": [{"name": "http", "port": 80}], "externalIPs": ["1.1.1.1"]}}),
            json!({"spec": {"ports": [{"name": "http", "port": 81, "protocol": "TCP"}], "externalIPs": ["1.1.1.1"]}}),
            Some(json!({"spec": {"ports": [{"name": "http", "port": 80}]}})),
        );
        check(
            json!({"spec": {"ports": [{"port": 80}]}}),
            json!({"spec": {"ports": [{"port": 80, "protocol": "TCP"}]}}),
            None,
        );
    }
}

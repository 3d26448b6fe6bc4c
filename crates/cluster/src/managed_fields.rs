//! What we own in an object, by which drift is seen.
//!
//! The server keeps, per manager, the set of fields that it applied. A value that somebody else
//! changes or removes leaves our set, and comes back into it when we apply again; a label that
//! somebody adds, a status, or the same value written by another leave it as it is. So a digest
//! of our entry in `managedFields`, remembered from the apply's response, tells drift by an
//! object's metadata alone.
//!
//! Anybody may call himself by our name, and apply the same fields with other values. The entry then
//! has another time: the server writes that, in seconds, when an apply changes anything, and leaves it
//! when one does not.

use k8s_openapi::apimachinery::pkg::apis::meta::v1::{ManagedFieldsEntry, ObjectMeta};
use steersman_model::{Digest, FIELD_MANAGER, OwnedFields, digest_of_json};
use steersman_watches::drift::{FieldPath, without_ignored};

/// Our entry in the `managedFields` of an object.
pub fn own_entry(metadata: &ObjectMeta) -> Option<&ManagedFieldsEntry> {
    metadata.managed_fields.as_ref()?.iter().find(|entry| {
        entry.manager.as_deref() == Some(FIELD_MANAGER)
            && entry.operation.as_deref() == Some("Apply")
            && entry.subresource.as_deref().unwrap_or_default().is_empty()
    })
}

/// The fields that we applied, but for those at `ignored`; `None` when we applied none.
///
/// ```
/// use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
/// use serde_json::json;
/// use steersman_cluster::owned_fields;
/// use steersman_watches::drift::FieldPath;
///
/// let metadata = |spec| -> Result<ObjectMeta, serde_json::Error> {
///     serde_json::from_value(json!({"managedFields": [{
///         "manager": "steersman", "operation": "Apply", "apiVersion": "apps/v1",
///         "fieldsType": "FieldsV1", "fieldsV1": {"f:spec": spec},
///     }]}))
/// };
/// let applied = metadata(json!({"f:replicas": {}, "f:paused": {}}))?;
/// // Somebody else has set the number of replicas, so that it is no longer ours.
/// let scaled = metadata(json!({"f:paused": {}}))?;
/// assert_ne!(owned_fields(&applied, [].iter()), owned_fields(&scaled, [].iter()));
///
/// let ignored = [FieldPath::parse("/spec/replicas").expect("a JSON pointer")];
/// assert_eq!(owned_fields(&applied, ignored.iter()), owned_fields(&scaled, ignored.iter()));
/// # Ok::<(), serde_json::Error>(())
/// ```
pub fn owned_fields<'a>(
    metadata: &ObjectMeta,
    ignored: impl Iterator<Item = &'a FieldPath>,
) -> Option<OwnedFields> {
    let entry = own_entry(metadata)?;
    let fields = entry
        .fields_v1
        .as_ref()
        .map_or(serde_json::Value::Null, |fields| {
            without_ignored(&fields.0, ignored)
        });
    Some(OwnedFields {
        digest: digest_of_json(&serde_json::json!([entry.api_version, fields])),
        changed_at: entry.time.as_ref().map(|time| time.0.as_second()),
    })
}

/// When a status of an object was written last, in seconds since 1970; `None` where nobody has written one apart from the rest.
///
/// ```
/// use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
/// use serde_json::json;
/// use steersman_cluster::status_written_at;
///
/// let metadata: ObjectMeta = serde_json::from_value(json!({"managedFields": [
///     {"manager": "steersman", "operation": "Apply", "time": "1970-01-01T00:00:09Z"},
///     {"manager": "other", "operation": "Update", "subresource": "status", "time": "1970-01-01T00:00:07Z"},
/// ]}))?;
/// assert_eq!(status_written_at(&metadata), Some(7));
/// # Ok::<(), serde_json::Error>(())
/// ```
pub fn status_written_at(metadata: &ObjectMeta) -> Option<i64> {
    let entries = metadata.managed_fields.iter().flatten();
    let of_status = entries.filter(|entry| entry.subresource.as_deref() == Some("status"));
    let times = of_status.filter_map(|entry| entry.time.as_ref());
    times.map(|time| time.0.as_second()).max()
}

/// What writes into objects of others what follows from them, so that it is no drift.
const CONTROLLER_MANAGER: &str = "kube-controller-manager";

/// A digest of what all managers have in an object: it changes when anybody changes a value, and not with what controllers say
/// in subresources. Of entries of our own name the time counts, too.
///
/// ```
/// use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
/// use serde_json::json;
/// use steersman_cluster::fields_of_all;
///
/// let metadata = |manager: &str, subresource: &str| -> Result<ObjectMeta, serde_json::Error> {
///     let made = json!({"manager": "steersman", "operation": "Update", "fieldsV1": {"f:data": {}}});
///     let other = json!({"manager": manager, "operation": "Update", "subresource": subresource, "fieldsV1": {"f:x": {}}});
///     serde_json::from_value(json!({"managedFields": [made, other]}))
/// };
/// let made = fields_of_all(&metadata("kubelet", "status")?);
/// assert_eq!(fields_of_all(&metadata("kube-controller-manager", "")?), made);
/// assert_ne!(fields_of_all(&metadata("kubectl-edit", "")?), made);
/// # Ok::<(), serde_json::Error>(())
/// ```
pub fn fields_of_all(metadata: &ObjectMeta) -> Digest {
    let entries = metadata.managed_fields.iter().flatten();
    let counted = entries.filter(|entry| {
        entry.subresource.as_deref().unwrap_or_default().is_empty()
            && entry.manager.as_deref() != Some(CONTROLLER_MANAGER)
    });
    let mut fields: Vec<(Digest, Option<i64>)> = counted
        .map(|entry| {
            let is_own = entry.manager.as_deref() == Some(FIELD_MANAGER);
            let time = entry.time.as_ref().filter(|_| is_own);
            let fields = entry.fields_v1.as_ref().map(|fields| &fields.0);
            let said = serde_json::json!([entry.manager, entry.operation, entry.api_version, fields]);
            (digest_of_json(&said), time.map(|time| time.0.as_second()))
        })
        .collect();
    // The server has them in the order of their times.
    fields.sort_unstable();
    let said: Vec<_> = fields
        .into_iter()
        .map(|(digest, time)| serde_json::json!([digest.to_string(), time]))
        .collect();
    digest_of_json(&said.into())
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    fn fields(entries: Value) -> Option<OwnedFields> {
        let metadata = serde_json::from_value(json!({ "managedFields": entries })).unwrap();
        owned_fields(&metadata, std::iter::empty())
    }

    fn entry(manager: &str, operation: &str, subresource: &str, time: &str, field: &str) -> Value {
        json!({"manager": manager, "operation": operation, "subresource": subresource, "apiVersion": "v1",
               "time": time, "fieldsType": "FieldsV1", "fieldsV1": {"f:data": {field: {}}}})
    }

    #[test]
    fn only_our_own_entry_its_fields_and_its_time_count() {
        let (early, late) = ("2026-01-01T00:00:00Z", "2026-02-02T00:00:00Z");
        let ours = entry("steersman", "Apply", "", early, "f:a");
        let plain = fields(json!([ours])).unwrap();
        let others = json!([
            entry("kubectl", "Update", "", late, "f:b"),
            entry("steersman", "Apply", "status", late, "f:c"),
            ours
        ]);
        assert_eq!(fields(others), Some(plain));
        for (time, field) in [(early, "f:b"), (late, "f:a")] {
            let changed = fields(json!([entry("steersman", "Apply", "", time, field)])).unwrap();
            assert!(!plain.are_those_of(changed), "{time} {field}");
        }
        assert_eq!(fields(json!([entry("kubectl", "Apply", "", early, "f:a")])), None);
    }
}

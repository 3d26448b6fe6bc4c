//! What a live object's metadata proves: whose it is, and whether it may be deleted.

use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use steersman_model::{RESOURCE_POLICY, is_keep};

use crate::managed_fields::own_entry;
use crate::primary::PRIMARY_RESOURCE;

/// The custom resource's UID, on every object of its release.
pub const OWNER_UID_LABEL: &str = "steersman.dev/owner-uid";
/// The same as `managedFields` name it.
const OWNER_UID_FIELD: &str = "f:steersman.dev/owner-uid";

/// The UID of the custom resource whose object this is, as our label says it; `None` where nothing proves the label.
///
/// Controllers copy the labels of an object to what they make of it: External Secrets to a Secret, Strimzi to claims. So
/// the label counts where the server has noted that we applied it, or where the resource is an owner of the object. The
/// name of a manager is free text, so that our entry in `managedFields` alone proves nothing either.
///
/// ```
/// use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
/// use serde_json::json;
/// use steersman_cluster::{OWNER_UID_LABEL, owner_uid};
///
/// let labels = json!({OWNER_UID_LABEL: "0b53"});
/// let copied: ObjectMeta = serde_json::from_value(json!({"labels": labels}))?;
/// assert_eq!(owner_uid(&copied), None);
///
/// let fields = json!({"f:metadata": {"f:labels": {"f:steersman.dev/owner-uid": {}}}});
/// let entry = json!({"manager": "steersman", "operation": "Apply", "apiVersion": "v1", "fieldsV1": fields});
/// let applied: ObjectMeta = serde_json::from_value(json!({"labels": labels, "managedFields": [entry]}))?;
/// assert_eq!(owner_uid(&applied).map(String::as_str), Some("0b53"));
/// # Ok::<(), serde_json::Error>(())
/// ```
pub fn owner_uid(metadata: &ObjectMeta) -> Option<&String> {
    let uid = metadata.labels.as_ref()?.get(OWNER_UID_LABEL)?;
    let mut references = metadata.owner_references.iter().flatten();
    let is_proven = references.any(|owner| owner.uid == *uid) || is_label_applied(metadata);
    is_proven.then_some(uid)
}

/// The same of an object that a run of a role may have made, whoever has applied the label: it counts unless others own the object
/// and nothing says that the resource does. By this it is known whom a change concerns, never what may be deleted.
pub fn marked_uid(metadata: &ObjectMeta) -> Option<&String> {
    let uid = metadata.labels.as_ref()?.get(OWNER_UID_LABEL)?;
    let annotations = metadata.annotations.as_ref();
    let is_annotated = annotations.is_some_and(|annotations| annotations.contains_key(PRIMARY_RESOURCE));
    let references = metadata.owner_references.as_deref().unwrap_or_default();
    let is_proven = is_annotated || references.is_empty() || references.iter().any(|owner| owner.uid == *uid);
    is_proven.then_some(uid)
}

/// Whether the label with the UID is among the fields that we applied.
fn is_label_applied(metadata: &ObjectMeta) -> bool {
    let applied = own_entry(metadata).and_then(|entry| entry.fields_v1.as_ref());
    let mut fields = applied.map(|fields| &fields.0);
    for key in ["f:metadata", "f:labels", OWNER_UID_FIELD] {
        fields = fields.and_then(|fields| fields.get(key));
    }
    fields.is_some()
}

/// Whether a live object is to outlive its release (`helm.sh/resource-policy: keep`), whoever says so in it.
pub fn is_kept(metadata: &ObjectMeta) -> bool {
    let annotations = metadata.annotations.as_ref();
    annotations
        .and_then(|all| all.get(RESOURCE_POLICY))
        .is_some_and(|policy| is_keep(policy))
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    #[test]
    fn a_label_that_we_have_not_applied_is_no_proof() {
        let uid = |metadata: &Value| {
            let metadata: ObjectMeta = serde_json::from_value(metadata.clone()).unwrap();
            owner_uid(&metadata).cloned()
        };
        let ours = json!({"labels": {OWNER_UID_LABEL: "u-1"}, "managedFields": [
            {"manager": "steersman", "operation": "Apply", "apiVersion": "v1",
             "fieldsV1": {"f:metadata": {"f:labels": {OWNER_UID_FIELD: {}}}}},
        ]});
        assert_eq!(uid(&ours), Some("u-1".to_owned()));
        for (path, value) in [
            ("/managedFields/0/operation", json!("Update")),
            ("/managedFields/0/manager", json!("external-secrets")),
            ("/managedFields/0/subresource", json!("status")),
            ("/managedFields/0/fieldsV1", json!({"f:data": {}})),
        ] {
            let mut copied = ours.clone();
            match copied.pointer_mut(path) {
                Some(place) => *place = value,
                None => copied["managedFields"][0]["subresource"] = value,
            }
            assert_eq!(uid(&copied), None, "{path}");
        }
        // Our entry alone proves nothing either: anybody may take our name.
        let mut unlabelled = ours.clone();
        unlabelled["labels"] = json!({});
        assert_eq!(uid(&unlabelled), None);
        let reference = json!({"apiVersion": "v1", "kind": "Web", "name": "shop", "uid": "u-1"});
        let labels = json!({OWNER_UID_LABEL: "u-1"});
        assert_eq!(
            uid(&json!({"labels": labels, "ownerReferences": [reference]})),
            Some("u-1".to_owned())
        );
    }

    #[test]
    fn a_live_object_says_itself_whether_it_is_kept() {
        for (policy, expect) in [("keep", true), (" Keep", true), ("delete", false)] {
            let metadata = json!({"annotations": {"helm.sh/resource-policy": policy}});
            assert_eq!(
                is_kept(&serde_json::from_value(metadata).unwrap()),
                expect,
                "{policy}"
            );
        }
        assert!(!is_kept(&ObjectMeta::default()));
    }
}

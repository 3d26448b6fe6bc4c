//! The marks on everything that a release owns, and how they are recognised.
//!
//! Every object carries the custom resource's UID as a label, by which dependent watches select. Helm's own marks and
//! helm-operator's come on top, so that both recognise the object too. [`owner_uid`] says where the label counts.

use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use serde_json::{Map, Value, json};
use steersman_watches::procedure::names::SECRETS;

use crate::primary::{
    PRIMARY_RESOURCE, PRIMARY_RESOURCE_TYPE, group_of, is_named, may_own, primary, resource_type,
};
use crate::proof::{OWNER_UID_LABEL, owner_uid};

/// The chart's name; helm-operator's label.
pub const CHART_LABEL: &str = "helm.sdk.operatorframework.io/chart";

/// The annotation of what a hook makes: for what it was made.
pub const HOOK_RUN: &str = "steersman.dev/hook-run";

const MANAGED_BY_LABEL: &str = "app.kubernetes.io/managed-by";
const RELEASE_NAME: &str = "meta.helm.sh/release-name";
const RELEASE_NAMESPACE: &str = "meta.helm.sh/release-namespace";

/// Whose objects: the custom resource and its release.
///
/// ```
/// use serde_json::json;
/// use steersman_cluster::{OWNER_UID_LABEL, Owner};
///
/// let owner = Owner {
///     api_version: "example.com/v1".to_owned(),
///     kind: "Web".to_owned(),
///     namespace: Some("default".to_owned()),
///     name: "shop".to_owned(),
///     uid: "0b53".to_owned(),
///     chart: "web".to_owned(),
///     release: "shop".to_owned(),
///     release_namespace: "default".to_owned(),
/// };
/// let role = json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "shop"}});
///
/// let beside = owner.mark(&role, Some("default"), false);
/// assert_eq!(beside["metadata"]["labels"][OWNER_UID_LABEL], "0b53");
/// assert_eq!(beside["metadata"]["ownerReferences"][0]["name"], "shop");
///
/// // Kubernetes allows no owner reference into another namespace.
/// let elsewhere = owner.mark(&role, Some("monitoring"), false);
/// assert!(elsewhere["metadata"].get("ownerReferences").is_none());
/// assert_eq!(elsewhere["metadata"]["annotations"]["operator-sdk/primary-resource"], "default/shop");
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Owner {
    /// `apiVersion` of the custom resource.
    pub api_version: String,
    /// `kind` of the custom resource.
    pub kind: String,
    /// Its namespace; `None` for a cluster-scoped one.
    pub namespace: Option<String>,
    /// `metadata.name` of the custom resource.
    pub name: String,
    /// `metadata.uid`, which another resource of the same name does not have.
    pub uid: String,
    /// The chart's name.
    pub chart: String,
    /// The release's name.
    pub release: String,
    /// Where the Secrets with the revisions are.
    pub release_namespace: String,
}

impl Owner {
    /// `object` as it is applied: with the marks, and without what only the server may write.
    ///
    /// An owner reference is set where Kubernetes allows one: the owner is cluster-scoped, or in
    /// the object's `namespace`. Anything else, and what the chart wants kept, gets
    /// helm-operator's annotations instead.
    pub fn mark(&self, object: &Value, namespace: Option<&str>, kept: bool) -> Value {
        let mut object = object.clone();
        if let Some(map) = object.as_object_mut() {
            map.remove("status");
            let metadata = entry_map(map, "metadata");
            for server_side in [
                "managedFields",
                "resourceVersion",
                "uid",
                "creationTimestamp",
                "generation",
            ] {
                metadata.remove(server_side);
            }
            if let Some(namespace) = namespace {
                metadata.insert("namespace".to_owned(), namespace.into());
            } else {
                metadata.remove("namespace");
            }
            let labels = entry_map(metadata, "labels");
            labels.insert(MANAGED_BY_LABEL.to_owned(), "Helm".into());
            labels.insert(CHART_LABEL.to_owned(), self.chart.as_str().into());
            labels.insert(OWNER_UID_LABEL.to_owned(), self.uid.as_str().into());
            let referable = !kept && self.may_own(namespace);
            let annotations = entry_map(metadata, "annotations");
            annotations.insert(RELEASE_NAME.to_owned(), self.release.as_str().into());
            annotations.insert(
                RELEASE_NAMESPACE.to_owned(),
                self.release_namespace.as_str().into(),
            );
            if referable {
                let references = metadata.entry("ownerReferences").or_insert_with(|| json!([]));
                if let Some(references) = references.as_array_mut() {
                    references.push(self.reference());
                }
            } else {
                annotations.insert(PRIMARY_RESOURCE.to_owned(), self.primary().into());
                annotations.insert(PRIMARY_RESOURCE_TYPE.to_owned(), self.resource_type().into());
            }
        }
        object
    }

    /// The same of what a hook makes, which says for what it was made, too.
    pub fn mark_hook(&self, object: &Value, namespace: Option<&str>, kept: bool, run: &str) -> Value {
        let mut object = self.mark(object, namespace, kept);
        if let Some(map) = object.as_object_mut() {
            let annotations = entry_map(entry_map(map, "metadata"), "annotations");
            annotations.insert(HOOK_RUN.to_owned(), run.into());
        }
        object
    }

    /// Whether Kubernetes lets the custom resource be an owner of objects in `namespace`, or of those in none.
    pub fn may_own(&self, namespace: Option<&str>) -> bool {
        may_own(self.namespace.as_deref(), namespace)
    }

    /// The owner reference to the custom resource.
    pub fn reference(&self) -> Value {
        json!({
            "apiVersion": self.api_version, "kind": self.kind, "name": self.name, "uid": self.uid,
            "controller": true, "blockOwnerDeletion": true,
        })
    }

    fn resource_type(&self) -> String {
        resource_type(&self.api_version, &self.kind)
    }

    /// By its marks, whether an object is ours, can be taken over, or belongs to somebody else. A copied label counts as
    /// none ([`owner_uid`]).
    pub fn ownership(&self, existing: &ObjectMeta) -> Ownership {
        let label = |key: &str| existing.labels.as_ref().and_then(|labels| labels.get(key));
        let annotation = |key: &str| existing.annotations.as_ref().and_then(|all| all.get(key));
        let references = existing.owner_references.as_deref().unwrap_or_default();
        if owner_uid(existing) == Some(&self.uid) || references.iter().any(|owner| owner.uid == self.uid) {
            return Ownership::Ours;
        }
        let mut faults = Vec::new();
        let mut require = |what: &str, key: &str, actual: Option<&String>, wanted: &str| {
            match actual {
            Some(actual) if actual == wanted => {}
            Some(actual) => faults.push(format!(
                "{what} validation error: key \"{key}\" must equal \"{wanted}\": current value is \"{actual}\""
            )),
            None => faults.push(format!(
                "{what} validation error: missing key \"{key}\": must be set to \"{wanted}\""
            )),
        }
        };
        require("label", MANAGED_BY_LABEL, label(MANAGED_BY_LABEL), "Helm");
        require(
            "annotation",
            RELEASE_NAME,
            annotation(RELEASE_NAME),
            &self.release,
        );
        require(
            "annotation",
            RELEASE_NAMESPACE,
            annotation(RELEASE_NAMESPACE),
            &self.release_namespace,
        );
        let primary = annotation(PRIMARY_RESOURCE).zip(annotation(PRIMARY_RESOURCE_TYPE));
        let is_primary =
            |(name, kind): &(&String, &String)| **name == self.primary() && **kind == self.resource_type();
        if primary.as_ref().is_some_and(is_primary) {
            // Where no owner reference is possible these say whose it is, even if somebody took the other marks off.
            faults.clear();
        }
        let controller = references.iter().find(|owner| owner.controller == Some(true));
        if let Some(other) = controller.filter(|owner| {
            !faults.is_empty() || !is_named(owner, (&self.api_version, &self.kind, &self.name))
        }) {
            faults.push(format!("it is controlled by {} \"{}\"", other.kind, other.name));
        }
        if let Some((name, kind)) = primary.filter(|primary| !is_primary(primary)) {
            faults.push(format!("it belongs to {kind} \"{name}\""));
        }
        if faults.is_empty() {
            Ownership::Adoptable
        } else {
            Ownership::Foreign(faults.join("; "))
        }
    }

    /// The custom resource as helm-operator names it in annotations.
    fn primary(&self) -> String {
        primary(self.namespace.as_deref(), &self.name)
    }
}

/// The merge patch that takes every trace of ownership by the custom resource `uid` off an object,
/// and off no later version of it; `None` when there is none.
///
/// Helm's own marks stay: whoever takes the release over may take the object, too.
///
/// ```
/// use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
/// use serde_json::json;
/// use steersman_cluster::{OWNER_UID_LABEL, orphan_patch};
///
/// let metadata: ObjectMeta = serde_json::from_value(json!({"name": "shop", "labels": {OWNER_UID_LABEL: "0b53"}}))?;
/// let patch = orphan_patch(&metadata, "0b53").expect("there is a mark");
/// assert_eq!(patch["metadata"]["labels"], json!({OWNER_UID_LABEL: null}));
/// assert_eq!(orphan_patch(&metadata, "of another resource"), None);
/// # Ok::<(), serde_json::Error>(())
/// ```
pub fn orphan_patch(existing: &ObjectMeta, uid: &str) -> Option<Value> {
    let references = existing.owner_references.as_deref().unwrap_or_default();
    let others: Vec<_> = references.iter().filter(|owner| owner.uid != uid).collect();
    let label = existing.labels.as_ref().and_then(|all| all.get(OWNER_UID_LABEL));
    if others.len() == references.len() && label.map(String::as_str) != Some(uid) {
        return None;
    }
    Some(json!({ "metadata": {
        "uid": existing.uid, "resourceVersion": existing.resource_version,
        "ownerReferences": others,
        "labels": { OWNER_UID_LABEL: null },
        "annotations": { PRIMARY_RESOURCE: null, PRIMARY_RESOURCE_TYPE: null, HOOK_RUN: null, SECRETS: null },
    }}))
}

/// An object without everything that marks it as a release's: what is left is the chart's, or others'.
///
/// ```
/// use serde_json::json;
/// use steersman_cluster::{OWNER_UID_LABEL, without_marks};
///
/// let before = json!({"metadata": {"name": "shop", "labels": {OWNER_UID_LABEL: "0b53", "tier": "web"}}});
/// let restored = json!({"metadata": {"name": "shop", "labels": {OWNER_UID_LABEL: "77a0", "tier": "web"}}});
/// assert_eq!(without_marks(before), without_marks(restored));
/// ```
pub fn without_marks(mut object: Value) -> Value {
    let Some(metadata) = object.get_mut("metadata").and_then(Value::as_object_mut) else {
        return object;
    };
    metadata.remove("ownerReferences");
    for (key, marks) in [
        ("labels", &[MANAGED_BY_LABEL, CHART_LABEL, OWNER_UID_LABEL][..]),
        (
            "annotations",
            &[
                RELEASE_NAME,
                RELEASE_NAMESPACE,
                PRIMARY_RESOURCE,
                PRIMARY_RESOURCE_TYPE,
                HOOK_RUN,
                SECRETS,
            ][..],
        ),
    ] {
        let Some(map) = metadata.get_mut(key).and_then(Value::as_object_mut) else {
            continue;
        };
        map.retain(|name, _| !marks.contains(&name.as_str()));
        if map.is_empty() {
            metadata.remove(key);
        }
    }
    object
}

/// Group and kind of the custom resource whose UID an object carries; `None` where neither an owner reference nor an
/// annotation names them.
pub fn owner_kind(metadata: &ObjectMeta) -> Option<(String, String)> {
    let uid = metadata.labels.as_ref()?.get(OWNER_UID_LABEL)?;
    let mut references = metadata.owner_references.iter().flatten();
    if let Some(owner) = references.find(|owner| owner.uid == *uid) {
        return Some((group_of(&owner.api_version).to_owned(), owner.kind.clone()));
    }
    let kind = metadata.annotations.as_ref()?.get(PRIMARY_RESOURCE_TYPE)?;
    let (kind, group) = kind.split_once('.').unwrap_or((kind, ""));
    Some((group.to_owned(), kind.to_owned()))
}

/// Whose an existing object is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Ownership {
    /// It carries the custom resource's UID, in an owner reference or in the label that we applied.
    Ours,
    /// It carries the marks of a Helm release of this name and namespace, so it may be taken over.
    Adoptable,
    /// It has no owner or another one; the text names the rule of Helm by which.
    Foreign(String),
}

/// The map at `key`, made where there is none.
fn entry_map<'a>(map: &'a mut Map<String, Value>, key: &str) -> &'a mut Map<String, Value> {
    let slot = map.entry(key).or_insert(Value::Null);
    if !slot.is_object() {
        *slot = Value::Object(Map::new());
    }
    match slot {
        Value::Object(inner) => inner,
        _ => unreachable!("the slot was just made a map"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What stands in the way of taking over an object of Helm's release `shop` in `default` with this metadata.
    fn check_taken(more: Value, reason: &str) {
        let mut metadata = json!({
            "labels": {MANAGED_BY_LABEL: "Helm"},
            "annotations": {RELEASE_NAME: "shop", RELEASE_NAMESPACE: "default"},
        });
        for (key, value) in more.as_object().unwrap() {
            match (metadata[key].as_object_mut(), value.as_object()) {
                (Some(there), Some(new)) => there.extend(new.clone()),
                _ => metadata[key] = value.clone(),
            }
        }
        let metadata: ObjectMeta = serde_json::from_value(metadata).unwrap();
        let expected = match reason {
            "" => Ownership::Adoptable,
            reason => Ownership::Foreign(reason.to_owned()),
        };
        assert_eq!(owner(Some("default")).ownership(&metadata), expected);
    }

    #[test]
    fn what_another_resource_owns_is_not_taken_over() {
        let reference = |api_version: &str, kind: &str, name: &str| {
            json!({"ownerReferences": [{
                "apiVersion": api_version, "kind": kind, "name": name, "uid": "u-9", "controller": true,
            }]})
        };
        check_taken(json!({}), "");
        // Our own resource before it was deleted and created again, in another version.
        check_taken(reference("demo.example.com/v2", "Web", "shop"), "");
        check_taken(
            reference("demo.example.com/v1", "Shop", "shop"),
            "it is controlled by Shop \"shop\"",
        );
        check_taken(
            reference("other.example.com/v1", "Web", "shop"),
            "it is controlled by Web \"shop\"",
        );
        let primary = |name: &str, kind: &str| json!({"annotations": {PRIMARY_RESOURCE: name, PRIMARY_RESOURCE_TYPE: kind}});
        check_taken(primary("default/shop", "Web.demo.example.com"), "");
        let mut relabelled = primary("default/shop", "Web.demo.example.com");
        relabelled["labels"] = json!({MANAGED_BY_LABEL: "somebody"});
        check_taken(relabelled, "");
        check_taken(
            primary("default/shop", "Web.other.example.com"),
            "it belongs to Web.other.example.com \"default/shop\"",
        );
    }

    #[test]
    fn only_what_is_ours_is_disowned() {
        let metadata = |value: Value| serde_json::from_value::<ObjectMeta>(value).unwrap();
        let reference = |uid: &str| json!({"apiVersion": "v1", "kind": "Web", "name": "shop", "uid": uid});
        let ours = metadata(json!({"uid": "1", "resourceVersion": "7",
            "labels": {OWNER_UID_LABEL: "u-1"}, "ownerReferences": [reference("u-1"), reference("u-2")]}));
        let patch = orphan_patch(&ours, "u-1").unwrap();
        assert_eq!(patch["metadata"]["ownerReferences"], json!([reference("u-2")]));
        assert_eq!(patch["metadata"]["resourceVersion"], "7");
        assert_eq!(patch["metadata"]["labels"], json!({OWNER_UID_LABEL: null}));
        let theirs =
            metadata(json!({"labels": {OWNER_UID_LABEL: "u-2"}, "ownerReferences": [reference("u-2")]}));
        assert_eq!(orphan_patch(&theirs, "u-1"), None);
    }

    fn owner(namespace: Option<&str>) -> Owner {
        Owner {
            api_version: "demo.example.com/v1".to_owned(),
            kind: "Web".to_owned(),
            namespace: namespace.map(str::to_owned),
            name: "shop".to_owned(),
            uid: "u-1".to_owned(),
            chart: "web".to_owned(),
            release: "shop".to_owned(),
            release_namespace: "default".to_owned(),
        }
    }

    /// Whether an object in `namespace` gets an owner reference.
    fn check(owner_namespace: Option<&str>, namespace: Option<&str>, kept: bool, referenced: bool) {
        let object = json!({"apiVersion": "v1", "kind": "A", "metadata": {"name": "a"}});
        let marked = owner(owner_namespace).mark(&object, namespace, kept);
        assert_eq!(
            marked.pointer("/metadata/ownerReferences/0/uid").is_some(),
            referenced
        );
        assert_eq!(
            marked
                .pointer("/metadata/annotations/operator-sdk~1primary-resource")
                .is_some(),
            !referenced
        );
        assert_eq!(marked["metadata"]["labels"][OWNER_UID_LABEL], "u-1");
    }

    #[test]
    fn owner_references_are_set_where_kubernetes_allows_them() {
        check(Some("default"), Some("default"), false, true);
        check(Some("default"), Some("other"), false, false);
        check(Some("default"), None, false, false);
        check(None, Some("default"), false, true);
        check(None, None, false, true);
        for owner in [Some("default"), None] {
            for namespace in [Some("default"), Some("other"), None] {
                check(owner, namespace, true, false);
            }
        }
    }

    #[test]
    fn what_only_the_server_writes_is_left_out() {
        let object = json!({"kind": "A", "status": {}, "metadata": {"uid": "x", "resourceVersion": "1", "labels": null}});
        let marked = owner(Some("default")).mark(&object, Some("default"), false);
        assert_eq!(marked.get("status"), None);
        assert_eq!(marked["metadata"].get("uid"), None);
        assert_eq!(marked["metadata"]["labels"][CHART_LABEL], "web");
    }

    #[test]
    fn an_object_tells_the_kind_of_its_owner_in_both_ways() {
        for namespace in ["default", "other"] {
            let object = json!({"apiVersion": "v1", "kind": "A", "metadata": {"name": "a"}});
            let marked = owner(Some("default")).mark(&object, Some(namespace), false);
            let metadata = serde_json::from_value(marked["metadata"].clone()).unwrap();
            let expect = ("demo.example.com".to_owned(), "Web".to_owned());
            assert_eq!(owner_kind(&metadata), Some(expect), "{namespace}");
        }
    }

    #[test]
    fn existing_objects_are_judged_by_helms_rules() {
        let judge =
            |metadata: Value| owner(Some("default")).ownership(&serde_json::from_value(metadata).unwrap());
        let labels = json!({OWNER_UID_LABEL: "u-1"});
        let fields = json!({"f:metadata": {"f:labels": {"f:steersman.dev/owner-uid": {}}}});
        let entry = json!({"manager": "steersman", "operation": "Apply", "fieldsV1": fields});
        assert_eq!(
            judge(json!({"labels": labels, "managedFields": [entry]})),
            Ownership::Ours
        );
        let copied = judge(json!({"labels": labels}));
        assert!(matches!(copied, Ownership::Foreign(_)), "{copied:?}");
        let reference = json!({"apiVersion": "v1", "kind": "Web", "name": "shop", "uid": "u-1"});
        assert_eq!(judge(json!({"ownerReferences": [reference]})), Ownership::Ours);
        let marks = json!({"labels": {MANAGED_BY_LABEL: "Helm", OWNER_UID_LABEL: "u-0"},
            "annotations": {RELEASE_NAME: "shop", RELEASE_NAMESPACE: "default"}});
        assert_eq!(judge(marks), Ownership::Adoptable);
        let Ownership::Foreign(reason) = judge(json!({"annotations": {RELEASE_NAME: "other"}})) else {
            panic!("a foreign object")
        };
        assert_eq!(
            reason,
            "label validation error: missing key \"app.kubernetes.io/managed-by\": must be set to \"Helm\"; \
             annotation validation error: key \"meta.helm.sh/release-name\" must equal \"shop\": current value is \
             \"other\"; annotation validation error: missing key \"meta.helm.sh/release-namespace\": must be set to \
             \"default\""
        );
    }
}

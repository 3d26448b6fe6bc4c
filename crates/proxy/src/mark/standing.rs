//! Whose an object is, by what its metadata says.

use k8s_openapi::apimachinery::pkg::apis::meta::v1::{ObjectMeta, OwnerReference};
use steersman_cluster::{
    OWNER_UID_LABEL, PRIMARY_RESOURCE, PRIMARY_RESOURCE_TYPE, PrimaryResource, is_named,
};

/// What an object is to the owner of a run.
///
/// ```
/// use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
/// use serde_json::json;
/// use steersman_cluster::PrimaryResource;
/// use steersman_proxy::Standing;
///
/// let owner = PrimaryResource {
///     api_version: "example.com/v1".to_owned(),
///     kind: "Shop".to_owned(),
///     namespace: Some("team-a".to_owned()),
///     name: "toys".to_owned(),
///     uid: "0b53".to_owned(),
/// };
/// let metadata: ObjectMeta = serde_json::from_value(json!({"ownerReferences": [owner.reference()]}))?;
/// assert_eq!(Standing::of(&metadata, &owner), Standing::Owned { is_labelled: false });
/// assert_eq!(Standing::of(&ObjectMeta::default(), &owner), Standing::Unowned);
/// # Ok::<(), serde_json::Error>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Standing {
    /// It is the owner.
    Primary,
    /// It has the owner's reference or annotations, or those of an earlier resource of the same name.
    Owned {
        /// Whether its label has the owner's UID, or rightly that of another one that owns it, too.
        is_labelled: bool,
    },
    /// It is owned by another resource, or controlled by one.
    Another,
    /// Nothing says whose it is.
    Unowned,
}

impl Standing {
    /// Tells it by the metadata of an object.
    ///
    /// A label alone, which controllers copy from one object to another, counts where nothing else names an owner.
    pub fn of(metadata: &ObjectMeta, owner: &PrimaryResource) -> Self {
        if metadata.uid.as_ref() == Some(&owner.uid) {
            return Self::Primary;
        }
        let references = metadata.owner_references.as_deref().unwrap_or_default();
        let namespace = metadata.namespace.as_deref();
        let is_ours = |reference: &&OwnerReference| {
            reference.uid == owner.uid || is_of_name(reference, owner, namespace)
        };
        let annotated = annotated(metadata);
        let is_annotated = names_in_annotations(metadata, owner);
        let label = label(metadata);
        let is_only_labelled = label == Some(&owner.uid) && references.is_empty() && annotated.is_none();
        if references.iter().find(is_ours).is_some() || is_annotated || is_only_labelled {
            let is_labelled = label == Some(&owner.uid) || label_of_another(metadata, owner).is_some();
            return Self::Owned { is_labelled };
        }
        let is_controlled = references
            .iter()
            .any(|reference| reference.controller == Some(true));
        if annotated.is_some() || is_controlled || label_of_another(metadata, owner).is_some() {
            return Self::Another;
        }
        Self::Unowned
    }
}

/// The UID in the label, where another resource has it rightly: one that the object's references or annotations name.
pub(super) fn label_of_another<'a>(metadata: &'a ObjectMeta, owner: &PrimaryResource) -> Option<&'a String> {
    let label = label(metadata).filter(|label| **label != owner.uid)?;
    let namespace = metadata.namespace.as_deref();
    let mut references = metadata.owner_references.iter().flatten();
    let is_referenced =
        references.any(|reference| reference.uid == *label && !is_of_name(reference, owner, namespace));
    let is_annotated = annotated(metadata).is_some_and(|named| !is_annotation_of(named, owner));
    (is_referenced || is_annotated).then_some(label)
}

pub(super) fn label(metadata: &ObjectMeta) -> Option<&String> {
    metadata.labels.as_ref()?.get(OWNER_UID_LABEL)
}

/// Whether the annotations of an object name the owner, or one of its name that was there before it.
pub fn names_in_annotations(metadata: &ObjectMeta, owner: &PrimaryResource) -> bool {
    annotated(metadata).is_some_and(|named| is_annotation_of(named, owner))
}

/// What the two annotations say: name and type of a resource.
fn annotated(metadata: &ObjectMeta) -> Option<(&String, &String)> {
    let annotations = metadata.annotations.as_ref()?;
    annotations
        .get(PRIMARY_RESOURCE)
        .zip(annotations.get(PRIMARY_RESOURCE_TYPE))
}

fn is_annotation_of((name, kind): (&String, &String), owner: &PrimaryResource) -> bool {
    *name == owner.primary() && *kind == owner.resource_type()
}

/// Whether a reference of an object in this namespace names the owner, or one that was there before it. A reference means a
/// resource of the object's own namespace.
fn is_of_name(reference: &OwnerReference, owner: &PrimaryResource, namespace: Option<&str>) -> bool {
    owner.may_own(namespace) && is_named(reference, (&owner.api_version, &owner.kind, &owner.name))
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    fn check(metadata: Value, expect: Standing) {
        let owner = PrimaryResource {
            api_version: "example.com/v1".to_owned(),
            kind: "Shop".to_owned(),
            namespace: Some("team-a".to_owned()),
            name: "toys".to_owned(),
            uid: "u-1".to_owned(),
        };
        let mut parsed: ObjectMeta = serde_json::from_value(metadata.clone()).unwrap();
        parsed.namespace.get_or_insert_with(|| "team-a".to_owned());
        assert_eq!(Standing::of(&parsed, &owner), expect, "{metadata}");
    }

    fn reference(kind: &str, name: &str, uid: &str) -> Value {
        json!({"apiVersion": "example.com/v2", "kind": kind, "name": name, "uid": uid})
    }

    fn annotations(name: &str) -> Value {
        json!({PRIMARY_RESOURCE: name, PRIMARY_RESOURCE_TYPE: "Shop.example.com"})
    }

    #[test]
    fn an_object_is_the_owners_by_reference_or_annotation() {
        let (labelled, bare) = (
            Standing::Owned { is_labelled: true },
            Standing::Owned { is_labelled: false },
        );
        let label = |uid: &str| json!({OWNER_UID_LABEL: uid});
        let ours = reference("Shop", "toys", "u-1");
        check(json!({"uid": "u-1"}), Standing::Primary);
        check(json!({"ownerReferences": [ours]}), bare);
        check(
            json!({"ownerReferences": [ours], "labels": label("u-1")}),
            labelled,
        );
        check(json!({"annotations": annotations("team-a/toys")}), bare);
        check(
            json!({"annotations": annotations("team-a/toys"), "labels": label("u-1")}),
            labelled,
        );
        check(json!({"labels": label("u-1")}), labelled);
        // The resource before it was deleted and created again.
        check(
            json!({"ownerReferences": [reference("Shop", "toys", "u-0")], "labels": label("u-0")}),
            bare,
        );
        check(
            json!({"annotations": annotations("team-a/toys"), "labels": label("u-0")}),
            bare,
        );
        let other = reference("Shop", "books", "u-2");
        check(
            json!({"ownerReferences": [other, ours], "labels": label("u-2")}),
            labelled,
        );
        check(
            json!({"ownerReferences": [other, ours], "labels": label("u-3")}),
            bare,
        );
    }

    #[test]
    fn what_others_own_is_theirs() {
        let label = |uid: &str| json!({OWNER_UID_LABEL: uid});
        let other = reference("Shop", "books", "u-2");
        check(
            json!({"ownerReferences": [other], "labels": label("u-2")}),
            Standing::Another,
        );
        check(
            json!({"annotations": annotations("team-b/toys")}),
            Standing::Another,
        );
        let mut controller = reference("ReplicaSet", "toys", "u-3");
        controller["controller"] = true.into();
        check(
            json!({"ownerReferences": [controller], "labels": label("u-1")}),
            Standing::Another,
        );
        // A reference names a resource of the object's own namespace.
        let of_name = reference("Shop", "toys", "u-4");
        check(
            json!({"namespace": "team-b", "ownerReferences": [of_name], "labels": label("u-4")}),
            Standing::Another,
        );
        check(
            json!({"namespace": "team-b", "ownerReferences": [of_name]}),
            Standing::Unowned,
        );
        check(json!({"ownerReferences": [other]}), Standing::Unowned);
        check(json!({"labels": label("u-9")}), Standing::Unowned);
        check(json!({}), Standing::Unowned);
    }
}

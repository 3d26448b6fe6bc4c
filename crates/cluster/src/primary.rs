//! The resource that an object is made for, as references and annotations name it.

use k8s_openapi::apimachinery::pkg::apis::meta::v1::OwnerReference;
use serde_json::{Value, json};

/// The annotation with namespace and name of the resource, for objects that it can't be an owner of; operator-sdk's.
pub const PRIMARY_RESOURCE: &str = "operator-sdk/primary-resource";

/// The annotation with kind and group of the resource.
pub const PRIMARY_RESOURCE_TYPE: &str = "operator-sdk/primary-resource-type";

/// A custom resource for which objects are made, whatever makes them.
///
/// ```
/// use steersman_cluster::PrimaryResource;
///
/// let shop = PrimaryResource {
///     api_version: "example.com/v1".to_owned(),
///     kind: "Shop".to_owned(),
///     namespace: Some("team-a".to_owned()),
///     name: "toys".to_owned(),
///     uid: "0b53".to_owned(),
/// };
/// assert!(shop.may_own(Some("team-a")));
/// assert!(!shop.may_own(Some("team-b")) && !shop.may_own(None));
/// assert_eq!(shop.reference()["uid"], "0b53");
/// assert_eq!(shop.primary(), "team-a/toys");
/// assert_eq!(shop.resource_type(), "Shop.example.com");
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PrimaryResource {
    /// Group and version, as in its manifest.
    pub api_version: String,
    /// As in its manifest.
    pub kind: String,
    /// `None` for a cluster-scoped one.
    pub namespace: Option<String>,
    /// `metadata.name`.
    pub name: String,
    /// Which another resource of the same name does not have.
    pub uid: String,
}

impl PrimaryResource {
    /// Whether Kubernetes lets it be an owner of objects in `namespace`, or of those in none.
    pub fn may_own(&self, namespace: Option<&str>) -> bool {
        may_own(self.namespace.as_deref(), namespace)
    }

    /// The owner reference to it, of one that does not control the object: others may own it, too.
    pub fn reference(&self) -> Value {
        json!({"apiVersion": self.api_version, "kind": self.kind, "name": self.name, "uid": self.uid})
    }

    /// What [`PRIMARY_RESOURCE`] says of it.
    pub fn primary(&self) -> String {
        primary(self.namespace.as_deref(), &self.name)
    }

    /// What [`PRIMARY_RESOURCE_TYPE`] says of it.
    pub fn resource_type(&self) -> String {
        resource_type(&self.api_version, &self.kind)
    }
}

/// Whether Kubernetes lets a resource in the namespace `owner` own objects in `namespace`.
pub(crate) fn may_own(owner: Option<&str>, namespace: Option<&str>) -> bool {
    owner.is_none() || owner == namespace
}

pub(crate) fn primary(namespace: Option<&str>, name: &str) -> String {
    match namespace {
        Some(namespace) => format!("{namespace}/{name}"),
        None => name.to_owned(),
    }
}

pub(crate) fn resource_type(api_version: &str, kind: &str) -> String {
    match group_of(api_version) {
        "" => kind.to_owned(),
        group => format!("{kind}.{group}"),
    }
}

/// Whether an owner reference is to the resource of this `apiVersion`, kind and name, in any version and incarnation.
pub fn is_named(reference: &OwnerReference, (api_version, kind, name): (&str, &str, &str)) -> bool {
    reference.kind == kind
        && reference.name == name
        && group_of(&reference.api_version) == group_of(api_version)
}

/// The group in an `apiVersion`; empty for the core group.
pub(crate) fn group_of(api_version: &str) -> &str {
    api_version.split_once('/').map_or("", |(group, _)| group)
}

//! A custom resource as it was seen last, kept small.

use std::time::Duration;

use kube::api::DynamicObject;
use steersman_model::Digest;

use super::period::period_of;
use crate::reconcile::has_finalizer;

/// A custom resource, kept as text: parsed JSON takes several times as much, and it is needed only when the resource is
/// reconciled.
#[derive(Debug)]
pub(super) struct CachedResource {
    uid: Option<String>,
    version: Option<u64>,
    /// Of everything that makes a reconcile necessary when it changes.
    matter: Digest,
    json: Box<[u8]>,
}

impl CachedResource {
    /// The resource without what it says of its managers, which nothing here needs.
    pub(super) fn new(mut object: DynamicObject) -> Self {
        object.metadata.managed_fields = None;
        Self {
            uid: object.metadata.uid.clone(),
            version: version(&object),
            matter: matter(&object),
            // What was read as JSON can be written as JSON.
            json: serde_json::to_vec(&object).unwrap_or_default().into(),
        }
    }

    /// The resource. `None` is not to be expected: it was read in this form before.
    pub(super) fn object(&self) -> Option<DynamicObject> {
        serde_json::from_slice(&self.json).ok()
    }

    pub(super) fn uid(&self) -> Option<&str> {
        self.uid.as_deref()
    }

    /// Whether `object` is an earlier version of it.
    pub(super) fn is_newer_than(&self, object: &DynamicObject) -> bool {
        matches!((version(object), self.version), (Some(other), Some(own)) if other < own)
    }

    /// Whether more than the status differs.
    pub(super) fn differs_from(&self, other: &Self) -> bool {
        self.matter != other.matter
    }

    /// Whether it has our finalizer.
    pub(super) fn has_finalizer(&self) -> bool {
        self.object()
            .is_some_and(|object| has_finalizer(&object.metadata))
    }

    /// How often to look at it without a change.
    pub(super) fn period(&self, default: Option<Duration>) -> Option<Duration> {
        match self.object() {
            Some(object) => period_of(&object, default),
            None => default,
        }
    }
}

fn version(object: &DynamicObject) -> Option<u64> {
    object.metadata.resource_version.as_ref()?.parse().ok()
}

fn matter(object: &DynamicObject) -> Digest {
    let metadata = &object.metadata;
    let matter = (
        metadata.generation,
        &metadata.deletion_timestamp,
        &metadata.finalizers,
        &metadata.annotations,
        &metadata.labels,
        object.data.get("spec"),
    );
    // By reference: a spec may be large, and every event comes by here.
    Digest::of(&serde_json::to_vec(&matter).unwrap_or_default())
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn object(version: &str, status: &str, generation: i64) -> DynamicObject {
        serde_json::from_value(json!({"apiVersion": "a/v1", "kind": "A",
            "metadata": {"name": "a", "uid": "u", "resourceVersion": version, "generation": generation,
                "managedFields": [{"manager": "m"}]},
            "spec": {"large": 18_446_744_073_709_551_615_u64, "exact": 0.1}, "status": {"x": status}}))
        .unwrap()
    }

    #[test]
    fn a_status_alone_is_no_reason_to_reconcile() {
        let seen = CachedResource::new(object("1", "old", 1));
        assert!(!CachedResource::new(object("2", "new", 1)).differs_from(&seen));
        assert!(CachedResource::new(object("2", "old", 2)).differs_from(&seen));
        let seen = CachedResource::new(object("10", "", 1));
        assert!(seen.is_newer_than(&object("9", "", 1)));
        assert!(!seen.is_newer_than(&object("10", "", 1)));
    }

    #[test]
    fn it_comes_back_as_it_was() {
        let original = object("1", "x", 1);
        let back = CachedResource::new(original.clone()).object().unwrap();
        assert_eq!(back.data, original.data);
        assert_eq!(back.types, original.types);
        assert_eq!(back.metadata.name, original.metadata.name);
        assert_eq!(back.metadata.managed_fields, None);
    }
}

//! A custom resource as it was seen last, kept small.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use kube::api::{Api, DynamicObject, ListParams};
use steersman_cluster::RequestError;
use steersman_model::Digest;
use tokio::sync::OwnedSemaphorePermit;

use super::adapter::Followed;
use super::period::period_annotation;
use crate::budget::Budget;
use crate::schedule::period_of;

/// Annotations that ask something of the operator begin with these.
const ASKING: [&str; 2] = ["steersman.dev/", "ansible.sdk.operatorframework.io/"];

/// A custom resource, kept as text: parsed JSON takes several times as much, and it is needed only when the resource is
/// reconciled.
#[derive(Debug)]
pub(super) struct CachedResource {
    uid: Option<String>,
    version: Option<u64>,
    /// Of everything that makes a reconcile necessary when it changes.
    matter: Digest,
    has_finalizer: bool,
    is_deleting: bool,
    /// Whether it is deleted and no finalizer is left: it can't come back.
    is_gone: bool,
    /// What its annotation says of its period.
    period: Option<Box<str>>,
    /// Absent where there is no room for it: it is read again when it is needed.
    text: Option<Text>,
}

/// The text of a resource, with the room that it takes.
#[derive(Debug)]
struct Text {
    json: Arc<[u8]>,
    _room: OwnedSemaphorePermit,
}

impl CachedResource {
    /// The resource without what it says of its managers, which nothing here needs. Its text is kept where `budget` has room.
    pub(super) fn new(mut object: DynamicObject, followed: &Followed, budget: &Budget) -> Self {
        object.metadata.managed_fields = None;
        // What was read as JSON can be written as JSON.
        let json: Arc<[u8]> = serde_json::to_vec(&object).unwrap_or_default().into();
        let room = budget.room_for_text(json.len());
        Self {
            uid: object.metadata.uid.clone(),
            version: version(&object),
            matter: matter(&object, followed.heeds_annotations),
            has_finalizer: followed.has_finalizer(&object.metadata),
            is_deleting: object.metadata.deletion_timestamp.is_some(),
            is_gone: object.metadata.deletion_timestamp.is_some()
                && object.metadata.finalizers.as_ref().is_none_or(Vec::is_empty),
            period: period_annotation(&object.metadata, followed).map(Into::into),
            text: room.map(|room| Text { json, _room: room }),
        }
    }

    /// Its text, if that is kept.
    pub(super) fn text(&self) -> Option<Arc<[u8]>> {
        self.text.as_ref().map(|text| Arc::clone(&text.json))
    }

    pub(super) fn uid(&self) -> Option<&str> {
        self.uid.as_deref()
    }

    /// Whether `object` is an earlier version of it. What is gone has the version that it had last.
    pub(super) fn is_newer_than(&self, object: &DynamicObject) -> bool {
        self.is_gone || matches!((version(object), self.version), (Some(other), Some(own)) if other < own)
    }

    /// A list begins, and says how the resource is: after a restore of the cluster, versions are lower than before.
    pub(super) fn expect_any_version(&mut self) {
        self.version = None;
    }

    /// Whether more than the status differs. Another period counts from now on, whether or not annotations are heeded.
    pub(super) fn differs_from(&self, other: &Self) -> bool {
        self.matter != other.matter || self.period != other.period
    }

    /// Whether it has our finalizer.
    pub(super) fn has_finalizer(&self) -> bool {
        self.has_finalizer
    }

    /// Whether it is being deleted.
    pub(super) fn is_deleting(&self) -> bool {
        self.is_deleting
    }

    /// How often to look at it without a change; `name` is for the log.
    pub(super) fn period(
        &self,
        name: &str,
        followed: &Followed,
        default: Option<Duration>,
    ) -> Option<Duration> {
        let annotation = (followed.period_annotation, self.period.as_deref());
        period_of(annotation, name, default)
    }
}

/// A resource as it is needed for its reconcile: from its text, or from the server where that was not kept. `None` is a
/// resource that is gone.
///
/// # Errors
/// The server does not answer.
pub(super) async fn read(
    text: Option<&[u8]>,
    api: &Api<DynamicObject>,
    name: &str,
) -> Result<Option<DynamicObject>, RequestError> {
    if let Some(object) = text.and_then(|text| serde_json::from_slice(text).ok()) {
        return Ok(Some(object));
    }
    // As a list: in one, a resource that is too large is cut, and can be told from others.
    let alone = ListParams::default().fields(&format!("metadata.name={name}"));
    let mut found = api.list(&alone).await?.items;
    Ok(found.pop())
}

fn version(object: &DynamicObject) -> Option<u64> {
    object.metadata.resource_version.as_ref()?.parse().ok()
}

fn matter(object: &DynamicObject, heeds_annotations: bool) -> Digest {
    let metadata = &object.metadata;
    let annotations = metadata.annotations.iter().flatten();
    let annotations: BTreeMap<&String, &String> = annotations
        .filter(|(name, _)| heeds_annotations || ASKING.iter().any(|prefix| name.starts_with(prefix)))
        .collect();
    let matter = (
        metadata.generation,
        &metadata.deletion_timestamp,
        &metadata.finalizers,
        annotations,
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
    use crate::budget::Shares;

    fn object(version: &str, status: &str, generation: i64) -> DynamicObject {
        serde_json::from_value(json!({"apiVersion": "a/v1", "kind": "A",
            "metadata": {"name": "a", "uid": "u", "resourceVersion": version, "generation": generation,
                "managedFields": [{"manager": "m"}]},
            "spec": {"large": 18_446_744_073_709_551_615_u64, "exact": 0.1}, "status": {"x": status}}))
        .unwrap()
    }

    fn cached(object: DynamicObject) -> CachedResource {
        CachedResource::new(object, &Followed::of_test(), &Budget::default())
    }

    #[test]
    fn a_status_alone_is_no_reason_to_reconcile() {
        let seen = cached(object("1", "old", 1));
        assert!(!cached(object("2", "new", 1)).differs_from(&seen));
        assert!(cached(object("2", "old", 2)).differs_from(&seen));
        let seen = cached(object("10", "", 1));
        assert!(seen.is_newer_than(&object("9", "", 1)));
        assert!(!seen.is_newer_than(&object("10", "", 1)));
        let mut gone = object("10", "", 1);
        gone.metadata.deletion_timestamp = serde_json::from_value(json!("2026-01-01T00:00:00Z")).unwrap();
        assert!(cached(gone).is_newer_than(&object("10", "", 1)));
    }

    #[test]
    fn another_period_counts_where_annotations_are_not_heeded() {
        let followed = Followed {
            heeds_annotations: false,
            ..Followed::of_test()
        };
        let with = |name: &str| {
            let mut object = object("1", "", 1);
            object.metadata.annotations = Some([(name.to_owned(), "5m".to_owned())].into());
            CachedResource::new(object, &followed, &Budget::default())
        };
        let seen = CachedResource::new(object("1", "", 1), &followed, &Budget::default());
        assert!(!with("example.com/other").differs_from(&seen));
        assert!(with(followed.period_annotation).differs_from(&seen));
    }

    #[test]
    fn a_list_is_right_whatever_the_version_was() {
        let mut seen = cached(object("10", "", 1));
        seen.expect_any_version();
        assert!(!seen.is_newer_than(&object("9", "", 1)));
    }

    #[test]
    fn it_comes_back_as_it_was() {
        let original = object("1", "x", 1);
        let text = cached(original.clone()).text().unwrap();
        let back: DynamicObject = serde_json::from_slice(&text).unwrap();
        assert_eq!(back.data, original.data);
        assert_eq!(back.types, original.types);
        assert_eq!(back.metadata.name, original.metadata.name);
        assert_eq!(back.metadata.managed_fields, None);
    }

    #[test]
    fn without_room_the_text_is_not_kept() {
        let budget = Budget::new(Shares::of(Some(1 << 20)));
        let large = |name: &str| {
            let mut object = object("1", &"x".repeat(40_000), 1);
            object.metadata.name = Some(name.to_owned());
            CachedResource::new(object, &Followed::of_test(), &budget)
        };
        let first = large("a");
        assert!(first.text().is_some());
        let second = large("b");
        assert!(second.text().is_none() && second.uid() == Some("u"));
        drop(first);
        assert!(large("c").text().is_some());
    }
}

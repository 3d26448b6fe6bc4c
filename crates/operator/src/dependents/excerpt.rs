//! What is kept of live objects for the expressions of their owner's watch: the fields that these look at, and no others.
//!
//! An excerpt is kept as text, which takes a fraction of what the parsed object does. It is bounded by itself, with those of its
//! owner, and with all there are; what does not fit counts as too large to be looked at.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use kube::api::{ApiResource, DynamicObject};
use kube::core::GroupVersionKind;
use serde_json::{Value, json};
use steersman_expressions::{EvaluationError, Reads};
use steersman_model::ObjectId;
use steersman_watches::{MAX_LOOKED_AT, ReadsOfKinds, ReleaseFacts, ReleaseView};

use super::Dependents;
use super::watched_kind::WatchedKind;

/// So many bytes are kept of the objects of one owner.
const MOST_OF_OWNER: usize = 256 << 10;
/// So many are kept in all. Of more, those are not kept that others give to an owner with more than [`FEW`].
const MOST: usize = 16 << 20;
/// So many are kept of an owner, however many there are in all.
const FEW: usize = 4 << 10;

/// What the watches' expressions look at in objects of releases.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Excerpts(BTreeMap<WatchedKind, ReadsOfKinds>);

/// What is kept of an object.
#[derive(Debug)]
pub struct Excerpt {
    /// Its JSON; `None` where that is too large.
    text: Option<Box<str>>,
    /// What is kept of all objects.
    room: Room,
}

/// How many bytes of excerpts there are.
#[derive(Clone, Debug, Default)]
pub(super) struct Room(Arc<AtomicUsize>);

impl Excerpts {
    /// Adds what the expressions of the watch on a kind of custom resources look at. Nothing looks at Secrets.
    pub fn add(&mut self, watch: &GroupVersionKind, reads: ReadsOfKinds) {
        let is_secret = |(group, kind): &(String, String)| group.is_empty() && kind == "Secret";
        let reads: ReadsOfKinds = reads.into_iter().filter(|(kind, _)| !is_secret(kind)).collect();
        if !reads.is_empty() {
            self.0.insert(WatchedKind::of(watch), reads);
        }
    }

    /// Whether a watch looks at objects of this kind.
    pub(super) fn has(&self, group: &str, kind: &str) -> bool {
        let mut kinds = self.0.values().flat_map(BTreeMap::keys);
        kinds.any(|(of, name)| (of.as_str(), name.as_str()) == (group, kind))
    }

    /// What a watch looks at in objects of a kind.
    pub(super) fn get(&self, watch: Option<&WatchedKind>, group: &str, kind: &str) -> Option<&Reads> {
        let mut reads = self.0.get(watch?)?.iter();
        let found = reads.find(|((of, name), _)| (of.as_str(), name.as_str()) == (group, kind));
        found.map(|(_, reads)| reads)
    }
}

impl Room {
    /// What `reads` look at in an object.
    pub(super) fn excerpt(&self, reads: &Reads, api: &ApiResource, object: &DynamicObject) -> Excerpt {
        let text = part_of(reads, api, object).to_string();
        self.keep((text.len() <= MAX_LOOKED_AT).then(|| text.into_boxed_str()))
    }

    fn keep(&self, text: Option<Box<str>>) -> Excerpt {
        let length = text.as_ref().map_or(0, |text| text.len());
        self.0.fetch_add(length, Ordering::Relaxed);
        Excerpt {
            text,
            room: self.clone(),
        }
    }
}

/// What `reads` look at in an object. Who has written what is no part of that, nor is its version: all that changes changes it.
fn part_of(reads: &Reads, api: &ApiResource, object: &DynamicObject) -> Value {
    let mut part = reads.of(&object.data);
    let Value::Object(fields) = &mut part else {
        return part;
    };
    if reads.has("apiVersion") {
        fields.insert("apiVersion".to_owned(), api.api_version.as_str().into());
    }
    if reads.has("kind") {
        fields.insert("kind".to_owned(), api.kind.as_str().into());
    }
    if reads.has("metadata") {
        let mut metadata = object.metadata.clone();
        metadata.managed_fields = None;
        metadata.resource_version = None;
        if let Value::Object(read) = reads.of(&json!({ "metadata": metadata })) {
            fields.extend(read);
        }
    }
    part
}

impl Excerpt {
    /// The object, as far as expressions look at it.
    ///
    /// # Errors
    /// That is too much.
    pub fn value(&self) -> Result<Value, EvaluationError> {
        let too_large = EvaluationError::TooLarge(MAX_LOOKED_AT);
        let text = self.text.as_ref().ok_or_else(|| too_large.clone())?;
        serde_json::from_str(text).map_err(|_| too_large)
    }

    pub(super) fn len(&self) -> usize {
        self.text.as_ref().map_or(0, |text| text.len())
    }

    /// The same, or too large where the owner has `others` bytes besides, and that is too much.
    pub(super) fn within(self: Arc<Self>, others: usize) -> Arc<Self> {
        let of_owner = self.len().saturating_add(others);
        let is_full = self.room.0.load(Ordering::Relaxed) > MOST;
        if self.text.is_none() || (of_owner <= MOST_OF_OWNER && !(is_full && of_owner > FEW)) {
            return self;
        }
        Arc::new(self.room.keep(None))
    }
}

impl PartialEq for Excerpt {
    fn eq(&self, other: &Self) -> bool {
        self.text == other.text
    }
}

impl Eq for Excerpt {}

impl Drop for Excerpt {
    fn drop(&mut self) {
        self.room.0.fetch_sub(self.len(), Ordering::Relaxed);
    }
}

impl Dependents {
    /// What is known of the release of the owner with this UID: of its objects those of this inventory that are proven to be the
    /// owner's, as watches have told of them last. Nothing is requested.
    pub fn view<'a>(
        &self,
        (owner, resource): (&str, Value),
        release: ReleaseFacts<'_>,
        inventory: impl Iterator<Item = &'a ObjectId>,
    ) -> ReleaseView {
        let view = ReleaseView::new(resource, release);
        inventory
            .filter(|id| self.excerpts.has(&id.group, &id.kind))
            .filter_map(|id| Some((id, self.live(owner, id)?.excerpt?)))
            .fold(view, |view, (id, excerpt)| {
                view.with_object(id.clone(), excerpt.value())
            })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn reads(paths: &[&[&str]]) -> Reads {
        let mut reads = Reads::default();
        for path in paths {
            reads.add(&path.iter().map(|&field| field.to_owned()).collect::<Vec<_>>());
        }
        reads
    }

    fn object(value: Value) -> (ApiResource, DynamicObject) {
        let api = ApiResource {
            group: "apps".to_owned(),
            version: "v1".to_owned(),
            api_version: "apps/v1".to_owned(),
            kind: "StatefulSet".to_owned(),
            plural: "statefulsets".to_owned(),
        };
        (api, serde_json::from_value(value).unwrap())
    }

    #[test]
    fn no_more_is_kept_than_is_looked_at() {
        let (api, object) = object(json!({
            "metadata": {"name": "db", "resourceVersion": "7", "labels": {"a": "b"}, "managedFields": [{"manager": "m"}]},
            "spec": {"replicas": 3, "template": {"long": "x".repeat(MAX_LOOKED_AT)}},
            "status": {"readyReplicas": 2, "replicas": 3},
        }));
        let room = Room::default();
        let kept = |paths: &[&[&str]]| room.excerpt(&reads(paths), &api, &object).value();
        assert_eq!(
            kept(&[&["status", "readyReplicas"]]),
            Ok(json!({"status": {"readyReplicas": 2}}))
        );
        assert_eq!(
            kept(&[&["metadata", "labels"], &["kind"], &["spec", "replicas"]]),
            Ok(json!({"kind": "StatefulSet", "metadata": {"labels": {"a": "b"}}, "spec": {"replicas": 3}}))
        );
        assert_eq!(
            kept(&[&["metadata"], &["apiVersion"]]),
            Ok(json!({"apiVersion": "apps/v1", "metadata": {"labels": {"a": "b"}, "name": "db"}}))
        );
        assert_eq!(kept(&[&[]]), Err(EvaluationError::TooLarge(MAX_LOOKED_AT)));
        assert_eq!(
            room.0.load(Ordering::Relaxed),
            0,
            "what is not kept any longer takes no room"
        );
    }

    #[test]
    fn who_has_much_takes_no_room_from_others() {
        let room = Room::default();
        let kept = |bytes: usize| Arc::new(room.keep(Some("x".repeat(bytes).into())));
        let is_kept = |bytes: usize, others: usize| kept(bytes).within(others).len() == bytes;
        assert!(is_kept(100, 0) && is_kept(100, MOST_OF_OWNER - 100));
        assert!(!is_kept(100, MOST_OF_OWNER - 99));
        let much = kept(MOST);
        assert!(is_kept(100, FEW - 100) && !is_kept(100, FEW - 99));
        drop(much);
        assert!(is_kept(100, FEW - 99));
        assert_eq!(room.0.load(Ordering::Relaxed), 0);
    }

    #[test]
    fn objects_are_looked_at_by_their_own_watch_alone() {
        let [web, site] = ["Web", "Site"].map(|kind| GroupVersionKind::gvk("a.com", "v1", kind));
        let mut excerpts = Excerpts::default();
        let kinds = |kinds: &[(&str, &str)]| {
            let all = kinds
                .iter()
                .map(|(group, kind)| ((*group).to_owned(), (*kind).to_owned()));
            all.map(|kind| (kind, reads(&[&["status"]])))
                .collect::<ReadsOfKinds>()
        };
        excerpts.add(&web, kinds(&[("apps", "Deployment"), ("", "Secret")]));
        excerpts.add(&site, ReadsOfKinds::new());
        let of = |watch| {
            excerpts
                .get(Some(&WatchedKind::of(watch)), "apps", "Deployment")
                .is_some()
        };
        assert!(of(&web) && !of(&site) && excerpts.has("apps", "Deployment"));
        assert!(!excerpts.has("", "Secret") && !excerpts.has("", "Deployment"));
        assert!(
            excerpts.get(None, "apps", "Deployment").is_none(),
            "of a stranger"
        );
    }
}

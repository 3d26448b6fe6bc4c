//! What is live of our releases, learnt from watches that select our label.
//!
//! Of each object only a UID, a version, a digest and a verdict are kept, and what expressions of the owner's watch look at (`excerpt`). Objects that do not
//! carry our label are never sent by the server, and those on which a controller has copied it count as not there
//! ([`owner_uid`]). Kinds without a readiness are watched by their
//! metadata alone; the others are reduced as they arrive, by kstatus' rules or by the health checks of the owner's watch (`judge`).
//!
//! Anybody may write our label with any UID, so what is kept is of the resources that are known ([`Dependents::route`]), as much
//! as `known` says. Of all others a bit is kept (`missed`), and what may belong to a resource that gets known later is
//! listed by its UID then ([`Dependents::find_unseen`]).

mod awaited;
mod excerpt;
mod expired;
mod find;
mod follow;
mod judge;
mod known;
mod missed;
mod watched_kind;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

pub use awaited::{DELETED, Until};
use excerpt::Room;
pub use excerpt::{Excerpt, Excerpts};
pub use expired::End;
pub use find::FindError;
pub use judge::HealthChecks;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use known::Known;
use kube::Client;
use kube::core::GroupVersionKind;
use steersman_cluster::discovery::Resource;
use steersman_cluster::{
    CHART_LABEL, OWNER_UID_LABEL, fields_of_all, is_kept, marked_uid, own_entry, owned_fields, owner_kind,
    owner_uid,
};
use steersman_model::{Digest, ObjectId, OwnedFields};
use steersman_watches::drift::{Candidate, IgnoreRule};
use tokio::sync::watch;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;
use watched_kind::WatchedKind;

use crate::status::Health;

/// A reconcile waits at most this long for the first list of a watch. Objects of a kind that
/// can't be watched are not corrected when they drift, but the release works.
const FIRST_LIST_TIMEOUT: Duration = Duration::from_secs(10);
/// A watch waits at most this long for the resources to be known.
const RESOURCES_TIMEOUT: Duration = Duration::from_secs(5);

/// What is known of a live object.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LiveObject {
    /// Another object that takes its name later has another.
    pub uid: String,
    /// The fields that we applied.
    pub fields: Option<OwnedFields>,
    /// What its status says.
    pub health: Option<Health>,
    /// Of which state that is.
    pub age: StatusAge,
    /// How far that says it is.
    pub end: End,
    /// Whether it is being deleted.
    pub deleting: bool,
    /// Whether it says itself that it is to outlive the release.
    pub kept: bool,
    /// What expressions of the owner's watch look at; `None` where that is nothing.
    pub excerpt: Option<Arc<Excerpt>>,
    version: Option<u64>,
}

/// Of which state of an object its status is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StatusAge {
    /// That of now, as far as anything tells.
    Current,
    /// One before our last change of it: it was written before that, and does not name its generation.
    Former,
}

impl LiveObject {
    /// What is said of a Job that has done its work and is gone by itself.
    fn expired() -> Self {
        Self {
            uid: String::new(),
            fields: None,
            health: Some(Health::Ready),
            age: StatusAge::Current,
            end: End::Expires,
            deleting: false,
            kept: false,
            excerpt: None,
            version: None,
        }
    }

    /// Its `resourceVersion`: one that was written since has another.
    pub fn version(&self) -> Option<String> {
        self.version.as_ref().map(u64::to_string)
    }
}

/// What a run has left of an object.
#[derive(Clone, Copy, Debug)]
pub struct Left<'a> {
    /// The UID of the object.
    pub uid: &'a str,
    /// What all managers have in it.
    pub fields: Digest,
    /// Its `resourceVersion`.
    pub version: Option<u64>,
}

/// Wakes the reconciler of the custom resource that owns a changed object, after a pause.
pub type Wake = Box<dyn Fn(Duration) + Send + Sync>;

/// Wakes the controller of an owner when its objects change. A later route of the same owner replaces an earlier one.
#[derive(Debug, PartialEq, Eq)]
pub struct Route {
    owner: String,
    number: u64,
}

/// Which objects a set of watches has to follow, and which of their values it ignores.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Interests {
    /// The names of all charts whose objects are of interest.
    pub charts: BTreeSet<String>,
    /// Which values of them are left to others, by group and kind of the custom resource.
    pub ignore: BTreeMap<(String, String), Vec<IgnoreRule>>,
    /// How some kinds of them are judged.
    pub checks: HealthChecks,
    /// What expressions look at in them.
    pub excerpts: Excerpts,
}

/// All watches on dependents, shared by all controllers.
pub struct Dependents {
    client: Client,
    ignore: BTreeMap<(String, String), Vec<IgnoreRule>>,
    checks: HealthChecks,
    excerpts: Excerpts,
    /// What is kept for these.
    room: Room,
    selector: String,
    charts: BTreeSet<String>,
    /// Whether what any manager has in an object counts, and objects are of no chart.
    heeds_all: bool,
    namespaces: BTreeSet<String>,
    stop: CancellationToken,
    state: Mutex<State>,
    /// How many controllers have not listed their resources yet.
    expected: watch::Sender<usize>,
}

#[derive(Default)]
struct State {
    known: Known,
    watches: BTreeMap<Scope, Watched>,
    /// Where nothing of ours was.
    empty: BTreeSet<Scope>,
}

/// How the objects of a scope are addressed, and whether they are known.
#[derive(Clone)]
struct Watched {
    resource: Resource,
    listed: watch::Receiver<Listed>,
}

/// Resources are about to be known: what a list names of unknown ones would have to be listed again for each. It ends when it is
/// dropped.
#[derive(Debug)]
pub struct ExpectedResources(watch::Sender<usize>);

impl Drop for ExpectedResources {
    fn drop(&mut self) {
        self.0
            .send_modify(|expected| *expected = expected.saturating_sub(1));
    }
}

/// A kind in one namespace, or in all of them.
#[derive(Clone, Copy, Debug)]
pub struct Place<'a> {
    /// How its objects are addressed.
    pub resource: &'a Resource,
    /// `None` for all namespaces, or for a kind without.
    pub namespace: Option<&'a str>,
}

/// One watch: a kind in one namespace or all.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Scope {
    group: String,
    kind: String,
    namespace: Option<String>,
}

impl Scope {
    fn of(Place { resource, namespace }: Place<'_>) -> Self {
        Self {
            group: resource.api.group.clone(),
            kind: resource.api.kind.clone(),
            namespace: namespace.map(str::to_owned),
        }
    }

    fn contains(&self, id: &ObjectId) -> bool {
        id.group == self.group
            && id.kind == self.kind
            && (self.namespace.is_none() || self.namespace == id.namespace)
    }
}

/// Whether a watch knows all objects of its scope.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Listed {
    Not,
    Complete,
    Failing,
}

impl std::fmt::Debug for Dependents {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Dependents")
            .field("selector", &self.selector)
            .finish_non_exhaustive()
    }
}

impl Dependents {
    /// No watch runs yet. With `namespaces` empty, objects are watched in all of them.
    pub fn new(
        client: Client,
        interests: Interests,
        namespaces: BTreeSet<String>,
        stop: CancellationToken,
    ) -> Self {
        let charts: Vec<&str> = interests.charts.iter().map(String::as_str).collect();
        let selector = format!("{OWNER_UID_LABEL},{CHART_LABEL} in ({})", charts.join(","));
        Self {
            client,
            ignore: interests.ignore,
            checks: interests.checks,
            excerpts: interests.excerpts,
            room: Room::default(),
            selector,
            charts: interests.charts,
            heeds_all: false,
            namespaces,
            stop,
            state: Mutex::default(),
            expected: watch::Sender::new(0),
        }
    }

    /// The same for what runs have made: objects with an owner's UID that are of no chart. What all managers have in them counts.
    pub fn of_runs(client: Client, namespaces: BTreeSet<String>, stop: CancellationToken) -> Self {
        Self {
            selector: format!("{OWNER_UID_LABEL},!{CHART_LABEL}"),
            heeds_all: true,
            ..Self::new(client, Interests::default(), namespaces, stop)
        }
    }

    /// Resources are listed, and have routes soon. No watch begins before, as long as that does not take too long.
    pub fn expect_resources(&self) -> ExpectedResources {
        self.expected.send_modify(|expected| *expected += 1);
        ExpectedResources(self.expected.clone())
    }

    /// Whether all controllers have listed their resources, as far as these can be listed.
    pub fn knows_resources(&self) -> bool {
        *self.expected.borrow() == 0
    }

    /// Makes the owner with this UID due after a pause, for something else than its objects.
    pub fn rouse(&self, owner: &str, pause: Duration) {
        self.lock().known.rouse(owner, pause);
    }

    /// Remembers the objects of the owner with this UID from now on, and calls `wake` when one changes: any of them where that
    /// is `by_all`, else one that the owner waits for. They are judged as `watch` says, the watch of the owner. What there was of
    /// it before may have to be found: [`Dependents::find_unseen`].
    pub fn route(&self, owner: &str, watch: &GroupVersionKind, by_all: bool, wake: Wake) -> Route {
        let watch = WatchedKind::of(watch);
        let mut state = self.lock();
        let State { known, watches, .. } = &mut *state;
        let number = known.route(owner, by_all, wake, watches.keys(), Instant::now());
        let is_of_watch = |scope: &&Scope| self.is_of_watch(&scope.group, &scope.kind);
        known.note_watch(owner, watch, watches.keys().filter(is_of_watch));
        Route {
            owner: owner.to_owned(),
            number,
        }
    }

    /// Whether the process is to stop, so that nothing is to be waited for.
    pub fn is_stopping(&self) -> bool {
        self.stop.is_cancelled()
    }

    /// Wakes nobody any longer by this route. What is live of the owner stays known for a while: the owner may come back.
    pub fn forget(&self, route: &Route) {
        let now = Instant::now();
        self.lock().known.leave(&route.owner, route.number, now);
    }

    /// What is known of an object.
    pub fn live(&self, owner: &str, id: &ObjectId) -> Option<LiveObject> {
        self.lock().known.live(owner, id).cloned()
    }

    /// The same, with what its status says left out where that is of a state before our last apply to it. An object that says
    /// nothing is ready where its kind has no status, and so is a Job that has [expired](Dependents::has_expired).
    pub fn judged(&self, owner: &str, id: &ObjectId) -> Option<LiveObject> {
        let state = self.lock();
        let Some(mut live) = state.known.judged(owner, id) else {
            let has_expired = state.known.has_expired(owner, id);
            return has_expired.then(LiveObject::expired);
        };
        if live.health == Some(Health::Unsaid) {
            let watched = state.watches.iter().find(|(scope, _)| scope.contains(id));
            if watched.is_some_and(|(_, one)| !one.resource.has_status) {
                live.health = Some(Health::Ready);
            }
        }
        Some(live)
    }

    /// Whether it is a Job that has done its work and goes by itself, or is gone already.
    pub fn expires(&self, owner: &str, id: &ObjectId) -> bool {
        let state = self.lock();
        match state.known.judged(owner, id) {
            Some(live) => live.end == End::Expires,
            None => state.known.has_expired(owner, id),
        }
    }

    /// Whether an object is gone that is not missing: a Job with `ttlSecondsAfterFinished` that had done its work. One that was
    /// applied or seen since is none.
    pub fn has_expired(&self, owner: &str, id: &ObjectId) -> bool {
        self.lock().known.has_expired(owner, id)
    }

    /// These Jobs of an owner had done their work, as is written down. What is there of them stays known.
    pub fn note_expired<'a>(&self, owner: &str, ids: impl Iterator<Item = &'a ObjectId>) {
        let known = &mut self.lock().known;
        for id in ids {
            known.note_expired(owner, id);
        }
    }

    /// Every object that is known to be an owner's.
    pub fn owned(&self, owner: &str) -> Vec<(ObjectId, LiveObject)> {
        let state = self.lock();
        let all = state.known.owned(owner);
        all.map(|(id, live)| (id.clone(), live.clone())).collect()
    }

    /// Has the objects of an owner be looked for that there was no room to remember. Gives whether there are any.
    pub fn look_for_more(&self, owner: &str) -> bool {
        self.lock().known.forget_what_was_cut(owner)
    }

    /// Takes over what an apply's answer says, so that it is known before the watch's event arrives. Gives
    /// our fields.
    pub fn note_applied(&self, owner: &str, id: &ObjectId, metadata: &ObjectMeta) -> Option<OwnedFields> {
        let reduced = self.reduce(id, metadata, None);
        let fields = reduced.fields;
        self.lock().known.note_applied(owner, id, reduced);
        fields
    }

    /// A run of an owner begins: [`Dependents::note_left`] tells at its end what it has left, which may be deleted or changed
    /// before that.
    pub fn begin_run(&self, owner: &str) {
        self.lock().known.begin(owner);
    }

    /// All that a run has left was told.
    pub fn end_run(&self, owner: &str) {
        self.lock().known.end(owner);
    }

    /// An object that a run has left, as an answer has shown it; what watches have told since is newer.
    pub fn note_left(&self, owner: &str, id: &ObjectId, left: Left<'_>) {
        let live = LiveObject {
            uid: left.uid.to_owned(),
            fields: Some(OwnedFields {
                digest: left.fields,
                changed_at: None,
            }),
            health: None,
            age: StatusAge::Current,
            end: End::Open,
            deleting: false,
            kept: false,
            excerpt: None,
            version: left.version,
        };
        let mut state = self.lock();
        if state.watches.keys().any(|scope| scope.contains(id)) {
            state.known.note_answered(owner, id, live);
        }
    }

    /// The same of what a hook has made, where that is watched: nobody is woken by that.
    pub fn note_made(&self, owner: &str, id: &ObjectId, metadata: &ObjectMeta) {
        let reduced = self.reduce(id, metadata, None);
        let mut state = self.lock();
        if state.watches.keys().any(|scope| scope.contains(id)) {
            state.known.note_applied(owner, id, reduced);
        }
    }

    /// What a hook has made goes by its policy: nobody is woken by that.
    pub fn note_going(&self, owner: &str, id: &ObjectId) {
        self.lock().known.note_going(owner, id);
    }

    /// Watches the kind of `id` where `id` is, if that is not done already. `true` once everything
    /// there is known, so that what is not known does not exist.
    pub async fn ensure(self: &Arc<Self>, id: &ObjectId, resource: &Resource) -> bool {
        let namespace = id.namespace.as_deref().filter(|_| !self.namespaces.is_empty());
        self.watch(Place { resource, namespace }).await
    }

    /// Watches a kind in a place, if that is not done already. `true` once everything there is known.
    pub async fn watch(self: &Arc<Self>, place: Place<'_>) -> bool {
        let scope = Scope::of(place);
        let mut listed = {
            let mut state = self.lock();
            let started = state.watches.get(&scope).map(|watched| watched.listed.clone());
            started.unwrap_or_else(|| {
                let (sender, listed) = watch::channel(Listed::Not);
                let resource = place.resource.clone();
                let watched = Watched {
                    resource: resource.clone(),
                    listed: listed.clone(),
                };
                state.watches.insert(scope.clone(), watched);
                tokio::spawn(Arc::clone(self).run(scope, resource, sender));
                listed
            })
        };
        let first = listed.wait_for(|listed| *listed != Listed::Not);
        match tokio::time::timeout(FIRST_LIST_TIMEOUT, first).await {
            Ok(Ok(state)) => *state == Listed::Complete,
            _ => false,
        }
    }

    /// Whether all our objects of a kind are known in a place: they are watched, or there were none when somebody looked.
    pub fn knows(&self, place: Place<'_>) -> bool {
        let state = self.lock();
        let everywhere = Place {
            namespace: None,
            ..place
        };
        [place, everywhere].into_iter().map(Scope::of).any(|scope| {
            let watched = state.watches.get(&scope);
            state.empty.contains(&scope)
                || watched.is_some_and(|watched| *watched.listed.borrow() == Listed::Complete)
        })
    }

    /// None of our objects of a kind were in a place, or none can be. What is applied there from now on is known by that.
    pub fn note_empty(&self, place: Place<'_>) {
        self.lock().empty.insert(Scope::of(place));
    }

    /// Whether the watches tell of this object as an owner's.
    pub fn selects(&self, metadata: &ObjectMeta) -> bool {
        let chart = metadata
            .labels
            .as_ref()
            .and_then(|labels| labels.get(CHART_LABEL));
        let is_of_interest = if self.heeds_all {
            chart.is_none()
        } else {
            chart.is_some_and(|chart| self.charts.contains(chart))
        };
        self.owner_of(metadata).is_some() && is_of_interest
    }

    /// The UID of the resource whose object this is, if something proves it.
    fn owner_of<'a>(&self, metadata: &'a ObjectMeta) -> Option<&'a String> {
        if self.heeds_all {
            marked_uid(metadata)
        } else {
            owner_uid(metadata)
        }
    }

    /// By which the server tells our objects from others.
    pub fn selector(&self) -> &str {
        &self.selector
    }

    fn reduce(&self, id: &ObjectId, metadata: &ObjectMeta, health: Option<Health>) -> LiveObject {
        let rules = owner_kind(metadata).and_then(|kind| self.ignore.get(&kind));
        let rules = rules.map(Vec::as_slice).unwrap_or_default();
        let ignored = IgnoreRule::paths_of(rules, id, || {
            own_entry(metadata).map_or_else(Candidate::default, |entry| Candidate::live(metadata, entry))
        });
        let fields = if self.heeds_all {
            Some(OwnedFields {
                digest: fields_of_all(metadata),
                changed_at: None,
            })
        } else {
            owned_fields(metadata, ignored.into_iter())
        };
        LiveObject {
            uid: metadata.uid.clone().unwrap_or_default(),
            fields,
            health,
            age: StatusAge::Current,
            end: End::Open,
            deleting: metadata.deletion_timestamp.is_some(),
            kept: is_kept(metadata),
            excerpt: None,
            version: follow::version(metadata),
        }
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
impl LiveObject {
    /// One with this health.
    pub(crate) fn of_test(health: Option<Health>, end: End, deleting: bool) -> Self {
        Self {
            uid: "uid".to_owned(),
            fields: None,
            health,
            age: StatusAge::Current,
            end,
            deleting,
            kept: false,
            excerpt: None,
            version: Some(1),
        }
    }
}

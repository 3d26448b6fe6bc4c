//! Following the watches: what each event changes in what is known.

use std::cmp::Ordering;
use std::sync::Arc;
use std::time::Duration;

use futures::{Stream, StreamExt};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use kube::api::{Api, DynamicObject};
use kube::core::PartialObjectMeta;
use kube::runtime::watcher::{self, Event};
use steersman_cluster::client::PAGE;
use steersman_cluster::discovery::Resource;
use steersman_cluster::{HOOK_RUN, OWNER_UID_LABEL, status_written_at, watch_error};
use steersman_model::ObjectId;
use tokio::sync::watch;
use tokio::time::Instant;

use super::judge::Arrived;
use super::known::Before;
use super::{Dependents, Listed, LiveObject, RESOURCES_TIMEOUT, Scope, StatusAge};
use crate::schedule::{RESYNC_PERIOD, resynced};

/// Readiness changes in many small steps; they are reported together.
const HEALTH_PAUSE: Duration = Duration::from_secs(1);

type Key = (String, ObjectId);

impl Dependents {
    pub(super) async fn run(
        self: Arc<Self>,
        scope: Scope,
        resource: Resource,
        listed: watch::Sender<Listed>,
    ) {
        tracing::info!(group = %scope.group, kind = %scope.kind, namespace = scope.namespace.as_deref().unwrap_or(""), "Watching dependent resource");
        let config = watcher::Config::default().labels(&self.selector).page_size(PAGE);
        let stop = self.stop.clone();
        let work = async {
            self.resources_known().await;
            if self.judges(&scope) {
                let api: Api<DynamicObject> = self.api(&scope, &resource);
                let kind = Arc::new(resource.api.clone());
                let arrived = |object| self.arrived(&scope, &kind, object);
                let events = resynced(api, config, RESYNC_PERIOD)
                    .map(|event| event.map(|event| map_event(event, arrived)));
                self.follow(&scope, Box::pin(events), &listed).await;
            } else {
                let api: Api<PartialObjectMeta<DynamicObject>> = self.api(&scope, &resource);
                let events = resynced(api, config, RESYNC_PERIOD).map(|event| {
                    event.map(|event| map_event(event, |object| Arrived::unjudged(object.metadata)))
                });
                self.follow(&scope, Box::pin(events), &listed).await;
            }
        };
        tokio::select! {
            () = work => {}
            () = stop.cancelled() => {}
        }
    }

    /// Waits until the resources are known whose objects are to be remembered.
    async fn resources_known(&self) {
        let mut expected = self.expected.subscribe();
        let known = expected.wait_for(|expected| *expected == 0);
        let _ = tokio::time::timeout(RESOURCES_TIMEOUT, known).await;
    }

    pub(super) fn api<K>(&self, scope: &Scope, resource: &Resource) -> Api<K>
    where
        K: kube::Resource<DynamicType = kube::core::ApiResource, Scope = kube::core::DynamicResourceScope>,
    {
        resource.objects(&self.client, scope.namespace.as_deref())
    }

    async fn follow<S>(&self, scope: &Scope, mut events: S, listed: &watch::Sender<Listed>)
    where
        S: Stream<Item = Result<Event<Arrived>, watcher::Error>> + Unpin,
    {
        // The list that is arriving.
        let mut list = None;
        while let Some(event) = events.next().await {
            match event {
                Ok(Event::Init) => list = Some(self.lock().known.begin_list(Instant::now())),
                Ok(Event::InitApply(arrived)) => self.changed(scope, &arrived, list),
                Ok(Event::InitDone) => {
                    if let Some(list) = list.take() {
                        self.lock().known.end_list(scope, list);
                    }
                    listed.send_replace(Listed::Complete);
                }
                Ok(Event::Apply(arrived)) if self.owner_of(arrived.metadata()).is_none() => {
                    self.disproved(scope, arrived.metadata());
                }
                Ok(Event::Apply(arrived)) => self.changed(scope, &arrived, None),
                Ok(Event::Delete(arrived)) => self.deleted(scope, arrived.metadata()),
                Err(error) => {
                    let cause = watch_error(&error);
                    self.lock().known.end_waits(scope);
                    tracing::warn!(kind = %scope.kind, error = %cause, "watch on dependents failed");
                    listed.send_if_modified(|state| {
                        let first = *state == Listed::Not;
                        if first {
                            *state = Listed::Failing;
                        }
                        first
                    });
                }
            }
        }
    }

    /// An object is there, and was there when the list with this number began, or has changed since.
    fn changed(&self, scope: &Scope, arrived: &Arrived, list: Option<u64>) {
        let metadata = arrived.metadata();
        if self.owner_of(metadata).is_none() {
            return;
        }
        let Some((owner, id)) = labelled(scope, metadata) else {
            return;
        };
        let (said, mut state) = self.judge(scope, &owner, arrived);
        let known = &mut state.known;
        let mut new = LiveObject {
            end: said.end,
            excerpt: said
                .excerpt
                .map(|excerpt| excerpt.within(known.excerpts_beside(&owner, &id))),
            ..self.reduce(&id, metadata, said.health)
        };
        if !said.names_generation {
            new.age = age_of_status(metadata, &new, known.live(&owner, &id));
        }
        known.has_changed((&owner, &id), &new, list);
        let before = known.show((&owner, &id), scope, &new, list);
        let pause = match &before {
            Before::Unwanted | Before::Newer => None,
            // The event may be ahead of the answer to the request that has made it.
            Before::Unknown if is_of_hook(metadata) => None,
            Before::Known(old) if is_same_object(old, &new) && says_the_same(old, &new) => None,
            Before::Known(old) if is_same_object(old, &new) => Some(HEALTH_PAUSE),
            Before::Known(_) | Before::Unknown => Some(Duration::ZERO),
        };
        if let Some(pause) = pause {
            known.wake(&owner, pause);
        }
        // One that its owner had was taken from others before, and a list names what it does not find any more.
        if list.is_none() && matches!(before, Before::Unknown | Before::Unwanted) {
            known.take_from_others(&owner, &id);
        }
    }

    /// An object that the watch may have shown while its owner was not known.
    pub(super) fn found(&self, scope: &Scope, arrived: &Arrived) {
        self.changed(scope, arrived, None);
    }

    fn deleted(&self, scope: &Scope, metadata: &ObjectMeta) {
        if let Some((owner, id)) = labelled(scope, metadata) {
            self.lock().known.lose(&owner, &id, version(metadata));
        }
    }

    /// Nothing proves that an object with our label is ours: it is a copy, or whoever had it has lost it.
    fn disproved(&self, scope: &Scope, metadata: &ObjectMeta) {
        let Some((_, id)) = labelled(scope, metadata) else {
            return;
        };
        let known = &mut self.lock().known;
        for owner in known.owners_of(&id) {
            known.lose(&owner, &id, version(metadata));
        }
    }
}

/// Whether a hook has made it, as it says.
fn is_of_hook(metadata: &ObjectMeta) -> bool {
    let annotations = metadata.annotations.as_ref();
    annotations.is_some_and(|annotations| annotations.contains_key(HOOK_RUN))
}

/// The object, as its label says whose it is.
fn labelled(scope: &Scope, metadata: &ObjectMeta) -> Option<Key> {
    let owner = metadata.labels.as_ref()?.get(OWNER_UID_LABEL)?.clone();
    let id = ObjectId {
        group: scope.group.clone(),
        kind: scope.kind.clone(),
        namespace: metadata.namespace.clone(),
        name: metadata.name.clone()?,
    };
    Some((owner, id))
}

/// Of which state a status is that does not say so. Where it was written in the second of our change, what was known before
/// tells: our change itself shows the status that it has found, and what says the same after that is taken for it.
fn age_of_status(metadata: &ObjectMeta, new: &LiveObject, before: Option<&LiveObject>) -> StatusAge {
    let changed = new.fields.and_then(|fields| fields.changed_at);
    let Some((written, changed)) = status_written_at(metadata).zip(changed) else {
        return StatusAge::Current;
    };
    let before = before.filter(|before| before.uid == new.uid);
    let is_former = match written.cmp(&changed) {
        Ordering::Less => true,
        Ordering::Greater => false,
        Ordering::Equal => before.is_some_and(|before| {
            let is_our_change = before.fields != new.fields || before.version == new.version;
            is_our_change || (before.age == StatusAge::Former && before.health == new.health)
        }),
    };
    if is_former {
        StatusAge::Former
    } else {
        StatusAge::Current
    }
}

/// Whether both are as well, and as far, and the same to expressions.
fn says_the_same(old: &LiveObject, new: &LiveObject) -> bool {
    (&old.health, old.end, old.age, &old.excerpt) == (&new.health, new.end, new.age, &new.excerpt)
}

/// Whether nothing but the health may differ.
fn is_same_object(old: &LiveObject, new: &LiveObject) -> bool {
    (&old.uid, old.fields, old.deleting) == (&new.uid, new.fields, new.deleting)
}

/// Versions of one kind's objects can be compared since Kubernetes 1.35 says so, and could with
/// etcd always.
pub(super) fn version(metadata: &ObjectMeta) -> Option<u64> {
    metadata.resource_version.as_ref()?.parse().ok()
}

fn map_event<K, T>(event: Event<K>, mut map: impl FnMut(K) -> T) -> Event<T> {
    match event {
        Event::Apply(object) => Event::Apply(map(object)),
        Event::Delete(object) => Event::Delete(map(object)),
        Event::Init => Event::Init,
        Event::InitApply(object) => Event::InitApply(map(object)),
        Event::InitDone => Event::InitDone,
    }
}

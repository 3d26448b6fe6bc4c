//! Following the watches: what each event changes in what is known.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;

use futures::{Stream, StreamExt};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use kube::api::{Api, DynamicObject};
use kube::core::PartialObjectMeta;
use kube::runtime::watcher::{self, Event};
use steersman_cluster::client::PAGE;
use steersman_cluster::discovery::Resource;
use steersman_cluster::{OWNER_UID_LABEL, owner_uid, watch_error};
use steersman_model::ObjectId;
use tokio::sync::watch;

use super::{Dependents, Listed, LiveObject, Scope, State};
use crate::schedule::{RESYNC_PERIOD, resynced};
use crate::status::{Health, has_health, health};

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
            if has_health(&scope.group, &scope.kind) {
                let api: Api<DynamicObject> = self.api(&scope, &resource);
                let events = resynced(api, config, RESYNC_PERIOD).map(|event| {
                    event.map(|event| {
                        map_event(event, |object: DynamicObject| {
                            let verdict = health(
                                &scope.group,
                                &scope.kind,
                                object.metadata.generation,
                                &object.data,
                            );
                            (object.metadata, verdict)
                        })
                    })
                });
                self.follow(&scope, Box::pin(events), &listed).await;
            } else {
                let api: Api<PartialObjectMeta<DynamicObject>> = self.api(&scope, &resource);
                let events = resynced(api, config, RESYNC_PERIOD)
                    .map(|event| event.map(|event| map_event(event, |object| (object.metadata, None))));
                self.follow(&scope, Box::pin(events), &listed).await;
            }
        };
        tokio::select! {
            () = work => {}
            () = stop.cancelled() => {}
        }
    }

    fn api<K>(&self, scope: &Scope, resource: &Resource) -> Api<K>
    where
        K: kube::Resource<DynamicType = kube::core::ApiResource, Scope = kube::core::DynamicResourceScope>,
    {
        resource.objects(&self.client, scope.namespace.as_deref())
    }

    async fn follow<S>(&self, scope: &Scope, mut events: S, listed: &watch::Sender<Listed>)
    where
        S: Stream<Item = Result<Event<(ObjectMeta, Option<Health>)>, watcher::Error>> + Unpin,
    {
        // While a list arrives: what it has named so far, and what was there when it began.
        let mut listing: Option<(BTreeSet<Key>, BTreeMap<Key, LiveObject>)> = None;
        while let Some(event) = events.next().await {
            match event {
                Ok(Event::Init) => listing = Some((BTreeSet::new(), self.within(scope))),
                Ok(Event::InitApply((metadata, health))) => {
                    if let (Some((named, _)), Some(key)) = (&mut listing, key(scope, &metadata)) {
                        named.insert(key);
                    }
                    self.changed(scope, &metadata, health, true);
                }
                Ok(Event::InitDone) => {
                    if let Some((named, before)) = listing.take() {
                        before
                            .iter()
                            .filter(|(key, _)| !named.contains(key))
                            .for_each(|(key, live)| self.gone(key, live));
                    }
                    listed.send_replace(Listed::Complete);
                }
                Ok(Event::Apply((metadata, _))) if owner_uid(&metadata).is_none() => {
                    self.disproved(scope, &metadata);
                }
                Ok(Event::Apply((metadata, health))) => self.changed(scope, &metadata, health, false),
                Ok(Event::Delete((metadata, _))) => self.deleted(scope, &metadata),
                Err(error) => {
                    let cause = watch_error(&error);
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

    fn within(&self, scope: &Scope) -> BTreeMap<Key, LiveObject> {
        let inside = |id: &ObjectId| {
            id.group == scope.group
                && id.kind == scope.kind
                && (scope.namespace.is_none() || scope.namespace == id.namespace)
        };
        let state = self.lock();
        let owned = state
            .live
            .iter()
            .flat_map(|(owner, objects)| objects.iter().map(move |(id, live)| (owner, id, live)));
        owned
            .filter(|(_, id, _)| inside(id))
            .map(|(owner, id, live)| ((owner.clone(), id.clone()), live.clone()))
            .collect()
    }

    /// An object is there, and was there when the watch began or has changed since.
    fn changed(&self, scope: &Scope, metadata: &ObjectMeta, health: Option<Health>, from_list: bool) {
        let Some((owner, id)) = key(scope, metadata) else {
            return;
        };
        let new = self.reduce(&id, metadata, health);
        let mut state = self.lock();
        let known = state.live.entry(owner.clone()).or_default();
        let old = known.get(&id);
        // The answer to our own apply may be ahead of the watch. Its verdict is not.
        if let Some(old) = old.filter(|old| is_older(new.version, old.version) && old.uid == new.uid) {
            let merged = LiveObject {
                health: new.health,
                ..old.clone()
            };
            known.insert(id, merged);
            return;
        }
        let pause = match old {
            Some(old) if is_same_object(old, &new) && old.health == new.health => None,
            Some(old) if is_same_object(old, &new) => Some(HEALTH_PAUSE),
            _ => Some(Duration::ZERO),
        };
        // One that its owner had was taken from others before, and a list names what it does not find any more.
        let may_be_known_elsewhere = old.is_none() && !from_list;
        known.insert(id.clone(), new);
        if let Some(pause) = pause
            && let Some((_, wake)) = state.wakes.get(&owner)
        {
            wake(pause);
        }
        if may_be_known_elsewhere {
            state.take_from_others(&owner, &id);
        }
    }

    fn deleted(&self, scope: &Scope, metadata: &ObjectMeta) {
        if let Some((owner, id)) = labelled(scope, metadata) {
            self.lock().lose(&owner, &id, version(metadata));
        }
    }

    /// Nothing proves that an object with our label is ours: it is a copy, or whoever had it has lost it.
    fn disproved(&self, scope: &Scope, metadata: &ObjectMeta) {
        let Some((_, id)) = labelled(scope, metadata) else {
            return;
        };
        let mut state = self.lock();
        let had = state.live.iter().filter(|(_, objects)| objects.contains_key(&id));
        let had: Vec<String> = had.map(|(owner, _)| owner.clone()).collect();
        for owner in had {
            state.lose(&owner, &id, version(metadata));
        }
    }

    /// Not in a new list, and not written since that list began.
    fn gone(&self, key: &Key, seen: &LiveObject) {
        let mut state = self.lock();
        let Some(known) = state.live.get_mut(&key.0) else {
            return;
        };
        if known.get(&key.1) == Some(seen) {
            known.remove(&key.1);
            if let Some((_, wake)) = state.wakes.get(&key.0) {
                wake(Duration::ZERO);
            }
        }
    }
}

impl State {
    /// The object that `owner` had is, as of `version`, not there or not its own, and who has it is told.
    fn lose(&mut self, owner: &str, id: &ObjectId, version: Option<u64>) {
        let Some(known) = self.live.get_mut(owner) else {
            return;
        };
        // A newer object of the same name was created by us meanwhile.
        if known.get(id).is_some_and(|live| is_older(version, live.version)) {
            return;
        }
        if known.remove(id).is_some()
            && let Some((_, wake)) = self.wakes.get(owner)
        {
            wake(Duration::ZERO);
        }
    }
}

/// The object, if something proves that it is ours.
fn key(scope: &Scope, metadata: &ObjectMeta) -> Option<Key> {
    owner_uid(metadata)?;
    labelled(scope, metadata)
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

/// Whether nothing but the health may differ.
fn is_same_object(old: &LiveObject, new: &LiveObject) -> bool {
    (&old.uid, old.fields, old.deleting) == (&new.uid, new.fields, new.deleting)
}

/// Versions of one kind's objects can be compared since Kubernetes 1.35 says so, and could with
/// etcd always.
pub(super) fn version(metadata: &ObjectMeta) -> Option<u64> {
    metadata.resource_version.as_ref()?.parse().ok()
}

fn is_older(version: Option<u64>, than: Option<u64>) -> bool {
    matches!((version, than), (Some(version), Some(than)) if version < than)
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_are_compared_as_numbers() {
        assert!(is_older(Some(9), Some(10)));
        assert!(!is_older(Some(10), Some(10)));
        assert!(!is_older(None, Some(10)));
    }
}

//! Which custom resources there are, and when one of them is to be looked at.

use futures::stream::{SelectAll, StreamExt};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use kube::api::{Api, DynamicObject};
use kube::runtime::watcher::{self, Event};
use steersman_cluster::client::PAGE;
use steersman_cluster::{watch_error, watch_refusal};
use tokio::sync::mpsc;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use super::adapter::Adapter;
use super::cached::CachedResource;
use super::unselected::{SelectorHistory, find_unselected};
use super::{Controller, Key};
use crate::dependents::Route;
use crate::namespaces::Namespaces;
use crate::schedule::{RESYNC_PERIOD, resynced};

/// A custom resource that the controller reconciles, with what it remembers of it.
#[derive(Debug)]
pub(super) struct KnownResource<C> {
    pub(super) cached: CachedResource,
    /// `None` while it is being reconciled: the reconcile has it.
    pub(super) cache: Option<C>,
    /// Ends the reconcile that is at work, where that can be ended.
    pub(super) stop: Option<CancellationToken>,
    /// Whether the list that is arriving has named it; who is not named until its end is gone.
    listed: bool,
    /// Whether the watch may no longer select it, so that its finalizer has to go.
    pub(super) is_unselected: bool,
    /// By which its objects are remembered, and make it due when they change; `None` where the watch does not select it.
    route: Option<Route>,
}

impl<C> KnownResource<C> {
    fn stop(&mut self) {
        if let Some(stop) = self.stop.take() {
            stop.cancel();
        }
    }
}

/// An event of a watch, with the namespace that it watches; `None` is all of them.
type ScopedEvent = (Option<String>, Result<Event<DynamicObject>, watcher::Error>);

impl<A: Adapter> Controller<A> {
    /// The watched parts of the cluster: some namespaces, or all of it.
    fn scopes(&self) -> Vec<(Option<String>, Api<DynamicObject>)> {
        let client = &self.context.client;
        match &self.context.config.namespaces {
            Namespaces::Listed(names) if self.resource.namespaced => names
                .iter()
                .map(|name| {
                    let api = self.resource.objects(client, Some(name));
                    (Some(name.clone()), api)
                })
                .collect(),
            _ => vec![(None, self.resource.objects(client, None))],
        }
    }

    /// The events of all namespaces that are watched, each with the namespace of its watch.
    pub(super) fn events(&mut self) -> SelectAll<futures::stream::BoxStream<'static, ScopedEvent>> {
        self.listing = self.scopes().into_iter().map(|(scope, _)| scope).collect();
        self.unknown.clone_from(&self.listing);
        let streams = self.scopes().into_iter().map(|(scope, api)| {
            let config = watcher::Config::default()
                .labels_from(&self.followed.selector)
                .page_size(PAGE);
            let events = resynced(api, config, RESYNC_PERIOD);
            events.map(move |event| (scope.clone(), event)).boxed()
        });
        futures::stream::select_all(streams)
    }

    /// Looks once for custom resources that stopped matching the selector before this process began: no event of the
    /// watch is about them.
    pub(super) fn unselected(&self) -> mpsc::UnboundedReceiver<ObjectMeta> {
        let (found, unselected) = mpsc::unbounded_channel();
        if !self.followed.selector.selects_all() {
            for (_, api) in self.scopes() {
                let selectors = SelectorHistory {
                    followed: self.followed.clone(),
                    former: self.former_selectors.clone(),
                };
                let search = find_unselected(api, selectors, found.clone());
                let shutdown = self.context.shutdown.clone();
                tokio::spawn(async move { shutdown.run_until_cancelled(search).await });
            }
        }
        unselected
    }

    /// Brings `known` and the queue up to date with an event of a watch.
    pub(super) fn handle(
        &mut self,
        scope: Option<&String>,
        event: Result<Event<DynamicObject>, watcher::Error>,
    ) {
        match event {
            Ok(Event::Apply(object) | Event::InitApply(object)) => self.upsert(object),
            Ok(Event::Delete(object)) => {
                let key = key(&object);
                let uid = object.metadata.uid;
                if self
                    .known
                    .get(&key)
                    .is_some_and(|known| known.cached.uid() == uid.as_deref())
                {
                    self.withdraw(&key);
                }
            }
            Ok(Event::Init) => self.within(scope).for_each(|known| {
                known.listed = false;
                known.cached.expect_any_version();
            }),
            Ok(Event::InitDone) => {
                self.note_listed(scope);
                let inside = |key: &Key| scope.is_none() || key.namespace.as_ref() == scope;
                let gone: Vec<Key> = self
                    .known
                    .iter()
                    .filter(|(key, known)| inside(key) && !known.listed && !known.is_unselected)
                    .map(|(key, _)| key.clone())
                    .collect();
                for key in gone {
                    self.withdraw(&key);
                }
                if self.unknown.remove(&scope.cloned()) && self.unknown.is_empty() {
                    self.adapter.listed();
                }
            }
            Err(error) => {
                self.note_listed(scope);
                let is_forbidden = watch_refusal(&error) == Some(403);
                let error = watch_error(&error);
                if self.unknown.contains(&scope.cloned()) {
                    self.adapter.unlisted(&error, is_forbidden);
                }
                tracing::warn!(kind = %self.resource.api.kind, error, "watch failed, trying again");
            }
        }
    }

    /// The resources of a scope are known, as far as they can be listed.
    fn note_listed(&mut self, scope: Option<&String>) {
        self.listing.remove(&scope.cloned());
        if self.listing.is_empty() {
            self.expected = None;
        }
    }

    fn within<'a>(
        &'a mut self,
        scope: Option<&'a String>,
    ) -> impl Iterator<Item = &'a mut KnownResource<A::Cache>> {
        self.known
            .iter_mut()
            .filter(move |(key, _)| scope.is_none() || key.namespace.as_ref() == scope)
            .map(|(_, known)| known)
    }

    /// Takes in a custom resource and makes it due if more than its status has changed.
    fn upsert(&mut self, object: DynamicObject) {
        let key = key(&object);
        if !self.versions.claims(&object.metadata) {
            // The controller of another version has it, with its finalizer.
            self.forget(&key);
            return;
        }
        let Some(known) = self.known.get_mut(&key) else {
            self.add(key, object);
            return;
        };
        known.listed = true;
        if known.cached.uid() != object.metadata.uid.as_deref() {
            // Deleted and created again, and the deletion was not seen.
            self.forget(&key);
            self.add(key, object);
            return;
        }
        // Our own write may be ahead of the watch.
        if known.cached.is_newer_than(&object) {
            return;
        }
        self.adapter.know(&object);
        let is_selected_again = std::mem::take(&mut known.is_unselected);
        let uid = object.metadata.uid.clone();
        A::show_conditions(&self.context.metrics, &self.followed.gvk, &object);
        let cached = CachedResource::new(object, &self.followed, &self.context.budget);
        let matters = is_selected_again || cached.differs_from(&known.cached);
        if cached.is_deleting() && !known.cached.is_deleting() {
            known.stop();
        }
        known.cached = cached;
        if is_selected_again {
            let route = self.route(&key, uid);
            if let Some(known) = self.known.get_mut(&key) {
                known.route = route;
            }
        }
        if matters {
            self.queue.add(key, Instant::now());
        }
    }

    fn add(&mut self, key: Key, object: DynamicObject) {
        let created = object
            .metadata
            .creation_timestamp
            .as_ref()
            .map_or(0, |time| time.0.as_second());
        let namespace = key.namespace.as_deref().unwrap_or_default();
        self.context
            .metrics
            .resource_created(&self.followed.gvk, namespace, &key.name, created as f64);
        A::show_conditions(&self.context.metrics, &self.followed.gvk, &object);
        self.adapter.know(&object);
        let known = KnownResource {
            route: self.route(&key, object.metadata.uid.clone()),
            cached: CachedResource::new(object, &self.followed, &self.context.budget),
            cache: Some(A::Cache::default()),
            stop: None,
            listed: true,
            is_unselected: false,
        };
        self.known.insert(key.clone(), known);
        self.queue.add(key, Instant::now());
    }

    /// Has the objects of a custom resource remembered, and lets changes of them make it due: of all of them, if the watch
    /// says so, else of what it waits for.
    fn route(&self, key: &Key, uid: Option<String>) -> Option<Route> {
        let wake = self.wake.clone();
        let woken = key.clone();
        Some(self.dependents.route(
            &uid?,
            &self.followed.gvk,
            self.followed.wakes_by_all,
            Box::new(move |pause| {
                // The receiver is gone when the controller stops.
                let _ = wake.send((woken.clone(), pause));
            }),
        ))
    }

    /// A custom resource is gone, or no longer matches the selector: a watch shows both as a deletion. In the second case
    /// its finalizer has to go.
    fn withdraw(&mut self, key: &Key) {
        let selective = !self.followed.selector.selects_all();
        match self.known.get_mut(key) {
            // One that is being reconciled may be getting its finalizer.
            Some(known) if selective && (known.cache.is_none() || known.cached.has_finalizer()) => {
                known.is_unselected = true;
                if let Some(route) = known.route.take() {
                    self.dependents.forget(&route);
                }
                self.queue.add(key.clone(), Instant::now());
            }
            _ => self.forget(key),
        }
    }

    /// A custom resource stopped matching the selector before this process began; its finalizer has to go.
    pub(super) fn add_unselected(&mut self, metadata: ObjectMeta) {
        let object = DynamicObject {
            types: None,
            metadata,
            data: serde_json::json!({}),
        };
        let key = key(&object);
        if self.known.contains_key(&key) {
            return;
        }
        let known = KnownResource {
            cached: CachedResource::new(object, &self.followed, &self.context.budget),
            cache: Some(A::Cache::default()),
            stop: None,
            listed: true,
            is_unselected: true,
            route: None,
        };
        self.known.insert(key.clone(), known);
        self.queue.add(key, Instant::now());
    }

    pub(super) fn forget(&mut self, key: &Key) {
        if let Some(mut known) = self.known.remove(key) {
            known.stop();
            if let Some(uid) = known.cached.uid() {
                self.adapter.forget(uid);
            }
            if let Some(route) = &known.route {
                self.dependents.forget(route);
            }
            let namespace = key.namespace.as_deref().unwrap_or_default();
            self.context
                .metrics
                .resource_deleted(&self.followed.gvk, namespace, &key.name);
        }
        self.queue.remove(key);
    }

    /// Forgets everything: another controller may follow these resources from now on.
    pub(super) fn forget_all(&mut self) {
        let known: Vec<Key> = self.known.keys().cloned().collect();
        for key in &known {
            self.forget(key);
        }
    }
}

fn key(object: &DynamicObject) -> Key {
    Key {
        namespace: object.metadata.namespace.clone(),
        name: object.metadata.name.clone().unwrap_or_default(),
    }
}

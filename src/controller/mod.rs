//! The controller of one watch: it follows the custom resources and reconciles them.

mod changes;
mod strays;
mod versions;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;

use futures::stream::{SelectAll, StreamExt};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use kube::api::{Api, DynamicObject};
use kube::runtime::WatchStreamExt;
use kube::runtime::watcher::{self, Event};
use tokio::sync::mpsc;
use tokio::task::{JoinError, JoinSet};
use tokio::time::Instant;
use tracing::Instrument as _;

use crate::apply::RequestError;
use crate::config::Namespaces;
use crate::context::Context;
use crate::dependents::{Route, watch_error};
use crate::discovery::Resource;
use crate::metrics;
use crate::reconcile::{
    Memory, Next, Outcome, Queue, Reconciler, Settings, Shared, backoff, is_held, jitter, spread,
};
use crate::telemetry::TRACE;
use crate::watches::Watch;
use changes::{default_period, is_older, is_other, period_of};
use strays::{Hold, find_strays};
pub(crate) use versions::Versions;

/// How often a kind that is not served is looked for.
const KIND_POLL: Duration = Duration::from_secs(2);
/// How long a reconcile in work may go on when the process is to stop.
const GRACE: Duration = Duration::from_secs(20);

/// Follows the custom resources of one watch and reconciles them, until the context's shutdown. Its kind is waited for
/// while it is not served. The versions say which resources are another controller's, the selectors under which
/// others the operator has held resources before.
pub(crate) async fn control(
    context: Context,
    shared: Shared,
    watch: Watch,
    (versions, former_selectors): (Versions, BTreeSet<String>),
) {
    let shutdown = context.shutdown.clone();
    let Some(Some(resource)) = shutdown
        .run_until_cancelled(wait_for_kind(&context, &watch))
        .await
    else {
        return;
    };
    context.readiness.ready(&watch.gvk);
    let period = default_period(watch.reconcile_period, context.config.reconcile_period);
    tracing::info!(
        apiVersion = %resource.api.api_version,
        kind = %resource.api.kind,
        reconcilePeriod = ?period.unwrap_or_default(),
        "Watching resource"
    );
    if let (true, Some(namespace)) = (resource.namespaced, &watch.release_namespace) {
        tracing::warn!(kind = %resource.api.kind, %namespace, "releaseNamespace is ignored: releases are where their resources are");
    }
    let settings = Settings {
        releases: context.config.releases,
        dry_run: context.config.dry_run,
        suppress_override_values: context.config.suppress_override_values,
        former_selectors: former_selectors.clone(),
        ..Settings::new(&watch)
    };
    let limit = watch
        .max_concurrent_reconciles
        .unwrap_or(context.config.max_concurrent_reconciles.get())
        .max(1);
    let (wake, woken) = mpsc::unbounded_channel();
    let controller = Controller {
        reconciler: Reconciler::new(shared.clone(), Arc::new(settings), resource.clone()),
        context,
        shared,
        watch,
        versions,
        former_selectors,
        resource,
        period,
        limit,
        wake,
        known: BTreeMap::new(),
        queue: Queue::default(),
        tasks: JoinSet::new(),
    };
    controller.run(woken).await;
}

/// Looks for the kind until the server serves it.
async fn wait_for_kind(context: &Context, watch: &Watch) -> Option<Resource> {
    let gvk = &watch.gvk;
    let mut told = String::new();
    loop {
        let reason = match kube::discovery::pinned_kind(&context.client, gvk).await {
            Ok((api, capabilities)) => {
                let namespaced = capabilities.scope == kube::discovery::Scope::Namespaced;
                return Some(Resource { api, namespaced });
            }
            Err(kube::Error::Discovery(_)) => not_served(),
            Err(error) => match RequestError::from(error) {
                error if error.is_not_found() => not_served(),
                error => error.to_string(),
            },
        };
        context.readiness.waiting(gvk, reason.clone());
        if told != reason {
            tracing::warn!(group = %gvk.group, version = %gvk.version, kind = %gvk.kind, reason, "resource can't be watched yet");
            told = reason;
        }
        tokio::time::sleep(KIND_POLL).await;
    }
}

fn not_served() -> String {
    "the API server does not serve it; waiting for its CustomResourceDefinition".to_owned()
}

/// Namespace and name of a custom resource.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Key {
    namespace: Option<String>,
    name: String,
}

/// A custom resource as it was seen last.
#[derive(Debug)]
struct Known {
    object: DynamicObject,
    /// Absent while it is being reconciled.
    memory: Option<Memory>,
    /// Whether it was in the list that is arriving.
    listed: bool,
    /// Whether the watch may no longer select it, so that it is to be let go.
    left: bool,
    /// Where changes of its objects are told.
    route: Option<Route>,
}

struct Controller {
    reconciler: Reconciler,
    context: Context,
    shared: Shared,
    watch: Watch,
    versions: Versions,
    former_selectors: BTreeSet<String>,
    resource: Resource,
    period: Option<Duration>,
    limit: usize,
    wake: mpsc::UnboundedSender<(Key, Duration)>,
    known: BTreeMap<Key, Known>,
    queue: Queue<Key>,
    tasks: JoinSet<Finished>,
}

struct Finished {
    key: Key,
    uid: Option<String>,
    /// Whether it was to be let go.
    left: bool,
    /// `None` when the reconcile panicked.
    result: Option<(Memory, Outcome)>,
    took: Duration,
}

impl Controller {
    async fn run(mut self, mut woken: mpsc::UnboundedReceiver<(Key, Duration)>) {
        let shutdown = self.context.shutdown.clone();
        let mut events = self.events();
        let mut strays = self.strays();
        loop {
            self.start_due();
            let next = if self.queue.running() < self.limit {
                self.queue.next_due()
            } else {
                None
            };
            tokio::select! {
                biased;
                () = shutdown.cancelled() => break,
                Some(finished) = self.tasks.join_next() => self.finished(finished),
                Some((scope, event)) = events.next() => self.observed(scope.as_ref(), event),
                Some(metadata) = strays.recv() => self.strayed(metadata),
                Some((key, pause)) = woken.recv() => self.queue.add(key, Instant::now() + pause),
                () = tokio::time::sleep_until(next.unwrap_or_else(far_off)), if next.is_some() => {}
            }
        }
        self.leave();
        // What is in work is brought to an end, if that does not take too long; what is not
        // is taken up by the next process.
        let _ = tokio::time::timeout(GRACE, async { while self.tasks.join_next().await.is_some() {} }).await;
    }

    /// The watched parts of the cluster: some namespaces, or all of it.
    fn scopes(&self) -> Vec<(Option<String>, Api<DynamicObject>)> {
        let client = &self.context.client;
        let kind = &self.resource.api;
        match &self.context.config.namespaces {
            Namespaces::Listed(names) if self.resource.namespaced => names
                .iter()
                .map(|name| {
                    let api = Api::namespaced_with(client.clone(), name, kind);
                    (Some(name.clone()), api)
                })
                .collect(),
            _ => vec![(None, Api::all_with(client.clone(), kind))],
        }
    }

    /// The events of all namespaces that are watched, each with the namespace of its watch.
    fn events(&self) -> SelectAll<futures::stream::BoxStream<'static, Observation>> {
        let streams = self.scopes().into_iter().map(|(scope, api)| {
            let config = watcher::Config::default()
                .labels_from(&self.watch.selector)
                .page_size(100);
            let events = watcher::watcher(api, config).default_backoff();
            events.map(move |event| (scope.clone(), event)).boxed()
        });
        futures::stream::select_all(streams)
    }

    /// Looks once for custom resources that stopped matching the selector before this process
    /// began.
    fn strays(&self) -> mpsc::UnboundedReceiver<ObjectMeta> {
        let (found, strays) = mpsc::unbounded_channel();
        if !self.watch.selector.selects_all() {
            for (_, api) in self.scopes() {
                let hold = Hold {
                    selector: self.watch.selector.clone(),
                    former: self.former_selectors.clone(),
                };
                let search = find_strays(api, hold, found.clone());
                let shutdown = self.context.shutdown.clone();
                tokio::spawn(async move { shutdown.run_until_cancelled(search).await });
            }
        }
        strays
    }

    fn observed(&mut self, scope: Option<&String>, event: Result<Event<DynamicObject>, watcher::Error>) {
        match event {
            Ok(Event::Apply(object) | Event::InitApply(object)) => self.seen(object),
            Ok(Event::Delete(object)) => {
                let key = key(&object);
                let uid = object.metadata.uid;
                if self
                    .known
                    .get(&key)
                    .is_some_and(|known| known.object.metadata.uid == uid)
                {
                    self.unseen(&key);
                }
            }
            Ok(Event::Init) => {
                self.within(scope).for_each(|known| known.listed = false);
            }
            Ok(Event::InitDone) => {
                let inside = |key: &Key| scope.is_none() || key.namespace.as_ref() == scope;
                let gone: Vec<Key> = self
                    .known
                    .iter()
                    .filter(|(key, known)| inside(key) && !known.listed && !known.left)
                    .map(|(key, _)| key.clone())
                    .collect();
                for key in gone {
                    self.unseen(&key);
                }
            }
            Err(error) => {
                let error = watch_error(&error);
                tracing::warn!(kind = %self.resource.api.kind, error, "watch failed, trying again");
            }
        }
    }

    fn within<'a>(&'a mut self, scope: Option<&'a String>) -> impl Iterator<Item = &'a mut Known> {
        self.known
            .iter_mut()
            .filter(move |(key, _)| scope.is_none() || key.namespace.as_ref() == scope)
            .map(|(_, known)| known)
    }

    /// Takes in a custom resource and makes it due if more than its status has changed.
    fn seen(&mut self, mut object: DynamicObject) {
        let key = key(&object);
        if !self.versions.claims(&object.metadata) {
            // The controller of another version has it, with its finalizer.
            self.forget(&key);
            return;
        }
        object.metadata.managed_fields = None;
        let Some(known) = self.known.get_mut(&key) else {
            self.add(key, object);
            return;
        };
        known.listed = true;
        if known.object.metadata.uid != object.metadata.uid {
            // Deleted and created again, and the deletion was not seen.
            self.forget(&key);
            self.add(key, object);
            return;
        }
        // Our own write may be ahead of the watch.
        if is_older(&object, &known.object) {
            return;
        }
        let back = std::mem::take(&mut known.left);
        let matters = back || is_other(&object, &known.object);
        known.object = object;
        if back {
            let uid = known.object.metadata.uid.clone();
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
            .resource_created(&self.watch.gvk, namespace, &key.name, created as f64);
        let known = Known {
            route: self.route(&key, object.metadata.uid.clone()),
            object,
            memory: Some(Memory::default()),
            listed: true,
            left: false,
        };
        self.known.insert(key.clone(), known);
        self.queue.add(key, Instant::now());
    }

    /// Lets changes of the objects of a custom resource make it due, if the watch says so.
    fn route(&self, key: &Key, uid: Option<String>) -> Option<Route> {
        let uid = uid.filter(|_| self.watch.watch_dependents)?;
        let wake = self.wake.clone();
        let woken = key.clone();
        Some(self.shared.dependents.route(
            &uid,
            Box::new(move |pause| {
                // The receiver is gone when the controller stops.
                let _ = wake.send((woken.clone(), pause));
            }),
        ))
    }

    /// The watch shows a custom resource no longer: it is gone, or does not match the selector.
    /// In the second case it must not be held any longer.
    fn unseen(&mut self, key: &Key) {
        let selective = !self.watch.selector.selects_all();
        match self.known.get_mut(key) {
            // One that is being reconciled may be getting its finalizer.
            Some(known) if selective && (known.memory.is_none() || is_held(&known.object.metadata)) => {
                known.left = true;
                if let Some(route) = known.route.take() {
                    self.shared.dependents.forget(&route);
                }
                self.queue.add(key.clone(), Instant::now());
            }
            _ => self.forget(key),
        }
    }

    /// A custom resource was left before this process began.
    fn strayed(&mut self, metadata: ObjectMeta) {
        let object = DynamicObject {
            types: None,
            metadata,
            data: serde_json::Value::Null,
        };
        let key = key(&object);
        if self.known.contains_key(&key) {
            return;
        }
        let known = Known {
            object,
            memory: Some(Memory::default()),
            listed: true,
            left: true,
            route: None,
        };
        self.known.insert(key.clone(), known);
        self.queue.add(key, Instant::now());
    }

    fn forget(&mut self, key: &Key) {
        if let Some(known) = self.known.remove(key) {
            if let Some(route) = &known.route {
                self.shared.dependents.forget(route);
            }
            let namespace = key.namespace.as_deref().unwrap_or_default();
            self.context
                .metrics
                .resource_deleted(&self.watch.gvk, namespace, &key.name);
        }
        self.queue.remove(key);
    }

    /// Forgets everything: another controller may follow these resources from now on.
    fn leave(&mut self) {
        let known: Vec<Key> = self.known.keys().cloned().collect();
        for key in &known {
            self.forget(key);
        }
    }

    fn start_due(&mut self) {
        while self.queue.running() < self.limit {
            let now = Instant::now();
            let Some((key, due)) = self.queue.take(now) else {
                break;
            };
            let Some(known) = self.known.get_mut(&key) else {
                self.queue.done(&key);
                continue;
            };
            let mut memory = known.memory.take().unwrap_or_default();
            let object = known.object.clone();
            let left = known.left;
            let reconciler = self.reconciler.clone();
            let busy = self
                .context
                .metrics
                .reconcile_started(&self.watch.gvk, now.duration_since(due));
            let span = tracing::info_span!(
                target: TRACE,
                "reconcile",
                kind = %self.watch.gvk.kind,
                namespace = key.namespace.as_deref().unwrap_or_default(),
                name = %key.name
            );
            self.tasks.spawn(async move {
                let started = Instant::now();
                let uid = object.metadata.uid.clone();
                // A task of its own: a panic is the end of this reconcile and of nothing else.
                let work = async move {
                    let outcome = if left {
                        reconciler.step_back(object, &mut memory).await
                    } else {
                        reconciler.reconcile(object, &mut memory).await
                    };
                    (memory, outcome)
                };
                let work = tokio::spawn(work.instrument(span));
                let result = AbortOnDrop(work).join().await.ok();
                drop(busy);
                Finished {
                    key,
                    uid,
                    left,
                    result,
                    took: started.elapsed(),
                }
            });
        }
        self.context
            .metrics
            .waiting(&self.watch.gvk, self.queue.waiting(Instant::now()));
    }

    fn finished(&mut self, finished: Result<Finished, JoinError>) {
        let Ok(Finished {
            key,
            uid,
            left,
            result,
            took,
        }) = finished
        else {
            return;
        };
        self.queue.done(&key);
        let now = Instant::now();
        let Some((memory, outcome)) = result else {
            tracing::error!(name = %key.name, "the reconcile stopped unexpectedly");
            self.context
                .metrics
                .reconcile_finished(&self.watch.gvk, metrics::Outcome::Panic, took);
            self.queue.add(key, now + backoff(6, jitter()));
            return;
        };
        let counted = match outcome.next {
            Next::Retry(_) => metrics::Outcome::Error,
            _ if memory.failures > 0 => metrics::Outcome::TerminalError,
            Next::After(_) => metrics::Outcome::RequeueAfter,
            Next::Period if self.period.is_some() => metrics::Outcome::RequeueAfter,
            Next::Period | Next::Never => metrics::Outcome::Success,
        };
        if matches!(outcome.next, Next::Retry(_)) {
            self.context.metrics.retried(&self.watch.gvk);
        }
        self.context
            .metrics
            .reconcile_finished(&self.watch.gvk, counted, took);
        let Some(known) = self.known.get_mut(&key) else {
            return;
        };
        // The name may be another resource's by now.
        if known.object.metadata.uid != uid {
            return;
        }
        let pause = match outcome.next {
            Next::Never => None,
            Next::After(pause) => Some(pause),
            Next::Retry(asked) => Some(backoff(memory.failures, jitter()).max(asked.unwrap_or_default())),
            Next::Period => period_of(&known.object, self.period).map(|period| spread(period, jitter())),
        };
        if outcome.corrected > 0 {
            self.context
                .metrics
                .drift_corrected(&self.watch.gvk, outcome.corrected);
        }
        if let Some(revision) = memory.deployed_revision() {
            let namespace = key.namespace.as_deref().unwrap_or_default();
            self.context.metrics.release_deployed(
                &self.watch.gvk,
                namespace,
                &key.name,
                revision.0,
                memory.objects(),
            );
        }
        known.memory = Some(memory);
        if let Some(mut object) = outcome.object
            && !is_older(&object, &known.object)
        {
            object.metadata.managed_fields = None;
            known.object = object;
        }
        if left && outcome.next == Next::Never {
            if known.left {
                self.forget(&key);
            } else {
                // It matches again.
                self.queue.add(key, now);
            }
            return;
        }
        if let Some(pause) = pause {
            self.queue.add(key, now + pause);
        }
    }
}

type Observation = (Option<String>, Result<Event<DynamicObject>, watcher::Error>);

/// Ends a task when nobody waits for it any longer.
struct AbortOnDrop<T>(tokio::task::JoinHandle<T>);

impl<T> AbortOnDrop<T> {
    async fn join(mut self) -> Result<T, JoinError> {
        (&mut self.0).await
    }
}

impl<T> Drop for AbortOnDrop<T> {
    fn drop(&mut self) {
        self.0.abort();
    }
}

fn key(object: &DynamicObject) -> Key {
    Key {
        namespace: object.metadata.namespace.clone(),
        name: object.metadata.name.clone().unwrap_or_default(),
    }
}

fn far_off() -> Instant {
    Instant::now() + Duration::from_hours(1)
}

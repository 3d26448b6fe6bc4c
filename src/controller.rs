//! The controller of one watch: it follows the custom resources and reconciles them.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use futures::stream::{SelectAll, StreamExt};
use kube::api::{Api, DynamicObject};
use kube::runtime::WatchStreamExt;
use kube::runtime::watcher::{self, Event};
use tokio::sync::mpsc;
use tokio::task::{JoinError, JoinSet};
use tokio::time::Instant;

use crate::apply::RequestError;
use crate::config::Namespaces;
use crate::context::Context;
use crate::dependents::watch_error;
use crate::discovery::Resource;
use crate::duration::parse_duration;
use crate::metrics;
use crate::reconcile::{Memory, Next, Outcome, Queue, Reconciler, Settings, Shared, backoff, jitter, spread};
use crate::watches::Watch;

/// Helm's own time for a hook.
const HOOK_TIMEOUT: Duration = Duration::from_mins(5);
/// Helm's own number of revisions.
const HISTORY_MAX: usize = 10;
/// A cluster-scoped custom resource has its release here.
const CLUSTER_RELEASE_NAMESPACE: &str = "default";
/// How often a kind that is not served is looked for.
const KIND_POLL: Duration = Duration::from_secs(2);
/// How long a reconcile in work may go on when the process is to stop.
const GRACE: Duration = Duration::from_secs(20);
const PERIOD_ANNOTATION: &str = "helm.sdk.operatorframework.io/reconcile-period";

/// Follows the custom resources of one watch and reconciles them, until the context's shutdown. Its kind is waited for
/// while it is not served.
pub(crate) async fn control(context: Context, shared: Shared, watch: Watch) {
    let shutdown = context.shutdown.clone();
    let Some(Some(resource)) = shutdown
        .run_until_cancelled(wait_for_kind(&context, &watch))
        .await
    else {
        return;
    };
    context.readiness.ready(&watch.gvk);
    let period = watch
        .reconcile_period
        .or(context.config.reconcile_period)
        .filter(|period| !period.is_zero());
    tracing::info!(
        apiVersion = %resource.api.api_version,
        kind = %resource.api.kind,
        reconcilePeriod = ?period.unwrap_or_default(),
        "Watching resource"
    );
    let settings = Settings {
        chart: watch.chart.clone(),
        override_values: watch.override_values.clone(),
        hook_timeout: HOOK_TIMEOUT,
        history_max: HISTORY_MAX,
        cluster_release_namespace: CLUSTER_RELEASE_NAMESPACE.to_owned(),
        suppress_override_values: context.config.suppress_override_values,
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
}

struct Controller {
    reconciler: Reconciler,
    context: Context,
    shared: Shared,
    watch: Watch,
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
    /// `None` when the reconcile panicked.
    result: Option<(Memory, Outcome)>,
    took: Duration,
}

impl Controller {
    async fn run(mut self, mut woken: mpsc::UnboundedReceiver<(Key, Duration)>) {
        let shutdown = self.context.shutdown.clone();
        let mut events = self.events();
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
                Some((key, pause)) = woken.recv() => self.queue.add(key, Instant::now() + pause),
                () = tokio::time::sleep_until(next.unwrap_or_else(far_off)), if next.is_some() => {}
            }
        }
        self.leave();
        // What is in work is brought to an end, if that does not take too long; what is not
        // is taken up by the next process.
        let _ = tokio::time::timeout(GRACE, async { while self.tasks.join_next().await.is_some() {} }).await;
    }

    /// The events of all namespaces that are watched, each with the namespace of its watch.
    fn events(&self) -> SelectAll<futures::stream::BoxStream<'static, Observation>> {
        let client = &self.context.client;
        let scopes: Vec<Option<String>> = match &self.context.config.namespaces {
            Namespaces::Listed(names) if self.resource.namespaced => {
                names.iter().cloned().map(Some).collect()
            }
            _ => vec![None],
        };
        let streams = scopes.into_iter().map(|scope| {
            let api: Api<DynamicObject> = match &scope {
                Some(namespace) => Api::namespaced_with(client.clone(), namespace, &self.resource.api),
                None => Api::all_with(client.clone(), &self.resource.api),
            };
            let config = watcher::Config::default()
                .labels_from(&self.watch.selector)
                .page_size(100);
            let events = watcher::watcher(api, config).default_backoff();
            events.map(move |event| (scope.clone(), event)).boxed()
        });
        futures::stream::select_all(streams)
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
                    self.forget(&key);
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
                    .filter(|(key, known)| inside(key) && !known.listed)
                    .map(|(key, _)| key.clone())
                    .collect();
                for key in gone {
                    self.forget(&key);
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
        object.metadata.managed_fields = None;
        let key = key(&object);
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
        let matters = is_other(&object, &known.object);
        known.object = object;
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
        if self.watch.watch_dependents
            && let Some(uid) = object.metadata.uid.clone()
        {
            let wake = self.wake.clone();
            let woken = key.clone();
            self.shared.dependents.route(
                &uid,
                Box::new(move |pause| {
                    // The receiver is gone when the controller stops.
                    let _ = wake.send((woken.clone(), pause));
                }),
            );
        }
        let known = Known {
            object,
            memory: Some(Memory::default()),
            listed: true,
        };
        self.known.insert(key.clone(), known);
        self.queue.add(key, Instant::now());
    }

    fn forget(&mut self, key: &Key) {
        if let Some(known) = self.known.remove(key) {
            self.shared
                .dependents
                .forget(known.object.metadata.uid.as_deref().unwrap_or_default());
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
            let Some(key) = self.queue.take(Instant::now()) else {
                return;
            };
            let Some(known) = self.known.get_mut(&key) else {
                self.queue.done(&key);
                continue;
            };
            let mut memory = known.memory.take().unwrap_or_default();
            let object = known.object.clone();
            let reconciler = self.reconciler.clone();
            let busy = self.context.metrics.reconcile_started(&self.watch.gvk);
            self.tasks.spawn(async move {
                let started = Instant::now();
                let uid = object.metadata.uid.clone();
                // A task of its own: a panic is the end of this reconcile and of nothing else.
                let work = tokio::spawn(async move {
                    let outcome = reconciler.reconcile(object, &mut memory).await;
                    (memory, outcome)
                });
                let result = AbortOnDrop(work).join().await.ok();
                drop(busy);
                Finished {
                    key,
                    uid,
                    result,
                    took: started.elapsed(),
                }
            });
        }
    }

    fn finished(&mut self, finished: Result<Finished, JoinError>) {
        let Ok(Finished {
            key,
            uid,
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
                .reconcile_finished(&self.watch.gvk, metrics::Outcome::Error, took);
            self.queue.add(key, now + backoff(6, jitter()));
            return;
        };
        let counted = match outcome.next {
            Next::Retry(_) => metrics::Outcome::Error,
            _ => metrics::Outcome::Success,
        };
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
            self.context
                .metrics
                .release_deployed(&self.watch.gvk, namespace, &key.name, revision.0);
        }
        known.memory = Some(memory);
        if let Some(mut object) = outcome.object
            && !is_older(&object, &known.object)
        {
            object.metadata.managed_fields = None;
            known.object = object;
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

/// Whether `object` is an earlier version than `known` of the same object.
fn is_older(object: &DynamicObject, known: &DynamicObject) -> bool {
    let version = |object: &DynamicObject| object.metadata.resource_version.as_ref()?.parse::<u64>().ok();
    matches!((version(object), version(known)), (Some(new), Some(old)) if new < old)
}

/// Whether more than the status has changed.
fn is_other(object: &DynamicObject, known: &DynamicObject) -> bool {
    let (new, old) = (&object.metadata, &known.metadata);
    new.generation != old.generation
        || new.deletion_timestamp != old.deletion_timestamp
        || new.finalizers != old.finalizers
        || new.annotations != old.annotations
        || new.labels != old.labels
        || object.data.get("spec") != known.data.get("spec")
}

/// How often to look at a resource without a change: its annotation goes before `default`.
fn period_of(object: &DynamicObject, default: Option<Duration>) -> Option<Duration> {
    let Some(text) = object
        .metadata
        .annotations
        .as_ref()
        .and_then(|all| all.get(PERIOD_ANNOTATION))
    else {
        return default;
    };
    match parse_duration(text) {
        // Shorter ones would be a hot loop.
        Ok(period) if period.is_zero() => None,
        Ok(period) => Some(period.max(Duration::from_secs(1))),
        Err(error) => {
            let name = object.metadata.name.as_deref().unwrap_or_default();
            tracing::warn!(name, %error, "annotation {PERIOD_ANNOTATION} is ignored");
            default
        }
    }
}

fn far_off() -> Instant {
    Instant::now() + Duration::from_hours(1)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn object(value: serde_json::Value) -> DynamicObject {
        serde_json::from_value(value).unwrap()
    }

    #[test]
    fn a_status_alone_is_no_reason_to_reconcile() {
        let with = |version: &str, status: &str, generation: i64| {
            object(json!({"apiVersion": "a/v1", "kind": "A",
                "metadata": {"name": "a", "resourceVersion": version, "generation": generation}, "spec": {},
                "status": {"x": status}}))
        };
        assert!(!is_other(&with("2", "new", 1), &with("1", "old", 1)));
        assert!(is_other(&with("2", "old", 2), &with("1", "old", 1)));
        assert!(is_older(&with("9", "", 1), &with("10", "", 1)));
    }

    #[test]
    fn the_annotation_sets_the_period() {
        let with = |text: &str| {
            object(json!({"apiVersion": "a/v1", "kind": "A",
                "metadata": {"name": "a", "annotations": {PERIOD_ANNOTATION: text}}}))
        };
        let default = Some(Duration::from_mins(1));
        assert_eq!(period_of(&with("30s"), default), Some(Duration::from_secs(30)));
        assert_eq!(period_of(&with("1ns"), default), Some(Duration::from_secs(1)));
        assert_eq!(period_of(&with("0s"), default), None);
        assert_eq!(period_of(&with("soon"), default), default);
    }
}

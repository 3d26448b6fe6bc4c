//! Reconciles: when one begins, and what follows from how it ended.

use std::sync::Arc;
use std::time::Duration;

use kube::core::GroupVersionKind;
use steersman_cluster::TRACE;
use steersman_model::Weight;
use tokio::task::JoinError;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;
use tracing::Instrument as _;

use super::adapter::{Adapter, Cache as _, Lent};
use super::cached::{CachedResource, read};
use super::workers::Worker;
use super::{Controller, Key};
use crate::metrics::{Metrics, ResultLabel};
use crate::reconcile::{Next, ReconcileOutcome};
use crate::schedule::{backoff, jitter, spread};

/// A reconcile that has ended.
pub(super) struct Finished<C> {
    key: Key,
    uid: Option<String>,
    /// Whether its finalizer was to go, as the watch no longer selects it.
    is_unselected: bool,
    /// `None` when the reconcile panicked.
    result: Option<(C, ReconcileOutcome)>,
    took: Duration,
}

impl<A: Adapter> Controller<A> {
    /// Begins as many reconciles as are due and allowed.
    pub(super) fn start_due(&mut self) {
        while let Some((worker, key, due)) = self.next_due() {
            let now = Instant::now();
            let Some(known) = self.known.get_mut(&key) else {
                self.queue.done(&key);
                continue;
            };
            let (text, uid) = (known.cached.text(), known.cached.uid().map(str::to_owned));
            let mut cache = known.cache.take().unwrap_or_default();
            let is_unselected = known.is_unselected;
            let stop = CancellationToken::new();
            known.stop = Some(stop.clone());
            let adapter = self.adapter.clone();
            let api = self
                .resource
                .objects(&self.context.client, key.namespace.as_deref());
            let (budget, name) = (Arc::clone(&self.context.budget), key.name.clone());
            let busy = self
                .context
                .metrics
                .reconcile_started(&self.followed.gvk, now.duration_since(due));
            let span = tracing::info_span!(
                target: TRACE,
                "reconcile",
                steersman.resource.kind = %self.followed.gvk.kind,
                k8s.namespace.name = key.namespace.as_deref().unwrap_or_default(),
                steersman.resource.name = %key.name
            );
            self.tasks.spawn(async move {
                let started = Instant::now();
                // A task of its own: a panic is the end of this reconcile and of nothing else.
                let work = async move {
                    let share = Arc::new(budget.share(text.as_deref().map_or(0, Weight::of)));
                    if share.is_large() {
                        share.take().await;
                    }
                    let read = read(text.as_deref(), &api, &name).await;
                    drop(text);
                    let lent = Lent { share, stop };
                    let outcome = match read {
                        Ok(Some(object)) if is_unselected => {
                            Box::pin(adapter.release_unselected(object, lent, &mut cache)).await
                        }
                        Ok(Some(object)) => Box::pin(adapter.reconcile(object, lent, &mut cache)).await,
                        // The watch tells of it, too.
                        Ok(None) => ReconcileOutcome::of(Next::Never),
                        Err(error) => {
                            cache.note_failure();
                            tracing::warn!(name, %error, "failed to read the resource, trying again");
                            ReconcileOutcome::of(Next::Retry(error.retry_after()))
                        }
                    };
                    (cache, outcome)
                };
                let work = async { AbortOnDrop(tokio::spawn(work.instrument(span))).join().await };
                let result = worker.run(Box::pin(work)).await.ok();
                drop(busy);
                Finished {
                    key,
                    uid,
                    is_unselected,
                    result,
                    took: started.elapsed(),
                }
            });
        }
        self.context
            .metrics
            .waiting(&self.followed.gvk, self.queue.waiting(Instant::now()));
    }

    /// Who is due, since when, and with which worker. Where all others are taken there may be one for a deletion.
    fn next_due(&mut self) -> Option<(Worker, Key, Instant)> {
        let now = Instant::now();
        if let Some(worker) = self.workers.take(self.queue.running()) {
            let (key, due) = self.queue.take(now)?;
            return Some((worker, key, due));
        }
        let worker = self.workers.take_for_deletion()?;
        let known = &self.known;
        let is_deleted = |key: &Key| known.get(key).is_some_and(|known| known.cached.is_deleting());
        let (key, due) = self.queue.take_one_of(now, is_deleted)?;
        Some((worker, key, due))
    }

    /// Takes in what a reconcile has come to.
    pub(super) fn finished(&mut self, finished: Result<Finished<A::Cache>, JoinError>) {
        let Ok(Finished {
            key,
            uid,
            is_unselected,
            result,
            took,
        }) = finished
        else {
            return;
        };
        self.queue.done(&key);
        let now = Instant::now();
        let Some((mut cache, outcome)) = result else {
            tracing::error!(name = %key.name, "the reconcile stopped unexpectedly");
            self.context
                .metrics
                .reconcile_finished(&self.followed.gvk, ResultLabel::Panic, took);
            self.queue.add(key, now + backoff(6, jitter()));
            return;
        };
        let counted = match outcome.next {
            Next::Retry(_) => ResultLabel::Error,
            Next::Awaits(_) => ResultLabel::RequeueAfter,
            _ if cache.failures() > 0 => ResultLabel::TerminalError,
            Next::After(_) => ResultLabel::RequeueAfter,
            Next::Period if self.period.is_some() => ResultLabel::RequeueAfter,
            Next::Period | Next::Never => ResultLabel::Success,
        };
        if matches!(outcome.next, Next::Retry(_)) {
            self.context.metrics.retried(&self.followed.gvk);
        }
        self.context
            .metrics
            .reconcile_finished(&self.followed.gvk, counted, took);
        let Some(known) = self.known.get_mut(&key) else {
            return;
        };
        // The name may be another resource's by now.
        if known.cached.uid() != uid.as_deref() {
            return;
        }
        known.stop = None;
        let pause = match outcome.next {
            // The write's answer has shown the change. Its event may be older than that answer, and would be ignored.
            _ if outcome.outdated => Some(Duration::ZERO),
            Next::Never => None,
            Next::After(pause) => Some(pause),
            Next::Awaits(pause) => pause,
            Next::Retry(asked) => Some(backoff(cache.failures(), jitter()).max(asked.unwrap_or_default())),
            Next::Period => {
                let period = known.cached.period(&key.name, &self.followed, self.period);
                period.map(|period| spread(period, jitter()))
            }
        };
        count(&self.context.metrics, &self.followed.gvk, &key, &outcome);
        cache.show(&self.context.metrics, &self.followed.gvk, &key);
        cache.fit(&self.context.budget);
        known.cache = Some(cache);
        if let Some(object) = outcome.object
            && object.metadata.uid == uid
            && !known.cached.is_newer_than(&object)
        {
            A::show_conditions(&self.context.metrics, &self.followed.gvk, &object);
            known.cached = CachedResource::new(object, &self.followed, &self.context.budget);
        }
        if is_unselected && outcome.next == Next::Never {
            if known.is_unselected {
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

/// Counts what a reconcile has come to.
fn count(metrics: &Metrics, gvk: &GroupVersionKind, key: &Key, outcome: &ReconcileOutcome) {
    for (stage, took) in &outcome.stages {
        metrics.stage_ended(gvk, stage, *took);
    }
    for end in &outcome.hooks {
        metrics.hook_ended(gvk, end);
    }
    if outcome.corrected > 0 {
        let namespace = key.namespace.as_deref().unwrap_or_default();
        metrics.drift_corrected(gvk, namespace, &key.name, outcome.corrected);
    }
}

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

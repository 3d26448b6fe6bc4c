//! The controller of one watch: it follows the custom resources and reconciles them.

mod kind;
mod missing_permissions;
mod period;
mod reconciles;
mod resources;
mod seen;
mod slots;
mod strays;
mod versions;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;

use futures::stream::StreamExt;
use tokio::sync::mpsc;
use tokio::task::JoinSet;
use tokio::time::Instant;

use crate::context::Context;
use crate::reconcile::{ReconcileSettings, Reconciler, Shared};
use crate::schedule::Queue;
use kind::wait_for_kind;
use missing_permissions::tell_missing;
use period::default_period;
use reconciles::Finished;
use resources::Known;
use slots::Slots;
use steersman_cluster::discovery::Resource;
use steersman_watches::Watch;
pub(crate) use versions::Versions;

/// How long a reconcile in work may go on when the process is to stop. Projects of operator-sdk give a pod ten seconds,
/// in which the lease must be given back, too.
const GRACE: Duration = Duration::from_secs(8);

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
    // Nothing waits for it, and it ends with the controller.
    let mut aside = JoinSet::new();
    aside.spawn({
        let (permissions, shared) = (Arc::clone(&context.permissions), shared.clone());
        let (watch, resource) = (watch.clone(), resource.clone());
        async move { tell_missing(&permissions, &shared.client, &shared.discovery, &watch, &resource).await }
    });
    let settings = ReconcileSettings {
        releases: context.config.releases,
        dry_run: context.config.dry_run,
        suppress_override_values: context.config.suppress_override_values,
        former_selectors: former_selectors.clone(),
        ..ReconcileSettings::new(&watch)
    };
    let limit = watch
        .max_concurrent_reconciles
        .unwrap_or(context.config.max_concurrent_reconciles.get());
    let slots = Slots::new(limit, context.places.clone());
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
        slots,
        wake,
        known: BTreeMap::new(),
        queue: Queue::default(),
        tasks: JoinSet::new(),
    };
    controller.run(woken).await;
}

/// Namespace and name of a custom resource.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Key {
    namespace: Option<String>,
    name: String,
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
    slots: Slots,
    wake: mpsc::UnboundedSender<(Key, Duration)>,
    known: BTreeMap<Key, Known>,
    queue: Queue<Key>,
    tasks: JoinSet<Finished>,
}

impl Controller {
    async fn run(mut self, mut woken: mpsc::UnboundedReceiver<(Key, Duration)>) {
        let shutdown = self.context.shutdown.clone();
        let mut events = self.events();
        let mut strays = self.strays();
        loop {
            self.start_due();
            let next = self.queue.next_due();
            let is_due = next.is_some_and(|next| next <= Instant::now());
            let is_full = self.slots.are_full(self.queue.running());
            tokio::select! {
                biased;
                () = shutdown.cancelled() => break,
                Some(finished) = self.tasks.join_next() => self.finished(finished),
                Some((scope, event)) = events.next() => self.observed(scope.as_ref(), event),
                Some(metadata) = strays.recv() => self.strayed(metadata),
                Some((key, pause)) = woken.recv() => self.queue.add(key, Instant::now() + pause),
                // What is due and was not started lacks a place.
                () = self.slots.freed(), if is_due && !is_full => {}
                () = tokio::time::sleep_until(next.unwrap_or_else(far_off)), if next.is_some() && !is_due => {}
            }
        }
        self.leave();
        // What is in work is brought to an end, if that does not take too long; what is not
        // is taken up by the next process.
        let _ = tokio::time::timeout(GRACE, async { while self.tasks.join_next().await.is_some() {} }).await;
    }
}

fn far_off() -> Instant {
    Instant::now() + Duration::from_hours(1)
}

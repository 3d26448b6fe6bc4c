//! The controller of one watch: it follows the custom resources and reconciles them.

mod changes;
mod kind;
mod reconciles;
mod resources;
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
use crate::discovery::Resource;
use crate::reconcile::{Queue, Reconciler, Settings, Shared};
use crate::watches::Watch;
use changes::default_period;
use kind::wait_for_kind;
use reconciles::Finished;
use resources::Known;
pub(crate) use versions::Versions;

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
    limit: usize,
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
}

fn far_off() -> Instant {
    Instant::now() + Duration::from_hours(1)
}

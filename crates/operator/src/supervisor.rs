//! One controller for each watch, and another set of them when the watches change.

use std::sync::Arc;
use std::time::Duration;

use kube::core::GroupVersionKind;
use steersman_model::{Digest, digest_of_json};
use steersman_watches::{AnsibleWatch, Selectors, Watch, Watches};
use tokio::task::{AbortHandle, JoinSet};
use tokio_util::sync::CancellationToken;

use crate::config::Namespaces;
use crate::context::Context;
use crate::controller::{self, Claim, RunClaim, Versions};
use crate::dependents::{Dependents, Interests};
use crate::follow::Updates;
use crate::reconcile::Shared;

/// How long the reconciles of a controller that is replaced may go on. What does not end by then is dropped, and
/// taken up by the controller that follows.
const REPLACE_GRACE: Duration = Duration::from_secs(2);

/// Runs a controller for each of `watches`, and for what `updates` says instead of them, until the context's shutdown.
///
/// # Guarantees
/// A kind that is not served is waited for; the trouble of one watch does not touch another. A watch that does not
/// change is not disturbed by one that does. No release is touched because its watch is gone.
pub async fn run(context: Context, watches: Watches, updates: Option<Updates>) {
    match &context.config.namespaces {
        Namespaces::All => tracing::info!("Watching all namespaces"),
        Namespaces::Listed(names) => tracing::info!(Namespaces = ?names, "Watching namespaces"),
    }
    let mut supervisor = Supervisor::new(context, &watches);
    for watch in &watches {
        supervisor.start(watch.clone(), &watches);
    }
    supervisor.start_runs(&watches);
    supervisor.run(updates).await;
}

struct Supervisor {
    context: Context,
    shared: Shared,
    /// Ends the watches of dependents in `shared`.
    stop_shared: CancellationToken,
    /// What the watches of dependents select, and what of it they heed.
    interests: Interests,
    /// Under which selectors the operator adds its finalizer, and did before.
    selectors: Selectors,
    running: Vec<Running>,
    controllers: JoinSet<()>,
}

/// A controller.
struct Running {
    watch: Watch,
    versions: Versions,
    stop: CancellationToken,
    /// Cancelled when it has ended.
    ended: CancellationToken,
    task: AbortHandle,
}

impl Supervisor {
    fn new(context: Context, watches: &Watches) -> Self {
        let interests = interests(watches);
        let stop_shared = context.shutdown.child_token();
        let shared = share(&context, interests.clone(), stop_shared.clone());
        let mut selectors = Selectors::of(watches);
        selectors.join(&context.former_selectors);
        Self {
            selectors,
            context,
            shared,
            stop_shared,
            interests,
            running: Vec::new(),
            controllers: JoinSet::new(),
        }
    }

    async fn run(mut self, mut updates: Option<Updates>) {
        let shutdown = self.context.shutdown.clone();
        while !shutdown.is_cancelled() {
            tokio::select! {
                () = shutdown.cancelled() => break,
                ended = self.controllers.join_next() => match ended {
                    Some(Err(error)) if !error.is_cancelled() => {
                        tracing::error!(%error, "a controller has stopped unexpectedly");
                    }
                    Some(_) => {}
                    None => return,
                },
                Some(watches) = next(&mut updates) => self.replace(watches).await,
            }
        }
        while let Some(ended) = self.controllers.join_next().await {
            if let Err(error) = ended {
                tracing::error!(%error, "a controller has stopped unexpectedly");
            }
        }
    }

    fn start(&mut self, watch: Watch, watches: &Watches) {
        let versions = Versions::of(&watch, watches);
        let former = self.selectors.former(&watch.gvk, &Selectors::of(watches));
        let stop = self.context.shutdown.child_token();
        let context = Context {
            shutdown: stop.clone(),
            ..self.context.clone()
        };
        let limit = watch.max_concurrent_reconciles;
        let limit = limit.unwrap_or(self.context.config.max_concurrent_reconciles.get());
        self.context
            .readiness
            .waiting(&watch.gvk, "its controller has not started yet");
        self.context.metrics.start_controller(&watch.gvk, limit);
        let ended = CancellationToken::new();
        let guard = ended.clone().drop_guard();
        let claim = Claim {
            watch: watch.clone(),
            versions: versions.clone(),
            former_selectors: former,
            expected: self.shared.dependents.expect_resources(),
        };
        let work = controller::control(context, self.shared.clone(), claim);
        let task = self.controllers.spawn(async move {
            let _ended = guard;
            work.await;
        });
        self.running.push(Running {
            watch,
            versions,
            stop,
            ended,
            task,
        });
    }

    /// Starts a controller for each entry with a role or playbook.
    fn start_runs(&mut self, watches: &Watches) {
        let Some(tools) = self
            .context
            .runs
            .clone()
            .filter(|_| !watches.ansible().is_empty())
        else {
            return;
        };
        let namespaces = self.context.config.namespaces.names();
        let stop = self.context.shutdown.child_token();
        let dependents = Dependents::of_runs(self.context.client.clone(), namespaces, stop);
        let dependents = Arc::new(dependents);
        for watch in watches.ansible() {
            let limit = watch.max_concurrent_reconciles;
            let limit = limit.unwrap_or(self.context.config.max_concurrent_reconciles.get());
            self.context
                .readiness
                .waiting(&watch.gvk, "its controller has not started yet");
            self.context.metrics.start_controller(&watch.gvk, limit);
            let claim = RunClaim {
                content: content_of(watch),
                watch: watch.clone(),
                tools: tools.clone(),
                dependents: Arc::clone(&dependents),
                expected: dependents.expect_resources(),
            };
            self.controllers
                .spawn(controller::control_runs(self.context.clone(), claim));
        }
    }

    /// Stops what is not wanted any longer, and starts what is new. Another entry for a kind is both.
    async fn replace(&mut self, watches: Watches) {
        let interests = interests(&watches);
        let select_anew =
            !interests.charts.is_subset(&self.interests.charts) || interests.ignore != self.interests.ignore;
        let mut stopping = Vec::new();
        for running in std::mem::take(&mut self.running) {
            let gvk = &running.watch.gvk;
            match watches.get(gvk) {
                Some(watch)
                    if watch.says_the_same(&running.watch)
                        && Versions::of(watch, &watches) == running.versions
                        && !select_anew =>
                {
                    self.running.push(running);
                }
                Some(watch) => {
                    log_change(&running.watch, watch);
                    stopping.push(running);
                }
                None => {
                    log("Stopped watching resource; its releases stay as they are", gvk);
                    stopping.push(running);
                }
            }
        }
        for running in &stopping {
            running.stop.cancel();
        }
        for running in &stopping {
            if tokio::time::timeout(REPLACE_GRACE, running.ended.cancelled())
                .await
                .is_err()
            {
                running.task.abort();
            }
            self.context.readiness.forget(&running.watch.gvk);
        }
        if select_anew {
            // The watches of dependents select by the names of charts.
            self.stop_shared.cancel();
            self.stop_shared = self.context.shutdown.child_token();
            self.shared = share(&self.context, interests.clone(), self.stop_shared.clone());
            self.interests = interests;
        }
        self.selectors.join(&Selectors::of(&watches));
        for watch in &watches {
            if self.running.iter().all(|running| running.watch.gvk != watch.gvk) {
                self.start(watch.clone(), &watches);
            }
        }
    }
}

/// The next watches; never where nothing is followed any more.
async fn next(updates: &mut Option<Updates>) -> Option<Watches> {
    let Some(receiver) = updates else {
        return std::future::pending().await;
    };
    if receiver.changed().await.is_err() {
        *updates = None;
        return None;
    }
    Some(receiver.borrow_and_update().clone())
}

fn share(context: &Context, interests: Interests, stop: CancellationToken) -> Shared {
    let namespaces = context.config.namespaces.names();
    let signer = Arc::clone(&context.signer);
    Shared::new(context.client.clone(), signer, interests, namespaces, stop)
        .within(Arc::clone(&context.budget))
}

fn interests(watches: &Watches) -> Interests {
    let mut interests = Interests::default();
    for watch in watches {
        interests.charts.insert(watch.chart.name().to_owned());
        let kind = (watch.gvk.group.clone(), watch.gvk.kind.clone());
        let ignore = watch.drift.ignore.iter().cloned();
        interests.ignore.entry(kind).or_default().extend(ignore);
    }
    interests
}

/// What a run is made of, besides its resource: where its role or playbook is, and the variables of the entry.
fn content_of(watch: &AnsibleWatch) -> Digest {
    let finalizer = watch.finalizer.as_ref().map(|finalizer| &finalizer.vars);
    digest_of_json(&serde_json::json!([
        watch.content.path().display().to_string(),
        watch.vars,
        finalizer
    ]))
}

fn log_change(old: &Watch, new: &Watch) {
    if old.chart != new.chart {
        log("Chart has changed", &new.gvk);
    } else if !old.says_the_same(new) {
        log("Watch has changed", &new.gvk);
    }
}

fn log(message: &'static str, gvk: &GroupVersionKind) {
    tracing::info!(apiVersion = %gvk.api_version(), kind = %gvk.kind, "{message}");
}

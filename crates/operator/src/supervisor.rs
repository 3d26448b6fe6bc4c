//! One controller for each watch, and another set of them when the watches change.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use futures::FutureExt as _;
use kube::core::GroupVersionKind;
use steersman_watches::{AnsibleWatch, Selectors, Watch, Watches};
use tokio::task::{AbortHandle, JoinSet};
use tokio_util::sync::CancellationToken;

use crate::context::Context;
use crate::controller::{self, Claim, RunClaim, SharedOfRuns, Versions, kind_of_runs};
use crate::dependents::{Dependents, Interests};
use crate::follow::Updates;
use crate::namespaces::Namespaces;
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
    for entry in Entry::of(&watches) {
        supervisor.start(entry, &watches);
    }
    supervisor.run(updates).await;
}

struct Supervisor {
    context: Context,
    shared: Shared,
    /// What controllers of entries with a role or playbook share; `None` where runs can't be made.
    shared_of_runs: Option<SharedOfRuns>,
    /// Ends the watches of dependents in `shared`.
    stop_shared: CancellationToken,
    /// What the watches of dependents select, and what of it they heed.
    interests: Interests,
    /// Under which selectors the operator adds its finalizer, and did before.
    selectors: Selectors,
    running: Vec<Running>,
    controllers: JoinSet<()>,
}

/// An entry of watches.yaml.
#[derive(Clone)]
enum Entry {
    Chart(Box<Watch>),
    Ansible(Box<AnsibleWatch>),
}

/// A controller.
struct Running {
    entry: Entry,
    versions: Versions,
    stop: CancellationToken,
    /// Cancelled when it has ended.
    ended: CancellationToken,
    task: AbortHandle,
}

impl Entry {
    fn of(watches: &Watches) -> Vec<Self> {
        let charts = watches.iter().cloned().map(Box::new).map(Self::Chart);
        let ansible = watches.ansible().iter().cloned().map(Box::new).map(Self::Ansible);
        charts.chain(ansible).collect()
    }

    fn gvk(&self) -> &GroupVersionKind {
        match self {
            Self::Chart(watch) => &watch.gvk,
            Self::Ansible(watch) => &watch.gvk,
        }
    }

    /// Its kind, and those of the runs of its procedures.
    fn kinds(&self) -> Vec<GroupVersionKind> {
        let own = self.gvk();
        let procedures = match self {
            Self::Chart(watch) => watch.procedures.as_slice(),
            Self::Ansible(_) => &[],
        };
        let of_runs = procedures.iter().map(|procedure| kind_of_runs(own, procedure));
        std::iter::once(own.clone()).chain(of_runs).collect()
    }

    fn limit(&self) -> Option<usize> {
        match self {
            Self::Chart(watch) => watch.max_concurrent_reconciles,
            Self::Ansible(watch) => watch.max_concurrent_reconciles,
        }
    }

    fn says_the_same(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Chart(watch), Self::Chart(other)) => watch.says_the_same(other),
            (Self::Ansible(watch), Self::Ansible(other)) => watch.says_the_same(other),
            _ => false,
        }
    }

    fn log_change_to(&self, new: &Self) {
        match (self, new) {
            (Self::Chart(old), Self::Chart(new)) if old.chart != new.chart => {
                log("Chart has changed", &new.gvk);
            }
            (Self::Ansible(old), Self::Ansible(new)) if old.sources != new.sources => {
                log("Role or playbook has changed", &new.gvk);
            }
            _ if !self.says_the_same(new) => log("Watch has changed", new.gvk()),
            _ => {}
        }
    }
}

impl Supervisor {
    fn new(context: Context, watches: &Watches) -> Self {
        let interests = interests(watches);
        let stop_shared = context.shutdown.child_token();
        let shared = share(&context, interests.clone(), stop_shared.clone());
        shared.references.note_kinds(depended_on(watches));
        let mut selectors = Selectors::of(watches);
        selectors.join(&context.former_selectors);
        Self {
            selectors,
            shared_of_runs: share_of_runs(&context, &shared),
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

    fn start(&mut self, entry: Entry, watches: &Watches) {
        let versions = Versions::of(entry.gvk(), watches);
        let former = self.selectors.former(entry.gvk(), &Selectors::of(watches));
        let stop = self.context.shutdown.child_token();
        let context = Context {
            shutdown: stop.clone(),
            ..self.context.clone()
        };
        let limit = entry.limit();
        let limit = limit.unwrap_or(self.context.config.max_concurrent_reconciles.get());
        self.context
            .readiness
            .waiting(entry.gvk(), "its controller has not started yet");
        self.context.metrics.start_controller(entry.gvk(), limit);
        let ended = CancellationToken::new();
        let guard = ended.clone().drop_guard();
        let work = match (&entry, &self.shared_of_runs) {
            (Entry::Chart(watch), _) => {
                let claim = Claim {
                    watch: watch.as_ref().clone(),
                    versions: versions.clone(),
                    former_selectors: former,
                    expected: self.shared.dependents.expect_resources(),
                };
                controller::control(context, self.shared.clone(), claim).boxed()
            }
            (Entry::Ansible(watch), Some(shared)) => {
                let claim = RunClaim {
                    watch: watch.as_ref().clone(),
                    versions: versions.clone(),
                    former_selectors: former,
                    expected: shared.dependents.expect_resources(),
                    shared: shared.clone(),
                };
                controller::control_runs(context, claim).boxed()
            }
            (Entry::Ansible(watch), None) => {
                let kind = &watch.gvk.kind;
                tracing::error!(%kind, "nothing is run for it: start the operator anew, as it had no role or playbook at its start");
                return;
            }
        };
        let task = self.controllers.spawn(async move {
            let _ended = guard;
            work.await;
        });
        self.running.push(Running {
            entry,
            versions,
            stop,
            ended,
            task,
        });
    }

    /// Stops what is not wanted any longer, and starts what is new. Another entry for a kind is both.
    async fn replace(&mut self, watches: Watches) {
        let interests = interests(&watches);
        let entries = Entry::of(&watches);
        let select_anew = !interests.charts.is_subset(&self.interests.charts)
            || interests.ignore != self.interests.ignore
            || interests.checks != self.interests.checks
            || interests.excerpts != self.interests.excerpts;
        let mut stopping = Vec::new();
        for running in std::mem::take(&mut self.running) {
            let gvk = running.entry.gvk();
            let is_selected_anew = select_anew && matches!(running.entry, Entry::Chart(_));
            match entries.iter().find(|entry| entry.gvk() == gvk) {
                Some(entry)
                    if entry.says_the_same(&running.entry)
                        && Versions::of(gvk, &watches) == running.versions
                        && !is_selected_anew =>
                {
                    self.running.push(running);
                }
                Some(entry) => {
                    running.entry.log_change_to(entry);
                    stopping.push(running);
                }
                None => {
                    log(
                        "Stopped watching resource; what was made for it stays as it is",
                        gvk,
                    );
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
            for kind in running.entry.kinds() {
                self.context.readiness.forget(&kind);
            }
        }
        if select_anew {
            // The watches of dependents select by the names of charts.
            self.stop_shared.cancel();
            self.stop_shared = self.context.shutdown.child_token();
            self.shared = share(&self.context, interests.clone(), self.stop_shared.clone());
            self.interests = interests;
        }
        self.shared.references.note_kinds(depended_on(&watches));
        self.selectors.join(&Selectors::of(&watches));
        for entry in entries {
            let is_running = |running: &Running| running.entry.gvk() == entry.gvk();
            if !self.running.iter().any(is_running) {
                self.start(entry, &watches);
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

/// What entries with a role or playbook share. They see other objects than releases do.
fn share_of_runs(context: &Context, shared: &Shared) -> Option<SharedOfRuns> {
    let tools = context.runs.clone()?;
    let namespaces = context.config.namespaces.names();
    let stop = context.shutdown.child_token();
    let dependents = Dependents::of_runs(context.client.clone(), namespaces, stop);
    Some(SharedOfRuns {
        tools,
        dependents: Arc::new(dependents),
        discovery: Arc::clone(&shared.discovery),
        events: shared.events.clone(),
    })
}

fn interests(watches: &Watches) -> Interests {
    let mut interests = Interests::default();
    for watch in watches {
        interests.charts.insert(watch.chart.name().to_owned());
        let kind = (watch.gvk.group.clone(), watch.gvk.kind.clone());
        let ignore = watch.drift.ignore.iter().cloned();
        interests.ignore.entry(kind).or_default().extend(ignore);
        interests.checks.add(&watch.gvk, &watch.health_checks);
        interests.excerpts.add(&watch.gvk, watch.reads());
    }
    interests
}

/// The kinds that entries depend on.
fn depended_on(watches: &Watches) -> BTreeSet<(String, String)> {
    let dependencies = watches.iter().flat_map(|watch| &watch.depends_on);
    let kinds = dependencies.map(|dependency| (dependency.api.group.clone(), dependency.api.kind.clone()));
    kinds.collect()
}

fn log(message: &'static str, gvk: &GroupVersionKind) {
    tracing::info!(apiVersion = %gvk.api_version(), kind = %gvk.kind, "{message}");
}

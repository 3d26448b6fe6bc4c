//! Hooks: objects that a chart wants made at one of Helm's hook events, such as `pre-install`.

mod error;
mod event;
mod order;
mod progress;
mod run;
mod secrets;
mod under_way;
mod wait;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

pub use error::HookError;
pub use event::event_name;
use order::{BEFORE_CREATION, FAILED, SUCCEEDED, has_policy};
pub use order::{hooks_in_order, is_ours_to_run};
pub(crate) use progress::{end_of_job, last_words, message_of};
pub use run::has_an_end;
use run::{Run, Terms, is_definition};
use serde_json::Value;
use steersman_chart::HookEvent;
use steersman_cluster::discovery::{DiscoveryError, unavailable};
use steersman_cluster::{Owner, RequestError};
use steersman_model::{ApiKind, ObjectId, RenderedObject, objects_of_text};
use tokio::time::Instant;
pub use under_way::HooksLeft;
pub use wait::HookWait;

use super::applier::Applier;
use crate::apply::address::identify;
use crate::apply::ownership::Deletion;
use crate::release::{HookRecord, Journal};
use crate::status::LearningRedactor;
use crate::telemetry::step;

/// The pauses between attempts to delete a hook's object. After the last one it stays until the hook runs again, or the
/// release is uninstalled.
const CLEAN_UP_PAUSES: [Duration; 3] = [
    Duration::from_millis(100),
    Duration::from_millis(500),
    Duration::from_secs(2),
];

/// The hooks of a revision for one of Helm's hook events.
#[derive(Clone, Copy, Debug)]
pub struct HookRun<'a> {
    /// All of the revision's; those of other events are left out.
    pub hooks: &'a [HookRecord],
    /// The one that happens: hooks of others do not run.
    pub event: HookEvent,
    /// How long each may take; `None` is as long as it likes.
    pub timeout: Option<Duration>,
    /// What the revision says of those that have run. A Job or Pod that was started for it is not started again.
    pub journal: &'a Journal<'a>,
    /// The hook that was waited for when the release was left; what the revision does not say of those before it, this does.
    pub resumed: Option<&'a HookWait>,
    /// Whether the hooks have failed before: the time of one that is still running begins anew then, and else with its start.
    pub is_retry: bool,
    /// Whether a former process may have come some way with the revision, and none has failed: one that can't be looked at may
    /// be running.
    pub is_recovery: bool,
    /// What is of a kind that is gone is left out, and said here; it fails where there is none.
    pub left_out: Option<&'a LeftOut>,
    /// Where the ends of Jobs and Pods are noted.
    pub ends: &'a HookEnds,
    /// Learns what Secrets hold that Jobs and Pods have something of, before it is told what they have said.
    pub redactor: &'a LearningRedactor,
}

/// The Jobs and Pods of hooks that have come to their end.
#[derive(Debug, Default)]
pub struct HookEnds(Mutex<Vec<HookEnd>>);

/// A Job or Pod of a hook that has come to its end.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HookEnd {
    /// For which it ran, such as `pre-install`.
    pub event: &'static str,
    /// Whether what comes after it may begin.
    pub has_succeeded: bool,
    /// From its start.
    pub took: Duration,
}

impl HookEnds {
    fn note(&self, run: &Run<'_>, outcome: &Result<(), HookError>, begun: Instant) {
        let has_succeeded = match outcome {
            Ok(()) => true,
            Err(HookError::Failed { .. } | HookError::Timeout { .. }) => false,
            Err(_) => return,
        };
        if run.has_an_end() {
            let end = HookEnd {
                event: run.event,
                has_succeeded,
                took: begun.elapsed(),
            };
            self.0.lock().unwrap_or_else(PoisonError::into_inner).push(end);
        }
    }

    /// All of them, in order.
    pub fn all(&self) -> Vec<HookEnd> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

/// Why objects of hooks were left out.
#[derive(Debug, Default)]
pub struct LeftOut(Mutex<Vec<HookError>>);

impl LeftOut {
    fn note(&self, error: HookError) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).push(error);
    }

    /// All of them, in order.
    pub fn into_reasons(self) -> Vec<HookError> {
        self.0.into_inner().unwrap_or_else(PoisonError::into_inner)
    }
}

fn is_defined_by(hooks: &[&HookRecord], api: &ApiKind) -> bool {
    let objects = hooks
        .iter()
        .filter_map(|hook| objects_of_text(&hook.path, &hook.manifest).ok());
    objects.flatten().any(|object| {
        let field = |path| object.value.pointer(path).and_then(Value::as_str);
        let defined = (field("/spec/group"), field("/spec/names/kind"));
        is_definition(&object.api.kind) && defined == (Some(api.group.as_str()), Some(api.kind.as_str()))
    })
}

/// Counts the hooks of an event that make the same object, one after the other.
#[derive(Default)]
struct Turns(BTreeMap<ObjectId, usize>);

impl Turns {
    /// How many hooks before this one make the object.
    fn next(&mut self, id: &ObjectId) -> usize {
        let next = self.0.entry(id.clone()).or_default();
        *next += 1;
        *next - 1
    }
}

impl Applier {
    /// Runs the hooks of an event, one after the other by weight, up to where there is something to wait for.
    ///
    /// A Job or Pod that has run for this revision and event, as the revision says, does not run again, and one that was
    /// started and has not failed is not started again, whatever its policy: the release was left while it ran, or the
    /// process was stopped. Any other one that is there and not to be deleted first is in the way, as it can't run again.
    /// What is no Job or Pod is made what the chart says, once: what was made for this revision and event stays as it is, as
    /// others may use it by now.
    ///
    /// # Errors
    /// The first hook that is to be waited for, fails or takes longer than the timeout, if there is one. Hooks before one
    /// that fails are deleted as their policies say.
    pub async fn run_hooks(&self, owner: &Owner, run: HookRun<'_>) -> Result<(), HookError> {
        let due = hooks_in_order(run.hooks, run.event);
        if due.is_empty() {
            return Ok(());
        }
        let step = step("hooks").event(event_name(run.event));
        let outcome = step.of(self.run_due(owner, &due, run)).await;
        let is_gone = |error: &HookError| RequestError::behind(error).is_some_and(RequestError::is_not_found);
        if outcome.as_ref().is_err_and(is_gone) {
            // The definition of its kind may be gone.
            self.discovery.forget();
        }
        // What the watch has told of a hook is all that is known of it while it can't be looked at.
        let goes_on = |error: &HookError| matches!(error, HookError::Waiting(_)) || error.is_unanswered();
        if !outcome.as_ref().is_err_and(goes_on) {
            self.dependents.expect_nothing(&owner.uid);
        }
        outcome
    }

    async fn run_due(
        &self,
        owner: &Owner,
        due: &[&HookRecord],
        HookRun {
            event,
            timeout,
            journal,
            resumed,
            is_retry,
            is_recovery,
            left_out,
            ends,
            redactor,
            ..
        }: HookRun<'_>,
    ) -> Result<(), HookError> {
        let is_of_event = |wait: &&HookWait| wait.is_of(journal, event_name(event));
        let resumed = resumed.filter(is_of_event);
        let mut done: Vec<Run<'_>> = Vec::new();
        let mut outcome = Ok(());
        let mut awaited = resumed;
        let mut turns = Turns::default();
        for hook in due {
            let prepared = match left_out {
                Some(left_out) => {
                    self.prepare_served(owner, (hook, due), event_name(event), left_out)
                        .await
                }
                None => self.prepare(owner, hook, event_name(event)).await,
            };
            let runs = match prepared {
                Ok(runs) => runs,
                Err(error) => {
                    outcome = Err(error);
                    break;
                }
            };
            for run in runs {
                let turn = turns.next(&run.id);
                let mark = journal.mark(run.event, turn);
                let resumed = awaited.filter(|wait| wait.mark == mark && wait.id == run.id);
                if resumed.is_some() {
                    awaited = None;
                }
                // Nothing has taken it away since it was made.
                if !run.has_an_end() && awaited.is_some_and(|wait| !wait.is_uncertain) {
                    done.push(run);
                    continue;
                }
                if journal.times_run(run.event, &run.id) > turn {
                    // What is left of it goes with the others. A later event may have one of the same name under way.
                    match self.is_left(owner, &run, &mark).await {
                        Ok(true) => done.push(run),
                        Ok(false) => {}
                        Err(error) => outcome = Err(error),
                    }
                    if outcome.is_err() {
                        break;
                    }
                    continue;
                }
                let terms = Terms {
                    mark: &mark,
                    timeout,
                    resumed,
                    is_retry,
                    is_recovery,
                    written: journal.written(),
                    is_before_awaited: awaited.is_some(),
                    journal,
                    redactor,
                };
                let step = step("hook").object(&run.id);
                let begun = resumed.map_or_else(Instant::now, |wait| wait.term.since);
                let ran = step.of(self.run_one(owner, &run, terms)).await;
                let is_by_this = !matches!(ran, Ok(false));
                outcome = ran.map(drop);
                ends.note(&run, &outcome, begun);
                if outcome.is_ok() && run.has_an_end() {
                    let noted = journal.note(run.event, &run.id).await;
                    outcome = noted.map_err(|source| run.not_noted(source));
                }
                match &mut outcome {
                    Ok(()) if is_by_this => done.push(run),
                    Ok(()) => {}
                    Err(HookError::Waiting(wait)) => {
                        wait.mark = mark;
                        wait.turn = turn;
                        return outcome;
                    }
                    // What a test has come to is written down before its object goes.
                    Err(HookError::Failed { .. } | HookError::Timeout { .. }) if event == HookEvent::Test => {
                        break;
                    }
                    Err(HookError::Failed { .. } | HookError::Timeout { .. }) => {
                        self.clean_up(owner, &run, FAILED).await;
                        break;
                    }
                    Err(_) => break,
                }
            }
            if outcome.is_err() {
                break;
            }
        }
        // Without an answer nobody knows whether the event is over: those that run may need what is there.
        let is_unknown = |error: &HookError| error.is_unanswered() || error.is_of_unread();
        if !outcome.as_ref().is_err_and(is_unknown) {
            for run in done.iter().rev() {
                self.clean_up(owner, run, SUCCEEDED).await;
            }
        }
        outcome
    }

    /// Deletes the object of the test that has failed with `error`, if its policy says so.
    pub async fn clean_up_failed(&self, owner: &Owner, hooks: &[HookRecord], error: &HookError) {
        let (HookError::Failed { id: failed, .. } | HookError::Timeout { id: failed, .. }) = error else {
            return;
        };
        for hook in hooks_in_order(hooks, HookEvent::Test) {
            let prepared = self.prepare(owner, hook, event_name(HookEvent::Test)).await;
            for run in prepared.into_iter().flatten() {
                if run.id == **failed {
                    self.clean_up(owner, &run, FAILED).await;
                }
            }
        }
    }

    /// Deletes what `hooks`, the newest first, have left behind, apart from what is to be kept and definitions of kinds. Gives
    /// their objects: of the hooks that make one, the newest decides what becomes of it.
    ///
    /// Garbage collection does not reach objects in other namespaces or in none. Hooks that only
    /// `helm test` runs were never ours to run, and their kinds may be out of reach.
    ///
    /// # Errors
    /// The first object that can't be read or deleted.
    pub async fn remove_hooks(
        &self,
        owner: &Owner,
        hooks: &[&HookRecord],
    ) -> Result<BTreeSet<ObjectId>, HookError> {
        let mut decided = BTreeSet::new();
        for run in self.readable(owner, hooks).await? {
            if decided.insert(run.id.clone()) {
                self.remove_hook(owner, &run).await?;
            }
        }
        Ok(decided)
    }

    /// Deletes what one hook has left behind; what is to be kept loses our marks.
    async fn remove_hook(&self, owner: &Owner, run: &Run<'_>) -> Result<(), HookError> {
        if run.is_definition() {
            return Ok(());
        }
        let deletion = if run.object.is_kept() {
            Ok(Deletion::Kept)
        } else {
            self.delete_with_pods(owner, &run.id).await
        };
        match deletion.map_err(|source| run.delete_failed(source))? {
            Deletion::NotOurs(reason) => {
                tracing::warn!(object = %run.id, %reason, "hook left in place");
            }
            Deletion::Kept => {
                let orphaned = self.orphan(owner, &run.id).await;
                orphaned.map_err(|source| run.delete_failed(source))?;
            }
            Deletion::Gone | Deletion::Accepted | Deletion::Applied => {}
        }
        Ok(())
    }

    /// The objects of `hooks`, the newest first, that are to go and that no garbage collector reaches when the owner goes.
    ///
    /// # Errors
    /// The server does not say what it serves.
    pub async fn left_by_hooks(
        &self,
        owner: &Owner,
        hooks: &[&HookRecord],
    ) -> Result<Vec<ObjectId>, DiscoveryError> {
        let Some(namespace) = &owner.namespace else {
            return Ok(Vec::new());
        };
        let mut decided = BTreeSet::new();
        let runs = self.readable(owner, hooks).await?.into_iter();
        let newest = runs.filter(|run| decided.insert(run.id.clone()));
        let left = newest.filter(Run::is_to_go).map(|run| run.id);
        Ok(left
            .filter(|id| id.namespace.as_ref() != Some(namespace))
            .collect())
    }

    /// The objects of `hooks`, whatever is to become of them.
    ///
    /// # Errors
    /// The server does not say what it serves.
    pub async fn objects_of_hooks(
        &self,
        owner: &Owner,
        hooks: &[&HookRecord],
    ) -> Result<BTreeSet<ObjectId>, DiscoveryError> {
        let runs = self.readable(owner, hooks).await?;
        Ok(runs.into_iter().map(|run| run.id).collect())
    }

    /// The objects of hooks that are no longer to be pruned, although the revision before had them itself: those of `before`,
    /// which have run, and those of `after`. Where these have not run, and one would be in the way of its own, that is pruned.
    ///
    /// # Errors
    /// The server does not say what it serves.
    pub async fn taken_by_hooks(
        &self,
        owner: &Owner,
        (before, after): (&[&HookRecord], &[&HookRecord]),
        have_run: bool,
    ) -> Result<BTreeSet<ObjectId>, DiscoveryError> {
        let mut taken = self.objects_of_hooks(owner, before).await?;
        let after = self.readable(owner, after).await?.into_iter();
        let is_taken = |run: &Run<'_>| have_run || !run.has_an_end() || has_policy(run.hook, BEFORE_CREATION);
        taken.extend(after.filter(is_taken).map(|run| run.id));
        Ok(taken)
    }

    /// Those objects of `hooks` that are to go with the release.
    ///
    /// # Errors
    /// The server does not say what it serves.
    pub async fn going_with_hooks(
        &self,
        owner: &Owner,
        hooks: &[&HookRecord],
    ) -> Result<BTreeSet<ObjectId>, DiscoveryError> {
        let runs = self.readable(owner, hooks).await?;
        Ok(runs.into_iter().filter(Run::is_to_go).map(|run| run.id).collect())
    }

    /// What `hooks` make, but for what can't be read, and so was never made, and for objects whose kind is gone: they went with
    /// its definition.
    async fn readable<'a>(
        &self,
        owner: &Owner,
        hooks: &[&'a HookRecord],
    ) -> Result<Vec<Run<'a>>, DiscoveryError> {
        let mut runs = Vec::new();
        for hook in hooks.iter().copied().filter(|hook| is_ours_to_run(hook)) {
            match self
                .prepare_each(owner, hook, event_name(HookEvent::PostDelete))
                .await
            {
                Ok(prepared) => runs.extend(prepared.into_iter().flatten()),
                Err(HookError::Discovery(error)) => return Err(error),
                Err(error) => {
                    tracing::debug!(hook = %hook.path, error = %steersman_model::chain(&error), "a stored hook can't be read");
                }
            }
        }
        Ok(runs)
    }

    async fn prepare<'a>(
        &self,
        owner: &Owner,
        hook: &'a HookRecord,
        event: &'static str,
    ) -> Result<Vec<Run<'a>>, HookError> {
        let prepared = self.prepare_each(owner, hook, event).await?;
        prepared.into_iter().collect()
    }

    /// The same, but that objects of kinds that are gone are left out. What one of those that are `due` defines may not be served
    /// yet.
    async fn prepare_served<'a>(
        &self,
        owner: &Owner,
        (hook, due): (&'a HookRecord, &[&HookRecord]),
        event: &'static str,
        left_out: &LeftOut,
    ) -> Result<Vec<Run<'a>>, HookError> {
        let mut prepared = self.prepare_each(owner, hook, event).await?;
        if prepared.iter().any(Result::is_err) {
            self.discovery.refresh().await?;
            prepared = self.prepare_each(owner, hook, event).await?;
        }
        let mut runs = Vec::with_capacity(prepared.len());
        for run in prepared {
            match run {
                Ok(run) => runs.push(run),
                Err(HookError::UnknownKind { event, path, api }) if !is_defined_by(due, &api) => {
                    left_out.note(HookError::UnknownKind { event, path, api });
                }
                Err(error) => return Err(error),
            }
        }
        Ok(runs)
    }

    async fn prepare_each<'a>(
        &self,
        owner: &Owner,
        hook: &'a HookRecord,
        event: &'static str,
    ) -> Result<Vec<Result<Run<'a>, HookError>>, HookError> {
        let objects = objects_of_text(&hook.path, &hook.manifest)
            .map_err(|source| HookError::Document { event, source })?;
        let served = self
            .discovery
            .served_with(objects.iter().map(|object| &object.api))
            .await?;
        let is_unavailable = |object: &RenderedObject| {
            let ApiKind { group, kind, .. } = &object.api;
            served.resource(&object.api).is_none() && served.is_unavailable(group, kind)
        };
        if let Some(object) = objects.iter().find(|object| is_unavailable(object)) {
            return Err(unavailable(&object.api.group).into());
        }
        let prepared = objects.into_iter().map(|object| {
            let Some(resource) = served.resource(&object.api).cloned() else {
                return Err(HookError::UnknownKind {
                    event,
                    path: hook.path.clone(),
                    api: Box::new(object.api.clone()),
                });
            };
            let id = identify(&object, &resource, &owner.release_namespace);
            Ok(Run {
                event,
                hook,
                id,
                object,
                resource,
            })
        });
        Ok(prepared.collect())
    }

    /// What a policy leaves behind when it can't be carried out is no failure of the release.
    async fn clean_up(&self, owner: &Owner, run: &Run<'_>, policy: &str) {
        if !has_policy(run.hook, policy) || run.is_definition() {
            return;
        }
        self.dependents.note_going(&owner.uid, &run.id);
        for pause in CLEAN_UP_PAUSES.map(Some).into_iter().chain([None]) {
            let error = match self.delete_with_pods(owner, &run.id).await {
                Ok(Deletion::NotOurs(reason)) => {
                    tracing::warn!(object = %run.id, %reason, "hook left in place");
                    return;
                }
                Ok(Deletion::Kept) => {
                    tracing::info!(object = %run.id, "hook left in place, as the object says that it is to be kept");
                    return;
                }
                Ok(_) => return,
                Err(error) => error,
            };
            match pause {
                Some(pause) => tokio::time::sleep(pause).await,
                None => {
                    tracing::warn!(object = %run.id, error = %steersman_model::chain(&error), "failed to delete hook");
                }
            }
        }
    }
}

//! The loop for one resource: observe, decide, act, report.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use jiff::Timestamp;
use kube::api::DynamicObject;
use serde_json::{Map, Value};
use steersman_ansible::{ExtraVars, Outcome, RunError, VarsError};
use steersman_cluster::client::ServiceAccount;
use steersman_cluster::discovery::{Discovery, Resource};
use steersman_model::{Digest, ObjectId, chain};
use steersman_watches::{AnsibleContent, AnsibleWatch};
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use super::annotations::{RECONCILE_PERIOD, RunAnnotations};
use super::cache::RunCache;
use super::decide::{next_action, run_state};
use super::error::Failure;
use super::left::{Liveness, left_after};
use super::notes::Met;
use super::record::{LeftObject, RunRecord};
use super::report::{Hold, RECORD, RunReport, says_settled};
use super::run::{Due, RunFailure, RunTools};
use super::state::{Action, Cause, LastRun, RunInputs, RunState};
use super::subject::Subject;
use super::task_log::TaskLogOptions;
use super::turns::{Turn, TurnsOfKind};
use crate::dependents::{Dependents, Left};
use crate::namespaces::Namespaces;
use crate::reconcile::{Next, ORPHAN_FINALIZER, ReconcileOutcome};
use crate::release::Signer;
use crate::schedule::period_of;
use crate::status::{EventReason, Events};
use crate::telemetry::step;

/// How soon a resource is looked at again that others have changed at the same moment.
const CONFLICT_PAUSE: Duration = Duration::from_millis(200);

/// How much of the first failure is shown, in bytes.
const MOST_WORDS: usize = 8 << 10;

/// Reconciles the resources of one kind by runs.
#[derive(Clone)]
pub struct RunReconciler {
    /// The API server.
    pub client: kube::Client,
    /// What that serves.
    pub discovery: Arc<Discovery>,
    /// Signs what the status says of runs.
    pub signer: Arc<Signer>,
    /// Says in events what has become of runs.
    pub events: Events,
    /// What is live of what runs have made.
    pub dependents: Arc<Dependents>,
    /// Runs roles and playbooks.
    pub tools: RunTools,
    /// Lets its runs begin, beside those of other kinds.
    pub turns: Arc<TurnsOfKind>,
    /// The entry of the kind.
    pub watch: Arc<AnsibleWatch>,
    /// Its files, paths and variables: with another one a run is due.
    pub content: Digest,
    /// How resources of it are addressed.
    pub resource: Resource,
    /// How often one is run for without a change.
    pub period: Option<Duration>,
    /// The namespaces that are watched.
    pub namespaces: Namespaces,
    /// Whether nothing is done.
    pub dry_run: bool,
    /// The clock.
    pub now: fn() -> Timestamp,
}

impl std::fmt::Debug for RunReconciler {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("RunReconciler")
            .field("watch", &self.watch)
            .finish_non_exhaustive()
    }
}

impl RunReconciler {
    /// Runs what is due for `object`, and reports it in the object's status. A run ends before its time when `stop` is
    /// cancelled.
    ///
    /// # Guarantees
    /// A settled resource costs no request and no run.
    ///
    /// # Cancellation
    /// Safe at any await: a run that is under way is killed, and made anew.
    pub async fn reconcile(
        &self,
        object: DynamicObject,
        stop: &CancellationToken,
        cache: &mut RunCache,
    ) -> ReconcileOutcome {
        let api = self
            .resource
            .objects(&self.client, object.metadata.namespace.as_deref());
        let types = &self.resource.api;
        let Some(mut subject) = Subject::new(object, api, (&types.api_version, &types.kind)) else {
            return ReconcileOutcome::of(Next::Never);
        };
        if cache.begin(&subject.owner.uid) {
            cache.record = self.recorded(&subject);
            cache.was_cut_off = subject.is_said_to_run();
        }
        cache.is_orphaning |= subject.holds(ORPHAN_FINALIZER);
        let said = self.inputs(&subject);
        let (next, has_failed) = match self.converge(&mut subject, cache, stop).await {
            Ok(next) => (next, false),
            Err(error) => (failed(&subject, cache, &error), true),
        };
        // What an answer has shown does not wait for a pause after a failure.
        let has_news = has_failed && self.inputs(&subject) != said;
        ReconcileOutcome {
            outdated: stop.is_cancelled() || has_news,
            object: Some(subject.object),
            ..ReconcileOutcome::of(next)
        }
    }

    /// What the status says of the last run, where the operator has said it.
    fn recorded(&self, subject: &Subject) -> Option<RunRecord> {
        let written = subject.object.data.pointer(&format!("/status/{RECORD}"))?;
        match RunRecord::read(written, &self.signer.keys(), &subject.owner.uid) {
            Ok(record) => Some(record),
            Err(error) => {
                tracing::warn!(name = %subject.owner.name, error = chain(&error), "a run is made");
                None
            }
        }
    }

    async fn converge(
        &self,
        subject: &mut Subject,
        cache: &mut RunCache,
        stop: &CancellationToken,
    ) -> Result<Next, Failure> {
        if let Some((report, generation)) = cache.unsaid.take() {
            let is_success = matches!(report, RunReport::Succeeded { .. });
            self.say(subject, cache, report, generation).await?;
            if is_success {
                cache.note_said();
            }
        }
        let (mut turn, mut has_run) = (None, false);
        loop {
            let observed = step("observe").of(self.observe(subject, cache)).await?;
            let state = run_state(&observed);
            match next_action(state) {
                // Those that wait go first: who changes a resource all the time would keep its worker.
                Some(Action::Run(_)) if has_run => return Ok(Next::After(Duration::ZERO)),
                Some(Action::AddFinalizer) => self.add_finalizers(subject).await?,
                Some(Action::Finalize) => {
                    drop(turn);
                    return self.finalize(subject, cache, stop).await;
                }
                Some(Action::Run(cause)) if turn.is_none() => {
                    turn = Some(self.turn_to_run(subject, cause, stop).await?);
                }
                Some(Action::Run(cause)) => {
                    self.write_report(subject, &RunReport::Running { cause }, None)
                        .await?;
                    // The answer may be another resource: the run is of what was observed, or is none.
                    if self.observe(subject, cache).await? == observed {
                        self.run(subject, cache, (observed.inputs, cause), stop).await?;
                        (turn, has_run) = (None, true);
                    }
                }
                None => return self.rest(subject, cache, state).await,
            }
        }
    }

    /// Waits until a run may be made. What was observed before is to be looked at again.
    async fn turn_to_run(
        &self,
        subject: &mut Subject,
        cause: Cause,
        stop: &CancellationToken,
    ) -> Result<Turn, Failure> {
        // A run of what is settled is no news, and another try has its failure said.
        let is_news = matches!(cause, Cause::New | Cause::Resource | Cause::Content);
        let waiting = is_news.then_some(RunReport::Waiting);
        self.turn(subject, waiting, stop).await
    }

    /// Says what keeps runs from being made, if something does, and when to look again.
    async fn rest(&self, subject: &mut Subject, cache: &RunCache, state: RunState) -> Result<Next, Failure> {
        let held = match state {
            RunState::Paused => Some(RunReport::Held(Hold::Pause)),
            RunState::DryRun => Some(RunReport::Held(Hold::DryRun)),
            RunState::Settled if !says_settled(&subject.status(), subject.generation()) => {
                Some(RunReport::Settled)
            }
            _ => None,
        };
        if let Some(report) = held {
            self.write_report(subject, &report, cache.record.as_ref()).await?;
        }
        if state == RunState::Gone {
            self.say_held(subject, cache).await?;
        }
        Ok(match state {
            RunState::Gone | RunState::Paused | RunState::DryRun => Next::Never,
            RunState::Resting(_) | RunState::RestingDeleted => {
                let until = cache.resting.map(|(until, _)| until);
                Next::Awaits(until.map(|until| until.saturating_duration_since(Instant::now())))
            }
            _ => self.next_of(subject, cache.record.as_ref()),
        })
    }

    /// When a run is due without a change.
    fn next_of(&self, subject: &Subject, record: Option<&RunRecord>) -> Next {
        let now = (self.now)();
        let Some(record) = record else {
            return Next::Period;
        };
        let due = self.due_at(subject, record);
        match due.map(|due| Duration::try_from(due.duration_since(now)).unwrap_or_default()) {
            Some(pause) => Next::After(pause),
            None => Next::Never,
        }
    }

    /// When a run is made although nothing has changed: as the last one has asked for, or when the period is over.
    pub(super) fn due_at(&self, subject: &Subject, record: &RunRecord) -> Option<Timestamp> {
        let by_period = || record.ended.saturating_add(self.period(subject)?).ok();
        record.next.or_else(by_period)
    }

    /// Waits until a run may be made, which is said with this, if anything. The resource is read anew then.
    pub(super) async fn turn(
        &self,
        subject: &mut Subject,
        waiting: Option<RunReport>,
        stop: &CancellationToken,
    ) -> Result<Turn, Failure> {
        let is_end = subject.object.metadata.deletion_timestamp.is_some();
        let mut asked = self.turns.ask(is_end);
        if let Some(turn) = asked.now() {
            return Ok(turn);
        }
        if let Some(report) = waiting {
            self.write_report(subject, &report, None).await?;
        }
        let cancelled = || RunFailure::from(RunError::Cancelled);
        let turn = stop
            .run_until_cancelled(asked.turn())
            .await
            .ok_or_else(cancelled)?;
        let is_there = subject.refresh().await;
        if is_there.map_err(|source| Failure::request("read", source))? {
            Ok(turn)
        } else {
            Err(cancelled().into())
        }
    }

    /// Makes a run of the resource as it is known, with its inputs.
    async fn run(
        &self,
        subject: &mut Subject,
        cache: &mut RunCache,
        (inputs, cause): (RunInputs, Cause),
        stop: &CancellationToken,
    ) -> Result<(), Failure> {
        let vars = self.extra_vars(subject, None);
        self.dependents.begin_run(&subject.owner.uid);
        let ended = self
            .tools
            .run(self.due(subject, &self.watch.content, vars, stop))
            .await;
        let left = self.take_in(subject, cache.record.as_ref(), &ended.met).await;
        let outcome = ended.outcome;
        let has_succeeded = outcome.as_ref().is_ok_and(Outcome::is_successful);
        let run = LastRun {
            inputs,
            has_succeeded,
        };
        let before = cache.record.as_ref().is_some_and(|record| record.is_partial);
        let mut record = RunRecord::new(run, (self.now)()).with_objects(left);
        record.is_partial |= before || cache.was_cut_off || ended.met.is_partial || outcome.is_err();
        record.next = outcome.as_ref().ok().and_then(|outcome| self.asked(outcome));
        cache.record = Some(record);
        let outcome = match outcome {
            Ok(outcome) => outcome,
            Err(failure) if failure.is_cancelled() => return Err(failure.into()),
            Err(failure) => {
                let words = subject.redactor.mask(&chain(&failure));
                self.event(subject, EventReason::RunFailed, &words);
                let report = RunReport::Failed {
                    result: None,
                    message: words.clone(),
                    words,
                    is_stalled: failure.is_past_help(),
                };
                self.report(subject, cache, report).await?;
                return Err(failure.into());
            }
        };
        self.report_outcome(subject, cache, cause, &outcome).await
    }

    async fn report_outcome(
        &self,
        subject: &mut Subject,
        cache: &mut RunCache,
        cause: Cause,
        outcome: &Outcome,
    ) -> Result<(), Failure> {
        let result = serde_json::to_value(&outcome.result).unwrap_or_default();
        let Some(words) = words_of_failure(subject, outcome) else {
            cache.note_success(cause, Instant::now());
            if !matches!(cause, Cause::Due | Cause::Drift) || outcome.result.changed > 0 {
                let changed = outcome.result.changed;
                let words = format!("{} tasks, {changed} have changed something", outcome.result.ok);
                self.event(subject, EventReason::RunSucceeded, &words);
            }
            return self.report(subject, cache, RunReport::Succeeded { result }).await;
        };
        self.event(subject, EventReason::RunFailed, &words);
        let messages: Vec<&str> = outcome.failed.iter().map(|task| task.message.as_str()).collect();
        let report = RunReport::Failed {
            result: Some(result),
            message: subject.redactor.mask(&messages.join("\n")),
            words: words.clone(),
            is_stalled: false,
        };
        self.report(subject, cache, report).await?;
        Err(Failure::Tasks { words })
    }

    /// When a run wants another one.
    fn asked(&self, outcome: &Outcome) -> Option<Timestamp> {
        let pause = outcome.requeue_after.as_ref()?.as_ref().ok().copied()?;
        (self.now)().saturating_add(pause).ok()
    }

    /// What runs have left, with what this one has met. Watches know it before they tell of it.
    async fn take_in(
        &self,
        subject: &Subject,
        before: Option<&RunRecord>,
        met: &Met,
    ) -> BTreeMap<ObjectId, LeftObject> {
        for object in met.left.values() {
            let left = &object.left;
            let state = Left {
                uid: &left.uid,
                fields: left.fields,
                version: object.version,
            };
            self.dependents.note_left(&subject.owner.uid, &left.id, state);
        }
        self.dependents.end_run(&subject.owner.uid);
        let before = before.map(|record| record.objects.as_slice()).unwrap_or_default();
        let ids = before.iter().map(|left| &left.id);
        let live = self.live_of(subject, ids.filter(|id| !met.knows(id))).await;
        let live = live.unwrap_or_else(|error| {
            tracing::debug!(name = %subject.owner.name, error = chain(&error), "what is live is not known");
            BTreeMap::new()
        });
        left_after(before, met, |id| {
            live.get(id).cloned().unwrap_or(Liveness::Unknown)
        })
    }

    pub(super) fn due<'a>(
        &'a self,
        subject: &'a Subject,
        content: &'a AnsibleContent,
        extra_vars: Result<Map<String, Value>, VarsError>,
        stop: &'a CancellationToken,
    ) -> Due<'a> {
        let said = RunAnnotations::read(subject.object.metadata.annotations.as_ref());
        for complaint in &said.complaints {
            tracing::warn!(name = %subject.owner.name, "{complaint}");
        }
        let defaults = &self.tools.defaults;
        let of_kind = self.watch.verbosity.unwrap_or(defaults.verbosity);
        Due {
            owner: &subject.owner,
            account: self.account(subject),
            content,
            extra_vars,
            verbosity: said.verbosity.unwrap_or(of_kind),
            kept_artifacts: said.kept_artifacts.unwrap_or(self.watch.max_runner_artifacts),
            log: TaskLogOptions {
                is_verbose: defaults.log.is_verbose || said.verbosity.is_some_and(|verbosity| verbosity > 0),
                ..defaults.log
            },
            redactor: &subject.redactor,
            tell: Box::new(|words| self.event(subject, EventReason::RunProgressing, words)),
            stop,
        }
    }

    /// As whom runs write, where the entry says so: an account in the namespace of the resource, or of the operator where that
    /// is in none.
    pub(super) fn account(&self, subject: &Subject) -> Option<ServiceAccount> {
        let own = || self.client.default_namespace().to_owned();
        Some(ServiceAccount {
            name: self.watch.service_account.clone()?,
            namespace: subject.owner.namespace.clone().unwrap_or_else(own),
        })
    }

    /// The variables of a run. What is secret in them is masked from now on.
    pub(super) fn extra_vars(
        &self,
        subject: &Subject,
        finalizer: Option<&Map<String, Value>>,
    ) -> Result<Map<String, Value>, VarsError> {
        let watch = &self.watch;
        let vars = ExtraVars {
            snake_case: watch.snake_case_parameters,
            mark_unsafe: watch.mark_unsafe,
            vars: watch.vars.clone(),
            finalizer_vars: finalizer.cloned().unwrap_or_default(),
            ..ExtraVars::new(&watch.gvk.group, &watch.gvk.kind)
        };
        subject.learn_vars(&vars.vars);
        subject.learn_vars(&vars.finalizer_vars);
        let resource = serde_json::to_value(&subject.object).unwrap_or_default();
        let withheld = vars.withheld(&resource);
        if !withheld.is_empty() {
            let (name, fields) = (&subject.owner.name, withheld.join(", "));
            tracing::warn!(%name, fields, "fields of the spec are no variables, as they would tell Ansible how to run");
        }
        vars.of(&resource)
    }

    /// How often a run is made without a change.
    pub(super) fn period(&self, subject: &Subject) -> Option<Duration> {
        let annotations = subject.object.metadata.annotations.as_ref();
        let text = annotations.and_then(|annotations| annotations.get(RECONCILE_PERIOD));
        let annotation = (RECONCILE_PERIOD, text.map(String::as_str));
        period_of(annotation, &subject.owner.name, self.period)
    }

    pub(super) fn event(&self, subject: &Subject, reason: EventReason, message: &str) {
        self.events
            .send(&subject.reference(), reason, message, (self.now)());
    }

    /// Says what has become of a run of the resource as it is known.
    async fn report(
        &self,
        subject: &mut Subject,
        cache: &mut RunCache,
        report: RunReport,
    ) -> Result<(), Failure> {
        let generation = subject.generation();
        self.say(subject, cache, report, generation).await
    }

    /// Says what has become of a run of this generation. What can't be said now is said by the next reconcile.
    async fn say(
        &self,
        subject: &mut Subject,
        cache: &mut RunCache,
        report: RunReport,
        generation: Option<i64>,
    ) -> Result<(), Failure> {
        let record = cache.record.as_ref();
        let written = self.write_report_of(generation, subject, &report, record).await;
        if written.is_err() {
            cache.unsaid = Some((report, generation));
        }
        written
    }

    pub(super) async fn write_report(
        &self,
        subject: &mut Subject,
        report: &RunReport,
        record: Option<&RunRecord>,
    ) -> Result<(), Failure> {
        self.write_report_of(subject.generation(), subject, report, record)
            .await
    }

    async fn write_report_of(
        &self,
        generation: Option<i64>,
        subject: &mut Subject,
        report: &RunReport,
        record: Option<&RunRecord>,
    ) -> Result<(), Failure> {
        if !self.watch.manage_status {
            return Ok(());
        }
        let signed = record.and_then(|record| record.sign(&self.signer.keys(), &subject.owner.uid));
        let written = step("report")
            .of(subject.report((report, generation), signed, (self.now)()))
            .await;
        written.map_err(|source| Failure::request("write the status of", source))
    }
}

/// When to try again what has failed.
fn failed(subject: &Subject, cache: &mut RunCache, error: &Failure) -> Next {
    if error.is_cancelled() || error.is_conflict() {
        tracing::debug!(name = %subject.owner.name, error = chain(error), "Reconcile begins anew");
        return Next::After(CONFLICT_PAUSE);
    }
    let is_end = subject.object.metadata.deletion_timestamp.is_some();
    let pause = cache.note_failure(is_end);
    let words = subject.redactor.mask(&chain(error));
    tracing::error!(name = %subject.owner.name, error = words, "Reconcile failed");
    Next::Retry(Some(pause))
}

/// The first failure of a run, with secrets masked.
pub(super) fn words_of_failure(subject: &Subject, outcome: &Outcome) -> Option<String> {
    let mut words = outcome.failed.first()?.to_string();
    if let Some(folder) = &outcome.without_space {
        words = format!("no space left in `{}`: {words}", folder.display());
    }
    Some(subject.redactor.mask_start(&words, MOST_WORDS))
}

//! The loop for one run: observe, decide, act, report.

use std::sync::Arc;
use std::time::Duration;

use jiff::Timestamp;
use kube::api::DynamicObject;
use serde_json::json;
use steersman_cluster::discovery::Resource;
use steersman_model::chain;
use steersman_watches::procedure::names::{BEGUN, RUN_FINALIZER};
use steersman_watches::procedure::{Procedure, Work};
use tracing::Instrument as _;

use super::cache::ProcedureCache;
use super::decide::{UNKNOWN, next_action, run_state};
use super::error::StepError;
use super::index::Procedures;
use super::known;
use super::record::{ProcedureRecord, StepRecord, Stop, begun_mark, is_begun_mark};
use super::report::{RECORD, Report, cut};
use super::session::Session;
use super::state::{Action, Claim, RunState, Seen};
use super::subject::Run;
use crate::budget::Share;
use crate::coordination::End;
use crate::reconcile::{Next, ReconcileOutcome, Reconciler, patch_finalizers};
use crate::status::EventReason;

/// Why a run counts as one that has not succeeded whose end nobody has signed.
const UNSIGNED: &str = "its status says that it has ended, and the operator has not said so";
/// Nothing is looked at sooner.
const LEAST: Duration = Duration::from_millis(100);
/// One observation leads to at most so many actions before the run is looked at afresh.
const MAX_ACTIONS: usize = 20;
/// How soon a step is looked at again that is being stopped.
const STOPPING: Duration = Duration::from_secs(1);
/// How soon a step is looked at again that nothing may tell of.
const POLL: Duration = Duration::from_secs(10);
/// How soon a Job is looked at again that its watch should tell of: somebody may have taken the labels off by which it does.
const CHECK: Duration = Duration::from_mins(1);
/// So long the last steps wait for a revision with their values, where nothing says how long.
const LAST_VALUES: Duration = Duration::from_mins(10);

/// Carries out the runs of one procedure.
#[derive(Clone)]
pub(crate) struct ProcedureReconciler {
    /// Of the entry: it renders Jobs with the rights and bounds of releases.
    pub(crate) releases: Reconciler,
    /// How the resources are addressed.
    pub(crate) resource: Resource,
    pub(crate) runs: Resource,
    pub(crate) procedure: Arc<Procedure>,
    /// What is known of all resources and runs of the entry.
    pub(crate) procedures: Arc<Procedures>,
    /// The clock.
    pub(crate) now: fn() -> Timestamp,
}

impl ProcedureReconciler {
    /// Brings a run as far as possible now, and reports it in its status.
    ///
    /// # Guarantees
    /// There is one Job of a step at a time, and one that has succeeded is never made again. Steps that follow in any case do.
    /// Nothing secret that is known of is in the status.
    ///
    /// # Cancellation
    /// Safe at any await: the next reconcile goes on.
    pub(crate) async fn reconcile(
        &self,
        object: DynamicObject,
        share: Arc<Share>,
        cache: &mut ProcedureCache,
    ) -> ReconcileOutcome {
        let client = self.releases.client();
        let api = self.runs.objects(client, object.metadata.namespace.as_deref());
        let Some(run) = Run::new(object) else {
            return ReconcileOutcome::of(Next::Never);
        };
        let record = self.record_of(&run).await;
        let is_begun = self.is_begun(&run).await;
        let mut session = Session {
            record,
            is_begun,
            report: Report::default(),
            resource: None,
            place: None,
            written: false,
            share,
            records: std::mem::take(&mut cache.written),
            run,
            api,
        };
        let span = tracing::info_span!("run", name = %session.run.name, procedure = %self.procedure.name);
        let converged = self.converge(&mut session).instrument(span).await;
        let next = match converged {
            Ok(next) => {
                cache.failures = 0;
                next
            }
            Err(error) => {
                cache.failures = cache.failures.saturating_add(1);
                let words = chain(&error);
                tracing::warn!(
                    run = %session.run.name, procedure = %self.procedure.name, error = %words,
                    "a run can't be carried on, trying again"
                );
                session.report.words = format!("trying again: {}", cut(&words));
                // It was not said, either, then.
                let _ = self.say(&mut session).await;
                Next::Retry(error.retry_after())
            }
        };
        // One that waits to begin has said so already.
        if session.record.is_some() {
            self.tell_where(&session);
        }
        self.procedures
            .leave_nothing_of_gone(&session.run.key(), &session.run.uid);
        cache.written = session.records;
        ReconcileOutcome {
            object: session.written.then_some(session.run.object),
            ..ReconcileOutcome::of(next)
        }
    }

    /// What the status of a run says of how far it is, where the operator has said it. Another replica may have signed it with a
    /// key that is new.
    pub(super) async fn record_of(&self, run: &Run) -> Option<ProcedureRecord> {
        let written = run.object.data.pointer(&format!("/status/{RECORD}"))?;
        let read = || ProcedureRecord::read(written, &self.releases.signing_keys(), &run.uid);
        if let Some(record) = read() {
            return Some(record);
        }
        self.releases.read_signing_keys().await;
        read()
    }

    /// Whether the operator has begun the run, as a mark of it says.
    async fn is_begun(&self, run: &Run) -> bool {
        let Some(mark) = run.annotation(BEGUN) else {
            return false;
        };
        if is_begun_mark(mark, &self.releases.signing_keys(), &run.uid) {
            return true;
        }
        self.releases.read_signing_keys().await;
        is_begun_mark(mark, &self.releases.signing_keys(), &run.uid)
    }

    /// Tells the release and other runs whether this one is under way, and how it has ended.
    fn tell_where(&self, session: &Session) {
        let (run, record) = (&session.run, session.record.as_ref());
        let (coordination, key) = (self.procedures.coordination(), run.key());
        let spent = record.is_some_and(|record| record.spent);
        let kept_out = record.is_some_and(ProcedureRecord::was_kept_out);
        let end = |failure: Option<String>, generation: Option<i64>| End {
            spent,
            kept_out,
            procedure: self.procedure.name.clone(),
            name: run.name.clone(),
            generation,
            is_plain: run.is_plain(&self.procedure),
            failure,
        };
        match record {
            None => match session.claim() {
                Claim::New => coordination.leave(&key, &run.uid),
                Claim::Begun => coordination.hold_anew(&key, &run.uid, run.holder(&self.procedure, None)),
                Claim::Over | Claim::Ended => {
                    let end = end(Some(UNSIGNED.to_owned()), None);
                    coordination.note_end(&key, &run.uid, end);
                    let judged = (known::End::Unsigned, run.created());
                    self.procedures.judge_end((&key, &run.uid), judged);
                }
            },
            Some(record) if let Some(at) = record.ended => {
                let how = match record.failure {
                    None => known::End::Succeeded,
                    Some(_) => known::End::Failed,
                };
                self.procedures.judge_end((&key, &run.uid), (how, at));
                let end = end(record.failure.clone(), record.generation);
                coordination.note_end(&key, &run.uid, end);
            }
            Some(record) => {
                let holder = run.holder(&self.procedure, Some(&record.resource_uid));
                coordination.hold(&key, &run.uid, holder, spent);
            }
        }
    }

    /// Writes down that a run lets nothing through any longer: the next process does not know that.
    async fn note_spent(&self, session: &mut Session) -> Result<(), StepError> {
        let (key, uid) = (session.run.key(), &session.run.uid);
        let is_new = session.record.as_ref().is_some_and(|record| !record.spent);
        if is_new && self.procedures.coordination().is_spent(&key, uid) {
            self.note(session, |record| record.spent = true).await?;
        }
        Ok(())
    }

    async fn converge(&self, session: &mut Session) -> Result<Next, StepError> {
        if self.releases.is_dry_run() && (session.is_begun || session.record.is_some()) {
            return Ok(Next::Never);
        }
        self.doubt(session).await?;
        self.recognise(session).await?;
        // A run that was begun and has come to its end stays there, whatever others have made of its status and its marks.
        if session.record.is_none() {
            session.record = session.records.ended().cloned();
        }
        self.tell_where(session);
        self.note_spent(session).await?;
        for _ in 0..MAX_ACTIONS {
            let observed = self.observe(session).await?;
            let halted = observed.stop.clone();
            let is_stopping = observed.seen == Some(Seen::Stopping);
            let state = run_state(observed);
            match &state {
                RunState::Held(reason) => reason.clone_into(&mut session.report.words),
                RunState::Waiting(what) => {
                    let step = session.record.as_ref().and_then(ProcedureRecord::open);
                    session.report.words = match step {
                        Some(step) => format!("step {}: {what}", step.name),
                        None => what.clone(),
                    };
                }
                _ => session.report.words.clear(),
            }
            let Some(action) = next_action(state) else {
                return self.rest(session, is_stopping).await;
            };
            if self.act(session, action, halted.as_ref()).await? {
                return Ok(Next::Never);
            }
        }
        Ok(Next::After(Duration::ZERO))
    }

    /// Nothing is done now: that is said, and when to look again. What is being stopped is looked at often, as nothing tells of its
    /// end.
    async fn rest(&self, session: &mut Session, is_stopping: bool) -> Result<Next, StepError> {
        // What others say of its end stays: it is not looked at any longer.
        if session.record.is_none() && session.claim() == Claim::Ended {
            return Ok(Next::Never);
        }
        self.say(session).await?;
        if session.record.is_none() && session.claim() == Claim::New {
            self.note_request(session).await?;
        }
        let Some(record) = session.record.as_ref().filter(|record| record.ended.is_none()) else {
            let is_begun = session.record.is_none() && session.claim() == Claim::Begun;
            return Ok(if is_begun {
                Next::After(STOPPING)
            } else {
                Next::Never
            });
        };
        let Some(open) = record.open() else {
            return Ok(Next::Never);
        };
        let left = self.deadlines(record, open).into_iter().flatten();
        let now = (self.now)();
        let left = left.map(|deadline| Duration::try_from(deadline.duration_since(now)).unwrap_or(STOPPING));
        let is_watched = match (&session.place, self.is_job(&open.name)) {
            (Some(place), true) => {
                let id = session.job_id(open, &place.namespace);
                self.releases.dependents().ensure(&id, &place.resource).await
            }
            // The release wakes it, unless it is the Job of a step that is gone from the file.
            _ => open.job.is_none() && self.releases.is_woken_by_objects(),
        };
        let is_cancelled = session.run.is_cancelled() && !record.is_over(&self.procedure);
        let poll = if is_watched {
            open.job.as_ref().map(|_| CHECK)
        } else {
            Some(POLL)
        };
        let poll = poll
            .into_iter()
            .chain((is_stopping || is_cancelled).then_some(STOPPING));
        let next = left.chain(poll).min();
        Ok(next.map_or(Next::Never, |next| Next::After(next.max(LEAST))))
    }

    /// When the time of a step is over, and of all of them.
    pub(super) fn deadlines(&self, record: &ProcedureRecord, open: &StepRecord) -> [Option<Timestamp>; 2] {
        let of_steps = self.procedure.timeout;
        let is_over = record.is_over(&self.procedure);
        let step = self.step(&open.name);
        let of_step = step.and_then(|step| step.timeout);
        // What follows in any case has the same time for itself, but for what waits: one that never ends would hold up all others.
        let of_end = match step.map(|step| &step.work) {
            _ if !is_over => None,
            Some(Work::Values(_)) => of_steps.or(Some(LAST_VALUES)),
            _ => of_steps.filter(|_| open.job.is_some()),
        };
        let of_step = of_step.or(of_end);
        let of_run = of_steps.filter(|_| !is_over);
        let after = |begun: Timestamp, time: Option<Duration>| begun.checked_add(time?).ok();
        [after(open.begun, of_step), after(record.begun, of_run)]
    }

    /// Does one thing. `true` where nothing is left to be done.
    async fn act(
        &self,
        session: &mut Session,
        action: Action,
        stop: Option<&Stop>,
    ) -> Result<bool, StepError> {
        let now = (self.now)();
        match action {
            Action::Refuse(reason) => {
                if session.is_begun {
                    self.find_place(session).await?;
                    self.let_go_of_unknown(session).await?;
                }
                self.end_unbegun(session, reason, false).await?;
            }
            Action::Cancel => {
                let reason = stop.unwrap_or(&Stop::Cancelled).words().to_owned();
                self.end_unbegun(session, reason, true).await?;
            }
            Action::AddFinalizer => self.write_finalizer(session, true).await?,
            Action::RemoveFinalizer => {
                // Nobody comes back to a run without it.
                self.find_place(session).await?;
                self.let_go_of_unknown(session).await?;
                self.show_end(session).await?;
                self.write_finalizer(session, false).await?;
                return Ok(session.run.is_deleting());
            }
            Action::Begin => self.begin(session, now).await?,
            Action::TakeUp => self.take_up(session, now).await?,
            Action::Make => self.make(session, stop).await?,
            Action::NoteJob(uid) => self.note(session, |record| record.note_job(&uid)).await?,
            Action::StopJob if session.record.is_none() => self.stop_all(session).await?,
            Action::StopJob => self.stop_job(session, stop).await?,
            Action::NoteOutcome(outcome) => self.note_outcome(session, outcome, stop).await?,
            Action::MakeAgain => {
                self.let_go(session).await?;
                self.note(session, |record| record.make_again(now)).await?;
            }
            Action::Advance => {
                self.let_go(session).await?;
                let procedure = Arc::clone(&self.procedure);
                self.note(session, |record| record.advance(&procedure, stop, now))
                    .await?;
                self.tell_of_end(session);
            }
        }
        Ok(false)
    }

    async fn end_unbegun(
        &self,
        session: &mut Session,
        reason: String,
        is_cancelled: bool,
    ) -> Result<(), StepError> {
        let record = ProcedureRecord::unbegun(reason, is_cancelled, (self.now)());
        session.record = Some(record);
        self.say(session).await?;
        self.tell_of_end(session);
        self.show_in_resource(session).await
    }

    async fn begin(&self, session: &mut Session, now: Timestamp) -> Result<(), StepError> {
        if self.has_jobs(session).await? {
            return match session.claim() {
                Claim::Begun => Ok(()),
                _ => self.end_unbegun(session, UNKNOWN.to_owned(), false).await,
            };
        }
        let (coordination, key) = (self.procedures.coordination(), session.run.key());
        let resource = session.resource.as_ref();
        let resource = resource.and_then(|resource| resource.metadata.uid.as_deref());
        let holder = session.run.holder(&self.procedure, resource);
        if !coordination.begin(&key, &session.run.uid, holder) {
            // Something has come between: it is looked at again.
            return Ok(());
        }
        let of = session.resource.as_ref().map(|resource| &resource.metadata);
        let uid = of.and_then(|metadata| metadata.uid.clone()).unwrap_or_default();
        let of = (uid.as_str(), of.and_then(|metadata| metadata.generation));
        let change = self.change_of(session);
        session.record = Some(ProcedureRecord::begin(&self.procedure, of, change, now));
        self.say(session).await?;
        let words = format!("{} {} begins", self.runs.api.kind, session.run.name);
        self.event(session, EventReason::ProcedureBegun, &words);
        self.show_in_resource(session).await
    }

    pub(super) async fn write_finalizer(
        &self,
        session: &mut Session,
        is_added: bool,
    ) -> Result<(), StepError> {
        let metadata = &session.run.object.metadata;
        let mut finalizers = metadata.finalizers.clone().unwrap_or_default();
        finalizers.retain(|name| name != RUN_FINALIZER);
        let mark = || begun_mark(&self.releases.signing_keys(), &session.run.uid);
        let begun = is_added.then(|| json!({ BEGUN: mark() }));
        if is_added {
            finalizers.push(RUN_FINALIZER.to_owned());
        }
        match patch_finalizers(&session.api, metadata, &finalizers, begun).await {
            Ok(object) => {
                session.accept(object);
                session.is_begun |= is_added;
                Ok(())
            }
            Err(error) if error.is_not_found() => Err(StepError::lost()),
            Err(source) => Err(StepError::Request {
                attempt: "write the finalizer of",
                what: format!("run {}", session.run.name),
                source,
            }),
        }
    }
}

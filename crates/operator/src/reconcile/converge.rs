//! The loop of one reconcile: observe, decide, act, until nothing is to be done.

use std::ops::ControlFlow;
use std::time::Duration;

use k8s_openapi::api::core::v1::Namespace;
use kube::api::Api;
use steersman_cluster::RequestError;
use steersman_model::{ObjectId, chain};
use steersman_watches::controls::DeletionPolicy;
use tokio::time::Instant;

use super::action::{
    CorrectDrift, Deploy, GiveUp, Install, LeavingRelease, NoteCompleted, OrphanObjects, Recover, RollBack,
    RunTests, TakeOver, Uninstall, Upgrade,
};
use super::dependencies::{Dependencies, own_id, told_needed};
use super::deployed::DeployedReport;
use super::error::ReconcileError;
use super::gate_report::{GateView, stages_beside};
use super::lookups::Lookups;
use super::observe::Observer;
use super::plan::{Planner, in_effect};
use super::release_cache::ReleaseCache;
use super::session::{PreparedRelease, Session};
use super::sources::Sources;
use super::state::{Action, Cause, ReleaseState};
use super::unfinished::Unfinished;
use super::unsigned_objects::UnsignedObjects;
use super::{Next, ReconcileSettings, Reconciler, next_action, release_state};
use crate::apply::HookError;
use crate::dependents::Dependents;
use crate::references::NeededBy;
use crate::status::ReleaseReport;
use crate::telemetry::step;

/// One observation leads to at most so many actions before the resource is looked at afresh.
const MAX_ACTIONS: usize = 5;
/// How soon to look again at what a deletion waits for, if nothing happens before.
pub(crate) const UNINSTALL_POLL: Duration = Duration::from_secs(5);
/// How soon a deletion is looked at again that has begun before all resources were known.
const UNKNOWN_POLL: Duration = Duration::from_secs(1);

/// What a reconcile has come to.
pub(super) struct Converged {
    /// The session, with the resource as it is now.
    pub(super) session: Session,
    /// What the release is made of; `None` where nobody asked.
    pub(super) prepared: Option<PreparedRelease>,
    /// The report and when to look again; `None` where the resource is gone.
    pub(super) result: Result<End, ReconcileError>,
}

/// What a reconcile reports, and when to look again; `None` where the resource is gone, so that there is nothing to report
/// to.
pub(super) type End = Option<(ReleaseReport, Next)>;

/// Whether the resource is still there. The session is about it as it is now.
async fn is_still_there(
    session: &mut Session,
    prepared: &mut Option<PreparedRelease>,
) -> Result<bool, ReconcileError> {
    let Some(found) = session.read_again().await? else {
        return Ok(false);
    };
    if session.accept(found) {
        *prepared = None;
    }
    Ok(true)
}

/// The end of a reconcile with this report.
fn end(report: ReleaseReport, next: Next) -> ControlFlow<End> {
    ControlFlow::Break(Some((report, next)))
}

impl Reconciler {
    /// Acts until nothing is to be done: with the usual share of the memory, and again with the large one where that does not
    /// do. What was needed once is needed the next time, too.
    pub(super) async fn converge(&self, mut session: Session, cache: &mut ReleaseCache) -> Converged {
        let mut prepared = None;
        if cache.needs_much {
            session.share.enlarge();
        }
        let mut result = self.act(&mut session, &mut prepared, cache).await;
        if result.as_ref().is_err_and(ReconcileError::is_about_memory) && session.share.enlarge() {
            cache.needs_much = true;
            result = self.act(&mut session, &mut prepared, cache).await;
        }
        Converged {
            session,
            prepared,
            result,
        }
    }

    async fn act(
        &self,
        session: &mut Session,
        prepared: &mut Option<PreparedRelease>,
        cache: &mut ReleaseCache,
    ) -> Result<End, ReconcileError> {
        let (mut acted, mut looked) = (false, false);
        for _ in 0..MAX_ACTIONS {
            let observer = self.observer();
            let observing = observer.observe(session, prepared, cache);
            let found = step("observe").of(observing).await?;
            cache.note_drifted(found.drift_mode, &found.drifted, Instant::now());
            let state = release_state(found);
            if let ControlFlow::Break(end) = self.without_action(session, cache, &state).await? {
                return Ok(end);
            }
            let Some(action) = next_action(state) else {
                cache.warned.clear();
                if !acted {
                    log_unchanged(session, cache);
                }
                let report = self.deployed_report().report(session, cache).await?;
                return Ok(Some((report, Next::Period)));
            };
            log_deployed(session, cache);
            if action == Action::AddFinalizer {
                let written = session.add_finalizer().await?;
                if session.accept(written) {
                    *prepared = None;
                }
                cache.note_finalizer(Instant::now());
                continue;
            }
            // Where the revisions of a resource are gone, it may be, too.
            if action == Action::Install && !looked && session.may_be_gone() {
                looked = true;
                if is_still_there(session, prepared).await? {
                    continue;
                }
                return Ok(None);
            }
            acted = true;
            // A deletion does not wait for the end of a test.
            if action != Action::Test && cache.unfinished.as_ref().is_some_and(|left| left.is_test) {
                cache.unfinished = None;
                self.shared.dependents.expect_nothing(&session.owner.uid);
            }
            let earlier = match (&action, &cache.unfinished) {
                (Action::Recover, Some(unfinished)) => {
                    let revision = unfinished.revision.as_ref();
                    revision.map(|revision| session.go_on_with(unfinished, revision))
                }
                (Action::Test, _) if cache.is_being_tested() => Some(session.go_on_as_observed()),
                _ => None,
            };
            let done = self.take(session, prepared.as_ref(), cache, action).await;
            // What has failed is told as what was tried, whatever others have made of the resource meanwhile.
            if done.is_ok() && session.accept_announced() {
                *prepared = None;
            }
            match earlier {
                Some(_) if done.is_ok() => {
                    session.go_on_with_own();
                    *prepared = None;
                }
                // What is still gone on with is tried again after a pause.
                Some(earlier) if earlier.is_of_other_spec && cache.unfinished.is_none() => {
                    session.progress.note_earlier_spec();
                }
                _ => {}
            }
            if let Some((answers, secrets)) = session.progress.take_looked_up() {
                cache.secrets.note_looked_up(&answers, &secrets);
            }
            if let Some(prepared) = prepared
                && cache.known.is_some()
            {
                prepared.first = cache.is_first();
            }
            if let ControlFlow::Break(end) = done? {
                return Ok(end);
            }
        }
        let report = self.report_as_is(session, prepared.as_ref(), cache).await?;
        Ok(Some((report, Next::Retry(None))))
    }

    /// The report on a release of which nothing more is done now: that what the resource says is refused, though what was
    /// deployed before is kept as it was, or that it is as it should be.
    async fn report_as_is(
        &self,
        session: &Session,
        prepared: Option<&PreparedRelease>,
        cache: &ReleaseCache,
    ) -> Result<ReleaseReport, ReconcileError> {
        if let Some(waiting) = &cache.waiting {
            return Ok(waiting.report());
        }
        let refused = cache.refused(&session.controls, Instant::now());
        let is_refused = refused.is_some() && refused == prepared.map(|prepared| prepared.inputs);
        match cache.refusal().filter(|_| is_refused) {
            Some(refusal) => Ok(ReleaseReport::Failed(refusal.failure.clone())),
            None => match GateView::new(session, cache, self.gate_sources()) {
                Some(gate) => Ok(gate.report(cache, (self.shared.now)())),
                None => self.deployed_report().report(session, cache).await,
            },
        }
    }

    /// What tells how the objects of a release are.
    fn gate_sources(&self) -> (&Dependents, &ReconcileSettings) {
        (&self.shared.dependents, &self.settings)
    }

    /// Has a report that tells of something else say how far the stages of the newest revision are, too.
    pub(super) fn add_stages(&self, session: &Session, cache: &ReleaseCache, report: &mut ReleaseReport) {
        let why = report.failure().unwrap_or_default().to_owned();
        if let Some(stages) = report.stages_beside().filter(|stages| stages.is_none()) {
            let now = (self.shared.now)();
            *stages = stages_beside(session, cache, self.gate_sources(), (&why, now));
        }
    }

    /// The report on a revision that waits for a stage, and when to look at it without a sign.
    fn at_gate(&self, session: &Session, cache: &ReleaseCache) -> ControlFlow<End> {
        let now = (self.shared.now)();
        let Some(gate) = GateView::new(session, cache, self.gate_sources()) else {
            return ControlFlow::Continue(());
        };
        let left = gate.deadline().filter(|deadline| *deadline > now);
        let left = left.and_then(|deadline| Duration::try_from(deadline.duration_since(now)).ok());
        let next = left.into_iter().chain(self.settings.gate_poll).min();
        end(gate.report(cache, now), next.map_or(Next::Period, Next::After))
    }

    /// The end of a reconcile whose state asks for no action.
    async fn without_action(
        &self,
        session: &mut Session,
        cache: &ReleaseCache,
        state: &ReleaseState,
    ) -> Result<ControlFlow<End>, ReconcileError> {
        Ok(match state {
            ReleaseState::Gone => ControlFlow::Break(None),
            ReleaseState::Paused => end(ReleaseReport::Paused, Next::Never),
            ReleaseState::DryRun => end(self.report_dry_run(session).await?, Next::Period),
            ReleaseState::Refused => match cache.refusal() {
                Some(refusal) => end(ReleaseReport::Failed(refusal.failure.clone()), Next::Period),
                None => ControlFlow::Continue(()),
            },
            ReleaseState::AtGate | ReleaseState::Unready => self.at_gate(session, cache),
            ReleaseState::DependencyNotReady => match &cache.waiting {
                Some(waiting) => end(waiting.report(), waiting.next()),
                None => ControlFlow::Continue(()),
            },
            ReleaseState::Needed => self.needed(session),
            ReleaseState::Waiting => match &cache.unfinished {
                Some(unfinished) => return Err(self.still_waiting(session, unfinished).await),
                None => ControlFlow::Continue(()),
            },
            _ => ControlFlow::Continue(()),
        })
    }

    /// Runs of the resource come to their ends before it goes, and others that depend on it are deleted before.
    fn needed(&self, session: &Session) -> ControlFlow<End> {
        // What becomes of its objects is another question.
        let report =
            |why: String| ReleaseReport::UninstallingAfter(format!("the resource is being deleted; {why}"));
        if let Some(coordination) = &self.coordination {
            let key = session.key();
            if let Some(run) = coordination.before_deletion(&key, &session.owner.uid) {
                coordination.rouse_runs(&key);
                return end(report(run), Next::Period);
            }
        }
        let references = &self.shared.references;
        let (what, next) = match references.needed_by(&session.owner.uid, &own_id(session)) {
            NeededBy::Unknown => (
                "not everything is known yet that may depend on it".to_owned(),
                Next::After(UNKNOWN_POLL),
            ),
            NeededBy::Known(others) => (told_needed(session, &others), Next::Period),
        };
        end(report(what), next)
    }

    /// A release waits for a hook. That is said again where a pause has said something else meanwhile.
    async fn still_waiting(&self, session: &mut Session, unfinished: &Unfinished) -> ReconcileError {
        if let Some(revision) = &unfinished.revision {
            session.go_on_with(unfinished, revision);
        } else if unfinished.is_test {
            session.go_on_as_observed();
        }
        if let Some(said) = &unfinished.said
            && let Err(error) = session.say(said, (self.shared.now)()).await
        {
            session.log_error("failed to say what is being done", &chain(&error));
        }
        HookError::Waiting(Box::new(unfinished.wait.clone())).into()
    }

    /// Does what the decision table says, and gives what follows from it.
    async fn take(
        &self,
        session: &mut Session,
        prepared: Option<&PreparedRelease>,
        cache: &mut ReleaseCache,
        action: Action,
    ) -> Result<ControlFlow<End>, ReconcileError> {
        match (action, prepared) {
            (Action::Uninstall, _) => {
                let uninstalling = Box::pin(self.uninstall(session, cache));
                return step("uninstall").of(uninstalling).await;
            }
            (Action::CorrectDrift(objects), _) => {
                return self.correct_drift(session, prepared, cache, objects).await;
            }
            (Action::WarnOfDrift(objects), _) => {
                self.correction().warn_of_drift(session, cache, objects);
                let report = self.report_as_is(session, prepared, cache).await?;
                return Ok(end(report, Next::Period));
            }
            (Action::Install, Some(prepared)) => {
                let install = self.install();
                step("install").of(install.run(session, prepared, cache)).await?;
            }
            (Action::Upgrade(cause), Some(prepared)) => {
                self.upgrade(session, prepared, cache, cause).await?;
            }
            (Action::Recover, Some(prepared)) => {
                let recover = Recover {
                    deploy: self.deploy(),
                };
                step("recover").of(recover.run(session, prepared, cache)).await?;
            }
            (Action::GiveUp, Some(prepared)) => {
                let give_up = GiveUp {
                    deploy: self.deploy(),
                };
                step("give_up").of(give_up.run(session, prepared, cache)).await?;
            }
            (Action::NoteCompleted(jobs), _) => {
                NoteCompleted.run(session, cache, &jobs).await?;
            }
            (Action::Test, _) => {
                let tests = self.tests();
                step("test").of(tests.run(session, cache)).await?;
            }
            // The finalizer is added before, and what is to be rendered was prepared with the observation.
            (
                Action::AddFinalizer
                | Action::Install
                | Action::Upgrade(_)
                | Action::Recover
                | Action::GiveUp,
                _,
            ) => {}
        }
        Ok(ControlFlow::Continue(()))
    }

    async fn upgrade(
        &self,
        session: &Session,
        prepared: &PreparedRelease,
        cache: &mut ReleaseCache,
        cause: Cause,
    ) -> Result<(), ReconcileError> {
        let upgrade = Upgrade {
            planner: self.planner(),
            deploy: self.deploy(),
            take_over: TakeOver {
                executor: &self.executor,
                recorder: &self.recorder,
                settings: &self.settings,
                now: self.shared.now,
            },
        };
        step("upgrade")
            .of(upgrade.run(session, prepared, cache, cause))
            .await
    }

    async fn correct_drift(
        &self,
        session: &Session,
        prepared: Option<&PreparedRelease>,
        cache: &mut ReleaseCache,
        objects: Vec<ObjectId>,
    ) -> Result<ControlFlow<End>, ReconcileError> {
        let turn = cache.drift_backoff.turn(objects, Instant::now());
        let new = cache.drift_backoff.not_warned_of(&turn.waiting);
        let correction = self.correction();
        correction.warn_of_backoff(session, &new).await;
        if turn.due.is_empty() {
            let report = self.report_as_is(session, prepared, cache).await?;
            return Ok(end(report, Next::After(turn.pause)));
        }
        let work = correction.run(session, cache, &turn.due);
        step("correct_drift").of(work).await?;
        Ok(ControlFlow::Continue(()))
    }

    /// Deletes the release, or orphans it, and removes the finalizer when nothing is left that it waits for.
    async fn uninstall(
        &self,
        session: &mut Session,
        cache: &mut ReleaseCache,
    ) -> Result<ControlFlow<End>, ReconcileError> {
        let blockers = match self.remove_release(session, cache).await {
            Err(error) if self.goes_with_its_namespace(session, &error).await => {
                self.uninstallation().leave_to_namespace(session, &error).await?;
                Vec::new()
            }
            removed => removed?,
        };
        session.accept_announced();
        if !blockers.is_empty() {
            let report = ReleaseReport::Uninstalling(blockers);
            return Ok(end(report, Next::After(UNINSTALL_POLL)));
        }
        if let Some(written) = session.remove_finalizer().await? {
            session.accept(written);
        }
        Ok(ControlFlow::Break(None))
    }

    /// Deletes the release, or orphans it. What is still there of what goes is the answer.
    async fn remove_release(
        &self,
        session: &Session,
        cache: &mut ReleaseCache,
    ) -> Result<Vec<String>, ReconcileError> {
        // Only the finalizer could not be taken off.
        if cache.uninstalled {
            return Ok(Vec::new());
        }
        let leaving = LeavingRelease::read(session).await?;
        let policy = self.executor.deletion_policy(session, &leaving.revisions).await?;
        let stage = session.stage_of_deletion(cache);
        let revisions = in_effect(&leaving.revisions);
        self.lookups()
            .learn_secrets_of_going(session, cache, revisions)
            .await;
        match policy {
            DeletionPolicy::Delete => {
                let uninstalled = self.uninstallation().run(session, cache, leaving, &stage).await;
                let blockers = uninstalled.inspect_err(|error| {
                    let again = stage.wait.as_ref().filter(|_| error.is_transient());
                    let next = error.awaited().or(again);
                    cache.unfinished = next.map(|wait| Unfinished {
                        wait: wait.clone(),
                        revision: None,
                        is_test: false,
                        said: session.progress.said(),
                    });
                })?;
                cache.uninstalled |= blockers.is_empty();
                Ok(blockers)
            }
            DeletionPolicy::Orphan => {
                let orphan = OrphanObjects {
                    executor: &self.executor,
                    recorder: &self.recorder,
                };
                orphan.run(session, &leaving).await?;
                Ok(Vec::new())
            }
            DeletionPolicy::Unclear => Err(ReconcileError::DeletionPolicy),
        }
    }

    /// Whether the ServiceAccount was refused something, and the release's namespace is being deleted: the account's
    /// roles may have gone before the resource, and the namespace would wait for it for ever.
    async fn goes_with_its_namespace(&self, session: &Session, error: &ReconcileError) -> bool {
        if self.settings.service_account.is_none() || !error.is_forbidden() {
            return false;
        }
        let namespaces: Api<Namespace> = Api::all(self.shared.client.clone());
        match namespaces
            .get_metadata_opt(&session.owner.release_namespace)
            .await
        {
            Ok(found) => found.is_none_or(|found| found.metadata.deletion_timestamp.is_some()),
            Err(error) => {
                let error = RequestError::from(error);
                session.log_error(
                    "failed to look whether the namespace is being deleted",
                    &error.to_string(),
                );
                false
            }
        }
    }

    pub(super) fn dependencies(&self) -> Dependencies<'_> {
        Dependencies {
            settings: &self.settings,
            references: &self.shared.references,
            renderer: &self.renderer,
        }
    }

    pub(super) fn observer(&self) -> Observer<'_> {
        Observer {
            settings: &self.settings,
            release_index: &self.shared.release_index,
            dependents: &self.shared.dependents,
            dependencies: self.dependencies(),
            sources: self.sources(),
            executor: &self.executor,
            lookups: self.lookups(),
            coordination: self.coordination.as_deref(),
        }
    }

    pub(super) fn sources(&self) -> Sources<'_> {
        Sources {
            settings: &self.settings,
            references: &self.shared.references,
            renderer: &self.renderer,
            signer: &self.shared.signer,
        }
    }

    pub(super) fn lookups(&self) -> Lookups<'_> {
        Lookups {
            renderer: &self.renderer,
            settings: &self.settings,
        }
    }

    fn tests(&self) -> RunTests<'_> {
        RunTests {
            executor: &self.executor,
            recorder: &self.recorder,
            lookups: self.lookups(),
            report: self.deployed_report(),
            settings: &self.settings,
            now: self.shared.now,
        }
    }

    pub(super) fn deployed_report(&self) -> DeployedReport<'_> {
        DeployedReport {
            settings: &self.settings,
            dependents: &self.shared.dependents,
        }
    }

    pub(super) fn planner(&self) -> Planner<'_> {
        Planner {
            renderer: &self.renderer,
            settings: &self.settings,
            unsigned: UnsignedObjects {
                applier: &self.executor.applier,
                settings: &self.settings,
            },
        }
    }

    fn install(&self) -> Install<'_> {
        Install {
            planner: self.planner(),
            deploy: self.deploy(),
        }
    }

    fn deploy(&self) -> Deploy<'_> {
        Deploy {
            executor: &self.executor,
            recorder: &self.recorder,
            roll_back: RollBack {
                executor: &self.executor,
                recorder: &self.recorder,
                lookups: self.lookups(),
                uninstall: self.uninstallation(),
                settings: &self.settings,
                now: self.shared.now,
            },
            lookups: self.lookups(),
            settings: &self.settings,
            now: self.shared.now,
        }
    }

    fn correction(&self) -> CorrectDrift<'_> {
        CorrectDrift {
            executor: &self.executor,
            recorder: &self.recorder,
            lookups: self.lookups(),
            settings: &self.settings,
            now: self.shared.now,
        }
    }

    fn uninstallation(&self) -> Uninstall<'_> {
        Uninstall {
            executor: &self.executor,
            dependents: &self.shared.dependents,
            recorder: &self.recorder,
            settings: &self.settings,
            now: self.shared.now,
        }
    }
}

/// Logs the line that waits until the status shows the deployed revision.
pub(super) fn log_deployed(session: &Session, cache: &mut ReleaseCache) {
    if let Some(line) = cache.take_log_line() {
        session.log(line);
    }
}

/// helm-operator's word for a release that is as it should be. It is news when the release was read,
/// as after a start, or when a failure is over; otherwise it comes each period, and at each sign of
/// life of an object.
fn log_unchanged(session: &Session, cache: &ReleaseCache) {
    const LINE: &str = "Reconciled release";
    if session.progress.has_read() || cache.failures > 0 {
        session.log(LINE);
    } else if !cache.is_unreported() {
        session.log_debug(LINE);
    }
}

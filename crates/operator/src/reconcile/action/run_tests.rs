//! The tests of the deployed revision: the hooks of `helm test`.

use jiff::Timestamp;
use steersman_chart::HookEvent;

use crate::apply::{HookRun, HookWait, hooks_in_order};
use crate::reconcile::ReconcileSettings;
use crate::reconcile::deployed::DeployedReport;
use crate::reconcile::error::ReconcileError;
use crate::reconcile::event_recorder::EventRecorder;
use crate::reconcile::executor::Executor;
use crate::reconcile::lookups::Lookups;
use crate::reconcile::release_cache::ReleaseCache;
use crate::reconcile::secrets::secrets_of;
use crate::reconcile::session::Session;
use crate::reconcile::unfinished::Unfinished;
use crate::release::{Journal, Stored, TestOutcome};
use crate::status::EventReason;

/// Runs the tests of the deployed revision, or goes on with them.
///
/// That they have begun is written into the revision before the first, that one has run as soon as it has, and what has come of
/// them before an object goes for it: who finds them interrupted goes on where they were, and runs none twice. A request without an
/// answer has the revision read again, which tells whether one was started.
pub(crate) struct RunTests<'a> {
    pub(crate) executor: &'a Executor,
    pub(crate) recorder: &'a EventRecorder,
    pub(crate) lookups: Lookups<'a>,
    pub(crate) report: DeployedReport<'a>,
    pub(crate) settings: &'a ReconcileSettings,
    pub(crate) now: fn() -> Timestamp,
}

impl RunTests<'_> {
    /// # Errors
    /// A test is to be waited for, or the server does not answer. That a test has failed is no error: it is what they were run
    /// for.
    pub(crate) async fn run(
        &self,
        session: &Session,
        cache: &mut ReleaseCache,
    ) -> Result<(), ReconcileError> {
        let wait = cache.unfinished.take().map(|left| left.wait);
        let deployed = cache.known.as_ref().and_then(|known| known.deployed);
        let stored = match deployed {
            Some(revision) => session.history.get(revision).await?,
            None => None,
        };
        let Some(mut stored) = stored.filter(Stored::is_signed) else {
            // The revision was deleted, or somebody has changed it; what is left says what to do.
            cache.forget_known();
            return Ok(());
        };
        session.redactor.learn(secrets_of([&stored], &[]));
        let deployed = std::slice::from_ref(&stored);
        self.lookups.learn_secrets(session, cache, deployed).await?;
        let is_under_way = stored.is_being_tested();
        if !is_under_way {
            let request = session.test_request();
            stored.snapshot = stored.snapshot.with_tests(request, (self.now)());
            session.history.write_snapshot(&stored, &stored.snapshot).await?;
            tracing::info!(release = %session.release, "Running tests");
        }
        cache.note_tests(&stored);
        if wait.is_none() {
            let report = self.report.report(session, cache).await?;
            session.say(&report, (self.now)()).await?;
        }
        let journal = Journal::new(&session.history, &stored);
        let ran = self.run_hooks(session, &stored, &journal, (wait.as_ref(), is_under_way));
        let ran = ran.await;
        let finished = journal.into_finished();
        let outcome = match &ran {
            Ok(()) => {
                let hooks = hooks_in_order(stored.hooks(), HookEvent::Test).into_iter();
                // What has no end is there for them.
                let tests = hooks.filter(|hook| ["Job", "Pod"].contains(&hook.kind.as_str()));
                TestOutcome::Succeeded(tests.count())
            }
            Err(error) => match awaited(error, wait) {
                Some(wait) => {
                    cache.unfinished = Some(Unfinished {
                        wait,
                        revision: None,
                        is_test: true,
                        said: session.progress.said(),
                    });
                    return ran;
                }
                None if error.is_transient() => {
                    cache.forget_known();
                    return ran;
                }
                None => TestOutcome::Failed(error.in_few_words(&session.redactor)),
            },
        };
        stored.snapshot.finished_hooks = finished;
        if let Some(tests) = &mut stored.snapshot.tests {
            tests.outcome = Some(outcome.clone());
        }
        let written = session.history.write_snapshot(&stored, &stored.snapshot).await;
        written.inspect_err(|_| cache.forget_known())?;
        cache.note_tests(&stored);
        self.announce(session, &outcome, &stored);
        if let Err(ReconcileError::Hook(error)) = ran {
            let applier = &self.executor.applier;
            applier
                .clean_up_failed(&session.owner, stored.hooks(), &error)
                .await;
        }
        // Another revision, which is not tested, may come next.
        let report = self.report.report(session, cache).await?;
        session.say(&report, (self.now)()).await
    }

    async fn run_hooks(
        &self,
        session: &Session,
        stored: &Stored,
        journal: &Journal<'_>,
        (resumed, is_recovery): (Option<&HookWait>, bool),
    ) -> Result<(), ReconcileError> {
        self.executor.admit_tests(session, stored.hooks()).await?;
        let policy = self.settings.tests.and_then(|policy| policy.timeout);
        let run = HookRun {
            hooks: stored.hooks(),
            event: HookEvent::Test,
            timeout: policy.or(self.settings.releases.hook_timeout),
            journal,
            resumed,
            is_retry: false,
            is_recovery: is_recovery && resumed.is_none(),
            left_out: None,
            ends: session.progress.hook_ends(),
            redactor: &session.redactor,
        };
        Ok(self.executor.applier.run_hooks(&session.owner, run).await?)
    }

    fn announce(&self, session: &Session, outcome: &TestOutcome, stored: &Stored) {
        let revision = stored.record.version;
        match outcome {
            TestOutcome::Succeeded(count) => {
                let message = format!("{} of revision {revision} have succeeded", counted(*count));
                tracing::info!(release = %session.release, "{message}");
                self.recorder.event(session, EventReason::TestSucceeded, &message);
            }
            TestOutcome::Failed(why) => {
                tracing::warn!(release = %session.release, why, "a test has failed");
                let message = format!("a test of revision {revision} has failed: {why}");
                self.recorder.event(session, EventReason::TestFailed, &message);
            }
        }
    }
}

/// The test that is to be waited for: the next one, or the same where a request about it had no answer.
fn awaited(error: &ReconcileError, wait: Option<HookWait>) -> Option<HookWait> {
    if let Some(next) = error.awaited() {
        return Some(next.clone());
    }
    let is_of = |wait: &HookWait| matches!(error, ReconcileError::Hook(error) if error.is_of(wait));
    wait.filter(|wait| error.is_transient() && is_of(wait))
}

/// So many tests, in words.
fn counted(count: usize) -> String {
    match count {
        0 => "no tests".to_owned(),
        1 => "1 test".to_owned(),
        count => format!("{count} tests"),
    }
}

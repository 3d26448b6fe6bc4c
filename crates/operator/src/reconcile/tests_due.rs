//! Whether the tests of the deployed revision are due: the hooks of `helm test`. Pure.

use steersman_chart::HookEvent;
use steersman_watches::TestPolicy;

use crate::apply::hooks_in_order;
use crate::release::{Stored, TestRecord};

/// What a revision says of its tests, and of requests for them.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct KnownTests {
    /// The last request that was seen.
    pub(super) handled: Option<String>,
    /// The last run; `None` where there was none.
    pub(super) record: Option<TestRecord>,
    /// Whether the revision has any.
    pub(super) are_there: bool,
    /// Whether a former process has started one whose end nobody has dealt with.
    pub(super) is_started: bool,
}

/// Where the tests of a release are.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum TestState {
    /// Nothing is to be done.
    #[default]
    Settled,
    /// They are to be begun, or gone on with where none of them was started that has not been dealt with.
    Due,
    /// One of them was started, and may have ended: what has come of it is looked at before anything else changes the release.
    Started,
    /// One of them runs, and there is no sign of its end.
    Awaited,
}

impl KnownTests {
    pub(super) fn of(stored: &Stored) -> Self {
        // What nobody vouches for is not run.
        let is_signed = stored.is_signed();
        Self {
            handled: stored.snapshot.handled_test.clone().filter(|_| is_signed),
            record: stored.snapshot.tests.clone().filter(|_| is_signed),
            are_there: is_signed && !hooks_in_order(stored.hooks(), HookEvent::Test).is_empty(),
            is_started: false,
        }
    }

    /// Whether tests are to be begun or gone on with: as they were interrupted, as the resource has another `request` than was
    /// seen last, or as the watch wants them after each revision, once all of that `is_ready`.
    pub(super) fn are_due(
        &self,
        request: Option<&str>,
        policy: Option<TestPolicy>,
        is_ready: impl FnOnce() -> bool,
    ) -> bool {
        match &self.record {
            Some(TestRecord { outcome: None, .. }) => true,
            _ if request.is_some() && request != self.handled.as_deref() => true,
            Some(_) => false,
            None => self.are_there && policy.is_some_and(|policy| policy.after_each_revision) && is_ready(),
        }
    }
}

#[cfg(test)]
mod tests {
    use jiff::Timestamp;

    use super::*;
    use crate::release::TestOutcome;

    /// A revision that was not tested.
    fn untested(handled: Option<&str>) -> KnownTests {
        KnownTests {
            handled: handled.map(str::to_owned),
            record: None,
            are_there: true,
            is_started: false,
        }
    }

    /// One that was, or is being.
    fn tested(handled: Option<&str>, outcome: Option<TestOutcome>) -> KnownTests {
        KnownTests {
            record: Some(TestRecord {
                round: 1,
                begun: Timestamp::UNIX_EPOCH,
                requested: true,
                outcome,
            }),
            ..untested(handled)
        }
    }

    #[test]
    fn a_request_is_taken_up_once() {
        let asked = |known: &KnownTests, request| known.are_due(request, None, || true);
        assert!(!asked(&untested(None), None));
        assert!(asked(&untested(None), Some("1")));
        for outcome in [TestOutcome::Succeeded(1), TestOutcome::Failed(String::new())] {
            let done = tested(Some("1"), Some(outcome));
            assert!(!asked(&done, Some("1")));
            assert!(asked(&done, Some("2")));
            assert!(!asked(&done, None), "the annotation was taken off");
        }
        // A later revision knows of it.
        assert!(!asked(&untested(Some("1")), Some("1")));
        let interrupted = tested(Some("1"), None);
        assert!(asked(&interrupted, Some("1")) && asked(&interrupted, None));
    }

    #[test]
    fn each_revision_is_tested_once_it_is_ready_where_the_watch_wants_it() {
        let policy = |after_each_revision| {
            Some(TestPolicy {
                after_each_revision,
                timeout: None,
            })
        };
        let new = untested(Some("1"));
        assert!(new.are_due(Some("1"), policy(true), || true));
        assert!(!new.are_due(Some("1"), policy(true), || false));
        assert!(!new.are_due(Some("1"), policy(false), || true));
        let none = KnownTests::default();
        assert!(!none.are_due(None, policy(true), || true), "the chart has none");
        let done = tested(None, Some(TestOutcome::Succeeded(1)));
        assert!(!done.are_due(None, policy(true), || true));
    }
}

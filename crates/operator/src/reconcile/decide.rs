//! The decision table: from what was observed to the single next step. Pure.

use steersman_model::{Inputs, ObjectId, ReleaseStatus};
use steersman_watches::controls::Mode;
use steersman_watches::drift::DriftMode;

use super::gate::GateState;
use super::state::{Action, Cause, LastRevision, Observed, Others, ReleaseState};
use super::tests_due::TestState;
use super::unfinished::HookState;

/// What is true, given what was observed.
///
/// What is checked first goes before what is checked later: a pause or a dry run before
/// everything that could be done; a hook that runs before a deletion, and that before the rest. A revision whose hook has
/// ended is brought to its end, whatever the resource says by then. A test that was started holds up everything but a deletion
/// until what has come of it is written down, and none is started while there is anything else to do but to say that something
/// has drifted. While inputs can't be rendered, or
/// wait for what they depend on, drift of the deployed revision is still corrected, and that a Job of it has done its work is noted. A revision that has begun waits for nothing
/// but its own stages, and a stage that is waited for holds up nothing but what comes after it. Nothing is written before the
/// finalizer, and another revision goes before the correction of drift.
pub fn release_state(observed: Observed) -> ReleaseState {
    let Observed {
        deleting,
        has_finalizer,
        mode,
        hook,
        tests,
        last,
        gate,
        inputs,
        lookups_changed,
        refused,
        drifted,
        completed,
        drift_mode,
        others,
    } = observed;
    let (drifted, tolerated) = match drift_mode {
        DriftMode::Enabled => (drifted, Vec::new()),
        DriftMode::Warn => (Vec::new(), drifted),
        DriftMode::Disabled => (Vec::new(), Vec::new()),
    };
    match (deleting, has_finalizer) {
        (true, false) => return ReleaseState::Gone,
        _ if mode == Mode::Pause => return ReleaseState::Paused,
        _ if mode == Mode::DryRun => return ReleaseState::DryRun,
        _ if hook == HookState::Awaited => return ReleaseState::Waiting,
        (true, true) if others == Others::GoFirst => return ReleaseState::Needed,
        (true, true) => return ReleaseState::Deleted,
        (false, _) if tests == TestState::Awaited => return ReleaseState::Waiting,
        (false, true) if hook == HookState::Come => return ReleaseState::Interrupted,
        (false, true) if tests == TestState::Started => return ReleaseState::Untested,
        (false, false) if hook == HookState::Come || tests == TestState::Started => {
            return ReleaseState::MissingFinalizer;
        }
        (false, _) => {}
    }
    let refused = refused == Some(inputs);
    let kept = kept(drifted, completed);
    if refused && kept.is_none() {
        return ReleaseState::Refused;
    }
    let difference = last.as_ref().and_then(|last| difference(last, inputs));
    let cause = difference.or(lookups_changed.then_some(Cause::Lookups));
    let waits = others == Others::NotReady && (last.is_none() || cause.is_some());
    if waits && kept.is_none() {
        return ReleaseState::DependencyNotReady;
    }
    if !has_finalizer {
        return ReleaseState::MissingFinalizer;
    }
    match (kept, last, cause) {
        (Some(kept), ..) if refused || waits => kept,
        (_, None, _) => ReleaseState::Absent,
        (_, _, Some(cause)) => ReleaseState::OutOfSync(cause),
        (kept, Some(last), None) if last.status != ReleaseStatus::Deployed => at_gate(&last, gate, kept),
        (Some(kept), ..) => kept,
        (None, ..) => in_sync(tests, tolerated),
    }
}

/// What was deployed before is healed, and what has come to its end is noted. `None` where there is neither.
fn kept(drifted: Vec<ObjectId>, completed: Vec<ObjectId>) -> Option<ReleaseState> {
    if !drifted.is_empty() {
        Some(ReleaseState::Drifted(drifted))
    } else if !completed.is_empty() {
        Some(ReleaseState::Completed(completed))
    } else {
        None
    }
}

/// Nothing is left to be done but tests.
fn in_sync(tests: TestState, tolerated: Vec<ObjectId>) -> ReleaseState {
    if tests == TestState::Due {
        ReleaseState::Untested
    } else if tolerated.is_empty() {
        ReleaseState::InSync
    } else {
        ReleaseState::Tolerated(tolerated)
    }
}

/// A revision that is not deployed and still wanted is brought to its end, unless it waits for a stage. What was undone waits
/// for nothing.
fn at_gate(last: &LastRevision, gate: GateState, kept: Option<ReleaseState>) -> ReleaseState {
    match gate {
        GateState::None | GateState::Open => ReleaseState::Interrupted,
        _ if last.is_being_undone => ReleaseState::Interrupted,
        GateState::Failed if last.status != ReleaseStatus::Failed => ReleaseState::Late,
        GateState::Failed => kept.unwrap_or(ReleaseState::Unready),
        GateState::Shut | GateState::Unapproved => kept.unwrap_or(ReleaseState::AtGate),
    }
}

/// Whether another revision would be begun, were all ready that the release depends on.
pub(super) fn begins_revision(observed: &Observed) -> bool {
    let observed = Observed {
        has_finalizer: true,
        others: Others::NotReady,
        drifted: Vec::new(),
        completed: Vec::new(),
        ..observed.clone()
    };
    release_state(observed) == ReleaseState::DependencyNotReady
}

/// What to do about a state.
pub fn next_action(state: ReleaseState) -> Option<Action> {
    match state {
        ReleaseState::Gone
        | ReleaseState::Paused
        | ReleaseState::DryRun
        | ReleaseState::Waiting
        | ReleaseState::Needed
        | ReleaseState::Refused
        | ReleaseState::AtGate
        | ReleaseState::Unready
        | ReleaseState::DependencyNotReady
        | ReleaseState::InSync => None,
        ReleaseState::Deleted => Some(Action::Uninstall),
        ReleaseState::MissingFinalizer => Some(Action::AddFinalizer),
        ReleaseState::Absent => Some(Action::Install),
        ReleaseState::Interrupted => Some(Action::Recover),
        ReleaseState::Late => Some(Action::GiveUp),
        ReleaseState::OutOfSync(cause) => Some(Action::Upgrade(cause)),
        ReleaseState::Drifted(objects) => Some(Action::CorrectDrift(objects)),
        ReleaseState::Tolerated(objects) => Some(Action::WarnOfDrift(objects)),
        ReleaseState::Completed(jobs) => Some(Action::NoteCompleted(jobs)),
        ReleaseState::Untested => Some(Action::Test),
    }
}

/// Why the last revision is not one of these inputs; `None` when it is.
fn difference(last: &LastRevision, inputs: Inputs) -> Option<Cause> {
    match last.status {
        ReleaseStatus::Deployed
        | ReleaseStatus::Failed
        | ReleaseStatus::PendingInstall
        | ReleaseStatus::PendingUpgrade => {}
        ReleaseStatus::PendingRollback
        | ReleaseStatus::Superseded
        | ReleaseStatus::Uninstalled
        | ReleaseStatus::Uninstalling
        | ReleaseStatus::Unknown => return Some(Cause::NotDeployed),
    }
    let Some(made_of) = last.inputs else {
        return Some(Cause::TakenOver);
    };
    if made_of.identity != inputs.identity {
        Some(Cause::Identity)
    } else if made_of.chart != inputs.chart {
        Some(Cause::Chart)
    } else if made_of.values != inputs.values {
        Some(Cause::Values)
    } else if made_of.post_render != inputs.post_render {
        Some(Cause::PostRender)
    } else {
        None
    }
}

#[cfg(test)]
mod tests {
    use steersman_model::{Digest, Revision};

    use super::*;

    fn inputs(chart: &str, values: &str, identity: &str) -> Inputs {
        let digest = |text: &str| Digest::of(text.as_bytes());
        Inputs {
            chart: digest(chart),
            values: digest(values),
            identity: digest(identity),
            post_render: None,
        }
    }

    fn now() -> Inputs {
        inputs("chart", "values", "identity")
    }

    fn service() -> ObjectId {
        ObjectId {
            group: String::new(),
            kind: "Service".to_owned(),
            namespace: None,
            name: "web".to_owned(),
        }
    }

    fn job() -> ObjectId {
        ObjectId {
            group: "batch".to_owned(),
            kind: "Job".to_owned(),
            ..service()
        }
    }

    /// A settled release: it has the finalizer, and is deployed from the present inputs.
    fn settled() -> Observed {
        let last = LastRevision {
            revision: Revision(3),
            status: ReleaseStatus::Deployed,
            inputs: Some(now()),
            deployed_before: true,
            is_being_undone: false,
        };
        Observed {
            deleting: false,
            has_finalizer: true,
            mode: Mode::Apply,
            hook: HookState::None,
            tests: TestState::Settled,
            last: Some(last),
            gate: GateState::None,
            inputs: now(),
            lookups_changed: false,
            refused: None,
            drifted: vec![],
            completed: vec![],
            drift_mode: DriftMode::Enabled,
            others: Others::Free,
        }
    }

    fn with_last(change: impl FnOnce(&mut LastRevision)) -> Observed {
        let mut observed = settled();
        if let Some(last) = &mut observed.last {
            change(last);
        }
        observed
    }

    fn check(observed: Observed, state: ReleaseState, action: Option<Action>) {
        assert_eq!(release_state(observed), state);
        assert_eq!(next_action(state), action);
    }

    #[test]
    fn a_settled_release_needs_nothing() {
        check(settled(), ReleaseState::InSync, None);
    }

    #[test]
    fn deletion_goes_before_everything() {
        for drifted in [vec![], vec![service()]] {
            for last in [None, settled().last] {
                let leaving = Observed {
                    deleting: true,
                    drifted: drifted.clone(),
                    last: last.clone(),
                    ..settled()
                };
                check(leaving.clone(), ReleaseState::Deleted, Some(Action::Uninstall));
                check(
                    Observed {
                        has_finalizer: false,
                        ..leaving
                    },
                    ReleaseState::Gone,
                    None,
                );
            }
        }
    }

    #[test]
    fn a_pause_and_a_rehearsal_hold_everything_up_but_what_is_gone() {
        for (mode, held) in [
            (Mode::Pause, ReleaseState::Paused),
            (Mode::DryRun, ReleaseState::DryRun),
        ] {
            for (deleting, has_finalizer) in [(false, false), (false, true), (true, false), (true, true)] {
                let observed = Observed {
                    deleting,
                    has_finalizer,
                    mode,
                    drifted: vec![service()],
                    ..settled()
                };
                let gone = deleting && !has_finalizer;
                let state = if gone { ReleaseState::Gone } else { held.clone() };
                check(observed, state, None);
            }
        }
    }

    #[test]
    fn a_hook_that_runs_is_waited_for_and_its_revision_comes_to_its_end() {
        let waiting = |hook, deleting, has_finalizer| {
            let mut observed = with_last(|last| last.status = ReleaseStatus::PendingUpgrade);
            observed.inputs = inputs("chart", "other", "identity");
            Observed {
                hook,
                deleting,
                has_finalizer,
                refused: Some(observed.inputs),
                ..observed
            }
        };
        for deleting in [false, true] {
            let observed = waiting(HookState::Awaited, deleting, true);
            check(observed, ReleaseState::Waiting, None);
            let held = Observed {
                mode: Mode::Pause,
                ..waiting(HookState::Come, deleting, true)
            };
            check(held, ReleaseState::Paused, None);
        }
        let come = waiting(HookState::Come, false, true);
        check(come, ReleaseState::Interrupted, Some(Action::Recover));
        let going = waiting(HookState::Come, true, true);
        check(going, ReleaseState::Deleted, Some(Action::Uninstall));
        let without = waiting(HookState::Come, false, false);
        check(
            without,
            ReleaseState::MissingFinalizer,
            Some(Action::AddFinalizer),
        );
    }

    #[test]
    fn tests_come_last_and_hold_up_no_deletion() {
        let testing = |tests| Observed { tests, ..settled() };
        check(
            testing(TestState::Due),
            ReleaseState::Untested,
            Some(Action::Test),
        );
        check(testing(TestState::Awaited), ReleaseState::Waiting, None);
        let drifted = Observed {
            drifted: vec![service()],
            ..testing(TestState::Due)
        };
        let action = Action::CorrectDrift(vec![service()]);
        check(
            drifted.clone(),
            ReleaseState::Drifted(vec![service()]),
            Some(action),
        );
        let tolerated = Observed {
            drift_mode: DriftMode::Warn,
            ..drifted
        };
        check(tolerated, ReleaseState::Untested, Some(Action::Test));
        for tests in [TestState::Due, TestState::Started, TestState::Awaited] {
            let leaving = Observed {
                deleting: true,
                ..testing(tests)
            };
            check(leaving, ReleaseState::Deleted, Some(Action::Uninstall));
        }
        let mut changed = testing(TestState::Due);
        changed.inputs = inputs("chart", "new", "identity");
        let out_of_sync = ReleaseState::OutOfSync(Cause::Values);
        check(changed, out_of_sync, Some(Action::Upgrade(Cause::Values)));
    }

    #[test]
    fn a_test_that_was_started_comes_to_its_end_before_another_spec_and_drift() {
        let started = Observed {
            tests: TestState::Started,
            inputs: inputs("chart", "new", "identity"),
            refused: Some(inputs("chart", "new", "identity")),
            drifted: vec![service()],
            others: Others::NotReady,
            ..settled()
        };
        check(started.clone(), ReleaseState::Untested, Some(Action::Test));
        assert!(!begins_revision(&started));
        let without = Observed {
            has_finalizer: false,
            ..started.clone()
        };
        let missing = ReleaseState::MissingFinalizer;
        check(without, missing, Some(Action::AddFinalizer));
        let leaving = Observed {
            deleting: true,
            others: Others::Free,
            ..started.clone()
        };
        check(leaving, ReleaseState::Deleted, Some(Action::Uninstall));
        let held = Observed {
            mode: Mode::Pause,
            ..started
        };
        check(held, ReleaseState::Paused, None);
    }

    #[test]
    fn the_finalizer_comes_before_the_first_write() {
        for last in [None, settled().last] {
            let missing_finalizer = Observed {
                has_finalizer: false,
                last,
                ..settled()
            };
            check(
                missing_finalizer,
                ReleaseState::MissingFinalizer,
                Some(Action::AddFinalizer),
            );
        }
    }

    #[test]
    fn a_resource_without_a_revision_is_installed() {
        check(
            Observed {
                last: None,
                ..settled()
            },
            ReleaseState::Absent,
            Some(Action::Install),
        );
    }

    #[test]
    fn what_was_written_down_and_not_deployed_is_applied_again_if_it_is_still_wanted() {
        for status in [
            ReleaseStatus::PendingInstall,
            ReleaseStatus::PendingUpgrade,
            ReleaseStatus::Failed,
        ] {
            check(
                with_last(|last| last.status = status),
                ReleaseState::Interrupted,
                Some(Action::Recover),
            );
            let changed = with_last(|last| {
                last.status = status;
                last.inputs = Some(inputs("chart", "other", "identity"));
            });
            let out_of_sync = ReleaseState::OutOfSync(Cause::Values);
            check(changed, out_of_sync, Some(Action::Upgrade(Cause::Values)));
            let foreign = with_last(|last| {
                last.status = status;
                last.inputs = None;
            });
            let out_of_sync = ReleaseState::OutOfSync(Cause::TakenOver);
            check(foreign, out_of_sync, Some(Action::Upgrade(Cause::TakenOver)));
        }
    }

    #[test]
    fn a_stage_holds_up_what_comes_after_it() {
        use ReleaseStatus::{Failed, PendingUpgrade};
        let at = |gate, status| Observed {
            gate,
            ..with_last(|last| last.status = status)
        };
        for (gate, status, state, action) in [
            (
                GateState::None,
                PendingUpgrade,
                ReleaseState::Interrupted,
                Some(Action::Recover),
            ),
            (
                GateState::Open,
                PendingUpgrade,
                ReleaseState::Interrupted,
                Some(Action::Recover),
            ),
            (
                GateState::Open,
                Failed,
                ReleaseState::Interrupted,
                Some(Action::Recover),
            ),
            (GateState::Shut, PendingUpgrade, ReleaseState::AtGate, None),
            (GateState::Unapproved, PendingUpgrade, ReleaseState::AtGate, None),
            (GateState::Unapproved, Failed, ReleaseState::AtGate, None),
            (
                GateState::Failed,
                PendingUpgrade,
                ReleaseState::Late,
                Some(Action::GiveUp),
            ),
            // It has failed of something else, or what had failed is on its way again.
            (GateState::Shut, Failed, ReleaseState::AtGate, None),
            (GateState::Failed, Failed, ReleaseState::Unready, None),
        ] {
            check(at(gate, status), state.clone(), action);
            // What is applied is kept as it is meanwhile, but nothing goes before what is due.
            let drifted = Observed {
                drifted: vec![service()],
                ..at(gate, status)
            };
            if matches!(state, ReleaseState::AtGate | ReleaseState::Unready) {
                let action = Some(Action::CorrectDrift(vec![service()]));
                check(drifted, ReleaseState::Drifted(vec![service()]), action);
            }
            let completed = Observed {
                completed: vec![job()],
                ..at(gate, status)
            };
            if matches!(state, ReleaseState::AtGate | ReleaseState::Unready) {
                let action = Some(Action::NoteCompleted(vec![job()]));
                check(completed, ReleaseState::Completed(vec![job()]), action);
            } else {
                assert_eq!(release_state(completed), state);
            }
            // Another spec is another revision, from its first stage on.
            let changed = Observed {
                inputs: inputs("chart", "other", "identity"),
                ..at(gate, status)
            };
            let action = Some(Action::Upgrade(Cause::Values));
            check(changed, ReleaseState::OutOfSync(Cause::Values), action);
            let undone = Observed {
                gate,
                ..with_last(|last| {
                    last.status = status;
                    last.is_being_undone = true;
                })
            };
            check(undone, ReleaseState::Interrupted, Some(Action::Recover));
        }
    }

    #[test]
    fn another_revision_is_decided_by_digests() {
        for (made_of, cause) in [
            (Some(inputs("other", "values", "identity")), Cause::Chart),
            (Some(inputs("chart", "other", "identity")), Cause::Values),
            (Some(inputs("other", "other", "other")), Cause::Identity),
            (
                Some(Inputs {
                    post_render: Some(Digest::of(b"patches")),
                    ..now()
                }),
                Cause::PostRender,
            ),
            (None, Cause::TakenOver),
        ] {
            let observed = with_last(|last| last.inputs = made_of);
            check(
                observed,
                ReleaseState::OutOfSync(cause),
                Some(Action::Upgrade(cause)),
            );
        }
    }

    #[test]
    fn what_was_looked_up_is_an_input() {
        let changed = Observed {
            lookups_changed: true,
            ..settled()
        };
        let action = Some(Action::Upgrade(Cause::Lookups));
        check(changed.clone(), ReleaseState::OutOfSync(Cause::Lookups), action);
        // Once its rendering has failed, only another answer is worth another try.
        let refused = Observed {
            refused: Some(now()),
            ..changed
        };
        check(refused, ReleaseState::Refused, None);
    }

    #[test]
    fn a_revision_that_is_no_longer_deployed_is_followed_by_another() {
        for status in [
            ReleaseStatus::Unknown,
            ReleaseStatus::Superseded,
            ReleaseStatus::Uninstalled,
            ReleaseStatus::Uninstalling,
            ReleaseStatus::PendingRollback,
        ] {
            let cause = Cause::NotDeployed;
            let observed = with_last(|last| last.status = status);
            check(
                observed,
                ReleaseState::OutOfSync(cause),
                Some(Action::Upgrade(cause)),
            );
        }
    }

    #[test]
    fn another_revision_waits_for_what_it_depends_on_and_the_deployed_one_is_healed() {
        let waiting = |observed: Observed| Observed {
            others: Others::NotReady,
            ..observed
        };
        let held = ReleaseState::DependencyNotReady;
        let changed = Observed {
            inputs: inputs("chart", "new", "identity"),
            ..settled()
        };
        let new = Observed {
            last: None,
            has_finalizer: false,
            ..settled()
        };
        let looked_up = Observed {
            lookups_changed: true,
            ..settled()
        };
        for observed in [changed.clone(), new, looked_up] {
            assert!(begins_revision(&observed));
            check(waiting(observed), held.clone(), None);
        }
        let drifted = Observed {
            drifted: vec![service()],
            ..waiting(changed)
        };
        let healing = Some(Action::CorrectDrift(vec![service()]));
        check(drifted, ReleaseState::Drifted(vec![service()]), healing);
        // What is in effect, or has begun, waits for nothing.
        assert!(!begins_revision(&settled()));
        check(waiting(settled()), ReleaseState::InSync, None);
        let begun = with_last(|last| last.status = ReleaseStatus::PendingUpgrade);
        assert!(!begins_revision(&begun));
        check(waiting(begun), ReleaseState::Interrupted, Some(Action::Recover));
    }

    #[test]
    fn what_others_depend_on_goes_after_them() {
        let needed = Observed {
            deleting: true,
            others: Others::GoFirst,
            ..settled()
        };
        check(needed.clone(), ReleaseState::Needed, None);
        let without_release = Observed {
            has_finalizer: false,
            ..needed
        };
        check(without_release, ReleaseState::Gone, None);
    }

    #[test]
    fn drift_is_corrected_when_nothing_else_is_to_be_done() {
        let drifted = || Observed {
            drifted: vec![service()],
            ..settled()
        };
        check(
            drifted(),
            ReleaseState::Drifted(vec![service()]),
            Some(Action::CorrectDrift(vec![service()])),
        );
        let mut changed = drifted();
        changed.inputs = inputs("chart", "new", "identity");
        check(
            changed,
            ReleaseState::OutOfSync(Cause::Values),
            Some(Action::Upgrade(Cause::Values)),
        );
    }

    #[test]
    fn that_a_job_has_done_its_work_is_noted_whatever_holds_up_another_revision() {
        let completed = Observed {
            completed: vec![job()],
            ..settled()
        };
        let changed = Observed {
            inputs: inputs("chart", "new", "identity"),
            ..completed.clone()
        };
        for observed in [
            completed.clone(),
            Observed {
                tests: TestState::Due,
                ..completed.clone()
            },
            Observed {
                refused: Some(now()),
                ..completed.clone()
            },
            Observed {
                others: Others::NotReady,
                ..changed.clone()
            },
        ] {
            let action = Some(Action::NoteCompleted(vec![job()]));
            check(observed, ReleaseState::Completed(vec![job()]), action);
        }
        let drifted = Observed {
            drifted: vec![service()],
            ..completed
        };
        let healing = Some(Action::CorrectDrift(vec![service()]));
        check(drifted, ReleaseState::Drifted(vec![service()]), healing);
        let out_of_sync = ReleaseState::OutOfSync(Cause::Values);
        check(changed, out_of_sync, Some(Action::Upgrade(Cause::Values)));
    }

    #[test]
    fn drift_is_only_said_or_not_even_that_where_the_watch_wants_so() {
        let drifted = |drift_mode| Observed {
            drifted: vec![service()],
            drift_mode,
            ..settled()
        };
        check(
            drifted(DriftMode::Warn),
            ReleaseState::Tolerated(vec![service()]),
            Some(Action::WarnOfDrift(vec![service()])),
        );
        check(drifted(DriftMode::Disabled), ReleaseState::InSync, None);
        for mode in [DriftMode::Warn, DriftMode::Disabled] {
            let refused = Observed {
                refused: Some(now()),
                ..drifted(mode)
            };
            check(refused, ReleaseState::Refused, None);
        }
    }

    #[test]
    fn inputs_that_cannot_be_rendered_leave_the_deployed_revision_in_charge() {
        let refused = Observed {
            refused: Some(now()),
            ..settled()
        };
        check(refused.clone(), ReleaseState::Refused, None);
        check(
            Observed {
                last: None,
                has_finalizer: false,
                ..refused.clone()
            },
            ReleaseState::Refused,
            None,
        );
        let drifted = Observed {
            drifted: vec![service()],
            ..refused.clone()
        };
        check(
            drifted,
            ReleaseState::Drifted(vec![service()]),
            Some(Action::CorrectDrift(vec![service()])),
        );
        let moved_on = Observed {
            inputs: inputs("chart", "new", "identity"),
            ..refused
        };
        check(
            moved_on,
            ReleaseState::OutOfSync(Cause::Values),
            Some(Action::Upgrade(Cause::Values)),
        );
    }
}

//! The decision: pure, one table from what was observed to the next step.

use steersman_watches::controls::Mode;

use super::state::{Action, Cause, LastRun, Observed, RunState};

/// What the observations amount to. The first thing that holds counts.
pub fn run_state(observed: &Observed) -> RunState {
    if observed.deleting && !observed.has_finalizer {
        return RunState::Gone;
    }
    match observed.mode {
        Mode::Pause => return RunState::Paused,
        Mode::DryRun => return RunState::DryRun,
        Mode::Apply => {}
    }
    if observed.deleting {
        return if observed.is_resting {
            RunState::RestingDeleted
        } else {
            RunState::Deleted
        };
    }
    if observed.wants_finalizer && !observed.has_finalizer {
        return RunState::MissingFinalizer;
    }
    match cause(observed) {
        None => RunState::Settled,
        Some(cause @ (Cause::Failed | Cause::Drift)) if observed.is_resting => RunState::Resting(cause),
        Some(cause) => RunState::Outdated(cause),
    }
}

fn cause(observed: &Observed) -> Option<Cause> {
    let Some(LastRun {
        inputs,
        has_succeeded,
    }) = observed.last
    else {
        return Some(Cause::New);
    };
    let reasons = [
        (inputs.resource != observed.inputs.resource, Cause::Resource),
        (inputs.content != observed.inputs.content, Cause::Content),
        (!has_succeeded, Cause::Failed),
        (observed.has_drifted, Cause::Drift),
        (observed.is_due, Cause::Due),
    ];
    reasons
        .into_iter()
        .find_map(|(holds, cause)| holds.then_some(cause))
}

/// What is done about it; `None` is nothing.
pub fn next_action(state: RunState) -> Option<Action> {
    match state {
        RunState::Gone
        | RunState::Paused
        | RunState::DryRun
        | RunState::RestingDeleted
        | RunState::Resting(_)
        | RunState::Settled => None,
        RunState::Deleted => Some(Action::Finalize),
        RunState::MissingFinalizer => Some(Action::AddFinalizer),
        RunState::Outdated(cause) => Some(Action::Run(cause)),
    }
}

#[cfg(test)]
mod tests {
    use steersman_model::Digest;

    use super::super::state::RunInputs;
    use super::*;

    fn inputs() -> RunInputs {
        RunInputs {
            resource: Digest::of(b"spec"),
            content: Digest::of(b"role"),
        }
    }

    fn settled() -> Observed {
        Observed {
            deleting: false,
            wants_finalizer: true,
            has_finalizer: true,
            mode: Mode::Apply,
            last: Some(LastRun {
                inputs: inputs(),
                has_succeeded: true,
            }),
            inputs: inputs(),
            has_drifted: false,
            is_due: false,
            is_resting: false,
        }
    }

    /// A change of what is settled, and what follows from it.
    fn check(change: impl Fn(&mut Observed), action: Option<Action>) {
        let mut observed = settled();
        change(&mut observed);
        assert_eq!(next_action(run_state(&observed)), action, "{observed:?}");
    }

    #[test]
    fn each_reason_makes_one_run() {
        check(|_| {}, None);
        check(|seen| seen.last = None, Some(Action::Run(Cause::New)));
        check(
            |seen| seen.inputs.resource = Digest::of(b"other"),
            Some(Action::Run(Cause::Resource)),
        );
        check(
            |seen| seen.inputs.content = Digest::of(b"other"),
            Some(Action::Run(Cause::Content)),
        );
        let failed = LastRun {
            inputs: inputs(),
            has_succeeded: false,
        };
        check(|seen| seen.last = Some(failed), Some(Action::Run(Cause::Failed)));
        check(|seen| seen.has_drifted = true, Some(Action::Run(Cause::Drift)));
        check(|seen| seen.is_due = true, Some(Action::Run(Cause::Due)));
    }

    #[test]
    fn a_failure_and_drift_rest_and_news_do_not() {
        let resting = |change: fn(&mut Observed)| {
            move |seen: &mut Observed| {
                seen.is_resting = true;
                change(seen);
            }
        };
        let failed = |seen: &mut Observed| {
            seen.last = Some(LastRun {
                inputs: inputs(),
                has_succeeded: false,
            });
        };
        check(resting(failed), None);
        check(resting(|seen| seen.has_drifted = true), None);
        check(resting(|seen| seen.deleting = true), None);
        let other = |seen: &mut Observed| seen.inputs.resource = Digest::of(b"other");
        check(resting(other), Some(Action::Run(Cause::Resource)));
        check(resting(|seen| seen.is_due = true), Some(Action::Run(Cause::Due)));
    }

    #[test]
    fn a_pause_and_a_dry_run_hold_all_but_what_is_over() {
        for mode in [Mode::Pause, Mode::DryRun] {
            check(|seen| (seen.mode, seen.last) = (mode, None), None);
            check(|seen| (seen.mode, seen.deleting) = (mode, true), None);
        }
        check(|seen| (seen.deleting, seen.has_finalizer) = (true, false), None);
    }

    #[test]
    fn a_finalizer_comes_before_the_first_run_and_goes_after_the_last() {
        check(|seen| seen.has_finalizer = false, Some(Action::AddFinalizer));
        let without = |seen: &mut Observed| {
            (seen.has_finalizer, seen.wants_finalizer, seen.last) = (false, false, None);
        };
        check(without, Some(Action::Run(Cause::New)));
        check(|seen| seen.deleting = true, Some(Action::Finalize));
        // The entry wanted one when it was added.
        let former = |seen: &mut Observed| (seen.deleting, seen.wants_finalizer) = (true, false);
        check(former, Some(Action::Finalize));
    }
}

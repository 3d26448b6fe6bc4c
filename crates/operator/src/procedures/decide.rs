//! The decision table of a run: from what was observed to the single next step. Pure.

use super::record::{Outcome, Stop};
use super::state::{Action, Claim, Observed, RunState, Seen};

/// What is said of a run that was begun, and of which nobody knows how far it came.
pub(super) const UNKNOWN: &str = "it was begun, and nobody knows what it has done, as its record is not the operator's: look at its Jobs, and \
                       make another one";

/// What is true, given what was observed.
///
/// A run that was not begun is refused before it is held up, and nothing of it is left to be done when it is deleted. One
/// that was begun never begins again: without a record that the operator vouches for, what goes on of it is stopped. One that
/// was begun is brought to its end, whatever becomes of it: its step is stopped, and the steps that follow in any case are
/// carried out. What has ended before it was stopped counts as it has ended.
pub fn run_state(observed: Observed) -> RunState {
    let Observed {
        deleting,
        has_finalizer,
        record,
        claim,
        refused,
        held,
        stop,
        seen,
    } = observed;
    let ended = match (has_finalizer, deleting) {
        (true, _) => RunState::Ended,
        (false, true) => RunState::Gone,
        (false, false) => RunState::Settled,
    };
    let Some(record) = record else {
        return match (refused, stop, held) {
            _ if claim == Claim::Ended => ended,
            _ if claim == Claim::Begun => state_of_unrecorded(seen),
            _ if claim == Claim::Over => RunState::Refused(UNKNOWN.to_owned()),
            _ if deleting => ended,
            (Some(reason), ..) => RunState::Refused(reason),
            (_, Some(_), _) => RunState::Unwanted,
            (_, _, Some(reason)) => RunState::Held(reason),
            _ => RunState::Due,
        };
    };
    if record.ended.is_some() {
        return ended;
    }
    if !has_finalizer {
        return if deleting {
            RunState::Gone
        } else {
            RunState::MissingFinalizer
        };
    }
    match (seen, held, stop) {
        (_, Some(reason), None) => RunState::Held(reason),
        (None, ..) => RunState::Between,
        (Some(seen), _, stop) => state_of_step(seen, stop),
    }
}

fn state_of_unrecorded(seen: Option<Seen>) -> RunState {
    match seen {
        None => RunState::Unrecorded,
        Some(Seen::Stopping) => RunState::Waiting("what was begun of it is being stopped".to_owned()),
        Some(_) => RunState::Unstopped,
    }
}

fn state_of_step(seen: Seen, stop: Option<Stop>) -> RunState {
    match (seen, stop) {
        (Seen::Ended(outcome), _) => RunState::Come(outcome),
        (Seen::Stopping, _) => RunState::Waiting("it is being stopped".to_owned()),
        (Seen::NotMade | Seen::Gone { .. }, Some(stop)) => {
            RunState::Come(Outcome::Failed(stop.words().to_owned()))
        }
        (Seen::Made(uid), _) => RunState::Unnoted(uid),
        // Whoever deletes a Job stops it: its finalizer keeps the pods from going with it.
        (Seen::Running(_), Some(_)) | (Seen::Deleted, _) => RunState::Unstopped,
        (Seen::NotMade, None) => RunState::Unmade,
        (Seen::Running(what), None) => RunState::Waiting(what),
        (Seen::Gone { idempotent: true }, None) => RunState::Lost,
        (Seen::Gone { idempotent: false }, None) => RunState::Come(Outcome::Failed(
            "its Job is gone, and nobody knows what has come of it".to_owned(),
        )),
    }
}

/// What to do about a state.
pub fn next_action(state: RunState) -> Option<Action> {
    match state {
        RunState::Gone | RunState::Held(_) | RunState::Waiting(_) | RunState::Settled => None,
        RunState::Refused(reason) => Some(Action::Refuse(reason)),
        RunState::Unwanted => Some(Action::Cancel),
        RunState::MissingFinalizer => Some(Action::AddFinalizer),
        RunState::Due => Some(Action::Begin),
        RunState::Unrecorded => Some(Action::TakeUp),
        RunState::Unmade => Some(Action::Make),
        RunState::Unnoted(uid) => Some(Action::NoteJob(uid)),
        RunState::Unstopped => Some(Action::StopJob),
        RunState::Come(outcome) => Some(Action::NoteOutcome(outcome)),
        RunState::Lost => Some(Action::MakeAgain),
        RunState::Between => Some(Action::Advance),
        RunState::Ended => Some(Action::RemoveFinalizer),
    }
}

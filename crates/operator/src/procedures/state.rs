//! What is true of a run of a procedure, and the single next step.

use super::record::{Outcome, ProcedureRecord, Stop};

/// What was observed of a run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Observed {
    /// Whether it is being deleted.
    pub deleting: bool,
    /// Whether it carries our finalizer.
    pub has_finalizer: bool,
    /// How far it is; `None` before its first step, and where nobody vouches for what its status says.
    pub record: Option<ProcedureRecord>,
    /// What it says of itself besides.
    pub claim: Claim,
    /// Why it can't be begun, and never will be.
    pub refused: Option<String>,
    /// Why it is not begun yet, or not gone on with.
    pub held: Option<String>,
    /// Whether it is not to go on.
    pub stop: Option<Stop>,
    /// What is there of the step that is under way; `None` where there is none. Without a record it is of all steps, and `None`
    /// where nothing of them goes on.
    pub seen: Option<Seen>,
}

/// What a run says of itself, whoever has written that. It counts where there is no record.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Claim {
    /// Nothing was done.
    New,
    /// It was begun: that is written before anything is done.
    Begun,
    /// It was begun, and its finalizer is gone, as at its end.
    Over,
    /// Nothing is left to be done.
    Ended,
}

/// What is there of the step that is under way.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Seen {
    /// Nothing: it was not made.
    NotMade,
    /// A Job that is not noted yet, with this UID.
    Made(String),
    /// It goes on; what it does.
    Running(String),
    /// Somebody has deleted it, and its pods go on.
    Deleted,
    /// It is being deleted with its pods, and they are not gone.
    Stopping,
    /// Nothing of it goes on.
    Ended(Outcome),
    /// It was there, and is not any longer.
    Gone {
        /// Whether it may be made again.
        idempotent: bool,
    },
}

/// What is true of a run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum RunState {
    /// It is being deleted, and nothing is left to be done.
    Gone,
    /// It can't be begun.
    Refused(String),
    /// It was begun, nobody knows how far it is, and nothing of it goes on.
    Unrecorded,
    /// Somebody does not want it any longer, before it was begun.
    Unwanted,
    /// It waits for something before it is begun.
    Held(String),
    /// It has no finalizer yet. Without one it could be deleted before its last steps.
    MissingFinalizer,
    /// It is to be begun.
    Due,
    /// Its step is not made yet.
    Unmade,
    /// Its Job is not noted yet, which has this UID.
    Unnoted(String),
    /// Its step goes on; what it does.
    Waiting(String),
    /// Its step is not to go on.
    Unstopped,
    /// Its step has come to this.
    Come(Outcome),
    /// Its Job is gone, and may be made again.
    Lost,
    /// Its step is over, and what comes next is not begun.
    Between,
    /// It has ended, and still carries the finalizer.
    Ended,
    /// It has ended, and nothing is left to be done.
    Settled,
}

/// The next step.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Action {
    /// Note that it is not carried out, for this reason.
    Refuse(String),
    /// Note that nobody wants it.
    Cancel,
    /// Put the finalizer on it.
    AddFinalizer,
    /// Note that its first step begins.
    Begin,
    /// Note that nobody knows how far it is, and that those of its steps come next that follow in any case.
    TakeUp,
    /// Make the Job of its step.
    Make,
    /// Note the UID of that.
    NoteJob(String),
    /// Delete that, with its pods; without a record, all that go on.
    StopJob,
    /// Note what has come of its step.
    NoteOutcome(Outcome),
    /// Note that the Job of its step is made again.
    MakeAgain,
    /// Let go of the Job of its last step, and note what comes next.
    Advance,
    /// Show in the resource what has become of it, and take the finalizer off it.
    RemoveFinalizer,
}

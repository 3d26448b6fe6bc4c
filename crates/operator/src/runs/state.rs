//! What is true of a resource that runs are made for, and the single next step.

use steersman_model::Digest;
use steersman_watches::controls::Mode;

/// Digests: with other ones a run is due.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RunInputs {
    /// What the resource says: its spec, and its annotations where the entry heeds them.
    pub resource: Digest,
    /// What runs, and with which variables of the entry.
    pub content: Digest,
}

/// The last run that came to an end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LastRun {
    /// With other ones than now a run is due.
    pub inputs: RunInputs,
    /// Whether no task of it has failed.
    pub has_succeeded: bool,
}

/// What was observed of a custom resource and its runs.
///
/// [`run_state`](super::run_state) says what that amounts to, and [`next_action`](super::next_action) what is done about it:
///
/// ```
/// use steersman_model::Digest;
/// use steersman_operator::runs::{Action, Cause, LastRun, Observed, RunInputs, next_action, run_state};
/// use steersman_watches::controls::Mode;
///
/// let inputs = |spec: &str| RunInputs {
///     resource: Digest::of(spec.as_bytes()),
///     content: Digest::of(b"roles/cache"),
/// };
/// let new = Observed {
///     deleting: false,
///     wants_finalizer: true,
///     has_finalizer: false,
///     mode: Mode::Apply,
///     last: None,
///     inputs: inputs("size: 1"),
///     has_drifted: false,
///     is_due: false,
///     is_resting: false,
/// };
/// let action = |observed: &Observed| next_action(run_state(observed));
/// assert_eq!(action(&new), Some(Action::AddFinalizer));
///
/// let held = Observed { has_finalizer: true, ..new };
/// assert_eq!(action(&held), Some(Action::Run(Cause::New)));
///
/// let last = LastRun { inputs: held.inputs, has_succeeded: true };
/// let settled = Observed { last: Some(last), ..held };
/// assert_eq!(action(&settled), None);
/// assert_eq!(action(&Observed { inputs: inputs("size: 2"), ..settled }), Some(Action::Run(Cause::Resource)));
/// assert_eq!(action(&Observed { deleting: true, ..settled }), Some(Action::Finalize));
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(
    clippy::struct_excessive_bools,
    reason = "each is observed by itself, and none follows from another"
)]
pub struct Observed {
    /// Whether the resource is being deleted.
    pub deleting: bool,
    /// Whether something is to be done when it is deleted, so that it has to wait for that.
    pub wants_finalizer: bool,
    /// Whether it carries our finalizer.
    pub has_finalizer: bool,
    /// Whether anything is done, by the resource's annotations and the operator's flags.
    pub mode: Mode,
    /// The last run; `None` where there was none, or where nothing proves what it was.
    pub last: Option<LastRun>,
    /// What a run would be made of now.
    pub inputs: RunInputs,
    /// Whether others have changed or deleted what the last run has left.
    pub has_drifted: bool,
    /// Whether the period is over, or the time that the last run has asked for.
    pub is_due: bool,
    /// Whether what has failed, or has drifted again and again, is left alone for a while.
    pub is_resting: bool,
}

/// What is true of a resource.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RunState {
    /// It is being deleted and has no finalizer of ours: nothing is left to do.
    Gone,
    /// An annotation asks for a pause, which overrides everything else that is true.
    Paused,
    /// A flag or an annotation asks for a dry run: a role can't be run without effects, so nothing is run.
    DryRun,
    /// It is being deleted, and its finalizer is ours to remove.
    Deleted,
    /// It is being deleted, and what is done then has failed a moment ago.
    RestingDeleted,
    /// It has no finalizer yet. Without one it could be gone before what is to be done then.
    MissingFinalizer,
    /// Something has changed since the last run, or that has failed, or there was none.
    Outdated(Cause),
    /// A run is due for this reason, but not yet: the last one has failed a moment ago, or others change what runs have left
    /// again and again.
    Resting(Cause),
    /// The last run was made of this, and what it has left is there.
    Settled,
}

/// Why a run is made.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Cause {
    /// There was none, as far as anything proves.
    New,
    /// The resource says something else.
    Resource,
    /// The role, the playbook or the entry of the watch is another.
    Content,
    /// The last one has failed.
    Failed,
    /// Others have changed what it has left.
    Drift,
    /// The period is over, or the last run has asked for another one.
    Due,
}

/// The single next step.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Action {
    /// Before the first run, so that no deletion passes it by.
    AddFinalizer,
    /// Runs the role or playbook.
    Run(Cause),
    /// Runs what the entry says for a deletion, deletes what is to go with the resource, and takes the finalizer off.
    Finalize,
}

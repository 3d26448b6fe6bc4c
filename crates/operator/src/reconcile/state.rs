//! What is true of a release, and the single next step.

use steersman_model::{Inputs, ObjectId, ReleaseStatus, Revision};
use steersman_watches::controls::Mode;
use steersman_watches::drift::DriftMode;

use super::gate::GateState;
use super::tests_due::TestState;
use super::unfinished::HookState;

/// What was observed of a custom resource and its release.
///
/// [`release_state`](super::release_state) says what that amounts to, and [`next_action`](super::next_action) what is
/// done about it:
///
/// ```
/// use steersman_model::{Digest, Inputs, ReleaseStatus, Revision};
/// use steersman_operator::reconcile::{
///     Action, Cause, GateState, HookState, LastRevision, Observed, Others, TestState, next_action,
///     release_state,
/// };
/// use steersman_watches::controls::Mode;
/// use steersman_watches::drift::DriftMode;
///
/// let inputs = |values: &str| Inputs {
///     chart: Digest::of(b"visitors-0.1.0"),
///     values: Digest::of(values.as_bytes()),
///     identity: Digest::of(b"visitors/shop/1234"),
///     post_render: None,
/// };
/// let new = Observed {
///     deleting: false,
///     has_finalizer: false,
///     mode: Mode::Apply,
///     hook: HookState::None,
///     tests: TestState::Settled,
///     last: None,
///     gate: GateState::None,
///     inputs: inputs("replicas: 1"),
///     lookups_changed: false,
///     refused: None,
///     drifted: Vec::new(),
///     completed: Vec::new(),
///     drift_mode: DriftMode::Enabled,
///     others: Others::Free,
/// };
/// let action = |observed: &Observed| next_action(release_state(observed.clone()));
/// assert_eq!(action(&new), Some(Action::AddFinalizer));
///
/// let with_finalizer = Observed { has_finalizer: true, ..new };
/// assert_eq!(action(&with_finalizer), Some(Action::Install));
///
/// let last = LastRevision {
///     revision: Revision::FIRST,
///     status: ReleaseStatus::Deployed,
///     inputs: Some(inputs("replicas: 1")),
///     deployed_before: true,
///     is_being_undone: false,
/// };
/// let deployed = Observed { last: Some(last), ..with_finalizer };
/// assert_eq!(action(&deployed), None);
///
/// let edited = Observed { inputs: inputs("replicas: 2"), ..deployed.clone() };
/// assert_eq!(action(&edited), Some(Action::Upgrade(Cause::Values)));
/// assert_eq!(action(&Observed { mode: Mode::Pause, ..edited }), None);
/// assert_eq!(action(&Observed { deleting: true, ..deployed }), Some(Action::Uninstall));
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Observed {
    /// Whether the resource is being deleted.
    pub deleting: bool,
    /// Whether it carries our finalizer.
    pub has_finalizer: bool,
    /// Whether anything is done, by the resource's annotations and the operator's flags.
    pub mode: Mode,
    /// Whether a hook of the release is waited for.
    pub hook: HookState,
    /// Whether the tests of the deployed revision are due, or run.
    pub tests: TestState,
    /// The last revision; `None` when there is none.
    pub last: Option<LastRevision>,
    /// Whether that waits for one of its stages.
    pub gate: GateState,
    /// What the release would be rendered from now.
    pub inputs: Inputs,
    /// Whether the deployed revision would come out differently, because of what it looks up.
    pub lookups_changed: bool,
    /// The inputs of the last failure, if they can't be rendered or their revision was undone.
    pub refused: Option<Inputs>,
    /// Objects of the deployed revision that others have changed or deleted.
    pub drifted: Vec<ObjectId>,
    /// Jobs of it that have done their work and go by themselves, of which that is not noted.
    pub completed: Vec<ObjectId>,
    /// Whether drift is corrected, reported or ignored.
    pub drift_mode: DriftMode,
    /// Whether others are waited for.
    pub others: Others,
}

/// Whether a resource waits for others.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Others {
    /// It does not.
    Free,
    /// Some that depend on it have to be deleted before it.
    GoFirst,
    /// Something is not ready that has to be before another revision is begun.
    NotReady,
}

/// The last revision of a release.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LastRevision {
    /// Its number.
    pub revision: Revision,
    /// In Helm's words; of one that is signed, what was signed.
    pub status: ReleaseStatus,
    /// What it was rendered from; `None` when it is not signed.
    pub inputs: Option<Inputs>,
    /// Whether it or an earlier one was ever deployed.
    pub deployed_before: bool,
    /// Whether it has failed, and what it has done is being undone.
    pub is_being_undone: bool,
}

/// What is true of a release.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ReleaseState {
    /// The resource is being deleted and has no finalizer of ours: nothing is left to do.
    Gone,
    /// An annotation asks for a pause, which overrides everything else that is true.
    Paused,
    /// A flag or an annotation asks for a dry run: what would be done is shown, and not done.
    DryRun,
    /// A hook or a test is waited for: nothing goes on before its end.
    Waiting,
    /// The resource is being deleted, and others that depend on it go first.
    Needed,
    /// The resource is being deleted, and its finalizer is ours to remove.
    Deleted,
    /// These inputs can't be rendered, or their revision was undone, and the deployed objects have not drifted: only other
    /// inputs help.
    Refused,
    /// Another revision is needed, something that it depends on is not ready, and the deployed objects have not drifted.
    DependencyNotReady,
    /// The resource has no finalizer yet. Without one it could be deleted before its objects.
    MissingFinalizer,
    /// There is no revision.
    Absent,
    /// A stage of the last revision is waited for, and what is applied is as it was left: its objects get ready, or somebody
    /// says that it may begin.
    AtGate,
    /// The time of a stage is over, or one of its objects has failed, and nothing was done about that.
    Late,
    /// The same, and the revision is marked as failed. It goes on when its objects are ready.
    Unready,
    /// The last revision is not deployed, and is made of these inputs or has waited for a hook: the process ended, an object
    /// was refused, or the wait is over.
    Interrupted,
    /// Another revision is needed, for this reason.
    OutOfSync(Cause),
    /// Others have changed or deleted these objects.
    Drifted(Vec<ObjectId>),
    /// Others have changed or deleted these objects, and `driftDetection.mode: warn` leaves them so.
    Tolerated(Vec<ObjectId>),
    /// These Jobs have done their work and go by themselves, and that is not noted.
    Completed(Vec<ObjectId>),
    /// The tests of the deployed revision are due, and it is made of these inputs, or one of them was started.
    Untested,
    /// The deployed revision is made of these inputs, and its objects are as it left them.
    InSync,
}

/// Why another revision is needed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Cause {
    /// The last revision is not signed: Helm or helm-operator wrote it, or nobody knows who.
    TakenOver,
    /// The last revision is of another custom resource of the same name.
    Identity,
    /// The chart has changed.
    Chart,
    /// The values have changed.
    Values,
    /// What the watch changes in what the chart renders is another.
    PostRender,
    /// What the chart looks up in the cluster has changed.
    Lookups,
    /// The last revision has been uninstalled or superseded.
    NotDeployed,
}

/// The next step.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Action {
    /// Put the finalizer on the resource.
    AddFinalizer,
    /// Render and apply the first revision.
    Install,
    /// Render and apply another revision.
    Upgrade(Cause),
    /// Apply the last revision again, from its manifest.
    Recover,
    /// Mark the last revision as failed, as a stage of it was not ready in time, and undo it where that is wanted.
    GiveUp,
    /// Apply these objects again, from the manifests of the revisions that have applied them.
    CorrectDrift(Vec<ObjectId>),
    /// Say that these objects are not as the manifest of the deployed revision wants them.
    WarnOfDrift(Vec<ObjectId>),
    /// Note with the revisions that have applied them that these Jobs have done their work.
    NoteCompleted(Vec<ObjectId>),
    /// Run the tests of the deployed revision.
    Test,
    /// Delete everything, or orphan it where the resource says so, and remove the finalizer.
    Uninstall,
}

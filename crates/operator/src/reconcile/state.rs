//! What is true of a release, and the single next step.

use steersman_model::ObjectId;
use steersman_model::{Inputs, ReleaseStatus, Revision};
use steersman_watches::controls::Mode;
use steersman_watches::drift::DriftMode;

/// What was observed of a custom resource and its release.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Observed {
    /// Whether the resource is being deleted.
    pub deleting: bool,
    /// Whether it carries our finalizer.
    pub has_finalizer: bool,
    /// Whether anything is done, by the resource's annotations and the operator's flags.
    pub mode: Mode,
    /// The last revision; `None` when there is none.
    pub last: Option<LastRevision>,
    /// What the release would be rendered from now.
    pub inputs: Inputs,
    /// Whether the deployed revision would come out differently, because of what it looks up.
    pub lookups_changed: bool,
    /// Inputs of which it is known that they can't be rendered, or that what they led to was undone.
    pub refused: Option<Inputs>,
    /// Objects of the deployed revision that somebody else has changed or deleted.
    pub drifted: Vec<ObjectId>,
    /// Whether that is to be corrected.
    pub drift_mode: DriftMode,
}

/// The last revision of a release.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LastRevision {
    /// Its number.
    pub revision: Revision,
    /// In Helm's words, as the label of its Secret has it.
    pub status: ReleaseStatus,
    /// What it was rendered from; `None` when others wrote it.
    pub inputs: Option<Inputs>,
    /// Whether it or an earlier one was ever deployed.
    pub deployed_before: bool,
}

/// What is true of a release.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ReleaseState {
    /// The resource is being deleted and nothing of ours holds it.
    Gone,
    /// The resource is to be left alone, whatever else is true.
    Paused,
    /// What would be done is only shown.
    DryRun,
    /// The resource is being deleted, and its finalizer is ours to remove.
    Deleted,
    /// These inputs have failed without a trace, and the deployed objects are as they should be.
    Refused,
    /// There would be objects whose deletion nobody waits for.
    MissingFinalizer,
    /// There is no revision.
    Absent,
    /// The last revision was written down for these inputs, and not deployed.
    Interrupted,
    /// The last revision was made of something else.
    OutOfSync(Cause),
    /// Somebody else has changed or deleted these objects.
    Drifted(Vec<ObjectId>),
    /// Somebody else has changed or deleted these objects, which stay so.
    Tolerated(Vec<ObjectId>),
    /// Nothing is to be done.
    InSync,
}

/// Why another revision is needed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Cause {
    /// Somebody else wrote the last revision.
    TakenOver,
    /// The last revision is of another custom resource of the same name.
    Identity,
    /// The chart has changed.
    Chart,
    /// The values have changed.
    Values,
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
    /// Apply these objects again, from the manifest of the deployed revision.
    CorrectDrift(Vec<ObjectId>),
    /// Say that these objects are not as the manifest of the deployed revision wants them.
    WarnOfDrift(Vec<ObjectId>),
    /// Delete everything, or orphan it where the resource says so, and remove the finalizer.
    Uninstall,
}

//! What happened to a release.

use std::time::Duration;

use jiff::Timestamp;
use serde_json::Value;
use steersman_model::{ReleaseName, Revision};

use super::dry_run::DryRunStatus;
use super::health::HealthSummary;

/// What a reconcile is about to do, or ended with.
#[derive(Clone, Debug, PartialEq)]
pub enum ReleaseReport {
    /// This is being done, for people. It is said before the first object is written.
    Progressing(String),
    /// A revision waits for one of its stages, or for all its objects.
    AtGate(AtGate),
    /// Another revision waits for what the release depends on.
    DependencyNotReady(Dependent),
    /// Another revision waits for a run of a procedure.
    AwaitsProcedure(Dependent),
    /// A revision is deployed, now or since long.
    Deployed(Box<Deployed>),
    /// Something failed.
    Failed(Failure),
    /// The release is being removed; these objects are still there, as far as that is known.
    Uninstalling(Vec<String>),
    /// The release is being removed once something else has ended: what is done, for people.
    UninstallingAfter(String),
    /// Nothing was done, as the resource asks for.
    Paused,
    /// Nothing was done; this would have been.
    DryRun(DryRunStatus),
}

/// A revision that waits.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AtGate {
    /// For what, for people.
    pub message: String,
    /// The same for programs.
    pub awaits: Awaits,
    /// Those that have names, in the order in which they begin.
    pub stages: Vec<StageStatus>,
}

/// A revision that is not begun yet, as something comes before it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Dependent {
    /// For what, for people.
    pub message: String,
    /// How far the stages of the newest revision are; `None` leaves what the status says.
    pub stages: Option<Vec<StageStatus>>,
    /// In `status.overlay`, secrets masked: values that procedures have put over those of the resource.
    pub overlay: Option<Value>,
}

/// For what a revision waits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Awaits {
    /// Everything that was applied.
    Objects,
    /// What was applied up to here; more follows.
    Stage,
    /// A word of somebody.
    Approval,
}

/// An entry of `status.stages`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StageStatus {
    /// As watches.yaml has it.
    pub name: String,
    /// By its number.
    pub revision: Revision,
    /// How far it is.
    pub state: StageState,
    /// Since when; `None` where that is from the moment on at which the status says it.
    pub since: Option<Timestamp>,
    /// What it waits for, for people; empty where that is nothing.
    pub message: String,
}

/// How far a stage is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StageState {
    /// What comes before it is not ready.
    Pending,
    /// Somebody has to say that it may begin.
    ApprovalRequired,
    /// Its objects are applied, and not all of them ready.
    Progressing,
    /// Its objects are ready.
    Ready,
    /// They were not ready in time.
    Failed,
}

impl StageState {
    /// As it stands in the status.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Pending => "Pending",
            Self::ApprovalRequired => "ApprovalRequired",
            Self::Progressing => "Progressing",
            Self::Ready => "Ready",
            Self::Failed => "Failed",
        }
    }
}

/// A deployed revision.
#[derive(Clone, Debug, PartialEq)]
pub struct Deployed {
    /// By its name, in `status.deployedRelease.name`.
    pub release: ReleaseName,
    /// In `status.revision`.
    pub revision: Revision,
    /// When the revision was written, as `helm list` shows it.
    pub deployed_at: Option<Timestamp>,
    /// In `status.chart`.
    pub chart: DeployedChart,
    /// The notes that the chart rendered, secrets masked; `None` leaves the message as it is.
    pub notes: Option<String>,
    /// How its objects are.
    pub health: HealthSummary,
    /// In `status.stages`; empty where it has none.
    pub stages: Vec<StageStatus>,
    /// What its tests have come to; `None` where none were begun.
    pub tests: Option<TestsReport>,
    /// The last request for tests that was seen, in `status.lastHandledTest`.
    pub handled_test: Option<String>,
    /// In `status.overlay`, secrets masked: values that procedures have put over those of the resource.
    pub overlay: Option<Value>,
    /// In `status.deployedRelease.manifest`, where the watch says `manifestInStatus: true`.
    pub manifest: ManifestInStatus,
}

/// The chart of a revision.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DeployedChart {
    /// As `Chart.yaml` has it.
    pub name: String,
    /// Not that of the application, which may have one of its own.
    pub version: String,
    /// The version of the application inside.
    pub app_version: Option<String>,
}

/// What the tests of a revision have come to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum TestsReport {
    /// They have begun, and not ended.
    Running,
    /// So many have succeeded, and none has failed.
    Succeeded(usize),
    /// One has failed, for this reason, secrets masked.
    Failed(String),
}

/// The manifest in the status of a resource.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum ManifestInStatus {
    /// There is none.
    #[default]
    LeftOut,
    /// It stays as it is.
    AsBefore,
    /// It becomes this, in which secrets are masked.
    Text(String),
}

/// A failed reconcile.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Failure {
    /// Where it failed.
    pub stage: FailureStage,
    /// The error with all its causes, secrets masked.
    pub message: String,
    /// What follows it.
    pub prospect: Prospect,
    /// How far the stages of the newest revision are; `None` leaves what the status says.
    pub stages: Option<Vec<StageStatus>>,
}

impl ReleaseReport {
    /// Where it says how far stages are, if it tells of something else than a revision that is deployed or waits at one.
    pub(crate) fn stages_beside(&mut self) -> Option<&mut Option<Vec<StageStatus>>> {
        match self {
            Self::Failed(failure) => Some(&mut failure.stages),
            Self::DependencyNotReady(dependent) | Self::AwaitsProcedure(dependent) => {
                Some(&mut dependent.stages)
            }
            _ => None,
        }
    }

    /// Whether it tells how the release is now: what is done with the resource goes on, and it does not go.
    pub(crate) fn is_of_present_release(&self) -> bool {
        match self {
            Self::AtGate(_)
            | Self::DependencyNotReady(_)
            | Self::AwaitsProcedure(_)
            | Self::Deployed(_)
            | Self::Failed(_) => true,
            Self::Progressing(_)
            | Self::Uninstalling(_)
            | Self::UninstallingAfter(_)
            | Self::Paused
            | Self::DryRun(_) => false,
        }
    }

    /// What has failed, for people.
    pub(crate) fn failure(&self) -> Option<&str> {
        match self {
            Self::Failed(failure) => Some(&failure.message),
            _ => None,
        }
    }
}

/// What follows a failure.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Prospect {
    /// Another try.
    Retry {
        /// How many tries have failed in a row.
        failures: u32,
        /// The longest that it may be until the next one.
        pause: Duration,
    },
    /// Only a change helps.
    Stalled,
}

/// Where a reconcile failed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FailureStage {
    /// The stored revisions can't be read.
    State,
    /// The values can't be made.
    Values,
    /// The chart can't be rendered as a first revision.
    RenderInstall,
    /// The chart can't be rendered as a later revision.
    RenderUpgrade,
    /// The first revision can't be applied.
    Install,
    /// A later revision can't be applied.
    Upgrade,
    /// The objects of a revision were not ready in time.
    Unready {
        /// Whether that is the first revision.
        first: bool,
        /// Whether more would have followed.
        of_stage: bool,
    },
    /// Drift can't be corrected.
    Reconcile,
    /// The release can't be removed.
    Uninstall,
    /// A run of a procedure that has to succeed before has not.
    Procedure,
    /// The server did not answer, or asks for patience.
    Transient,
}

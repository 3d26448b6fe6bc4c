//! What is reported of a release: conditions in the status of its custom resource, and events.
//!
//! Conditions speak two vocabularies: helm-operator's (`Initialized`, `Deployed`,
//! `ReleaseFailed`, `Irreconcilable`, `deployedRelease`) and kstatus' (`Ready`, `Reconciling`,
//! `Stalled`, `observedGeneration`). The status is computed from a [`ReleaseReport`] and the last
//! status, purely, and written only when it differs.

mod conditions;
mod dry_run;
mod events;
mod health;
mod manifest;
mod next_status;
mod patch;
mod projection;
mod recent_events;
mod redact;
mod release_report;
mod report_conditions;

pub(crate) use conditions::second;
pub use conditions::{Condition, ConditionStatus, ConditionType, Reason};
pub use dry_run::{DryRunChange, DryRunEntry, DryRunStatus, differing_fields};
pub(crate) use events::reference;
pub use events::{EventKind, EventReason, Events};
pub use health::{
    Health, HealthSummary, NotReady, UNSEEN, checked, has_ended, has_health, health, shown_words,
};
pub use manifest::shown_manifest;
pub use next_status::{next_status, status_showing};
pub use patch::{StatusError, write_status};
pub use projection::Projection;
pub use redact::{CompactSecrets, LearningRedactor, MOST_COMPACT_BYTES, Redactor, is_secret_key};
pub use release_report::{
    AtGate, Awaits, Dependent, Deployed, DeployedChart, Failure, FailureStage, ManifestInStatus, Prospect,
    ReleaseReport, StageState, StageStatus, TestsReport,
};

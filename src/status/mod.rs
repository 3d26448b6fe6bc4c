//! What a custom resource is told about its release: conditions, and events.
//!
//! Conditions speak two vocabularies: helm-operator's (`Initialized`, `Deployed`,
//! `ReleaseFailed`, `Irreconcilable`, `deployedRelease`) and kstatus' (`Ready`, `Reconciling`,
//! `Stalled`, `observedGeneration`). The status is computed from a [`Report`] and the last
//! status, purely, and written only when it differs.

mod conditions;
mod events;
mod health;
mod patch;
mod redact;
mod report;

pub use conditions::{Condition, ConditionStatus, ConditionType, Reason};
pub use events::{EventKind, Events};
pub use health::{Health, has_health, health};
pub use patch::{StatusError, write_status};
pub use redact::Redactor;
pub use report::{Deployed, Failure, FailureStage, HealthSummary, NotReady, Report, next_status};

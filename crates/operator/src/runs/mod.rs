//! The loop for one custom resource that a role or playbook is run for: observe, decide, run, report.
//!
//! What a run has left is known by what the API server has answered it: [`RunRecord`] is kept in the resource's status, signed,
//! so that a restart runs nothing that is settled.

mod annotations;
mod cache;
mod collection;
mod decide;
mod defaults;
mod error;
mod finalize;
mod left;
mod line;
mod notes;
mod observe;
mod permissions;
mod progress;
mod reconciler;
mod record;
mod report;
mod run;
mod spans;
mod state;
mod subject;
mod task_log;
mod turns;

pub(crate) use annotations::RECONCILE_PERIOD;
pub use cache::RunCache;
pub use collection::{RunCollection, RunCollectionError};
pub use decide::{next_action, run_state};
pub use defaults::RunDefaults;
pub use finalize::DEPENDENTS_FINALIZER;
pub use permissions::PermissionsFileError;
pub use reconciler::RunReconciler;
pub use record::{LeftObject, RecordError, RunRecord};
pub use report::{Hold, RECORD, RunReport, next_status};
pub use run::{RunFailure, RunTools, ToolsError};
pub use state::{Action, Cause, LastRun, Observed, RunInputs, RunState};
/// How what a run makes is marked as its resource's, for who configures runs.
pub use steersman_proxy::Marks;
pub use task_log::{LogEvents, TaskLogOptions, UnknownLogEvents};
pub use turns::{Turn, Turns, TurnsOfKind, Waiting};

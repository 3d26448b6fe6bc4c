//! The loop for one custom resource that a role or playbook is run for: observe, decide, run, report.
//!
//! What a run has left is known by what the API server has answered it: [`RunRecord`] is kept in the resource's status, signed,
//! so that a restart runs nothing that is settled.

mod decide;
mod notes;
mod reconciler;
mod record;
mod report;
mod run;
mod state;

pub use decide::{next_action, run_state};
pub use reconciler::{RunCache, RunReconciler};
pub use record::{LeftObject, RecordError, RunRecord};
pub use report::{RECORD, RunReport, next_status};
pub use run::{RunDefaults, RunFailure, RunTools, ToolsError};
pub use state::{Action, Cause, LastRun, Observed, RunInputs, RunState};

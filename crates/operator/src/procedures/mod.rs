//! Runs of procedures: what is done with a release besides releasing it, one step after the other.
//!
//! ```text
//! run + its record --observe--> Observed --decide--> RunState -> Action --act--> Jobs, and the record in its status
//!        ^                                                         |
//!        +--------------------- until nothing is to be done -------+--> status of the run and of its resource
//!
//! resources, runs --Procedures--> what is due by itself --Scheduler--> runs are made, cancelled, deleted
//! ```
//!
//! How far a run is stands in its status, signed. What is going to be done is written there before it is done, and what has come
//! of it before it may be forgotten: the Job of a step keeps a finalizer until its end is noted.

mod cache;
mod decide;
mod due;
mod error;
mod index;
mod job;
mod known;
mod lost;
mod observe;
mod reconciler;
mod record;
mod release_step;
mod report;
mod resource_status;
mod session;
mod state;
mod step;
mod subject;
mod tell;
#[cfg(test)]
mod tests;
mod words;
mod work;

pub use cache::ProcedureCache;
pub use decide::{next_action, run_state};
pub use error::StepError;
pub(crate) use index::Procedures;
pub(crate) use reconciler::ProcedureReconciler;
pub use record::{Outcome, ProcedureRecord, StepRecord, Stop};
pub use report::Phase;
pub use state::{Action, Claim, Observed, RunState, Seen};
pub(crate) use work::Scheduler;

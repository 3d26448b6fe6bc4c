//! What a release and the runs of its procedures agree on, in process: which values steps have given it, who may act, what waits
//! for whom.
//!
//! ```text
//! release --enter, settle--> Coordination <--begin, ask, end-- runs
//!                                 |
//!                                 +--> wants: runs that a release waits for, or that change a value
//! ```
//!
//! Nothing of it is stored. What lasts is in signed records: values of steps in the snapshots of revisions, steps in the records
//! of runs; who comes first after a start waits until all of these were looked at.

mod agreement;
mod held;
mod run_name;
mod table;
#[cfg(test)]
mod tests;

pub(crate) use agreement::{Answer, Asked, Condition, End, Gate, Holder, Standing, StepId, Want, Wanted};
pub(crate) use held::{Held, HeldValues, LastValues, Wishes, rendered_from};
pub(crate) use run_name::{run_name, run_name_of};
pub(crate) use table::{Coordination, Directions, Key};

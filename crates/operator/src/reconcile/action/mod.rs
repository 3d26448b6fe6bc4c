//! The actions, one file each.

mod correct_drift;
pub(super) mod deploy;
mod install;
mod let_go;
mod recover;
mod retention;
mod roll_back;
mod step_back;
mod take_over;
mod uninstall;
mod upgrade;

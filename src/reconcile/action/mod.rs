//! The actions, one file each.

mod correct_drift;
mod deploy;
mod install;
mod recover;
mod uninstall;
mod upgrade;

//! What a reconcile does, an action a file. Each has what it needs as fields.

mod correct_drift;
mod deploy;
mod give_up;
mod install;
mod leaving;
mod note_completed;
mod orphan;
mod recover;
mod release_unselected;
mod retention;
mod roll_back;
mod run_tests;
mod sets_back;
mod take_over;
mod uninstall;
mod upgrade;

pub(super) use correct_drift::CorrectDrift;
pub(super) use deploy::Deploy;
pub(super) use give_up::GiveUp;
pub(super) use install::Install;
pub(super) use leaving::LeavingRelease;
pub(super) use note_completed::NoteCompleted;
pub(super) use orphan::OrphanObjects;
pub(super) use recover::Recover;
pub(super) use release_unselected::ReleaseUnselected;
pub(super) use roll_back::RollBack;
pub(super) use run_tests::RunTests;
pub(super) use take_over::TakeOver;
pub(super) use uninstall::Uninstall;
pub(super) use upgrade::Upgrade;

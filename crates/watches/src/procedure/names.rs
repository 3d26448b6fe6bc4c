//! The annotations and labels of runs, and those of resources that are about them.

/// The finalizer of a run that has begun: its last steps are carried out before it goes. The Job of a step has it, too, until its
/// end is noted.
pub const RUN_FINALIZER: &str = "steersman.dev/procedure";
/// The label of a run: the name of its procedure.
pub const PROCEDURE_LABEL: &str = "steersman.dev/procedure";
/// Lets a run begin that needs that: `true`.
pub const CONFIRM: &str = "steersman.dev/confirm";
/// Ends a run before its time: `true`.
pub const CANCEL: &str = "steersman.dev/cancel";
/// The UID of a run that was begun, which a copy of it does not have.
pub const BEGUN: &str = "steersman.dev/begun";
/// What has made a run: `schedule`, `annotation` or `command`. One without it is its author's, and is kept.
pub const TRIGGER: &str = "steersman.dev/trigger";
/// As a trigger: another revision waits for the run.
pub const BEFORE: &str = "before";
/// The same of a run by which a value changes.
pub const ON: &str = "on";
/// For which time a run was made.
pub const SCHEDULED_AT: &str = "steersman.dev/scheduled-at";
/// Which request of the resource a run follows.
pub const REQUEST: &str = "steersman.dev/request";
/// Of a resource: asks for a run of a procedure, `backup@ID`. Each other ID is another run.
pub const RUN: &str = "steersman.dev/run";
/// Of a resource: keeps schedules from making runs, `true` or the names of procedures with commas.
pub const SUSPEND: &str = "steersman.dev/suspend-procedures";
/// Of the Job of a step, and of the Job or Pod of a hook: the Secrets that it has something of, and by a MAC what they held when it was made.
pub const SECRETS: &str = "steersman.dev/secrets";

/// Whether `list`, the value of [`SUSPEND`], names a procedure: `true` names all.
///
/// ```
/// use steersman_watches::procedure::names::is_suspended;
///
/// assert!(is_suspended("true", "backup") && is_suspended("resize, backup", "backup"));
/// assert!(!is_suspended("", "backup") && !is_suspended("resize", "backup"));
/// ```
pub fn is_suspended(list: &str, name: &str) -> bool {
    list == "true" || list.split(',').any(|one| one.trim() == name)
}

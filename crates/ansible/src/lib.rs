//! Runs of ansible-runner.

mod events;
mod extra_vars;
mod folder;
mod outcome;
mod run;
mod snake_case;
mod supervisor;

pub use events::{Detail, Event, EventKind, Events, HostStats, Place, TaskResult};
pub use extra_vars::ExtraVars;
pub use folder::{FolderError, Inventory, ResourceId};
pub use outcome::{AnsibleResult, FailedTask, Outcome, Summary};
pub use run::{Canceller, Content, Run, RunError, RunSpec, Runner};
pub use snake_case::snake_case;
pub use supervisor::{SUPERVISOR_FAILED, SuperviseError, Supervisor, supervise};

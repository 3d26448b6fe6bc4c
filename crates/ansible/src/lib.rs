//! Runs of ansible-runner: what they are given, how they are ended, what they say. Nothing here knows Kubernetes.
//!
//! A run is one playbook or role for one resource. Its inputs are those of ansible-operator, so that playbooks that are
//! written for that run as they are.
//!
//! ```text
//! extra_vars.rs    resource + settings of a watch -> variables; snake_case.rs spells their names
//! folder/          variables, environment, inventory -> the folder that ansible-runner is given
//! supervisor/      the process around a run that ends all of it
//! events/          what ansible-runner says: received, cut to size, read
//! outcome.rs       events -> what has become of the run
//! preload/         libraries of modules, loaded once for many runs
//! scratch.rs       folders that go with a run, or with the process
//! run/             all of this together
//! environment/     whether Python has what a run needs
//! collection.rs    operator_sdk.util: modules that tell the operator something
//! ```
//!
//! The program that uses this crate calls [`supervise`] where it is started with the subcommand of its [`Supervisor`], and
//! [`run_module`] with that of its [`Preload`], before anything else; [`Runner`] has an example of the rest.

mod collection;
mod environment;
mod events;
mod extra_vars;
mod folder;
mod outcome;
mod plain;
mod preload;
mod run;
mod scratch;
mod snake_case;
mod supervisor;

pub use collection::{CollectionError, write_collection};
pub use environment::{AnsibleEnvironment, EnvironmentError, Missing};
pub use events::{Detail, Event, EventKind, Events, HostStats, Place, TaskResult};
pub use extra_vars::{ExtraVars, VarsError};
pub use folder::{FolderError, Inventory, ResourceId};
pub use outcome::{AnsibleResult, FailedTask, Outcome, Summary};
pub use preload::{ModuleError, Preload, PreloadError, run_module};
pub use run::{Canceller, Content, Run, RunError, RunFile, RunSpec, Runner};
pub use scratch::Scratch;
pub use snake_case::snake_case;
pub use supervisor::{SUPERVISOR_FAILED, SuperviseError, Supervisor, supervise};

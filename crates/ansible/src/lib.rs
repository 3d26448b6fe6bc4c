//! Runs of ansible-runner.

mod extra_vars;
mod snake_case;
mod supervisor;

pub use extra_vars::ExtraVars;
pub use snake_case::snake_case;
pub use supervisor::{SUPERVISOR_FAILED, SuperviseError, Supervisor, supervise};

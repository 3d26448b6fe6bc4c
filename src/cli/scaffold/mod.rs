//! What `init` and `create api` share: where a chart comes from, what follows from it or from a role, and how files come into
//! a project; and a project without these files, for commands that need them.

mod ansible;
mod api;
mod changes;
mod chart;
mod definitions;
mod plain;

pub(super) use ansible::{
    AnsibleFlags, NewKind, is_of_kubernetes, options_of, plan_ansible, plan_other, roles_of,
};
pub(super) use api::{ApiFlags, Generated, Named, generate, plan, wrong_project};
pub(super) use changes::Changes;
pub(super) use chart::{Fetched, SourceFlags, digest};
pub(super) use definitions::{OwnDefinition, all_definitions, known_by, own_definitions};
pub(super) use plain::PlainProject;

use super::Failure;
use super::progress::{self, Ongoing};
use super::style::harmless;

/// The exit codes of both commands.
pub(super) const EXIT_CODES: &str = "\
Exit codes:
  0  the files are written
  1  something cannot be fetched or written
  2  the arguments or the project are wrong; nothing was written";

/// What to do when a kind of a chart has come into a project.
pub(super) const NEXT_FOR_CHARTS: &str =
    "next: look at config/samples and config/rbac/role.yaml, then `make install run`, or `make deploy IMG=…`";

/// The same for one that Ansible makes.
pub(super) const NEXT_FOR_ROLES: &str = "next: write the tasks, say in config/rbac/role.yaml what they make, `steersman crd \
                                         --output-dir config/crd/bases` when the variables are there, then `make install run`";

/// Says what was done.
pub(super) fn say(line: &str) {
    progress::say(&harmless(line));
}

/// Says what takes a while.
fn begin(line: &str) -> Ongoing {
    progress::begin(harmless(line))
}

/// A wrong argument or project, with what to do about it.
pub(super) fn wrong(problem: impl Into<String>, hint: &str) -> Failure {
    Failure::usage(anyhow::anyhow!(problem.into()), Some(hint.to_owned()))
}

//! `rbac`: the permissions that the operator needs.

mod check;
mod generate;

use steersman_model::Environment;

use super::Failure;

const EXAMPLES: &str = "\
Examples:
  # The roles for this project's watches.yaml
  steersman rbac generate --output config/rbac/role.yaml

  # Is the role in this file what the operator needs?
  steersman rbac check --role config/rbac/role.yaml";

/// What `rbac` takes.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(super) struct Args {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, clap::Subcommand)]
enum Command {
    /// Write the roles that the operator of watches.yaml needs
    Generate(Box<generate::Args>),
    /// Compare what the operator may do with what it needs, or with what it has asked for
    Check(Box<check::Args>),
}

/// Does what the arguments say.
pub(super) fn exec(arguments: &Args, environment: &Environment) -> Result<(), Failure> {
    match &arguments.command {
        Command::Generate(arguments) => generate::exec(arguments, environment),
        Command::Check(arguments) => check::exec(arguments, environment),
    }
}

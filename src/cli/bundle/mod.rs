//! `bundle`: bundles and catalogs for the Operator Lifecycle Manager.

mod build;
mod catalog;
mod generate;
mod source;
mod validate;

use clap::Subcommand;
use steersman_model::Environment;

use super::Failure;

const EXAMPLES: &str = "\
Examples:
  # A bundle of the project in this directory, in bundle/
  steersman bundle --version 0.0.1 --image registry.example.com/my-operator:v0.0.1

  # The next version: it replaces the one that is in bundle/
  steersman bundle --version 0.0.2 --image registry.example.com/my-operator:v0.0.2

  # Is it sound? Then its image, into a registry
  steersman bundle validate bundle
  steersman bundle build -t registry.example.com/my-operator-bundle:v0.0.2 --push";

/// What `bundle` takes.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES, args_conflicts_with_subcommands = true)]
pub(super) struct Args {
    #[command(subcommand)]
    command: Option<Command>,
    #[command(flatten)]
    generate: generate::GenerateArgs,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Write a bundle; what `bundle` does without a subcommand
    #[command(after_help = EXAMPLES)]
    Generate(Box<generate::GenerateArgs>),
    /// Say what is wrong with a bundle
    Validate(validate::Args),
    /// Build the image of a bundle, without a container engine
    Build(Box<build::Args>),
    /// Write a file-based catalog of bundles, or add bundles to one
    Catalog(Box<catalog::Args>),
}

/// Does what the subcommand says.
pub(super) fn exec(arguments: Args, environment: &Environment) -> Result<(), Failure> {
    match arguments.command {
        None => generate::exec(&arguments.generate, environment),
        Some(Command::Generate(arguments)) => generate::exec(&arguments, environment),
        Some(Command::Validate(arguments)) => validate::exec(&arguments, environment),
        Some(Command::Build(arguments)) => build::exec(&arguments, environment),
        Some(Command::Catalog(arguments)) => catalog::exec(&arguments, environment),
    }
}

//! `schema`: what watches.yaml may say, for editors.

use super::{Failure, report};

const EXAMPLES: &str = "\
Examples:
  # Beside watches.yaml, where `init` writes it, too
  steersman schema > .steersman/watches.schema.json

  # And as the first line of watches.yaml, for editors with a language server for YAML:
  #   # yaml-language-server: $schema=.steersman/watches.schema.json";

/// The place of the schema in a project: the first line of a scaffolded watches.yaml names it.
pub(super) const PLACE: &str = ".steersman/watches.schema.json";

/// What `schema` takes.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(super) struct Args {}

/// Prints the schema.
pub(super) fn exec(_: &Args) -> Result<(), Failure> {
    report::print_text(steersman_watches::SCHEMA)
}

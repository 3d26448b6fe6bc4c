//! `migrate --check`: what the switch from helm-operator would change, before it is made.

mod finding;
mod gather;

use std::io::{self, Write};
use std::path::PathBuf;

use anyhow::anyhow;
use finding::Weight;
use steersman_model::Environment;

use super::Failure;
use super::cluster::{ClusterFlags, block_on};
use super::style::Style;

const EXAMPLES: &str = "\
Examples:
  # In the operator's project, against the cluster where helm-operator runs
  steersman migrate --check

  # With the arguments of helm-operator's Deployment
  steersman migrate --check -- --leader-elect --leader-election-id=my-operator

Environment:
  WATCH_NAMESPACE  the namespaces of the operator, with commas; all if it is empty or not set

Exit codes:
  0  releases would be taken over as they are
  1  something would change
  2  something would not work, or could not be checked";

/// What `migrate` takes.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(super) struct Args {
    /// Say what would change, and write nothing. Releases are taken over by the operator itself, when it runs
    #[arg(long)]
    check: bool,
    /// The watches.yaml to use
    #[arg(long, value_name = "FILE", default_value = "./watches.yaml")]
    watches_file: PathBuf,
    #[command(flatten)]
    cluster: ClusterFlags,
    /// The arguments of helm-operator's Deployment
    #[arg(last = true, value_name = "FLAGS")]
    flags: Vec<String>,
}

/// Prints what would change.
pub(super) fn exec(arguments: Args, environment: &Environment) -> Result<(), Failure> {
    if !arguments.check {
        return Err(Failure::usage(
            anyhow!("there is nothing to do but --check"),
            Some("releases are taken over by `steersman run`, as they are".to_owned()),
        ));
    }
    // The exit code 1 says that something would change, so it can't say that something failed.
    let report = block_on(gather::gather(&arguments, environment)).map_err(Failure::into_trouble)?;
    let text = report.describe(Style::of(&io::stdout(), environment));
    // Nobody may read any more (a closed pipe); the exit code still says it.
    let _ = io::stdout().lock().write_all(text.as_bytes());
    match report.weight() {
        Weight::Same => Ok(()),
        Weight::Differs => Err(Failure::Silent),
        Weight::Problem => {
            let error = anyhow!("the switch is not possible without trouble");
            Err(Failure::usage(
                error,
                Some("solve what is marked as problem".to_owned()),
            ))
        }
    }
}

//! `procedure`: carries out what can be done with a release besides releasing it, and tells what has become of that.

mod cancel;
mod create;
mod follow;
mod kinds;
mod list;
mod logs;
mod news;
mod parameters;
mod suspend;
mod view;

use clap::Subcommand;
use steersman_model::Environment;

use super::Failure;
use super::cluster::ClusterFlags;

const EXAMPLES: &str = "\
Examples:
  # A backup of a resource, now; the command ends when that has ended
  steersman procedure run backup etcdcluster/west --wait

  # What was done with it, and what is being done
  steersman procedure list etcdcluster/west

  # What the Jobs of a run have written
  steersman procedure logs etcdclusterbackup/west-backup-x7f2p

  # No backup begins by its schedule, until `resume`
  steersman procedure suspend etcdcluster/west backup";

const CANCEL: &str = "\
Examples:
  steersman procedure cancel etcdclusterbackup/west-backup-x7f2p";

/// What `procedure` takes.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(super) struct Args {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Carry out a procedure: make a run of it
    Run(create::Args),
    /// List the runs of all procedures of a resource, the newest first
    List(list::Args),
    /// Print what the Jobs of a run have written, step by step
    Logs(logs::Args),
    /// Cancel a run: no step of it begins any more, but for those that it has for its end
    #[command(after_help = CANCEL)]
    Cancel(OfRun),
    /// Let procedures of a resource begin no more by their schedules
    #[command(after_help = suspend::SUSPEND_EXAMPLES)]
    Suspend(suspend::Args),
    /// Let procedures of a resource begin by their schedules again
    #[command(after_help = suspend::RESUME)]
    Resume(suspend::Args),
}

/// Names one, by which it is found without its resource.
#[derive(Debug, clap::Args)]
struct OfRun {
    /// The run: KIND/NAME, as `steersman procedure list` shows it
    #[arg(value_name = "RUN")]
    run: String,
    #[command(flatten)]
    cluster: ClusterFlags,
}

/// Does one of these.
pub(super) fn exec(arguments: Args, environment: &Environment) -> Result<(), Failure> {
    match arguments.command {
        Command::Run(arguments) => create::exec(&arguments, environment),
        Command::List(arguments) => list::exec(&arguments, environment),
        Command::Logs(arguments) => logs::exec(&arguments, environment),
        Command::Cancel(of) => cancel::exec(&of, environment),
        Command::Suspend(arguments) => suspend::suspend(&arguments, environment),
        Command::Resume(arguments) => suspend::resume(&arguments, environment),
    }
}

//! `completion`: what a shell needs to know to complete our commands and flags.

use clap::{Command, CommandFactory};
use clap_complete::Shell;

use super::{Cli, Failure, report};

const EXAMPLES: &str = "\
Examples:
  # For this shell alone
  source <(steersman completion bash)

  # For every bash of this user
  steersman completion bash > ~/.local/share/bash-completion/completions/steersman

  # For zsh, into a folder of its fpath
  steersman completion zsh > \"${fpath[1]}/_steersman\"

  # For fish
  steersman completion fish > ~/.config/fish/completions/steersman.fish";

/// What `completion` takes.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(super) struct Args {
    /// The shell that reads the script
    #[arg(value_name = "SHELL")]
    shell: Shell,
}

/// Prints the script for the shell.
pub(super) fn exec(arguments: &Args) -> Result<(), Failure> {
    let mut script = Vec::new();
    clap_complete::generate(arguments.shell, &mut command(), "steersman", &mut script);
    report::print_text(&String::from_utf8_lossy(&script))
}

/// The command line under the name of the file that it is installed as.
pub(super) fn command() -> Command {
    Cli::command().name("steersman").bin_name("steersman")
}

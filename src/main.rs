//! The program: operator and command line in one.

use std::io::Write as _;
use std::process::ExitCode;

fn main() -> ExitCode {
    let mut arguments = std::env::args_os();
    let subcommand = arguments.nth(1).unwrap_or_default();
    // Before any thread: it takes over the processes of a run.
    if subcommand == steersman_operator::run::SUPERVISE_RUN {
        return ended(steersman_ansible::supervise(arguments));
    }
    // Before anything that takes time: it is called for each module of a run.
    if subcommand == steersman_operator::run::RUN_MODULE {
        return ended(steersman_ansible::run_module(arguments));
    }
    steersman::cli::main(std::env::args_os())
}

/// The status of what the operator alone starts: nobody else has a use for it.
fn ended(result: Result<ExitCode, impl std::error::Error + 'static>) -> ExitCode {
    result.unwrap_or_else(|error| {
        let _ = writeln!(std::io::stderr(), "{}", steersman_model::chain(&error));
        ExitCode::from(steersman_ansible::SUPERVISOR_FAILED)
    })
}

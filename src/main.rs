//! The program: operator and command line in one.

use std::io::Write as _;
use std::process::ExitCode;

fn main() -> ExitCode {
    let mut arguments = std::env::args_os();
    // Before any thread: it takes over the processes of a run.
    if arguments
        .nth(1)
        .is_some_and(|word| word == steersman_operator::run::SUPERVISE_RUN)
    {
        return supervise(arguments);
    }
    steersman::cli::main(std::env::args_os())
}

/// Ends a run of Ansible whole. The operator starts it; nobody else has a use for it.
fn supervise(arguments: std::env::ArgsOs) -> ExitCode {
    match steersman_ansible::supervise(arguments) {
        Ok(status) => status,
        Err(error) => {
            let _ = writeln!(std::io::stderr(), "{}", steersman_model::chain(&error));
            ExitCode::from(steersman_ansible::SUPERVISOR_FAILED)
        }
    }
}

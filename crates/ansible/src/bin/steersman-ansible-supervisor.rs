//! A supervisor alone: what the hidden subcommand of the operator is, for tests and to try it by hand.

use std::process::ExitCode;

use steersman_ansible::{SUPERVISOR_FAILED, supervise};

#[expect(clippy::print_stderr, reason = "a program that has nothing else to say it by")]
fn main() -> ExitCode {
    match supervise(std::env::args_os().skip(1)) {
        Ok(status) => status,
        Err(error) => {
            eprintln!("{}", steersman_model::chain(&error));
            ExitCode::from(SUPERVISOR_FAILED)
        }
    }
}

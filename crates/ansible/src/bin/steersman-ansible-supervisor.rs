//! A supervisor alone, and what runs modules: what the hidden subcommands of the operator are, for tests and to try it by hand.
//!
//! `steersman-ansible-supervisor MILLISECONDS PROGRAM [ARGUMENT...]`, or `... run-module PYTHON [ARGUMENT...]`

use std::process::ExitCode;

use steersman_ansible::{SUPERVISOR_FAILED, run_module, supervise};

#[expect(clippy::print_stderr, reason = "a program that has nothing else to say it by")]
fn main() -> ExitCode {
    let mut arguments = std::env::args_os().skip(1).peekable();
    let ended = match arguments.next_if(|word| word == "run-module") {
        Some(_) => run_module(arguments).map_err(|error| steersman_model::chain(&error)),
        None => supervise(arguments).map_err(|error| steersman_model::chain(&error)),
    };
    ended.unwrap_or_else(|said| {
        eprintln!("{said}");
        ExitCode::from(SUPERVISOR_FAILED)
    })
}

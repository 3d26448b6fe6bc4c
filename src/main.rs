//! The program: operator and command line in one.

use std::process::ExitCode;

fn main() -> ExitCode {
    steersman::cli::main(std::env::args_os())
}

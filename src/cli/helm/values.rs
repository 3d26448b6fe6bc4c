//! How Helm reads the values of flags, and what it says of those that it cannot read.

use std::time::Duration;

use clap::{Arg, ArgAction, Command};
use steersman_model::{DurationError, parse_duration};

/// Lets a command and its subcommands take flags as Go's `pflag` does: a switch can be given a value (`--devel=false`),
/// a value can begin with a dash, and of a flag that is given twice the last one counts.
pub(in crate::cli) fn with_flags_of_go(command: Command) -> Command {
    command
        .args_override_self(true)
        .mut_args(flag_of_go)
        .mut_subcommands(with_flags_of_go)
}

fn flag_of_go(argument: Arg) -> Arg {
    if argument.is_positional() {
        return argument;
    }
    match argument.get_action() {
        ArgAction::SetTrue => argument
            .action(ArgAction::Set)
            .num_args(0..=1)
            .require_equals(true)
            .default_value("false")
            .default_missing_value("true")
            .hide_default_value(true)
            .value_name("BOOL")
            .value_parser(boolean),
        ArgAction::Set | ArgAction::Append => argument.allow_hyphen_values(true),
        _ => argument,
    }
}

fn boolean(text: &str) -> Result<bool, String> {
    crate::cli::arguments::parse_bool(text)
        .map_err(|_| format!("strconv.ParseBool: parsing {text:?}: invalid syntax"))
}

pub(super) fn number(text: &str) -> Result<i64, String> {
    text.parse()
        .map_err(|_| format!("strconv.ParseInt: parsing {text:?}: invalid syntax"))
}

/// A number that is not below zero.
pub(in crate::cli) fn unsigned(text: &str) -> Result<usize, String> {
    text.parse()
        .map_err(|_| format!("strconv.ParseUint: parsing {text:?}: invalid syntax"))
}

pub(super) fn float(text: &str) -> Result<f32, String> {
    text.parse()
        .map_err(|_| format!("strconv.ParseFloat: parsing {text:?}: invalid syntax"))
}

/// A duration such as `5m0s`.
pub(in crate::cli) fn duration(text: &str) -> Result<Duration, String> {
    match parse_duration(text) {
        Ok(duration) => Ok(duration),
        // Nothing is waited for, so that a duration before its start is as good as none.
        Err(DurationError::Negative(_)) => Ok(Duration::ZERO),
        Err(DurationError::MissingUnit(_)) => Err(format!("time: missing unit in duration {text:?}")),
        Err(_) => Err(format!("time: invalid duration {text:?}")),
    }
}

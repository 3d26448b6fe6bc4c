//! Wrong arguments in Helm's words.

use std::error::Error as _;

use clap::error::{ContextKind, ContextValue, ErrorKind};
use clap::{Arg, Command};

/// What to do about arguments that could not be parsed.
#[derive(Debug, PartialEq, Eq)]
pub(in crate::cli) enum Misuse {
    /// To say this.
    Error(String),
    /// To print the help of the command, as Helm does for a subcommand that is missing or unknown.
    Help,
    /// To leave it to clap, which was asked for help.
    Asked,
}

/// What is wrong with the arguments of `command`, of which `last` is the last one.
pub(in crate::cli) fn misuse(error: &clap::Error, command: &Command, last: &str) -> Misuse {
    let argument = text(error, ContextKind::InvalidArg);
    // The name alone: clap shows a flag with its value's name.
    let name = argument.split([' ', '=', '[']).next().unwrap_or_default();
    match error.kind() {
        ErrorKind::DisplayHelp | ErrorKind::DisplayVersion => Misuse::Asked,
        ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand
        | ErrorKind::MissingSubcommand
        | ErrorKind::InvalidSubcommand => Misuse::Help,
        ErrorKind::UnknownArgument => Misuse::Error(match name.strip_prefix('-') {
            Some(short) if !short.starts_with('-') => {
                let letter = short.chars().next().unwrap_or_default();
                format!("unknown shorthand flag: '{letter}' in {name}")
            }
            _ => format!("unknown flag: {name}"),
        }),
        ErrorKind::InvalidValue if text(error, ContextKind::InvalidValue).is_empty() => {
            // A flag whose value is missing is the last argument; clap names it by its long name always.
            Misuse::Error(match last.strip_prefix('-') {
                Some(short) if !short.starts_with('-') => {
                    let letter = short.chars().last().unwrap_or_default();
                    format!("flag needs an argument: '{letter}' in {last}")
                }
                _ => format!("flag needs an argument: {name}"),
            })
        }
        ErrorKind::InvalidValue | ErrorKind::ValueValidation => {
            let value = text(error, ContextKind::InvalidValue);
            let flag = flag(command, name);
            let cause = error.source().map(ToString::to_string).unwrap_or_default();
            Misuse::Error(format!("invalid argument {value:?} for \"{flag}\" flag: {cause}"))
        }
        _ => {
            let text = error.to_string();
            let line = text.lines().next().unwrap_or_default();
            Misuse::Error(line.trim_start_matches("error: ").to_owned())
        }
    }
}

fn text(error: &clap::Error, kind: ContextKind) -> &str {
    match error.get(kind) {
        Some(ContextValue::String(text)) => text,
        _ => "",
    }
}

/// A flag with its shorthand before it, as `pflag` shows it.
fn flag(command: &Command, name: &str) -> String {
    let is_it = |argument: &&Arg| {
        argument
            .get_long()
            .is_some_and(|long| name.strip_prefix("--") == Some(long))
    };
    let short = command.get_arguments().find(is_it).and_then(Arg::get_short);
    short.map_or_else(|| name.to_owned(), |short| format!("-{short}, {name}"))
}

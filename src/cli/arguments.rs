//! Go's ways of writing flags.

use std::ffi::OsString;

use clap::{Command, CommandFactory};

use super::{Cli, FOLLOWING_HELM};

/// Turns `-flag` and `-flag=value`, which Go's own flag package takes, into `--flag` and `--flag=value`, for the flags
/// that the command has. All other arguments stay as they are.
pub(super) fn normalize(arguments: Vec<OsString>) -> Vec<OsString> {
    let root = Cli::command();
    let mut command = None;
    let mut is_literal = false;
    let mut normalized = Vec::with_capacity(arguments.len());
    for (index, argument) in arguments.into_iter().enumerate() {
        let text = argument.to_str().unwrap_or_default();
        is_literal |= text == "--";
        if index > 0 && command.is_none() && !text.starts_with('-') {
            command = root.find_subcommand(text);
            // The flags of Helm are those of pflag, where `-set` is `-s et`.
            is_literal |= command.is_some_and(|command| FOLLOWING_HELM.contains(&command.get_name()));
        }
        let is_flag = !is_literal && command.is_some_and(|command| is_single_dash_flag(command, text));
        normalized.push(if is_flag {
            OsString::from(format!("-{text}"))
        } else {
            argument
        });
    }
    normalized
}

fn is_single_dash_flag(command: &Command, text: &str) -> bool {
    let Some(name) = text.strip_prefix('-').filter(|name| !name.starts_with('-')) else {
        return false;
    };
    let name = name.split_once('=').map_or(name, |(name, _)| name);
    // `-f`, `-n` and the like are short flags of their own.
    name.chars().count() > 1
        && command.get_arguments().any(|argument| {
            let aliases = argument.get_all_aliases().unwrap_or_default();
            argument.get_long() == Some(name) || aliases.contains(&name)
        })
}

/// Reads a boolean as Go's `strconv.ParseBool` does.
pub(super) fn parse_bool(text: &str) -> Result<bool, String> {
    match text {
        "1" | "t" | "T" | "true" | "TRUE" | "True" => Ok(true),
        "0" | "f" | "F" | "false" | "FALSE" | "False" => Ok(false),
        _ => Err("expected true or false".to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use super::normalize;
    use std::ffi::OsString;

    fn check(arguments: &str, expect: &str) {
        let arguments: Vec<OsString> = arguments.split(' ').map(OsString::from).collect();
        let normalized: Vec<_> = normalize(arguments)
            .into_iter()
            .map(|a| a.into_string().unwrap())
            .collect();
        assert_eq!(normalized.join(" "), expect);
    }

    #[test]
    fn flags_with_one_dash_are_understood() {
        check("s run -watches-file=x", "s run --watches-file=x");
        check(
            "s run -watches-file x -leader-elect",
            "s run --watches-file x --leader-elect",
        );
        check("s run --watches-file -x", "s run --watches-file -x");
    }

    #[test]
    fn everything_else_stays() {
        check("s run -h", "s run -h");
        check("s run -unknown", "s run -unknown");
        check("s run -- -watches-file", "s run -- -watches-file");
        check("s -watches-file=x run", "s -watches-file=x run");
        check("s template r c -watches-file", "s template r c -watches-file");
        check("s template r c -set a=b", "s template r c -set a=b");
    }
}

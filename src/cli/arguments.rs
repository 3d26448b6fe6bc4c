//! Go's ways of writing flags.

use std::ffi::OsString;

use clap::{ArgAction, Args, Command, CommandFactory};

use super::helm::GlobalFlags;
use super::{Cli, FOLLOWING_HELM};

/// Turns `-flag` and `-flag=value`, which Go's own flag package takes, into `--flag` and `--flag=value`, for the flags
/// that the command has. All other arguments stay as they are.
pub(super) fn normalize(arguments: Vec<OsString>) -> Vec<OsString> {
    let root = Cli::command();
    let arguments = move_global_flags(arguments, &root);
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

/// Moves Helm's global flags that stand before a command after Helm (`-n shop template`) behind it. Everything stays as
/// it is where another flag or another command is among them.
fn move_global_flags(mut arguments: Vec<OsString>, root: &Command) -> Vec<OsString> {
    let known = GlobalFlags::augment_args(Command::new("global"));
    let word = |index: usize| arguments.get(index).and_then(|argument| argument.to_str());
    let mut end = 1;
    while let Some(flag) = word(end).filter(|text| text.starts_with('-')) {
        match words_of_flag(&known, flag) {
            Some(count) => end += count,
            None => return arguments,
        }
    }
    let follows = |command: &&Command| FOLLOWING_HELM.contains(&command.get_name());
    let Some(command) = word(end)
        .and_then(|name| root.find_subcommand(name))
        .filter(follows)
    else {
        return arguments;
    };
    let inner = word(end + 1).and_then(|name| command.find_subcommand(name));
    let names = if inner.is_some() { 2 } else { 1 };
    if let Some(moved) = arguments.get_mut(1..end + names) {
        moved.rotate_right(names);
    }
    arguments
}

/// How many words this flag of the command takes, with its value; nothing where the command has no such flag.
fn words_of_flag(command: &Command, text: &str) -> Option<usize> {
    let (argument, has_value) = if let Some(name) = text.strip_prefix("--") {
        let (name, value) = name
            .split_once('=')
            .map_or((name, None), |(name, value)| (name, Some(value)));
        let named = |argument: &&clap::Arg| {
            argument.get_long() == Some(name)
                || argument.get_all_aliases().unwrap_or_default().contains(&name)
        };
        (command.get_arguments().find(named)?, value.is_some())
    } else {
        let mut letters = text.chars().skip(1);
        let short = letters.next()?;
        let argument = command
            .get_arguments()
            .find(|argument| argument.get_short() == Some(short))?;
        (argument, letters.next().is_some())
    };
    let wants_value = matches!(argument.get_action(), ArgAction::Set | ArgAction::Append);
    Some(if wants_value && !has_value { 2 } else { 1 })
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
    use std::ffi::OsString;

    use super::normalize;

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
    fn global_flags_may_stand_before_a_command_after_helm() {
        check("s -n shop template r c", "s template -n shop r c");
        check(
            "s --namespace=shop --debug lint c",
            "s lint --namespace=shop --debug c",
        );
        check(
            "s -nshop --kube-context x dep list c",
            "s dep list -nshop --kube-context x c",
        );
        check("s -n shop run", "s -n shop run");
        check(
            "s -n shop --set a=b template r c",
            "s -n shop --set a=b template r c",
        );
        check("s -n template r c", "s -n template r c");
        check("s -n", "s -n");
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

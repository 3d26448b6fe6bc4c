//! What the commands share that follow Helm: their flags, the environment, what they say when something is wrong.

mod fetch;
mod flags;
mod settings;
mod usage;
pub(super) mod values;

use std::ffi::OsString;
use std::fs;
use std::io::{self, Read as _, Write as _};
use std::path::Path;
use std::process::ExitCode;

use anyhow::anyhow;
use clap::Command;
pub(super) use fetch::{block_on, locate, locate_with_advice, read_file_or_url, refuse_verification};
pub(super) use flags::{ChartFlags, ConnectionFlags, GlobalFlags, ValueFlags};
pub(super) use settings::Settings;
use steersman_chart::{KubeVersion, Notice};
use usage::Misuse;

use super::{Failure, progress, report};

/// Ends a command whose arguments could not be parsed, as Helm does.
pub(super) fn refuse(error: &clap::Error, command: &mut Command, arguments: &[OsString]) -> ExitCode {
    let last = arguments.last().and_then(|argument| argument.to_str());
    match usage::misuse(error, command, last.unwrap_or_default()) {
        Misuse::Asked => error.exit(),
        Misuse::Help => match command.print_help() {
            Ok(()) => ExitCode::SUCCESS,
            Err(_) => ExitCode::FAILURE,
        },
        Misuse::Error(message) => report::exit_code(Err(Failure::Helm(anyhow!(message)))),
    }
}

/// Writes a line of Helm's log to standard error.
pub(super) fn log(notice: &Notice) {
    progress::say(&notice.to_string());
}

/// Prints output. A reader that has seen enough (`| head`) is no failure.
pub(super) fn print(text: &str) -> Result<(), Failure> {
    match io::stdout().lock().write_all(text.as_bytes()) {
        Err(error) if error.kind() != io::ErrorKind::BrokenPipe => Err(Failure::helm(error)),
        _ => Ok(()),
    }
}

/// The version that `--kube-version` names.
pub(super) fn kube_version(flag: Option<&String>) -> Result<Option<KubeVersion>, Failure> {
    let Some(version) = flag.filter(|version| !version.is_empty()) else {
        return Ok(None);
    };
    KubeVersion::parse(version)
        .map(Some)
        .map_err(|error| Failure::helm(anyhow!("invalid kube version '{version}': {error}")))
}

/// Reads a file that a flag names; `-` is standard input. The error is Helm's.
fn read_file(path: &str) -> Result<Vec<u8>, String> {
    if path.trim() == "-" {
        let mut content = Vec::new();
        let read = io::stdin().lock().read_to_end(&mut content);
        return read
            .map(|_| content)
            .map_err(|error| in_words_of_go("read", "/dev/stdin", &error));
    }
    if Path::new(path).is_dir() {
        return Err(format!("read {path}: is a directory"));
    }
    fs::read(path).map_err(|error| in_words_of_go("open", path, &error))
}

/// An error of the operating system as Go words it: `open x: no such file or directory`.
pub(super) fn in_words_of_go(attempt: &str, path: &str, error: &io::Error) -> String {
    let text = error.to_string();
    let text = text.split(" (os error").next().unwrap_or(&text);
    let mut characters = text.chars();
    let first = characters.next().map(|first| first.to_ascii_lowercase());
    format!(
        "{attempt} {path}: {}{}",
        first.into_iter().collect::<String>(),
        characters.as_str()
    )
}

/// Whether the number of positional arguments is one that Helm takes, with its message where it is not.
pub(super) fn check_count(is_right: bool, command: &str, wants: &str, usage: &str) -> Result<(), Failure> {
    if is_right {
        return Ok(());
    }
    Err(Failure::Helm(anyhow!(
        "\"steersman {command}\" {wants}\n\nUsage:  steersman {command} {usage} [flags]"
    )))
}

/// Says that a flag is out of use, as Helm does when it is used.
pub(super) fn deprecated(is_used: bool, flag: &str, advice: &str) {
    if is_used {
        progress::say(&format!("Flag --{flag} has been deprecated, {advice}"));
    }
}

//! What a command says at its end.

use std::io::{self, Write};
use std::process::ExitCode;

use steersman_watches::WatchesError;

use super::{Failure, Hint};

impl Failure {
    /// A wrong argument, variable or file, with a hint.
    pub(super) fn usage(error: impl Into<anyhow::Error>, hint: Option<String>) -> Self {
        Self::Usage(with_hint(error.into(), hint))
    }

    /// A failure of a command that follows Helm.
    pub(super) fn helm(error: impl Into<anyhow::Error>) -> Self {
        Self::Helm(error.into())
    }

    /// A failure of a command that follows Helm, with a hint that Helm does not give.
    pub(super) fn helm_with_hint(error: impl Into<anyhow::Error>, hint: &str) -> Self {
        Self::Helm(with_hint(error.into(), Some(hint.to_owned())))
    }

    /// The same failure for commands whose exit code 1 has a meaning of its own: 2.
    pub(super) fn into_trouble(self) -> Self {
        match self {
            Self::Failed(error) => Self::Usage(error),
            other => other,
        }
    }

    /// A failure while the command ran, with a hint.
    pub(super) fn failed(error: impl Into<anyhow::Error>, hint: Option<String>) -> Self {
        Self::Failed(with_hint(error.into(), hint))
    }
}

/// A file of watches that is wrong, for every command that reads it.
impl From<WatchesError> for Failure {
    fn from(error: WatchesError) -> Self {
        let hint = error.hint();
        Self::usage(error, hint)
    }
}

impl std::fmt::Display for Hint {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.0)
    }
}

fn with_hint(error: anyhow::Error, hint: Option<String>) -> anyhow::Error {
    match hint {
        Some(hint) => error.context(Hint(hint)),
        None => error,
    }
}

/// Prints what went wrong, and turns it into the exit code.
pub(super) fn exit_code(result: Result<(), Failure>) -> ExitCode {
    let (code, text) = match result {
        Ok(()) => return ExitCode::SUCCESS,
        Err(Failure::Failed(error)) => (1, describe(&error)),
        Err(Failure::Usage(error)) => (2, describe(&error)),
        Err(Failure::Helm(error)) => {
            let (text, hint) = causes(&error);
            (1, format!("Error: {text}\n{hint}"))
        }
        Err(Failure::Silent) => (1, String::new()),
    };
    // Nobody may read any more (a closed pipe); the exit code still says it.
    let _ = io::stderr().lock().write_all(text.as_bytes());
    ExitCode::from(code)
}

/// The error with its causes, then the hint.
fn describe(error: &anyhow::Error) -> String {
    let (text, hint) = causes(error);
    // A list of problems stands under the word, a single one beside it.
    let separator = if text.contains('\n') { '\n' } else { ' ' };
    format!("error:{separator}{text}\n{hint}")
}

/// The texts of the error and its causes, and the hint.
fn causes(error: &anyhow::Error) -> (String, String) {
    let hint = error.downcast_ref::<Hint>();
    let mut causes = error
        .chain()
        .skip(usize::from(hint.is_some()))
        .map(ToString::to_string);
    let mut text = causes.next().unwrap_or_default();
    for cause in causes {
        if !text.ends_with(&cause) {
            text = format!("{text}: {cause}");
        }
    }
    let hint = hint.map_or_else(String::new, |hint| format!("\nhint: {hint}\n"));
    (text, hint)
}

/// Prints a line of output. A reader that has gone away is no failure.
pub(super) fn print_line(line: &str) -> Result<(), Failure> {
    print_text(&format!("{line}\n"))
}

/// Prints output as it is. A reader that has gone away is no failure.
pub(super) fn print_text(text: &str) -> Result<(), Failure> {
    print_to_reader(text).map(|_| ())
}

/// Prints output as it is, and tells whether somebody may still read it: what goes on for ever ends where nobody does.
pub(super) fn print_to_reader(text: &str) -> Result<bool, Failure> {
    match io::stdout().lock().write_all(text.as_bytes()) {
        Ok(()) => Ok(true),
        Err(error) if error.kind() == io::ErrorKind::BrokenPipe => Ok(false),
        Err(error) => Err(Failure::failed(error, None)),
    }
}

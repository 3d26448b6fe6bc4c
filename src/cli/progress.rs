//! How far a command is, on standard error, for those who wait.

use std::io::{self, Write as _};
use std::sync::LazyLock;
use std::time::Duration;

use indicatif::{MultiProgress, ProgressBar, ProgressDrawTarget, ProgressStyle};

/// How often what lasts is drawn anew.
const TICK: Duration = Duration::from_millis(100);

/// There is one standard error, and lines have to go around what is drawn there.
static TERMINAL: LazyLock<MultiProgress> = LazyLock::new(|| {
    let is_dumb = std::env::var_os("TERM").is_some_and(|name| name == "dumb");
    MultiProgress::with_draw_target(if is_dumb {
        ProgressDrawTarget::hidden()
    } else {
        ProgressDrawTarget::stderr()
    })
});

/// Prints a line. A closed pipe is no failure.
pub(super) fn say(line: &str) {
    TERMINAL.suspend(|| {
        let _ = writeln!(io::stderr().lock(), "{line}");
    });
}

/// Says a line about what takes a while, until the value is dropped. On a terminal it moves and counts the time, and is a
/// line like others in the end; elsewhere it is a line at once.
pub(super) fn begin(line: impl Into<String>) -> Ongoing {
    let line = line.into();
    if TERMINAL.is_hidden() {
        say(&line);
        return Ongoing { spinner: None };
    }
    let spinner = TERMINAL.add(ProgressBar::new_spinner());
    if let Ok(style) = ProgressStyle::with_template("{spinner} {wide_msg} {elapsed:>4}") {
        spinner.set_style(style);
    }
    spinner.set_message(line);
    spinner.enable_steady_tick(TICK);
    Ongoing {
        spinner: Some(spinner),
    }
}

/// Something that takes a while, and lasts as long as the value.
#[derive(Debug)]
#[must_use = "what is going on ends when this is dropped"]
pub(super) struct Ongoing {
    spinner: Option<ProgressBar>,
}

impl Drop for Ongoing {
    fn drop(&mut self) {
        let Some(spinner) = &self.spinner else { return };
        let line = spinner.message();
        spinner.finish_and_clear();
        TERMINAL.remove(spinner);
        say(&line);
    }
}

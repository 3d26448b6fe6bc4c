//! One rule for tests that need something this machine may lack.

use std::fmt::Display;
use std::io::Write as _;

/// Reports that `what` is skipped because of `reason`, on one line of standard error that the test harness
/// does not capture.
///
/// # Panics
///
/// With `CI=true` in the environment: there nothing may be missing.
pub fn skipped(what: &str, reason: impl Display) {
    let line = format!("skipped: {what}, because {reason}");
    assert!(
        !crate::environment::is_ci(),
        "{line} (CI=true: nothing may be skipped)"
    );
    say(&line);
}

/// The same for what needs a program that nothing here builds, with `CI=true`, too: that `what` has not judged
/// anything, because of `reason`.
pub fn not_judged(what: &str, reason: impl Display) {
    say(&format!("not judged: {what}, because {reason}"));
}

/// Reports that `what` judges by something old, with `CI=true`, too; `reason` says how old it is.
pub fn outdated(what: &str, reason: impl Display) {
    say(&format!("outdated: {what}, because {reason}"));
}

fn say(line: &str) {
    // Straight to the stream: what `eprintln!` writes in a passing test is captured and never seen.
    let _ = writeln!(std::io::stderr(), "{line}");
}

//! The processes of this machine, as /proc has them. One that has ended has no words, no variables and no parent.

use std::fs;

/// The numbers of all processes.
///
/// # Panics
///
/// There is no /proc.
pub fn all() -> impl Iterator<Item = u32> {
    let entries = fs::read_dir("/proc").expect("/proc is there").flatten();
    entries.filter_map(|entry| entry.file_name().to_string_lossy().parse().ok())
}

/// Its command line, with spaces between the words.
#[must_use]
pub fn words(process: u32) -> String {
    let words = fs::read(format!("/proc/{process}/cmdline")).unwrap_or_default();
    String::from_utf8_lossy(&words).replace('\0', " ")
}

/// Whether it was started with a variable, written as `NAME=VALUE`.
#[must_use]
pub fn has_variable(process: u32, variable: &str) -> bool {
    let environment = fs::read(format!("/proc/{process}/environ")).unwrap_or_default();
    environment
        .split(|byte| *byte == 0)
        .any(|entry| entry == variable.as_bytes())
}

/// The number of its parent; zero where there is none.
#[must_use]
pub fn parent(process: u32) -> u32 {
    let status = fs::read_to_string(format!("/proc/{process}/status")).unwrap_or_default();
    let parent = status.lines().find_map(|line| line.strip_prefix("PPid:"));
    parent.and_then(|id| id.trim().parse().ok()).unwrap_or_default()
}

//! What a container has written.

use askama::Template;

use super::Head;

/// The page of a container.
#[derive(Debug, Template)]
#[template(path = "logs.html")]
pub(crate) struct LogPage<'a> {
    pub(crate) head: Head<'a>,
    pub(crate) release: &'a str,
    pub(crate) address: String,
    pub(crate) title: String,
    pub(crate) events: String,
    pub(crate) lines: Lines,
}

/// Its lines, or why there are none.
#[derive(Debug, Template)]
#[template(path = "log_lines.html")]
pub(crate) struct Lines {
    pub(crate) text: String,
    /// What of them is left out; empty where nothing is.
    pub(crate) missing: &'static str,
    pub(crate) problem: String,
}

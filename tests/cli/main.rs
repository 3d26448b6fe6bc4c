//! The real program: what it says, how fast, and with which exit code.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on ends there")]

mod functions;
mod helm;
mod program;
mod run;
mod template;
mod version;

//! The real program: what it says, how fast, and with which exit code.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on ends there")]

mod build;
mod bundle;
mod bundle_image;
mod bundle_plain;
mod check;
mod cluster;
mod completion;
mod configuration;
mod crd;
mod dependency;
mod dockerfile;
mod functions;
mod gate;
mod helm;
mod hostile;
mod lint;
mod man;
mod program;
mod progress;
mod rbac;
mod repository;
mod run;
mod scaffold;
mod show;
mod template;
mod version;

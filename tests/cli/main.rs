//! The real program: what it says, how fast, and with which exit code.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on ends there")]

mod ansible;
mod base;
mod build;
mod build_files;
mod build_from;
mod build_hostile;
mod bundle;
mod bundle_image;
mod bundle_plain;
mod check;
mod check_ansible;
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
mod neighbour;
mod procedure;
mod procedures;
mod program;
mod progress;
mod rbac;
mod rbac_ansible;
mod repository;
mod run;
mod scaffold;
mod schema;
mod show;
mod status_fields;
mod template;
mod version;

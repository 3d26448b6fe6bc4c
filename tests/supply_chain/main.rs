//! What the program is made of: where its dependencies come from, under which licences, and what is known against them.
//!
//! The rules are those of `deny.toml`. cargo-deny judges by them, too (`make deny`), but takes minutes to be compiled, and
//! a program that somebody has put into a package of another language is one more that nothing vouches for.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on ends there")]

mod advisories;
mod crates;
#[path = "../architecture/manifests.rs"]
mod manifests;
mod rules;

use std::path::PathBuf;

/// The folder of the repository.
fn root() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR"))
}

fn read(path: &str) -> String {
    std::fs::read_to_string(root().join(path)).unwrap_or_else(|error| panic!("{path}: {error}"))
}

//! What the documents say: that it is there, that it works, and that it is all.
//!
//! `UPDATE_EXPECT=1` writes what is generated: `docs/reference/flags.md`, and the picture with its session.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on ends there")]

mod alerts;
mod commands;
mod drawing;
mod links;
mod markdown;
mod picture;
mod place;
mod reference;
mod sources;
mod terminal;

use std::path::{Path, PathBuf};

/// The folder of the repository.
fn root() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR"))
}

/// Every document: paths from the root, in order.
fn documents() -> Vec<String> {
    let mut found = Vec::new();
    for folder in [
        "docs",
        "benches",
        "examples/etcd",
        "examples/handlebars",
        "examples/mysql",
        "examples/pravega",
        "examples/visitors-ansible",
        "helm-charts",
    ] {
        collect(Path::new(folder), true, &mut found);
    }
    let crates = std::fs::read_dir(root().join("crates")).unwrap();
    let crates = crates.map(|entry| Path::new("crates").join(entry.unwrap().file_name()));
    for folder in crates.chain([PathBuf::new()]) {
        collect(&folder, false, &mut found);
    }
    found.sort();
    assert!(found.len() > 30, "only {found:?}");
    found
}

fn collect(folder: &Path, with_folders: bool, found: &mut Vec<String>) {
    for entry in std::fs::read_dir(root().join(folder)).unwrap() {
        let entry = entry.unwrap();
        let path = folder.join(entry.file_name());
        if entry.path().is_dir() && with_folders {
            collect(&path, true, found);
        } else if path.extension().is_some_and(|extension| extension == "md") {
            found.push(path.to_str().unwrap().to_owned());
        }
    }
}

fn read(path: &str) -> String {
    std::fs::read_to_string(root().join(path)).unwrap_or_else(|error| panic!("{path}: {error}"))
}

/// Whether generated files are written instead of compared.
fn is_update() -> bool {
    std::env::var_os("UPDATE_EXPECT").is_some_and(|value| value == "1")
}

/// Holds a generated file against what it should be, or writes it.
fn compare(path: &str, expect: &str) {
    if is_update() {
        std::fs::write(root().join(path), expect).unwrap();
    }
    let found = std::fs::read_to_string(root().join(path)).unwrap_or_default();
    let differs = found
        .lines()
        .zip(expect.lines())
        .find(|(found, expect)| found != expect);
    assert!(
        found == expect,
        "{path} is out of date: UPDATE_EXPECT=1 writes it; the first difference: {differs:#?}"
    );
}

/// The README is for somebody who has five minutes.
#[test]
fn the_readme_is_short() {
    let words = read("README.md").split_whitespace().count();
    assert!(
        words <= 700,
        "README.md has {words} words, and 700 are a newcomer's patience"
    );
}

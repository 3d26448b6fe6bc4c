//! The crates that the program and its tests are made of.

use std::collections::BTreeSet;
use std::process::Command;

use semver::Version;
use serde::Deserialize;

use crate::{read, root};

/// A crate that is compiled for this machine.
#[derive(Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Used {
    pub(crate) name: String,
    pub(crate) version: Version,
    /// As its manifest says it; empty where that says nothing.
    pub(crate) licence: String,
}

/// A crate of `Cargo.lock`, for whatever machine.
#[derive(Deserialize)]
pub(crate) struct Locked {
    pub(crate) name: String,
    pub(crate) version: Version,
    /// `None` for a crate of the workspace.
    pub(crate) source: Option<String>,
}

/// Every crate that is compiled with all features. `cargo metadata` names more: what a feature might bring in that nobody
/// asks for.
pub(crate) fn used() -> BTreeSet<Used> {
    let output = Command::new(env!("CARGO"))
        .args(["tree", "--workspace", "--all-features", "--offline", "--locked"])
        .args(["--edges=normal,build,dev", "--prefix=none", "--format={p}\t{l}"])
        .current_dir(root())
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{said}");
    let lines = String::from_utf8(output.stdout).unwrap();
    lines
        .lines()
        .filter(|line| !line.is_empty())
        .map(read_used)
        .collect()
}

/// Reads `NAME vVERSION[ (…)]`, a tab, and the licence, with ` (*)` where the crate was named before.
fn read_used(line: &str) -> Used {
    let (package, licence) = line.split_once('\t').unwrap();
    let (name, rest) = package.split_once(" v").unwrap();
    let version = rest.split(' ').next().unwrap();
    Used {
        name: name.to_owned(),
        version: Version::parse(version).unwrap(),
        licence: licence.trim_end_matches(" (*)").to_owned(),
    }
}

/// Every crate of `Cargo.lock`.
pub(crate) fn locked() -> Vec<Locked> {
    #[derive(Deserialize)]
    struct Lock {
        package: Vec<Locked>,
    }
    let lock: Lock = basic_toml::from_str(&read("Cargo.lock")).unwrap();
    assert!(lock.package.len() > 200);
    lock.package
}

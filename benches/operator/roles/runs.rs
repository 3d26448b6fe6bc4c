//! How often ansible-runner was started.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use crate::candidate::{Candidate, Kind};

/// Where both operators have the folders of their runs.
const ROOT: &str = "/tmp/ansible-operator/runner";

/// All runs of a kind of which something is left; an operator keeps twenty of each resource.
pub(super) fn of(candidate: &Candidate, kind: Kind) -> BTreeSet<PathBuf> {
    let resources = Path::new(ROOT)
        .join(&candidate.group)
        .join("v1")
        .join(kind.kind)
        .join(&candidate.namespace);
    let artifacts = entries(&resources).map(|resource| resource.join("artifacts"));
    let runs = artifacts.flat_map(|artifacts| entries(&artifacts).collect::<Vec<_>>());
    // `latest` is a link to one of them.
    runs.filter(|run| !run.is_symlink()).collect()
}

/// How many have begun since then.
pub(super) fn since(before: &BTreeSet<PathBuf>, candidate: &Candidate, kind: Kind) -> usize {
    of(candidate, kind).difference(before).count()
}

fn entries(folder: &Path) -> impl Iterator<Item = PathBuf> + use<> {
    let entries = fs::read_dir(folder).into_iter().flatten();
    entries.filter_map(|entry| Some(entry.ok()?.path()))
}

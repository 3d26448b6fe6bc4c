//! The sources of the product as text, wherever a module lives.

use std::fs;
use std::path::{Path, PathBuf};

use regex::Regex;

use crate::root;

/// A file of the product, without its tests.
pub(crate) struct Source {
    /// From the root.
    pub(crate) path: String,
    pub(crate) text: String,
}

/// All files of the product, in order.
pub(crate) fn product() -> Vec<Source> {
    let mut folders = vec![root().join("src")];
    for entry in fs::read_dir(root().join("crates")).unwrap() {
        let folder = entry.unwrap().path();
        if !folder.ends_with("testkit") {
            folders.push(folder.join("src"));
        }
    }
    let mut paths = Vec::new();
    for folder in folders {
        collect(&folder, &mut paths);
    }
    paths.sort();
    paths.iter().map(|path| source(path)).collect()
}

/// The files whose path ends so, of which there is at least one.
pub(crate) fn named(ending: &str) -> Vec<Source> {
    let found: Vec<Source> = product()
        .into_iter()
        .filter(|source| source.path.ends_with(ending))
        .collect();
    assert!(
        !found.is_empty(),
        "no source file ends in {ending}: say in tests/documents where it is now"
    );
    found
}

/// The files in folders of this name, of which there is at least one.
pub(crate) fn in_folder(name: &str) -> Vec<Source> {
    let inside = format!("/{name}/");
    let found: Vec<Source> = product()
        .into_iter()
        .filter(|source| source.path.contains(&inside))
        .collect();
    assert!(
        !found.is_empty(),
        "no source file is in a folder {name}: say in tests/documents where it is now"
    );
    found
}

/// What the groups of a pattern find, of each match.
pub(crate) fn find_all(pattern: &str, text: &str) -> Vec<Vec<String>> {
    let pattern = Regex::new(pattern).unwrap();
    pattern
        .captures_iter(text)
        .map(|found| {
            let groups = found.iter().skip(1);
            groups
                .map(|group| group.map_or_else(String::new, |group| group.as_str().to_owned()))
                .collect()
        })
        .collect()
}

fn source(path: &Path) -> Source {
    let text = fs::read_to_string(path).unwrap();
    let text = text.split("#[cfg(test)]").next().unwrap_or_default();
    // Comments name things, too, but do nothing.
    let lines = text.lines().filter(|line| !line.trim_start().starts_with("//"));
    Source {
        path: path.strip_prefix(root()).unwrap().to_str().unwrap().to_owned(),
        text: lines.collect::<Vec<_>>().join("\n"),
    }
}

fn collect(folder: &Path, paths: &mut Vec<PathBuf>) {
    let Ok(entries) = fs::read_dir(folder) else { return };
    for entry in entries {
        let path = entry.unwrap().path();
        if path.is_dir() {
            if !path.ends_with("tests") {
                collect(&path, paths);
            }
        } else if path.extension().is_some_and(|extension| extension == "rs") && !path.ends_with("tests.rs") {
            paths.push(path);
        }
    }
}

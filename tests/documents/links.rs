//! Links go somewhere.

use std::path::{Component, Path, PathBuf};

use crate::{documents, markdown, read, root};

#[test]
fn every_link_goes_to_a_file_and_a_heading_that_are_there() {
    let (mut broken, mut followed) = (Vec::new(), 0);
    for path in documents() {
        for (line, target) in markdown::parse(&read(&path)).links() {
            if target.contains("://") {
                continue;
            }
            followed += 1;
            if let Some(problem) = problem(&path, &target) {
                broken.push(format!("{path}:{line}: {target}: {problem}"));
            }
        }
    }
    assert!(broken.is_empty(), "{}", broken.join("\n"));
    assert!(followed > 100, "only {followed} links were found");
}

/// Each page can be reached from the README by links alone.
#[test]
fn every_page_of_docs_is_linked_from_the_index() {
    let index = markdown::parse(&read("docs/README.md"));
    let linked: Vec<PathBuf> = index
        .links()
        .iter()
        .map(|(_, target)| resolve("docs/README.md", target))
        .collect();
    for path in documents() {
        if path.starts_with("docs/") && path != "docs/README.md" {
            assert!(
                linked.contains(&PathBuf::from(&path)),
                "docs/README.md does not name {path}"
            );
        }
    }
}

fn problem(from: &str, target: &str) -> Option<&'static str> {
    let (file, anchor) = target.split_once('#').unwrap_or((target, ""));
    let path = if file.is_empty() {
        PathBuf::from(from)
    } else {
        resolve(from, file)
    };
    if !root().join(&path).exists() {
        return Some("no such file");
    }
    let is_there = anchor.is_empty()
        || markdown::parse(&read(path.to_str()?))
            .anchors()
            .iter()
            .any(|known| known == anchor);
    (!is_there).then_some("no such heading")
}

/// The path from the root that a link in a document means.
fn resolve(from: &str, target: &str) -> PathBuf {
    let target = target.split('#').next().unwrap_or_default();
    let mut path = PathBuf::from(from);
    path.pop();
    for part in Path::new(target).components() {
        match part {
            Component::ParentDir => {
                path.pop();
            }
            Component::CurDir => {}
            part => path.push(part),
        }
    }
    path
}

#[test]
fn a_broken_link_is_noticed() {
    assert_eq!(problem("docs/README.md", "absent.md"), Some("no such file"));
    assert_eq!(
        problem("docs/README.md", "../README.md#absent"),
        Some("no such heading")
    );
    assert_eq!(problem("docs/README.md", "../README.md#try-it"), None);
    assert_eq!(problem("docs/README.md", "#how-to-"), None);
}

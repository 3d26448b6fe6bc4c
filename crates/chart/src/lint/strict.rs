//! What a strict reader of `Chart.yaml` refuses: keys that are there twice, and keys that mean nothing.

use steersman_yaml::{Content, Node};

const CHART: &[&str] = &[
    "name",
    "home",
    "sources",
    "version",
    "description",
    "keywords",
    "maintainers",
    "icon",
    "apiVersion",
    "condition",
    "tags",
    "appVersion",
    "deprecated",
    "annotations",
    "kubeVersion",
    "dependencies",
    "type",
];
const MAINTAINER: &[&str] = &["name", "email", "url"];
const DEPENDENCY: &[&str] = &[
    "name",
    "version",
    "repository",
    "condition",
    "tags",
    "enabled",
    "import-values",
    "alias",
];

/// Whether `Chart.yaml` has only keys that mean something, each once.
///
/// # Errors
/// The text of Helm's parser for what it stumbles over.
pub(super) fn check(node: &Node) -> Result<(), String> {
    let mut repeated = Vec::new();
    find_repeated(node, &mut repeated);
    if !repeated.is_empty() {
        return Err(format!(
            "error converting YAML to JSON: yaml: unmarshal errors:\n{}",
            repeated.join("\n")
        ));
    }
    match unknown(node, CHART) {
        Some(key) => Err(format!(
            "error unmarshaling JSON: while decoding JSON: json: unknown field {key:?}"
        )),
        None => Ok(()),
    }
}

fn find_repeated(node: &Node, found: &mut Vec<String>) {
    match &node.value {
        Content::Sequence(items) => items.iter().for_each(|item| find_repeated(item, found)),
        Content::Mapping(pairs) => {
            let mut seen: Vec<String> = Vec::new();
            for (key, value) in pairs {
                find_repeated(value, found);
                let Ok(key) = key.key_string() else { continue };
                if seen.contains(&key) {
                    found.push(format!("  line {}: key {key:?} already set in map", value.line));
                }
                seen.push(key);
            }
        }
        _ => {}
    }
}

/// The first key, in the order of keys, that is none of `known`, also in lists of people and dependencies.
fn unknown(node: &Node, known: &[&str]) -> Option<String> {
    let Content::Mapping(pairs) = &node.value else {
        return None;
    };
    let mut pairs: Vec<(String, &Node)> = pairs
        .iter()
        .filter_map(|(key, value)| Some((key.key_string().ok()?, value)))
        .collect();
    pairs.sort_by(|(a, _), (b, _)| a.cmp(b));
    pairs.into_iter().find_map(|(key, value)| {
        let field = known.iter().find(|known| known.eq_ignore_ascii_case(&key));
        match field {
            None => Some(key),
            Some(&"maintainers") => unknown_in_items(value, MAINTAINER),
            Some(&"dependencies") => unknown_in_items(value, DEPENDENCY),
            Some(_) => None,
        }
    })
}

fn unknown_in_items(node: &Node, known: &[&str]) -> Option<String> {
    match &node.value {
        Content::Sequence(items) => items.iter().find_map(|item| unknown(item, known)),
        _ => None,
    }
}

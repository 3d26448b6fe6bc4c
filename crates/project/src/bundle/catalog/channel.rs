//! The graph of upgrades of a channel.

use std::collections::{BTreeMap, BTreeSet};

use semver::Version;
use serde_json::{Value, json};

use super::super::value::{list, text};
use super::bundle::Entry;

/// Puts a bundle into a channel. Where it does not say what it replaces, it replaces the newest one that is older.
pub(super) fn put(entries: &mut Vec<Value>, entry: &Entry, versions: &BTreeMap<&str, Version>) {
    let before = entries
        .iter()
        .position(|known| text(known, "/name") == entry.name);
    let mut replaces = entry.replaces.clone();
    if replaces.is_empty() {
        let older = entries
            .iter()
            .filter_map(|known| Some((versions.get(text(known, "/name"))?, text(known, "/name"))))
            .filter(|(version, _)| **version < entry.version);
        if let Some((_, name)) = older.max_by_key(|(version, _)| *version) {
            name.clone_into(&mut replaces);
        }
    }
    let mut node = json!({"name": entry.name});
    if !replaces.is_empty() {
        node["replaces"] = replaces.into();
    }
    if !entry.skips.is_empty() {
        node["skips"] = entry.skips.clone().into();
    }
    if !entry.skip_range.is_empty() {
        node["skipRange"] = entry.skip_range.as_str().into();
    }
    match before {
        Some(index) => entries[index] = node,
        None => entries.push(node),
    }
    entries.sort_by_key(|known| versions.get(text(known, "/name")).cloned());
}

/// Checks that a channel has one newest bundle, from which a chain leads to every other one that is not skipped.
pub(super) fn check(entries: &[Value]) -> Result<(), String> {
    let names: BTreeSet<&str> = entries.iter().map(|entry| text(entry, "/name")).collect();
    let skipped: BTreeSet<&str> = entries
        .iter()
        .flat_map(|entry| list(entry, "/skips"))
        .filter_map(Value::as_str)
        .collect();
    let replaced: BTreeSet<&str> = entries.iter().map(|entry| text(entry, "/replaces")).collect();
    let heads: Vec<&str> = names
        .iter()
        .copied()
        .filter(|name| !replaced.contains(name) && !skipped.contains(name))
        .collect();
    let head = match heads.as_slice() {
        [head] => *head,
        [] => return Err("every bundle is replaced or skipped by another one".to_owned()),
        several => {
            return Err(format!(
                "{} are all the newest: nothing replaces or skips them",
                several.join(", ")
            ));
        }
    };
    let mut reached = BTreeSet::from([head]);
    let mut current = head;
    while let Some(entry) = entries.iter().find(|entry| text(entry, "/name") == current) {
        let next = text(entry, "/replaces");
        if next.is_empty() || skipped.contains(next) {
            break;
        }
        if !reached.insert(next) {
            return Err(format!("the upgrades of {next} lead back to it"));
        }
        current = next;
    }
    let stranded: Vec<&str> = names
        .into_iter()
        .filter(|name| !reached.contains(name) && !skipped.contains(name))
        .collect();
    if stranded.is_empty() {
        Ok(())
    } else {
        Err(format!("no upgrade leads from {} to {head}", stranded.join(", ")))
    }
}

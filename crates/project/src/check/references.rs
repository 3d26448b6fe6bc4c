//! What resources refer to: whether there can be such objects, and whether kinds wait for each other.

use std::collections::{BTreeMap, VecDeque};

use crate::rbac::{KUBERNETES, Known, ReferredPlace};

use super::{Finding, Project, Watched};

type Kind = (String, String);

/// Whether Kubernetes has the kinds that an entry refers to, where they are of its groups.
pub(super) fn check(watched: &Watched, watches_file: &str, findings: &mut Vec<Finding>) {
    for referred in &watched.references {
        let (group, kind) = (&referred.group, &referred.kind);
        let known = Known::of_kubernetes();
        let is_own = known.iter().any(|(own, _, _)| own == group);
        if is_own && known.get(group, kind).is_none() {
            let message = format!(
                "{} names {kind} of {}, which Kubernetes {KUBERNETES} does not serve: releases wait for ever",
                referred.field,
                shown(group),
            );
            findings.push(Finding::error(watches_file, watched.line, message));
        }
        let is_free = !watched.is_confined && watched.service_account.is_none();
        if is_free && referred.place == ReferredPlace::Any {
            let message = format!(
                "{} lets a resource name a namespace: who may write one learns of any {kind} what its conditions say",
                referred.field
            );
            let hint =
                "`confine` says in which namespaces that may be, and `serviceAccountName` by whose rights";
            findings.push(Finding::warning(watches_file, watched.line, message).with_hint(hint));
        }
    }
}

/// Whether kinds of the file depend on each other, so that resources may wait for themselves.
pub(super) fn check_cycles(project: &Project<'_>, watches_file: &str, findings: &mut Vec<Finding>) {
    let mut below: BTreeMap<Kind, Vec<Kind>> = BTreeMap::new();
    for watched in project.watches {
        let named = watched.references.iter();
        let named = named.filter(|referred| referred.field == "dependsOn");
        let named = named.map(|referred| (referred.group.clone(), referred.kind.clone()));
        let own = (watched.kind.group.clone(), watched.kind.kind.clone());
        let others = named.filter(|kind| *kind != own);
        below.entry(own.clone()).or_default().extend(others);
    }
    for watched in project.watches {
        let own = (watched.kind.group.clone(), watched.kind.kind.clone());
        if let Some(way) = way_back(&below, &own) {
            let kinds: Vec<&str> = way.iter().map(|(_, kind)| kind.as_str()).collect();
            let message = format!(
                "kinds depend on each other ({}): resources that name each other wait for ever",
                kinds.join(" needs ")
            );
            findings.push(Finding::warning(watches_file, watched.line, message));
        }
    }
}

/// The shortest way from a kind back to it.
fn way_back(below: &BTreeMap<Kind, Vec<Kind>>, own: &Kind) -> Option<Vec<Kind>> {
    let mut ways = VecDeque::from([vec![own.clone()]]);
    let mut seen = Vec::new();
    while let Some(way) = ways.pop_front() {
        let next = way.last().and_then(|last| below.get(last));
        for kind in next.into_iter().flatten() {
            let mut longer = way.clone();
            longer.push(kind.clone());
            if kind == own {
                return Some(longer);
            }
            if !seen.contains(kind) {
                seen.push(kind.clone());
                ways.push_back(longer);
            }
        }
    }
    None
}

fn shown(group: &str) -> &str {
    if group.is_empty() { "the core group" } else { group }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_way_from_a_kind_back_to_it_is_found() {
        let kind = |name: &str| (String::new(), name.to_owned());
        let below = [
            ("A", vec!["B"]),
            ("B", vec!["C", "D"]),
            ("C", vec!["A"]),
            ("D", vec![]),
        ];
        let below = below.map(|(name, below)| (kind(name), below.into_iter().map(kind).collect()));
        let below: BTreeMap<Kind, Vec<Kind>> = below.into_iter().collect();
        let way = |name: &str| {
            let way = way_back(&below, &kind(name))?;
            Some(way.into_iter().map(|(_, kind)| kind).collect::<String>())
        };
        assert_eq!(way("A").as_deref(), Some("ABCA"));
        assert_eq!(way("C").as_deref(), Some("CABC"));
        assert_eq!(way("D"), None);
        assert_eq!(way("X"), None);
    }
}

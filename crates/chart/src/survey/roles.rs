//! The rules of roles, in every branch, and what bindings bind.

use std::collections::BTreeSet;

use super::text::{Mark, REACH, Text, UNKNOWN, Word, plain};
use super::{Binding, PolicyRule, Role};

/// The role that a document is.
pub(super) fn role(text: &Text<'_>, mark: &Mark, around: &[&Mark], is_cluster_role: bool) -> Role {
    let at = |what: Word| {
        around
            .iter()
            .filter(move |other| other.what == what && other.column == mark.column)
    };
    let names = around
        .iter()
        .filter(|other| other.what == Word::Name && other.column == mark.column + 2)
        .flat_map(|other| &other.endings);
    let (names, is_open) = names_of(&names.collect::<Vec<_>>());
    let mut role = Role {
        is_cluster_role,
        names,
        is_open,
        rules: Vec::new(),
        is_aggregated: at(Word::AggregationRule).next().is_some(),
        is_incomplete: false,
        is_widened: false,
        place: mark.place.clone(),
    };
    for rules in at(Word::Rules) {
        let lines = text.lines_after(rules.at, &mark.path);
        let mut reader = Reader {
            role: &mut role,
            rule: None,
        };
        reader.read(&lines, mark.column);
    }
    role.rules.sort();
    role.rules.dedup();
    role
}

/// What the document of a binding binds.
pub(super) fn binding(mark: &Mark, around: &[&Mark]) -> Option<Binding> {
    let reference = around.iter().find(|other| other.what == Word::RoleRef)?;
    // The keys under `roleRef`, up to the next key of the document; subjects have these keys as well.
    let next = around
        .iter()
        .filter(|other| other.at > reference.at && other.column <= reference.column)
        .map(|other| other.at)
        .min()
        .unwrap_or((usize::MAX, 0));
    let below = |what: Word| {
        around.iter().filter(move |other| {
            other.what == what
                && other.at > reference.at
                && other.at < next
                && other.column > reference.column
                && other.column <= reference.column + 4
        })
    };
    let first = below(Word::Kind).map(|other| other.at).min()?;
    let kinds: Vec<&String> = below(Word::Kind)
        .filter(|other| other.at.0 <= first.0 + REACH)
        .flat_map(|other| &other.endings)
        .collect();
    let names: Vec<&String> = below(Word::Name).flat_map(|other| &other.endings).collect();
    let (names, is_open) = names_of(&names);
    Some(Binding {
        is_cluster_role: kinds.iter().any(|kind| *kind == "ClusterRole"),
        names,
        is_open,
        place: mark.place.clone(),
    })
}

/// The names of a role that are known, and whether there may be others.
fn names_of(endings: &[&String]) -> (BTreeSet<String>, bool) {
    let known = endings.iter().filter(|name| is_role_name(name));
    let is_open = endings.is_empty() || endings.iter().any(|name| name.contains(UNKNOWN));
    (known.map(|name| (*name).clone()).collect(), is_open)
}

fn is_role_name(text: &str) -> bool {
    !text.is_empty() && !text.contains([UNKNOWN, ' ', '{'])
}

struct Reader<'r> {
    role: &'r mut Role,
    rule: Option<(PolicyRule, Option<&'static str>)>,
}

const KEYS: &[&str] = &[
    "apiGroups",
    "resources",
    "resourceNames",
    "nonResourceURLs",
    "verbs",
];

impl Reader<'_> {
    /// Reads the items of `rules` line by line: alternatives follow each other, so that this need not be YAML.
    fn read(&mut self, lines: &[String], column: usize) {
        let mut lines = lines.iter();
        if let Some(first) = lines.next()
            && first.contains(UNKNOWN)
        {
            self.miss();
        }
        let mut open_list = String::new();
        for line in lines {
            let trimmed = line.trim_start();
            let indent = line.len() - trimmed.len();
            let trimmed = trimmed.trim_end();
            if trimmed.is_empty() || trimmed.starts_with('#') {
                continue;
            }
            if !open_list.is_empty() {
                open_list.push(' ');
                open_list.push_str(trimmed);
                if trimmed.contains(']') {
                    let text = std::mem::take(&mut open_list);
                    self.values(&text);
                }
                continue;
            }
            if indent <= column && !trimmed.starts_with('-') {
                if !trimmed.starts_with(UNKNOWN) {
                    break;
                }
                self.miss();
                continue;
            }
            let inner = trimmed.strip_prefix('-').map(str::trim_start);
            let content = inner.unwrap_or(trimmed);
            match key(content) {
                Some((key, rest)) => {
                    if inner.is_some() {
                        self.finish();
                        self.rule = Some((PolicyRule::default(), None));
                    }
                    if let Some((_, current)) = &mut self.rule {
                        *current = Some(key);
                    }
                    let rest = rest.trim();
                    if rest.starts_with('[') && !rest.contains(']') {
                        rest.clone_into(&mut open_list);
                    } else {
                        self.values(rest);
                    }
                }
                None if inner.is_some() => self.value(content),
                None if content.contains(UNKNOWN) => self.miss(),
                None => {}
            }
        }
        self.finish();
    }

    fn values(&mut self, text: &str) {
        let text = text.split(" #").next().unwrap_or_default().trim();
        match text.strip_prefix('[') {
            Some(list) => {
                let list = list.split(']').next().unwrap_or_default();
                for value in list.split(',').filter(|value| !value.trim().is_empty()) {
                    self.value(value);
                }
            }
            None if text.is_empty() => {}
            None => self.value(text),
        }
    }

    fn value(&mut self, text: &str) {
        if text.contains(UNKNOWN) {
            self.miss();
            return;
        }
        let value = plain(text);
        let Some((rule, Some(key))) = &mut self.rule else {
            return;
        };
        let list = match *key {
            "apiGroups" => &mut rule.api_groups,
            "resources" => &mut rule.resources,
            "resourceNames" => &mut rule.resource_names,
            "nonResourceURLs" => &mut rule.non_resource_urls,
            _ => &mut rule.verbs,
        };
        if !list.contains(&value) {
            list.push(value);
        }
    }

    fn miss(&mut self) {
        if let Some((rule, Some("resourceNames"))) = &mut self.rule {
            rule.resource_names.push(UNKNOWN.to_string());
            return;
        }
        self.role.is_incomplete = true;
    }

    fn finish(&mut self) {
        let Some((mut rule, _)) = self.rule.take() else {
            return;
        };
        if rule.resource_names.iter().any(|name| name.contains(UNKNOWN)) {
            rule.resource_names.clear();
            self.role.is_widened = true;
        }
        for list in [
            &mut rule.api_groups,
            &mut rule.resources,
            &mut rule.resource_names,
            &mut rule.non_resource_urls,
            &mut rule.verbs,
        ] {
            list.sort();
        }
        if !rule.resources.is_empty() && rule.api_groups.is_empty() {
            self.role.is_incomplete = true;
            return;
        }
        let grants = !rule.resources.is_empty() || !rule.non_resource_urls.is_empty();
        if grants && !rule.verbs.is_empty() {
            self.role.rules.push(rule);
        }
    }
}

fn key(text: &str) -> Option<(&'static str, &str)> {
    let bare = text.trim_start_matches(['"', '\'']);
    let key = KEYS.iter().find(|key| bare.starts_with(**key))?;
    let rest = bare.get(key.len()..)?.trim_start_matches(['"', '\'']);
    Some((key, rest.trim_start().strip_prefix(':')?))
}

//! The rules of roles, in every branch, and what bindings bind.

use std::collections::BTreeSet;

use serde_json::Value;

use super::text::{Mark, Position, REACH, Text, UNKNOWN, UNKNOWN_IN_FLOW, Word, plain};
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
        .unwrap_or(Position {
            piece: usize::MAX,
            byte: 0,
        });
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
        .filter(|other| other.at.piece <= first.piece + REACH)
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

/// YAML in braces or brackets, up to the last of them.
#[derive(Default)]
struct Flow {
    text: String,
    depth: usize,
}

impl Flow {
    fn is_open(&self) -> bool {
        self.depth > 0
    }

    /// Adds a line; the whole where it ends there. What is in quotes and has brackets is taken for brackets: what comes
    /// of that is no YAML.
    fn add(&mut self, line: &str) -> Option<String> {
        let line = line.split(" #").next().unwrap_or_default();
        self.text.push_str(line);
        self.text.push('\n');
        for letter in line.chars() {
            match letter {
                '{' | '[' => self.depth += 1,
                '}' | ']' => self.depth = self.depth.saturating_sub(1),
                _ => {}
            }
        }
        (self.depth == 0).then(|| std::mem::take(&mut self.text))
    }
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
        let mut open_list = String::new();
        let mut flow = Flow::default();
        if let Some(first) = lines.next().map(|line| line.trim()) {
            if first.starts_with('[') {
                self.flow(&mut flow, first);
            } else if first.contains(UNKNOWN) {
                self.miss();
            }
        }
        for line in lines {
            let trimmed = line.trim_start();
            let indent = line.len() - trimmed.len();
            let trimmed = trimmed.trim_end();
            if trimmed.is_empty() || trimmed.starts_with('#') {
                continue;
            }
            if flow.is_open() {
                self.flow(&mut flow, trimmed);
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
                    self.begin_values(rest.trim(), &mut open_list);
                }
                None if inner.is_some() && content.starts_with('{') => {
                    self.finish();
                    self.flow(&mut flow, content);
                }
                None if inner.is_some() => self.value(content),
                // A list may begin in the line below its key.
                None if content.starts_with('[') => self.begin_values(content, &mut open_list),
                None => self.miss(),
            }
        }
        if flow.is_open() {
            self.miss();
        }
        self.finish();
    }

    /// Reads one more line of rules in braces or brackets.
    fn flow(&mut self, flow: &mut Flow, line: &str) {
        let Some(text) = flow.add(line) else { return };
        let Ok(value) = steersman_yaml::to_json(&text.replace(UNKNOWN, UNKNOWN_IN_FLOW)) else {
            return self.miss();
        };
        let rules = match value {
            Value::Array(rules) => rules,
            rule => vec![rule],
        };
        for rule in rules {
            self.finish();
            for key in KEYS {
                let values = match rule.get(key) {
                    None | Some(Value::Null) => continue,
                    Some(Value::Array(values)) => values.clone(),
                    Some(value) => vec![value.clone()],
                };
                let (policy, _) = self.rule.take().unwrap_or_default();
                self.rule = Some((policy, Some(key)));
                for value in values {
                    let text = value.as_str().map_or_else(|| value.to_string(), str::to_owned);
                    self.value(&text.replace(UNKNOWN_IN_FLOW, &UNKNOWN.to_string()));
                }
            }
            if self.rule.is_none() {
                self.miss();
            }
        }
        self.finish();
    }

    /// Reads values, or leaves a list that does not end here open.
    fn begin_values(&mut self, text: &str, open_list: &mut String) {
        if text.starts_with('[') && !text.contains(']') {
            text.clone_into(open_list);
        } else {
            self.values(text);
        }
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

#[cfg(test)]
mod tests {
    use crate::chart::Chart;
    use crate::survey::{Role, Survey};

    fn role_of(rules: &str) -> Role {
        let template =
            format!("apiVersion: rbac.authorization.k8s.io/v1\nkind: Role\nmetadata:\n  name: web\n{rules}");
        let files = [
            ("Chart.yaml", "apiVersion: v2\nname: web\nversion: 1.0.0\n"),
            ("templates/role.yaml", &template),
        ];
        let files = files.map(|(name, text)| (name, text.as_bytes()));
        let chart = Chart::from_files(files).unwrap();
        Survey::of_templates(&chart).unwrap().roles.remove(0)
    }

    fn check(rules: &str, expect: &[&str], is_incomplete: bool) {
        let role = role_of(rules);
        let found: Vec<String> = (role.rules.iter())
            .map(|rule| {
                let [groups, resources, verbs] =
                    [&rule.api_groups, &rule.resources, &rule.verbs].map(|list| list.join(","));
                format!("{groups}/{resources} {verbs}")
            })
            .collect();
        assert_eq!(found, expect, "{rules}");
        assert_eq!(role.is_incomplete, is_incomplete, "{rules}");
    }

    #[test]
    fn rules_and_lists_in_braces_and_brackets_are_read() {
        check(
            "rules:\n- {apiGroups: [\"\"], resources: [pods], verbs: [get]} # why\n- apiGroups: [apps]\n  resources:\n  - \
             deployments\n  verbs: [list]\n",
            &["/pods get", "apps/deployments list"],
            false,
        );
        check(
            "rules:\n  - { apiGroups: [apps],\n      # why\n      resources: [deployments, statefulsets],\n      verbs: \
             ['*'] }\n",
            &["apps/deployments,statefulsets *"],
            false,
        );
        check(
            "rules: [{apiGroups: [''], resources: [pods], verbs: [get, list]}, {nonResourceURLs: [/metrics], verbs: [get]}]\n",
            &["/ get", "/pods get,list"],
            false,
        );
        check("rules: []\n", &[], false);
        check(
            "rules:\n- apiGroups: ['']\n  resources:\n    [\n      pods,\n      \"secrets\",\n    ]\n  verbs:\n    [get]\n",
            &["/pods,secrets get"],
            false,
        );
        check("rules:\n- apiGroups: ['']\n  ? resources\n", &[], true);
        check(
            "rules:\n- {apiGroups: [''], resources: [\"{{ .Values.what }}\"], verbs: [get]}\n",
            &[],
            true,
        );
        check("rules:\n- {apiGroups: [''], resources: [pods\n", &[], true);
        check("rules:\n- {a: b}\n", &[], true);
    }
}

//! Rules as YAML for people: one block for each watch, under the headings that operator-sdk gives them.

use std::fmt::Write as _;

use super::{Reach, Rule, Rules};
use crate::CustomKind;
use crate::yaml::scalar;

/// Where operator-sdk's projects take up the rules of further kinds.
pub const MARKER: &str = "#+kubebuilder:scaffold:rules";

/// How long a line of a comment may become.
const WIDTH: usize = 116;

/// The operator's own rules, as items of a role's `rules`.
pub fn base_block() -> String {
    base_block_of(&[])
}

/// The same for an operator of these watches.
pub(super) fn base_block_of(watches: &[Rules]) -> String {
    let mut out = heading("Base operator rules");
    out.push_str(&items(&super::base_rules_of(watches)));
    out
}

/// The operator's own rules where roles and playbooks are all that it runs.
pub fn run_base_block() -> String {
    let mut out = heading("Base operator rules");
    out.push_str(&items(&super::run_base_rules()));
    out
}

/// What stands below the rules for a kind that Ansible makes: nobody but the author of the tasks knows the rest.
const TASKS: &str = "\
# What the tasks make, change or read is still to be said here; `list` and `watch` are for noticing what others change of it:
#- apiGroups:
#  - apps
#  resources:
#  - deployments
#  verbs: [get, list, watch, create, update, patch, delete]
";

/// The rules for a kind that a role or playbook is run for, as items of a role's `rules`, under a heading that names it.
pub fn run_block(kind: &CustomKind) -> String {
    let mut out = heading_of(kind);
    out.push_str(&items(&super::run_rules(kind)));
    out.push_str(TASKS);
    out
}

/// All rules of a watch, as items of a role's `rules`, under a heading that names its kind.
pub fn block(rules: &Rules) -> String {
    let mut out = kind_heading(rules);
    out.push_str(&notices(rules));
    out.push_str(&items(&rules.rules));
    out
}

/// Those rules of a watch that reach namespaces, or those that reach the cluster; empty where there are none.
pub fn block_of(rules: &Rules, reach: Reach) -> String {
    let found: Vec<Rule> = rules
        .rules
        .iter()
        .filter(|rule| rule.reach == reach)
        .cloned()
        .collect();
    if found.is_empty() {
        return String::new();
    }
    let mut out = kind_heading(rules);
    if reach == Reach::Namespaces {
        out.push_str(&notices(rules));
    }
    out.push_str(&items(&found));
    out
}

/// Those of a watch's ServiceAccount that reach namespaces, or that reach the cluster; empty where there are none.
pub(super) fn block_of_account(rules: &Rules, reach: Reach) -> String {
    let found = rules.account.iter().filter(|rule| rule.reach == reach);
    let text = items(found);
    if text.is_empty() {
        return text;
    }
    kind_heading(rules) + &text
}

/// Those [`elsewhere`](Rules::elsewhere) in one namespace.
pub(super) fn block_elsewhere(rules: &Rules, found: &[Rule]) -> String {
    kind_heading(rules) + &items(found)
}

/// Rules as items of a role's `rules`, each under what it is for.
pub fn items<'a>(rules: impl IntoIterator<Item = &'a Rule>) -> String {
    let mut out = String::new();
    for rule in rules {
        for reason in &rule.reasons {
            comment(reason, &mut out);
        }
        let mut dash = "- ";
        for (key, list) in [
            ("apiGroups", &rule.api_groups),
            ("resources", &rule.resources),
            ("resourceNames", &rule.resource_names),
            ("nonResourceURLs", &rule.non_resource_urls),
            ("verbs", &rule.verbs),
        ] {
            if list.is_empty() {
                continue;
            }
            let _ = writeln!(out, "{dash}{key}:");
            for value in list {
                let _ = writeln!(out, "  - {}", scalar(value));
            }
            dash = "  ";
        }
    }
    out
}

fn kind_heading(rules: &Rules) -> String {
    heading_of(&rules.kind)
}

fn heading_of(kind: &CustomKind) -> String {
    heading(&format!("Rules for {}, Kind: {}", kind.api_version(), kind.kind))
}

fn heading(text: &str) -> String {
    format!("##\n## {text}\n##\n")
}

fn notices(rules: &Rules) -> String {
    let mut out = String::new();
    if !rules.notices.is_empty() {
        let source = if rules.has_releases { "chart" } else { "tasks" };
        let _ = writeln!(out, "# Not told by the {source}, so look at this:");
        for notice in &rules.notices {
            comment(&format!("- {notice}"), &mut out);
        }
        out.push_str("#\n");
    }
    out
}

/// A comment of lines that are not too long.
fn comment(text: &str, out: &mut String) {
    let indent = if text.starts_with("- ") { "#  " } else { "#" };
    let mut line = String::from("#");
    for word in text.split_whitespace() {
        if line.len() + 1 + word.len() > WIDTH && line.len() > 2 {
            let _ = writeln!(out, "{line}");
            indent.clone_into(&mut line);
        }
        line.push(' ');
        line.push_str(word);
    }
    let _ = writeln!(out, "{line}");
}

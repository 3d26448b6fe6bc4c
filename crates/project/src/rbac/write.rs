//! Rules as YAML for people: one block for each watch, under the headings that operator-sdk gives them.

use std::fmt::Write as _;

use super::{Reach, Rule, Rules};

/// Where operator-sdk's projects take up the rules of further kinds.
pub const MARKER: &str = "#+kubebuilder:scaffold:rules";

/// How long a line of a comment may become.
const WIDTH: usize = 116;

/// The operator's own rules, as items of a role's `rules`.
pub fn base_block() -> String {
    let mut out = heading("Base operator rules");
    out.push_str(&items(&super::base_rules()));
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
    let kind = &rules.kind;
    heading(&format!("Rules for {}, Kind: {}", kind.api_version(), kind.kind))
}

fn heading(text: &str) -> String {
    format!("##\n## {text}\n##\n")
}

fn notices(rules: &Rules) -> String {
    let mut out = String::new();
    if !rules.notices.is_empty() {
        out.push_str("# Not told by the chart, so look at this:\n");
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

/// A text as a scalar of YAML: bare where it can be nothing else.
fn scalar(text: &str) -> String {
    let is_plain =
        |letter: char| letter.is_ascii_alphanumeric() || matches!(letter, '.' | '-' | '/' | ':' | '_');
    let starts_well = text.starts_with(|first: char| first.is_ascii_alphabetic() || first == '/');
    let is_word = !matches!(
        text.to_ascii_lowercase().as_str(),
        "y" | "n" | "yes" | "no" | "on" | "off" | "true" | "false" | "null"
    );
    if starts_well && is_word && text.chars().all(is_plain) && !text.ends_with(':') {
        return text.to_owned();
    }
    serde_json::Value::from(text).to_string()
}

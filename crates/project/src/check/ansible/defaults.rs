//! `defaults/main.yml` beside the specifications of arguments: a default that these refuse fails each run.

use std::path::Path;

use steersman_yaml::{Content as Yaml, Node};

use super::specifications::{Files, pairs, refusal};
use crate::check::Finding;
use crate::tasks::{Search, read_documents, role_part};

/// The defaults of a role, with their file; nothing where there are none, or none that can be read.
pub(super) fn read(search: &Search, role: &Path) -> Option<(String, Node)> {
    let path = role_part(role, "defaults", "main")?;
    let documents = read_documents(&path).ok()?;
    Some((search.shown(&path), documents.into_iter().next()?))
}

/// Judges values by options; `outer` is where they are, for those inside of others.
pub(super) fn check(
    files: &Files<'_>,
    options: &Node,
    values: &Node,
    outer: &str,
    findings: &mut Vec<Finding>,
) {
    for (name, option) in pairs(options) {
        let Some(name) = name.as_str() else { continue };
        let Some(value) = values.get(name) else { continue };
        let place = format!("{outer}{name}");
        if let Some(why) = refusal(option, value) {
            let message = format!("{place} {why}, as {} has it", files.specifications);
            findings.push(Finding::error(files.defaults, value.line, message));
        } else if let Some(said) = option.get("default").filter(|said| !is_same(said, value)) {
            let message = format!(
                "{place}: this default is another one than that of {}",
                files.defaults
            );
            findings.push(Finding::warning(files.specifications, said.line, message));
        }
        let Some(inner) = option.get("options") else {
            continue;
        };
        let inside = format!("{place}.");
        match &value.value {
            Yaml::Mapping(_) => check_inner(files, inner, value, &inside, findings),
            Yaml::Sequence(items) => {
                for item in items {
                    check_inner(files, inner, item, &inside, findings);
                }
            }
            _ => {}
        }
    }
}

/// Of maps Ansible also refuses what their options do not name.
fn check_inner(files: &Files<'_>, options: &Node, value: &Node, place: &str, findings: &mut Vec<Finding>) {
    for (name, _) in pairs(value) {
        let known = name.as_str().is_none_or(|name| {
            let is_it = |(key, option): &(Node, Node)| {
                let aliases = option.get("aliases").map(|aliases| &aliases.value);
                let has = |aliases: &Yaml| match aliases {
                    Yaml::Sequence(aliases) => aliases.iter().any(|alias| alias.as_str() == Some(name)),
                    _ => false,
                };
                key.as_str() == Some(name) || aliases.is_some_and(has)
            };
            pairs(options).iter().any(is_it)
        });
        if !known {
            let name = name.as_str().unwrap_or_default();
            let message = format!("{place}{name} is no option of {}", files.specifications);
            findings.push(Finding::error(files.defaults, value.line, message));
        }
    }
    check(files, options, value, place, findings);
}

/// Whether two defaults say the same; templates may.
fn is_same(said: &Node, value: &Node) -> bool {
    let is_open = |node: &Node| node.as_str().is_some_and(|text| text.contains("{{"));
    let text = |node: &Node| node.key_string().ok();
    is_open(said)
        || is_open(value)
        || said.to_json().ok() == value.to_json().ok()
        // `8080` and `"8080"` are the same to Ansible.
        || text(said).is_some() && text(said) == text(value)
}

//! `meta/argument_specs.yml`: whether Ansible can read it, and takes the role's defaults by it.

use std::path::Path;

use steersman_yaml::{Content as Yaml, Node};

use super::defaults;
use super::types::Type;
use crate::check::Finding;
use crate::tasks::{Search, read_documents, role_part};

/// The places of findings.
pub(super) struct Files<'a> {
    pub(super) specifications: &'a str,
    pub(super) defaults: &'a str,
}

pub(super) fn check(search: &Search, role: &Path, findings: &mut Vec<Finding>) {
    let own = role_part(role, "meta", "argument_specs");
    let Some(path) = own.or_else(|| role_part(role, "meta", "main")) else {
        return;
    };
    let file = search.shown(&path);
    let documents = match read_documents(&path) {
        Ok(documents) => documents,
        // What is wrong with meta/main.yml is said of the role's tasks.
        Err(_) if !file.contains("argument_specs") => return,
        Err((line, message)) => {
            findings.push(Finding::error(&file, line, message));
            return;
        }
    };
    let Some(specs) = documents
        .first()
        .and_then(|document| document.get("argument_specs"))
    else {
        if file.contains("argument_specs") {
            let message = "`argument_specs` is missing: nothing is checked by this file";
            findings.push(Finding::error(&file, 1, message));
        }
        return;
    };
    let defaults = defaults::read(search, role);
    let files = Files {
        specifications: &file,
        defaults: defaults.as_ref().map_or("", |(file, _)| file),
    };
    for (name, spec) in pairs(specs) {
        let Some(entry) = name.as_str() else { continue };
        if role_part(role, "tasks", entry).is_none() {
            let message = format!("entry point {entry} has no tasks/{entry}.yml");
            findings.push(Finding::error(&file, name.line, message));
        }
        let options = spec.get("options");
        if let Some(options) = options {
            check_options(&files, options, findings);
        }
        if let (Some(options), Some((_, values)), "main") = (options, &defaults, entry) {
            defaults::check(&files, options, values, "", findings);
        }
    }
}

fn check_options(files: &Files<'_>, options: &Node, findings: &mut Vec<Finding>) {
    let file = files.specifications;
    if !matches!(options.value, Yaml::Mapping(_) | Yaml::Null) {
        findings.push(Finding::error(
            file,
            options.line,
            "`options` is no map of options",
        ));
        return;
    }
    for (name, option) in pairs(options) {
        let name_text = name.key_string().unwrap_or_default();
        for key in ["type", "elements"] {
            let Some(node) = option.get(key) else { continue };
            if node.as_str().and_then(Type::named).is_none() {
                let given = node.as_str().unwrap_or("this");
                let message = format!("{name_text}: `{given}` is no type that Ansible knows");
                let hint =
                    "it knows str, int, float, bool, list, dict, path, raw, json, jsonarg, bytes and bits";
                findings.push(Finding::error(file, node.line, message).with_hint(hint));
            }
        }
        if let Some(choices) = option.get("choices")
            && !matches!(choices.value, Yaml::Sequence(_))
        {
            let message = format!("{name_text}: `choices` is no list");
            findings.push(Finding::error(file, choices.line, message));
        }
        if let Some(default) = option.get("default")
            && let Some(why) = refusal(option, default)
        {
            let message = format!("{name_text}: the default {why}");
            findings.push(Finding::error(file, default.line, message));
        }
        if let Some(inner) = option.get("options") {
            check_options(files, inner, findings);
        }
    }
}

/// Why a value is none for an option.
pub(super) fn refusal(option: &Node, value: &Node) -> Option<String> {
    let name = option.get("type").map_or(Some("str"), Node::as_str)?;
    let kind = Type::named(name)?;
    if !kind.takes(value) {
        return Some(format!("is not of type {name}"));
    }
    let items: &[Node] = match &value.value {
        Yaml::Sequence(items) => items,
        _ => &[],
    };
    let elements = option.get("elements").and_then(Node::as_str);
    if let Some(elements) = elements
        && let Some(kind) = Type::named(elements)
        && items.iter().any(|item| !kind.takes(item))
    {
        return Some(format!("has an item that is not of type {elements}"));
    }
    let Some(Yaml::Sequence(choices)) = option.get("choices").map(|choices| &choices.value) else {
        return None;
    };
    let text = |node: &Node| match &node.value {
        Yaml::String(text) if text.contains("{{") => None,
        Yaml::Null | Yaml::Sequence(_) | Yaml::Mapping(_) => None,
        _ => node.key_string().ok(),
    };
    let allowed: Vec<String> = choices.iter().filter_map(text).collect();
    let given = std::slice::from_ref(value).iter().chain(items).filter_map(text);
    let other = given.into_iter().find(|given| !allowed.contains(given))?;
    Some(format!("is `{other}`, which is none of {}", allowed.join(", ")))
}

pub(super) fn pairs(node: &Node) -> &[(Node, Node)] {
    match &node.value {
        Yaml::Mapping(pairs) => pairs,
        _ => &[],
    }
}

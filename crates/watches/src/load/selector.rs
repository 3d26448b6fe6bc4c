//! The label selector of an entry.

use std::collections::BTreeSet;

use kube_core::{Expression, Selector};
use steersman_yaml::{Content, Node};

use super::fields::{Fields, Findings, join, scalar_text};
use crate::names::is_dns_subdomain;

pub(super) const SELECTOR_FIELDS: &[&str] = &["matchLabels", "matchExpressions"];
pub(super) const EXPRESSION_FIELDS: &[&str] = &["key", "operator", "values"];

/// Reads and checks a `LabelSelector`. What is wrong with it is noted in `findings`.
pub(super) fn read_selector(node: &Node, path: String, findings: &mut Findings) -> Selector {
    let Some(fields) = Fields::read(node, path, SELECTOR_FIELDS, findings) else {
        return Selector::default();
    };
    let mut expressions = Vec::new();
    if let Some((_, labels)) = fields.get("matchLabels") {
        match_labels(labels, &fields.key("matchLabels"), findings, &mut expressions);
    }
    if let Some((_, list)) = fields.get("matchExpressions") {
        match_expressions(list, &fields.key("matchExpressions"), findings, &mut expressions);
    }
    expressions.into_iter().collect()
}

fn match_labels(node: &Node, path: &str, findings: &mut Findings, expressions: &mut Vec<Expression>) {
    let Content::Mapping(pairs) = &node.value else {
        findings.expected("a map of labels", node, path);
        return;
    };
    for (key, value) in pairs {
        let name = match key.key_string() {
            Ok(name) => name,
            Err(error) => {
                findings.problem(key, path, error.message());
                continue;
            }
        };
        let path = join(path, name.escape_debug());
        check_key(key, &name, &path, findings);
        if let Some(value) = label_value(value, &path, findings) {
            expressions.push(Expression::Equal(name, value));
        }
    }
}

fn match_expressions(node: &Node, path: &str, findings: &mut Findings, expressions: &mut Vec<Expression>) {
    let Content::Sequence(items) = &node.value else {
        findings.expected("a list of expressions", node, path);
        return;
    };
    for (index, item) in items.iter().enumerate() {
        if let Some(fields) = Fields::read(item, format!("{path}[{index}]"), EXPRESSION_FIELDS, findings) {
            expressions.extend(match_expression(&fields, findings));
        }
    }
}

fn match_expression(fields: &Fields<'_>, findings: &mut Findings) -> Option<Expression> {
    let key = fields.text("key", findings);
    match &key {
        Some((name, node)) => check_key(node, name, &fields.key("key"), findings),
        None if fields.get("key").is_none() => {
            findings.problem(fields.node, &fields.path, "`key` is missing");
        }
        None => {}
    }
    let values = values(fields, findings);
    let Some((operator, operator_node)) = fields.text("operator", findings) else {
        if fields.get("operator").is_none() {
            findings.problem(
                fields.node,
                &fields.path,
                "`operator` is missing: `In`, `NotIn`, `Exists` or `DoesNotExist`",
            );
        }
        return None;
    };
    let (key, _) = key?;
    let path = fields.key("operator");
    match (operator.as_str(), values.is_empty()) {
        ("In", false) => Some(Expression::In(key, values)),
        ("NotIn", false) => Some(Expression::NotIn(key, values)),
        ("Exists", true) => Some(Expression::Exists(key)),
        ("DoesNotExist", true) => Some(Expression::DoesNotExist(key)),
        ("In" | "NotIn", true) => {
            findings.problem(
                operator_node,
                &path,
                format_args!("`{operator}` needs at least one of `values`"),
            );
            None
        }
        ("Exists" | "DoesNotExist", false) => {
            findings.problem(
                operator_node,
                &path,
                format_args!("`{operator}` takes no `values`"),
            );
            None
        }
        _ => {
            findings.problem(
                operator_node,
                &path,
                format_args!(
                    "`{}` is none of `In`, `NotIn`, `Exists`, `DoesNotExist`",
                    operator.escape_debug()
                ),
            );
            None
        }
    }
}

fn values(fields: &Fields<'_>, findings: &mut Findings) -> BTreeSet<String> {
    let Some((_, node)) = fields.get("values") else {
        return BTreeSet::new();
    };
    let path = fields.key("values");
    let Content::Sequence(items) = &node.value else {
        findings.expected("a list of texts", node, &path);
        return BTreeSet::new();
    };
    let values = items.iter().enumerate();
    values
        .filter_map(|(index, item)| label_value(item, &format!("{path}[{index}]"), findings))
        .collect()
}

fn label_value(node: &Node, path: &str, findings: &mut Findings) -> Option<String> {
    let text = if node.value == Content::Null {
        Some(String::new())
    } else {
        scalar_text(node)
    };
    let Some(text) = text else {
        findings.expected("a text", node, path);
        return None;
    };
    if text.is_empty() || is_name(&text) {
        return Some(text);
    }
    let text = text.escape_debug();
    findings.problem(
        node,
        path,
        format_args!(
            "`{text}` cannot be the value of a label (at most 63 letters, digits, `-`, `_` and `.`)"
        ),
    );
    None
}

fn check_key(node: &Node, key: &str, path: &str, findings: &mut Findings) {
    let (prefix, name) = key
        .split_once('/')
        .map_or((None, key), |(prefix, name)| (Some(prefix), name));
    if !is_name(name) || prefix.is_some_and(|prefix| !is_dns_subdomain(prefix)) {
        let key = key.escape_debug();
        findings.problem(
            node,
            path,
            format_args!("`{key}` cannot be the key of a label (a name such as `app`, or `example.com/app`)"),
        );
    }
}

/// Whether a text is what Kubernetes allows as a label's value and as the name in its key.
fn is_name(text: &str) -> bool {
    let is_edge = |byte: Option<u8>| byte.is_some_and(|byte| byte.is_ascii_alphanumeric());
    text.len() <= 63
        && text
            .bytes()
            .all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_' | b'.'))
        && is_edge(text.bytes().next())
        && is_edge(text.bytes().last())
}

//! What an entry says about the health of its objects, in the words of Flux.

use steersman_expressions::Expression;
use steersman_yaml::Node;

use super::fields::{Fields, Findings};
use crate::health::HealthCheck;
use crate::names::{is_dns_subdomain, is_kind, is_version};

pub(super) const FIELDS: &[&str] = &["apiVersion", "kind", "current", "inProgress", "failed"];

/// Reads and checks `healthChecks` of an entry. What is wrong with it is noted in `findings`.
pub(super) fn read_health_checks(fields: &Fields<'_>, findings: &mut Findings) -> Vec<HealthCheck> {
    let mut checks: Vec<(HealthCheck, u32)> = Vec::new();
    let items = fields.items("healthChecks", "health checks", findings);
    for (index, item) in items.iter().enumerate() {
        let path = format!("{}[{index}]", fields.key("healthChecks"));
        let Some(fields) = Fields::read_all(item, path, FIELDS, findings) else {
            continue;
        };
        let kind = kind_of(&fields, findings);
        if let Some((group, kind)) = &kind
            && let Some((_, line)) = checks.iter().find(|(known, _)| known.is_for(group, kind))
        {
            let message = format!("{kind} has a check on line {line} already: the version does not count");
            findings.problem(item, &fields.path, message);
        }
        let current = required(&fields, "current", findings);
        let in_progress = expression(&fields, "inProgress", findings);
        let failed = expression(&fields, "failed", findings);
        let (Some((group, kind)), Some(current)) = (kind, current) else {
            continue;
        };
        let check = HealthCheck {
            group,
            kind,
            current,
            in_progress,
            failed,
        };
        checks.push((check, item.line));
    }
    checks.into_iter().map(|(check, _)| check).collect()
}

/// The group and the kind.
fn kind_of(fields: &Fields<'_>, findings: &mut Findings) -> Option<(String, String)> {
    let group = text(fields, "apiVersion", findings).and_then(|(version, node)| {
        let (group, plain) = version.rsplit_once('/').unwrap_or(("", &version));
        let is_right = is_version(plain) && (!version.contains('/') || is_dns_subdomain(group));
        if !is_right {
            let message = format!(
                "`{}` is no apiVersion such as `example.com/v1`",
                version.escape_debug()
            );
            findings.problem(node, &fields.key("apiVersion"), message);
        }
        is_right.then(|| group.to_owned())
    });
    let kind = text(fields, "kind", findings).and_then(|(kind, node)| {
        if !is_kind(&kind) {
            let message = format!("`{}` is not a kind such as `Memcached`", kind.escape_debug());
            findings.problem(node, &fields.key("kind"), message);
        }
        is_kind(&kind).then_some(kind)
    });
    Some((group?, kind?))
}

/// A text that must be there.
fn text<'a>(fields: &Fields<'a>, field: &str, findings: &mut Findings) -> Option<(String, &'a Node)> {
    let is_empty = fields
        .get(field)
        .is_none_or(|(_, node)| node.as_str() == Some(""));
    if is_empty {
        let message = format!("`{field}` must not be empty");
        findings.problem(fields.node, &fields.path, message);
        return None;
    }
    fields.text(field, findings)
}

fn required(fields: &Fields<'_>, field: &str, findings: &mut Findings) -> Option<Expression> {
    let (source, node) = text(fields, field, findings)?;
    read(&source, node, &fields.key(field), findings)
}

/// An empty one is none, as in Flux.
fn expression(fields: &Fields<'_>, field: &str, findings: &mut Findings) -> Option<Expression> {
    let (source, node) = fields.text(field, findings)?;
    if source.is_empty() {
        return None;
    }
    read(&source, node, &fields.key(field), findings)
}

fn read(source: &str, node: &Node, key: &str, findings: &mut Findings) -> Option<Expression> {
    let read = Expression::parse(source);
    let read = read.map_err(|error| findings.problem(node, key, format_args!("no expression: {error}")));
    read.ok()
}

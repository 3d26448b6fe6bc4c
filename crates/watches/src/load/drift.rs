//! What an entry says about drift, in the words of Flux.

use std::fmt::Display;

use steersman_yaml::Node;

use super::fields::{Fields, Findings};
use crate::drift::{DriftDetection, DriftMode, FieldPath, IgnoreRule, Pattern, Target, parse_selector};

pub(super) const FIELDS: &[&str] = &["mode", "ignore"];
pub(super) const RULE_FIELDS: &[&str] = &["paths", "target"];
pub(super) const TARGET_FIELDS: &[&str] = &[
    "group",
    "version",
    "kind",
    "namespace",
    "name",
    "labelSelector",
    "annotationSelector",
];

/// Reads and checks `driftDetection`. What is wrong with it is noted in `findings`.
pub(super) fn read_drift_detection(node: &Node, path: String, findings: &mut Findings) -> DriftDetection {
    let Some(fields) = Fields::read(node, path, FIELDS, findings) else {
        return DriftDetection::default();
    };
    let mut drift = DriftDetection::default();
    if let Some((text, node)) = fields.text("mode", findings) {
        match text.as_str() {
            "enabled" => {}
            "warn" => drift.mode = DriftMode::Warn,
            "disabled" => drift.mode = DriftMode::Disabled,
            _ => {
                let message = format!(
                    "`{}` is none of `enabled`, `warn`, `disabled`",
                    text.escape_debug()
                );
                findings.problem(node, &fields.key("mode"), message);
            }
        }
    }
    let rules = fields.items("ignore", "rules", findings);
    for (index, item) in rules.iter().enumerate() {
        let path = format!("{}[{index}]", fields.key("ignore"));
        if let Some(rule) = Fields::read(item, path, RULE_FIELDS, findings) {
            drift.ignore.push(rule_of(&rule, findings));
        }
    }
    drift
}

fn rule_of(fields: &Fields<'_>, findings: &mut Findings) -> IgnoreRule {
    let mut paths = Vec::new();
    for item in fields.items("paths", "JSON pointers", findings) {
        let key = fields.key("paths");
        match item.as_str() {
            Some(text) => paths.extend(kept(FieldPath::parse(text), item, &key, findings)),
            None => findings.expected("a JSON pointer", item, &key),
        }
    }
    if fields.get("paths").is_none() {
        findings.problem(fields.node, &fields.path, "`paths` is missing");
    }
    let target = fields
        .get("target")
        .and_then(|(_, node)| read_target(node, fields.key("target"), findings));
    IgnoreRule {
        paths,
        target: target.unwrap_or_default(),
    }
}

/// Reads and checks a target. What is wrong with it is noted in `findings`.
pub(super) fn read_target(node: &Node, path: String, findings: &mut Findings) -> Option<Target> {
    let fields = Fields::read(node, path, TARGET_FIELDS, findings)?;
    Some(target_of(&fields, findings))
}

fn target_of(fields: &Fields<'_>, findings: &mut Findings) -> Target {
    let mut selector = |field: &str| {
        let (text, node) = fields.text(field, findings)?;
        kept(parse_selector(&text), node, &fields.key(field), findings)
    };
    let (labels, annotations) = (selector("labelSelector"), selector("annotationSelector"));
    let mut pattern = |field: &str| {
        let (text, node) = fields.text(field, findings)?;
        kept(Pattern::new(&text), node, &fields.key(field), findings)
    };
    Target {
        group: pattern("group"),
        version: pattern("version"),
        kind: pattern("kind"),
        namespace: pattern("namespace"),
        name: pattern("name"),
        labels,
        annotations,
    }
}

fn kept<T>(result: Result<T, impl Display>, node: &Node, key: &str, findings: &mut Findings) -> Option<T> {
    result.map_err(|error| findings.problem(node, key, error)).ok()
}

//! The conditions of each custom resource, as its status says them.

use kube::api::DynamicObject;
use prometheus::proto::Metric;
use serde_json::Value;

use super::resources::metric;

/// The name and the help of the family.
pub(super) const FAMILY: (&str, &str) = (
    "steersman_resource_condition",
    "Whether a condition of a resource is true (1) or not (0)",
);
pub(super) const LABELS: [&str; 7] = [
    "condition",
    "group",
    "kind",
    "name",
    "namespace",
    "reason",
    "version",
];

/// What is shown; the status has more that others need.
const SHOWN: [&str; 6] = [
    "Failure",
    "Irreconcilable",
    "Ready",
    "ReleaseFailed",
    "Stalled",
    "TestSuccess",
];
/// So long is no reason of ours.
const LONGEST_REASON: usize = 64;
const MOST: usize = 20;

/// A condition that is true, or is not.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Condition {
    kind: &'static str,
    is_true: bool,
    reason: Box<str>,
}

/// Those that the status of a resource has. Users may write it until the operator does, so that what it says is bounded.
pub(super) fn conditions_of(object: &DynamicObject) -> Box<[Condition]> {
    let found = object
        .data
        .pointer("/status/conditions")
        .and_then(Value::as_array);
    let found = found.into_iter().flatten().take(MOST);
    let mut shown: Vec<Condition> = found.filter_map(condition).collect();
    shown.sort_by_key(|condition| condition.kind);
    shown.dedup_by_key(|condition| condition.kind);
    shown.into_boxed_slice()
}

fn condition(value: &Value) -> Option<Condition> {
    let text = |key: &str| value.get(key).and_then(Value::as_str);
    let kind = text("type")?;
    let kind = SHOWN.into_iter().find(|shown| *shown == kind)?;
    let is_true = match text("status")? {
        "True" => true,
        "False" => false,
        _ => return None,
    };
    let is_reason = |reason: &&str| {
        reason.len() <= LONGEST_REASON && reason.chars().all(|letter| letter.is_ascii_alphanumeric())
    };
    let reason = text("reason").filter(is_reason).unwrap_or_default().into();
    Some(Condition {
        kind,
        is_true,
        reason,
    })
}

impl Condition {
    /// Its series, of a resource that is called so.
    pub(super) fn metric(&self, [group, kind, name, namespace, version]: [&str; 5]) -> Metric {
        let values = [self.kind, group, kind, name, namespace, &self.reason, version];
        let labels: Vec<_> = LABELS.into_iter().zip(values).collect();
        metric(&labels, f64::from(u8::from(self.is_true)))
    }
}

//! How a resource is, by what its status says.

use kube::api::DynamicObject;
use serde_json::Value;

/// How a resource is. The worst comes first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) enum Health {
    /// Only a change helps.
    Stalled,
    /// What was tried last has failed.
    Failed,
    /// What is deployed does not work.
    NotReady,
    /// It goes, and has not gone yet.
    Deleting,
    /// The operator is on it.
    Progressing,
    /// The operator has not seen the last change, or has said nothing.
    Unseen,
    /// It asks to be left alone.
    Paused,
    /// Everything is as it says, and works.
    Ready,
}

impl Health {
    /// All of them, the worst first.
    pub(crate) const ALL: [Self; 8] = [
        Self::Stalled,
        Self::Failed,
        Self::NotReady,
        Self::Deleting,
        Self::Progressing,
        Self::Unseen,
        Self::Paused,
        Self::Ready,
    ];

    /// As it is called on the page.
    pub(crate) fn word(self) -> &'static str {
        match self {
            Self::Stalled => "Stalled",
            Self::Failed => "Failed",
            Self::NotReady => "Not ready",
            Self::Deleting => "Deleting",
            Self::Progressing => "Progressing",
            Self::Unseen => "Not seen yet",
            Self::Paused => "Paused",
            Self::Ready => "Ready",
        }
    }

    /// As it is called in addresses and in the style.
    pub(crate) fn slug(self) -> &'static str {
        match self {
            Self::Stalled => "stalled",
            Self::Failed => "failed",
            Self::NotReady => "not-ready",
            Self::Deleting => "deleting",
            Self::Progressing => "progressing",
            Self::Unseen => "unseen",
            Self::Paused => "paused",
            Self::Ready => "ready",
        }
    }

    /// The one that is called so in addresses.
    pub(crate) fn parse(slug: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|health| health.slug() == slug)
    }
}

/// How a resource is, with the reason and the words of the condition that decides.
pub(crate) fn judge(object: &DynamicObject) -> (Health, &str, &str) {
    let conditions = object
        .data
        .pointer("/status/conditions")
        .and_then(Value::as_array);
    let find = |kind: &str, status: &str| {
        let mut all = conditions.into_iter().flatten();
        let found = all.find(|condition| condition["type"] == kind && condition["status"] == status)?;
        let text = |key: &str| found[key].as_str().unwrap_or_default();
        Some((text("reason"), text("message")))
    };
    let said = |health: Health, (reason, message)| (health, reason, message);
    let not_ready = find("Ready", "False");
    if object.metadata.deletion_timestamp.is_some() {
        let why = find("ReleaseFailed", "True").or(not_ready);
        return said(Health::Deleting, why.unwrap_or_default());
    }
    if let Some(found) = find("Paused", "True") {
        return said(Health::Paused, found);
    }
    let seen = object
        .data
        .pointer("/status/observedGeneration")
        .and_then(Value::as_i64);
    if seen.is_some_and(|seen| Some(seen) != object.metadata.generation) {
        return (Health::Unseen, "", "");
    }
    for (kind, health) in [
        ("Stalled", Health::Stalled),
        ("ReleaseFailed", Health::Failed),
        ("Irreconcilable", Health::Failed),
        ("Failure", Health::Failed),
    ] {
        if let Some(found) = find(kind, "True") {
            return said(health, found);
        }
    }
    if let Some(found) = find("Reconciling", "True") {
        // What is not ready yet says more of it.
        return said(Health::Progressing, not_ready.unwrap_or(found));
    }
    // helm-operator says no `Ready`.
    match (
        not_ready,
        find("Ready", "True").or_else(|| find("Deployed", "True")),
    ) {
        (Some(found), _) => said(Health::NotReady, found),
        (None, Some((reason, _))) => (Health::Ready, reason, ""),
        (None, None) => (Health::Unseen, "", ""),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn check(metadata: Value, status: Value, expect: (Health, &str, &str)) {
        let mut object = json!({"apiVersion": "a/v1", "kind": "Web", "metadata": metadata, "status": status});
        object["metadata"]["name"] = "shop".into();
        let object: DynamicObject = serde_json::from_value(object).unwrap();
        assert_eq!(judge(&object), expect, "{status}");
    }

    #[test]
    fn the_worst_condition_decides() {
        let condition = |kind: &str, status: &str| json!({"type": kind, "status": status, "reason": format!("{kind}Why"), "message": "so"});
        let with = |all: &[(&str, &str)]| {
            let all: Vec<Value> = all.iter().map(|(kind, status)| condition(kind, status)).collect();
            json!({"observedGeneration": 2, "conditions": all})
        };
        let now = || json!({"generation": 2});
        check(
            now(),
            with(&[("Ready", "False"), ("ReleaseFailed", "True"), ("Stalled", "True")]),
            (Health::Stalled, "StalledWhy", "so"),
        );
        check(
            now(),
            with(&[
                ("Ready", "False"),
                ("ReleaseFailed", "True"),
                ("Reconciling", "True"),
            ]),
            (Health::Failed, "ReleaseFailedWhy", "so"),
        );
        check(
            now(),
            with(&[("Ready", "True"), ("Paused", "True")]),
            (Health::Paused, "PausedWhy", "so"),
        );
        check(
            now(),
            with(&[("Ready", "False"), ("Reconciling", "True")]),
            (Health::Progressing, "ReadyWhy", "so"),
        );
        check(
            now(),
            with(&[("Ready", "False")]),
            (Health::NotReady, "ReadyWhy", "so"),
        );
        check(now(), with(&[("Ready", "True")]), (Health::Ready, "ReadyWhy", ""));
        check(
            json!({"generation": 3}),
            with(&[("Ready", "True")]),
            (Health::Unseen, "", ""),
        );
        check(now(), json!({}), (Health::Unseen, "", ""));
        check(
            now(),
            json!({"conditions": [condition("Deployed", "True")]}),
            (Health::Ready, "DeployedWhy", ""),
        );
        check(
            json!({"generation": 2, "deletionTimestamp": "2026-01-01T00:00:00Z"}),
            with(&[("Ready", "False")]),
            (Health::Deleting, "ReadyWhy", "so"),
        );
    }

    #[test]
    fn addresses_name_each_of_them() {
        for health in Health::ALL {
            assert_eq!(Health::parse(health.slug()), Some(health));
        }
        assert!(Health::ALL.is_sorted());
        assert_eq!(Health::parse("Ready"), None);
    }
}

//! What a custom resource tells of itself: whether it has changed, and how often to look at it.

use std::time::Duration;

use kube::api::DynamicObject;

use crate::duration::parse_duration;

const PERIOD_ANNOTATION: &str = "helm.sdk.operatorframework.io/reconcile-period";

/// Whether `object` is an earlier version than `known` of the same object.
pub(super) fn is_older(object: &DynamicObject, known: &DynamicObject) -> bool {
    let version = |object: &DynamicObject| object.metadata.resource_version.as_ref()?.parse::<u64>().ok();
    matches!((version(object), version(known)), (Some(new), Some(old)) if new < old)
}

/// Whether more than the status has changed.
pub(super) fn is_other(object: &DynamicObject, known: &DynamicObject) -> bool {
    let (new, old) = (&object.metadata, &known.metadata);
    new.generation != old.generation
        || new.deletion_timestamp != old.deletion_timestamp
        || new.finalizers != old.finalizers
        || new.annotations != old.annotations
        || new.labels != old.labels
        || object.data.get("spec") != known.data.get("spec")
}

/// How often to look at resources without a change and an annotation: the watch goes before the flag. `None` is
/// never.
pub(super) fn default_period(watch: Option<Duration>, flag: Option<Duration>) -> Option<Duration> {
    watch.or(flag).filter(|period| !period.is_zero())
}

/// How often to look at a resource without a change: its annotation goes before `default`.
pub(super) fn period_of(object: &DynamicObject, default: Option<Duration>) -> Option<Duration> {
    let Some(text) = object
        .metadata
        .annotations
        .as_ref()
        .and_then(|all| all.get(PERIOD_ANNOTATION))
    else {
        return default;
    };
    match parse_duration(text) {
        // Shorter ones would be a hot loop.
        Ok(period) if period.is_zero() => None,
        Ok(period) => Some(period.max(Duration::from_secs(1))),
        Err(error) => {
            let name = object.metadata.name.as_deref().unwrap_or_default();
            tracing::warn!(name, %error, "annotation {PERIOD_ANNOTATION} is ignored");
            default
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn object(value: serde_json::Value) -> DynamicObject {
        serde_json::from_value(value).unwrap()
    }

    #[test]
    fn a_status_alone_is_no_reason_to_reconcile() {
        let with = |version: &str, status: &str, generation: i64| {
            object(json!({"apiVersion": "a/v1", "kind": "A",
                "metadata": {"name": "a", "resourceVersion": version, "generation": generation}, "spec": {},
                "status": {"x": status}}))
        };
        assert!(!is_other(&with("2", "new", 1), &with("1", "old", 1)));
        assert!(is_other(&with("2", "old", 2), &with("1", "old", 1)));
        assert!(is_older(&with("9", "", 1), &with("10", "", 1)));
    }

    #[test]
    fn a_watch_sets_the_period_before_the_flag() {
        let seconds = |number| Some(Duration::from_secs(number));
        assert_eq!(default_period(seconds(5), seconds(60)), seconds(5));
        assert_eq!(default_period(None, seconds(60)), seconds(60));
        assert_eq!(default_period(seconds(0), seconds(60)), None);
        assert_eq!(default_period(None, seconds(0)), None);
        assert_eq!(default_period(None, None), None);
    }

    #[test]
    fn the_annotation_sets_the_period() {
        let with_nothing = || object(json!({"apiVersion": "a/v1", "kind": "A", "metadata": {"name": "a"}}));
        let with = |text: &str| {
            object(json!({"apiVersion": "a/v1", "kind": "A",
                "metadata": {"name": "a", "annotations": {PERIOD_ANNOTATION: text}}}))
        };
        let default = Some(Duration::from_mins(1));
        assert_eq!(period_of(&with_nothing(), default), default);
        assert_eq!(period_of(&with("30s"), default), Some(Duration::from_secs(30)));
        assert_eq!(period_of(&with("1ns"), default), Some(Duration::from_secs(1)));
        assert_eq!(period_of(&with("0s"), default), None);
        assert_eq!(period_of(&with("soon"), default), default);
    }
}

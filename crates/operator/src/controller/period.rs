//! How often to look at a custom resource.

use std::time::Duration;

use kube::api::DynamicObject;
use steersman_model::parse_duration;

const PERIOD_ANNOTATION: &str = "helm.sdk.operatorframework.io/reconcile-period";

/// How often to look at resources without a change and an annotation: the watch overrides the flag. `None` is
/// never.
pub(super) fn default_period(watch: Option<Duration>, flag: Option<Duration>) -> Option<Duration> {
    watch.or(flag).filter(|period| !period.is_zero())
}

/// How often to look at a resource without a change: its annotation overrides `default`.
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

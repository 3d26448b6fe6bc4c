//! How often a custom resource is looked at without a change.

use std::time::Duration;

use steersman_model::parse_duration;

/// How often to look at the resource `name` without a change: its annotation, by name and text, overrides `default`.
pub fn period_of(
    (annotation, text): (&str, Option<&str>),
    name: &str,
    default: Option<Duration>,
) -> Option<Duration> {
    let Some(text) = text else {
        return default;
    };
    match parse_duration(text) {
        // Shorter ones would be a hot loop.
        Ok(period) if period.is_zero() => None,
        Ok(period) => Some(period.max(Duration::from_secs(1))),
        Err(error) => {
            tracing::warn!(name, %error, "annotation {annotation} is ignored");
            default
        }
    }
}

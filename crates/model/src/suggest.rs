//! Which of the known names a misspelt one may stand for.

use strsim::osa_distance;

/// The known name nearest to `given`, if it is near: case, dashes and underscores aside, at most a third of the
/// letters differ.
///
/// ```
/// let known = &["reconcilePeriod", "selector"];
/// assert_eq!(steersman_model::suggest("reconcile-peroid", known), Some("reconcilePeriod"));
/// assert_eq!(steersman_model::suggest("chart", known), None);
/// ```
pub fn suggest(given: &str, known: &[&'static str]) -> Option<&'static str> {
    let given = normalized(given);
    let distance = |name: &str| osa_distance(&given, &normalized(name));
    let nearest = known.iter().copied().min_by_key(|name| distance(name))?;
    (distance(nearest) * 3 <= nearest.len()).then_some(nearest)
}

fn normalized(name: &str) -> String {
    // Longer names are no misspelling of ours, and the time below grows with the length.
    name.chars()
        .filter(|c| !matches!(c, '-' | '_' | ' '))
        .flat_map(char::to_lowercase)
        .take(64)
        .collect()
}

#[cfg(test)]
mod tests {
    use super::suggest;

    #[test]
    fn a_near_name_is_suggested() {
        let known = &[
            "group",
            "kind",
            "chart",
            "reconcilePeriod",
            "watchDependentResources",
        ];
        for (given, expect) in [
            ("charts", Some("chart")),
            ("hcart", Some("chart")),
            ("reconcile_period", Some("reconcilePeriod")),
            ("reconcilePeroid", Some("reconcilePeriod")),
            ("watchDependantResources", Some("watchDependentResources")),
            ("watchDependents", None),
            ("role", None),
            ("", None),
        ] {
            assert_eq!(suggest(given, known), expect, "{given}");
        }
    }
}

//! Kinds that an entry judges or looks at by expressions: whether the chart has objects of them.

use steersman_chart::survey::{HookUse, Survey};

use super::{Finding, Watched};

/// Whether the chart has objects of the kinds that are to be judged or looked at. Where it leaves kinds to values, nobody can tell.
pub(super) fn check(watched: &Watched, watches_file: &str, findings: &mut Vec<Finding>) {
    if watched.checked_kinds.is_empty() && watched.looked_at_kinds.is_empty() {
        return;
    }
    // What is wrong with the templates is said of the chart.
    let Ok(survey) = Survey::of(&watched.chart) else {
        return;
    };
    if !survey.undetermined.is_empty() {
        return;
    }
    let made = |group: &str, kind: &str| {
        survey.objects.iter().any(|object| {
            let of = object.api_version.rsplit_once('/').map_or("", |(group, _)| group);
            let is_of_release = object.sources.iter().any(|source| source.hook != HookUse::Always);
            (of, object.kind.as_str()) == (group, kind) && is_of_release
        })
    };
    let checked = watched.checked_kinds.iter();
    let checked = checked.map(|kind| (kind, "the health check for", "judges nothing"));
    let looked_at = watched.looked_at_kinds.iter();
    let looked_at = looked_at.map(|kind| (kind, "an expression that looks at", "finds nothing"));
    for ((group, kind), what, in_vain) in checked.chain(looked_at) {
        if made(group, kind) {
            continue;
        }
        let named = if group.is_empty() {
            kind.clone()
        } else {
            format!("{kind}.{group}")
        };
        let message = format!(
            "{what} {named} {in_vain}: the chart of {} {} makes no such object",
            watched.kind.api_version(),
            watched.kind.kind
        );
        findings.push(Finding::warning(watches_file, watched.line, message));
    }
}

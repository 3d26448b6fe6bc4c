//! Health checks of an entry: whether there is anything for them to judge.

use steersman_chart::survey::{HookUse, Survey};

use super::{Finding, Watched};

/// Whether the chart has objects of the kinds that are to be judged. Where it leaves kinds to values, nobody can tell.
pub(super) fn check(watched: &Watched, watches_file: &str, findings: &mut Vec<Finding>) {
    if watched.checked_kinds.is_empty() {
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
    for (group, kind) in &watched.checked_kinds {
        if made(group, kind) {
            continue;
        }
        let named = if group.is_empty() {
            kind.clone()
        } else {
            format!("{kind}.{group}")
        };
        let message = format!(
            "the health check for {named} judges nothing: the chart of {} {} makes no such object",
            watched.kind.api_version(),
            watched.kind.kind
        );
        findings.push(Finding::warning(watches_file, watched.line, message));
    }
}

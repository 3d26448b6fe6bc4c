//! Confinement: whether the author of a resource can reach whatever the operator can.

use steersman_chart::survey::expansions;

use super::{Finding, Watched};

/// How many places are named.
const PLACES: usize = 3;

/// Whether values become templates, and nothing limits what these look up and make.
pub(super) fn check(watched: &Watched, watches_file: &str, findings: &mut Vec<Finding>) {
    if watched.is_confined || watched.service_account.is_some() {
        return;
    }
    // What is wrong with the templates is said of the chart.
    let places = expansions(&watched.chart).unwrap_or_default();
    if places.is_empty() {
        return;
    }
    let shown: Vec<String> = places.iter().take(PLACES).map(ToString::to_string).collect();
    let more = match places.len().saturating_sub(PLACES) {
        0 => String::new(),
        more => format!(", and {more} more"),
    };
    let message = format!(
        "the chart of {} {} gives texts that values may have decided to tpl ({}{more}): who may write such a resource can \
         read and change whatever the operator can",
        watched.kind.api_version(),
        watched.kind.kind,
        shown.join(", "),
    );
    let hint = "`confine: {}` keeps its releases in their namespace, and `serviceAccountName` to the rights of an account";
    findings.push(Finding::warning(watches_file, watched.line, message).with_hint(hint));
}

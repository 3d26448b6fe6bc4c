//! What an operator lacks, said before a release fails for it.

use std::collections::BTreeSet;

use steersman_chart::survey::Survey;
use steersman_project::rbac::{
    Difference, Granted, Known, ResourceName, Rule, Rules, base_rules, compare, needed,
};

use super::{Permissions, custom_kind, known_to, options};
use crate::apply::chain;
use crate::discovery::Resource;
use crate::reconcile::Shared;
use crate::watches::Watch;

/// Logs a warning for each resource on which the client may not do what the releases of a watch may need. Nothing is said
/// where that is not known for certain.
///
/// The chart's templates are read on a thread of their own.
pub(crate) async fn tell_missing(
    permissions: &Permissions,
    shared: &Shared,
    watch: &Watch,
    resource: &Resource,
) {
    let unknown = |error: &dyn std::error::Error| {
        tracing::debug!(error = %chain(error), "Permissions are not compared with the chart");
    };
    let granted = match permissions.granted(&shared.client).await {
        Ok(granted) => granted,
        Err(error) => return unknown(&error),
    };
    let mut known = match shared.discovery.served().await {
        Ok(served) => known_to(&served),
        Err(error) => return unknown(&error),
    };
    // What is served was perhaps asked for before the kind of the watch was.
    let name = ResourceName {
        plural: resource.api.plural.clone(),
        is_namespaced: resource.namespaced,
    };
    known.insert(&watch.gvk.group, &watch.gvk.kind, name);
    let (gvk, watch, namespaces) = (&watch.gvk, watch.clone(), permissions.namespaces.clone());
    let search = tokio::task::spawn_blocking(move || missing(&watch, known, &namespaces, &granted));
    let found = search.await.unwrap_or_default();
    if found.is_empty() {
        tracing::debug!(apiVersion = %gvk.api_version(), kind = %gvk.kind, "No permission is missing");
    }
    for lack in found {
        tracing::warn!(
            apiVersion = %gvk.api_version(),
            kind = %gvk.kind,
            resource = %lack.resource,
            namespace = lack.namespace.as_deref().unwrap_or_default(),
            verbs = %lack.verbs.join(","),
            "A permission is missing: {}",
            lack.reason
        );
    }
}

fn missing(
    watch: &Watch,
    known: Known,
    namespaces: &BTreeSet<String>,
    granted: &[Granted],
) -> Vec<Difference> {
    // What cannot be parsed says so with each release.
    let Ok(survey) = Survey::of_templates(&watch.chart) else {
        return Vec::new();
    };
    let kind = custom_kind(watch, &known);
    let mut options = options(watch, known, true);
    let escalating = Rules::of_survey(&kind, &survey, &options).rules;
    // Whoever may write roles without having their rules need not have them.
    let escalation = escalating
        .iter()
        .filter(|rule| rule.verbs.iter().any(|verb| verb == "escalate"));
    let may_escalate = compare(granted, &needed(escalation, namespaces))
        .missing
        .is_empty();
    let of_chart = if may_escalate {
        escalating
    } else {
        options.allow_escalation = false;
        Rules::of_survey(&kind, &survey, &options).rules
    };
    let rules: Vec<Rule> = [base_rules(), of_chart].concat();
    let missing = compare(granted, &needed(&rules, namespaces)).missing;
    Difference::all(missing, &rules)
}

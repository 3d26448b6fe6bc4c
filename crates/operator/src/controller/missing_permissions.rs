//! What an operator lacks, said before a release fails for it.

use kube::Client;
use steersman_chart::survey::Survey;
use steersman_cluster::discovery::{Discovery, Resource};
use steersman_cluster::permissions::{Permissions, custom_kind, known_to, options};
use steersman_model::chain;
use steersman_project::rbac::{Known, Needs, ResourceName};
use steersman_watches::Watch;

/// Where the log says that this comes from; the reconciles of a controller have a logger of their own.
const TARGET: &str = "steersman_operator::permissions";

/// Logs a warning for each resource on which the client may not do what the releases of a watch may need. Nothing is said
/// where that is not known for certain.
///
/// The chart's templates are read on a thread of their own.
pub(crate) async fn warn_of_missing(
    permissions: &Permissions,
    client: &Client,
    discovery: &Discovery,
    watch: &Watch,
    resource: &Resource,
) {
    let unknown = |error: &(dyn std::error::Error + 'static)| {
        tracing::debug!(target: TARGET, error = %chain(error), "Permissions are not compared with the chart");
    };
    let mut known = match discovery.served().await {
        Ok(served) => known_to(&served),
        Err(error) => return unknown(&error),
    };
    // What is served was perhaps asked for before the kind of the watch was.
    let name = ResourceName {
        plural: resource.api.plural.clone(),
        is_namespaced: resource.namespaced,
    };
    known.insert(&watch.gvk.group, &watch.gvk.kind, name);
    let gvk = &watch.gvk;
    let survey = {
        let watch = watch.clone();
        tokio::task::spawn_blocking(move || needs_of(&watch, known)).await
    };
    // What cannot be parsed says so with each release.
    let Ok(Some(needs)) = survey else { return };
    let namespaces = needs.namespaces(permissions.namespaces());
    let found = match permissions.granted(client, &namespaces).await {
        Ok(granted) => needs.missing(permissions.namespaces(), &granted),
        Err(error) => return unknown(&error),
    };
    if found.is_empty() {
        tracing::debug!(target: TARGET, apiVersion = %gvk.api_version(), kind = %gvk.kind, "No permission is missing");
    }
    for lack in found {
        tracing::warn!(
            target: TARGET,
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

fn needs_of(watch: &Watch, known: Known) -> Option<Needs> {
    let survey = Survey::of_templates(&watch.chart).ok()?;
    let kind = custom_kind(watch, &known);
    Some(Needs::of_survey(&kind, &survey, &options(watch, known, false)))
}

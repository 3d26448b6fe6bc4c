//! What resources of a kind are called in paths and rules.

use std::collections::BTreeMap;
use std::sync::LazyLock;

use steersman_chart::survey::Survey;

use crate::CustomKind;

/// The version of Kubernetes whose own kinds are known.
pub const KUBERNETES: &str = "1.36.3";

/// How a kind is addressed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ResourceName {
    /// Such as `deployments`.
    pub plural: String,
    /// Whether its objects are in namespaces.
    pub is_namespaced: bool,
}

/// Resources by group and kind.
pub type Known = BTreeMap<(String, String), ResourceName>;

/// What is known of a kind's resource.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Resolved {
    /// This is its name.
    Is(ResourceName),
    /// The rules of English say that this is its name.
    Guessed(ResourceName),
    /// Kubernetes had it once.
    Removed,
}

/// Groups of Kubernetes that it no longer has.
const FORMER_GROUPS: &[&str] = &["extensions", "settings.k8s.io", "auditregistration.k8s.io"];

/// What Kubernetes' own kinds are called.
static TABLE: LazyLock<Known> = LazyLock::new(|| {
    let lines = include_str!("kubernetes.tsv")
        .lines()
        .filter(|line| !line.starts_with('#'));
    lines.filter_map(row).collect()
});

fn row(line: &str) -> Option<((String, String), ResourceName)> {
    let mut fields = line.split('\t').map(str::to_owned);
    let key = (fields.next()?, fields.next()?);
    let name = ResourceName {
        plural: fields.next()?,
        is_namespaced: fields.next()? == "true",
    };
    Some((key, name))
}

/// The resource of a kind: as the cluster, Kubernetes or the chart defines it, else by the rules of English.
pub(super) fn resolve(group: &str, kind: &str, survey: &Survey, known: &Known) -> Resolved {
    let key = (group.to_owned(), kind.to_owned());
    if let Some(name) = known.get(&key).or_else(|| TABLE.get(&key)) {
        return Resolved::Is(name.clone());
    }
    let is_defined = |definition: &&steersman_chart::survey::Definition| {
        definition.group == group && definition.kind == kind
    };
    if let Some(definition) = survey.definitions.iter().find(is_defined) {
        return Resolved::Is(ResourceName {
            plural: definition.plural.clone(),
            is_namespaced: definition.is_namespaced,
        });
    }
    let is_of_kubernetes = TABLE.keys().any(|(own, _)| own == group);
    if is_of_kubernetes || FORMER_GROUPS.contains(&group) {
        return Resolved::Removed;
    }
    Resolved::Guessed(ResourceName {
        plural: CustomKind::new(group, "v1", kind).plural,
        is_namespaced: true,
    })
}

/// The group of an `apiVersion`.
pub(super) fn group(api_version: &str) -> &str {
    api_version.split_once('/').map_or("", |(group, _)| group)
}

#[cfg(test)]
mod tests {
    use super::{Known, Resolved, resolve};
    use steersman_chart::survey::Survey;

    fn check(group: &str, kind: &str, expect: &str) {
        let found = match resolve(group, kind, &Survey::default(), &Known::default()) {
            Resolved::Is(name) => format!("{} {}", name.plural, name.is_namespaced),
            Resolved::Guessed(name) => format!("{}?", name.plural),
            Resolved::Removed => "removed".to_owned(),
        };
        assert_eq!(found, expect, "{group} {kind}");
    }

    #[test]
    fn kinds_of_kubernetes_are_known_and_others_guessed() {
        check("", "Endpoints", "endpoints true");
        check("apps", "Deployment", "deployments true");
        check("rbac.authorization.k8s.io", "ClusterRole", "clusterroles false");
        check("policy", "PodSecurityPolicy", "removed");
        check("extensions", "Ingress", "removed");
        check("monitoring.coreos.com", "ServiceMonitor", "servicemonitors?");
    }
}

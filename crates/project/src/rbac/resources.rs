//! What resources of a kind are called in paths and rules.

use std::collections::BTreeMap;
use std::sync::LazyLock;

use serde_json::Value as Json;
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
///
/// ```
/// use steersman_project::rbac::Known;
///
/// let deployments = Known::of_kubernetes().get("apps", "Deployment").expect("Kubernetes has it");
/// assert_eq!(deployments.plural, "deployments");
/// assert!(deployments.is_namespaced);
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Known(BTreeMap<(String, String), ResourceName>);

impl Known {
    /// Nothing is known.
    pub fn new() -> Self {
        Self::default()
    }

    /// The resources that the definitions in a text of YAML documents define. What is no definition is left out.
    pub fn of_definitions(text: &str) -> Self {
        let mut known = Self::new();
        for document in super::documents(text) {
            let text = |path: &str| document.pointer(path).and_then(Json::as_str);
            let names = (
                text("/spec/group"),
                text("/spec/names/kind"),
                text("/spec/names/plural"),
            );
            if let ("CustomResourceDefinition", (Some(group), Some(kind), Some(plural))) =
                (text("/kind").unwrap_or_default(), names)
            {
                let is_namespaced = text("/spec/scope") == Some("Namespaced");
                let plural = plural.to_owned();
                known.insert(
                    group,
                    kind,
                    ResourceName {
                        plural,
                        is_namespaced,
                    },
                );
            }
        }
        known
    }

    /// Kubernetes' own resources, in the version [`KUBERNETES`] and with every API on.
    pub fn of_kubernetes() -> &'static Self {
        &TABLE
    }

    /// Adds a resource.
    pub fn insert(&mut self, group: &str, kind: &str, name: ResourceName) {
        self.0.insert((group.to_owned(), kind.to_owned()), name);
    }

    /// Adds all resources of `other`.
    pub fn extend(&mut self, other: Self) {
        self.0.extend(other.0);
    }

    /// Group, kind and resource of each, in this order.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &str, &ResourceName)> {
        self.0
            .iter()
            .map(|((group, kind), name)| (group.as_str(), kind.as_str(), name))
    }

    /// `None` for a kind that this table lacks; its name may still follow from the rules of English.
    pub fn get(&self, group: &str, kind: &str) -> Option<&ResourceName> {
        self.0.get(&(group.to_owned(), kind.to_owned()))
    }
}

/// What is known of a kind's resource.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Resolved {
    /// The cluster, Kubernetes' own table or a definition of the chart has it.
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
    Known(lines.filter_map(row).collect())
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
    if let Some(name) = known.get(group, kind).or_else(|| TABLE.get(group, kind)) {
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
    let is_of_kubernetes = TABLE.0.keys().any(|(own, _)| own == group);
    if is_of_kubernetes || FORMER_GROUPS.contains(&group) {
        return Resolved::Removed;
    }
    Resolved::Guessed(ResourceName {
        plural: CustomKind::new(group, "v1", kind).plural,
        is_namespaced: true,
    })
}

/// `apps` of `apps/v1`; empty for the core group's `v1`.
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

//! The order of the output.

use crate::identity::{Gvk, Id};
use crate::kustomization::SortOptions;
use crate::resource::Resources;

/// Kinds that others need come first.
const FIRST: &[&str] = &[
    "Namespace",
    "ResourceQuota",
    "StorageClass",
    "CustomResourceDefinition",
    "ServiceAccount",
    "PodSecurityPolicy",
    "Role",
    "ClusterRole",
    "RoleBinding",
    "ClusterRoleBinding",
    "ConfigMap",
    "Secret",
    "Endpoints",
    "Service",
    "LimitRange",
    "PriorityClass",
    "PersistentVolume",
    "PersistentVolumeClaim",
    "Deployment",
    "StatefulSet",
    "CronJob",
    "PodDisruptionBudget",
];

/// Kinds that would stop others come last.
const LAST: &[&str] = &["MutatingWebhookConfiguration", "ValidatingWebhookConfiguration"];

/// Sorts objects by kind and name, or leaves them in the order in which they came where the kustomization says so.
pub(crate) fn sort(resources: &mut Resources, options: Option<&SortOptions>) -> Result<(), String> {
    let lists = options.and_then(|options| options.legacy_sort_options.as_ref());
    match options.map(|options| options.order.as_str()) {
        None | Some("legacy") => {}
        Some("fifo") if lists.is_none() => return Ok(()),
        Some("fifo") => return Err("`legacySortOptions` are for the order `legacy`".to_owned()),
        Some(_) => return Err("`order` has to be `legacy` or `fifo`".to_owned()),
    }
    let own = |kinds: &[&str]| kinds.iter().map(|kind| (*kind).to_owned()).collect::<Vec<_>>();
    let (first, last) = match lists {
        Some(lists) => (lists.order_first.clone(), lists.order_last.clone()),
        None => (own(FIRST), own(LAST)),
    };
    let rank = |kind: &str| match (
        last.iter().position(|other| other == kind),
        first.iter().position(|other| other == kind),
    ) {
        (Some(place), _) => 1 + place as i64,
        (None, Some(place)) => place as i64 - first.len() as i64,
        (None, None) => 0,
    };
    resources.0.sort_by_cached_key(|resource| {
        let id = resource.current_id();
        (rank(&id.gvk.kind), kind_key(&id.gvk), name_key(&id))
    });
    Ok(())
}

fn or<'a>(text: &'a str, default: &'a str) -> &'a str {
    if text.is_empty() { default } else { text }
}

fn kind_key(gvk: &Gvk) -> String {
    [or(&gvk.group, "~G"), or(&gvk.version, "~V"), or(&gvk.kind, "~K")].join("_")
}

fn name_key(id: &Id) -> String {
    [or(&id.namespace, "~X"), or(&id.name, "~N")].join("|")
}

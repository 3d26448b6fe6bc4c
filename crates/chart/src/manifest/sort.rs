//! Helm's order of kinds.

use std::cmp::Ordering;

/// The order in which kinds are installed; those not named come last, by name.
const INSTALL: &[&str] = &[
    "PriorityClass",
    "Namespace",
    "NetworkPolicy",
    "ResourceQuota",
    "LimitRange",
    "PodSecurityPolicy",
    "PodDisruptionBudget",
    "ServiceAccount",
    "Secret",
    "SecretList",
    "ConfigMap",
    "StorageClass",
    "PersistentVolume",
    "PersistentVolumeClaim",
    "CustomResourceDefinition",
    "ClusterRole",
    "ClusterRoleList",
    "ClusterRoleBinding",
    "ClusterRoleBindingList",
    "Role",
    "RoleList",
    "RoleBinding",
    "RoleBindingList",
    "Service",
    "DaemonSet",
    "Pod",
    "ReplicationController",
    "ReplicaSet",
    "Deployment",
    "HorizontalPodAutoscaler",
    "StatefulSet",
    "Job",
    "CronJob",
    "IngressClass",
    "Ingress",
    "APIService",
    "MutatingWebhookConfiguration",
    "ValidatingWebhookConfiguration",
];

/// The order in which kinds are uninstalled; those not named come last, by name.
const UNINSTALL: &[&str] = &[
    "ValidatingWebhookConfiguration",
    "MutatingWebhookConfiguration",
    "APIService",
    "Ingress",
    "IngressClass",
    "Service",
    "CronJob",
    "Job",
    "StatefulSet",
    "HorizontalPodAutoscaler",
    "Deployment",
    "ReplicaSet",
    "ReplicationController",
    "Pod",
    "DaemonSet",
    "RoleBindingList",
    "RoleBinding",
    "RoleList",
    "Role",
    "ClusterRoleBindingList",
    "ClusterRoleBinding",
    "ClusterRoleList",
    "ClusterRole",
    "CustomResourceDefinition",
    "PersistentVolumeClaim",
    "PersistentVolume",
    "StorageClass",
    "ConfigMap",
    "SecretList",
    "Secret",
    "ServiceAccount",
    "PodDisruptionBudget",
    "PodSecurityPolicy",
    "LimitRange",
    "ResourceQuota",
    "NetworkPolicy",
    "Namespace",
    "PriorityClass",
];

/// Whether objects of kind `a` are installed before those of kind `b`. A stable sort by this
/// keeps the order of the chart among objects of one kind.
///
/// ```
/// use steersman_chart::manifest::install_order;
///
/// let mut kinds = ["Deployment", "Service", "Widget", "Namespace"];
/// kinds.sort_by(|a, b| install_order(a, b));
/// assert_eq!(kinds, ["Namespace", "Service", "Deployment", "Widget"]);
/// ```
pub fn install_order(a: &str, b: &str) -> Ordering {
    compare(INSTALL, a, b)
}

/// Whether objects of kind `a` are uninstalled before those of kind `b`.
pub fn uninstall_order(a: &str, b: &str) -> Ordering {
    compare(UNINSTALL, a, b)
}

fn compare(order: &[&str], a: &str, b: &str) -> Ordering {
    let place = |kind: &str| order.iter().position(|known| *known == kind);
    match (place(a), place(b)) {
        (None, None) => a.cmp(b),
        (None, Some(_)) => Ordering::Greater,
        (Some(_), None) => Ordering::Less,
        (Some(first), Some(second)) => first.cmp(&second),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(order: fn(&str, &str) -> Ordering, kinds: &[&str], expect: &[&str]) {
        let mut sorted = kinds.to_vec();
        sorted.sort_by(|a, b| order(a, b));
        assert_eq!(sorted, expect);
    }

    #[test]
    fn unknown_kinds_are_installed_last_by_name() {
        check(
            install_order,
            &["Widget", "Deployment", "Certificate", "Namespace"],
            &["Namespace", "Deployment", "Certificate", "Widget"],
        );
    }

    #[test]
    fn services_are_uninstalled_before_what_they_lead_to() {
        check(
            uninstall_order,
            &["Namespace", "Deployment", "Service"],
            &["Service", "Deployment", "Namespace"],
        );
    }
}

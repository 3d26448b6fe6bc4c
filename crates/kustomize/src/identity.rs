//! What tells one object from another.

use serde_json::{Map, Value};

/// A group, version and kind; in a selector, what is empty stands for anything.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(crate) struct Gvk {
    pub(crate) group: String,
    pub(crate) version: String,
    pub(crate) kind: String,
}

impl Gvk {
    pub(crate) fn of(object: &Map<String, Value>) -> Self {
        let text = |field: &str| object.get(field).and_then(Value::as_str).unwrap_or_default();
        let (group, version) = split_api_version(text("apiVersion"));
        Self {
            group: group.to_owned(),
            version: version.to_owned(),
            kind: text("kind").to_owned(),
        }
    }

    /// Whether a selector means this kind.
    pub(crate) fn is_selected_by(&self, selector: &Gvk) -> bool {
        let fits = |want: &str, have: &str| want.is_empty() || want == have;
        fits(&selector.group, &self.group)
            && fits(&selector.version, &self.version)
            && fits(&selector.kind, &self.kind)
    }

    /// Whether objects are certainly of the whole cluster. Kinds that kustomize does not know count as namespaced.
    pub(crate) fn is_cluster_scoped(&self) -> bool {
        CLUSTER_SCOPED.iter().any(|(group, versions, kinds)| {
            self.group == *group
                && versions.contains(&self.version.as_str())
                && kinds.contains(&self.kind.as_str())
        })
    }
}

/// Group and version of an `apiVersion`.
pub(crate) fn split_api_version(api_version: &str) -> (&str, &str) {
    api_version.split_once('/').unwrap_or(("", api_version))
}

/// The kinds of the whole cluster that kustomize knows: those of Kubernetes 1.21.
const CLUSTER_SCOPED: &[(&str, &[&str], &[&str])] = &[
    (
        "",
        &["v1"],
        &[
            "ComponentStatus",
            "Namespace",
            "Node",
            "NodeProxyOptions",
            "PersistentVolume",
        ],
    ),
    (
        "admissionregistration.k8s.io",
        &["v1", "v1beta1"],
        &["MutatingWebhookConfiguration", "ValidatingWebhookConfiguration"],
    ),
    (
        "apiextensions.k8s.io",
        &["v1", "v1beta1"],
        &["CustomResourceDefinition"],
    ),
    ("apiregistration.k8s.io", &["v1", "v1beta1"], &["APIService"]),
    (
        "certificates.k8s.io",
        &["v1", "v1beta1"],
        &["CertificateSigningRequest"],
    ),
    (
        "flowcontrol.apiserver.k8s.io",
        &["v1beta1"],
        &["FlowSchema", "PriorityLevelConfiguration"],
    ),
    ("networking.k8s.io", &["v1", "v1beta1"], &["IngressClass"]),
    ("node.k8s.io", &["v1", "v1beta1"], &["RuntimeClass"]),
    ("policy", &["v1beta1"], &["PodSecurityPolicy"]),
    (
        "rbac.authorization.k8s.io",
        &["v1", "v1beta1"],
        &["ClusterRole", "ClusterRoleBinding"],
    ),
    ("scheduling.k8s.io", &["v1", "v1beta1"], &["PriorityClass"]),
    (
        "storage.k8s.io",
        &["v1", "v1beta1"],
        &["CSIDriver", "CSINode", "StorageClass", "VolumeAttachment"],
    ),
];

/// The namespace in which kustomize groups objects without any.
const CLUSTER: &str = "_non_namespaceable_";

/// Kind, name and namespace of an object, now or before a transformation.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(crate) struct Id {
    pub(crate) gvk: Gvk,
    pub(crate) name: String,
    pub(crate) namespace: String,
}

impl Id {
    /// The namespace for comparisons: no namespace means `default`, but for kinds of the whole cluster.
    pub(crate) fn effective_namespace(&self) -> &str {
        if self.gvk.is_cluster_scoped() {
            CLUSTER
        } else if self.namespace.is_empty() {
            "default"
        } else {
            &self.namespace
        }
    }

    pub(crate) fn is_same_as(&self, other: &Id) -> bool {
        self.name == other.name
            && self.gvk == other.gvk
            && self.effective_namespace() == other.effective_namespace()
    }

    /// Whether a selector, in which what is empty stands for anything, means this object.
    pub(crate) fn is_selected_by(&self, selector: &Id) -> bool {
        (selector.name.is_empty() || selector.name == self.name)
            && (selector.namespace.is_empty() || selector.effective_namespace() == self.effective_namespace())
            && self.gvk.is_selected_by(&selector.gvk)
    }
}

impl std::fmt::Display for Id {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} `{}`", self.gvk.kind, self.name)?;
        if !self.namespace.is_empty() {
            write!(f, " in namespace `{}`", self.namespace)?;
        }
        Ok(())
    }
}

//! What templates know about the cluster and about Helm: `.Capabilities`.

/// What a chart can ask about where it is installed: `.Capabilities` in templates.
///
/// ```
/// use steersman_chart::{ApiVersions, Capabilities, KubeVersion};
///
/// let capabilities = Capabilities {
///     kube_version: KubeVersion::parse("1.33")?,
///     api_versions: ApiVersions(vec!["v1".to_owned(), "apps/v1/Deployment".to_owned()]),
///     ..Capabilities::default()
/// };
/// assert_eq!(capabilities.kube_version.minor, "33");
/// assert!(capabilities.api_versions.contains("apps/v1/Deployment"));
/// # Ok::<(), steersman_chart::ValuesError>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Capabilities {
    /// The version of Kubernetes.
    pub kube_version: KubeVersion,
    /// What the cluster serves.
    pub api_versions: ApiVersions,
    /// The version of Helm that is stood in for.
    pub helm_version: HelmVersion,
}

/// A version of Kubernetes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KubeVersion {
    /// In full, such as `v1.33.4-gke.1245000`.
    pub version: String,
    /// For constraints, such as `v1.33.4`; empty where it is the same as `version`.
    pub normalized: String,
    /// The first number.
    pub major: String,
    /// The second number; some clusters add a `+`.
    pub minor: String,
}

/// The API versions (`apps/v1`) and kinds (`apps/v1/Deployment`) that a cluster serves, in the
/// order in which templates see them.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ApiVersions(pub Vec<String>);

/// The Helm that templates believe to be rendered by: `.Capabilities.HelmVersion`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HelmVersion {
    /// With a `v`: `v4.3.1`.
    pub version: String,
    /// The commit that Helm was built from.
    pub git_commit: String,
    /// Whether that commit was changed.
    pub git_tree_state: String,
    /// The version of Go that Helm was built with.
    pub go_version: String,
    /// The version of Kubernetes whose client Helm was built with.
    pub kube_client_version: String,
}

impl ApiVersions {
    /// Whether this version or kind is served.
    pub fn contains(&self, api_version: &str) -> bool {
        self.0.iter().any(|known| known == api_version)
    }
}

impl KubeVersion {
    /// The version that constraints are checked against.
    pub fn normalized(&self) -> &str {
        if self.normalized.is_empty() {
            &self.version
        } else {
            &self.normalized
        }
    }

    /// Reads a version as `--kube-version` takes it: at least `MAJOR.MINOR`, with or without a
    /// leading `v`, and with any suffix.
    ///
    /// # Errors
    /// The text does not begin with two or three numbers.
    pub fn parse(text: &str) -> Result<Self, crate::ValuesError> {
        let trimmed = text.trim();
        let bare = trimmed.strip_prefix('v').unwrap_or(trimmed);
        let end = bare
            .find(|c: char| !c.is_ascii_digit() && c != '.')
            .unwrap_or(bare.len());
        let numbers = bare.get(..end).unwrap_or_default().trim_end_matches('.');
        let parts: Vec<u64> = numbers
            .split('.')
            .map(str::parse)
            .collect::<Result<_, _>>()
            .map_err(|_| crate::ValuesError(format!("could not parse {text:?} as version")))?;
        let (Some(major), Some(minor)) = (parts.first(), parts.get(1)) else {
            return Err(crate::ValuesError(format!("illegal version string {text:?}")));
        };
        let normalized = format!("v{numbers}");
        let version = if text.starts_with('v') {
            text.to_owned()
        } else {
            format!("v{text}")
        };
        Ok(Self {
            version,
            normalized,
            major: major.to_string(),
            minor: minor.to_string(),
        })
    }
}

impl Default for Capabilities {
    /// What `helm template` of Helm 4.3.1 assumes without flags.
    fn default() -> Self {
        Self {
            kube_version: KubeVersion {
                version: "v1.37.0".to_owned(),
                normalized: "v1.37.0".to_owned(),
                major: "1".to_owned(),
                minor: "37".to_owned(),
            },
            api_versions: ApiVersions(BUILT_IN.iter().map(|&name| name.to_owned()).collect()),
            helm_version: HelmVersion::default(),
        }
    }
}

impl Default for HelmVersion {
    fn default() -> Self {
        Self {
            version: "v4.3.1".to_owned(),
            git_commit: String::new(),
            git_tree_state: String::new(),
            go_version: "go1.26.8".to_owned(),
            kube_client_version: "v1.37".to_owned(),
        }
    }
}

/// The groups and versions that Helm 4.3.1 is built with, in its order.
const BUILT_IN: &[&str] = &[
    "v1",
    "admissionregistration.k8s.io/v1",
    "admissionregistration.k8s.io/v1alpha1",
    "admissionregistration.k8s.io/v1beta1",
    "internal.apiserver.k8s.io/v1alpha1",
    "apps/v1",
    "apps/v1beta1",
    "apps/v1beta2",
    "authentication.k8s.io/v1",
    "authentication.k8s.io/v1alpha1",
    "authentication.k8s.io/v1beta1",
    "authorization.k8s.io/v1",
    "authorization.k8s.io/v1beta1",
    "autoscaling/v1",
    "autoscaling/v2",
    "batch/v1",
    "batch/v1beta1",
    "certificates.k8s.io/v1",
    "certificates.k8s.io/v1beta1",
    "certificates.k8s.io/v1alpha1",
    "coordination.k8s.io/v1alpha2",
    "coordination.k8s.io/v1beta1",
    "coordination.k8s.io/v1",
    "discovery.k8s.io/v1",
    "discovery.k8s.io/v1beta1",
    "events.k8s.io/v1",
    "events.k8s.io/v1beta1",
    "extensions/v1beta1",
    "flowcontrol.apiserver.k8s.io/v1",
    "flowcontrol.apiserver.k8s.io/v1beta1",
    "flowcontrol.apiserver.k8s.io/v1beta2",
    "flowcontrol.apiserver.k8s.io/v1beta3",
    "lifecycle.k8s.io/v1alpha1",
    "networking.k8s.io/v1",
    "networking.k8s.io/v1beta1",
    "node.k8s.io/v1",
    "node.k8s.io/v1alpha1",
    "node.k8s.io/v1beta1",
    "policy/v1",
    "policy/v1beta1",
    "rbac.authorization.k8s.io/v1",
    "rbac.authorization.k8s.io/v1beta1",
    "rbac.authorization.k8s.io/v1alpha1",
    "resource.k8s.io/v1",
    "resource.k8s.io/v1beta2",
    "resource.k8s.io/v1beta1",
    "resource.k8s.io/v1alpha3",
    "scheduling.k8s.io/v1alpha3",
    "scheduling.k8s.io/v1beta1",
    "scheduling.k8s.io/v1",
    "storage.k8s.io/v1beta1",
    "storage.k8s.io/v1",
    "storage.k8s.io/v1alpha1",
    "storagemigration.k8s.io/v1",
    "storagemigration.k8s.io/v1beta1",
    "apiextensions.k8s.io/v1beta1",
    "apiextensions.k8s.io/v1",
];

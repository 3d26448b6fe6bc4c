//! Which lists of Kubernetes' own kinds are merged item by item, and by which keys: those of Kubernetes 1.21, which
//! kustomize 5 goes by, and those that have come since.

use crate::identity::Gvk;
use serde_json::{Map, Value};

/// What is known of a value.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Shape {
    /// Nothing: maps are merged, lists replaced.
    Unknown,
    /// A map, some of whose fields are known.
    Map(&'static [(&'static str, Shape)]),
    /// A list whose items find their counterparts, instead of all being replaced.
    List(List),
    /// What kustomize 5 does not know.
    Newer(&'static Shape),
}

/// Whose lists are known.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Edition {
    /// Those that kustomize 5 knows: what a build prints is what it prints.
    Kustomize,
    /// Those that Kubernetes has got since, too.
    Kubernetes,
}

/// How items of two lists are paired, as containers are by their `name`.
#[derive(Debug, Clone, Copy)]
pub(crate) struct List {
    /// What tells items from each other; nothing where the items are scalars.
    pub(crate) keys: &'static [&'static str],
    /// What is known of the items.
    pub(crate) items: &'static Shape,
}

impl Shape {
    /// What is known of a field.
    pub(crate) fn field(self, name: &str, edition: Edition) -> Shape {
        let Self::Map(fields) = self else {
            return Self::Unknown;
        };
        let known = fields.iter().find(|(field, _)| *field == name);
        match known.map_or(Self::Unknown, |(_, shape)| *shape) {
            Self::Newer(_) if edition == Edition::Kustomize => Self::Unknown,
            Self::Newer(shape) => *shape,
            shape => shape,
        }
    }

    /// The list, where the value is one that is merged.
    pub(crate) fn list(self) -> Option<List> {
        match self {
            Self::List(list) => Some(list),
            Self::Unknown | Self::Map(_) | Self::Newer(_) => None,
        }
    }

    /// This shape, or where nothing is known yet, that of the kind which one of two objects names.
    pub(crate) fn or_of(
        self,
        object: &Map<String, Value>,
        patch: &Map<String, Value>,
        edition: Edition,
    ) -> Shape {
        match self {
            Self::Unknown => of_kind(&Gvk::of(object), edition)
                .or_else(|| of_kind(&Gvk::of(patch), edition))
                .unwrap_or(Self::Unknown),
            known => known,
        }
    }
}

const fn list(keys: &'static [&'static str], items: &'static Shape) -> Shape {
    Shape::List(List { keys, items })
}

const fn plain(keys: &'static [&'static str]) -> Shape {
    list(keys, &Shape::Unknown)
}

const METADATA: Shape = Shape::Map(&[("finalizers", plain(&[])), ("ownerReferences", plain(&["uid"]))]);

const CONTAINER: Shape = Shape::Map(&[
    ("env", plain(&["name"])),
    ("ports", plain(&["containerPort", "protocol"])),
    ("volumeDevices", plain(&["devicePath"])),
    ("volumeMounts", plain(&["mountPath"])),
]);

const EPHEMERAL_CONTAINER: Shape = Shape::Map(&[
    ("env", plain(&["name"])),
    ("volumeDevices", plain(&["devicePath"])),
    ("volumeMounts", plain(&["mountPath"])),
]);

const POD_SPEC: Shape = Shape::Map(&[
    ("containers", list(&["name"], &CONTAINER)),
    ("initContainers", list(&["name"], &CONTAINER)),
    ("ephemeralContainers", list(&["name"], &EPHEMERAL_CONTAINER)),
    ("hostAliases", plain(&["ip"])),
    ("imagePullSecrets", plain(&["name"])),
    ("resourceClaims", Shape::Newer(&plain(&["name"]))),
    ("schedulingGates", Shape::Newer(&plain(&["name"]))),
    (
        "topologySpreadConstraints",
        plain(&["topologyKey", "whenUnsatisfiable"]),
    ),
    ("volumes", plain(&["name"])),
]);

const POD_TEMPLATE: Shape = Shape::Map(&[("metadata", METADATA), ("spec", POD_SPEC)]);

const CONDITIONS: Shape = Shape::Map(&[("conditions", plain(&["type"]))]);

const WITH_TEMPLATE: Shape = Shape::Map(&[
    ("metadata", METADATA),
    ("spec", Shape::Map(&[("template", POD_TEMPLATE)])),
    ("status", CONDITIONS),
]);

const CRON_JOB: Shape = Shape::Map(&[
    ("metadata", METADATA),
    (
        "spec",
        Shape::Map(&[(
            "jobTemplate",
            Shape::Map(&[
                ("metadata", METADATA),
                ("spec", Shape::Map(&[("template", POD_TEMPLATE)])),
            ]),
        )]),
    ),
]);

const WEBHOOK: Shape = Shape::Map(&[("matchConditions", Shape::Newer(&plain(&["name"])))]);

const WEBHOOKS: Shape = Shape::Map(&[("metadata", METADATA), ("webhooks", list(&["name"], &WEBHOOK))]);

const VALIDATING_POLICY: Shape = Shape::Map(&[
    ("metadata", METADATA),
    (
        "spec",
        Shape::Map(&[
            ("matchConditions", plain(&["name"])),
            ("variables", plain(&["name"])),
        ]),
    ),
]);

const OTHER: Shape = Shape::Map(&[("metadata", METADATA)]);

/// Kinds with lists of their own: group, versions, kind.
const KINDS: &[(&str, &[&str], &str, Shape)] = &[
    (
        "",
        &["v1"],
        "Pod",
        Shape::Map(&[("metadata", METADATA), ("spec", POD_SPEC), ("status", CONDITIONS)]),
    ),
    (
        "",
        &["v1"],
        "PodTemplate",
        Shape::Map(&[("metadata", METADATA), ("template", POD_TEMPLATE)]),
    ),
    ("", &["v1"], "ReplicationController", WITH_TEMPLATE),
    (
        "",
        &["v1"],
        "Service",
        Shape::Map(&[
            ("metadata", METADATA),
            ("spec", Shape::Map(&[("ports", plain(&["port", "protocol"]))])),
            ("status", CONDITIONS),
        ]),
    ),
    (
        "",
        &["v1"],
        "ServiceAccount",
        Shape::Map(&[("metadata", METADATA), ("secrets", plain(&["name"]))]),
    ),
    ("apps", &["v1"], "Deployment", WITH_TEMPLATE),
    ("apps", &["v1"], "ReplicaSet", WITH_TEMPLATE),
    ("apps", &["v1"], "DaemonSet", WITH_TEMPLATE),
    ("apps", &["v1"], "StatefulSet", WITH_TEMPLATE),
    ("batch", &["v1"], "Job", WITH_TEMPLATE),
    ("batch", &["v1", "v1beta1"], "CronJob", CRON_JOB),
    (
        "admissionregistration.k8s.io",
        &["v1", "v1beta1"],
        "MutatingWebhookConfiguration",
        WEBHOOKS,
    ),
    (
        "admissionregistration.k8s.io",
        &["v1", "v1beta1"],
        "ValidatingWebhookConfiguration",
        WEBHOOKS,
    ),
];

/// Groups and versions of which only the metadata has lists that are merged.
const BUILT_IN: &[(&str, &[&str])] = &[
    ("", &["v1"]),
    ("admissionregistration.k8s.io", &["v1", "v1beta1"]),
    ("apiextensions.k8s.io", &["v1", "v1beta1"]),
    ("apiregistration.k8s.io", &["v1", "v1beta1"]),
    ("apps", &["v1"]),
    ("autoscaling", &["v1", "v2beta1", "v2beta2"]),
    ("batch", &["v1", "v1beta1"]),
    ("certificates.k8s.io", &["v1", "v1beta1"]),
    ("coordination.k8s.io", &["v1", "v1beta1"]),
    ("discovery.k8s.io", &["v1", "v1beta1"]),
    ("networking.k8s.io", &["v1", "v1beta1"]),
    ("node.k8s.io", &["v1", "v1beta1"]),
    ("policy", &["v1", "v1beta1"]),
    ("rbac.authorization.k8s.io", &["v1", "v1beta1"]),
    ("scheduling.k8s.io", &["v1", "v1beta1"]),
    ("storage.k8s.io", &["v1", "v1beta1"]),
];

/// Kinds with lists of their own that have come since.
const NEWER_KINDS: &[(&str, &[&str], &str, Shape)] = &[
    (
        "admissionregistration.k8s.io",
        &["v1", "v1beta1"],
        "ValidatingAdmissionPolicy",
        VALIDATING_POLICY,
    ),
    (
        "admissionregistration.k8s.io",
        &["v1", "v1beta1", "v1alpha1"],
        "MutatingAdmissionPolicy",
        Shape::Map(&[
            ("metadata", METADATA),
            ("spec", Shape::Map(&[("matchConditions", plain(&["name"]))])),
        ]),
    ),
];

/// Groups and versions that have come since.
const NEWER_BUILT_IN: &[(&str, &[&str])] = &[
    ("autoscaling", &["v2"]),
    ("flowcontrol.apiserver.k8s.io", &["v1"]),
    ("resource.k8s.io", &["v1", "v1beta1", "v1beta2"]),
];

fn of_kind(gvk: &Gvk, edition: Edition) -> Option<Shape> {
    if gvk.kind.is_empty() {
        return None;
    }
    let version = gvk.version.as_str();
    let is_of = |group: &str, versions: &[&str]| gvk.group == group && versions.contains(&version);
    let is_newer_known = edition == Edition::Kubernetes;
    let newer_kinds = NEWER_KINDS.iter().filter(|_| is_newer_known);
    let own = newer_kinds
        .chain(KINDS)
        .find(|(group, versions, kind, _)| is_of(group, versions) && gvk.kind == *kind);
    if let Some((_, _, _, shape)) = own {
        return Some(*shape);
    }
    let newer_groups = NEWER_BUILT_IN.iter().filter(|_| is_newer_known);
    let mut groups = newer_groups.chain(BUILT_IN);
    groups
        .any(|(group, versions)| is_of(group, versions))
        .then_some(OTHER)
}

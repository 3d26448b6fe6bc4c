//! The fields that kustomize changes in the kinds it knows. The tables are those of kustomize 5.

use crate::field::FieldSpec;

/// The templates of pods, and where pods have their labels and annotations: kind, group and the way there.
const POD_TEMPLATES: &[(&str, &str, &str)] = &[
    ("ReplicationController", "", "spec/template"),
    ("Deployment", "", "spec/template"),
    ("ReplicaSet", "", "spec/template"),
    ("DaemonSet", "", "spec/template"),
    ("StatefulSet", "apps", "spec/template"),
    ("Job", "batch", "spec/template"),
    ("CronJob", "batch", "spec/jobTemplate"),
    ("CronJob", "batch", "spec/jobTemplate/spec/template"),
];

/// The labels of objects and of what they make.
pub(crate) fn metadata_labels() -> Vec<FieldSpec> {
    let mut fields = vec![FieldSpec::new("", "", "", "metadata/labels", true)];
    fields.extend(POD_TEMPLATES.iter().map(|(kind, group, path)| {
        FieldSpec::new(
            group,
            version_of(kind),
            kind,
            &format!("{path}/metadata/labels"),
            true,
        )
    }));
    fields.push(FieldSpec::new(
        "apps",
        "",
        "StatefulSet",
        "spec/volumeClaimTemplates[]/metadata/labels",
        true,
    ));
    fields
}

fn version_of(kind: &str) -> &'static str {
    if kind == "ReplicationController" { "v1" } else { "" }
}

/// Labels and all selectors that have to go with them.
pub(crate) fn common_labels() -> Vec<FieldSpec> {
    let mut fields = vec![
        FieldSpec::new("", "v1", "Service", "spec/selector", true),
        FieldSpec::new("", "v1", "ReplicationController", "spec/selector", true),
    ];
    for (group, kind, create) in [
        ("", "Deployment", true),
        ("", "ReplicaSet", true),
        ("", "DaemonSet", true),
        ("apps", "StatefulSet", true),
        ("batch", "Job", false),
        ("policy", "PodDisruptionBudget", false),
    ] {
        fields.push(FieldSpec::new(
            group,
            "",
            kind,
            "spec/selector/matchLabels",
            create,
        ));
    }
    fields.push(FieldSpec::new(
        "batch",
        "",
        "CronJob",
        "spec/jobTemplate/spec/selector/matchLabels",
        false,
    ));
    for kind in ["Deployment", "StatefulSet"] {
        for affinity in ["podAffinity", "podAntiAffinity"] {
            for term in [
                "preferredDuringSchedulingIgnoredDuringExecution/podAffinityTerm",
                "requiredDuringSchedulingIgnoredDuringExecution",
            ] {
                let path = format!("spec/template/spec/affinity/{affinity}/{term}/labelSelector/matchLabels");
                fields.push(FieldSpec::new("apps", "", kind, &path, false));
            }
        }
        let path = "spec/template/spec/topologySpreadConstraints/labelSelector/matchLabels";
        fields.push(FieldSpec::new("apps", "", kind, path, false));
    }
    for path in [
        "spec/podSelector/matchLabels",
        "spec/ingress/from/podSelector/matchLabels",
        "spec/egress/to/podSelector/matchLabels",
    ] {
        fields.push(FieldSpec::new(
            "networking.k8s.io",
            "",
            "NetworkPolicy",
            path,
            false,
        ));
    }
    fields.extend(metadata_labels());
    fields
}

/// The annotations of objects and of what they make.
pub(crate) fn common_annotations() -> Vec<FieldSpec> {
    let mut fields = vec![FieldSpec::new("", "", "", "metadata/annotations", true)];
    fields.extend(POD_TEMPLATES.iter().map(|(kind, group, path)| {
        let group = if *kind == "StatefulSet" { "" } else { *group };
        FieldSpec::new(
            group,
            version_of(kind),
            kind,
            &format!("{path}/metadata/annotations"),
            true,
        )
    }));
    fields
}

/// Where a namespace is written, besides the metadata of objects.
pub(crate) fn namespaces() -> Vec<FieldSpec> {
    vec![
        FieldSpec::new("", "", "Namespace", "metadata/name", true),
        FieldSpec::new(
            "apiregistration.k8s.io",
            "",
            "APIService",
            "spec/service/namespace",
            true,
        ),
        FieldSpec::new(
            "apiextensions.k8s.io",
            "",
            "CustomResourceDefinition",
            "spec/conversion/webhook/clientConfig/service/namespace",
            false,
        ),
    ]
}

/// Where images are. They are looked for in all containers before, which matters for suffixes of tags alone:
/// kustomize adds them once for each of both.
pub(crate) fn images() -> Vec<FieldSpec> {
    [
        "spec/containers[]/image",
        "spec/initContainers[]/image",
        "spec/template/spec/containers[]/image",
        "spec/template/spec/initContainers[]/image",
    ]
    .iter()
    .map(|path| FieldSpec::new("", "", "", path, true))
    .collect()
}

/// Where numbers of replicas are.
pub(crate) fn replicas() -> Vec<FieldSpec> {
    ["Deployment", "ReplicationController", "ReplicaSet", "StatefulSet"]
        .iter()
        .map(|kind| FieldSpec::new("", "", kind, "spec/replicas", true))
        .collect()
}

//! Which fields refer to other objects by name. The table is that of kustomize 5.

use crate::field::FieldSpec;
use crate::identity::Gvk;

/// Fields that name objects of a kind.
#[derive(Debug, Clone)]
pub(crate) struct Reference {
    /// The kind that is named.
    pub(crate) referral: Gvk,
    /// The fields that name it.
    pub(crate) fields: Vec<FieldSpec>,
}

/// Where a kind has the specification of its pods.
const POD_SPECS: &[(&str, &str, &str)] = &[
    ("Pod", "", "spec"),
    ("PodTemplate", "", "template/spec"),
    ("Deployment", "", "spec/template/spec"),
    ("ReplicaSet", "", "spec/template/spec"),
    ("ReplicationController", "", "spec/template/spec"),
    ("DaemonSet", "", "spec/template/spec"),
    ("StatefulSet", "", "spec/template/spec"),
    ("Job", "", "spec/template/spec"),
    ("CronJob", "", "spec/jobTemplate/spec/template/spec"),
];

/// Kinds whose pods' `ConfigMap`s and `Secret`s kustomize follows.
const WITHOUT_CONTROLLER: &[&str] = &["ReplicationController"];
/// Kinds whose pods' accounts, claims and priorities kustomize follows.
const WITHOUT_TEMPLATES: &[&str] = &["PodTemplate", "ReplicaSet"];

fn pod_fields(paths: &[&str], without: &[&str]) -> Vec<FieldSpec> {
    POD_SPECS
        .iter()
        .filter(|(kind, _, _)| !without.contains(kind))
        .flat_map(|(kind, group, spec)| {
            paths
                .iter()
                .map(move |path| FieldSpec::new(group, "", kind, &format!("{spec}/{path}"), false))
        })
        .collect()
}

fn fields(rows: &[(&str, &str, &str)]) -> Vec<FieldSpec> {
    rows.iter()
        .map(|(group, kind, path)| FieldSpec::new(group, "", kind, path, false))
        .collect()
}

fn reference(group: &str, version: &str, kind: &str, fields: Vec<FieldSpec>) -> Reference {
    Reference {
        referral: FieldSpec::new(group, version, kind, "", false).gvk,
        fields,
    }
}

const RBAC: &str = "rbac.authorization.k8s.io";
const ADMISSION: &str = "admissionregistration.k8s.io";

/// All references that kustomize knows without configuration.
pub(crate) fn defaults() -> Vec<Reference> {
    let mut references = scaled();
    references.extend([
        config_maps(),
        secrets(),
        services(),
        reference(RBAC, "", "Role", fields(&[(RBAC, "RoleBinding", "roleRef/name")])),
        reference(
            RBAC,
            "",
            "ClusterRole",
            fields(&[
                (RBAC, "RoleBinding", "roleRef/name"),
                (RBAC, "ClusterRoleBinding", "roleRef/name"),
            ]),
        ),
        service_accounts(),
        reference(
            "",
            "v1",
            "PersistentVolumeClaim",
            pod_fields(&["volumes/persistentVolumeClaim/claimName"], WITHOUT_TEMPLATES),
        ),
        reference(
            "",
            "v1",
            "PersistentVolume",
            fields(&[
                ("", "PersistentVolumeClaim", "spec/volumeName"),
                ("", "ClusterRole", "rules/resourceNames"),
            ]),
        ),
        reference(
            "storage.k8s.io",
            "v1",
            "StorageClass",
            fields(&[
                ("", "PersistentVolume", "spec/storageClassName"),
                ("", "PersistentVolumeClaim", "spec/storageClassName"),
                (
                    "",
                    "StatefulSet",
                    "spec/volumeClaimTemplates/spec/storageClassName",
                ),
            ]),
        ),
        reference(
            "scheduling.k8s.io",
            "v1",
            "PriorityClass",
            pod_fields(&["priorityClassName"], WITHOUT_TEMPLATES),
        ),
        reference(
            ADMISSION,
            "",
            "ValidatingAdmissionPolicy",
            fields(&[(ADMISSION, "ValidatingAdmissionPolicyBinding", "spec/policyName")]),
        ),
    ]);
    references
}

fn scaled() -> Vec<Reference> {
    ["Deployment", "ReplicationController", "ReplicaSet", "StatefulSet"]
        .iter()
        .map(|kind| {
            reference(
                "",
                "",
                kind,
                fields(&[("", "HorizontalPodAutoscaler", "spec/scaleTargetRef/name")]),
            )
        })
        .collect()
}

fn config_maps() -> Reference {
    let mut all = pod_fields(
        &[
            "volumes/configMap/name",
            "containers/env/valueFrom/configMapKeyRef/name",
            "initContainers/env/valueFrom/configMapKeyRef/name",
            "containers/envFrom/configMapRef/name",
            "initContainers/envFrom/configMapRef/name",
            "volumes/projected/sources/configMap/name",
        ],
        WITHOUT_CONTROLLER,
    );
    all.extend(fields(&[
        ("", "Node", "spec/configSource/configMap"),
        ("", "Role", "rules/resourceNames"),
        ("", "ClusterRole", "rules/resourceNames"),
        (
            "",
            "Ingress",
            r"metadata/annotations/nginx.ingress.kubernetes.io\/fastcgi-params-configmap",
        ),
    ]));
    reference("", "v1", "ConfigMap", all)
}

fn secrets() -> Reference {
    let mut all = pod_fields(
        &[
            "volumes/secret/secretName",
            "containers/env/valueFrom/secretKeyRef/name",
            "initContainers/env/valueFrom/secretKeyRef/name",
            "containers/envFrom/secretRef/name",
            "initContainers/envFrom/secretRef/name",
            "imagePullSecrets/name",
            "volumes/projected/sources/secret/name",
        ],
        WITHOUT_CONTROLLER,
    );
    all.extend(fields(&[
        ("", "Ingress", "spec/tls/secretName"),
        (
            "",
            "Ingress",
            r"metadata/annotations/ingress.kubernetes.io\/auth-secret",
        ),
        (
            "",
            "Ingress",
            r"metadata/annotations/nginx.ingress.kubernetes.io\/auth-secret",
        ),
        (
            "",
            "Ingress",
            r"metadata/annotations/nginx.ingress.kubernetes.io\/auth-tls-secret",
        ),
        ("", "ServiceAccount", "imagePullSecrets/name"),
        ("", "StorageClass", "parameters/secretName"),
        ("", "StorageClass", "parameters/adminSecretName"),
        ("", "StorageClass", "parameters/userSecretName"),
        ("", "StorageClass", "parameters/secretRef"),
        ("", "Role", "rules/resourceNames"),
        ("", "ClusterRole", "rules/resourceNames"),
        (
            "serving.knative.dev",
            "Service",
            "spec/template/spec/containers/env/valueFrom/secretKeyRef/name",
        ),
        ("", "PersistentVolume", "spec/azureFile/secretName"),
    ]));
    reference("", "v1", "Secret", all)
}

fn services() -> Reference {
    reference(
        "",
        "v1",
        "Service",
        fields(&[
            ("apps", "StatefulSet", "spec/serviceName"),
            ("", "Ingress", "spec/rules/http/paths/backend/serviceName"),
            ("", "Ingress", "spec/backend/serviceName"),
            ("", "Ingress", "spec/rules/http/paths/backend/service/name"),
            ("", "Ingress", "spec/defaultBackend/service/name"),
            ("apiregistration.k8s.io", "APIService", "spec/service/name"),
            (
                ADMISSION,
                "ValidatingWebhookConfiguration",
                "webhooks/clientConfig/service",
            ),
            (
                ADMISSION,
                "MutatingWebhookConfiguration",
                "webhooks/clientConfig/service",
            ),
        ]),
    )
}

fn service_accounts() -> Reference {
    let mut all = fields(&[
        (RBAC, "RoleBinding", "subjects"),
        (RBAC, "ClusterRoleBinding", "subjects"),
    ]);
    all.extend(pod_fields(&["serviceAccountName"], WITHOUT_TEMPLATES));
    reference("", "v1", "ServiceAccount", all)
}

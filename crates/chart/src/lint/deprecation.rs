//! Kinds that Kubernetes gives up.
//!
//! The facts are those of `k8s.io/api` v0.37.1, which Helm 4.3.1 asks: the minor versions of Kubernetes 1 in which a
//! kind was deprecated and removed, and what takes its place.

/// A kind that is no longer to be used.
pub(super) struct Deprecation {
    api_version: &'static str,
    kind: &'static str,
    deprecated: u64,
    removed: u64,
    replacement: &'static str,
}

impl Deprecation {
    /// The deprecation of a kind in this version of Kubernetes.
    pub(super) fn find(api_version: &str, kind: &str, major: u64, minor: u64) -> Option<&'static Self> {
        DEPRECATIONS.iter().find(|row| {
            row.api_version == api_version && row.kind == kind && (major, minor) >= (1, row.deprecated)
        })
    }

    /// The minor version of Kubernetes 1 that serves it no longer.
    pub(super) fn removed(&self) -> u64 {
        self.removed
    }

    /// The kind in its place; may be empty.
    pub(super) fn replacement(&self) -> &'static str {
        self.replacement
    }

    /// What Kubernetes says of it.
    pub(super) fn message(&self) -> String {
        let Self {
            api_version,
            kind,
            deprecated,
            removed,
            replacement,
        } = self;
        let instead = if replacement.is_empty() {
            String::new()
        } else {
            format!("; use {replacement}")
        };
        format!(
            "{api_version} {kind} is deprecated in v1.{deprecated}+, unavailable in v1.{removed}+{instead}"
        )
    }
}

const fn row(
    api_version: &'static str,
    kind: &'static str,
    deprecated: u64,
    removed: u64,
    replacement: &'static str,
) -> Deprecation {
    Deprecation {
        api_version,
        kind,
        deprecated,
        removed,
        replacement,
    }
}

#[rustfmt::skip]
const DEPRECATIONS: &[Deprecation] = &[
    row("admission.k8s.io/v1beta1", "AdmissionReview", 19, 22, "admission.k8s.io/v1 AdmissionReview"),
    row("admissionregistration.k8s.io/v1alpha1", "MutatingAdmissionPolicy", 35, 38, ""),
    row("admissionregistration.k8s.io/v1alpha1", "MutatingAdmissionPolicyBinding", 35, 38, ""),
    row("admissionregistration.k8s.io/v1alpha1", "MutatingAdmissionPolicyBindingList", 35, 38, ""),
    row("admissionregistration.k8s.io/v1alpha1", "MutatingAdmissionPolicyList", 35, 38, ""),
    row("admissionregistration.k8s.io/v1alpha1", "ValidatingAdmissionPolicy", 29, 32, ""),
    row("admissionregistration.k8s.io/v1alpha1", "ValidatingAdmissionPolicyBinding", 29, 32, ""),
    row("admissionregistration.k8s.io/v1alpha1", "ValidatingAdmissionPolicyBindingList", 29, 32, ""),
    row("admissionregistration.k8s.io/v1alpha1", "ValidatingAdmissionPolicyList", 29, 32, ""),
    row("admissionregistration.k8s.io/v1beta1", "MutatingAdmissionPolicy", 37, 40, "admissionregistration.k8s.io/v1 MutatingAdmissionPolicy"),
    row("admissionregistration.k8s.io/v1beta1", "MutatingAdmissionPolicyBinding", 37, 40, "admissionregistration.k8s.io/v1 MutatingAdmissionPolicyBinding"),
    row("admissionregistration.k8s.io/v1beta1", "MutatingAdmissionPolicyBindingList", 37, 40, "admissionregistration.k8s.io/v1 MutatingAdmissionPolicyBindingList"),
    row("admissionregistration.k8s.io/v1beta1", "MutatingAdmissionPolicyList", 37, 40, "admissionregistration.k8s.io/v1 MutatingAdmissionPolicyList"),
    row("admissionregistration.k8s.io/v1beta1", "MutatingWebhookConfiguration", 16, 22, "admissionregistration.k8s.io/v1 MutatingWebhookConfiguration"),
    row("admissionregistration.k8s.io/v1beta1", "MutatingWebhookConfigurationList", 16, 22, "admissionregistration.k8s.io/v1 MutatingWebhookConfigurationList"),
    row("admissionregistration.k8s.io/v1beta1", "ValidatingAdmissionPolicy", 31, 34, ""),
    row("admissionregistration.k8s.io/v1beta1", "ValidatingAdmissionPolicyBinding", 31, 34, ""),
    row("admissionregistration.k8s.io/v1beta1", "ValidatingAdmissionPolicyBindingList", 31, 34, ""),
    row("admissionregistration.k8s.io/v1beta1", "ValidatingAdmissionPolicyList", 31, 34, ""),
    row("admissionregistration.k8s.io/v1beta1", "ValidatingWebhookConfiguration", 16, 22, "admissionregistration.k8s.io/v1 ValidatingWebhookConfiguration"),
    row("admissionregistration.k8s.io/v1beta1", "ValidatingWebhookConfigurationList", 16, 22, "admissionregistration.k8s.io/v1 ValidatingWebhookConfigurationList"),
    row("apidiscovery.k8s.io/v2beta1", "APIGroupDiscovery", 32, 35, ""),
    row("apidiscovery.k8s.io/v2beta1", "APIGroupDiscoveryList", 32, 35, ""),
    row("apps/v1beta1", "ControllerRevision", 8, 16, "apps/v1 ControllerRevision"),
    row("apps/v1beta1", "ControllerRevisionList", 8, 16, "apps/v1 ControllerRevisionList"),
    row("apps/v1beta1", "Deployment", 8, 16, "apps/v1 Deployment"),
    row("apps/v1beta1", "DeploymentList", 8, 16, "apps/v1 DeploymentList"),
    row("apps/v1beta1", "DeploymentRollback", 8, 16, "apps/v1 DeploymentRollback"),
    row("apps/v1beta1", "Scale", 8, 16, "autoscaling/v1 Scale"),
    row("apps/v1beta1", "StatefulSet", 8, 16, "apps/v1 StatefulSet"),
    row("apps/v1beta1", "StatefulSetList", 8, 16, "apps/v1 StatefulSetList"),
    row("apps/v1beta2", "ControllerRevision", 9, 16, "apps/v1 ControllerRevision"),
    row("apps/v1beta2", "ControllerRevisionList", 9, 16, "apps/v1 ControllerRevisionList"),
    row("apps/v1beta2", "DaemonSet", 9, 16, "apps/v1 DaemonSet"),
    row("apps/v1beta2", "DaemonSetList", 9, 16, "apps/v1 DaemonSetList"),
    row("apps/v1beta2", "Deployment", 9, 16, "apps/v1 Deployment"),
    row("apps/v1beta2", "DeploymentList", 9, 16, "apps/v1 DeploymentList"),
    row("apps/v1beta2", "ReplicaSet", 9, 16, "apps/v1 ReplicaSet"),
    row("apps/v1beta2", "ReplicaSetList", 9, 16, "apps/v1 ReplicaSetList"),
    row("apps/v1beta2", "Scale", 9, 16, "autoscaling/v1 Scale"),
    row("apps/v1beta2", "StatefulSet", 9, 16, "apps/v1 StatefulSet"),
    row("apps/v1beta2", "StatefulSetList", 9, 16, "apps/v1 StatefulSetList"),
    row("authentication.k8s.io/v1alpha1", "SelfSubjectReview", 29, 32, ""),
    row("authentication.k8s.io/v1beta1", "SelfSubjectReview", 30, 33, ""),
    row("authentication.k8s.io/v1beta1", "TokenReview", 19, 22, "authentication.k8s.io/v1 TokenReview"),
    row("authorization.k8s.io/v1beta1", "LocalSubjectAccessReview", 19, 22, "authorization.k8s.io/v1 LocalSubjectAccessReview"),
    row("authorization.k8s.io/v1beta1", "SelfSubjectAccessReview", 19, 22, "authorization.k8s.io/v1 SelfSubjectAccessReview"),
    row("authorization.k8s.io/v1beta1", "SelfSubjectRulesReview", 19, 22, "authorization.k8s.io/v1 SelfSubjectRulesReview"),
    row("authorization.k8s.io/v1beta1", "SubjectAccessReview", 19, 22, "authorization.k8s.io/v1 SubjectAccessReview"),
    row("batch/v1beta1", "CronJob", 21, 25, "batch/v1 CronJob"),
    row("batch/v1beta1", "CronJobList", 21, 25, "batch/v1 CronJobList"),
    row("certificates.k8s.io/v1alpha1", "ClusterTrustBundle", 34, 37, ""),
    row("certificates.k8s.io/v1alpha1", "ClusterTrustBundleList", 34, 37, ""),
    row("certificates.k8s.io/v1beta1", "CertificateSigningRequest", 19, 22, "certificates.k8s.io/v1 CertificateSigningRequest"),
    row("certificates.k8s.io/v1beta1", "CertificateSigningRequestList", 19, 22, "certificates.k8s.io/v1 CertificateSigningRequestList"),
    row("certificates.k8s.io/v1beta1", "ClusterTrustBundle", 37, 40, "certificates.k8s.io/v1 ClusterTrustBundle"),
    row("certificates.k8s.io/v1beta1", "ClusterTrustBundleList", 37, 40, "certificates.k8s.io/v1 ClusterTrustBundleList"),
    row("certificates.k8s.io/v1beta1", "PodCertificateRequest", 37, 40, "certificates.k8s.io/v1 PodCertificateRequest"),
    row("certificates.k8s.io/v1beta1", "PodCertificateRequestList", 37, 40, "certificates.k8s.io/v1 PodCertificateRequestList"),
    row("coordination.k8s.io/v1alpha2", "LeaseCandidate", 35, 38, ""),
    row("coordination.k8s.io/v1alpha2", "LeaseCandidateList", 35, 38, ""),
    row("coordination.k8s.io/v1beta1", "Lease", 19, 22, "coordination.k8s.io/v1 Lease"),
    row("coordination.k8s.io/v1beta1", "LeaseCandidate", 36, 39, ""),
    row("coordination.k8s.io/v1beta1", "LeaseCandidateList", 36, 39, ""),
    row("coordination.k8s.io/v1beta1", "LeaseList", 19, 22, "coordination.k8s.io/v1 LeaseList"),
    row("discovery.k8s.io/v1beta1", "EndpointSlice", 21, 25, "discovery.k8s.io/v1 EndpointSlice"),
    row("discovery.k8s.io/v1beta1", "EndpointSliceList", 21, 25, "discovery.k8s.io/v1 EndpointSlice"),
    row("events.k8s.io/v1beta1", "Event", 22, 25, ""),
    row("events.k8s.io/v1beta1", "EventList", 22, 25, ""),
    row("extensions/v1beta1", "DaemonSet", 8, 16, "apps/v1 DaemonSet"),
    row("extensions/v1beta1", "DaemonSetList", 8, 16, "apps/v1 DaemonSetList"),
    row("extensions/v1beta1", "Deployment", 8, 16, "apps/v1 Deployment"),
    row("extensions/v1beta1", "DeploymentList", 8, 16, "apps/v1 DeploymentList"),
    row("extensions/v1beta1", "DeploymentRollback", 8, 16, ""),
    row("extensions/v1beta1", "Ingress", 14, 22, "networking.k8s.io/v1 Ingress"),
    row("extensions/v1beta1", "IngressList", 14, 22, "networking.k8s.io/v1 IngressList"),
    row("extensions/v1beta1", "NetworkPolicy", 9, 16, "networking.k8s.io/v1 NetworkPolicy"),
    row("extensions/v1beta1", "NetworkPolicyList", 9, 16, "networking.k8s.io/v1 NetworkPolicyList"),
    row("extensions/v1beta1", "ReplicaSet", 8, 16, "apps/v1 ReplicaSet"),
    row("extensions/v1beta1", "ReplicaSetList", 8, 16, "apps/v1 ReplicaSetList"),
    row("extensions/v1beta1", "Scale", 2, 16, ""),
    row("flowcontrol.apiserver.k8s.io/v1beta1", "FlowSchema", 23, 26, "flowcontrol.apiserver.k8s.io/v1beta3 FlowSchema"),
    row("flowcontrol.apiserver.k8s.io/v1beta1", "FlowSchemaList", 23, 26, "flowcontrol.apiserver.k8s.io/v1beta3 FlowSchemaList"),
    row("flowcontrol.apiserver.k8s.io/v1beta1", "PriorityLevelConfiguration", 23, 26, "flowcontrol.apiserver.k8s.io/v1beta3 PriorityLevelConfiguration"),
    row("flowcontrol.apiserver.k8s.io/v1beta1", "PriorityLevelConfigurationList", 23, 26, "flowcontrol.apiserver.k8s.io/v1beta3 PriorityLevelConfigurationList"),
    row("flowcontrol.apiserver.k8s.io/v1beta2", "FlowSchema", 26, 29, "flowcontrol.apiserver.k8s.io/v1beta3 FlowSchema"),
    row("flowcontrol.apiserver.k8s.io/v1beta2", "FlowSchemaList", 26, 29, "flowcontrol.apiserver.k8s.io/v1beta3 FlowSchemaList"),
    row("flowcontrol.apiserver.k8s.io/v1beta2", "PriorityLevelConfiguration", 26, 29, "flowcontrol.apiserver.k8s.io/v1beta3 PriorityLevelConfiguration"),
    row("flowcontrol.apiserver.k8s.io/v1beta2", "PriorityLevelConfigurationList", 26, 29, "flowcontrol.apiserver.k8s.io/v1beta3 PriorityLevelConfigurationList"),
    row("flowcontrol.apiserver.k8s.io/v1beta3", "FlowSchema", 29, 32, "flowcontrol.apiserver.k8s.io/v1 FlowSchema"),
    row("flowcontrol.apiserver.k8s.io/v1beta3", "FlowSchemaList", 29, 32, "flowcontrol.apiserver.k8s.io/v1 FlowSchemaList"),
    row("flowcontrol.apiserver.k8s.io/v1beta3", "PriorityLevelConfiguration", 29, 32, "flowcontrol.apiserver.k8s.io/v1 PriorityLevelConfiguration"),
    row("flowcontrol.apiserver.k8s.io/v1beta3", "PriorityLevelConfigurationList", 29, 32, "flowcontrol.apiserver.k8s.io/v1 PriorityLevelConfigurationList"),
    row("lifecycle.k8s.io/v1alpha1", "Eviction", 40, 43, ""),
    row("lifecycle.k8s.io/v1alpha1", "EvictionList", 40, 43, ""),
    row("lifecycle.k8s.io/v1alpha1", "EvictionRequest", 40, 43, ""),
    row("lifecycle.k8s.io/v1alpha1", "EvictionRequestList", 40, 43, ""),
    row("networking.k8s.io/v1beta1", "IPAddress", 34, 37, ""),
    row("networking.k8s.io/v1beta1", "IPAddressList", 34, 37, ""),
    row("networking.k8s.io/v1beta1", "Ingress", 19, 22, "networking.k8s.io/v1 Ingress"),
    row("networking.k8s.io/v1beta1", "IngressClass", 19, 22, "networking.k8s.io/v1 IngressClassList"),
    row("networking.k8s.io/v1beta1", "IngressClassList", 19, 22, "networking.k8s.io/v1 IngressClassList"),
    row("networking.k8s.io/v1beta1", "IngressList", 19, 22, "networking.k8s.io/v1 IngressList"),
    row("networking.k8s.io/v1beta1", "ServiceCIDR", 34, 37, ""),
    row("networking.k8s.io/v1beta1", "ServiceCIDRList", 34, 37, ""),
    row("node.k8s.io/v1beta1", "RuntimeClass", 22, 25, ""),
    row("node.k8s.io/v1beta1", "RuntimeClassList", 22, 25, ""),
    row("policy/v1beta1", "Eviction", 22, 25, ""),
    row("policy/v1beta1", "PodDisruptionBudget", 21, 25, "policy/v1 PodDisruptionBudget"),
    row("policy/v1beta1", "PodDisruptionBudgetList", 21, 25, "policy/v1 PodDisruptionBudgetList"),
    row("rbac.authorization.k8s.io/v1beta1", "ClusterRole", 17, 22, "rbac.authorization.k8s.io/v1 ClusterRole"),
    row("rbac.authorization.k8s.io/v1beta1", "ClusterRoleBinding", 17, 22, "rbac.authorization.k8s.io/v1 ClusterRoleBinding"),
    row("rbac.authorization.k8s.io/v1beta1", "ClusterRoleBindingList", 17, 22, "rbac.authorization.k8s.io/v1 ClusterRoleBindingList"),
    row("rbac.authorization.k8s.io/v1beta1", "ClusterRoleList", 17, 22, "rbac.authorization.k8s.io/v1 ClusterRoleList"),
    row("rbac.authorization.k8s.io/v1beta1", "Role", 17, 22, "rbac.authorization.k8s.io/v1 Role"),
    row("rbac.authorization.k8s.io/v1beta1", "RoleBinding", 17, 22, "rbac.authorization.k8s.io/v1 RoleBinding"),
    row("rbac.authorization.k8s.io/v1beta1", "RoleBindingList", 17, 22, "rbac.authorization.k8s.io/v1 RoleBindingList"),
    row("rbac.authorization.k8s.io/v1beta1", "RoleList", 17, 22, "rbac.authorization.k8s.io/v1 RoleList"),
    row("resource.k8s.io/v1alpha3", "DeviceTaintRule", 36, 39, ""),
    row("resource.k8s.io/v1alpha3", "DeviceTaintRuleList", 36, 39, ""),
    row("resource.k8s.io/v1alpha3", "ResourcePoolStatusRequest", 39, 42, ""),
    row("resource.k8s.io/v1alpha3", "ResourcePoolStatusRequestList", 39, 42, ""),
    row("resource.k8s.io/v1beta1", "DeviceClass", 35, 38, ""),
    row("resource.k8s.io/v1beta1", "DeviceClassList", 35, 38, ""),
    row("resource.k8s.io/v1beta1", "ResourceClaim", 35, 38, ""),
    row("resource.k8s.io/v1beta1", "ResourceClaimList", 35, 38, ""),
    row("resource.k8s.io/v1beta1", "ResourceClaimTemplate", 35, 38, ""),
    row("resource.k8s.io/v1beta1", "ResourceClaimTemplateList", 35, 38, ""),
    row("resource.k8s.io/v1beta1", "ResourceSlice", 35, 38, ""),
    row("resource.k8s.io/v1beta1", "ResourceSliceList", 35, 38, ""),
    row("resource.k8s.io/v1beta2", "DeviceClass", 36, 39, ""),
    row("resource.k8s.io/v1beta2", "DeviceClassList", 36, 39, ""),
    row("resource.k8s.io/v1beta2", "DeviceTaintRule", 39, 42, ""),
    row("resource.k8s.io/v1beta2", "DeviceTaintRuleList", 39, 42, ""),
    row("resource.k8s.io/v1beta2", "ResourceClaim", 36, 39, ""),
    row("resource.k8s.io/v1beta2", "ResourceClaimList", 36, 39, ""),
    row("resource.k8s.io/v1beta2", "ResourceClaimTemplate", 36, 39, ""),
    row("resource.k8s.io/v1beta2", "ResourceClaimTemplateList", 36, 39, ""),
    row("resource.k8s.io/v1beta2", "ResourceSlice", 36, 39, ""),
    row("resource.k8s.io/v1beta2", "ResourceSliceList", 36, 39, ""),
    row("scheduling.k8s.io/v1beta1", "PodGroup", 40, 43, ""),
    row("scheduling.k8s.io/v1beta1", "PodGroupList", 40, 43, ""),
    row("scheduling.k8s.io/v1beta1", "PriorityClass", 14, 22, "scheduling.k8s.io/v1 PriorityClass"),
    row("scheduling.k8s.io/v1beta1", "PriorityClassList", 14, 22, "scheduling.k8s.io/v1 PriorityClassList"),
    row("scheduling.k8s.io/v1beta1", "Workload", 40, 43, ""),
    row("scheduling.k8s.io/v1beta1", "WorkloadList", 40, 43, ""),
    row("storage.k8s.io/v1alpha1", "CSIStorageCapacity", 21, 24, "storage.k8s.io/v1beta1 CSIStorageCapacity"),
    row("storage.k8s.io/v1alpha1", "CSIStorageCapacityList", 21, 24, "storage.k8s.io/v1beta1 CSIStorageCapacityList"),
    row("storage.k8s.io/v1alpha1", "VolumeAttachment", 21, 24, "storage.k8s.io/v1 VolumeAttachment"),
    row("storage.k8s.io/v1alpha1", "VolumeAttachmentList", 21, 24, "storage.k8s.io/v1 VolumeAttachmentList"),
    row("storage.k8s.io/v1alpha1", "VolumeAttributesClass", 32, 35, "storage.k8s.io/v1 VolumeAttributesClass"),
    row("storage.k8s.io/v1alpha1", "VolumeAttributesClassList", 32, 35, "storage.k8s.io/v1 VolumeAttributesClassList"),
    row("storage.k8s.io/v1beta1", "CSIDriver", 19, 22, "storage.k8s.io/v1 CSIDriver"),
    row("storage.k8s.io/v1beta1", "CSIDriverList", 19, 22, "storage.k8s.io/v1 CSIDriverList"),
    row("storage.k8s.io/v1beta1", "CSINode", 17, 22, "storage.k8s.io/v1 CSINode"),
    row("storage.k8s.io/v1beta1", "CSINodeList", 17, 22, "storage.k8s.io/v1 CSINode"),
    row("storage.k8s.io/v1beta1", "CSIStorageCapacity", 24, 27, "storage.k8s.io/v1 CSIStorageCapacity"),
    row("storage.k8s.io/v1beta1", "CSIStorageCapacityList", 24, 27, "storage.k8s.io/v1 CSIStorageCapacityList"),
    row("storage.k8s.io/v1beta1", "StorageClass", 19, 22, "storage.k8s.io/v1 StorageClass"),
    row("storage.k8s.io/v1beta1", "StorageClassList", 19, 22, "storage.k8s.io/v1 StorageClassList"),
    row("storage.k8s.io/v1beta1", "VolumeAttachment", 19, 22, "storage.k8s.io/v1 VolumeAttachment"),
    row("storage.k8s.io/v1beta1", "VolumeAttachmentList", 19, 22, "storage.k8s.io/v1 VolumeAttachmentList"),
    row("storage.k8s.io/v1beta1", "VolumeAttributesClass", 34, 37, "storage.k8s.io/v1 VolumeAttributesClass"),
    row("storage.k8s.io/v1beta1", "VolumeAttributesClassList", 34, 37, "storage.k8s.io/v1 VolumeAttributesClassList"),
    row("storagemigration.k8s.io/v1beta1", "StorageVersionMigration", 37, 40, "storagemigration.k8s.io/v1 StorageVersionMigration"),
    row("storagemigration.k8s.io/v1beta1", "StorageVersionMigrationList", 37, 40, "storagemigration.k8s.io/v1 StorageVersionMigrationList"),
];

//! Two tenants of one operator: what one of them writes, and what of the other's it can reach.

mod attempts;
mod claims;
mod deletion;
mod matrix;
mod ordinary;
mod procedures;
mod records;
mod release_tests;
mod stages;

use std::fs;
use std::path::Path;
use std::process::Command;

use kube::api::{Api, DynamicObject, Patch, PatchParams};
use kube::core::{ApiResource, GroupVersionKind};
use serde_json::{Value, json};
use steersman_testkit::cluster::{AuditLog, AuditMark, OperatorCommand, OperatorProcess};

use crate::bench::{Bench, PATIENCE, wait_until};

/// What stands in the other tenant's Secret, and nowhere else.
pub(super) const CANARY: &str = "canary-of-the-other-tenant";

/// Gives values to `tpl`, as many charts do, for objects and for names of namespaces.
const CHART: &str = r#"
apiVersion: v1
kind: ConfigMap
metadata: {name: {{ .Release.Name }}}
data:
  message: {{ .Values.message | default "hello" | quote }}
---
apiVersion: apps/v1
kind: Deployment
metadata: {name: {{ .Release.Name }}}
spec:
  replicas: 1
  selector: {matchLabels: {app: {{ .Release.Name }}}}
  template:
    metadata: {labels: {app: {{ .Release.Name }}}}
    spec: {containers: [{name: web, image: {{ .Values.image | default "registry.example.com/web:1" }}}]}
{{- if .Values.hook }}
---
apiVersion: v1
kind: ConfigMap
metadata:
  name: {{ .Release.Name }}-hook
  annotations: {helm.sh/hook: "pre-install,pre-upgrade,pre-delete"}
{{- end }}
{{- with .Values.known }}
---
apiVersion: v1
kind: ConfigMap
metadata: {name: {{ $.Release.Name }}-known}
data:
  found: {{ (lookup "v1" "ConfigMap" $.Release.Namespace .).data | toJson | quote }}
{{- end }}
{{- with .Values.text }}
---
{{ tpl . $ }}
{{- end }}
"#;

/// An operator and the namespaces of two tenants, of whom the first has the bench's.
pub(super) struct Tenants {
    pub(super) bench: Bench,
    /// The other tenant's namespace.
    pub(super) other: String,
    /// The operator's own.
    pub(super) own: String,
}

/// By what the operator keeps its tenants apart.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum By {
    Impersonation,
    Confinement,
    Both,
}

impl By {
    fn is_impersonating(self) -> bool {
        self != Self::Confinement
    }

    fn is_confining(self) -> bool {
        self != Self::Impersonation
    }
}

impl Tenants {
    /// Two tenants, each with an account that may do what the chart needs in its own namespace. The operator has the small
    /// role that `rbac generate` writes where it acts as these, and may do everything where it does not.
    pub(super) async fn new(test: &str, by: By) -> Option<Self> {
        let mut bench = Bench::new(test).await?;
        bench.define_kind().await;
        let folder = bench.folder.path();
        fs::remove_dir_all(folder.join("web")).unwrap();
        fs::create_dir_all(folder.join("web/templates")).unwrap();
        let head = "{apiVersion: v2, name: web, version: 1.0.0}\n";
        fs::write(folder.join("web/Chart.yaml"), head).unwrap();
        bench.add_template("web.yaml", CHART);
        let other = bench.cluster.unique_namespace("other").await.unwrap();
        let own = bench.cluster.unique_namespace("own").await.unwrap();
        let mut entry = json!({"group": bench.group, "version": "v1", "kind": "Web", "chart": "web"});
        if by.is_impersonating() {
            entry["serviceAccountName"] = "deployer".into();
        }
        if by.is_confining() {
            entry["confine"] = json!({"kinds": {"deny": ["*.rbac.authorization.k8s.io"]}});
        }
        bench.watches(&json!([entry]).to_string());
        if by.is_impersonating() {
            bench.user = bench
                .cluster
                .user(&format!("system:serviceaccount:{own}:operator"), &[])
                .unwrap();
        }
        let tenants = Self { bench, other, own };
        if by.is_impersonating() {
            tenants.generate_roles().await;
        }
        let secrets = [&tenants.other, &tenants.own].map(|namespace| {
            json!({"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "vault", "namespace": namespace},
                "stringData": {"key": CANARY}})
        });
        let list = json!({"apiVersion": "v1", "kind": "List", "items": secrets});
        tenants.bench.cluster.apply_object(&list).await.unwrap();
        Some(tenants)
    }

    /// The name of the generated roles.
    pub(super) fn role(&self) -> String {
        format!("webs-{}", self.bench.namespace)
    }

    /// Gives the operator its role, and each tenant an account with the other one.
    pub(super) async fn generate_roles(&self) {
        let (name, own) = (self.role(), &self.own);
        let output = Command::new(env!("CARGO_BIN_EXE_steersman"))
            .args([
                "rbac",
                "generate",
                "--service-account=operator",
                "--no-leader-election",
            ])
            .args([format!("--name={name}"), format!("--operator-namespace={own}")])
            .current_dir(self.bench.folder.path())
            .output()
            .unwrap();
        assert!(
            output.status.success(),
            "{}",
            String::from_utf8_lossy(&output.stderr)
        );
        let roles = String::from_utf8(output.stdout).unwrap();
        self.bench.cluster.apply(&roles).await.unwrap();
        for namespace in [&self.bench.namespace, &self.other] {
            self.bind(namespace).await;
        }
    }

    /// Lets the account in a namespace do there what the chart needs.
    pub(super) async fn bind(&self, namespace: &str) {
        let role = format!("{}-account-deployer", self.role());
        let list = json!({"apiVersion": "v1", "kind": "List", "items": [
            {"apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"name": "deployer", "namespace": namespace}},
            {"apiVersion": "rbac.authorization.k8s.io/v1", "kind": "RoleBinding",
                "metadata": {"name": "deployer", "namespace": namespace},
                "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": role},
                "subjects": [{"kind": "ServiceAccount", "name": "deployer", "namespace": namespace}]},
        ]});
        self.bench.cluster.apply_object(&list).await.unwrap();
    }

    pub(super) async fn operator(&self, arguments: &[&str]) -> OperatorProcess {
        let folder = self.bench.folder.path();
        let number = fs::read_dir(folder).unwrap().count();
        let operator = OperatorProcess::start(&OperatorCommand {
            binary: Path::new(env!("CARGO_BIN_EXE_steersman")),
            folder,
            kubeconfig: self.bench.user.kubeconfig(),
            arguments: &[&["--zap-log-level=debug"], arguments].concat(),
            environment: &[],
            log: &folder.join(format!("operator-{number}.log")),
        })
        .unwrap();
        operator.wait_until_ready(PATIENCE).await.unwrap();
        let has_all = || operator.log_text().contains("No permission is missing");
        wait_until("the comparison of the permissions", has_all).await;
        operator
    }

    /// As whom releases in a namespace are made.
    pub(super) fn account(namespace: &str) -> String {
        format!("system:serviceaccount:{namespace}:deployer")
    }

    /// What the operator has sent since, as whomever.
    pub(super) async fn sent_since(&self, mark: AuditMark) -> AuditLog {
        let audit = self.bench.cluster.audit_since(mark).await.unwrap();
        audit.sent_by(self.bench.user.name())
    }

    /// Objects of a kind in a namespace.
    pub(super) fn objects(
        &self,
        namespace: &str,
        group: &str,
        kind: &str,
        plural: &str,
    ) -> Api<DynamicObject> {
        let kind = GroupVersionKind::gvk(group, "v1", kind);
        let resource = ApiResource::from_gvk_with_plural(&kind, plural);
        Api::namespaced_with(self.bench.client.clone(), namespace, &resource)
    }

    /// The custom resources in a namespace.
    pub(super) fn webs(&self, namespace: &str) -> Api<DynamicObject> {
        self.objects(namespace, &self.bench.group, "Web", "webs")
    }

    /// Creates or changes a custom resource in a namespace.
    pub(super) async fn apply(&self, namespace: &str, name: &str, spec: Value) {
        let object = json!({"apiVersion": format!("{}/v1", self.bench.group), "kind": "Web",
            "metadata": {"name": name}, "spec": spec});
        let parameters = PatchParams::apply("test").force();
        self.webs(namespace)
            .patch(name, &parameters, &Patch::Apply(&object))
            .await
            .unwrap();
    }

    /// Waits until a release in a namespace has this revision.
    pub(super) async fn wait_revision(&self, namespace: &str, name: &str, revision: u64) {
        let api = self.webs(namespace);
        self.bench
            .wait("the revision", &api, name, |web| {
                let seen = web.pointer("/status/observedGeneration") == web.pointer("/metadata/generation");
                let revised = web.pointer("/status/revision").and_then(Value::as_u64) == Some(revision);
                (seen && revised).then_some(())
            })
            .await;
    }

    /// Everything that a tenant can read of what the operator has written or said.
    pub(super) async fn said_to(&self, namespace: &str, operator: &OperatorProcess) -> String {
        let mut said = operator.log_text();
        said.push_str(&operator.metrics().await.unwrap());
        let kinds = format!(
            "webs.{},events,configmaps,secrets,deployments,jobs",
            self.bench.group
        );
        let arguments = ["get", &kinds, "-n", namespace, "-o", "json"];
        said.push_str(&self.bench.cluster.kubectl(&arguments).await.unwrap());
        said
    }
}

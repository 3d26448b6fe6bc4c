//! Operators that may do exactly what `rbac generate` says.

mod check;
mod escalation;
mod namespaces;
mod public_charts;
mod subjects;
mod tasks;

use std::fs;
use std::path::Path;
use std::process::{Command, Output};

use steersman_testkit::cluster::{AuditLog, Request};

use crate::bench::Bench;

/// What `steersman rbac generate` says about the watches.yaml of a folder.
fn generated(folder: &Path, flags: &[&str]) -> String {
    let output = rbac("generate", folder, flags);
    assert!(
        output.status.success(),
        "{}",
        String::from_utf8_lossy(&output.stderr)
    );
    String::from_utf8(output.stdout).unwrap()
}

fn rbac(command: &str, folder: &Path, flags: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_steersman"))
        .args(["rbac", command])
        .args(flags)
        .current_dir(folder)
        .output()
        .unwrap()
}

/// What the API server refused for want of a permission.
fn refused(audit: &AuditLog) -> Vec<String> {
    let forbidden = audit.filter(|request| request.code == Some(403));
    let described = |request: &Request| {
        format!(
            "refused: {} {}/{} {} {}",
            request.verb, request.resource, request.subresource, request.namespace, request.name
        )
    };
    forbidden.requests.iter().map(described).collect()
}

const SHOP: &str = r#"
apiVersion: v1
kind: ConfigMap
metadata: {name: {{ .Release.Name }}}
data:
  message: {{ .Values.message | default "hello" }}
  known: {{ lookup "v1" "ServiceAccount" .Release.Namespace "default" | toJson | quote }}
---
apiVersion: apps/v1
kind: Deployment
metadata: {name: {{ .Release.Name }}}
spec:
  selector: {matchLabels: {app: shop}}
  template:
    metadata: {labels: {app: shop}}
    spec: {containers: [{name: shop, image: registry.example.com/shop:1}]}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: Role
metadata: {name: {{ .Release.Name }}}
rules:
- apiGroups: [""]
  resources: [pods]
  verbs: [list]
---
apiVersion: rbac.authorization.k8s.io/v1
kind: RoleBinding
metadata: {name: {{ .Release.Name }}}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: Role, name: {{ .Release.Name }}}
subjects: [{kind: ServiceAccount, name: default}]
"#;

const HOOK: &str = r"
apiVersion: v1
kind: Service
metadata:
  name: {{ .Release.Name }}-hook
  annotations:
    helm.sh/hook: pre-install,pre-upgrade
spec: {ports: [{port: 80}]}
";

/// In a namespace that the chart names.
const FAR: &str = r#"
apiVersion: v1
kind: ConfigMap
metadata:
  name: {{ .Release.Namespace }}-shop
  namespace: FAR
data:
  message: {{ .Values.message | default "hello" }}
  known: {{ lookup "v1" "Service" "FAR" "known" | toJson | quote }}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: Role
metadata:
  name: {{ .Release.Namespace }}-shop
  namespace: FAR
rules:
- apiGroups: [""]
  resources: [endpoints]
  verbs: [get]
---
apiVersion: rbac.authorization.k8s.io/v1
kind: RoleBinding
metadata:
  name: {{ .Release.Namespace }}-shop
  namespace: FAR
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: Role, name: {{ .Release.Namespace }}-shop}
subjects: [{kind: ServiceAccount, name: default}]
"#;

const WIDE: &str = r#"
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRole
metadata: {name: {{ .Release.Namespace }}-{{ .Release.Name }}, labels: {message: {{ .Values.message | default "hello" }}}}
rules: []
"#;

/// Two kinds: `Shop`, whose releases stay in their namespace, but for what they have in `far`, and `Wide`, whose do not.
async fn define_shops(bench: &Bench, far: &str) {
    let folder = bench.folder.path();
    let of_far = FAR.replace("FAR", far);
    let charts = [
        ("shop", "far.yaml", of_far.as_str()),
        ("shop", "shop.yaml", SHOP),
        ("shop", "hook.yaml", HOOK),
        ("wide", "wide.yaml", WIDE),
    ];
    for (chart, template, text) in charts {
        let templates = folder.join(chart).join("templates");
        fs::create_dir_all(&templates).unwrap();
        fs::write(templates.join(template), text).unwrap();
        let head = format!("{{apiVersion: v2, name: {chart}, version: 1.0.0}}\n");
        fs::write(folder.join(chart).join("Chart.yaml"), head).unwrap();
    }
    let group = &bench.group;
    bench.watches(&format!(
        "- {{group: {group}, version: v1, kind: Shop, chart: shop}}\n- {{group: {group}, version: v1, kind: Wide, chart: wide}}\n"
    ));
    bench.define("Shop", "shops").await;
    bench.define("Wide", "wides").await;
}

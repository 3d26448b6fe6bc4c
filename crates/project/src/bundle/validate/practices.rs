//! What is advised.

use semver::Version;
use serde_json::Value;

use super::super::value::{list, name, text};
use super::{Contents, Findings, Located};

/// What names of channels start with, by the convention.
const CHANNELS: [&str; 3] = ["candidate", "fast", "stable"];

pub(super) fn check(located: &Located, contents: &Contents, findings: &mut Findings) {
    let Located { file, object } = located;
    check_requests(file, object, findings);
    for relation in ["owned", "required"] {
        let entries = list(object, &format!("/spec/customresourcedefinitions/{relation}"));
        for (index, entry) in entries.iter().enumerate() {
            if text(entry, "/description").is_empty() {
                let field = format!("spec.customresourcedefinitions.{relation}[{index}].description");
                findings.warn(file, &field, "is missing");
            }
        }
    }
    for channel in &contents.channels {
        if !CHANNELS.iter().any(|start| channel.starts_with(start)) {
            let message = format!(
                "the channel `{channel}` starts with none of {}",
                CHANNELS.join(", ")
            );
            findings.warn("metadata/annotations.yaml", "", message);
        }
    }
    if creates_definitions(object) {
        let message = "the operator may create definitions, which is OLM's business";
        findings.warn(file, "spec.install.spec", message);
    }
    let parts: Vec<&str> = name(object).split(".v").collect();
    if !matches!(parts.as_slice(), [_, version] if Version::parse(version).is_ok()) {
        findings.warn(file, "metadata.name", "is not PACKAGE.vVERSION");
    }
}

fn check_requests(file: &str, object: &Value, findings: &mut Findings) {
    for (index, deployment) in list(object, "/spec/install/spec/deployments").iter().enumerate() {
        for container in list(deployment, "/spec/template/spec/containers") {
            let requests = container.pointer("/resources/requests");
            let has = |resource: &str| requests.is_some_and(|requests| requests.get(resource).is_some());
            if !has("cpu") || !has("memory") {
                let field = format!("spec.install.spec.deployments[{index}]");
                let container = text(container, "/name");
                findings.warn(
                    file,
                    &field,
                    format!("container `{container}` requests no cpu or no memory"),
                );
            }
        }
    }
}

fn creates_definitions(object: &Value) -> bool {
    let has = |rule: &Value, field: &str, wanted: &[&str]| {
        let values = list(rule, field).iter().filter_map(Value::as_str);
        values.into_iter().any(|value| wanted.contains(&value))
    };
    ["permissions", "clusterPermissions"]
        .iter()
        .flat_map(|key| list(object, &format!("/spec/install/spec/{key}")))
        .flat_map(|permission| list(permission, "/rules"))
        .any(|rule| {
            has(rule, "/apiGroups", &["apiextensions.k8s.io"])
                && has(rule, "/resources", &["customresourcedefinitions", "*"])
                && has(rule, "/verbs", &["create", "patch", "*"])
        })
}

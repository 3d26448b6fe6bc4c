//! The `ClusterServiceVersion` on its own.

use std::collections::BTreeSet;

use semver::Version;
use serde_json::Value;

use super::super::install_modes::MODES;
use super::super::upgrade::versioned_name;
use super::super::value::{list, name, text};
use super::{Findings, Located};

/// Annotations that OLM knows, in the spelling that it knows.
const SPELLINGS: [&str; 5] = [
    "olm.operatorGroup",
    "olm.operatorNamespace",
    "olm.targetNamespaces",
    "olm.providedAPIs",
    "olm.skipRange",
];

pub(super) fn check(located: &Located, package: &str, findings: &mut Findings) {
    let Located { file, object } = located;
    check_identity(file, object, package, findings);
    check_upgrade(file, object, findings);
    check_required(file, object, findings);
    check_modes(file, object, findings);
    check_oldest_kubernetes(file, object, findings);
    check_annotation_names(file, object, findings);
    check_install(file, object, findings);
}

fn check_identity(file: &str, object: &Value, package: &str, findings: &mut Findings) {
    let own = name(object);
    if let Some(reason) = name_problem(own) {
        findings.error(file, "metadata.name", format!("`{own}` {reason}"));
    }
    if text(object, "/apiVersion") != "operators.coreos.com/v1alpha1" {
        findings.error(file, "apiVersion", "should be `operators.coreos.com/v1alpha1`");
    }
    let version = text(object, "/spec/version");
    match Version::parse(version) {
        _ if version.is_empty() => findings.error(file, "spec.version", "is missing"),
        Err(error) => {
            findings.error(
                file,
                "spec.version",
                format!("`{version}` is no semantic version: {error}"),
            );
        }
        Ok(_) if !package.is_empty() && own != versioned_name(package, version) => {
            let expect = versioned_name(package, version);
            findings.warn(
                file,
                "metadata.name",
                format!("`{own}` should be `{expect}`, after package and version"),
            );
        }
        Ok(_) => {}
    }
}

fn check_upgrade(file: &str, object: &Value, findings: &mut Findings) {
    let own = name(object);
    let mut check = |field: &str, other: &str| {
        if let Some(reason) = name_problem(other) {
            findings.error(file, field, format!("`{other}` {reason}"));
        } else if other == own {
            findings.error(file, field, "a version can't come after itself");
        }
    };
    let replaces = text(object, "/spec/replaces");
    if !replaces.is_empty() {
        check("spec.replaces", replaces);
    }
    for (index, skipped) in list(object, "/spec/skips").iter().enumerate() {
        check(
            &format!("spec.skips[{index}]"),
            skipped.as_str().unwrap_or_default(),
        );
    }
    let range = text(object, "/metadata/annotations/olm.skipRange");
    if !range.is_empty() && !is_range(range) {
        let field = "metadata.annotations[olm.skipRange]";
        findings.error(
            file,
            field,
            format!("`{range}` is no range of versions such as `>=0.1.0 <0.3.0`"),
        );
    }
}

/// Whether a text is a range as OLM reads it: comparisons side by side, alternatives separated by `||`.
pub(in crate::bundle) fn is_range(text: &str) -> bool {
    text.split("||").all(|part| {
        let mut comparisons = part.split_whitespace().peekable();
        comparisons.peek().is_some()
            && comparisons.all(|comparison| {
                let version = comparison.trim_start_matches(['<', '>', '=', '!']);
                let parts = version.split('.').count();
                let wildcard = version.replace(['x', 'X', '*'], "0");
                Version::parse(&wildcard).is_ok()
                    || (parts < 3 && Version::parse(&format!("{wildcard}.0")).is_ok())
            })
    })
}

fn check_required(file: &str, object: &Value, findings: &mut Findings) {
    for (pointer, field) in [
        ("/spec/displayName", "spec.displayName"),
        ("/spec/install/strategy", "spec.install.strategy"),
    ] {
        if text(object, pointer).is_empty() {
            findings.error(file, field, "is missing");
        }
    }
    if object
        .pointer("/spec/install/spec/deployments")
        .is_none_or(Value::is_null)
    {
        findings.error(file, "spec.install.spec.deployments", "is missing");
    }
}

fn check_modes(file: &str, object: &Value, findings: &mut Findings) {
    let field = "spec.installModes";
    let modes = list(object, "/spec/installModes");
    if modes.is_empty() {
        return findings.error(file, field, "there are no install modes");
    }
    let mut seen = BTreeSet::new();
    for mode in modes {
        let kind = text(mode, "/type");
        if !MODES.contains(&kind) {
            findings.error(file, field, format!("`{kind}` is no install mode"));
        }
        if !seen.insert(kind) {
            findings.error(file, field, format!("{kind} stands there twice"));
        }
    }
    if !modes
        .iter()
        .any(|mode| mode.get("supported") == Some(&Value::Bool(true)))
    {
        findings.error(file, field, "no install mode is supported");
    }
}

fn check_oldest_kubernetes(file: &str, object: &Value, findings: &mut Findings) {
    let field = "spec.minKubeVersion";
    match text(object, "/spec/minKubeVersion") {
        version if version.trim().is_empty() => {
            let message = "is missing: OLM would offer the operator to clusters of every version";
            findings.warn(file, field, message);
        }
        version if Version::parse(version).is_err() => {
            findings.error(file, field, format!("`{version}` is no semantic version"));
        }
        _ => {}
    }
}

fn check_annotation_names(file: &str, object: &Value, findings: &mut Findings) {
    let annotations = object.pointer("/metadata/annotations").and_then(Value::as_object);
    for key in annotations.into_iter().flat_map(|annotations| annotations.keys()) {
        let field = format!("metadata.annotations[{key}]");
        let known = SPELLINGS.iter().find(|known| known.eq_ignore_ascii_case(key));
        if let Some(known) = known.filter(|known| *known != key) {
            findings.error(file, &field, format!("should be spelled `{known}`"));
        }
        if key == "olm.properties" {
            findings.warn(file, &field, "belongs into metadata/properties.yaml");
        }
    }
}

fn check_install(file: &str, object: &Value, findings: &mut Findings) {
    let strategy = text(object, "/spec/install/strategy");
    if !strategy.is_empty() && strategy != "deployment" {
        findings.error(
            file,
            "spec.install.strategy",
            format!("`{strategy}` is none; `deployment` is"),
        );
    }
    let mut accounts = BTreeSet::new();
    for (index, deployment) in list(object, "/spec/install/spec/deployments").iter().enumerate() {
        let field = format!("spec.install.spec.deployments[{index}]");
        if text(deployment, "/name").is_empty() {
            findings.error(file, &format!("{field}.name"), "is missing");
        }
        if list(deployment, "/spec/template/spec/containers").is_empty() {
            findings.error(
                file,
                &format!("{field}.spec.template.spec.containers"),
                "there is no container",
            );
        }
        let labels = deployment.pointer("/spec/template/metadata/labels");
        let selector = deployment
            .pointer("/spec/selector/matchLabels")
            .and_then(Value::as_object);
        for (key, value) in selector.into_iter().flatten() {
            if labels.and_then(|labels| labels.get(key)) != Some(value) {
                let message = format!("the pods do not have the label `{key}` of the selector");
                findings.error(file, &format!("{field}.spec.selector"), message);
            }
        }
        let account = text(deployment, "/spec/template/spec/serviceAccountName");
        accounts.insert(if account.is_empty() { "default" } else { account });
    }
    for key in ["permissions", "clusterPermissions"] {
        let permissions = list(object, &format!("/spec/install/spec/{key}"));
        for (index, permission) in permissions.iter().enumerate() {
            let field = format!("spec.install.spec.{key}[{index}]");
            match text(permission, "/serviceAccountName") {
                "" => findings.error(file, &format!("{field}.serviceAccountName"), "is missing"),
                account if !accounts.contains(account) => {
                    findings.warn(file, &field, format!("no Deployment runs as `{account}`"));
                }
                _ => {}
            }
        }
    }
}

/// What is wrong with the name of a `ClusterServiceVersion`, which is the value of labels, too.
fn name_problem(name: &str) -> Option<&'static str> {
    let is_word = |part: &str| {
        let inside = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-';
        !part.is_empty() && part.bytes().all(inside) && !part.starts_with('-') && !part.ends_with('-')
    };
    if name.is_empty() {
        Some("is no name")
    } else if name.len() > 63 {
        Some("is longer than 63 characters")
    } else if !name.split('.').all(is_word) {
        Some("is no name of an object: lower-case letters, digits, `-` and `.`")
    } else {
        None
    }
}

#[cfg(test)]
mod tests {
    use super::is_range;

    #[test]
    fn ranges_are_comparisons_side_by_side() {
        for range in [
            ">=0.1.0 <0.3.0",
            "<1.0.0",
            ">1.0.0 || =0.2.0",
            "1.2.3",
            ">=1.2",
            "1.x.0",
        ] {
            assert!(is_range(range), "{range}");
        }
        for range in ["", "soon", ">=0.1.0, <0.3.0", "||", ">= 1.0.0 <"] {
            assert!(!is_range(range), "{range}");
        }
    }
}

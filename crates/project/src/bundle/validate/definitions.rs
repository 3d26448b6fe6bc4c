//! Definitions of custom resources, and whether the `ClusterServiceVersion` knows them.

use std::collections::BTreeSet;

use serde_json::Value;

use super::super::value::{list, name, text};
use super::{Contents, Findings, Located};

const KIND: &str = "CustomResourceDefinition";

type Key = (String, String, String);

/// Compares what is owned with what is there.
pub(super) fn check_owned(located: &Located, contents: &Contents, findings: &mut Findings) {
    let Located { file, object } = located;
    let mut missing = BTreeSet::new();
    let mut present: BTreeSet<Key> = BTreeSet::new();
    for definition in contents.of_kind(KIND) {
        for key in keys(&definition.object) {
            if !present.insert(key.clone()) {
                let message = format!("{} {}/{} is defined twice", key.2, key.0, key.1);
                findings.error(&definition.file, "", message);
            }
        }
    }
    let mut owned: BTreeSet<Key> = BTreeSet::new();
    for (index, entry) in list(object, "/spec/customresourcedefinitions/owned")
        .iter()
        .enumerate()
    {
        let field = format!("spec.customresourcedefinitions.owned[{index}]");
        for key in ["name", "version", "kind"] {
            if text(entry, &format!("/{key}")).is_empty() {
                findings.error(file, &format!("{field}.{key}"), "is missing");
            }
        }
        let definition = text(entry, "/name");
        let Some((_, group)) = definition.split_once('.') else {
            findings.error(
                file,
                &format!("{field}.name"),
                format!("`{definition}` is not PLURAL.GROUP"),
            );
            continue;
        };
        let key = (
            group.to_owned(),
            text(entry, "/version").to_owned(),
            text(entry, "/kind").to_owned(),
        );
        if !present.contains(&key) && missing.insert(key.clone()) {
            let message = format!("the bundle has no definition of {} {}/{}", key.2, key.0, key.1);
            findings.error(file, &field, message);
        }
        owned.insert(key);
    }
    let same_kind = |a: &Key, b: &Key| a.0 == b.0 && a.2 == b.2;
    for definition in contents.of_kind(KIND) {
        // A version that is not listed is fine where another one of its kind is.
        let keys = keys(&definition.object);
        let is_owned = keys
            .iter()
            .any(|key| owned.iter().any(|owned| same_kind(owned, key)));
        if !is_owned {
            let message = format!(
                "the ClusterServiceVersion does not own {}",
                name(&definition.object)
            );
            findings.error(&definition.file, "", message);
        }
    }
}

/// Checks each definition as far as the API server would refuse it; schemas are its own business.
pub(super) fn check(contents: &Contents, findings: &mut Findings) {
    for Located { file, object } in contents.of_kind(KIND) {
        match text(object, "/apiVersion") {
            "apiextensions.k8s.io/v1" => check_one(file, object, findings),
            other => findings.error(
                file,
                "apiVersion",
                format!("Kubernetes has no `{other}` since 1.22"),
            ),
        }
    }
}

fn check_one(file: &str, object: &Value, findings: &mut Findings) {
    for field in ["group", "names.plural", "names.kind"] {
        if text(object, &format!("/spec/{}", field.replace('.', "/"))).is_empty() {
            findings.error(file, &format!("spec.{field}"), "is missing");
        }
    }
    let plural = text(object, "/spec/names/plural");
    if plural != plural.to_lowercase() {
        findings.error(
            file,
            "spec.names.plural",
            format!("`{plural}` is not in lower case"),
        );
    }
    let expect = format!("{plural}.{}", text(object, "/spec/group"));
    if name(object) != expect {
        findings.error(
            file,
            "metadata.name",
            format!("`{}` should be `{expect}`", name(object)),
        );
    }
    let scope = text(object, "/spec/scope");
    if !["Namespaced", "Cluster"].contains(&scope) {
        findings.error(
            file,
            "spec.scope",
            format!("`{scope}` is neither `Namespaced` nor `Cluster`"),
        );
    }
    let versions = list(object, "/spec/versions");
    let mut names = BTreeSet::new();
    for (index, version) in versions.iter().enumerate() {
        let field = format!("spec.versions[{index}]");
        if !names.insert(text(version, "/name")) {
            findings.error(file, &format!("{field}.name"), "stands there twice");
        }
        if version.pointer("/schema/openAPIV3Schema").is_none() {
            findings.error(file, &format!("{field}.schema.openAPIV3Schema"), "is missing");
        }
    }
    let stored = versions
        .iter()
        .filter(|version| version.get("storage") == Some(&Value::Bool(true)));
    if stored.count() != 1 {
        findings.error(
            file,
            "spec.versions",
            "exactly one version must be the stored one",
        );
    }
}

/// Group, version and kind of each version of a definition.
pub(super) fn keys(definition: &Value) -> Vec<Key> {
    list(definition, "/spec/versions")
        .iter()
        .map(|version| {
            let part = |text: &str| text.to_owned();
            (
                part(text(definition, "/spec/group")),
                part(text(version, "/name")),
                part(text(definition, "/spec/names/kind")),
            )
        })
        .collect()
}

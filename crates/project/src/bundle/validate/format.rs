//! The folders and files of a bundle, and what it says of itself.

use serde_json::Value;

use super::super::generate::SUPPORTED_KINDS;
use super::super::value::{list, text};
use super::{BundleFiles, Contents, Findings, Located};

const PREFIX: &str = "operators.operatorframework.io.bundle";

/// Reads all files; what can't be read is a finding.
pub(super) fn read(files: &BundleFiles, findings: &mut Findings) -> Contents {
    let mut contents = Contents::default();
    for folder in ["manifests", "metadata"] {
        if !files.keys().any(|path| path.starts_with(&format!("{folder}/"))) {
            findings.error("", "", format!("the bundle has no files in {folder}/"));
        }
    }
    let mut annotations = None;
    for (path, file) in files {
        match path.split_once('/') {
            Some(("manifests", name)) => read_manifest(path, name, file, &mut contents, findings),
            Some(("metadata", _)) => {
                if let Some(found) = read_metadata(path, file, findings) {
                    annotations = annotations.or(Some((path, found)));
                }
            }
            _ => {}
        }
    }
    let has_metadata = files.keys().any(|path| path.starts_with("metadata/"));
    match annotations {
        Some((path, annotations)) => check_annotations(path, &annotations, &mut contents, findings),
        None if has_metadata => findings.error("metadata/annotations.yaml", "", "there are no annotations"),
        None => {}
    }
    let has_manifests = files.keys().any(|path| path.starts_with("manifests/"));
    if has_manifests && contents.service_version.is_none() {
        findings.error("manifests", "", "there is no ClusterServiceVersion");
    }
    contents
}

fn read_manifest(path: &str, name: &str, file: &str, contents: &mut Contents, findings: &mut Findings) {
    if name.contains('/') {
        return findings.error(path, "", "manifests/ must not have folders");
    }
    if name.starts_with('.') {
        return findings.error(path, "", "manifests/ must not have hidden files");
    }
    let Some(object) = parse(path, file, findings) else {
        return;
    };
    let kind = text(&object, "/kind");
    if kind.is_empty() || text(&object, "/apiVersion").is_empty() {
        return findings.error(
            path,
            "",
            "this is no object of Kubernetes: it lacks `apiVersion` or `kind`",
        );
    }
    if !SUPPORTED_KINDS.contains(&kind) {
        findings.error(path, "kind", format!("OLM takes no {kind} in a bundle"));
    }
    let located = Located {
        file: path.to_owned(),
        object,
    };
    if text(&located.object, "/kind") != "ClusterServiceVersion" {
        contents.objects.push(located);
    } else if let Some(first) = &contents.service_version {
        let message = format!("there is a ClusterServiceVersion in {} already", first.file);
        findings.error(path, "", message);
    } else {
        contents.service_version = Some(located);
    }
}

/// The only document of a file.
fn parse(path: &str, file: &str, findings: &mut Findings) -> Option<Value> {
    let documents = match steersman_yaml::parse_documents(file) {
        Ok(documents) => documents,
        Err(error) => {
            findings.error(path, "", format!("this is no YAML: {error}"));
            return None;
        }
    };
    let mut values = documents
        .into_iter()
        .map(steersman_yaml::Node::into_json)
        .filter(|value| !matches!(value, Ok(Value::Null)));
    match (values.next(), values.next()) {
        (None, _) => findings.error(path, "", "the file is empty"),
        (Some(Err(error)), _) => findings.error(path, "", format!("this is no YAML: {error}")),
        (Some(Ok(_)), Some(_)) => {
            findings.error(
                path,
                "",
                "there are several objects in the file, of which OLM reads the first",
            );
        }
        (Some(Ok(value)), None) => return Some(value),
    }
    None
}

/// The annotations of a file in `metadata/`, if it has any.
fn read_metadata(path: &str, file: &str, findings: &mut Findings) -> Option<Value> {
    let value = parse(path, file, findings)?;
    check_dependencies(path, &value, findings);
    value
        .get("annotations")
        .filter(|annotations| annotations.is_object())
        .cloned()
}

fn check_annotations(path: &str, annotations: &Value, contents: &mut Contents, findings: &mut Findings) {
    for (key, expect) in [
        ("mediatype.v1", Some("registry+v1")),
        ("manifests.v1", Some("manifests/")),
        ("metadata.v1", Some("metadata/")),
        ("package.v1", None),
        ("channels.v1", None),
    ] {
        let field = format!("{PREFIX}.{key}");
        match (annotations.get(&field).and_then(Value::as_str), expect) {
            (None, _) => findings.error(path, &field, "the annotation is missing"),
            (Some(value), Some(expect)) if value != expect => {
                findings.error(path, &field, format!("is `{value}` and should be `{expect}`"));
            }
            (Some(value), None) if value.trim().is_empty() => findings.error(path, &field, "is empty"),
            _ => {}
        }
    }
    let value = |key: &str| annotations.get(format!("{PREFIX}.{key}")).and_then(Value::as_str);
    value("package.v1")
        .unwrap_or_default()
        .clone_into(&mut contents.package);
    let channels = value("channels.v1").unwrap_or_default().split(',');
    contents.channels = channels
        .map(str::trim)
        .filter(|name| !name.is_empty())
        .map(str::to_owned)
        .collect();
    let field = format!("{PREFIX}.channel.default.v1");
    match value("channel.default.v1") {
        Some("") => findings.error(path, &field, "is empty"),
        Some(default) if !contents.channels.iter().any(|channel| channel == default) => {
            let message = format!("`{default}` is none of the channels of this bundle");
            findings.warn(path, &field, message);
        }
        _ => {}
    }
}

fn check_dependencies(path: &str, value: &Value, findings: &mut Findings) {
    for (index, dependency) in list(value, "/dependencies").iter().enumerate() {
        let field = format!("dependencies[{index}]");
        let needed: &[&str] = match text(dependency, "/type") {
            "olm.package" => &["packageName", "version"],
            "olm.gvk" => &["group", "kind", "version"],
            "olm.label" => &["label"],
            "olm.constraint" => &[],
            other => {
                findings.error(path, &field, format!("`{other}` is no type of dependency"));
                continue;
            }
        };
        for key in needed {
            if text(dependency, &format!("/value/{key}")).is_empty() {
                findings.error(path, &format!("{field}.value.{key}"), "is missing");
            }
        }
    }
}

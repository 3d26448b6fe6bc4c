//! The objects beside the `ClusterServiceVersion`.

use std::collections::BTreeSet;
use std::io::Write as _;

use flate2::Compression;
use flate2::write::GzEncoder;
use serde_json::Value;

use super::super::value::{list, name, namespace, text};
use super::{Contents, Findings, Located};

/// How large a bundle is at most, compressed: more does not fit where OLM unpacks it.
const MAX_SIZE: usize = 1 << 20;

/// The part of it from which a warning is due, in percent.
const NEARLY: usize = 85;

pub(super) fn check(service_version: &Located, contents: &Contents, findings: &mut Findings) {
    let accounts: BTreeSet<&str> = list(&service_version.object, "/spec/install/spec/deployments")
        .iter()
        .map(|deployment| text(deployment, "/spec/template/spec/serviceAccountName"))
        .collect();
    let mut seen = BTreeSet::new();
    for Located { file, object } in &contents.objects {
        let kind = text(object, "/kind");
        if name(object).is_empty() {
            findings.error(file, "metadata.name", "is missing");
        } else if !seen.insert((text(object, "/apiVersion"), kind, name(object))) {
            findings.error(
                file,
                "",
                format!("{kind} {} is in another file, too", name(object)),
            );
        }
        if !namespace(object).is_empty() {
            findings.warn(file, "metadata.namespace", "OLM chooses the namespace");
        }
        match kind {
            "ServiceAccount" if accounts.contains(name(object)) => {
                let message = format!(
                    "OLM makes the service account `{}` itself, for the Deployment",
                    name(object)
                );
                findings.error(file, "", message);
            }
            "PodDisruptionBudget" => check_budget(file, object, findings),
            "PriorityClass" if object.get("globalDefault") == Some(&Value::Bool(true)) => {
                findings.error(
                    file,
                    "globalDefault",
                    "a bundle must not set the default of the cluster",
                );
            }
            _ => {}
        }
    }
}

fn check_budget(file: &str, object: &Value, findings: &mut Findings) {
    let is = |field: &str, values: &[Value]| {
        let value = object.pointer(&format!("/spec/{field}"));
        value.is_some_and(|value| values.contains(value))
    };
    if is("maxUnavailable", &[0.into(), "0%".into()]) {
        findings.error(file, "spec.maxUnavailable", "no node could ever be drained");
    }
    if is("minAvailable", &["100%".into()]) {
        findings.error(file, "spec.minAvailable", "no node could ever be drained");
    }
}

/// Checks that a bundle is not too large for OLM, which stores each file compressed and in base64.
pub(super) fn check_size(files: &super::BundleFiles, findings: &mut Findings) {
    let size: usize = files.values().map(|text| compressed(text)).sum();
    if size > MAX_SIZE {
        let message = format!("the bundle takes {size} bytes when compressed; OLM takes {MAX_SIZE}");
        findings.error("", "", message);
    } else if size > MAX_SIZE / 100 * NEARLY {
        let message =
            format!("the bundle takes {size} bytes when compressed, close to OLM's limit of {MAX_SIZE}");
        findings.warn("", "", message);
    }
}

/// The length of a text when it is compressed and written in base64.
fn compressed(text: &str) -> usize {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::default());
    // Writing to memory does not fail.
    let length = encoder
        .write_all(text.as_bytes())
        .and_then(|()| encoder.finish())
        .map_or(0, |bytes| bytes.len());
    length.div_ceil(3) * 4
}

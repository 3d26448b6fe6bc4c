//! Samples: whether the API server would take them whole.

use super::definitions::{dotted, schema_of};
use super::manifests::Document;
use super::structural::Structural;
use super::{Finding, LISTED, Project};
use crate::CustomKind;

/// The resources of a watch's kind among the manifests.
pub(super) fn of<'a>(project: &Project<'a>, kind: &CustomKind) -> impl Iterator<Item = &'a Document> {
    let (api_version, kind) = (kind.api_version(), kind.kind.clone());
    project
        .manifests
        .documents
        .iter()
        .filter(move |document| document.is(&api_version, &kind))
}

pub(super) fn check(project: &Project<'_>, kind: &CustomKind, findings: &mut Vec<Finding>) {
    let Some(defined) = schema_of(project, kind) else {
        return;
    };
    // What is wrong with the schema is said of the definition.
    let Ok(schema) = Structural::new(defined.schema) else {
        return;
    };
    let is_namespaced = defined.document.value["spec"]["scope"] != "Cluster";
    for sample in of(project, kind) {
        let verdict = schema.judge(&sample.value);
        for (place, why) in verdict.refused.iter().take(LISTED) {
            let message = format!("{}: {why}", dotted(place));
            findings.push(Finding::error(&sample.file, sample.line_of(place), message));
        }
        for place in verdict.dropped.iter().take(LISTED) {
            let message = format!("{} is unknown: the API server drops it", dotted(place));
            let hint = format!("`kubectl explain {}` tells what there is", kind.plural);
            findings.push(Finding::error(&sample.file, sample.line_of(place), message).with_hint(hint));
        }
        let metadata = &sample.value["metadata"];
        if !is_namespaced && metadata.get("namespace").is_some() {
            let line = sample.line_of("/metadata/namespace");
            findings.push(Finding::error(
                &sample.file,
                line,
                format!("{} are in no namespace", kind.kind),
            ));
        }
        if metadata.get("name").is_none() && metadata.get("generateName").is_none() {
            findings.push(Finding::error(
                &sample.file,
                sample.line_of("/metadata"),
                "the resource has no name",
            ));
        }
    }
}

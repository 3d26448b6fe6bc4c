//! What a project deploys: the objects of its kustomization, beside the files that they are made of.

use serde_json::Value;

use super::manifests::Document;
use super::{Finding, Project, definitions};
use crate::CustomKind;

/// The objects of a kustomization.
#[derive(Clone, Copy, Debug)]
pub struct Deployed<'a> {
    /// The file of the kustomization, for findings.
    pub file: &'a str,
    /// What the build gave, in kustomize's order.
    pub objects: &'a [Value],
}

/// Whether a definition that the project has is deployed with the operator.
pub(super) fn check(project: &Project<'_>, kind: &CustomKind, findings: &mut Vec<Finding>) {
    let (Some(deployed), Some(document)) = (&project.deployed, definitions::document_of(project, kind))
    else {
        return;
    };
    let is_deployed = deployed.objects.iter().any(|object| {
        object["kind"] == "CustomResourceDefinition"
            && object["spec"]["group"] == kind.group.as_str()
            && object["spec"]["names"]["kind"] == kind.kind.as_str()
    });
    if !is_deployed {
        let message = format!("{} leaves this definition out", deployed.file);
        let hint = "name the file in the kustomization of its folder, and that folder in this one";
        findings.push(Finding::warning(&document.file, document.line(), message).with_hint(hint));
    }
}

/// The file that an object of the kustomization is made of, as far as its name tells: kustomizations put something before
/// and after it.
pub(super) fn source_of<'a>(project: &Project<'a>, object: &Value) -> Option<&'a Document> {
    let name = object["metadata"]["name"].as_str()?;
    let is_made_of = |document: &&Document| {
        let source = document.value["metadata"]["name"].as_str();
        document.value["kind"] == object["kind"]
            && source.is_some_and(|source| !source.is_empty() && name.contains(source))
    };
    // Of `role` and `manager-role`, the second is what `shop-manager-role` is made of.
    let length = |document: &&Document| document.value["metadata"]["name"].as_str().map_or(0, str::len);
    project
        .manifests
        .documents
        .iter()
        .filter(is_made_of)
        .max_by_key(length)
}

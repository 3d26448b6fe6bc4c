//! Definitions: whether there is one for each watch, and whether it takes what the chart takes.

use serde_json::{Value, json};

use super::manifests::Document;
use super::structural::Structural;
use super::structure::structural_faults;
use super::{Finding, LISTED, Project, Watched};
use crate::{CustomKind, Scope};

/// A version of a kind, in the definition that a project has.
pub(super) struct Defined<'a> {
    pub(super) document: &'a Document,
    /// What the server checks resources by: `openAPIV3Schema` of the version.
    pub(super) schema: &'a Value,
    version: &'a Value,
}

/// The definition of a watch's kind, and the place of its version in there.
fn find<'a>(project: &Project<'a>, kind: &CustomKind) -> Option<(&'a Document, Option<usize>)> {
    let is_wanted = |document: &&Document| {
        document.is("apiextensions.k8s.io/v1", "CustomResourceDefinition")
            && document.value["spec"]["group"] == kind.group.as_str()
            && document.value["spec"]["names"]["kind"] == kind.kind.as_str()
    };
    let document = project.manifests.documents.iter().find(is_wanted)?;
    let versions = document.value["spec"]["versions"].as_array();
    let version = versions
        .into_iter()
        .flatten()
        .position(|version| version["name"] == kind.version.as_str());
    Some((document, version))
}

/// The definition of a watch's kind, where the project has one.
pub(super) fn document_of<'a>(project: &Project<'a>, kind: &CustomKind) -> Option<&'a Document> {
    find(project, kind).map(|(document, _)| document)
}

impl<'a> Defined<'a> {
    /// With its subresources and columns.
    pub(super) fn version(&self) -> &'a Value {
        self.version
    }

    /// The schema as the API server reads it. `None` where it can't, which is a finding.
    pub(super) fn structural(&self, findings: &mut Vec<Finding>) -> Option<Structural<'a>> {
        let structural = Structural::new(self.schema);
        let problem = |message| {
            let line = self.document.line_of("/spec/versions");
            let message = format!("the schema can't be used: {message}");
            findings.push(Finding::error(&self.document.file, line, message));
        };
        structural.map_err(problem).ok()
    }
}

/// The schema of a watch's kind, where the project has one.
pub(super) fn schema_of<'a>(project: &Project<'a>, kind: &CustomKind) -> Option<Defined<'a>> {
    let (document, version) = find(project, kind)?;
    let version = &document.value["spec"]["versions"][version?];
    let schema = &version["schema"]["openAPIV3Schema"];
    schema.is_object().then_some(Defined {
        document,
        schema,
        version,
    })
}

/// The kind of a watch, with plural and scope as the project's definition has them.
pub(super) fn kind_of(project: &Project<'_>, kind: &CustomKind) -> CustomKind {
    let found = find(project, kind);
    let mut kind = kind.clone();
    if let Some((document, _)) = found {
        let spec = &document.value["spec"];
        if let Some(plural) = spec["names"]["plural"].as_str() {
            plural.clone_into(&mut kind.plural);
        }
        kind.scope = if spec["scope"] == "Cluster" {
            Scope::Cluster
        } else {
            Scope::Namespaced
        };
    }
    kind
}

pub(super) fn check(
    project: &Project<'_>,
    watched: &Watched,
    watches_file: &str,
    findings: &mut Vec<Finding>,
) {
    if let Some(document) = document_of(project, &watched.kind) {
        check_scope(document, watched, watches_file, findings);
    }
    let place = (watches_file, watched.line);
    if check_kind(project, &watched.kind, place, findings) {
        check_defaults(project, watched, findings);
    }
}

/// Gives whether samples can be compared with it.
pub(super) fn check_kind(
    project: &Project<'_>,
    kind: &CustomKind,
    (watches_file, line): (&str, u32),
    findings: &mut Vec<Finding>,
) -> bool {
    let Some((document, version)) = find(project, kind) else {
        let message = format!(
            "the project has no definition of {}, kind {}",
            kind.api_version(),
            kind.kind
        );
        let hint = "`steersman crd --output-dir config/crd/bases` writes it";
        findings.push(Finding::warning(watches_file, line, message).with_hint(hint));
        return false;
    };
    let Some(version) = version else {
        let message = format!(
            "the definition has no version {}, which watches.yaml names",
            kind.version
        );
        findings.push(Finding::error(
            &document.file,
            document.line_of("/spec/versions"),
            message,
        ));
        return false;
    };
    let place = format!("/spec/versions/{version}");
    let version = &document.value["spec"]["versions"][version];
    if version["served"] == false {
        let message = format!(
            "version {} is not served, and watches.yaml names it",
            kind.version
        );
        findings.push(Finding::error(
            &document.file,
            document.line_of(&format!("{place}/served")),
            message,
        ));
    }
    if version["subresources"].get("status").is_none() {
        let message =
            "there is no status subresource: each status that is written counts as a change of the spec";
        let hint = "add `subresources: {status: {}}` to the version";
        findings.push(Finding::warning(&document.file, document.line_of(&place), message).with_hint(hint));
    }
    let schema = &version["schema"]["openAPIV3Schema"];
    let faults = structural_faults(schema);
    for (pointer, why) in faults.iter().take(LISTED) {
        let pointer = format!("{place}/schema/openAPIV3Schema{pointer}");
        let message = format!("the API server refuses the schema: {} {why}", dotted(&pointer));
        findings.push(Finding::error(
            &document.file,
            document.line_of(&pointer),
            message,
        ));
    }
    faults.is_empty()
}

fn check_scope(document: &Document, watched: &Watched, watches_file: &str, findings: &mut Vec<Finding>) {
    let is_namespaced = document.value["spec"]["scope"] != "Cluster";
    if let (true, Some(namespace)) = (is_namespaced, &watched.release_namespace) {
        let message = format!(
            "releaseNamespace: {namespace} has no effect, as {} are in namespaces",
            watched.kind.kind
        );
        findings.push(Finding::warning(watches_file, watched.line, message));
    }
}

/// The chart's defaults as a spec.
fn check_defaults(project: &Project<'_>, watched: &Watched, findings: &mut Vec<Finding>) {
    let Some(defined) = schema_of(project, &watched.kind) else {
        return;
    };
    let Some(schema) = defined.structural(findings) else {
        return;
    };
    let file = &defined.document.file;
    let defaults = json!({
        "apiVersion": watched.kind.api_version(),
        "kind": watched.kind.kind,
        "metadata": {},
        "spec": watched.chart.values(),
    });
    let verdict = schema.judge(&defaults);
    let line = defined.document.line();
    let refused = verdict.refused.iter().map(|(place, why)| {
        format!(
            "{} is refused, though it is a default of the chart: {why}",
            dotted(place)
        )
    });
    let dropped = verdict.dropped.iter().map(|place| {
        format!(
            "{} is dropped, though it is a default of the chart",
            dotted(place)
        )
    });
    let hint = "`steersman crd` prints a definition that takes the chart's values";
    let all: Vec<String> = refused.chain(dropped).collect();
    for message in all.iter().take(LISTED) {
        findings.push(Finding::warning(file, line, message).with_hint(hint));
    }
    if all.len() > LISTED {
        let message = format!(
            "{} more defaults of the chart are refused or dropped",
            all.len() - LISTED
        );
        findings.push(Finding::warning(file, line, message).with_hint(hint));
    }
}

/// A JSON pointer as people write paths.
pub(super) fn dotted(pointer: &str) -> String {
    let tokens = pointer
        .split('/')
        .skip(1)
        .map(|token| token.replace("~1", "/").replace("~0", "~"));
    tokens.collect::<Vec<_>>().join(".")
}

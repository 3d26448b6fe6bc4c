//! What an entry changes in what its chart renders.

use serde_json::Value;
use steersman_kustomize::{ObjectPatch, PatchError};
use steersman_model::digest_of_json;
use steersman_yaml::{Content, Node};

use super::drift::read_target;
use super::fields::{Fields, Findings, describe};
use crate::post_render::{PostRender, TargetedPatch};

pub(super) const FIELDS: &[&str] = &["target", "patch", "merge", "strategicMerge"];
/// Exactly one of them says what is done.
const PATCHES: [&str; 3] = ["patch", "merge", "strategicMerge"];

/// Reads and checks `postRender`. What is wrong with it is noted in `findings`.
pub(super) fn read_post_render(entry: &Fields<'_>, findings: &mut Findings) -> PostRender {
    let items = entry.items("postRender", "patches", findings);
    let mut patches = Vec::with_capacity(items.len());
    for (index, item) in items.iter().enumerate() {
        let key = format!("{}[{index}]", entry.key("postRender"));
        if let Some(fields) = Fields::read(item, key.clone(), FIELDS, findings)
            && let Some((target, patch)) = read_patch(&fields, findings)
        {
            patches.push(TargetedPatch {
                target,
                patch,
                key,
                line: item.line,
            });
        }
    }
    // What has no JSON has been noted as a problem.
    let said = items.iter().map(|item| item.to_json().unwrap_or_default());
    let digest = (!items.is_empty()).then(|| digest_of_json(&said.collect()));
    PostRender { patches, digest }
}

fn read_patch(fields: &Fields<'_>, findings: &mut Findings) -> Option<(crate::drift::Target, ObjectPatch)> {
    let target = if let Some(node) = fields.given("target") {
        read_target(node, fields.key("target"), findings)
    } else {
        let message = "`target` is missing; `{}` is every object";
        findings.problem(fields.node, &fields.path, message);
        None
    };
    let mut given = PATCHES
        .iter()
        .filter_map(|field| Some((*field, fields.given(field)?)));
    let (Some((field, node)), None) = (given.next(), given.next()) else {
        let message = "exactly one of `patch`, `merge`, `strategicMerge` is needed";
        findings.problem(fields.node, &fields.path, message);
        return None;
    };
    let patch = body(field, node, &fields.key(field), findings);
    Some((target?, patch?))
}

/// A patch, which may also be given as a text that has it as YAML.
fn body(field: &str, node: &Node, key: &str, findings: &mut Findings) -> Option<ObjectPatch> {
    let inner;
    let value = match node.as_str() {
        Some(text) => {
            inner = steersman_yaml::parse(text);
            match &inner {
                Ok(inner) => inner,
                Err(error) => {
                    let message = format!(
                        "is not valid YAML in its line {}: {}",
                        error.line(),
                        error.message()
                    );
                    findings.problem(node, key, message);
                    return None;
                }
            }
        }
        None => node,
    };
    let patch = match (field, &value.value) {
        ("patch", Content::Sequence(items)) => json_patch(items, node, key, findings)?,
        // As in Kustomize, whose patches are texts.
        ("patch", Content::Mapping(_)) if node.as_str().is_some() => {
            ObjectPatch::strategic(json(value, node, key, findings)?)
        }
        ("patch", Content::Mapping(_)) => {
            let message = "expected a list of operations, found a map";
            let hint = "a map is given by `merge` (JSON merge patch) or `strategicMerge`";
            findings.problem_with_hint(node, key, message, Some(hint.to_owned()));
            return None;
        }
        ("merge", Content::Mapping(_)) => ObjectPatch::merge(json(value, node, key, findings)?),
        ("strategicMerge", Content::Mapping(_)) => ObjectPatch::strategic(json(value, node, key, findings)?),
        (_, _) => {
            let what = if field == "patch" {
                "a list of operations"
            } else {
                "a map"
            };
            findings.problem(
                node,
                key,
                format_args!("expected {what}, found {}", describe(value)),
            );
            return None;
        }
    };
    patch.map_err(|error| findings.problem(node, key, error)).ok()
}

/// Each operation is checked where it stands.
fn json_patch(
    items: &[Node],
    node: &Node,
    key: &str,
    findings: &mut Findings,
) -> Option<Result<ObjectPatch, PatchError>> {
    let is_text = node.as_str().is_some();
    let mut operations = Vec::with_capacity(items.len());
    let mut is_whole = true;
    for (index, item) in items.iter().enumerate() {
        let place = if is_text { node } else { item };
        let key = format!("{key}[{index}]");
        let operation = json(item, place, &key, findings)?;
        if let Err(PatchError::Syntax { problem, .. }) = ObjectPatch::json([&operation]) {
            let problem = problem.strip_prefix("operation 1: ").unwrap_or(&problem);
            findings.problem(
                place,
                &key,
                format_args!("is no operation of a JSON patch: {problem}"),
            );
            is_whole = false;
        }
        operations.push(operation);
    }
    is_whole.then(|| ObjectPatch::json(&operations))
}

fn json(value: &Node, place: &Node, key: &str, findings: &mut Findings) -> Option<Value> {
    let json = value.to_json();
    json.map_err(|error| findings.problem(place, key, error.message()))
        .ok()
}

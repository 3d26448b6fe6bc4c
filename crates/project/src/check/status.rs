//! What an entry adds to the status: whether the project's definition has it.

use serde_json::{Value, json};

use super::definitions::{self, dotted};
use super::{Finding, LISTED, Project, Watched};

const HINT: &str = "`steersman crd` prints a definition that has it";

pub(super) fn check(
    project: &Project<'_>,
    watched: &Watched,
    watches_file: &str,
    findings: &mut Vec<Finding>,
) {
    let scale = watched.status.scale.as_ref();
    if let Some(scale) = scale.filter(|scale| scale.number_in(&watched.overrides).is_some()) {
        let message = format!(
            "scaling has no effect: the entry's overrides set `{}` over the spec",
            scale.spec
        );
        findings.push(Finding::error(watches_file, watched.line, message));
    }
    let Some(defined) = definitions::schema_of(project, &watched.kind) else {
        return;
    };
    let file = &defined.document.file;
    let line = defined.document.line();
    if !watched.status.fields.is_empty()
        && let Some(schema) = defined.structural(findings)
    {
        let resource = json!({
            "apiVersion": watched.kind.api_version(),
            "kind": watched.kind.kind,
            "metadata": {},
            "spec": watched.chart.values(),
            "status": watched.status.sample(),
        });
        let verdict = schema.judge(&resource);
        let is_of_status = |place: &String| place.starts_with("/status/");
        let refused = verdict.refused.iter().filter(|(place, _)| is_of_status(place));
        let refused = refused.map(|(place, why)| format!("{} is refused: {why}", dotted(place)));
        let dropped = verdict.dropped.iter().filter(|place| is_of_status(place));
        let dropped = dropped.map(|place| format!("{} is dropped, which the entry adds", dotted(place)));
        for message in refused.chain(dropped).take(LISTED) {
            findings.push(Finding::error(file, line, message).with_hint(HINT));
        }
    }
    let version = defined.version();
    if let Some(scale) = scale
        && version.pointer("/subresources/scale") != Some(&scale.subresource())
    {
        let message = "the scale subresource is missing, or is another than the entry's";
        findings.push(Finding::warning(file, line, message).with_hint(HINT));
    }
    let columns = version.get("additionalPrinterColumns").and_then(Value::as_array);
    for column in &watched.status.columns {
        let path = format!(".status.{}", column.field);
        let is_there = columns.is_some_and(|all| all.iter().any(|one| one["jsonPath"] == path.as_str()));
        if !is_there {
            let message = format!("the column {} is missing, which the entry adds", column.name);
            findings.push(Finding::warning(file, line, message).with_hint(HINT));
        }
    }
}

//! Procedures: whether there are definitions of the kinds of their runs that take what a run may say, and whether they may make
//! their Jobs.

use super::definitions::{self, dotted};
use super::{Finding, LISTED, Project, Watched, deployed, samples};
use crate::definition::Definition;
use crate::{CustomKind, Procedure, Scope};

pub(super) fn check(
    project: &Project<'_>,
    watched: &Watched,
    watches_file: &str,
    findings: &mut Vec<Finding>,
) {
    let place = (watches_file, watched.line);
    let of = definitions::kind_of(project, &watched.kind);
    for procedure in &watched.procedures {
        if let Some(denied) = watched.denied_jobs.as_ref().filter(|_| procedure.makes_jobs) {
            let message = format!("procedure {} makes Jobs, and {denied}", procedure.name);
            findings.push(Finding::error(watches_file, watched.line, message));
        }
        // Without a definition of the project's own, `crd` is to give one.
        let defined = definitions::document_of(project, &procedure.runs);
        if let (None, Err(error)) = (defined, Definition::of_procedure(&of, procedure)) {
            let message = format!("procedure {} can have no runs: {error}", procedure.name);
            findings.push(Finding::error(watches_file, watched.line, message));
            continue;
        }
        if definitions::check_kind(project, &procedure.runs, place, findings) {
            check_names(project, &of, procedure, findings);
            check_run(project, procedure, findings);
        }
        deployed::check(project, &procedure.runs, findings);
        samples::check(project, &procedure.runs, findings);
    }
}

/// The procedures of an entry, with the kinds of their runs called as the project's definitions have them.
pub(super) fn named_by(project: &Project<'_>, watched: &Watched) -> Vec<Procedure> {
    let of = definitions::kind_of(project, &watched.kind);
    let named = |procedure: &Procedure| {
        let plural = definitions::kind_of(project, &procedure.runs).plural;
        let runs = CustomKind {
            plural,
            scope: of.scope,
            ..procedure.runs.clone()
        };
        Procedure {
            runs,
            ..procedure.clone()
        }
    };
    watched.procedures.iter().map(named).collect()
}

/// Whether runs are where the resources are, and whether they are found.
fn check_names(project: &Project<'_>, of: &CustomKind, procedure: &Procedure, findings: &mut Vec<Finding>) {
    let Some(document) = definitions::document_of(project, &procedure.runs) else {
        return;
    };
    let scope = definitions::kind_of(project, &procedure.runs).scope;
    if scope != of.scope {
        let message = match of.scope {
            Scope::Namespaced => format!("{} are in namespaces, and these runs of theirs are not", of.kind),
            Scope::Cluster => format!("{} are in no namespace, and these runs of theirs are", of.kind),
        };
        let line = document.line_of("/spec/scope");
        findings.push(Finding::error(&document.file, line, message).with_hint(HINT));
    }
    let category = procedure.category(of);
    let categories = document.value["spec"]["names"]["categories"].as_array();
    let has_it = |name: &str| categories.is_some_and(|all| all.iter().any(|one| one == name));
    if !has_it(&category) {
        let message = format!(
            "the category {category} is missing, by which runs of procedure {} are found",
            procedure.name
        );
        let line = document.line_of("/spec/names");
        findings.push(Finding::warning(&document.file, line, message).with_hint(HINT));
    }
}

const HINT: &str = "`steersman crd` prints a definition that fits the procedure";

/// A run that says all that one may say, with what the operator writes of it.
fn check_run(project: &Project<'_>, procedure: &Procedure, findings: &mut Vec<Finding>) {
    let Some(defined) = definitions::schema_of(project, &procedure.runs) else {
        return;
    };
    let Some(schema) = defined.structural(findings) else {
        return;
    };
    let file = &defined.document.file;
    let verdict = schema.judge(&procedure.whole_run());
    let name = &procedure.name;
    let refused = verdict
        .refused
        .iter()
        .map(|(place, why)| format!("{} is refused in runs of procedure {name}: {why}", dotted(place)));
    let dropped = verdict.dropped.iter();
    let dropped = dropped.map(|place| format!("{} is dropped in runs of procedure {name}", dotted(place)));
    let line = defined.document.line();
    for message in refused.chain(dropped).take(LISTED) {
        findings.push(Finding::error(file, line, message).with_hint(HINT));
    }
}

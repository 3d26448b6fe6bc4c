//! Roles and playbooks: whether what they name is there, and specifications of arguments fit the defaults.
//!
//! `ansible-playbook --syntax-check` looks at what is imported, and stops at the first fault; here all tasks are read.

mod collections;
mod defaults;
mod specifications;
mod types;

use steersman_chart::survey::Place;

pub use collections::required_collections;

use super::{Finding, LISTED, Project};
use crate::CustomKind;
use crate::rbac::TaskOptions;
use crate::tasks::{Content, TaskSurvey, role_part};

/// An entry of watches.yaml with a role or playbook.
#[derive(Clone, Debug)]
pub struct AnsibleWatched {
    /// What the operator watches, and has a controller for.
    pub kind: CustomKind,
    /// What runs: for each change, and for a deletion.
    pub contents: Vec<Content>,
    /// What their tasks say.
    pub survey: TaskSurvey,
    /// What the permissions depend on, besides.
    pub options: TaskOptions,
    /// The line of the entry.
    pub line: u32,
}

pub(super) fn check(
    project: &Project<'_>,
    watched: &AnsibleWatched,
    (watches_file, line): (&str, u32),
    findings: &mut Vec<Finding>,
) {
    for content in &watched.contents {
        let Content::Role(role) = content else { continue };
        let has = |part: &str| role_part(role, part, "main").is_some();
        // A role may consist of others alone.
        if !has("tasks") && !has("meta") {
            let shown = project.search.shown(role);
            let message = format!("role {shown} has no tasks/main.yml: a run of it does nothing");
            findings.push(Finding::error(watches_file, line, message));
        }
    }
    for problem in watched.survey.problems.iter().take(LISTED) {
        let (file, line) = at(&problem.place);
        let finding = Finding::error(file, line, &problem.message);
        findings.push(match &problem.hint {
            Some(hint) => finding.with_hint(hint),
            None => finding,
        });
    }
    collections::check(project, watched, findings);
    for role in &watched.survey.roles_read {
        // Those of collections are others' to mend.
        if role.starts_with(&project.search.root) && !collections::is_in_collection(role) {
            specifications::check(project.search, role, findings);
        }
    }
}

fn at(place: &Place) -> (&str, u32) {
    (&place.file, u32::try_from(place.line).unwrap_or_default())
}

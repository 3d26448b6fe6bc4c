//! Roles: whether they let the operator do what its charts need.

use std::collections::BTreeMap;

use serde_json::Value;

use crate::rbac::{Asked, Granted, Options, Rule, Rules, base_rules, compare};

use super::manifests::Document;
use super::{Finding, Project, Watched, definitions};

const API_VERSION: &str = "rbac.authorization.k8s.io/v1";

/// Whether the project's roles hold what the operator needs for a watch. Projects without any role have it elsewhere.
pub(super) fn check(project: &Project<'_>, watched: &Watched, findings: &mut Vec<Finding>) {
    let bound = roles(project);
    let Some(main) = main_role(&bound, &watched.kind.group) else {
        return;
    };
    let options = Options {
        ignores_dependents: watched.ignores_dependents,
        ..Options::default()
    };
    // What is wrong with the templates is said of the chart.
    let Ok(wanted) = Rules::of(&definitions::kind_of(project, watched), &watched.chart, &options) else {
        return;
    };
    let base = base_rules();
    let needed: Vec<Asked> = (wanted.rules.iter().chain(&base))
        .flat_map(|rule| rule.each(None))
        .collect();
    // Where a role is bound decides in which namespaces it holds; here it counts that there is one.
    let granted: Vec<Granted> = bound.iter().flat_map(|role| granted(role)).collect();
    let mut missing: BTreeMap<(String, String), Vec<String>> = BTreeMap::new();
    for asked in compare(&granted, &needed).missing {
        missing
            .entry((asked.group, asked.resource))
            .or_default()
            .push(asked.verb);
    }
    for ((group, resource), verbs) in missing {
        let name = if group.is_empty() {
            resource
        } else {
            format!("{resource}.{group}")
        };
        let message = format!(
            "{} may not {} {name}, which {} {} needs",
            main.value["metadata"]["name"].as_str().unwrap_or("the role"),
            verbs.join(", "),
            watched.kind.api_version(),
            watched.kind.kind
        );
        let hint = "its rules have to name these verbs";
        findings.push(Finding::error(&main.file, main.line_of("/rules"), message).with_hint(hint));
    }
}

/// The roles that are bound to somebody; users' roles to read or edit resources are not. All of them where the project
/// binds none.
fn roles<'a>(project: &Project<'a>) -> Vec<&'a Document> {
    let documents = &project.manifests.documents;
    let bindings = ["ClusterRoleBinding", "RoleBinding"];
    let is_binding = |document: &&Document| bindings.iter().any(|kind| document.is(API_VERSION, kind));
    let bound: Vec<&Value> = documents
        .iter()
        .filter(is_binding)
        .map(|document| &document.value["roleRef"])
        .collect();
    let is_bound = |document: &Document| {
        let name = &document.value["metadata"]["name"];
        bound
            .iter()
            .any(|role| role["kind"] == document.value["kind"] && role["name"] == *name)
    };
    let roles = documents.iter().filter(|document| is_role(document));
    roles
        .filter(|document| bound.is_empty() || is_bound(document))
        .collect()
}

fn is_role(document: &Document) -> bool {
    ["ClusterRole", "Role"]
        .iter()
        .any(|kind| document.is(API_VERSION, kind))
}

fn granted(role: &Document) -> Vec<Granted> {
    let rules = role.value["rules"].as_array();
    let one = |rule| Granted {
        rule: Rule::from_json(rule),
        namespace: None,
    };
    rules.into_iter().flatten().map(one).collect()
}

/// The role that is about a group's resources themselves; users' roles to read or edit them are about no more than that.
fn main_role<'a>(roles: &[&'a Document], group: &str) -> Option<&'a Document> {
    let about = |role: &&&Document| {
        granted(role).iter().any(|granted| {
            granted
                .rule
                .api_groups
                .iter()
                .any(|known| known == group || known == "*")
        })
    };
    roles
        .iter()
        .filter(about)
        .max_by_key(|role| role.value["rules"].as_array().map_or(0, Vec::len))
        .copied()
}

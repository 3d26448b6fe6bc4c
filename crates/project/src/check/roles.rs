//! Roles: whether they let the operator do what its charts and tasks need.

use std::collections::BTreeSet;

use serde_json::Value;
use steersman_chart::survey::Survey;

use crate::CustomKind;
use crate::rbac::{ActsAs, Difference, Granted, Needs, Options, Rule, Rules, base_rules_of, compare, needed};

use super::manifests::Document;
use super::{AnsibleWatched, Finding, Project, Watched, definitions, deployed, procedures};

const API_VERSION: &str = "rbac.authorization.k8s.io/v1";
const ROLES: [&str; 2] = ["ClusterRole", "Role"];
const BINDINGS: [&str; 2] = ["ClusterRoleBinding", "RoleBinding"];

/// Whether the project's roles hold what the operator needs for a watch. Projects without any role have it elsewhere.
pub(super) fn check(project: &Project<'_>, watched: &Watched, findings: &mut Vec<Finding>) {
    let options = Options {
        ignores_dependents: watched.ignores_dependents,
        expands_claims: watched.expands_claims,
        runs_tests: watched.runs_tests,
        acts_as: watched.service_account.clone().map(ActsAs::Account),
        references: watched.references.clone(),
        procedures: procedures::named_by(project, watched),
        ..Options::default()
    };
    let kind = definitions::kind_of(project, &watched.kind);
    check_missing(project, &kind, findings, |granted| {
        // What is wrong with the templates is said of the chart.
        let Ok(survey) = Survey::of(&watched.chart) else {
            return Vec::new();
        };
        let needs = Needs::of_survey(&kind, &survey, &options);
        needs.missing(&BTreeSet::new(), granted)
    });
}

/// The same for an entry with a role or playbook.
pub(super) fn check_tasks(project: &Project<'_>, watched: &AnsibleWatched, findings: &mut Vec<Finding>) {
    let kind = definitions::kind_of(project, &watched.kind);
    check_missing(project, &kind, findings, |granted| {
        let rules = [Rules::of_tasks(&kind, &watched.survey, &watched.options)];
        let mut all = base_rules_of(&rules);
        all.extend(rules[0].rules.iter().cloned());
        let missing = compare(granted, &needed(&all, &BTreeSet::new())).missing;
        Difference::all(missing, &all)
    });
}

fn check_missing(
    project: &Project<'_>,
    kind: &CustomKind,
    findings: &mut Vec<Finding>,
    missing: impl Fn(&[Granted]) -> Vec<Difference>,
) {
    let bound = roles(project);
    let Some(main) = main_role(&bound, &kind.group) else {
        return;
    };
    // Where a role is bound decides in which namespaces it holds; here it counts that there is one.
    let granted: Vec<Granted> = bound.iter().flat_map(|role| granted(role)).collect();
    for missing in missing(&granted) {
        let name = match missing.name.as_str() {
            "" => missing.resource,
            name => format!("{} {name}", missing.resource),
        };
        let message = format!(
            "{} may not {} {name}, which {} {} needs",
            main["metadata"]["name"].as_str().unwrap_or("the role"),
            missing.verbs.join(", "),
            kind.api_version(),
            kind.kind
        );
        let hint = "its rules have to name these verbs";
        let (file, line) = place_of(project, main, "/rules");
        findings.push(Finding::error(file, line, message).with_hint(hint));
    }
}

/// Whether each role that is given to somebody is there. A project without any has them elsewhere.
pub(super) fn check_bindings(project: &Project<'_>, findings: &mut Vec<Finding>) {
    let objects = objects(project);
    let roles: Vec<&Value> = objects
        .iter()
        .copied()
        .filter(|object| is_one_of(object, &ROLES))
        .collect();
    if roles.is_empty() {
        return;
    }
    for binding in objects.iter().filter(|object| is_one_of(object, &BINDINGS)) {
        let wanted = &binding["roleRef"];
        let name = wanted["name"].as_str().unwrap_or_default();
        if is_of_kubernetes(wanted) || roles.iter().any(|role| is_meant(role, wanted)) {
            continue;
        }
        let message = format!(
            "{} gives the {} {name}, which nothing here defines",
            binding["metadata"]["name"].as_str().unwrap_or("this"),
            wanted["kind"].as_str().unwrap_or("role"),
        );
        let hint = "`rbac generate --name` says what its roles are called";
        let (file, line) = place_of(project, binding, "/roleRef");
        findings.push(Finding::warning(file, line, message).with_hint(hint));
    }
}

/// Whether every cluster has a role.
fn is_of_kubernetes(reference: &Value) -> bool {
    let name = reference["name"].as_str().unwrap_or_default();
    let own: &[&str] = match reference["kind"].as_str() {
        Some("ClusterRole") => &["admin", "cluster-admin", "edit", "view"],
        _ => &["extension-apiserver-authentication-reader"],
    };
    name.starts_with("system:") || own.contains(&name)
}

fn is_meant(role: &Value, reference: &Value) -> bool {
    role["kind"] == reference["kind"] && role["metadata"]["name"] == reference["name"]
}

/// The roles that are bound to somebody; users' roles to read or edit resources are not. All of them where the project
/// binds none.
fn roles<'a>(project: &Project<'a>) -> Vec<&'a Value> {
    let objects = objects(project);
    let bound: Vec<&Value> = objects
        .iter()
        .filter(|object| is_one_of(object, &BINDINGS))
        .map(|object| &object["roleRef"])
        .collect();
    let is_bound = |role: &Value| bound.iter().any(|reference| is_meant(role, reference));
    let roles = objects.into_iter().filter(|object| is_one_of(object, &ROLES));
    roles
        .filter(|object| bound.is_empty() || is_bound(object))
        .collect()
}

/// What is deployed, where the project says it, and else what its folders have.
fn objects<'a>(project: &Project<'a>) -> Vec<&'a Value> {
    if let Some(deployed) = &project.deployed {
        return deployed.objects.iter().collect();
    }
    let documents = project.manifests.documents.iter();
    documents.map(|document| &document.value).collect()
}

fn is_one_of(object: &Value, kinds: &[&str]) -> bool {
    object["apiVersion"] == API_VERSION && kinds.iter().any(|kind| object["kind"] == *kind)
}

/// Where a field of an object is written.
fn place_of<'a>(project: &Project<'a>, object: &Value, field: &str) -> (&'a str, u32) {
    let place = |document: &'a Document| (document.file.as_str(), document.line_of(field));
    let Some(deployed) = &project.deployed else {
        let mut documents = project.manifests.documents.iter();
        let document = documents.find(|document| document.value == *object);
        return document.map_or(("", 0), place);
    };
    deployed::source_of(project, object).map_or((deployed.file, 0), place)
}

fn granted(role: &Value) -> Vec<Granted> {
    let rules = role["rules"].as_array();
    let one = |rule| Granted {
        rule: Rule::from_json(rule),
        namespace: None,
    };
    rules.into_iter().flatten().map(one).collect()
}

/// The role that is about a group's resources themselves; users' roles to read or edit them are about no more than that.
fn main_role<'a>(roles: &[&'a Value], group: &str) -> Option<&'a Value> {
    let about = |role: &&&Value| {
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
        .max_by_key(|role| role["rules"].as_array().map_or(0, Vec::len))
        .copied()
}

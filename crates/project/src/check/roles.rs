//! Roles: whether they let the operator do what its charts need.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::LazyLock;

use regex::Regex;
use serde_json::Value;
use steersman_chart::survey::{HookUse, Survey};
use steersman_chart::{Chart, Outline};

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
    let Ok(mut survey) = Survey::of(&watched.chart) else {
        return;
    };
    forget_tests(&mut survey, &watched.chart);
    let wanted = Rules::of_survey(&definitions::kind_of(project, watched), &survey, &options);
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

/// The annotation that makes a hook of an object, and its value.
static HOOK: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(r#"helm\.sh/hook["']?\s*:\s*["']?([^"'\n]*)"#).expect("the expression is valid")
});

/// Takes what only `helm test` creates out of a survey: an operator runs no tests.
fn forget_tests(survey: &mut Survey, chart: &Chart) {
    let mut tests = BTreeSet::new();
    collect_tests(&chart.outline(), chart.name(), &mut tests);
    for object in &mut survey.objects {
        object
            .sources
            .retain(|source| source.hook != HookUse::Always || !tests.contains(&source.template));
    }
    survey.objects.retain(|object| !object.sources.is_empty());
}

/// The templates all of whose hooks are tests.
fn collect_tests(outline: &Outline, path: &str, tests: &mut BTreeSet<String>) {
    let is_test = |event: &str| event.trim().starts_with("test");
    for (name, text) in outline.templates() {
        let mut hooks = HOOK.captures_iter(text).peekable();
        if hooks.peek().is_some() && hooks.all(|hook| hook[1].split(',').all(is_test)) {
            tests.insert(format!("{path}/{name}"));
        }
    }
    for subchart in outline.subcharts() {
        collect_tests(subchart, &format!("{path}/charts/{}", subchart.name()), tests);
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

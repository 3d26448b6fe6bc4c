//! What objects that tasks make mean for permissions: roles and bindings, and the definitions of kinds.

use std::collections::BTreeSet;

use steersman_chart::survey::{Binding, Definition, PolicyRule, Role};
use steersman_yaml::{Content, Node};

use super::TaskSurvey;
use super::jinja::{is_template, scalar};
use super::objects::Object;

const RBAC: &str = "rbac.authorization.k8s.io/";

impl TaskSurvey {
    /// Notes what else follows from an object that is made.
    pub(super) fn note_grants(&mut self, object: &Object) {
        let is_cluster_role = object.kind.starts_with("Cluster");
        match object.kind.as_str() {
            "Role" | "ClusterRole" if object.api_version.starts_with(RBAC) => {
                self.roles.push(role(object, is_cluster_role));
            }
            "RoleBinding" | "ClusterRoleBinding" if object.api_version.starts_with(RBAC) => {
                self.bindings.push(binding(object));
            }
            "CustomResourceDefinition" => self.definitions.extend(definition(object)),
            _ => {}
        }
    }
}

fn role(object: &Object, is_cluster_role: bool) -> Role {
    let node = object.node.as_ref();
    let (names, is_open) = names(node.and_then(|node| node.get("metadata")?.get("name")));
    let rules = node.and_then(|node| node.get("rules"));
    let mut role = Role {
        is_cluster_role,
        names,
        is_open,
        rules: Vec::new(),
        is_aggregated: node.is_some_and(|node| node.get("aggregationRule").is_some()),
        is_incomplete: false,
        is_widened: false,
        place: object.place.clone(),
    };
    match rules.map(|rules| &rules.value) {
        Some(Content::Sequence(rules)) => {
            for rule in rules {
                add_rule(rule, &mut role);
            }
        }
        None | Some(Content::Null) if node.is_some() => {}
        _ => role.is_incomplete = true,
    }
    role
}

fn add_rule(node: &Node, role: &mut Role) {
    let list = |name: &str| texts(node.get(name));
    let (groups, resources, verbs) = (list("apiGroups"), list("resources"), list("verbs"));
    let (names, urls) = (list("resourceNames"), list("nonResourceURLs"));
    let (Some(api_groups), Some(resources), Some(verbs), Some(non_resource_urls)) =
        (groups, resources, verbs, urls)
    else {
        role.is_incomplete = true;
        return;
    };
    role.is_widened |= names.is_none();
    role.rules.push(PolicyRule {
        api_groups,
        resources,
        resource_names: names.unwrap_or_default(),
        non_resource_urls,
        verbs,
    });
}

/// The texts of a list, none where there is no list; `None` where a template has a part in it.
fn texts(node: Option<&Node>) -> Option<Vec<String>> {
    match node.map(|node| &node.value) {
        None | Some(Content::Null) => Some(Vec::new()),
        Some(Content::Sequence(items)) => {
            let texts = items
                .iter()
                .map(|item| scalar(item).filter(|text| !is_template(text)));
            texts.collect()
        }
        Some(_) => None,
    }
}

fn names(node: Option<&Node>) -> (BTreeSet<String>, bool) {
    match node.and_then(scalar).filter(|name| !is_template(name)) {
        Some(name) => (BTreeSet::from([name]), false),
        None => (BTreeSet::new(), true),
    }
}

fn binding(object: &Object) -> Binding {
    let reference = object.node.as_ref().and_then(|node| node.get("roleRef"));
    let kind = reference.and_then(|reference| scalar(reference.get("kind")?));
    let (names, is_open) = names(reference.and_then(|reference| reference.get("name")));
    Binding {
        is_cluster_role: kind.is_none_or(|kind| kind == "ClusterRole"),
        names,
        is_open,
        place: object.place.clone(),
    }
}

fn definition(object: &Object) -> Option<Definition> {
    let spec = object.node.as_ref()?.get("spec")?;
    let known = |node: Option<&Node>| node.and_then(scalar).filter(|text| !is_template(text));
    let names = spec.get("names")?;
    Some(Definition {
        group: known(spec.get("group"))?,
        kind: known(names.get("kind"))?,
        plural: known(names.get("plural"))?,
        is_namespaced: known(spec.get("scope")).is_none_or(|scope| scope == "Namespaced"),
    })
}

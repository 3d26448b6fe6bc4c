//! What an operator may do, beside what it needs and what it has asked for.

use std::collections::BTreeSet;

use serde_json::Value as Json;

use super::{Reach, Rule};

/// A rule that a user has.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Granted {
    /// What is allowed: resources, verbs, and names where it is limited to some.
    pub rule: Rule,
    /// The namespace in which it holds; none for all and for resources of the cluster.
    pub namespace: Option<String>,
}

/// Something that a user did, or has to do: one verb on one resource.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Asked {
    /// The group of the resource.
    pub group: String,
    /// The resource, with its subresource as in rules: `pods/log`.
    pub resource: String,
    /// `get`, `list`, `create` and so on, in lower case; `*` where a rule has it.
    pub verb: String,
    /// The name of the object; empty where all are meant.
    pub name: String,
    /// The namespace; none for all and for resources of the cluster.
    pub namespace: Option<String>,
}

/// What two sets of permissions do not have in common, verb by verb.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Comparison {
    /// What is needed and not granted.
    pub missing: Vec<Asked>,
    /// What is granted and not needed.
    pub unused: Vec<Asked>,
}

impl Rule {
    /// The rule of a role as the API server shows it.
    pub fn from_json(rule: &Json) -> Self {
        let texts = |key: &str| -> Vec<String> {
            let list = rule.get(key).and_then(Json::as_array);
            let texts = list.into_iter().flatten().filter_map(Json::as_str);
            texts.map(str::to_owned).collect()
        };
        Self {
            api_groups: texts("apiGroups"),
            resources: texts("resources"),
            resource_names: texts("resourceNames"),
            non_resource_urls: texts("nonResourceURLs"),
            verbs: texts("verbs"),
            ..Self::default()
        }
    }

    /// Each verb on each resource that the rule grants, `*` as it stands there.
    pub fn each(&self, namespace: Option<&str>) -> Vec<Asked> {
        let mut found = Vec::new();
        let all = [String::new()];
        let names = if self.resource_names.is_empty() {
            &all[..]
        } else {
            &self.resource_names[..]
        };
        for group in &self.api_groups {
            for resource in &self.resources {
                for verb in &self.verbs {
                    found.extend(names.iter().map(|name| Asked {
                        group: group.clone(),
                        resource: resource.clone(),
                        verb: verb.clone(),
                        name: name.clone(),
                        namespace: namespace.map(str::to_owned),
                    }));
                }
            }
        }
        found
    }

    /// Whether the rule allows this, by the API server's rules.
    pub fn allows(&self, asked: &Asked) -> bool {
        let has = |list: &[String], text: &str| list.iter().any(|known| known == "*" || known == text);
        let subresource = asked
            .resource
            .split_once('/')
            .map(|(_, subresource)| format!("*/{subresource}"));
        let is_resource = has(&self.resources, &asked.resource)
            || subresource.is_some_and(|subresource| self.resources.contains(&subresource));
        let is_named = self.resource_names.is_empty()
            || !asked.name.is_empty() && self.resource_names.contains(&asked.name);
        has(&self.verbs, &asked.verb) && has(&self.api_groups, &asked.group) && is_resource && is_named
    }
}

/// A `ClusterRole` has no rules of its own: the server aggregates other roles' into it.
#[derive(Debug, thiserror::Error)]
#[error("{kind} {name} is aggregated from other roles: what it grants is not in the file")]
pub struct AggregatedRole {
    kind: String,
    name: String,
}

impl Granted {
    /// What the roles in a text of YAML documents grant, whoever they are bound to. Other objects are left out.
    ///
    /// # Errors
    /// A role takes its rules from others.
    pub fn of_manifests(text: &str) -> Result<Vec<Self>, AggregatedRole> {
        let mut found = Vec::new();
        for document in super::documents(text) {
            let text = |path: &str| document.pointer(path).and_then(Json::as_str).unwrap_or_default();
            let kind = text("/kind");
            if kind != "Role" && kind != "ClusterRole" {
                continue;
            }
            if document
                .get("aggregationRule")
                .is_some_and(|rule| !rule.is_null())
            {
                let (kind, name) = (kind.to_owned(), text("/metadata/name").to_owned());
                return Err(AggregatedRole { kind, name });
            }
            let namespace = (kind == "Role").then(|| text("/metadata/namespace").to_owned());
            let rules = document
                .get("rules")
                .and_then(Json::as_array)
                .into_iter()
                .flatten();
            found.extend(rules.map(|rule| Self {
                rule: Rule::from_json(rule),
                namespace: namespace.clone(),
            }));
        }
        Ok(found)
    }

    /// Whether it is enough where it is asked for: a rule of one namespace does not hold for all.
    pub fn allows(&self, asked: &Asked) -> bool {
        let is_there = self.namespace.is_none() || self.namespace == asked.namespace;
        is_there && self.rule.allows(asked)
    }
}

/// Each verb on each resource of these rules: in each of `namespaces`, or in all of them where none is named; what is of
/// the cluster once.
pub fn needed<'a>(rules: impl IntoIterator<Item = &'a Rule>, namespaces: &BTreeSet<String>) -> Vec<Asked> {
    let each = |rule: &Rule| -> Vec<Asked> {
        if rule.reach == Reach::Cluster || namespaces.is_empty() {
            return rule.each(None);
        }
        let namespaces = namespaces.iter();
        namespaces
            .flat_map(|namespace| rule.each(Some(namespace)))
            .collect()
    };
    rules.into_iter().flat_map(each).collect()
}

/// Compares what is granted with what is needed, each verb on each resource.
///
/// ```
/// use std::collections::BTreeSet;
/// use steersman_project::rbac::{Granted, Rule, compare, needed};
///
/// let rule = |verbs: &[&str]| Rule::new("apps", &["deployments"], verbs, "the chart's Deployments");
/// let granted = Granted { rule: rule(&["get", "delete"]), namespace: Some("web".to_owned()) };
/// let needed = needed(&[rule(&["get", "patch"])], &BTreeSet::from(["web".to_owned()]));
/// let comparison = compare(&[granted], &needed);
/// assert_eq!(comparison.missing[0].verb, "patch");
/// assert_eq!(comparison.unused[0].verb, "delete");
/// ```
pub fn compare(granted: &[Granted], needed: &[Asked]) -> Comparison {
    let missing: BTreeSet<Asked> = needed
        .iter()
        .filter(|asked| !granted.iter().any(|granted| granted.allows(asked)))
        .cloned()
        .collect();
    let mut unused = BTreeSet::new();
    for granted in granted {
        for single in granted.rule.each(granted.namespace.as_deref()) {
            let one = Granted {
                rule: Rule {
                    api_groups: vec![single.group.clone()],
                    resources: vec![single.resource.clone()],
                    verbs: vec![single.verb.clone()],
                    resource_names: Some(single.name.clone())
                        .filter(|name| !name.is_empty())
                        .into_iter()
                        .collect(),
                    ..Rule::default()
                },
                namespace: granted.namespace.clone(),
            };
            if !needed.iter().any(|asked| one.allows(asked)) {
                unused.insert(single);
            }
        }
    }
    Comparison {
        missing: missing.into_iter().collect(),
        unused: unused.into_iter().collect(),
    }
}

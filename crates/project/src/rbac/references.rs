//! What is needed to look at objects outside of releases that their resources refer to.

use std::collections::BTreeMap;

use steersman_chart::survey::Survey;

use super::resources::{KUBERNETES, Resolved, resolve};
use super::{Options, Reach, Rule, Rules};

/// They are read, and watched by their names or, where there are many, by their kind.
const VERBS: &[&str] = &["get", "list", "watch"];

/// Objects of a kind that resources refer to, whatever releases have.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Referred {
    /// The field of the entry, such as `dependsOn`.
    pub field: &'static str,
    /// The API group; empty for the core group.
    pub group: String,
    /// `Secret`, as manifests write it.
    pub kind: String,
    /// The name, where it is the same for each resource.
    pub name: Option<String>,
    /// Their namespaces, as far as the entry tells.
    pub place: ReferredPlace,
}

/// Where objects are that resources refer to.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum ReferredPlace {
    /// In the namespace of the release.
    Release,
    /// In this namespace.
    Named(String),
    /// Where the resource says.
    Any,
}

/// Adds the rules. Where releases are made as an account, that one looks at the objects.
pub(super) fn add(survey: &Survey, options: &Options, rules: &mut Rules) {
    let mut found: Vec<Rule> = Vec::new();
    let mut elsewhere: BTreeMap<String, Vec<Rule>> = BTreeMap::new();
    for referred in &options.references {
        let Some(rule) = rule(referred, survey, options, rules) else {
            continue;
        };
        let is_of_cluster = rule.reach == Reach::Cluster;
        if let (ReferredPlace::Named(namespace), false) = (&referred.place, is_of_cluster) {
            join(elsewhere.entry(namespace.clone()).or_default(), rule.clone());
        }
        if let (ReferredPlace::Any, false) = (&referred.place, is_of_cluster) {
            let Referred { field, kind, .. } = referred;
            rules.notice(format!(
                "{kind}: the resource says in which namespace that is ({field}); bind a role that may get, list and watch it \
                 there, too"
            ));
        }
        join(&mut found, rule);
    }
    found.sort_by_key(|rule| rule.reach == Reach::Namespaces);
    if options.acts_as.is_some() {
        rules.account.extend(found);
        for namespace in elsewhere.keys() {
            rules.notice(format!(
                "namespace {namespace}: what releases refer to is there; bind the role of the ServiceAccounts there, too"
            ));
        }
        return;
    }
    rules.rules.extend(found);
    for (namespace, found) in elsewhere {
        rules.elsewhere.entry(namespace).or_default().extend(found);
    }
}

fn rule(referred: &Referred, survey: &Survey, options: &Options, rules: &mut Rules) -> Option<Rule> {
    let Referred {
        field,
        group,
        kind,
        name,
        ..
    } = referred;
    let resource = match resolve(group, kind, survey, &options.known) {
        Resolved::Is(resource) => resource,
        Resolved::Guessed(resource) => {
            rules.notice(format!(
                "{kind}.{group}: taken for {:?}, in namespaces; nothing here defines it",
                resource.plural
            ));
            resource
        }
        Resolved::Removed => {
            rules.notice(format!(
                "{kind} of {group}: no rule, as Kubernetes {KUBERNETES} does not serve it"
            ));
            return None;
        }
    };
    let reason = format!("{}: what resources refer to ({field})", resource.plural);
    let rule = Rule {
        resource_names: name.iter().cloned().collect(),
        ..Rule::new(group, &[&resource.plural], VERBS, reason)
    };
    Some(if resource.is_namespaced {
        rule
    } else {
        rule.of_cluster()
    })
}

/// Names of one resource stand in one rule; a rule for all of them is enough.
fn join(rules: &mut Vec<Rule>, rule: Rule) {
    let same = |known: &&mut Rule| {
        known.reach == rule.reach && known.api_groups == rule.api_groups && known.resources == rule.resources
    };
    let Some(known) = rules.iter_mut().find(same) else {
        rules.push(rule);
        return;
    };
    if known.resource_names.is_empty() || rule.resource_names.is_empty() {
        known.resource_names.clear();
    } else {
        known.resource_names.extend(rule.resource_names.iter().cloned());
        known.resource_names.sort();
        known.resource_names.dedup();
    }
    known.join(Rule {
        resources: Vec::new(),
        ..rule
    });
}

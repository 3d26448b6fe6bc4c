//! What an operator needs to write roles and bindings: the server lets nobody grant what they do not have.

use std::collections::BTreeSet;

use steersman_chart::survey::{PolicyRule, Survey};

use super::{Options, Purpose, Reach, Rule, Rules};

const GROUP: &str = "rbac.authorization.k8s.io";

/// Whether roles are `ClusterRole`s, their resource, and which kind of role holds a rule for them.
const ROLES: [(bool, &str, Reach); 2] = [
    (false, "roles", Reach::Namespaces),
    (true, "clusterroles", Reach::Cluster),
];

/// Adds the rules of the chart's own roles, or, where that is allowed, the leave to write them without having them.
pub(super) fn add(survey: &Survey, options: &Options, rules: &mut Rules) {
    if options.allow_escalation {
        allow(survey, rules);
    } else {
        copy(survey, rules);
        bind(survey, rules);
    }
}

/// The server asks for `escalate` on a role that is written, and for `bind` on one that is bound, by their names.
fn allow(survey: &Survey, rules: &mut Rules) {
    let whose = rules.whose();
    let what_is_written = format!("the {whose} roles, which grant what the operator does not have");
    let what_is_bound = if rules.has_releases {
        "roles that the chart binds"
    } else {
        "roles that tasks bind"
    };
    for (is_cluster_role, resource, reach) in ROLES {
        let shipped = survey
            .roles
            .iter()
            .filter(|role| role.is_cluster_role == is_cluster_role);
        let written = Names::of(shipped.map(|role| (&role.names, role.is_open)));
        let bindings = survey
            .bindings
            .iter()
            .filter(|binding| binding.is_cluster_role == is_cluster_role);
        let bound = Names::of(bindings.map(|binding| (&binding.names, binding.is_open)));
        let mut add = |verbs: &[&str], names: &Names, what: &str| {
            let end = if *names == Names::Any {
                "; their names follow from the release"
            } else {
                ""
            };
            let mut rule = Rule::new(GROUP, &[resource], verbs, format!("{what}{end}")).held();
            rule.resource_names = names.list();
            rule.reach = reach;
            rules.rules.push(rule);
        };
        if written == bound && written != Names::none() {
            add(&["bind", "escalate"], &written, &what_is_written);
            continue;
        }
        if written != Names::none() {
            add(&["escalate"], &written, &what_is_written);
        }
        if bound != Names::none() {
            add(&["bind"], &bound, what_is_bound);
        }
    }
}

/// The names of some roles.
#[derive(PartialEq, Eq)]
enum Names {
    Known(BTreeSet<String>),
    Any,
}

impl Names {
    fn none() -> Self {
        Self::Known(BTreeSet::new())
    }

    /// Of these sets, each with whether there may be others.
    fn of<'a>(sets: impl Iterator<Item = (&'a BTreeSet<String>, bool)>) -> Self {
        let mut all = BTreeSet::new();
        for (names, is_open) in sets {
            if is_open {
                return Self::Any;
            }
            all.extend(names.iter().cloned());
        }
        Self::Known(all)
    }

    /// As `resourceNames` has them: none for any.
    fn list(&self) -> Vec<String> {
        match self {
            Self::Known(names) => names.iter().cloned().collect(),
            Self::Any => Vec::new(),
        }
    }
}

fn copy(survey: &Survey, rules: &mut Rules) {
    for role in &survey.roles {
        let what = if role.is_cluster_role {
            "ClusterRole"
        } else {
            "Role"
        };
        for rule in &role.rules {
            let reach = if role.is_cluster_role {
                Reach::Cluster
            } else {
                Reach::Namespaces
            };
            let reason = format!("granted by the {} {what} in {}", rules.whose(), role.place);
            grant(rule, reach, reason, rules);
        }
        if role.is_incomplete {
            rules.notice(format!(
                "{}: the operator has to have all rules of this {what}, and some follow from values or from the release; \
                 add them, or use --allow-escalation",
                role.place
            ));
        }
        if role.is_widened {
            rules.notice(format!(
                "{}: this {what} is for objects whose names follow from values or from the release; the operator has its \
                 rules for all names",
                role.place
            ));
        }
        if role.is_aggregated {
            rules.notice(format!(
                "{}: only who may do everything, or has `escalate`, may write an aggregated {what}; use --allow-escalation",
                role.place
            ));
        }
    }
}

/// Adds a rule that the chart grants, unless another one covers it.
fn grant(rule: &PolicyRule, reach: Reach, reason: String, rules: &mut Rules) {
    let granted = Rule {
        api_groups: rule.api_groups.clone(),
        resources: rule.resources.clone(),
        resource_names: rule.resource_names.clone(),
        non_resource_urls: rule.non_resource_urls.clone(),
        verbs: rule.verbs.clone(),
        reasons: vec![reason],
        purpose: Purpose::Held,
        reach: if rule.non_resource_urls.is_empty() {
            reach
        } else {
            Reach::Cluster
        },
    };
    if rule.verbs.iter().any(|verb| verb == "*") || rule.resources.iter().any(|resource| resource == "*") {
        rules.notice(format!(
            "{}: with `*`, which the operator has to have as well",
            granted.reasons.join(", ")
        ));
    }
    let same = |known: &&mut Rule| known.key() == granted.key() && known.resources == granted.resources;
    match rules.rules.iter_mut().find(same) {
        Some(known) => known.join(granted),
        None => rules.rules.push(granted),
    }
}

/// Roles that the chart binds and does not ship.
fn bind(survey: &Survey, rules: &mut Rules) {
    for (is_cluster_role, resource, reach) in ROLES {
        let bindings = || {
            survey
                .bindings
                .iter()
                .filter(move |binding| binding.is_cluster_role == is_cluster_role)
        };
        let names: BTreeSet<&String> = bindings().flat_map(|binding| &binding.names).collect();
        if !names.is_empty() {
            let places: Vec<String> = bindings()
                .filter(|binding| !binding.names.is_empty())
                .map(|binding| binding.place.to_string())
                .collect();
            let reason = format!("bound in {}", places.join(", "));
            let mut rule = Rule::new(GROUP, &[resource], &["bind"], reason).held();
            rule.resource_names = names.into_iter().cloned().collect();
            rule.reach = reach;
            rules.rules.push(rule);
        }
        let has_roles = survey
            .roles
            .iter()
            .any(|role| role.is_cluster_role == is_cluster_role);
        for binding in bindings().filter(|binding| binding.is_open && !has_roles) {
            rules.notice(format!(
                "{}: binds one of the {resource} that the chart does not ship and whose name values decide; let the \
                 operator `bind` it",
                binding.place
            ));
        }
    }
}

//! What differs, put together for people: by resource, with what needs it.

use std::collections::{BTreeMap, BTreeSet};

use super::{Asked, Rule};

/// Verbs on one resource, and what needs them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Difference {
    /// With its group, as `kubectl auth can-i` has it: `deployments.apps`, `deployments.apps/scale`.
    pub resource: String,
    /// The name of the object; empty where all are meant.
    pub name: String,
    /// The namespace; none for all and for resources of the cluster.
    pub namespace: Option<String>,
    /// In the order of the alphabet.
    pub verbs: Vec<String>,
    /// What rules say that it is for, one thing after the other; empty where none has it.
    pub reason: String,
}

impl Difference {
    /// Puts `asked` together, with the reasons of these rules.
    pub fn all(asked: impl IntoIterator<Item = Asked>, rules: &[Rule]) -> Vec<Self> {
        let mut found: BTreeMap<(Option<String>, String, String), BTreeSet<Asked>> = BTreeMap::new();
        for asked in asked {
            let key = (asked.namespace.clone(), full_name(&asked), asked.name.clone());
            found.entry(key).or_default().insert(asked);
        }
        let difference = |((namespace, resource, name), asked): (_, BTreeSet<Asked>)| Self {
            reason: reason(rules, &asked),
            verbs: asked.into_iter().map(|asked| asked.verb).collect(),
            resource,
            name,
            namespace,
        };
        found.into_iter().map(difference).collect()
    }
}

fn full_name(asked: &Asked) -> String {
    match (asked.group.as_str(), asked.resource.split_once('/')) {
        ("", _) => asked.resource.clone(),
        (group, None) => format!("{}.{group}", asked.resource),
        (group, Some((resource, subresource))) => format!("{resource}.{group}/{subresource}"),
    }
}

/// Why rules ask for this.
fn reason(rules: &[Rule], asked: &BTreeSet<Asked>) -> String {
    let asking = rules
        .iter()
        .filter(|rule| asked.iter().any(|asked| rule.allows(asked)));
    let reasons: BTreeSet<&str> = asking
        .flat_map(|rule| rule.reasons.iter().map(String::as_str))
        .filter(|reason| {
            // A rule for several resources says of each where it comes from: `services: web/templates/service.yaml:2`.
            match reason.split_once(": ") {
                Some((resource, _)) if !resource.contains(' ') => {
                    asked.iter().any(|asked| asked.resource == resource)
                }
                _ => true,
            }
        })
        .collect();
    reasons.into_iter().collect::<Vec<_>>().join("; ")
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::super::{Granted, Rule, compare, needed};
    use super::Difference;

    fn granted(resources: &[&str], verbs: &[&str], namespace: Option<&str>) -> Granted {
        Granted {
            rule: Rule::new("apps", resources, verbs, ""),
            namespace: namespace.map(str::to_owned),
        }
    }

    fn check(rule: Rule, granted: &[Granted], namespaces: &[&str], expect: &[&str]) {
        let namespaces: BTreeSet<String> = namespaces.iter().map(|name| (*name).to_owned()).collect();
        let rules = [rule];
        let missing = compare(granted, &needed(&rules, &namespaces)).missing;
        let found: Vec<String> = Difference::all(missing, &rules)
            .into_iter()
            .map(|found| {
                let namespace = found.namespace.unwrap_or_default();
                let verbs = found.verbs.join(",");
                format!("{namespace}/{} {verbs} for {}", found.resource, found.reason)
            })
            .collect();
        assert_eq!(found, expect);
    }

    #[test]
    fn what_is_missing_is_told_by_resource() {
        let rule = || {
            let resources = ["deployments", "statefulsets"];
            let mut rule = Rule::new("apps", &resources, &["get", "patch"], "deployments: web.yaml:2");
            rule.reasons.push("statefulsets: db.yaml:7".to_owned());
            rule
        };
        check(rule(), &[granted(&["*"], &["*"], None)], &[], &[]);
        check(
            rule(),
            &[granted(&["deployments"], &["get"], None)],
            &[],
            &[
                "/deployments.apps patch for deployments: web.yaml:2",
                "/statefulsets.apps get,patch for statefulsets: db.yaml:7",
            ],
        );
        let granted = [
            granted(&["*"], &["*"], Some("a")),
            granted(&["deployments"], &["*"], Some("b")),
        ];
        let expect = ["b/statefulsets.apps get,patch for statefulsets: db.yaml:7"];
        check(rule(), &granted, &["a", "b"], &expect);
    }

    #[test]
    fn what_is_of_the_cluster_is_not_granted_by_a_namespace() {
        let rule = || Rule::new("apps", &["nodes"], &["get"], "why").of_cluster();
        check(rule(), &[granted(&["nodes"], &["get"], None)], &["a"], &[]);
        let of_namespace = [granted(&["nodes"], &["get"], Some("a"))];
        check(rule(), &of_namespace, &["a"], &["/nodes.apps get for why"]);
    }
}

//! What an operator lacks, said before a release fails for it.

use std::collections::{BTreeMap, BTreeSet};

use kube::Client;
use steersman_chart::survey::Survey;
use steersman_project::rbac::{Asked, Granted, Options, Reach, Rule, Rules, base_rules, compare};
use steersman_project::{CustomKind, Scope};

use super::{PermissionsError, of_self};
use crate::config::Namespaces;
use crate::discovery::Resource;
use crate::watches::Watch;

/// Any namespace stands for all, where all are watched: a permission that holds in some only is none for the others.
const ANY: &str = "default";

/// Logs a warning for each resource on which the client may not do what the releases of a watch may need. Nothing is said
/// where that is not known for certain.
///
/// One request for each watched namespace. The chart's templates are read on a thread of their own.
pub(crate) async fn tell_missing(client: Client, namespaces: Namespaces, watch: Watch, resource: Resource) {
    let mut granted = Vec::new();
    let listed = match &namespaces {
        Namespaces::All => vec![None],
        Namespaces::Listed(names) => names.iter().map(|name| Some(name.clone())).collect(),
    };
    for namespace in &listed {
        match of_self(&client, namespace.as_deref().unwrap_or(ANY)).await {
            Ok(rules) => granted.extend(rules.into_iter().map(|rule| Granted {
                rule,
                namespace: namespace.clone(),
            })),
            Err(error @ PermissionsError::Incomplete(_)) => {
                tracing::debug!(%error, "Permissions are not compared with the chart");
                return;
            }
            Err(error) => {
                tracing::debug!(error = %crate::apply::chain(&error), "Permissions are not compared with the chart");
                return;
            }
        }
    }
    let gvk = watch.gvk.clone();
    let found = tokio::task::spawn_blocking(move || missing(&watch, &resource, &listed, &granted)).await;
    let found = found.unwrap_or_default();
    if found.is_empty() {
        tracing::debug!(apiVersion = %gvk.api_version(), kind = %gvk.kind, "No permission is missing");
    }
    for lack in found {
        tracing::warn!(
            apiVersion = %gvk.api_version(),
            kind = %gvk.kind,
            resource = %lack.resource,
            namespace = lack.namespace.as_deref().unwrap_or_default(),
            verbs = %lack.verbs.join(","),
            "A permission is missing: {}",
            lack.reason
        );
    }
}

/// What is missing on one resource.
#[derive(Debug, PartialEq, Eq)]
struct Lack {
    /// With its group, as `kubectl auth can-i` takes it.
    resource: String,
    namespace: Option<String>,
    verbs: Vec<String>,
    /// What needs it.
    reason: String,
}

fn missing(
    watch: &Watch,
    resource: &Resource,
    namespaces: &[Option<String>],
    granted: &[Granted],
) -> Vec<Lack> {
    let gvk = &watch.gvk;
    let kind = CustomKind {
        plural: resource.api.plural.clone(),
        scope: if resource.namespaced {
            Scope::Namespaced
        } else {
            Scope::Cluster
        },
        ..CustomKind::new(&gvk.group, &gvk.version, &gvk.kind)
    };
    let options = Options {
        ignores_dependents: !watch.watch_dependents,
        ..Options::default()
    };
    // What cannot be parsed says so with each release.
    let Ok(survey) = Survey::of_templates(&watch.chart) else {
        return Vec::new();
    };
    let of_chart = Rules::of_survey(&kind, &survey, &options);
    lacks(&[base_rules(), of_chart.rules].concat(), namespaces, granted)
}

/// Puts together what of `rules` is not granted, by resource.
fn lacks(rules: &[Rule], namespaces: &[Option<String>], granted: &[Granted]) -> Vec<Lack> {
    let in_namespaces = rules.iter().filter(|rule| rule.reach == Reach::Namespaces);
    let needed: Vec<Asked> = in_namespaces
        .flat_map(|rule| {
            namespaces
                .iter()
                .flat_map(|namespace| rule.each(namespace.as_deref()))
        })
        .collect();
    let of_cluster = rules.iter().filter(|rule| rule.reach == Reach::Cluster);
    let needed_of_cluster: Vec<Asked> = of_cluster.flat_map(|rule| rule.each(None)).collect();
    // What holds in a namespace may hold everywhere: the answer does not tell, so that much is believed.
    let anywhere: Vec<Granted> = granted
        .iter()
        .map(|granted| Granted {
            namespace: None,
            ..granted.clone()
        })
        .collect();
    let missing = compare(granted, &needed).missing;
    let missing_of_cluster = compare(&anywhere, &needed_of_cluster).missing;
    let mut found: BTreeMap<(String, Option<String>), BTreeSet<Asked>> = BTreeMap::new();
    for asked in missing.into_iter().chain(missing_of_cluster) {
        let resource = match asked.group.as_str() {
            "" => asked.resource.clone(),
            group => format!("{}.{group}", asked.resource),
        };
        found
            .entry((resource, asked.namespace.clone()))
            .or_default()
            .insert(asked);
    }
    let lack = |((resource, namespace), asked): ((String, Option<String>), BTreeSet<Asked>)| Lack {
        reason: reason(rules, &asked),
        verbs: asked.into_iter().map(|asked| asked.verb).collect(),
        resource,
        namespace,
    };
    found.into_iter().map(lack).collect()
}

/// Why rules ask for this, one thing after the other.
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
    use steersman_project::rbac::{Granted, Rule};

    use super::lacks;

    fn granted(resources: &[&str], verbs: &[&str], namespace: Option<&str>) -> Granted {
        Granted {
            rule: Rule::new("apps", resources, verbs, ""),
            namespace: namespace.map(str::to_owned),
        }
    }

    fn check(granted: &[Granted], namespaces: &[Option<&str>], expect: &[&str]) {
        let mut rule = Rule::new(
            "apps",
            &["deployments", "statefulsets"],
            &["get", "patch"],
            "deployments: web.yaml:2",
        );
        rule.reasons.push("statefulsets: db.yaml:7".to_owned());
        let namespaces: Vec<_> = namespaces.iter().map(|name| name.map(str::to_owned)).collect();
        let found: Vec<String> = lacks(&[rule], &namespaces, granted)
            .into_iter()
            .map(|lack| {
                let namespace = lack.namespace.unwrap_or_default();
                format!(
                    "{namespace}/{} {} for {}",
                    lack.resource,
                    lack.verbs.join(","),
                    lack.reason
                )
            })
            .collect();
        assert_eq!(found, expect);
    }

    #[test]
    fn what_is_missing_is_told_by_resource() {
        check(&[granted(&["*"], &["*"], None)], &[None], &[]);
        check(
            &[granted(&["deployments"], &["get"], None)],
            &[None],
            &[
                "/deployments.apps patch for deployments: web.yaml:2",
                "/statefulsets.apps get,patch for statefulsets: db.yaml:7",
            ],
        );
        check(
            &[
                granted(&["*"], &["*"], Some("a")),
                granted(&["deployments"], &["*"], Some("b")),
            ],
            &[Some("a"), Some("b")],
            &["b/statefulsets.apps get,patch for statefulsets: db.yaml:7"],
        );
    }

    #[test]
    fn what_is_of_the_cluster_may_be_granted_anywhere() {
        let rule = || Rule::new("apps", &["nodes"], &["get"], "").of_cluster();
        let namespaces = [Some("a".to_owned())];
        assert_eq!(
            lacks(
                &[rule()],
                &namespaces,
                &[granted(&["nodes"], &["get"], Some("a"))]
            ),
            []
        );
        assert_eq!(lacks(&[rule()], &namespaces, &[]).len(), 1);
    }
}

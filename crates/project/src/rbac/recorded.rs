//! What runs of roles and playbooks have asked the API server for, as `steersman run --record-permissions` writes it.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Value as Json, json};

use super::Rule;
use crate::CustomKind;
use crate::yaml::to_yaml;

/// How many different things are kept, counted by verb.
const MOST: usize = 5000;
/// How long a group, a resource, a verb or a namespace may be.
const LONGEST: usize = 253;

const KIND: &str = "RecordedPermissions";
const HEAD: &str = "# What runs have asked the API server for. `steersman rbac generate --recorded FILE` makes rules of it.\n";

/// Verbs on resources, by the kind of custom resource whose runs have asked for them. Names of objects are left out: most
/// follow from the resource, and a rule for those of today would be wrong tomorrow.
///
/// ```
/// use steersman_project::CustomKind;
/// use steersman_project::rbac::{Recorded, RecordedPlace, RecordedRequest};
///
/// let mut recorded = Recorded::default();
/// let request = RecordedRequest {
///     api_version: "example.com/v1",
///     kind: "Web",
///     place: RecordedPlace::OwnNamespace,
///     group: "apps",
///     resource: "deployments/scale",
///     verb: "patch",
/// };
/// assert!(recorded.add(&request));
/// assert!(!recorded.add(&request), "it is known");
/// let read = Recorded::read(&recorded.to_text())?;
/// assert_eq!(read, recorded);
/// assert_eq!(read.rules(&CustomKind::new("example.com", "v1", "Web")).len(), 1);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Recorded {
    kinds: BTreeMap<(String, String), Places>,
    count: usize,
    is_cut: bool,
}

type Places = BTreeMap<RecordedPlace, BTreeMap<(String, String), BTreeSet<String>>>;

/// Where something was asked for.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum RecordedPlace {
    /// In the namespace of the custom resource.
    OwnNamespace,
    /// In another one.
    Namespace(String),
    /// In all namespaces, or what is in none.
    Cluster,
}

/// One request, without names.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RecordedRequest<'a> {
    /// Of the custom resource, as its watch has it.
    pub api_version: &'a str,
    /// Of the custom resource.
    pub kind: &'a str,
    /// Where the request went.
    pub place: RecordedPlace,
    /// Of what was asked for; empty for Kubernetes' core.
    pub group: &'a str,
    /// In the plural, with a subresource behind a slash.
    pub resource: &'a str,
    /// In lower case, as rules have it.
    pub verb: &'a str,
}

/// A text that is no such record.
#[derive(Debug, thiserror::Error)]
pub enum RecordedError {
    /// It can't be read at all.
    #[error("failed to read a record of permissions")]
    Yaml(#[from] steersman_yaml::Error),
    /// It is something else.
    #[error(
        "this is no record of permissions: `{KIND}` as its kind is missing, or rules are not as `run` writes them"
    )]
    Other,
}

impl Recorded {
    /// Takes a request in, and says whether it was new. There is an end to how much is kept.
    pub fn add(&mut self, request: &RecordedRequest<'_>) -> bool {
        let namespace = match &request.place {
            RecordedPlace::Namespace(namespace) => namespace.as_str(),
            _ => "",
        };
        let texts = [request.group, request.resource, request.verb, namespace];
        if texts.iter().any(|text| text.len() > LONGEST) {
            return false;
        }
        let kind = (request.api_version.to_owned(), request.kind.to_owned());
        let resource = (request.group.to_owned(), request.resource.to_owned());
        let known = |places: &Places| {
            let resources = places.get(&request.place);
            let verbs = resources.and_then(|resources| resources.get(&resource));
            verbs.is_some_and(|verbs| verbs.contains(request.verb))
        };
        if self.kinds.get(&kind).is_some_and(known) {
            return false;
        }
        if self.count >= MOST {
            return !std::mem::replace(&mut self.is_cut, true);
        }
        self.count += 1;
        let places = self.kinds.entry(kind).or_default();
        let resources = places.entry(request.place.clone()).or_default();
        resources
            .entry(resource)
            .or_default()
            .insert(request.verb.to_owned())
    }

    /// Takes in what another one has.
    pub fn extend(&mut self, other: &Self) {
        self.is_cut |= other.is_cut;
        for ((api_version, kind), places) in &other.kinds {
            for (place, resources) in places {
                for ((group, resource), verbs) in resources {
                    for verb in verbs {
                        self.add(&RecordedRequest {
                            api_version,
                            kind,
                            place: place.clone(),
                            group,
                            resource,
                            verb,
                        });
                    }
                }
            }
        }
    }

    /// Whether there was more than is kept.
    pub fn is_cut(&self) -> bool {
        self.is_cut
    }

    /// The rules that runs for resources of a kind have used, each with where that was.
    pub fn rules(&self, kind: &CustomKind) -> Vec<(RecordedPlace, Rule)> {
        let places = self.kinds.get(&(kind.api_version(), kind.kind.clone()));
        let mut found = Vec::new();
        for (place, resources) in places.into_iter().flatten() {
            found.extend(rules(resources).map(|rule| (place.clone(), rule)));
        }
        found
    }

    /// The kinds whose runs have asked for something: API version and kind.
    pub fn kinds(&self) -> impl Iterator<Item = (&str, &str)> {
        self.kinds
            .keys()
            .map(|(version, kind)| (version.as_str(), kind.as_str()))
    }

    /// As YAML. The same record gives the same text.
    pub fn to_text(&self) -> String {
        let resources = self.kinds.iter().map(|((api_version, kind), places)| {
            let of = |place: &RecordedPlace| -> Vec<Json> {
                let resources = places.get(place).into_iter();
                resources.flat_map(rules).map(|rule| rule.to_json()).collect()
            };
            let others = places.keys().filter_map(|place| match place {
                RecordedPlace::Namespace(namespace) => {
                    Some(json!({ "namespace": namespace, "rules": of(place) }))
                }
                _ => None,
            });
            json!({
                "apiVersion": api_version,
                "kind": kind,
                "ownNamespace": of(&RecordedPlace::OwnNamespace),
                "otherNamespaces": others.collect::<Vec<_>>(),
                "cluster": of(&RecordedPlace::Cluster),
            })
        });
        let mut text = json!({ "kind": KIND, "resources": resources.collect::<Vec<_>>() });
        if self.is_cut {
            text["isCut"] = true.into();
        }
        HEAD.to_owned() + &to_yaml(&text)
    }

    /// Reads what [`to_text`](Self::to_text) gives.
    ///
    /// # Errors
    /// It is something else.
    pub fn read(text: &str) -> Result<Self, RecordedError> {
        let value = steersman_yaml::to_json(text)?;
        let mut recorded = Self::default();
        recorded.take(&value).ok_or(RecordedError::Other)?;
        recorded.is_cut |= value["isCut"] == true;
        Ok(recorded)
    }

    fn take(&mut self, value: &Json) -> Option<()> {
        if value["kind"] != KIND {
            return None;
        }
        for resource in list(value.get("resources"))? {
            let owner = (resource["apiVersion"].as_str()?, resource["kind"].as_str()?);
            let own = RecordedPlace::OwnNamespace;
            self.take_rules(owner, &own, resource.get("ownNamespace"))?;
            self.take_rules(owner, &RecordedPlace::Cluster, resource.get("cluster"))?;
            for other in list(resource.get("otherNamespaces"))? {
                let place = RecordedPlace::Namespace(other["namespace"].as_str()?.to_owned());
                self.take_rules(owner, &place, other.get("rules"))?;
            }
        }
        Some(())
    }

    fn take_rules(&mut self, owner: (&str, &str), place: &RecordedPlace, rules: Option<&Json>) -> Option<()> {
        for rule in list(rules)? {
            for asked in Rule::from_json(rule).each(None) {
                self.add(&RecordedRequest {
                    api_version: owner.0,
                    kind: owner.1,
                    place: place.clone(),
                    group: &asked.group,
                    resource: &asked.resource,
                    verb: &asked.verb,
                });
            }
        }
        Some(())
    }
}

/// The items of a list, none where there is nothing; `None` for anything else.
fn list(value: Option<&Json>) -> Option<&[Json]> {
    match value {
        None | Some(Json::Null) => Some(&[]),
        Some(value) => value.as_array().map(Vec::as_slice),
    }
}

fn rules(resources: &BTreeMap<(String, String), BTreeSet<String>>) -> impl Iterator<Item = Rule> {
    resources.iter().map(|((group, resource), verbs)| {
        let verbs: Vec<&str> = verbs.iter().map(String::as_str).collect();
        Rule::new(group, &[resource], &verbs, "")
    })
}

#[cfg(test)]
mod tests {
    use expect_test::expect;

    use super::{MOST, Recorded, RecordedPlace, RecordedRequest};

    fn request<'a>(place: RecordedPlace, resource: &'a str, verb: &'a str) -> RecordedRequest<'a> {
        RecordedRequest {
            api_version: "example.com/v1",
            kind: "Web",
            place,
            group: "",
            resource,
            verb,
        }
    }

    #[test]
    fn a_record_is_plain_rules_by_namespace() {
        let mut recorded = Recorded::default();
        for (place, resource, verb) in [
            (RecordedPlace::OwnNamespace, "configmaps", "patch"),
            (RecordedPlace::OwnNamespace, "configmaps", "get"),
            (RecordedPlace::Namespace("far".to_owned()), "pods/log", "get"),
            (RecordedPlace::Cluster, "nodes", "list"),
        ] {
            assert!(recorded.add(&request(place, resource, verb)));
        }
        let text = recorded.to_text();
        expect![[r#"
            # What runs have asked the API server for. `steersman rbac generate --recorded FILE` makes rules of it.
            kind: RecordedPermissions
            resources:
            - apiVersion: example.com/v1
              cluster:
              - apiGroups:
                - ""
                resources:
                - nodes
                verbs:
                - list
              kind: Web
              otherNamespaces:
              - namespace: far
                rules:
                - apiGroups:
                  - ""
                  resources:
                  - pods/log
                  verbs:
                  - get
              ownNamespace:
              - apiGroups:
                - ""
                resources:
                - configmaps
                verbs:
                - get
                - patch
        "#]].assert_eq(&text);
        assert_eq!(Recorded::read(&text).unwrap(), recorded);
    }

    #[test]
    fn what_is_no_record_is_refused() {
        for text in [
            "",
            "kind: Pod\n",
            "kind: RecordedPermissions\nresources: {}\n",
            "[",
        ] {
            assert!(Recorded::read(text).is_err(), "{text}");
        }
    }

    #[test]
    fn there_is_an_end_to_what_is_kept() {
        let mut recorded = Recorded::default();
        for number in 0..=MOST {
            let resource = format!("r{number}");
            assert!(recorded.add(&request(RecordedPlace::Cluster, &resource, "get")));
        }
        assert!(!recorded.add(&request(RecordedPlace::Cluster, "more", "get")));
        assert!(recorded.is_cut());
        let long = "x".repeat(300);
        assert!(!Recorded::default().add(&request(RecordedPlace::Cluster, &long, "get")));
        let read = Recorded::read(&recorded.to_text()).unwrap();
        assert!(read.is_cut() && read == recorded);
    }
}

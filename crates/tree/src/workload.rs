//! What controllers have made of the workloads of a release: replica sets and pods.

use std::collections::{BTreeMap, BTreeSet};

use futures::{FutureExt as _, StreamExt as _, TryStreamExt as _};
use k8s_openapi::api::apps::v1::ReplicaSet;
use k8s_openapi::api::core::v1::Pod;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::{LabelSelector, ObjectMeta};
use kube::Client;
use kube::api::{Api, DynamicObject, ListParams};
use kube::core::{ApiResource, Selector};
use serde_json::json;
use steersman_cluster::RequestError;
use steersman_cluster::client::Pages;
use steersman_model::ObjectId;

use crate::object::{ObservedObject, PARALLEL, judge};
use crate::pod::describe_pod;
use crate::view::ObjectView;

/// The annotation of a replica set, and of its Deployment, with the revision of the pods' template.
const REVISION: &str = "deployment.kubernetes.io/revision";

/// So many objects are asked for at a time, where each may be large.
pub(crate) const PAGE: u32 = 100;

/// One question for objects below workloads: those of a namespace with some labels.
#[derive(Clone, Debug, PartialEq)]
struct Query {
    namespace: String,
    labels: BTreeMap<String, String>,
    /// What a selector asks for besides labels, where it is not shared.
    rest: Selector,
    /// Whether replica sets are asked for, besides pods.
    replica_sets: bool,
}

/// What was found below workloads.
#[derive(Debug)]
struct Found {
    replica_sets: Vec<Child>,
    pods: Vec<Child>,
}

/// What is kept of an object below a workload: there may be many large ones.
#[derive(Debug)]
struct Child {
    /// The UID of its controller.
    owner: String,
    uid: String,
    revision: Option<String>,
    view: ObjectView,
}

impl Child {
    /// A replica set or a pod; `None` for what nothing controls.
    fn of(live: &DynamicObject, is_set: bool) -> Option<Self> {
        let mut owners = live.metadata.owner_references.iter().flatten();
        let owner = owners.find(|reference| reference.controller == Some(true))?;
        Some(Self {
            owner: owner.uid.clone(),
            uid: live.metadata.uid.clone().unwrap_or_default(),
            revision: revision(live).cloned(),
            view: if is_set {
                judge(child_id("apps", "ReplicaSet", live), live)
            } else {
                pod(live)
            },
        })
    }
}

/// What is needed of a workload to find what is below it: it may be one of many large ones.
pub(crate) fn cut(live: DynamicObject) -> DynamicObject {
    let ObjectMeta {
        namespace,
        uid,
        annotations,
        ..
    } = live.metadata;
    let revision = annotations.and_then(|mut all| all.remove_entry(REVISION));
    DynamicObject {
        types: live.types,
        metadata: ObjectMeta {
            namespace,
            uid,
            annotations: revision.map(|entry| BTreeMap::from([entry])),
            ..ObjectMeta::default()
        },
        data: json!({"spec": {"selector": live.data.pointer("/spec/selector")}}),
    }
}

/// Adds to each workload its replica sets and pods.
///
/// # Errors
/// They can't be listed.
pub(crate) async fn add_children(client: &Client, seen: &mut [ObservedObject]) -> Result<(), RequestError> {
    let live = seen.iter().filter_map(|seen| seen.live.as_ref());
    let uids = live.clone().filter_map(|live| live.metadata.uid.clone());
    let mut owners: BTreeSet<String> = uids.collect();
    let queries = queries(live);
    let replica_sets = ask_all(client, &queries, true, &owners).await?;
    // Pods of a Deployment are its replica sets'.
    owners.extend(replica_sets.iter().map(|set| set.uid.clone()));
    let pods = ask_all(client, &queries, false, &owners).await?;
    let found = Found { replica_sets, pods };
    for seen in seen {
        if let Some(live) = &seen.live {
            seen.view.children = children(&seen.view.id, live, &found);
        }
    }
    Ok(())
}

/// The replica sets, or the pods, that these own.
async fn ask_all(
    client: &Client,
    queries: &[Query],
    is_set: bool,
    owners: &BTreeSet<String>,
) -> Result<Vec<Child>, RequestError> {
    let requests: Vec<_> = queries
        .iter()
        .filter(|query| query.replica_sets || !is_set)
        .map(|query| ask(client, query, is_set, owners).boxed())
        .collect();
    futures::stream::iter(requests)
        .buffered(PARALLEL)
        .try_concat()
        .await
}

async fn ask(
    client: &Client,
    query: &Query,
    is_set: bool,
    owners: &BTreeSet<String>,
) -> Result<Vec<Child>, RequestError> {
    let resource = if is_set {
        ApiResource::erase::<ReplicaSet>(&())
    } else {
        ApiResource::erase::<Pod>(&())
    };
    let mut selector: Selector = query.labels.clone().into_iter().collect();
    selector.extend(query.rest.clone());
    let api: Api<DynamicObject> = Api::namespaced_with(client.clone(), &query.namespace, &resource);
    let asked = ListParams::default().labels_from(&selector).limit(PAGE);
    let mut pages = Pages::of(&api, asked);
    let mut found = Vec::new();
    while let Some(page) = pages.next().await? {
        let children = page.iter().filter_map(|live| Child::of(live, is_set));
        // Anybody's pods may have the labels.
        found.extend(children.filter(|child| owners.contains(&child.owner)));
    }
    Ok(found)
}

/// The questions to ask: as few as labels allow. Workloads with a label in common are one question, as whose an object
/// is, its owner says.
fn queries<'a>(live: impl Iterator<Item = &'a DynamicObject>) -> Vec<Query> {
    let mut queries: Vec<Query> = Vec::new();
    for query in live.filter_map(query) {
        let shared = |other: &Query| -> BTreeMap<String, String> {
            let both = query.labels.iter();
            both.filter(|(key, value)| other.labels.get(*key) == Some(value))
                .map(|(key, value)| (key.clone(), value.clone()))
                .collect()
        };
        let fitting = queries
            .iter_mut()
            .filter(|other| other.namespace == query.namespace)
            .find_map(|other| Some((shared(other), other)).filter(|(shared, _)| !shared.is_empty()));
        match fitting {
            Some((labels, other)) => {
                if *other != query {
                    other.rest = Selector::default();
                }
                other.labels = labels;
                other.replica_sets |= query.replica_sets;
            }
            None => queries.push(query),
        }
    }
    queries
}

/// What a workload selects its pods by; `None` for everything else, and for a selector that selects everything.
fn query(live: &DynamicObject) -> Option<Query> {
    let types = live.types.as_ref()?;
    let is_deployment = match (types.api_version.as_str(), types.kind.as_str()) {
        ("apps/v1", "Deployment") => true,
        ("apps/v1", "StatefulSet" | "DaemonSet" | "ReplicaSet") | ("batch/v1", "Job") => false,
        _ => return None,
    };
    let selector = live.data.pointer("/spec/selector")?.clone();
    let mut selector: LabelSelector = serde_json::from_value(selector).ok()?;
    let labels = selector.match_labels.take().unwrap_or_default();
    let rest = Selector::try_from(selector).ok()?;
    let selects_all = labels.is_empty() && rest.selects_all();
    (!selects_all).then_some(Query {
        namespace: live.metadata.namespace.clone()?,
        labels,
        rest,
        replica_sets: is_deployment,
    })
}

/// The tree below a workload. Of a Deployment's replica sets, that of its revision and those that still have pods.
fn children(id: &ObjectId, workload: &DynamicObject, found: &Found) -> Vec<ObjectView> {
    let uid = workload.metadata.uid.as_deref();
    if (id.group.as_str(), id.kind.as_str()) != ("apps", "Deployment") {
        return pods_of(uid, found);
    }
    let revision = revision(workload);
    let mut sets = Vec::new();
    for set in owned(uid, &found.replica_sets) {
        let pods = pods_of(Some(&set.uid), found);
        let is_current = revision.is_some() && set.revision.as_ref() == revision;
        if !is_current && pods.is_empty() {
            continue;
        }
        let mut view = set.view.clone();
        if !is_current {
            let words = ["of another revision", &view.message];
            let words: Vec<&str> = words.into_iter().filter(|word| !word.is_empty()).collect();
            view.message = words.join("; ");
        }
        view.children = pods;
        sets.push((!is_current, view));
    }
    // The current one first.
    sets.sort_by(|(old, one), (other_old, other)| (old, &one.id).cmp(&(other_old, &other.id)));
    sets.into_iter().map(|(_, view)| view).collect()
}

fn revision(live: &DynamicObject) -> Option<&String> {
    let annotations = live.metadata.annotations.as_ref();
    annotations.and_then(|all| all.get(REVISION))
}

fn pods_of(owner: Option<&str>, found: &Found) -> Vec<ObjectView> {
    let pods = owned(owner, &found.pods);
    let mut pods: Vec<ObjectView> = pods.map(|pod| pod.view.clone()).collect();
    pods.sort_by(|one, other| one.id.cmp(&other.id));
    pods
}

fn pod(live: &DynamicObject) -> ObjectView {
    let mut view = judge(child_id("", "Pod", live), live);
    describe_pod(&mut view, live);
    view
}

fn owned<'a>(owner: Option<&'a str>, children: &'a [Child]) -> impl Iterator<Item = &'a Child> {
    let children = children.iter();
    children.filter(move |child| Some(child.owner.as_str()) == owner)
}

fn child_id(group: &str, kind: &str, live: &DynamicObject) -> ObjectId {
    ObjectId {
        group: group.to_owned(),
        kind: kind.to_owned(),
        namespace: live.metadata.namespace.clone(),
        name: live.metadata.name.clone().unwrap_or_default(),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    fn object(api_version: &str, kind: &str, metadata: &Value, more: &Value) -> DynamicObject {
        let mut object = json!({"apiVersion": api_version, "kind": kind, "metadata": metadata});
        object["metadata"]["namespace"] = "ns".into();
        for (key, value) in more.as_object().unwrap() {
            object[key] = value.clone();
        }
        serde_json::from_value(object).unwrap()
    }

    fn workload(api_version: &str, kind: &str, selector: Value) -> DynamicObject {
        let spec = json!({"spec": {"selector": selector}});
        object(api_version, kind, &json!({"name": "shop", "uid": "u"}), &spec)
    }

    /// The selectors of the questions, and whether replica sets are asked for.
    fn check(workloads: &[DynamicObject], expect: &[(&str, bool)]) {
        let asked: Vec<(String, bool)> = queries(workloads.iter())
            .into_iter()
            .map(|query| {
                let mut selector: Selector = query.labels.into_iter().collect();
                selector.extend(query.rest);
                (selector.to_string(), query.replica_sets)
            })
            .collect();
        let expect: Vec<(String, bool)> = expect
            .iter()
            .map(|(text, sets)| ((*text).to_owned(), *sets))
            .collect();
        assert_eq!(asked, expect);
    }

    #[test]
    fn workloads_with_a_label_in_common_are_one_question() {
        let labels = |name: &str| json!({"matchLabels": {"app": "shop", "part": name}});
        let deployment = workload("apps/v1", "Deployment", labels("web"));
        let database = workload("apps/v1", "StatefulSet", labels("database"));
        let job = workload("batch/v1", "Job", json!({"matchLabels": {"controller-uid": "1"}}));
        check(std::slice::from_ref(&deployment), &[("app=shop,part=web", true)]);
        check(
            &[database.clone(), deployment, job],
            &[("app=shop", true), ("controller-uid=1", false)],
        );
        check(
            &[database.clone(), database],
            &[("app=shop,part=database", false)],
        );
    }

    #[test]
    fn nothing_is_asked_about_what_has_no_pods_or_selects_all() {
        let expressions = json!({"matchExpressions": [{"key": "a", "operator": "Exists"}]});
        check(&[workload("apps/v1", "DaemonSet", expressions)], &[("a", false)]);
        check(&[workload("apps/v1", "DaemonSet", json!({}))], &[]);
        check(&[workload("v1", "Service", json!({"app": "shop"}))], &[]);
    }

    #[test]
    fn a_deployment_has_its_current_replica_set_and_old_ones_with_pods() {
        let revision = |number: &str| json!({REVISION: number});
        let owner = |uid: &str| json!([{"apiVersion": "v1", "kind": "X", "name": "x", "uid": uid, "controller": true}]);
        let deployment = object(
            "apps/v1",
            "Deployment",
            &json!({"name": "shop", "uid": "d", "annotations": revision("3")}),
            &json!({}),
        );
        let set = |name: &str, number: &str, uid: &str| {
            let metadata = json!({"name": name, "uid": uid, "annotations": revision(number), "ownerReferences": owner("d")});
            object(
                "apps/v1",
                "ReplicaSet",
                &metadata,
                &json!({"spec": {"replicas": 0}}),
            )
        };
        let pod = |name: &str, uid: &str| {
            let metadata = json!({"name": name, "ownerReferences": owner(uid)});
            object("v1", "Pod", &metadata, &json!({"status": {"phase": "Running"}}))
        };
        let sets = [set("a", "1", "one"), set("b", "2", "two"), set("c", "3", "three")];
        let pods = [pod("c-1", "three"), pod("b-1", "two"), pod("other", "else")];
        let found = Found {
            replica_sets: sets.iter().filter_map(|set| Child::of(set, true)).collect(),
            pods: pods.iter().filter_map(|pod| Child::of(pod, false)).collect(),
        };
        let id = child_id("apps", "Deployment", &deployment);
        let deployment = cut(deployment);
        let tree: Vec<(String, Vec<String>)> = children(&id, &deployment, &found)
            .into_iter()
            .map(|set| {
                (
                    format!("{} {}", set.id.name, set.message),
                    set.children.into_iter().map(|pod| pod.id.name).collect(),
                )
            })
            .collect();
        assert_eq!(
            tree,
            [
                ("c ".to_owned(), vec!["c-1".to_owned()]),
                ("b of another revision".to_owned(), vec!["b-1".to_owned()])
            ]
        );
    }
}

//! What is there and what was done, without what differs between two runs that are the same.

use std::collections::BTreeMap;
use std::sync::LazyLock;

use kube::api::{Api, DynamicObject, ListParams};
use kube::core::{ApiResource, GroupVersionKind};
use regex::Regex;
use serde_json::Value;
use steersman_testkit::cluster::{AuditLog, Request};

use super::workload::gadget_group;
use crate::bench::Bench;

/// Objects by kind, namespace and name.
pub(crate) type Dump = BTreeMap<String, Value>;

/// What stands for the name of the custom resource.
pub(crate) const NAME: &str = "NAME";
/// What stands for the name of the namespace.
const NAMESPACE: &str = "SPACE";

/// The text that [`masked`] was made of, in another run.
pub(crate) fn unmasked(text: &str, bench: &Bench, name: &str) -> String {
    text.replace(NAMESPACE, &bench.namespace).replace(NAME, name)
}

/// The custom resource of this name, and everything that is named after it where a chart of the tests puts objects.
pub(crate) async fn dump(bench: &Bench, name: &str) -> Dump {
    let gadgets = gadget_group(bench);
    let (own, elsewhere) = (bench.namespace.as_str(), "kube-public");
    let kinds: [(&str, &str, &str, &[&str]); 8] = [
        (&bench.group, "Web", "webs", &[own]),
        ("", "ConfigMap", "configmaps", &[own, elsewhere]),
        ("", "Secret", "secrets", &[own, elsewhere]),
        ("", "Service", "services", &[own]),
        ("apps", "Deployment", "deployments", &[own]),
        ("batch", "Job", "jobs", &[own]),
        ("rbac.authorization.k8s.io", "ClusterRole", "clusterroles", &[""]),
        (&gadgets, "Gadget", "gadgets", &[own]),
    ];
    let mut dump = Dump::new();
    for (group, kind, plural, namespaces) in kinds {
        for namespace in namespaces {
            let part = if *namespace == own {
                name.to_owned()
            } else {
                format!("{own}-{name}")
            };
            let found = list(bench, (group, kind, plural), namespace, &part).await;
            dump.extend(found.iter().map(|object| {
                let id = format!("{kind} {namespace}/{}", name_of(object));
                (masked(&id, bench, name), reduced(kind, object, bench, name))
            }));
        }
    }
    dump
}

/// The objects of a kind that have `part` in their names, in a namespace, or in none where that is empty. All that are in no
/// namespace are too many to read them whole each time.
async fn list(
    bench: &Bench,
    (group, kind, plural): (&str, &str, &str),
    namespace: &str,
    part: &str,
) -> Vec<DynamicObject> {
    let resource = ApiResource::from_gvk_with_plural(&GroupVersionKind::gvk(group, "v1", kind), plural);
    let api: Api<DynamicObject> = if namespace.is_empty() {
        Api::all_with(bench.client.clone(), &resource)
    } else {
        Api::namespaced_with(bench.client.clone(), namespace, &resource)
    };
    let everything = ListParams::default();
    if !namespace.is_empty() {
        let mut found = match api.list(&everything).await {
            Ok(found) => found.items,
            // The kind is not served yet, or no longer.
            Err(kube::Error::Api(status)) if status.code == 404 => Vec::new(),
            Err(error) => panic!("{plural} can't be listed: {error}"),
        };
        found.retain(|object| name_of(object).contains(part));
        return found;
    }
    let mut found = Vec::new();
    for object in api.list_metadata(&everything).await.unwrap() {
        let name = object.metadata.name.unwrap_or_default();
        if name.contains(part) {
            found.extend(api.get_opt(&name).await.unwrap());
        }
    }
    found
}

fn name_of(object: &DynamicObject) -> &str {
    object.metadata.name.as_deref().unwrap_or_default()
}

/// What must be the same in every run.
fn reduced(kind: &str, object: &DynamicObject, bench: &Bench, name: &str) -> Value {
    let mut value = serde_json::to_value(object).unwrap();
    let metadata = value["metadata"].as_object_mut().unwrap();
    for field in [
        "uid",
        "resourceVersion",
        "creationTimestamp",
        "generation",
        "managedFields",
    ] {
        metadata.remove(field);
    }
    if value["type"] == "helm.sh/release.v1" {
        // Digests in it depend on identities; Helm's own tests of it are elsewhere.
        value["data"] = Value::Null;
        for stamp in ["createdAt", "modifiedAt"] {
            value["metadata"]["labels"].as_object_mut().unwrap().remove(stamp);
        }
    }
    // The status of other kinds is their controllers'.
    if kind != "Web" {
        value["status"] = Value::Null;
    }
    if kind == "Service" {
        for field in ["clusterIP", "clusterIPs"] {
            value["spec"][field] = Value::Null;
        }
    }
    serde_json::from_str(&masked(&value.to_string(), bench, name)).unwrap()
}

/// A text without what is another one in each run.
pub(crate) fn masked(text: &str, bench: &Bench, name: &str) -> String {
    static UID: LazyLock<Regex> =
        LazyLock::new(|| Regex::new("[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}").unwrap());
    static TIME: LazyLock<Regex> = LazyLock::new(|| {
        Regex::new("[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}([.][0-9]+)?Z").unwrap()
    });
    let text = text.replace(&bench.namespace, NAMESPACE).replace(name, NAME);
    let text = UID.replace_all(&text, "UID");
    TIME.replace_all(&text, "TIME").into_owned()
}

/// Where two dumps differ, on one line.
pub(crate) fn difference(expected: &Dump, found: &Dump) -> String {
    let mut lines = Vec::new();
    for (id, value) in expected {
        match found.get(id) {
            None => lines.push(format!("{id} is missing")),
            Some(other) if other != value => differing(id, value, other, &mut lines),
            Some(_) => {}
        }
    }
    let more = found.keys().filter(|id| !expected.contains_key(*id));
    lines.extend(more.map(|id| format!("{id} is left")));
    lines.join("; ")
}

fn differing(place: &str, expected: &Value, found: &Value, lines: &mut Vec<String>) {
    if let (Value::Object(expected), Value::Object(found)) = (expected, found) {
        for key in expected
            .keys()
            .chain(found.keys().filter(|key| !expected.contains_key(*key)))
        {
            let (expected, found) = (&expected.get(key), &found.get(key));
            if expected != found {
                let null = Value::Null;
                let place = format!("{place}.{key}");
                differing(&place, expected.unwrap_or(&null), found.unwrap_or(&null), lines);
            }
        }
        return;
    }
    lines.push(format!("{place} is {found} instead of {expected}"));
}

/// The requests of the bench's operator for a change that has to do with a custom resource of this name.
pub(crate) fn writes_about(audit: &AuditLog, bench: &Bench, name: &str) -> AuditLog {
    audit.by_user(bench.user.name()).writes().filter(|request| {
        request.name.contains(name) && !matches!(request.resource.as_str(), "events" | "leases")
    })
}

/// How often each object was created and deleted.
pub(crate) fn counts(writes: &AuditLog, bench: &Bench, name: &str) -> BTreeMap<String, usize> {
    let mut counts = BTreeMap::new();
    for request in &writes.requests {
        let what = match (request.verb.as_str(), request.code) {
            ("create" | "patch", Some(201)) => "create",
            ("delete", Some(200 | 202)) => "delete",
            _ => continue,
        };
        let id = format!(
            "{what} {} {}/{}",
            request.resource, request.namespace, request.name
        );
        *counts.entry(masked(&id, bench, name)).or_default() += 1;
    }
    counts
}

/// What must hold for the requests of every run, whatever they were meant for.
pub(crate) fn faults_of(writes: &AuditLog) -> Vec<String> {
    let mut requests = writes.requests.clone();
    requests.sort_by(|a, b| a.received.cmp(&b.received));
    let done: Vec<&Request> = requests
        .iter()
        .filter(|request| request.code.is_some_and(|code| code < 300))
        .collect();
    let mut faults = Vec::new();
    let is_hold = |request: &&Request, held: bool| {
        let body = request.body().filter(|_| request.resource == "webs");
        let finalizers = body
            .as_ref()
            .and_then(|body| body.pointer("/metadata/finalizers"));
        finalizers
            .and_then(Value::as_array)
            .is_some_and(|list| list.is_empty() != held)
    };
    let position = |found: &dyn Fn(&&Request) -> bool| done.iter().position(found);
    let first_create = position(&|request| request.code == Some(201));
    let held = position(&|request| is_hold(request, true));
    if first_create.is_some() && (held.is_none() || held > first_create) {
        faults.push("FIN: an object was created before the finalizer".to_owned());
    }
    if let Some(let_go) = position(&|request| is_hold(request, false)) {
        for late in done
            .iter()
            .skip(let_go)
            .filter(|request| request.resource != "webs")
        {
            faults.push(format!(
                "FIN: {} of {} after the finalizer had gone",
                late.verb, late.name
            ));
        }
    }
    for request in done.iter().filter(|request| request.verb == "delete") {
        let body = request.body();
        if body
            .as_ref()
            .and_then(|body| body.pointer("/preconditions/uid"))
            .is_none()
        {
            faults.push(format!(
                "NODEL: {} {} was deleted whatever its UID",
                request.resource, request.name
            ));
        }
    }
    let revisions: Vec<u32> = done
        .iter()
        .filter(|request| request.verb == "create" && request.resource == "secrets")
        .filter_map(|request| request.name.rsplit_once(".v")?.1.parse().ok())
        .collect();
    if !revisions.is_sorted_by(|a, b| a < b) {
        faults.push(format!("REV: revisions were created as {revisions:?}"));
    }
    faults
}

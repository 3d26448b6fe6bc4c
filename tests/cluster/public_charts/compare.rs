//! What is live, beside what Helm makes of a chart.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;

use kube::api::{Api, DynamicObject, ListParams};
use kube::core::discovery::verbs;
use kube::discovery::{Discovery, Scope};
use serde_json::Value;
use steersman_model::{RenderedObject, objects_of_manifest};

use super::{kind, plural};
use crate::bench::Bench;

/// What is live and ours, against what Helm renders and what the release says.
pub(super) async fn compare(bench: &Bench, name: &str, chart: &str, values: &str) -> Vec<String> {
    let mut failures = Vec::new();
    let file = bench.folder.path().join(format!("{name}.json"));
    fs::write(&file, values).unwrap();
    let file = file.to_string_lossy().into_owned();
    let namespace = bench.namespace.as_str();
    let arguments = [
        "template",
        name,
        chart,
        "-n",
        namespace,
        "-f",
        &file,
        "--no-hooks",
        "--validate",
    ];
    let rendered = match bench.cluster.helm(&arguments).await {
        Ok(rendered) => ids(&objects_of_manifest(&rendered).unwrap()),
        Err(error) => return vec![format!("{name}: helm template failed: {error}")],
    };
    let manifest = match bench
        .cluster
        .helm(&["get", "manifest", name, "-n", namespace])
        .await
    {
        Ok(manifest) => objects_of_manifest(&manifest).unwrap(),
        Err(error) => return vec![format!("{name}: helm get manifest failed: {error}")],
    };
    let stored = ids(&manifest);
    for id in stored.symmetric_difference(&rendered) {
        failures.push(format!("{name}: {id:?} is in one of Helm's rendering and ours"));
    }
    let uid = bench
        .kind_api(&kind(name), &plural(name))
        .get(name)
        .await
        .unwrap()
        .metadata
        .uid
        .unwrap();
    let live = owned(bench, Some(&uid)).await;
    let hooks = ids_of_hooks(bench, name).await;
    for object in &manifest {
        let id = (object.api.kind.clone(), object.name.clone());
        match live.get(&id) {
            None => failures.push(format!("{name}: {id:?} is not live")),
            Some(found) => {
                let mut differences = Vec::new();
                subset(&object.value, found, "", &mut differences);
                failures.extend(
                    differences
                        .into_iter()
                        .map(|difference| format!("{name}: {id:?}: {difference}")),
                );
            }
        }
    }
    // The server copies a Service's labels to what it makes of it.
    let copied = |kind: &str| kind == "EndpointSlice" || kind == "Endpoints";
    for id in live.keys().filter(|(kind, _)| !copied(kind)) {
        if !stored.contains(id) && !hooks.contains(id) {
            failures.push(format!(
                "{name}: {id:?} is live and ours, but not of this revision"
            ));
        }
    }
    failures
}

fn ids(objects: &[RenderedObject]) -> BTreeSet<(String, String)> {
    objects
        .iter()
        .map(|object| (object.api.kind.clone(), object.name.clone()))
        .collect()
}

async fn ids_of_hooks(bench: &Bench, name: &str) -> BTreeSet<(String, String)> {
    let mut hooks = BTreeSet::new();
    let history = bench
        .cluster
        .helm(&["history", name, "-n", &bench.namespace, "-o", "json"])
        .await
        .unwrap();
    for revision in serde_json::from_str::<Vec<Value>>(&history).unwrap() {
        let revision = revision["revision"].to_string();
        let text = bench
            .cluster
            .helm(&[
                "get",
                "hooks",
                name,
                "-n",
                &bench.namespace,
                "--revision",
                &revision,
            ])
            .await
            .unwrap();
        hooks.extend(ids(&objects_of_manifest(&text).unwrap()));
    }
    hooks
}

/// Every object with our mark, of one owner or of all of this test.
pub(super) async fn owned(bench: &Bench, uid: Option<&str>) -> BTreeMap<(String, String), Value> {
    let selector = match uid {
        Some(uid) => format!("steersman.dev/owner-uid={uid}"),
        None => "steersman.dev/owner-uid".to_owned(),
    };
    let discovery = Discovery::new(bench.client.clone())
        .run_aggregated()
        .await
        .unwrap();
    let mut found = BTreeMap::new();
    for (resource, capabilities) in discovery
        .groups()
        .flat_map(kube::discovery::ApiGroup::recommended_resources)
    {
        if !capabilities.supports_operation(verbs::LIST) || resource.group == "events.k8s.io" {
            continue;
        }
        let api: Api<DynamicObject> = match capabilities.scope {
            Scope::Namespaced => Api::namespaced_with(bench.client.clone(), &bench.namespace, &resource),
            Scope::Cluster => Api::all_with(bench.client.clone(), &resource),
        };
        // A kind whose definition has just gone.
        let Ok(list) = api.list(&ListParams::default().labels(&selector)).await else {
            continue;
        };
        for object in list {
            let release = object
                .metadata
                .annotations
                .as_ref()
                .and_then(|all| all.get("meta.helm.sh/release-namespace"));
            if uid.is_none() && release != Some(&bench.namespace) {
                continue;
            }
            // What a chart wants kept stays when the release goes.
            let kept = |all: &BTreeMap<String, String>| all.contains_key("helm.sh/resource-policy");
            if uid.is_none() && object.metadata.annotations.as_ref().is_some_and(kept) {
                continue;
            }
            let name = object.metadata.name.clone().unwrap_or_default();
            found.insert(
                (resource.kind.clone(), name),
                serde_json::to_value(object).unwrap(),
            );
        }
    }
    found
}

/// What `wanted` says and `live` does not.
fn subset(wanted: &Value, live: &Value, path: &str, differences: &mut Vec<String>) {
    match (wanted, live) {
        (Value::Object(wanted), Value::Object(live)) => {
            for (key, value) in wanted {
                let path = format!("{path}/{key}");
                // Items of a list have no type; written as plain text, kept encoded; set by the server; unset by a null.
                if path == "/stringData"
                    || path == "/apiVersion"
                    || path == "/kind"
                    || path == "/status"
                    || path == "/metadata/creationTimestamp"
                    || is_nothing(value)
                {
                    continue;
                }
                match live.get(key) {
                    Some(live) => subset(value, live, &path, differences),
                    None => differences.push(format!("{path} is not live, wanted {value}")),
                }
            }
        }
        (Value::Array(wanted), Value::Array(live)) if wanted.len() == live.len() => {
            for (index, (wanted, live)) in wanted.iter().zip(live).enumerate() {
                subset(wanted, live, &format!("{path}/{index}"), differences);
            }
        }
        _ if same_scalar(wanted, live) => {}
        _ => differences.push(format!("{path} is {live}, wanted {wanted}")),
    }
}

fn is_nothing(value: &Value) -> bool {
    match value {
        Value::Null => true,
        Value::Bool(flag) => !flag,
        Value::String(text) => text.is_empty(),
        Value::Number(number) => number.as_f64() == Some(0.0),
        Value::Array(items) => items.iter().all(is_nothing),
        Value::Object(map) => map.values().all(is_nothing),
    }
}

/// Quantities are written in the server's own way, and the chart's label says less than the mark.
fn same_scalar(wanted: &Value, live: &Value) -> bool {
    let text = |value: &Value| match value {
        Value::String(text) => text.clone(),
        other => other.to_string(),
    };
    let quantity = |value: &Value| {
        let text = text(value);
        let digits = text.trim_end_matches(|c: char| c.is_ascii_alphabetic());
        let factor = match &text[digits.len()..] {
            "" => 1.0,
            "m" => 0.001,
            "k" => 1e3,
            "M" => 1e6,
            "G" => 1e9,
            "Ki" => 1024.0,
            "Mi" => 1024.0 * 1024.0,
            "Gi" => 1024.0 * 1024.0 * 1024.0,
            _ => return None,
        };
        digits.parse::<f64>().ok().map(|number| number * factor)
    };
    wanted == live
        || text(wanted) == text(live)
        || quantity(wanted).is_some() && quantity(wanted) == quantity(live)
}

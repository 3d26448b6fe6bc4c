//! Public charts, installed, changed and removed through custom resources.
//!
//! What is live is compared with what Helm itself renders: every object is there, with every
//! field, and nothing else is ours.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::fs;
use std::time::Duration;

use kube::api::{Api, DynamicObject, ListParams, Patch, PatchParams};
use kube::core::discovery::verbs;
use kube::discovery::{Discovery, Scope};
use serde_json::{Value, json};
use steersman::apply::{RenderedObject, objects_of_manifest};
use steersman_testkit::corpus;

use crate::bench::{Bench, condition};

/// Name, folder in the corpus or in this repository, values.
const CHARTS: &[(&str, &str, &str)] = &[
    (
        "visitors",
        concat!(env!("CARGO_MANIFEST_DIR"), "/helm-charts/visitors"),
        "{}",
    ),
    ("ingress", "charts/kubernetes--ingress-nginx/ingress-nginx", "{}"),
    ("certs", "charts/cert-manager--cert-manager/chart", "{}"),
    ("nginx", "charts/bitnami--charts/nginx", "{}"),
    ("postgres", "charts/bitnami--charts/postgresql", "{}"),
    (
        "rediscluster",
        "charts/bitnami--charts/redis-cluster",
        r#"{"password": "canary-of-redis"}"#,
    ),
    ("kafka", "charts/bitnami--charts/kafka", "{}"),
    (
        "prometheus",
        "charts/prometheus-community--helm-charts/prometheus",
        "{}",
    ),
    ("grafana", "charts/bitnami--charts/grafana", "{}"),
    ("vault", "charts/hashicorp--vault-helm/vault-helm", "{}"),
    ("argo", "charts/argoproj--argo-helm/argo-cd", "{}"),
    ("traefik", "charts/traefik--traefik-helm-chart/traefik", "{}"),
    ("nats", "charts/nats-io--k8s/nats", "{}"),
    ("jenkins", "charts/helm--charts/jenkins", "{}"),
    (
        "secrets",
        "charts/external-secrets--external-secrets/external-secrets",
        "{}",
    ),
    (
        "sealed",
        "charts/bitnami-labs--sealed-secrets/sealed-secrets",
        "{}",
    ),
    ("minio", "charts/minio--minio/minio", "{}"),
];

#[tokio::test(flavor = "multi_thread")]
async fn public_charts_are_installed_changed_and_removed() {
    let Some(corpus) = corpus::root_or_skip() else {
        return;
    };
    let Some(bench) = Bench::new("public_charts").await else {
        return;
    };
    let mut watches = String::new();
    for (name, path, _) in CHARTS {
        let chart = corpus.path(path);
        let _ = writeln!(
            watches,
            "- {{group: {}, version: v1, kind: {}, chart: {}, reconcilePeriod: 10m}}",
            bench.group,
            kind(name),
            chart.display()
        );
        bench.define(&kind(name), &plural(name)).await;
    }
    fs::write(bench.folder.path().join("watches.yaml"), watches).unwrap();
    let operator = bench.ready_operator().await;
    let jobs = tokio::spawn(finish_jobs(bench.api("batch", "v1", "Job", "jobs")));

    let mut failures = Vec::new();
    for (name, _, values) in CHARTS {
        bench
            .apply_cr(
                &kind(name),
                &plural(name),
                name,
                serde_json::from_str(values).unwrap(),
            )
            .await;
    }
    for (name, path, values) in CHARTS {
        failures.extend(settle(&bench, name, 1).await.err());
        failures.extend(compare(&bench, name, &corpus.path(path).to_string_lossy(), values).await);
    }
    report(&failures, "after the installation");

    // Other names for everything: each object is replaced by another one. Bitnami's charts want
    // to find the passwords of before under the old name, so they get another label instead.
    let renamed = |name: &str| match name {
        "rediscluster" => json!({"password": "canary-of-redis", "commonLabels": {"changed": "yes"}}),
        "postgres" | "kafka" | "grafana" => json!({"commonLabels": {"changed": "yes"}}),
        _ => json!({"fullnameOverride": format!("{name}-renamed")}),
    };
    let renamed = |name: &str| renamed(name).to_string();
    for (name, ..) in CHARTS {
        let spec = serde_json::from_str(&renamed(name)).unwrap();
        bench.apply_cr(&kind(name), &plural(name), name, spec).await;
    }
    for (name, path, _) in CHARTS {
        failures.extend(settle(&bench, name, 2).await.err());
        failures.extend(compare(&bench, name, &corpus.path(path).to_string_lossy(), &renamed(name)).await);
    }
    report(&failures, "after the change");

    for (name, ..) in CHARTS {
        bench
            .kind_api(&kind(name), &plural(name))
            .delete(name, &Default::default())
            .await
            .unwrap();
    }
    for (name, ..) in CHARTS {
        let api = bench.kind_api(&kind(name), &plural(name));
        bench.wait_gone(&api, name).await;
    }
    let left = owned(&bench, None).await;
    assert!(left.is_empty(), "left behind: {left:?}");
    assert_eq!(bench.revisions().await, [""; 0]);
    assert!(
        !operator.log_text().contains("canary-of-redis"),
        "a secret is in the log"
    );
    jobs.abort();
    operator.stop().await.unwrap();
}

fn report(failures: &[String], when: &str) {
    assert!(failures.is_empty(), "{when}:\n{}", failures.join("\n"));
}

fn kind(name: &str) -> String {
    let mut letters = name.chars();
    letters
        .next()
        .map(|first| first.to_ascii_uppercase())
        .into_iter()
        .chain(letters)
        .collect()
}

fn plural(name: &str) -> String {
    format!("{name}s")
}

/// Waits until this revision is deployed.
async fn settle(bench: &Bench, name: &str, revision: u64) -> Result<(), String> {
    let api = bench.kind_api(&kind(name), &plural(name));
    let begun = std::time::Instant::now();
    loop {
        let object = serde_json::to_value(api.get(name).await.unwrap()).unwrap();
        let observed = object.pointer("/status/observedGeneration") == object.pointer("/metadata/generation");
        if observed && object.pointer("/status/revision").and_then(Value::as_u64) == Some(revision) {
            return Ok(());
        }
        let failed = condition(&object, "ReleaseFailed").or(condition(&object, "Irreconcilable"));
        if begun.elapsed() > Duration::from_secs(90)
            || failed.is_some() && begun.elapsed() > Duration::from_secs(20)
        {
            return Err(format!("{name}: revision {revision} is not deployed: {failed:?}"));
        }
        tokio::time::sleep(Duration::from_millis(200)).await;
    }
}

/// What is live and ours, against what Helm renders and what the release says.
async fn compare(bench: &Bench, name: &str, chart: &str, values: &str) -> Vec<String> {
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
async fn owned(bench: &Bench, uid: Option<&str>) -> BTreeMap<(String, String), Value> {
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

/// Does what nodes and the job's controller would do.
async fn finish_jobs(jobs: Api<DynamicObject>) {
    loop {
        for job in jobs
            .list(&ListParams::default())
            .await
            .map(|list| list.items)
            .unwrap_or_default()
        {
            let status = &job.data["status"];
            if status["startTime"].is_null() || !status["completionTime"].is_null() {
                continue;
            }
            let entry = |kind: &str| {
                json!({"type": kind, "status": "True", "reason": "Told", "message": "by the test",
                       "lastTransitionTime": status["startTime"]})
            };
            let done = json!({"status": {"active": 0, "ready": 0, "succeeded": 1, "completionTime": status["startTime"],
                "uncountedTerminatedPods": {}, "conditions": [entry("SuccessCriteriaMet"), entry("Complete")]}});
            let name = job.metadata.name.unwrap_or_default();
            let _ = jobs
                .patch_status(&name, &PatchParams::default(), &Patch::Merge(done))
                .await;
        }
        tokio::time::sleep(Duration::from_millis(300)).await;
    }
}

//! Public charts that the Go helm-operator has installed, taken over. `HELM_OPERATOR` names its binary.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::time::{Duration, Instant};

use serde_json::Value;
use steersman_model::objects_of_manifest;
use steersman_testkit::cluster::helm_operator_or_say;
use steersman_testkit::corpus;

use crate::bench::{Bench, condition};
use crate::go_operator::go_operator;
use crate::node::finish_jobs;
use crate::public_charts::{CHARTS, kind, plural};
use crate::watched::Watched;

/// How long all charts together may take. A hook of one may hold the Go operator up.
const PATIENCE: Duration = Duration::from_mins(2);

/// Those that come out the same each time. The others get another revision from either operator.
const STEADY: &[&str] = &[
    "argo",
    "certs",
    "nats",
    "prometheus",
    "rediscluster",
    "sealed",
    "secrets",
    "traefik",
    "vault",
];

type ByChart<T> = BTreeMap<&'static str, T>;

/// What `done` finds in the custom resource of each chart, once it has found something in all or has no more time.
async fn wait_all<T>(bench: &Bench, done: impl Fn(&Value) -> Option<T>) -> ByChart<T> {
    let begun = Instant::now();
    let mut found = BTreeMap::new();
    for (name, ..) in CHARTS {
        let api = bench.kind_api(&kind(name), &plural(name));
        let mut watched = Watched::new(&api, name);
        loop {
            if let Some(done) = done(watched.look(Duration::from_millis(500)).await) {
                found.insert(*name, done);
                break;
            }
            if begun.elapsed() > PATIENCE {
                break;
            }
        }
    }
    found
}

/// Each object of a release, with what tells it from another one of its name and with its spec.
async fn objects(bench: &Bench, name: &str) -> BTreeMap<String, (Value, Value)> {
    let arguments = ["get", "manifest", name, "-n", &bench.namespace];
    let manifest = bench.cluster.helm(&arguments).await.unwrap();
    let mut found = BTreeMap::new();
    for object in objects_of_manifest(&manifest).unwrap() {
        let resource = match object.api.group.as_str() {
            "" => object.api.kind.clone(),
            group => format!("{}.{}.{group}", object.api.kind, object.api.version),
        };
        let namespace = object.namespace.as_deref().unwrap_or(&bench.namespace);
        let arguments = ["get", &resource, &object.name, "-n", namespace, "-o", "json"];
        let live = bench.cluster.kubectl(&arguments).await.unwrap();
        let live: Value = serde_json::from_str(&live).unwrap();
        let told = (live["metadata"]["uid"].clone(), live["spec"].clone());
        found.insert(format!("{} {}", object.api.kind, object.name), told);
    }
    found
}

#[tokio::test(flavor = "multi_thread")]
async fn public_charts_of_the_go_operator_are_taken_over_in_place() {
    let test = "public_charts_of_the_go_operator_are_taken_over_in_place";
    let (Some(binary), Some(corpus)) = (helm_operator_or_say(test), corpus::root_or_skip()) else {
        return;
    };
    let Some(bench) = Bench::alone("go_charts").await else {
        return;
    };
    let mut watches = String::new();
    for (name, path, _) in CHARTS {
        let (group, kind, chart) = (&bench.group, kind(name), corpus.path(path));
        let chart = chart.display();
        let _ = writeln!(
            watches,
            "- {{group: {group}, version: v1, kind: {kind}, chart: {chart}, reconcilePeriod: 1h}}"
        );
        bench.define(&kind, &plural(name)).await;
    }
    bench.watches(&watches);
    let go = go_operator(&bench, &binary).await;
    let jobs = tokio::spawn(finish_jobs(bench.api("batch", "v1", "Job", "jobs")));
    for (name, _, values) in CHARTS {
        let values = serde_json::from_str(values).unwrap();
        bench.apply_cr(&kind(name), &plural(name), name, values).await;
    }
    let deployed = wait_all(&bench, |resource| {
        condition(resource, "Deployed").filter(|(status, ..)| status == "True")
    })
    .await;
    // One that it has not deployed keeps it from ending.
    go.kill().await.unwrap();
    let mut before = BTreeMap::new();
    for name in deployed.keys() {
        before.insert(*name, objects(&bench, name).await);
    }

    let operator = bench.ready_operator().await;
    let revisions = wait_all(&bench, |resource| {
        resource.pointer("/status/revision").and_then(Value::as_u64)
    })
    .await;
    let mut failures = Vec::new();
    for (name, before) in &before {
        let revision = revisions.get(name).copied();
        let is_steady = STEADY.contains(name);
        if revision.is_none() || is_steady && revision != Some(1) {
            failures.push(format!("{name} is at revision {revision:?}"));
        }
        let after = objects(&bench, name).await;
        for (object, (uid, spec)) in before {
            match after.get(object) {
                Some((now, _)) if now != uid => failures.push(format!("{name}: {object} is another one")),
                Some((_, now)) if is_steady && now != spec => {
                    failures.push(format!("{name}: {object} was {spec}, is {now}"));
                }
                // Jobs of some charts are named after their revision.
                Some(_) | None => {}
            }
        }
    }
    assert!(failures.is_empty(), "{}", failures.join("\n"));
    assert!(before.len() >= STEADY.len(), "only {:?}", before.keys());
    jobs.abort();
    operator.stop().await.unwrap();
}

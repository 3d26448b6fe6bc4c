//! Public charts, installed, changed and removed through custom resources.
//!
//! What is live is compared with what Helm itself renders: every object is there, with every
//! field, and nothing else is ours.

mod compare;

use std::fmt::Write as _;
use std::fs;
use std::time::Duration;

use kube::api::{Api, DynamicObject, ListParams, Patch, PatchParams};
use serde_json::{Value, json};
use steersman_testkit::corpus;

use crate::bench::{Bench, condition};
use compare::{compare, owned};

/// Name, folder in the corpus or in this repository, values.
pub(crate) const CHARTS: &[(&str, &str, &str)] = &[
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
    let Some(bench) = Bench::alone("public_charts").await else {
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

pub(crate) fn kind(name: &str) -> String {
    let mut letters = name.chars();
    letters
        .next()
        .map(|first| first.to_ascii_uppercase())
        .into_iter()
        .chain(letters)
        .collect()
}

pub(crate) fn plural(name: &str) -> String {
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

/// Does what nodes and the job's controller would do.
pub(crate) async fn finish_jobs(jobs: Api<DynamicObject>) {
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

//! Public charts, installed, changed and removed through custom resources.
//!
//! What is live is compared with what Helm itself renders: every object is there, with every
//! field, and nothing else is ours. What is said of it before, by dry runs, `diff` and `migrate --check`, is what the
//! audit log has of it afterwards.

mod compare;
mod plans;

use std::fmt::Write as _;
use std::fs;
use std::time::Duration;

use futures::StreamExt as _;
use kube::api::{Patch, PatchParams};
use serde_json::{Value, json};
use steersman_testkit::cluster::AuditMark;
use steersman_testkit::corpus::{self, Corpus};

use crate::bench::{Bench, condition};
use crate::developer::Developer;
use crate::node::finish_jobs;
use crate::watched::Watched;
use compare::{compare, owned};
use plans::Happening;

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
    define_all(&bench, &corpus).await;
    let developer = Developer::of(&bench).await;
    let operator = bench.ready_operator().await;
    let jobs = tokio::spawn(finish_jobs(bench.api("batch", "v1", "Job", "jobs")));

    let mut failures = Vec::new();
    let first = |name: &str| {
        let (.., values) = CHARTS.iter().find(|(other, ..)| *other == name).unwrap();
        serde_json::from_str(values).unwrap()
    };
    let (said, mark) = foretell_and_apply(&bench, &developer, first).await;
    for (name, path, values) in CHARTS {
        failures.extend(settle(&bench, name, 1).await.err());
        failures.extend(compare(&bench, name, &corpus.path(path).to_string_lossy(), values).await);
    }
    report(&failures, "after the installation");
    plans::check(
        &said,
        &plans::done_since(&bench, mark).await,
        "by the installation",
    );

    // Other names for everything: each object is replaced by another one. Bitnami's charts want
    // to find the passwords of before under the old name, so they get another label instead.
    let renamed = |name: &str| match name {
        "rediscluster" => json!({"password": "canary-of-redis", "commonLabels": {"changed": "yes"}}),
        "postgres" | "kafka" | "grafana" => json!({"commonLabels": {"changed": "yes"}}),
        _ => json!({"fullnameOverride": format!("{name}-renamed")}),
    };
    let renamed = |name: &str| renamed(name).to_string();
    let before = owned(&bench, None).await;
    let second = |name: &str| serde_json::from_str(&renamed(name)).unwrap();
    let (said, mark) = foretell_and_apply(&bench, &developer, second).await;
    for (name, path, _) in CHARTS {
        failures.extend(settle(&bench, name, 2).await.err());
        failures.extend(compare(&bench, name, &corpus.path(path).to_string_lossy(), &renamed(name)).await);
    }
    report(&failures, "after the change");
    assert!(
        said.deleted.len() > 100,
        "{} objects are deleted",
        said.deleted.len()
    );
    assert!(
        said.changed.len() > 20,
        "{} objects are changed",
        said.changed.len()
    );
    plans::check(&said, &plans::done_since(&bench, mark).await, "by the change");
    plans::check_contents(&said, &before, &owned(&bench, None).await);

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

#[tokio::test(flavor = "multi_thread")]
async fn what_the_check_of_a_migration_says_of_public_charts_is_what_happens() {
    let test = "what_the_check_of_a_migration_says_of_public_charts_is_what_happens";
    let Some(corpus) = corpus::root_or_skip() else {
        return;
    };
    let Some(bench) = Bench::alone(test).await else {
        return;
    };
    define_all(&bench, &corpus).await;
    let jobs = tokio::spawn(finish_jobs(bench.api("batch", "v1", "Job", "jobs")));
    let installing = CHARTS.iter().map(|(name, path, values)| {
        let file = bench.folder.path().join(format!("{name}.json"));
        fs::write(&file, values).unwrap();
        let (chart, file) = (corpus.path(path), file.to_string_lossy().into_owned());
        let bench = &bench;
        async move {
            let chart = chart.to_string_lossy();
            let arguments = ["install", name, &chart, "-n", &bench.namespace, "-f", &file];
            bench.cluster.helm(&arguments).await.unwrap();
        }
    });
    futures::stream::iter(installing)
        .for_each_concurrent(4, |installed| installed)
        .await;
    for (name, _, values) in CHARTS {
        let spec = serde_json::from_str(values).unwrap();
        bench.apply_cr(&kind(name), &plural(name), name, spec).await;
    }
    let said = Developer::of(&bench).await.run(&["migrate", "--check"]).stdout;
    let said = plans::said_by_migrate(&said);

    let mark = bench.cluster.audit_mark().await.unwrap();
    let operator = bench.ready_operator().await;
    let mut taken_over = 0;
    for (name, ..) in CHARTS {
        let api = bench.kind_api(&kind(name), &plural(name));
        let revision = bench
            .wait("a release", &api, name, |object| {
                let observed =
                    object.pointer("/status/observedGeneration") == object.pointer("/metadata/generation");
                object.pointer("/status/revision").filter(|_| observed)?.as_u64()
            })
            .await;
        taken_over += usize::from(revision == 1);
    }
    assert!(
        taken_over * 2 > CHARTS.len(),
        "only {taken_over} releases stayed as they are"
    );
    plans::check(&said, &plans::done_since(&bench, mark).await, "by the migration");
    jobs.abort();
    operator.stop().await.unwrap();
}

/// Defines a kind for each chart, and writes the watches.yaml of all.
async fn define_all(bench: &Bench, corpus: &Corpus) {
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
}

/// Gives all resources these specs, first for a dry run, then for good: what was said of it, in the status and by `diff`,
/// and the mark after which it is done.
async fn foretell_and_apply(
    bench: &Bench,
    developer: &Developer<'_>,
    spec: impl Fn(&str) -> Value,
) -> (Happening, AuditMark) {
    for (name, ..) in CHARTS {
        apply_for_dry_run(bench, name, spec(name)).await;
    }
    let said = plans::said_in_status(bench).await;
    assert_eq!(
        plans::said_by_diff(developer),
        said,
        "`diff` and the dry run tell the same plan"
    );
    let mark = bench.cluster.audit_mark().await.unwrap();
    for (name, ..) in CHARTS {
        bench.apply_cr(&kind(name), &plural(name), name, spec(name)).await;
    }
    (said, mark)
}

/// Applies a resource that asks for a dry run; the next apply without that lets it be done.
async fn apply_for_dry_run(bench: &Bench, name: &str, spec: Value) {
    let object = json!({
        "apiVersion": format!("{}/v1", bench.group), "kind": kind(name), "spec": spec,
        "metadata": {"name": name, "annotations": {"steersman.dev/dry-run": "true"}},
    });
    let parameters = PatchParams::apply("test").force();
    bench
        .kind_api(&kind(name), &plural(name))
        .patch(name, &parameters, &Patch::Apply(&object))
        .await
        .unwrap();
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
    let mut watched = Watched::new(&api, name);
    let begun = std::time::Instant::now();
    loop {
        let object = watched.look(Duration::from_millis(500)).await;
        let observed = object.pointer("/status/observedGeneration") == object.pointer("/metadata/generation");
        if observed && object.pointer("/status/revision").and_then(Value::as_u64) == Some(revision) {
            return Ok(());
        }
        let failed = condition(object, "ReleaseFailed").or(condition(object, "Irreconcilable"));
        if begun.elapsed() > Duration::from_secs(90)
            || failed.is_some() && begun.elapsed() > Duration::from_secs(20)
        {
            return Err(format!("{name}: revision {revision} is not deployed: {failed:?}"));
        }
    }
}

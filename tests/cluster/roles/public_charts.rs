//! Public charts, each released by an operator that may do exactly what its generated role says.
//!
//! The audit log is the judge: nothing is refused, and each verb of the role was used, but for what [`Subject::left`]
//! says of each chart. Kinds that others define have a definition here, so that they are served.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;
use std::time::{Duration, Instant};

use futures::StreamExt as _;
use kube::api::{DeleteParams, Patch, PatchParams};
use serde_json::{Value, json};
use steersman_chart::Chart;
use steersman_model::{RenderedObject, objects_of_manifest};
use steersman_project::CustomKind;
use steersman_project::rbac::{Asked, Difference, Granted, Options, Purpose, Rules, base_rules, compare};
use steersman_testkit::cluster::{AuditLog, OperatorCommand, OperatorProcess, Request};
use steersman_testkit::corpus;

use super::subjects::{SUBJECTS, Subject};
use super::{generated, refused};
use crate::bench::{Bench, PATIENCE, condition};
use crate::node::finish_jobs;
use crate::public_charts::{kind, plural};
use crate::watched::Watched;

/// Kinds of other operators that the charts have objects of.
const DEFINED_BY_OTHERS: &[(&str, &str, &str, &str)] = &[
    ("cert-manager.io", "v1", "Certificate", "certificates"),
    ("cert-manager.io", "v1", "Issuer", "issuers"),
    ("monitoring.coreos.com", "v1", "PrometheusRule", "prometheusrules"),
    ("monitoring.coreos.com", "v1", "ServiceMonitor", "servicemonitors"),
    ("postgresql.org", "v1", "PostgresDatabase", "postgresdatabases"),
    (
        "autoscaling.k8s.io",
        "v1",
        "VerticalPodAutoscaler",
        "verticalpodautoscalers",
    ),
    ("gateway.networking.k8s.io", "v1", "HTTPRoute", "httproutes"),
    ("keda.sh", "v1alpha1", "ScaledObject", "scaledobjects"),
];

/// So many charts are under way at a time.
const PARALLEL: usize = 4;

#[tokio::test(flavor = "multi_thread")]
async fn public_charts_run_under_exactly_their_generated_role() {
    let Some(corpus) = corpus::root_or_skip() else {
        return;
    };
    let Some(bench) = Bench::alone("roles").await else {
        return;
    };
    for (group, version, kind, plural) in DEFINED_BY_OTHERS {
        bench
            .define_as(group, "Namespaced", kind, plural, &[*version])
            .await;
    }
    let jobs = tokio::spawn(finish_jobs(bench.api("batch", "v1", "Job", "jobs")));
    let (bench, corpus) = (&bench, &corpus);
    let runs = SUBJECTS.iter().map(|subject| async move {
        let chart = corpus.path(subject.path);
        run(bench, subject, &chart.to_string_lossy()).await
    });
    let outcomes: Vec<Outcome> = futures::stream::iter(runs)
        .buffer_unordered(PARALLEL)
        .collect()
        .await;
    jobs.abort();
    let mut failures: Vec<String> = outcomes
        .iter()
        .flat_map(|outcome| outcome.failures.clone())
        .collect();
    let unused = outcomes.iter().map(|outcome| outcome.unused_in_common.clone());
    let by_nobody = unused.reduce(|all, one| all.intersection(&one).cloned().collect());
    failures.extend(
        by_nobody
            .into_iter()
            .flatten()
            .map(|unused| format!("every chart: {unused}")),
    );
    assert!(failures.is_empty(), "\n{}", failures.join("\n"));
}

/// Releases a chart, upgrades it, disturbs it and removes it. What is wrong with the role, if anything.
async fn run(bench: &Bench, subject: &Subject, chart: &str) -> Outcome {
    let name = subject.name;
    let (kind, plural) = (kind(name), plural(name));
    let folder = bench.folder.path().join(name);
    fs::create_dir_all(&folder).unwrap();
    let watches = format!(
        "- {{group: {}, version: v1, kind: {kind}, chart: {chart}}}\n",
        bench.group
    );
    fs::write(folder.join("watches.yaml"), watches).unwrap();
    bench.define(&kind, &plural).await;
    let role = format!("role-of-{name}");
    let own = bench.namespace.as_str();
    let account = ["--operator-namespace", own, "--service-account", &role];
    let flags = ["--no-leader-election", "--name", &role];
    let roles = generated(&folder, &[&flags[..], &account].concat());
    bench.cluster.apply(&roles).await.unwrap();
    let user = bench
        .cluster
        .user(&format!("system:serviceaccount:{own}:{role}"), &[])
        .unwrap();
    bench.cluster.grant_cluster_role(&user, &role).await.unwrap();

    let mark = bench.cluster.audit_mark().await.unwrap();
    let operator = OperatorProcess::start(&OperatorCommand {
        binary: Path::new(env!("CARGO_BIN_EXE_steersman")),
        folder: &folder,
        kubeconfig: user.kubeconfig(),
        arguments: &[&format!("--leader-election-namespace={own}")],
        environment: &[],
        log: &folder.join("operator.log"),
    })
    .unwrap();
    operator.wait_until_ready(PATIENCE).await.unwrap();
    let (mut failures, objects) = live(bench, subject).await;
    operator.stop().await.unwrap();
    if !failures.is_empty() {
        let log = operator.log_text();
        failures.extend(log.lines().rev().take(5).map(str::to_owned));
    }

    let audit = bench
        .cluster
        .audit_since(mark)
        .await
        .unwrap()
        .by_user(user.name());
    failures.extend(refused(&audit));
    let needs = Rules::of(
        &CustomKind::new(&bench.group, "v1", kind),
        &Chart::load(Path::new(chart)).unwrap(),
        &Options::default(),
    )
    .unwrap();
    let unused = if failures.is_empty() {
        unused(&needs, &objects, &roles, &audit)
    } else {
        Unused::default()
    };
    // What is in every role is used by some of the charts; the custom resources of all are one.
    let is_common =
        |asked: &Asked| asked.group == bench.group || base_rules().iter().any(|rule| rule.allows(asked));
    let (common, own): (Vec<Asked>, Vec<Asked>) = unused.of_objects.into_iter().partition(is_common);
    let described = |asked: &Asked| format!("unused: {} {}.{}", asked.verb, asked.resource, asked.group);
    if failures.is_empty() {
        // Jobs with a time to live may be gone by then.
        let is_certain = |asked: &Asked| asked.verb != "delete" || asked.resource != "jobs";
        let left = unused.of_others.into_iter();
        let left = left.filter(|asked| !is_common(asked) && is_certain(asked));
        failures.extend(own.iter().map(described));
        failures.extend(surprises(left, subject));
    }
    let common = common
        .iter()
        .map(|asked| described(asked).replace(&plural, "CUSTOM"));
    Outcome {
        failures: failures
            .iter()
            .map(|failure| format!("{name}: {failure}"))
            .collect(),
        unused_in_common: common.collect(),
    }
}

/// What is left unused that the table does not say, and what the table says that is used.
fn surprises(left: impl Iterator<Item = Asked>, subject: &Subject) -> Vec<String> {
    let described = |found: Difference| {
        let is_all = found.verbs.iter().any(|verb| verb == "create");
        let verbs = if is_all {
            "*".to_owned()
        } else {
            found.verbs.join(",")
        };
        format!("{verbs} {}", found.resource)
    };
    let left: BTreeSet<String> = Difference::all(left, &[]).into_iter().map(described).collect();
    let known: BTreeSet<String> = subject.left.iter().map(|(what, _)| (*what).to_owned()).collect();
    let unknown = left.difference(&known).map(|what| format!("left: {what}"));
    let used = known.difference(&left).map(|what| format!("not left: {what}"));
    unknown.chain(used).collect()
}

/// Group and resource, and whether one of these objects goes with its release.
type Objects = BTreeSet<(String, String, bool)>;

struct Outcome {
    failures: Vec<String>,
    /// What this chart did not use of what is in every role.
    unused_in_common: BTreeSet<String>,
}

/// Install, upgrade, drift, uninstall.
async fn live(bench: &Bench, subject: &Subject) -> (Vec<String>, Objects) {
    let name = subject.name;
    let (kind, plural) = (kind(name), plural(name));
    let values: Value = serde_json::from_str(subject.values).unwrap();
    bench.apply_cr(&kind, &plural, name, values.clone()).await;
    let mut failures: Vec<String> = deployed(bench, name, 1).await.err().into_iter().collect();
    let mut changed = values;
    let change: Value = serde_json::from_str(subject.change).unwrap();
    for (key, value) in change.as_object().unwrap() {
        changed[key] = value.clone();
    }
    bench.apply_cr(&kind, &plural, name, changed).await;
    failures.extend(deployed(bench, name, 2).await.err());
    if failures.is_empty() {
        disturb(bench, name).await;
    }
    let objects = kinds_of_release(bench, name).await;
    remove(bench, name).await;
    (failures, objects)
}

/// Waits until what the resource says is deployed, in this revision or a later one: what a chart looks up may have
/// changed by its own installation.
async fn deployed(bench: &Bench, name: &str, revision: u64) -> Result<(), String> {
    let api = bench.kind_api(&kind(name), &plural(name));
    let mut watched = Watched::new(&api, name);
    let begun = Instant::now();
    loop {
        let object = watched.look(Duration::from_millis(500)).await;
        let observed = object.pointer("/status/observedGeneration") == object.pointer("/metadata/generation");
        let found = object.pointer("/status/revision").and_then(Value::as_u64);
        let failed = ["ReleaseFailed", "Irreconcilable"].map(|kind| condition(object, kind));
        let failed = failed.into_iter().flatten().find(|(status, ..)| status == "True");
        if observed && found >= Some(revision) && failed.is_none() {
            return Ok(());
        }
        if begun.elapsed() > PATIENCE || failed.is_some() && begun.elapsed() > Duration::from_secs(20) {
            return Err(format!("revision {revision} is not deployed: {failed:?}"));
        }
    }
}

/// Group and resource of each object of the release that is no hook, and whether it goes with the release.
async fn kinds_of_release(bench: &Bench, name: &str) -> Objects {
    let arguments = ["get", "manifest", name, "-n", &bench.namespace];
    let Ok(manifest) = bench.cluster.helm(&arguments).await else {
        return BTreeSet::new();
    };
    let resource = |object: &RenderedObject| {
        let kind = CustomKind::new(&object.api.group, &object.api.version, &object.api.kind);
        (kind.group, kind.plural, !object.is_kept())
    };
    objects_of_manifest(&manifest)
        .unwrap()
        .iter()
        .map(resource)
        .collect()
}

/// Has the operator meet a change of the resource when it takes its finalizer off: an object is held up meanwhile.
async fn remove(bench: &Bench, name: &str) {
    let (kind, plural) = (kind(name), plural(name));
    let namespace = bench.namespace.as_str();
    let manifest = bench
        .cluster
        .helm(&["get", "manifest", name, "-n", namespace])
        .await;
    let objects = objects_of_manifest(&manifest.unwrap_or_default()).unwrap();
    let held = objects.iter().find(|object| is_simple(object, namespace));
    let held = held.map(|object| format!("{}/{}", object.api.kind, object.name));
    let finalizers = async |id: &str, finalizers: Value| {
        let patch = json!({"metadata": {"finalizers": finalizers}}).to_string();
        let arguments = ["patch", id, "-n", namespace, "--type=merge", "-p", &patch];
        bench.cluster.kubectl(&arguments).await.unwrap();
    };
    if let Some(id) = &held {
        finalizers(id, json!(["example.com/held"])).await;
    }
    let api = bench.kind_api(&kind, &plural);
    api.delete(name, &DeleteParams::default()).await.unwrap();
    if let Some(id) = &held {
        let going = [
            "get",
            id,
            "-n",
            namespace,
            "-o",
            "jsonpath={.metadata.deletionTimestamp}",
        ];
        until(id, async || {
            !bench.cluster.kubectl(&going).await.unwrap().is_empty()
        })
        .await;
        let touch = Patch::Merge(json!({"metadata": {"annotations": {"example.com/touched": "yes"}}}));
        api.patch(name, &PatchParams::default(), &touch).await.unwrap();
        finalizers(id, Value::Null).await;
    }
    bench.wait_gone(&api, name).await;
}

fn is_simple(object: &RenderedObject, namespace: &str) -> bool {
    let kinds = [
        "ConfigMap",
        "Service",
        "Deployment",
        "StatefulSet",
        "DaemonSet",
        "ServiceAccount",
    ];
    object.namespace.as_deref().is_none_or(|found| found == namespace)
        && kinds.contains(&object.api.kind.as_str())
}

/// Deletes an object and takes a label of another one; the operator brings both back.
async fn disturb(bench: &Bench, name: &str) {
    let namespace = bench.namespace.as_str();
    let manifest = bench
        .cluster
        .helm(&["get", "manifest", name, "-n", namespace])
        .await
        .unwrap();
    let objects = objects_of_manifest(&manifest).unwrap();
    let mut chosen = objects.iter().filter(|object| is_simple(object, namespace));
    if let Some(object) = chosen.next() {
        let id = format!("{}/{}", object.api.kind, object.name);
        let uid = [
            "get",
            &id,
            "-n",
            namespace,
            "--ignore-not-found",
            "-o",
            "jsonpath={.metadata.uid}",
        ];
        let before = bench.cluster.kubectl(&uid).await.unwrap();
        bench
            .cluster
            .kubectl(&["delete", &id, "-n", namespace, "--wait=false"])
            .await
            .unwrap();
        until(&id, async || {
            let after = bench.cluster.kubectl(&uid).await.unwrap();
            !after.is_empty() && after != before
        })
        .await;
    }
    let label = "app.kubernetes.io/managed-by";
    if let Some(object) = chosen.next() {
        let id = format!("{}/{}", object.api.kind, object.name);
        bench
            .cluster
            .kubectl(&[
                "label",
                &id,
                "-n",
                namespace,
                "--overwrite",
                &format!("{label}=Nobody"),
            ])
            .await
            .unwrap();
        let path = "jsonpath={.metadata.labels.app\\.kubernetes\\.io/managed-by}";
        let read = ["get", &id, "-n", namespace, "-o", path];
        until(&id, async || {
            bench.cluster.kubectl(&read).await.unwrap() != "Nobody"
        })
        .await;
    }
}

async fn until(what: &str, is_done: impl AsyncFn() -> bool) {
    let begun = Instant::now();
    while !is_done().await {
        assert!(begun.elapsed() < PATIENCE, "{what} is not healed");
        tokio::time::sleep(Duration::from_millis(200)).await;
    }
}

/// The verbs of a role that were not used.
#[derive(Default)]
struct Unused {
    /// Although objects of that kind were there: `objects` of the release, and hooks, of which nobody lists any.
    of_objects: Vec<Asked>,
    of_others: Vec<Asked>,
}

fn unused(needs: &Rules, objects: &Objects, roles: &str, audit: &AuditLog) -> Unused {
    let held = needs.rules.iter().filter(|rule| rule.purpose == Purpose::Held);
    let held = held.flat_map(|rule| rule.each(None));
    let asked: Vec<Asked> = audit.requests.iter().flat_map(asked).collect();
    let rendered: BTreeSet<(&str, &str)> = asked
        .iter()
        .filter(|asked| asked.verb == "create")
        .map(|asked| (asked.group.as_str(), asked.resource.as_str()))
        .collect();
    let needed: Vec<Asked> = asked.iter().cloned().chain(held).collect();
    let granted = Granted::of_manifests(roles).unwrap();
    let unused = compare(&granted, &needed).unused;
    let (of_objects, of_others) = unused.into_iter().partition(|one| {
        let of_release = |goes: bool| objects.contains(&(one.group.clone(), one.resource.clone(), goes));
        let is_used = match one.verb.as_str() {
            "list" | "watch" => of_release(true) || of_release(false),
            // What is kept stays, and so do definitions in `crds/`; a job may have a time to live.
            "delete" => {
                let stays = matches!(one.resource.as_str(), "jobs" | "customresourcedefinitions");
                of_release(true) || !of_release(false) && !stays
            }
            _ => true,
        };
        let is_own = one.group == needs.kind.group;
        is_own || is_used && rendered.contains(&(one.group.as_str(), one.resource.as_str()))
    });
    Unused {
        of_objects,
        of_others,
    }
}

/// What a request needs. An apply of what is not there needs `create`, too.
fn asked(request: &Request) -> Vec<Asked> {
    let resource = match request.subresource.as_str() {
        "" => request.resource.clone(),
        subresource => format!("{}/{subresource}", request.resource),
    };
    let asked = Asked {
        group: request.group.clone(),
        resource,
        verb: request.verb.clone(),
        name: request.name.clone(),
        namespace: Some(request.namespace.clone()).filter(|namespace| !namespace.is_empty()),
    };
    let mut found = Vec::new();
    if request.verb == "patch" && request.code == Some(201) {
        found.push(Asked {
            verb: "create".to_owned(),
            ..asked.clone()
        });
    }
    found.push(asked);
    found
}

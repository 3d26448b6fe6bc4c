//! An operator that is measured, with kinds, a namespace and a user of its own.

use std::fs;
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, bail};
use futures::{StreamExt as _, TryStreamExt as _};
use kube::api::{Api, DynamicObject, ListParams, Patch, PatchParams};
use kube::core::{ApiResource, GroupVersionKind};
use serde_json::{Value, json};
use steersman_testkit::cluster::{OperatorCommand, OperatorProcess, User};

use crate::cluster::Rig;
use crate::process::Usage;

/// How many requests of this program are under way at a time.
pub(crate) const AT_ONCE: usize = 8;

/// How long the slower of the operators may take for all resources.
const PATIENCE: Duration = Duration::from_mins(20);

/// One of the operators, and its place on the cluster.
pub(crate) struct Candidate {
    pub(crate) name: &'static str,
    pub(crate) user: User,
    pub(crate) namespace: String,
    binary: PathBuf,
    folder: PathBuf,
    group: String,
}

/// A candidate that runs.
pub(crate) struct Running {
    operator: OperatorProcess,
    process: u32,
}

impl Candidate {
    /// Makes its user, its namespace, its kinds and the folder it runs in.
    pub(crate) async fn prepare(rig: &Rig, name: &'static str, binary: &Path) -> Result<Self> {
        let user = rig.cluster.user(&format!("bench-{name}"), &[])?;
        rig.cluster.grant_cluster_role(&user, "cluster-admin").await?;
        let namespace = rig.cluster.unique_namespace("bench").await?;
        let group = format!("{name}.example.com");
        for (kind, plural) in [("Bench", "benches"), ("Settings", "settings")] {
            define(rig, &group, kind, plural).await?;
        }
        let folder = rig.cluster.folder().join(name);
        fs::create_dir_all(&folder)?;
        let watch = |kind: &str, chart: &Path| {
            format!(
                "- group: {group}\n  version: v1\n  kind: {kind}\n  chart: {}\n",
                chart.display()
            )
        };
        let watches = watch("Bench", &rig.chart) + &watch("Settings", &rig.settings_chart);
        fs::write(folder.join("watches.yaml"), watches)?;
        Ok(Self {
            name,
            user,
            namespace,
            binary: fs::canonicalize(binary).with_context(|| format!("there is no {}", binary.display()))?,
            folder,
            group,
        })
    }

    /// Starts it and waits until it is ready.
    pub(crate) async fn start(&self, flags: &[&str]) -> Result<Running> {
        let operator = OperatorProcess::start(&OperatorCommand {
            binary: &self.binary,
            folder: &self.folder,
            kubeconfig: self.user.kubeconfig(),
            arguments: flags,
            // The namespace of a developer's shell must not narrow what is watched.
            environment: &[("WATCH_NAMESPACE", "")],
            log: &self.folder.join("operator.log"),
        })?;
        operator.wait_until_ready(Duration::from_mins(1)).await?;
        let process = operator.id().await.context("the operator has ended")?;
        Ok(Running { operator, process })
    }

    /// Creates resources `web-0` and so on.
    pub(crate) async fn create(&self, rig: &Rig, numbers: Range<usize>) -> Result<()> {
        let resources = self.resources(rig, "Bench", "benches");
        futures::stream::iter(numbers)
            .map(|number| self.create_one(&resources, "Bench", format!("web-{number}")))
            .buffer_unordered(AT_ONCE)
            .try_collect::<()>()
            .await
    }

    /// Creates the resource whose release has a Secret and a config map.
    pub(crate) async fn create_settings(&self, rig: &Rig) -> Result<()> {
        let resources = self.resources(rig, "Settings", "settings");
        self.create_one(&resources, "Settings", "one".to_owned()).await?;
        self.wait_deployed(&resources, 1).await
    }

    async fn create_one(&self, resources: &Api<DynamicObject>, kind: &str, name: String) -> Result<()> {
        let object = json!({
            "apiVersion": format!("{}/v1", self.group), "kind": kind, "metadata": {"name": name},
            "spec": {"podAnnotations": {"example.com/resource": name}},
        });
        let parameters = PatchParams::apply("bench");
        resources
            .patch(&name, &parameters, &Patch::Apply(&object))
            .await?;
        Ok(())
    }

    /// Waits until so many resources have the condition that both operators report.
    pub(crate) async fn wait_all_deployed(&self, rig: &Rig, count: usize) -> Result<()> {
        self.wait_deployed(&self.resources(rig, "Bench", "benches"), count)
            .await
    }

    async fn wait_deployed(&self, resources: &Api<DynamicObject>, count: usize) -> Result<()> {
        let begun = Instant::now();
        loop {
            let found = resources.list(&ListParams::default()).await?;
            let deployed = found.items.iter().filter(|resource| is_deployed(&resource.data));
            let deployed = deployed.count();
            if deployed >= count {
                return Ok(());
            }
            if begun.elapsed() > PATIENCE {
                bail!(
                    "{}: {deployed} of {count} resources are deployed after {PATIENCE:?}",
                    self.name
                );
            }
            // A list of 500 costs the API server something, too.
            tokio::time::sleep(Duration::from_millis(500)).await;
        }
    }

    /// The objects of a kind in the candidate's namespace.
    pub(crate) fn objects(&self, rig: &Rig, group: &str, kind: &str, plural: &str) -> Api<DynamicObject> {
        let kind = GroupVersionKind::gvk(group, "v1", kind);
        let resource = ApiResource::from_gvk_with_plural(&kind, plural);
        Api::namespaced_with(rig.client.clone(), &self.namespace, &resource)
    }

    fn resources(&self, rig: &Rig, kind: &str, plural: &str) -> Api<DynamicObject> {
        self.objects(rig, &self.group, kind, plural)
    }
}

impl Running {
    pub(crate) fn usage(&self) -> Result<Usage> {
        Usage::of(self.process)
    }

    /// Waits until it has reconciled this often since its start.
    pub(crate) async fn wait_reconciled(&self, count: usize) -> Result<()> {
        let begun = Instant::now();
        while reconciled(&self.operator.metrics().await?) < count as f64 {
            if begun.elapsed() > PATIENCE {
                bail!("fewer than {count} reconciles after {PATIENCE:?}");
            }
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
        Ok(())
    }

    pub(crate) async fn stop(self) -> Result<()> {
        Ok(self.operator.stop().await?)
    }
}

fn is_deployed(resource: &Value) -> bool {
    let conditions = resource.pointer("/status/conditions").and_then(Value::as_array);
    conditions.is_some_and(|conditions| {
        conditions
            .iter()
            .any(|condition| condition["type"] == "Deployed" && condition["status"] == "True")
    })
}

/// All reconciles that a metrics page counts.
fn reconciled(metrics: &str) -> f64 {
    let counts = metrics
        .lines()
        .filter(|line| line.starts_with("controller_runtime_reconcile_total{"));
    counts
        .filter_map(|line| line.rsplit(' ').next()?.parse::<f64>().ok())
        .sum()
}

async fn define(rig: &Rig, group: &str, kind: &str, plural: &str) -> Result<()> {
    let definition = json!({
        "apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
        "metadata": {"name": format!("{plural}.{group}")},
        "spec": {
            "group": group, "scope": "Namespaced",
            "versions": [{"name": "v1", "served": true, "storage": true, "subresources": {"status": {}},
                "schema": {"openAPIV3Schema": {"type": "object", "x-kubernetes-preserve-unknown-fields": true}}}],
            "names": {"kind": kind, "listKind": format!("{kind}List"), "plural": plural, "singular": kind.to_lowercase()},
        },
    });
    rig.cluster.apply(&definition.to_string()).await?;
    let name = format!("crd/{plural}.{group}");
    rig.cluster
        .kubectl(&["wait", "--for=condition=Established", &name])
        .await?;
    Ok(())
}

//! An operator that is measured, with kinds, a namespace and a user of its own.

use std::fmt::Write as _;
use std::fs;
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, bail};
use futures::{StreamExt as _, TryStreamExt as _};
use kube::api::{Api, DeleteParams, DynamicObject, ListParams, Patch, PatchParams};
use kube::core::{ApiResource, GroupVersionKind};
use serde_json::{Value, json};
use steersman_testkit::cluster::{OperatorCommand, OperatorProcess, User};

use crate::cluster::Rig;
use crate::process::Usage;
use crate::tree::{Sampler, Tree};

/// How many requests of this program are under way at a time.
pub(crate) const AT_ONCE: usize = 8;

/// No resource is looked at again by the clock alone.
pub(crate) const WITHOUT_PERIOD: &str = "--reconcile-period=24h";

/// How long the slower of the operators may take for all resources.
const PATIENCE: Duration = Duration::from_hours(1);

/// How often resources are asked for their conditions.
const PAUSE: Duration = Duration::from_millis(500);

/// Asking for resources takes at most this part of the time.
const PART_FOR_ASKING: u32 = 10;

/// A kind of custom resources.
#[derive(Clone, Copy)]
pub(crate) struct Kind {
    pub(crate) kind: &'static str,
    pub(crate) plural: &'static str,
}

/// One of the operators, and its place on the cluster.
pub(crate) struct Candidate {
    pub(crate) name: &'static str,
    pub(crate) user: User,
    pub(crate) namespace: String,
    pub(crate) folder: PathBuf,
    pub(crate) group: String,
    /// Variables on top of the environment of this process.
    pub(crate) environment: Vec<(String, String)>,
    binary: PathBuf,
}

/// A candidate that runs.
pub(crate) struct Running {
    operator: OperatorProcess,
    process: u32,
}

impl Candidate {
    /// Makes its user, its namespace, its kinds and the folder it runs in. What its watches.yaml says of a kind beside its name
    /// is, for instance, `chart: PATH`.
    pub(crate) async fn prepare(
        rig: &Rig,
        name: &'static str,
        binary: &Path,
        kinds: &[(Kind, String)],
    ) -> Result<Self> {
        let user = rig.cluster.user(&format!("bench-{name}"), &[])?;
        rig.cluster.grant_cluster_role(&user, "cluster-admin").await?;
        let namespace = rig.cluster.unique_namespace("bench").await?;
        let group = format!("{name}.example.com");
        let folder = rig.cluster.folder().join(name);
        fs::create_dir_all(&folder)?;
        let mut watches = String::new();
        for (kind, content) in kinds {
            define(rig, &group, *kind).await?;
            let kind = kind.kind;
            let _ = writeln!(
                watches,
                "- group: {group}\n  version: v1\n  kind: {kind}\n  {content}"
            );
        }
        fs::write(folder.join("watches.yaml"), watches)?;
        Ok(Self {
            name,
            user,
            namespace,
            folder,
            group,
            // The namespace of a developer's shell must not narrow what is watched.
            environment: vec![("WATCH_NAMESPACE".to_owned(), String::new())],
            binary: fs::canonicalize(binary).with_context(|| format!("there is no {}", binary.display()))?,
        })
    }

    /// Starts it and waits until it is ready.
    pub(crate) async fn start(&self, flags: &[&str]) -> Result<Running> {
        let environment: Vec<(&str, &str)> = self
            .environment
            .iter()
            .map(|(name, value)| (name.as_str(), value.as_str()))
            .collect();
        let operator = OperatorProcess::start(&OperatorCommand {
            binary: &self.binary,
            folder: &self.folder,
            kubeconfig: self.user.kubeconfig(),
            arguments: flags,
            environment: &environment,
            log: &self.folder.join("operator.log"),
        })?;
        operator.wait_until_ready(Duration::from_mins(1)).await?;
        let process = operator.id().await.context("the operator has ended")?;
        Ok(Running { operator, process })
    }

    /// Creates resources `web-0` and so on; the spec of each follows from its name.
    pub(crate) async fn create(
        &self,
        rig: &Rig,
        kind: Kind,
        numbers: Range<usize>,
        spec: fn(&str) -> Value,
    ) -> Result<()> {
        let resources = self.resources(rig, kind);
        futures::stream::iter(numbers)
            .map(|number| self.create_one(&resources, kind, format!("web-{number}"), spec))
            .buffer_unordered(AT_ONCE)
            .try_collect::<()>()
            .await
    }

    async fn create_one(
        &self,
        resources: &Api<DynamicObject>,
        kind: Kind,
        name: String,
        spec: fn(&str) -> Value,
    ) -> Result<()> {
        let object = json!({
            "apiVersion": format!("{}/v1", self.group), "kind": kind.kind, "metadata": {"name": name},
            "spec": spec(&name),
        });
        let parameters = PatchParams::apply("bench");
        resources
            .patch(&name, &parameters, &Patch::Apply(&object))
            .await?;
        Ok(())
    }

    /// Waits until so many resources have a condition that both operators report.
    pub(crate) async fn wait(&self, rig: &Rig, kind: Kind, condition: &str, count: usize) -> Result<()> {
        let resources = self.resources(rig, kind);
        let begun = Instant::now();
        loop {
            let asked = Instant::now();
            let found = resources.list(&ListParams::default()).await?;
            let have = found
                .items
                .iter()
                .filter(|resource| has(&resource.data, condition));
            let have = have.count();
            if have >= count {
                return Ok(());
            }
            if begun.elapsed() > PATIENCE {
                let name = self.name;
                bail!("{name}: {have} of {count} resources are {condition} after {PATIENCE:?}");
            }
            // A list of 500 costs the API server something, too.
            tokio::time::sleep(PAUSE.max(asked.elapsed() * (PART_FOR_ASKING - 1))).await;
        }
    }

    /// Deletes all resources of a kind, and waits until none is left.
    pub(crate) async fn delete_all(&self, rig: &Rig, kind: Kind) -> Result<()> {
        let resources = self.resources(rig, kind);
        let all = ListParams::default();
        resources
            .delete_collection(&DeleteParams::default(), &all)
            .await?;
        while !resources.list_metadata(&all).await?.items.is_empty() {
            tokio::time::sleep(PAUSE).await;
        }
        Ok(())
    }

    /// The objects of a kind in the candidate's namespace.
    pub(crate) fn objects(&self, rig: &Rig, group: &str, kind: Kind) -> Api<DynamicObject> {
        let gvk = GroupVersionKind::gvk(group, "v1", kind.kind);
        let resource = ApiResource::from_gvk_with_plural(&gvk, kind.plural);
        Api::namespaced_with(rig.client.clone(), &self.namespace, &resource)
    }

    fn resources(&self, rig: &Rig, kind: Kind) -> Api<DynamicObject> {
        self.objects(rig, &self.group, kind)
    }
}

impl Running {
    pub(crate) fn usage(&self) -> Result<Usage> {
        Usage::of(self.process)
    }

    /// The operator with all that it has started.
    pub(crate) fn tree(&self) -> Result<Tree> {
        Tree::of(self.process)
    }

    /// Looks at the tree until the sampler is stopped.
    pub(crate) fn sample(&self) -> Sampler {
        Sampler::start(self.process)
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

fn has(resource: &Value, condition: &str) -> bool {
    let conditions = resource.pointer("/status/conditions").and_then(Value::as_array);
    let mut conditions = conditions.into_iter().flatten();
    conditions.any(|found| found["type"] == condition && found["status"] == "True")
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

async fn define(rig: &Rig, group: &str, Kind { kind, plural }: Kind) -> Result<()> {
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

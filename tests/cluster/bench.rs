//! An operator with a kind of its own, so that tests do not meet.

use std::fs;
use std::path::Path;
use std::sync::OnceLock;
use std::time::{Duration, Instant};

use futures::StreamExt as _;
use kube::api::{Api, DeleteParams, DynamicObject, ListParams, Patch, PatchParams, PostParams};
use kube::core::{ApiResource, GroupVersionKind};
use kube::runtime::watcher;
use serde_json::{Value, json};
use steersman_testkit::cluster::{MemoryGroup, OperatorCommand, OperatorProcess, TestCluster, User};
use tempfile::TempDir;

use crate::kinds::Kinds;
use crate::watched::{Watched, changes};

/// The memory of a Deployment as `steersman init` writes it.
pub(crate) const MEMORY_LIMIT: u64 = 128 << 20;
/// How long anything may take. The machine may be busy.
pub(crate) const PATIENCE: Duration = Duration::from_mins(3);
/// The same for runs of Ansible, of which each starts Python some ten times, beside others that do.
pub(crate) const RUN_PATIENCE: Duration = Duration::from_mins(4);

/// A namespace, a kind, a folder with watches.yaml and the chart, and a user for the operator.
pub(crate) struct Bench {
    pub(crate) cluster: &'static TestCluster,
    pub(crate) client: kube::Client,
    pub(crate) namespace: String,
    pub(crate) group: String,
    pub(crate) user: User,
    pub(crate) folder: TempDir,
    /// How long what is waited for may take.
    pub(crate) patience: Duration,
    kinds: Kinds,
}

impl Bench {
    /// `None` where there is no control plane, which has been said.
    pub(crate) async fn new(test: &str) -> Option<Self> {
        Some(Self::on(TestCluster::shared_or_skip(test)?).await)
    }

    /// On the control plane of the fault campaign, which starts its operators anew some hundred times: each start reads
    /// the kinds that are served and the objects of all releases, and here there are none of others.
    pub(crate) async fn of_campaign(test: &str) -> Option<Self> {
        static CAMPAIGN: OnceLock<Option<TestCluster>> = OnceLock::new();
        let cluster = CAMPAIGN.get_or_init(|| TestCluster::start_or_skip(test));
        Some(Self::on(cluster.as_ref()?).await)
    }

    /// On a control plane of its own: for what stops components of it, or brings objects of the whole cluster that
    /// others would meet, such as webhooks.
    pub(crate) async fn alone(test: &str) -> Option<Self> {
        let cluster = TestCluster::start_or_skip(test)?;
        // The operators of a bench end with it, and the control plane with this process.
        Some(Self::on(Box::leak(Box::new(cluster))).await)
    }

    /// On a control plane that is there.
    pub(crate) async fn on(cluster: &'static TestCluster) -> Self {
        let namespace = cluster.unique_namespace("op").await.unwrap();
        let group = format!("{namespace}.example.com");
        let user = cluster.operator(&format!("operator-{namespace}")).await.unwrap();
        let folder = tempfile::tempdir().unwrap();
        let fixtures = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/operator");
        copy(&fixtures.join("web"), &folder.path().join("web"));
        let watches = format!("- group: {group}\n  version: v1\n  kind: Web\n  chart: web\n");
        fs::write(folder.path().join("watches.yaml"), watches).unwrap();
        let client = cluster.client().await.unwrap();
        Self {
            cluster,
            client,
            namespace,
            patience: PATIENCE,
            group,
            user,
            folder,
            kinds: Kinds::new(cluster),
        }
    }

    /// The same with the kind defined.
    pub(crate) async fn with_kind(test: &str) -> Option<Self> {
        let bench = Self::new(test).await?;
        bench.define_kind().await;
        Some(bench)
    }

    pub(crate) async fn define_kind(&self) {
        self.define("Web", "webs").await;
    }

    pub(crate) async fn define(&self, kind: &str, plural: &str) {
        self.define_as(&self.group, "Namespaced", kind, plural, &["v1"])
            .await;
    }

    /// Defines a kind with some versions, the first of which is stored.
    pub(crate) async fn define_as(
        &self,
        group: &str,
        scope: &str,
        kind: &str,
        plural: &str,
        versions: &[&str],
    ) {
        let versions: Vec<Value> = versions
            .iter()
            .map(|version| {
                json!({"name": version, "served": true, "storage": *version == versions[0], "subresources": {"status": {}},
                    "schema": {"openAPIV3Schema": {"type": "object", "x-kubernetes-preserve-unknown-fields": true}}})
            })
            .collect();
        let definition = json!({
            "apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
            "metadata": {"name": format!("{plural}.{group}"), "annotations": {"api-approved.kubernetes.io": "unapproved, of a test"}},
            "spec": {
                "group": group, "scope": scope, "versions": versions,
                "names": {"kind": kind, "listKind": format!("{kind}List"), "plural": plural, "singular": kind.to_lowercase()},
            },
        });
        self.define_from(&definition).await;
    }

    /// Defines the kind of a definition.
    pub(crate) async fn define_from(&self, definition: &Value) {
        let text = |pointer: &str| definition.pointer(pointer).and_then(Value::as_str).unwrap();
        let (group, plural) = (text("/spec/group"), text("/spec/names/plural"));
        let defined = GroupVersionKind::gvk(group, text("/spec/versions/0/name"), text("/spec/names/kind"));
        self.kinds
            .add(ApiResource::from_gvk_with_plural(&defined, plural));
        let name = format!("{plural}.{group}");
        let definitions = definitions(&self.client);
        let parameters = PatchParams::apply("test").force();
        let patch = Patch::Apply(definition);
        definitions.patch(&name, &parameters, &patch).await.unwrap();
        let is_established = |definition: &Value| {
            let conditions = definition.pointer("/status/conditions")?.as_array()?;
            let mut conditions = conditions.iter();
            conditions
                .any(|condition| condition["type"] == "Established" && condition["status"] == "True")
                .then_some(())
        };
        self.wait("the definition", &definitions, &name, is_established)
            .await;
    }

    /// Deletes a definition, if it is there, and returns when it is gone.
    pub(crate) async fn delete_definition(&self, name: &str) {
        let definitions = definitions(&self.client);
        match definitions.delete(name, &DeleteParams::default()).await {
            Ok(_) => self.wait_gone(&definitions, name).await,
            Err(kube::Error::Api(status)) if status.code == 404 => {}
            Err(error) => panic!("{name} can't be deleted: {error}"),
        }
    }

    /// Starts the operator.
    pub(crate) fn operator(&self) -> OperatorProcess {
        self.operator_in(self.folder.path(), &[])
    }

    /// Starts an operator in a folder with a watches.yaml, with variables in its environment.
    pub(crate) fn operator_in(&self, folder: &Path, environment: &[(&str, &str)]) -> OperatorProcess {
        self.start(folder, &["--zap-log-level=debug"], environment)
    }

    /// Starts the operator with flags, and waits until it is ready.
    pub(crate) async fn operator_with(&self, flags: &[&str]) -> OperatorProcess {
        let operator = self.start(self.folder.path(), flags, &[]);
        operator.wait_until_ready(PATIENCE).await.unwrap();
        operator
    }

    /// Starts the program as its image does in the pod of a project's Deployment, with the group's memory, and waits until it
    /// is ready. It does as much at once as on a node with as many processors.
    pub(crate) async fn operator_within(&self, group: &MemoryGroup, binary: &Path) -> OperatorProcess {
        let operator = OperatorProcess::start(&OperatorCommand {
            binary: &group.entering(binary, self.folder.path()).unwrap(),
            folder: self.folder.path(),
            kubeconfig: self.user.kubeconfig(),
            arguments: &["--reconcile-period=0s", "--max-concurrent-reconciles=16"],
            environment: &[("MALLOC_ARENA_MAX", "1")],
            log: &self.folder.path().join("operator.log"),
        });
        let operator = operator.unwrap();
        operator.wait_until_ready(PATIENCE).await.unwrap();
        operator
    }

    /// Starts the operator in a folder with flags and variables.
    pub(crate) fn start(
        &self,
        folder: &Path,
        arguments: &[&str],
        environment: &[(&str, &str)],
    ) -> OperatorProcess {
        OperatorProcess::start(&OperatorCommand {
            binary: Path::new(env!("CARGO_BIN_EXE_steersman")),
            folder,
            kubeconfig: self.user.kubeconfig(),
            arguments,
            environment,
            log: &folder.join(format!("operator-{}.log", random())),
        })
        .unwrap()
    }

    /// Replaces a part of a template of the chart.
    pub(crate) fn edit(&self, template: &str, from: &str, to: &str) {
        let file = self.folder.path().join("web/templates").join(template);
        let text = fs::read_to_string(&file).unwrap();
        assert!(text.contains(from), "{template} has no {from}");
        fs::write(&file, text.replace(from, to)).unwrap();
    }

    /// Leaves the chart without templates.
    pub(crate) fn remove_templates(&self) {
        let templates = self.folder.path().join("web/templates");
        fs::remove_dir_all(&templates).unwrap();
        fs::create_dir(&templates).unwrap();
    }

    /// Adds a template to the chart.
    pub(crate) fn add_template(&self, name: &str, text: &str) {
        fs::write(self.folder.path().join("web/templates").join(name), text).unwrap();
    }

    /// Waits until what the resource says now has failed, and gives the condition of this kind.
    pub(crate) async fn wait_failed(&self, name: &str, kind: &str) -> (String, String, String) {
        self.wait("a failure", &self.webs(), name, |web| {
            condition(web, "ReleaseFailed").filter(|_| has_ended(web))?;
            condition(web, kind)
        })
        .await
    }

    /// Waits until the resource is refused, and gives reason and message.
    pub(crate) async fn wait_stalled(&self, name: &str) -> (String, String) {
        let stalled = |web: &Value| condition(web, "Stalled");
        let (_, reason, message) = self.wait("the refusal", &self.webs(), name, stalled).await;
        (reason, message)
    }

    /// An operator that has released `shop` with this spec.
    pub(crate) async fn released(&self, spec: Value) -> OperatorProcess {
        let operator = self.ready_operator().await;
        self.apply_web("shop", spec).await;
        self.wait_revision("shop", 1).await;
        operator
    }

    /// Creates an object.
    pub(crate) async fn create(&self, api: &Api<DynamicObject>, object: Value) {
        let object = serde_json::from_value(object).unwrap();
        api.create(&PostParams::default(), &object).await.unwrap();
    }

    /// Installs a release with Helm from a chart in the bench's folder.
    pub(crate) async fn helm_install(&self, release: &str, chart: &str) {
        let chart = self.folder.path().join(chart);
        let chart = chart.to_str().unwrap();
        let arguments = ["install", release, chart, "--namespace", &self.namespace];
        self.cluster.helm(&arguments).await.unwrap();
    }

    /// The events of the namespace, as kubectl shows them.
    pub(crate) async fn events(&self) -> String {
        let arguments = ["get", "events", "-n", &self.namespace, "-o", "wide"];
        self.cluster.kubectl(&arguments).await.unwrap()
    }

    /// Writes another watches.yaml.
    pub(crate) fn watches(&self, text: &str) {
        fs::write(self.folder.path().join("watches.yaml"), text).unwrap();
    }

    pub(crate) async fn ready_operator(&self) -> OperatorProcess {
        let operator = self.operator();
        operator.wait_until_ready(PATIENCE).await.unwrap();
        operator
    }

    /// Merges `patch` into a custom resource of the kind that is always there.
    pub(crate) async fn patch_web(&self, name: &str, patch: Value) {
        self.webs()
            .patch(name, &PatchParams::default(), &Patch::Merge(patch))
            .await
            .unwrap();
    }

    pub(crate) fn webs(&self) -> Api<DynamicObject> {
        self.api(&self.group, "v1", "Web", "webs")
    }

    pub(crate) fn config_maps(&self) -> Api<DynamicObject> {
        self.api("", "v1", "ConfigMap", "configmaps")
    }

    pub(crate) fn services(&self) -> Api<DynamicObject> {
        self.api("", "v1", "Service", "services")
    }

    pub(crate) fn deployments(&self) -> Api<DynamicObject> {
        self.api("apps", "v1", "Deployment", "deployments")
    }

    pub(crate) fn secrets(&self) -> Api<DynamicObject> {
        self.api("", "v1", "Secret", "secrets")
    }

    pub(crate) fn cluster_roles(&self) -> Api<DynamicObject> {
        let kind = GroupVersionKind::gvk("rbac.authorization.k8s.io", "v1", "ClusterRole");
        let resource = ApiResource::from_gvk_with_plural(&kind, "clusterroles");
        Api::all_with(self.client.clone(), &resource)
    }

    pub(crate) fn api(&self, group: &str, version: &str, kind: &str, plural: &str) -> Api<DynamicObject> {
        let kind = GroupVersionKind::gvk(group, version, kind);
        let resource = ApiResource::from_gvk_with_plural(&kind, plural);
        Api::namespaced_with(self.client.clone(), &self.namespace, &resource)
    }

    /// Creates or changes the custom resource.
    pub(crate) async fn apply_web(&self, name: &str, spec: Value) {
        self.apply_cr("Web", "webs", name, spec).await;
    }

    /// Creates or changes a custom resource of another kind.
    pub(crate) async fn apply_cr(&self, kind: &str, plural: &str, name: &str, spec: Value) {
        let object = json!({
            "apiVersion": format!("{}/v1", self.group), "kind": kind, "metadata": {"name": name}, "spec": spec,
        });
        let parameters = PatchParams::apply("test").force();
        self.kind_api(kind, plural)
            .patch(name, &parameters, &Patch::Apply(&object))
            .await
            .unwrap();
    }

    /// Custom resources of one of the bench's kinds.
    pub(crate) fn kind_api(&self, kind: &str, plural: &str) -> Api<DynamicObject> {
        self.api(&self.group, "v1", kind, plural)
    }

    /// Waits until `done` finds what it looks for in an object, and gives that. It looks at each change of the object, and
    /// now and then without one, as it may look at something else, too.
    pub(crate) async fn wait<T>(
        &self,
        what: &str,
        api: &Api<DynamicObject>,
        name: &str,
        done: impl Fn(&Value) -> Option<T>,
    ) -> T {
        self.wait_within(self.patience, what, api, name, done).await
    }

    /// The same with another patience.
    pub(crate) async fn wait_within<T>(
        &self,
        patience: Duration,
        what: &str,
        api: &Api<DynamicObject>,
        name: &str,
        done: impl Fn(&Value) -> Option<T>,
    ) -> T {
        let begun = Instant::now();
        let mut watched = Watched::new(api, name);
        loop {
            let seen = watched.look(Duration::from_millis(500)).await;
            if let Some(done) = done(seen) {
                return done;
            }
            assert!(
                begun.elapsed() < patience,
                "{what} of {name} did not come; last seen: {seen:#}"
            );
        }
    }

    /// Waits until `done` finds what it looks for in one of the objects that are selected, and gives that.
    pub(crate) async fn wait_some<T>(
        &self,
        what: &str,
        api: &Api<DynamicObject>,
        selected: watcher::Config,
        done: impl Fn(&Value) -> Option<T>,
    ) -> T {
        let found = changes(api, selected).map(|object| done(&serde_json::to_value(object).unwrap()));
        let mut found = std::pin::pin!(found.filter_map(async |found| found));
        let found = tokio::time::timeout(self.patience, found.next()).await;
        found
            .ok()
            .flatten()
            .unwrap_or_else(|| panic!("{what} did not come"))
    }

    /// Waits for an event of this reason, and gives its message.
    pub(crate) async fn wait_event(&self, reason: &str) -> String {
        self.wait_event_with(reason, "").await
    }

    /// The same of one whose message has this part.
    pub(crate) async fn wait_event_with(&self, reason: &str, part: &str) -> String {
        let events = self.api("", "v1", "Event", "events");
        let selected = watcher::Config::default().fields(&format!("reason={reason}"));
        let message = |event: &Value| {
            let message = event["message"].as_str().filter(|message| message.contains(part));
            message.map(str::to_owned)
        };
        self.wait_some(&format!("an event {reason} {part}"), &events, selected, message)
            .await
    }

    /// Waits until the release has this revision, and gives the custom resource.
    pub(crate) async fn wait_revision(&self, name: &str, revision: u64) -> Value {
        self.wait(&format!("revision {revision}"), &self.webs(), name, |web| {
            let is_so = web.pointer("/status/revision").and_then(Value::as_u64) == Some(revision)
                && web.pointer("/status/observedGeneration") == web.pointer("/metadata/generation");
            is_so.then(|| web.clone())
        })
        .await
    }

    /// Waits until an object is there, or gone.
    pub(crate) async fn wait_gone(&self, api: &Api<DynamicObject>, name: &str) {
        self.wait("the end", api, name, |found| found.is_null().then_some(()))
            .await;
    }

    /// The names of the release's Secrets.
    pub(crate) async fn revisions(&self) -> Vec<String> {
        let selector = ListParams::default().labels("owner=helm");
        let found = self.secrets().list_metadata(&selector).await.unwrap();
        let described = found.items.into_iter().map(|secret| {
            let labels = secret.metadata.labels.unwrap();
            format!("{} {}", labels["version"], labels["status"])
        });
        let mut revisions: Vec<String> = described.collect();
        revisions.sort();
        revisions
    }

    pub(crate) async fn delete_web(&self, name: &str) {
        self.webs().delete(name, &DeleteParams::default()).await.unwrap();
    }
}

/// The definitions of kinds.
pub(crate) fn definitions(client: &kube::Client) -> Api<DynamicObject> {
    let kind = GroupVersionKind::gvk("apiextensions.k8s.io", "v1", "CustomResourceDefinition");
    let resource = ApiResource::from_gvk_with_plural(&kind, "customresourcedefinitions");
    Api::all_with(client.clone(), &resource)
}

/// Waits until something is so.
pub(crate) async fn wait_until(what: &str, is_so: impl Fn() -> bool) {
    wait_until_within(PATIENCE, what, is_so).await;
}

/// The same with another patience.
pub(crate) async fn wait_until_within(patience: Duration, what: &str, is_so: impl Fn() -> bool) {
    let begun = Instant::now();
    while !is_so() {
        assert!(begun.elapsed() < patience, "{what} did not come");
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
}

/// Waits until the operator has logged `line`.
pub(crate) async fn wait_for_line(operator: &OperatorProcess, line: &str) {
    let begun = Instant::now();
    while !operator.log_text().contains(line) {
        assert!(
            begun.elapsed() < PATIENCE,
            "no `{line}` in:\n{}",
            operator.log_text()
        );
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
}

/// Whether the status tells what has become of what the resource says now, and not only what is being done.
pub(crate) fn has_ended(web: &Value) -> bool {
    let is_seen = web.pointer("/status/observedGeneration") == web.pointer("/metadata/generation");
    is_seen && condition(web, "Reconciling").is_none_or(|(_, reason, _)| reason != "Progressing")
}

/// Status and reason of a condition.
pub(crate) fn condition(web: &Value, kind: &str) -> Option<(String, String, String)> {
    let text = |value: &Value, key: &str| value[key].as_str().unwrap_or_default().to_owned();
    let conditions = web.pointer("/status/conditions")?.as_array()?;
    let found = conditions.iter().find(|condition| condition["type"] == kind)?;
    Some((
        text(found, "status"),
        text(found, "reason"),
        text(found, "message"),
    ))
}

pub(crate) fn copy(from: &Path, to: &Path) {
    fs::create_dir_all(to).unwrap();
    for entry in fs::read_dir(from).unwrap() {
        let entry = entry.unwrap();
        let target = to.join(entry.file_name());
        if entry.file_type().unwrap().is_dir() {
            copy(&entry.path(), &target);
        } else {
            fs::copy(entry.path(), target).unwrap();
        }
    }
}

pub(crate) fn random() -> String {
    let name = tempfile::NamedTempFile::new().unwrap();
    name.path().file_name().unwrap().to_string_lossy().into_owned()
}

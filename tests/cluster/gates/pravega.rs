//! `examples/pravega`: three parts that come one after the other, and a `ZookeeperCluster` of another operator that all need.

use std::fs;
use std::path::{Path, PathBuf};

use kube::api::{Api, DynamicObject, Patch, PatchParams};
use serde_json::{Value, json};
use steersman_testkit::cluster::OperatorProcess;
use tokio::task::JoinSet;

use super::shown_stages;
use crate::bench::{Bench, PATIENCE, condition, copy};
use crate::node::run_pods;

/// The example in a namespace of its own, with kinds that no other test has.
struct Example {
    bench: Bench,
    folder: PathBuf,
    zookeeper: String,
    /// What says of pods that they run.
    node: JoinSet<()>,
}

impl Example {
    async fn new(name: &str) -> Option<Self> {
        let bench = Bench::new(name).await?;
        let folder = bench.folder.path().join("pravega");
        let from = Path::new(env!("CARGO_MANIFEST_DIR")).join("examples/pravega");
        copy(&from, &folder);
        let zookeeper = format!("zookeeper.{}", bench.group);
        for path in ["watches.yaml", "helm-charts/pravega/templates/_helpers.tpl"] {
            let text = fs::read_to_string(folder.join(path)).unwrap();
            let text = text.replace("zookeeper.pravega.io", &zookeeper);
            let text = text.replace("group: pravega.example.com", &format!("group: {}", bench.group));
            fs::write(folder.join(path), text.replace("timeout: 20m", "timeout: 5s")).unwrap();
        }
        let kind = ("PravegaCluster", "pravegaclusters");
        bench
            .define_as(&bench.group, "Namespaced", kind.0, kind.1, &["v1alpha1"])
            .await;
        Some(Self {
            bench,
            folder,
            zookeeper,
            node: JoinSet::new(),
        })
    }

    async fn operator(&self) -> OperatorProcess {
        let environment = [("WATCH_NAMESPACE", self.bench.namespace.as_str())];
        let operator = self.bench.start(&self.folder, &[], &environment);
        operator.wait_until_ready(PATIENCE).await.unwrap();
        operator
    }

    fn clusters(&self) -> Api<DynamicObject> {
        let group = &self.bench.group;
        self.bench
            .api(group, "v1alpha1", "PravegaCluster", "pravegaclusters")
    }

    async fn apply(&self, spec: Value) {
        let object = json!({"apiVersion": format!("{}/v1alpha1", self.bench.group), "kind": "PravegaCluster",
            "metadata": {"name": "west"}, "spec": spec});
        let parameters = PatchParams::apply("test").force();
        let patch = Patch::Apply(&object);
        self.clusters().patch("west", &parameters, &patch).await.unwrap();
    }

    /// The other operator's part: it brings the kind and an object of it, and says later that it is ready.
    async fn add_zookeeper(&self) {
        let kind = ("ZookeeperCluster", "zookeeperclusters");
        self.bench
            .define_as(&self.zookeeper, "Namespaced", kind.0, kind.1, &["v1beta1"])
            .await;
        let api = self.zookeepers();
        let object = json!({"apiVersion": format!("{}/v1beta1", self.zookeeper), "kind": kind.0,
            "metadata": {"name": "zookeeper"}, "spec": {"replicas": 3}});
        self.bench.create(&api, object).await;
    }

    fn zookeepers(&self) -> Api<DynamicObject> {
        self.bench.api(
            &self.zookeeper,
            "v1beta1",
            "ZookeeperCluster",
            "zookeeperclusters",
        )
    }

    async fn zookeeper_says(&self, ready: u64) {
        let status = json!({"status": {"readyReplicas": ready, "internalClientEndpoint": "192.0.2.7:2181"}});
        let patch = Patch::Merge(&status);
        let parameters = PatchParams::default();
        self.zookeepers()
            .patch_status("zookeeper", &parameters, &patch)
            .await
            .unwrap();
    }

    /// Lets pods of this part and version run from now on.
    fn run(&mut self, part: &str, version: &str) {
        let labels = format!("app.kubernetes.io/component={part},app.kubernetes.io/version={version}");
        let pods = self.bench.api("", "v1", "Pod", "pods");
        self.node.spawn(async move { run_pods(pods, &labels).await });
    }

    async fn wait_reason(&self, kind: &str, reason: &str) -> String {
        let what = format!("{kind} because of {reason}");
        let is_so = |cluster: &Value| {
            let (status, found, message) = condition(cluster, kind)?;
            (status == "True" && found == reason).then_some(message)
        };
        self.bench.wait(&what, &self.clusters(), "west", is_so).await
    }

    /// Waits for these states of the three parts, behind the stage of what none of them claims.
    async fn wait_parts(&self, revision: u64, states: [&str; 3]) {
        let [bookkeeper, controller, segmentstore] = states;
        let expect = format!(
            "unclaimed {revision} Ready, bookkeeper {revision} {bookkeeper}, controller {revision} {controller}, segmentstore \
             {revision} {segmentstore}"
        );
        let is_so = |cluster: &Value| (shown_stages(cluster) == expect).then_some(());
        self.bench.wait(&expect, &self.clusters(), "west", is_so).await;
    }

    /// The images of what is there of the three parts: their versions.
    async fn versions(&self) -> Vec<String> {
        let mut versions = Vec::new();
        for (kind, plural, name) in [
            ("StatefulSet", "statefulsets", "west-bookie"),
            ("Deployment", "deployments", "west-controller"),
            ("StatefulSet", "statefulsets", "west-segmentstore"),
        ] {
            let api = self.bench.api("apps", "v1", kind, plural);
            let Some(found) = api.get_opt(name).await.unwrap() else {
                continue;
            };
            let image = &found.data["spec"]["template"]["spec"]["containers"][0]["image"];
            versions.push(image.as_str().unwrap().rsplit(':').next().unwrap().to_owned());
        }
        versions
    }
}

#[tokio::test]
async fn pravega_comes_part_by_part() {
    let Some(mut example) = Example::new("pravega").await else {
        return;
    };
    let operator = example.operator().await;
    example.apply(json!({"version": "0.13.0"})).await;
    let message = example.wait_reason("Reconciling", "DependencyNotReady").await;
    assert!(message.contains("ZookeeperCluster"), "{message}");
    example.add_zookeeper().await;
    example.zookeeper_says(2).await;
    let is_named = |cluster: &Value| {
        let (_, reason, message) = condition(cluster, "Reconciling")?;
        (reason == "DependencyNotReady" && message.contains("readyExpr does not hold")).then_some(())
    };
    let clusters = example.clusters();
    example
        .bench
        .wait("the expression", &clusters, "west", is_named)
        .await;
    assert!(example.versions().await.is_empty());

    example.zookeeper_says(3).await;
    example.wait_parts(1, ["Progressing", "Pending", "Pending"]).await;
    assert_eq!(example.versions().await, ["0.13.0"]);
    let bookies = example.bench.api("apps", "v1", "StatefulSet", "statefulsets");
    let bookies = bookies.get("west-bookie").await.unwrap();
    let environment = &bookies.data["spec"]["template"]["spec"]["containers"][0]["env"];
    assert_eq!(environment[0]["value"], "192.0.2.7:2181", "what its status says");
    operator.kill().await.unwrap();
    let operator = example.operator().await;
    example.run("bookie", "0.13.0");
    example.wait_parts(1, ["Ready", "Progressing", "Pending"]).await;
    example.run("controller", "0.13.0");
    example.run("segmentstore", "0.13.0");
    example.wait_parts(1, ["Ready", "Ready", "Ready"]).await;

    // Scaled: what does not change passes at once.
    let scaled = |version: &str| json!({"version": version, "bookkeeper": {"replicas": 4}, "segmentStore": {"replicas": 2}});
    example.apply(scaled("0.13.0")).await;
    example.wait_parts(2, ["Ready", "Ready", "Ready"]).await;

    // Bookies of the next version do not start, and the stage has five seconds here: nothing else is touched.
    example.apply(scaled("0.14.0")).await;
    let message = example.wait_reason("Stalled", "StageFailed").await;
    assert!(message.contains("west-bookie"), "{message}");
    assert_eq!(example.versions().await, ["0.14.0", "0.13.0", "0.13.0"]);
    operator.kill().await.unwrap();
    let services = example.bench.services();
    services
        .delete("west-controller", &Default::default())
        .await
        .unwrap();
    let operator = example.operator().await;
    let is_there = |service: &Value| (!service.is_null()).then_some(());
    example
        .bench
        .wait("the Service", &services, "west-controller", is_there)
        .await;
    example.wait_reason("Stalled", "StageFailed").await;
    assert_eq!(example.versions().await, ["0.14.0", "0.13.0", "0.13.0"]);

    // They are helped, and it goes on.
    example.run("bookie", "0.14.0");
    example.wait_parts(3, ["Ready", "Progressing", "Pending"]).await;
    assert_eq!(example.versions().await, ["0.14.0", "0.14.0", "0.13.0"]);
    example.run("controller", "0.14.0");
    example.run("segmentstore", "0.14.0");
    example.wait_parts(3, ["Ready", "Ready", "Ready"]).await;
    assert_eq!(example.versions().await, ["0.14.0", "0.14.0", "0.14.0"]);
    operator.stop().await.unwrap();
}

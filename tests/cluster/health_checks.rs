//! Objects are judged by the health checks of their watch.

use kube::api::{Api, DynamicObject, Patch, PatchParams};
use serde_json::{Value, json};

use crate::bench::{Bench, condition};
use crate::developer::Developer;

const CLUSTER: &str = "apiVersion: GROUP/v1beta1\nkind: ZookeeperCluster\nmetadata: {name: '{{ .Release.Name }}'}\n\
                       spec: {replicas: 2, password: canary-of-the-spec}\n";

/// An operator's bench with a kind of another operator in its chart, and the entry's health check of that.
struct Checked {
    bench: Bench,
    group: String,
}

impl Checked {
    async fn new(test: &str) -> Option<Self> {
        let bench = Bench::with_kind(test).await?;
        let group = format!("zookeeper.{}", bench.group);
        bench
            .define_as(
                &group,
                "Namespaced",
                "ZookeeperCluster",
                "zookeeperclusters",
                &["v1beta1"],
            )
            .await;
        bench.add_template("cluster.yaml", &CLUSTER.replace("GROUP", &group));
        Some(Self { bench, group })
    }

    /// Writes a watches.yaml whose entry has these further lines.
    fn watch(&self, further: &str) {
        let group = &self.bench.group;
        let entry = format!("- group: {group}\n  version: v1\n  kind: Web\n  chart: web\n{further}");
        self.bench.watches(&entry);
    }

    /// A check of the clusters, of whatever version.
    fn check(&self, expressions: &str) -> String {
        let kind = format!("apiVersion: {}/v7, kind: ZookeeperCluster", self.group);
        format!("  - {{{kind}, {expressions}}}\n")
    }

    fn clusters(&self) -> Api<DynamicObject> {
        let (version, plural) = ("v1beta1", "zookeeperclusters");
        self.bench.api(&self.group, version, "ZookeeperCluster", plural)
    }

    async fn report(&self, name: &str, status: Value) {
        let patch = Patch::Merge(json!({ "status": status }));
        let parameters = PatchParams::default();
        self.clusters()
            .patch_status(name, &parameters, &patch)
            .await
            .unwrap();
    }

    /// Waits until `Ready` has this status and a message with these words, and gives the resource.
    async fn wait_ready(&self, name: &str, expect: &str, words: &str) -> Value {
        let bench = &self.bench;
        bench
            .wait(words, &bench.webs(), name, |web| {
                let (status, _, message) = condition(web, "Ready")?;
                (status == expect && message.contains(words)).then(|| web.clone())
            })
            .await
    }
}

#[tokio::test]
async fn a_custom_resource_is_ready_when_its_check_says_so() {
    let Some(checked) = Checked::new("a_custom_resource_is_ready_when_its_check_says_so").await else {
        return;
    };
    let check = checked.check(
        "current: status.readyReplicas == spec.replicas, failed: 'has(status.phase) && status.phase == \"Failed\"'",
    );
    checked.watch(&format!("  healthChecks:\n{check}"));
    let bench = &checked.bench;
    let operator = bench.ready_operator().await;
    bench.apply_web("shop", json!({"replicas": 0})).await;
    // Without a status nothing is known, and the message says why.
    let unknown = "`failed` of its health check has no result: there is no `status`";
    let web = checked.wait_ready("shop", "False", unknown).await;
    let listed = json!([{"kind": "ZookeeperCluster", "namespace": bench.namespace, "name": "shop", "message": unknown}]);
    assert_eq!(web["status"]["health"]["notReady"], listed);
    let (_, reason, _) = condition(&web, "Ready").unwrap();
    assert_eq!(reason, "DependentsProgressing");

    checked.report("shop", json!({"readyReplicas": 1})).await;
    let waits = "`current` of its health check does not hold";
    checked.wait_ready("shop", "False", waits).await;
    checked.report("shop", json!({"readyReplicas": 2})).await;
    let web = checked.wait_ready("shop", "True", "").await;
    let health = &web["status"]["health"];
    assert_eq!(health["ready"], health["total"]);

    checked.report("shop", json!({"phase": "Failed"})).await;
    let failed = "`failed` of its health check holds";
    let web = checked.wait_ready("shop", "False", failed).await;
    let (_, reason, _) = condition(&web, "Ready").unwrap();
    assert_eq!(reason, "DependentsFailed");

    // What the command says is what the operator says.
    let developer = Developer::of(bench).await;
    let kind = format!("webs.{}", bench.group);
    let shop = format!("{kind}/shop");
    let said = developer.run(&["status", &shop, "--watches-file=watches.yaml"]);
    assert_eq!(said.code, Some(1), "{}{}", said.stdout, said.stderr);
    assert!(said.stdout.contains(failed), "{}", said.stdout);

    // The next process finds what has changed meanwhile.
    operator.stop().await.unwrap();
    checked
        .report("shop", json!({"phase": "Running", "readyReplicas": 1}))
        .await;
    let operator = bench.ready_operator().await;
    checked.wait_ready("shop", "False", waits).await;
    checked.report("shop", json!({"readyReplicas": 2})).await;
    let before = checked.wait_ready("shop", "True", "").await;
    operator.stop().await.unwrap();
    let operator = bench.ready_operator().await;
    bench.apply_web("other", json!({"replicas": 0})).await;
    checked.wait_ready("other", "False", "has no result").await;
    let after = checked.wait_ready("shop", "True", "").await;
    assert_eq!(before["status"], after["status"]);
    operator.stop().await.unwrap();
}

#[tokio::test]
async fn a_check_that_gives_no_result_says_so_without_a_value() {
    let Some(checked) = Checked::new("a_check_that_gives_no_result_says_so_without_a_value").await else {
        return;
    };
    let bench = &checked.bench;
    let operator = bench.ready_operator().await;
    // The entry is read again when it is saved.
    for (current, message) in [
        ("spec.password", "it gives string, not true or false"),
        ("int(spec.password) > 0", "`int` can't be done with that value"),
        (
            "spec[spec.password] == 1",
            "an index leads to nothing that is there",
        ),
        (
            "metadata.uid.split(\\\"\\\").all(a, spec.password.split(\\\"\\\").all(b, metadata.uid.matches(a + b + \\\".*x{9}\\\") || true))",
            "it takes more time or memory than an expression may",
        ),
    ] {
        let check = checked.check(&format!("current: \"{current}\""));
        checked.watch(&format!("  healthChecks:\n{check}"));
        bench.apply_web("shop", json!({"replicas": 0})).await;
        let message = format!("`current` of its health check has no result: {message}");
        let web = checked.wait_ready("shop", "False", &message).await;
        assert!(!web["status"].to_string().contains("canary"), "{web:#}");
    }
    let log = std::fs::read_to_string(operator.log()).unwrap();
    assert!(!log.contains("canary"), "{log}");
    assert!(!bench.events().await.contains("canary"));
    operator.stop().await.unwrap();
}

#[tokio::test]
async fn two_watches_judge_one_kind_each_in_its_way() {
    let Some(checked) = Checked::new("two_watches_judge_one_kind_each_in_its_way").await else {
        return;
    };
    let bench = &checked.bench;
    bench.define("Site", "sites").await;
    let group = &bench.group;
    let check = checked.check("current: 'has(status) && status.ready'");
    // A kind of which nothing would be known otherwise; another one may add to what we have applied.
    let map =
        "  - {apiVersion: v1, kind: ConfigMap, current: 'has(data.state) && data.state == \"settled\"'}\n";
    let site = format!("- group: {group}\n  version: v1\n  kind: Site\n  chart: web\n");
    checked.watch(&format!(
        "  healthChecks:\n{map}{site}  healthChecks:\n{}",
        check.replace("has(status) && status.ready", "true")
    ));
    let operator = bench.ready_operator().await;
    bench.apply_web("shop", json!({"replicas": 0})).await;
    bench
        .apply_cr("Site", "sites", "blog", json!({"replicas": 0}))
        .await;
    checked
        .wait_ready("shop", "False", "`current` of its health check does not hold")
        .await;
    // Nothing is said of the cluster's status here: it is ready by its check alone, and the map is not judged.
    let sites = bench.kind_api("Site", "sites");
    let is_ready = |site: &Value| condition(site, "Ready").filter(|(status, ..)| status == "True");
    bench.wait("readiness", &sites, "blog", is_ready).await;
    let state = Patch::Merge(json!({"data": {"state": "settled"}}));
    bench
        .config_maps()
        .patch("shop-config", &PatchParams::default(), &state)
        .await
        .unwrap();
    checked.wait_ready("shop", "True", "").await;
    operator.stop().await.unwrap();
}

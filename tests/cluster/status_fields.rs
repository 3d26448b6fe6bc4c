//! Fields that an entry adds to the status, columns of `kubectl get`, and the scale subresource.

use std::process::Command;
use std::time::Duration;

use kube::api::{Api, DynamicObject, ObjectMeta, Patch, PatchParams, PostParams};
use serde_json::{Value, json};

use crate::bench::{Bench, condition};

const CLUSTER: &str = "apiVersion: GROUP/v1beta1\nkind: ZookeeperCluster\nmetadata: {name: '{{ .Release.Name }}'}\n\
                       spec: {replicas: 2}\n";

/// An operator's bench with a kind of another operator in its chart, and an entry that tells of it.
struct Told {
    bench: Bench,
    group: String,
}

impl Told {
    /// With the definition that the command writes for the entry.
    async fn new(test: &str, status: &str) -> Option<Self> {
        let bench = Bench::new(test).await?;
        let group = format!("zookeeper.{}", bench.group);
        let (kind, plural) = ("ZookeeperCluster", "zookeeperclusters");
        bench
            .define_as(&group, "Namespaced", kind, plural, &["v1beta1"])
            .await;
        bench.add_template("cluster.yaml", &CLUSTER.replace("GROUP", &group));
        let told = Self { bench, group };
        told.watch(status);
        let mut command = Command::new(env!("CARGO_BIN_EXE_steersman"));
        let printed = command
            .args(["crd", "-o", "json"])
            .current_dir(told.bench.folder.path())
            .output();
        let printed = printed.unwrap();
        assert!(printed.status.success(), "{printed:?}");
        let definition: Value = serde_json::from_slice(&printed.stdout).unwrap();
        told.bench.define_from(&definition).await;
        Some(told)
    }

    fn watch(&self, status: &str) {
        let group = &self.bench.group;
        let status = status.replace("ZOOKEEPER", &self.group);
        self.bench.watches(&format!(
            "- group: {group}\n  version: v1\n  kind: Web\n  chart: web\n{status}"
        ));
    }

    /// What the other operator says of its cluster.
    async fn report(&self, status: Value) {
        let clusters: Api<DynamicObject> =
            self.bench
                .api(&self.group, "v1beta1", "ZookeeperCluster", "zookeeperclusters");
        let patch = Patch::Merge(json!({ "status": status }));
        let parameters = PatchParams::default();
        clusters.patch_status("shop", &parameters, &patch).await.unwrap();
    }

    /// Waits until a field has this value, or is not there where that is null; gives the resource.
    async fn wait_field(&self, field: &str, expect: Value) -> Value {
        let bench = &self.bench;
        let what = format!("{field}: {expect}");
        bench
            .wait(&what, &bench.webs(), "shop", |web| {
                web.pointer("/status/revision")?;
                (web["status"][field] == expect).then(|| web.clone())
            })
            .await
    }

    async fn kubectl(&self, arguments: &[&str]) -> String {
        let namespace = ["-n", &self.bench.namespace];
        let cluster = self.bench.cluster;
        cluster.kubectl(&[arguments, &namespace].concat()).await.unwrap()
    }
}

const STATUS: &str = "  status:
    fields:
      members: {type: integer, value: \"object('ZOOKEEPER/v1', 'ZookeeperCluster', release.name).status.readyReplicas\"}
      endpoint: \"object('v1', 'Service', release.name).metadata.name + ':' + string(object('v1', 'Service', release.name).spec.ports[0].port)\"
      extra: \"object('v1', 'ConfigMap', release.name + '-extra').data.extra\"
      message: \"object('v1', 'ConfigMap', release.name + '-config').data.message\"
      stranger: \"object('v1', 'ConfigMap', 'copy').data.message\"
      wrong: {type: boolean, value: resource.spec.message}
    columns: [members, {name: Endpoint, field: endpoint, priority: 1}]
  scale: {spec: replicas, status: members}
";

#[tokio::test]
async fn fields_follow_the_objects_of_the_release_alone() {
    let Some(told) = Told::new("fields_follow_the_objects_of_the_release_alone", STATUS).await else {
        return;
    };
    let bench = &told.bench;
    let operator = bench.ready_operator().await;
    let spec = json!({"message": "it is canary-in-the-values", "password": "canary-in-the-values"});
    bench.apply_web("shop", spec.clone()).await;
    // What is not there yet is left out, what can't be is told without a value, and what is secret is masked.
    let web = told.wait_field("endpoint", json!("shop:80")).await;
    assert_eq!(web["status"].get("members"), None, "{web:#}");
    assert_eq!(web["status"].get("wrong"), None, "{web:#}");
    let web = told.wait_field("message", json!("it is ********")).await;
    let (status, reason, message) = condition(&web, "FieldsIncomplete").unwrap();
    let expect = ("True", "NoResult", "`wrong`: it gives string, not boolean");
    assert_eq!((status.as_str(), reason.as_str(), message.as_str()), expect);
    assert!(!web["status"].to_string().contains("canary"), "{web:#}");

    // They come, change and go with what they are made of, each with one request.
    let mark = bench.cluster.audit_mark().await.unwrap();
    told.report(json!({"readyReplicas": 1})).await;
    told.wait_field("members", json!(1)).await;
    told.report(json!({"readyReplicas": 2})).await;
    told.wait_field("members", json!(2)).await;
    // What no expression looks at changes nothing.
    told.report(json!({"phase": "Running"})).await;
    told.report(json!({"readyReplicas": null})).await;
    told.wait_field("members", Value::Null).await;
    told.report(json!({"readyReplicas": 3})).await;
    told.wait_field("members", json!(3)).await;
    let audit = bench.cluster.audit_since(mark).await.unwrap();
    let requests = audit.by_user(bench.user.name());
    let requests =
        requests.filter(|request| request.uri.contains("/webs/") || request.uri.contains("configmaps"));
    let statuses = requests.filter(|request| request.subresource == "status").len();
    // The health of the release is in the same status, and its Deployment says something now and then.
    assert!(statuses <= 6 && requests.len() == statuses, "{requests}");

    let extra = |extra: bool| {
        let mut spec = spec.clone();
        spec["extra"] = extra.into();
        spec
    };
    bench.apply_web("shop", extra(true)).await;
    told.wait_field("extra", json!("yes")).await;
    bench.apply_web("shop", extra(false)).await;
    told.wait_field("extra", Value::Null).await;

    // A copy of our labels makes nothing ours.
    let maps = bench.config_maps();
    let original = maps.get("shop-config").await.unwrap();
    let copy = DynamicObject {
        metadata: ObjectMeta {
            name: Some("copy".to_owned()),
            labels: original.metadata.labels,
            annotations: original.metadata.annotations,
            ..ObjectMeta::default()
        },
        ..original
    };
    maps.create(&PostParams::default(), &copy).await.unwrap();
    told.report(json!({"readyReplicas": 4})).await;
    let web = told.wait_field("members", json!(4)).await;
    assert_eq!(web["status"].get("stranger"), None, "{web:#}");

    // The next process says the same, and writes nothing for it.
    operator.stop().await.unwrap();
    let before = bench.webs().get("shop").await.unwrap();
    let operator = bench.ready_operator().await;
    bench.apply_web("other", json!({})).await;
    bench.wait_revision("other", 1).await;
    tokio::time::sleep(Duration::from_secs(2)).await;
    let after = bench.webs().get("shop").await.unwrap();
    assert_eq!(before.metadata.resource_version, after.metadata.resource_version);

    // An entry that is saved anew says something else.
    told.watch(&STATUS.replace(
        "type: boolean, value: resource.spec.message",
        "type: boolean, value: 'true'",
    ));
    let web = told.wait_field("wrong", json!(true)).await;
    assert_eq!(condition(&web, "FieldsIncomplete"), None);
    let log = std::fs::read_to_string(operator.log()).unwrap();
    assert!(!log.contains("canary"), "{log}");
    operator.stop().await.unwrap();
}

#[tokio::test]
async fn kubectl_shows_the_columns_and_scales_the_release() {
    let Some(told) = Told::new("kubectl_shows_the_columns_and_scales_the_release", STATUS).await else {
        return;
    };
    let bench = &told.bench;
    let operator = bench.ready_operator().await;
    let webs = format!("webs.{}", bench.group);
    // It says nothing of its size: the definition has the chart's.
    bench.apply_web("shop", json!({"message": "hi"})).await;
    told.wait_field("endpoint", json!("shop:80")).await;
    told.report(json!({"readyReplicas": 7})).await;
    told.wait_field("members", json!(7)).await;
    let shown = told.kubectl(&["get", &webs, "-o", "wide"]).await;
    let lines: Vec<Vec<&str>> = shown
        .lines()
        .map(|line| line.split_whitespace().collect())
        .collect();
    let place = |head: &str| lines[0].iter().position(|word| *word == head);
    let members = place("MEMBERS").unwrap_or_else(|| panic!("{shown}"));
    assert_eq!(lines[1].get(members), Some(&"7"), "{shown}");
    assert!(
        place("ENDPOINT") == Some(members + 1) && lines[1][members + 1] == "shop:80",
        "{shown}"
    );
    let narrow = told.kubectl(&["get", &webs]).await;
    assert!(
        narrow.contains("MEMBERS") && !narrow.contains("ENDPOINT"),
        "{narrow}"
    );

    let shop = format!("{webs}/shop");
    told.kubectl(&["scale", &shop, "--replicas=3"]).await;
    let replicas = |object: &Value| {
        object
            .pointer("/spec/replicas")
            .filter(|number| **number == 3)
            .map(drop)
    };
    bench
        .wait("three pods", &bench.deployments(), "shop", replicas)
        .await;
    bench.wait_revision("shop", 2).await;
    let scale = told
        .kubectl(&[
            "get",
            &shop,
            "--subresource=scale",
            "-o",
            "jsonpath={.spec.replicas} {.status.replicas}",
        ])
        .await;
    assert_eq!(scale, "3 7");

    // An autoscaler does the same: the controller of the cluster keeps within its bounds without any metrics.
    let least = format!(
        "apiVersion: autoscaling/v2\nkind: HorizontalPodAutoscaler\nmetadata: {{name: shop, namespace: {}}}\n\
         spec:\n  scaleTargetRef: {{apiVersion: {}/v1, kind: Web, name: shop}}\n  minReplicas: 4\n  maxReplicas: 5\n",
        bench.namespace, bench.group
    );
    bench.cluster.apply(&least).await.unwrap();
    bench
        .wait(
            "the least number of pods",
            &bench.deployments(),
            "shop",
            |object| (object.pointer("/spec/replicas")? == 4).then_some(()),
        )
        .await;
    bench.wait_revision("shop", 3).await;
    operator.stop().await.unwrap();
}

//! Entries whose files of values, overrides and patches have a word in what is released.

use std::fs;

use kube::api::{Patch, PatchParams};
use serde_json::{Value, json};

use crate::bench::Bench;
use crate::developer::{Developer, contains_all};

const HOOK: &str = "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: {{ .Release.Name }}-hook\n  annotations: {helm.sh/hook: pre-install}\n\
                    data: {from: chart}\n";

impl Bench {
    /// An entry with these lines.
    fn entry(&self, lines: &str) {
        self.watches(&format!(
            "- group: {}\n  version: v1\n  kind: Web\n  chart: web\n{lines}",
            self.group
        ));
    }

    fn file(&self, path: &str, text: &str) {
        fs::write(self.folder.path().join(path), text).unwrap();
    }

    async fn deployment(&self) -> Value {
        let deployment = self.deployments().get("shop").await.unwrap();
        serde_json::to_value(deployment).unwrap()
    }

    async fn message(&self) -> Value {
        let map = self.config_maps().get("shop-config").await.unwrap();
        map.data["data"]["message"].clone()
    }
}

fn image(deployment: &Value) -> &Value {
    &deployment["spec"]["template"]["spec"]["containers"][0]["image"]
}

/// All three at once, with a tag for the image that a patch sets.
fn everything(tag: u32, port: u32) -> String {
    format!(
        "  valueFiles: [values-chart.yaml, values-production.yaml]\n  overrides: {{port: {port}, extra: true}}\n  postRender:\n  \
         - target: {{kind: Deployment, name: sho.}}\n    \
         strategicMerge: {{spec: {{template: {{spec: {{containers: [{{name: web, image: 'registry.example.com/web:{tag}'}}]}}}}}}}}\n  \
         - {{target: {{kind: Deployment}}, patch: [{{op: add, path: /spec/template/spec/terminationGracePeriodSeconds, value: 7}}]}}\n  \
         - {{target: {{labelSelector: tier=config}}, merge: {{metadata: {{labels: {{patched: 'yes'}}}}}}}}\n  \
         - {{target: {{name: shop-hook}}, merge: {{data: {{from: patch}}}}}}\n"
    )
}

#[tokio::test]
async fn files_overrides_and_patches_have_their_word_and_each_change_is_a_revision() {
    let Some(bench) = Bench::with_kind("patched").await else {
        return;
    };
    bench.add_template("hook.yaml", HOOK);
    bench.file(
        "web/values-chart.yaml",
        "message: of the chart's file\nport: 7\nreplicas: 7\n",
    );
    bench.file(
        "values-production.yaml",
        "message: of the file beside\nreplicas: 5\n",
    );
    bench.entry(&everything(2, 81));
    let operator = bench.ready_operator().await;
    bench
        .apply_web("shop", json!({"replicas": 3, "extra": false, "port": 8}))
        .await;
    bench.wait_revision("shop", 1).await;

    let deployment = bench.deployment().await;
    assert_eq!(deployment["spec"]["replicas"], 3, "the spec wins over files");
    assert_eq!(image(&deployment), "registry.example.com/web:2");
    assert_eq!(
        deployment["spec"]["template"]["spec"]["terminationGracePeriodSeconds"],
        7
    );
    assert_eq!(bench.message().await, "of the file beside");
    let service = bench.services().get("shop").await.unwrap();
    assert_eq!(
        service.data["spec"]["ports"][0]["port"], 81,
        "overrides win over the spec"
    );
    bench.config_maps().get("shop-extra").await.unwrap();
    let map = bench.config_maps().get("shop-config").await.unwrap();
    assert_eq!(map.metadata.labels.unwrap()["patched"], "yes");
    let hook = bench.config_maps().get("shop-hook").await.unwrap();
    assert_eq!(hook.data["data"]["from"], "patch", "hooks are patched, too");
    let manifest = ["get", "manifest", "shop", "-n", &bench.namespace];
    let manifest = bench.cluster.helm(&manifest).await.unwrap();
    contains_all(
        &manifest,
        &["terminationGracePeriodSeconds: 7", "registry.example.com/web:2"],
    );
    let events = bench.events().await;
    contains_all(
        &events,
        &[
            "Chart value \"port\" overridden to \"81\"",
            "Chart value \"extra\" overridden to \"true\"",
        ],
    );

    // What a patch has set is put back.
    let theirs = json!([{"op": "replace", "path": "/spec/template/spec/containers/0/image", "value": "x"}]);
    let theirs: Patch<()> = Patch::Json(serde_json::from_value(theirs).unwrap());
    let parameters = PatchParams::default();
    bench
        .deployments()
        .patch("shop", &parameters, &theirs)
        .await
        .unwrap();
    bench
        .wait("the image", &bench.deployments(), "shop", |found| {
            (image(found) == "registry.example.com/web:2").then_some(())
        })
        .await;
    assert_eq!(bench.revisions().await, ["1 deployed"]);

    bench.entry(&everything(3, 81));
    bench.wait_revision("shop", 2).await;
    assert_eq!(image(&bench.deployment().await), "registry.example.com/web:3");
    bench.entry(&everything(3, 82));
    bench.wait_revision("shop", 3).await;
    let service = bench.services().get("shop").await.unwrap();
    assert_eq!(service.data["spec"]["ports"][0]["port"], 82);
    bench.file("values-production.yaml", "message: saved\nreplicas: 5\n");
    bench.wait_revision("shop", 4).await;
    assert_eq!(bench.message().await, "saved");
    bench.file("web/values-chart.yaml", "message: saved\nport: 9\n");
    bench.wait_revision("shop", 5).await;
    operator.stop().await.unwrap();

    // The same inputs are no reason for anything.
    let mark = bench.cluster.audit_mark().await.unwrap();
    let operator = bench.ready_operator().await;
    bench
        .patch_web(
            "shop",
            json!({"metadata": {"annotations": {"steersman.dev/reconcile-at": "now"}}}),
        )
        .await;
    bench.apply_web("second", json!({})).await;
    bench.wait_revision("second", 1).await;
    let audit = bench.cluster.audit_since(mark).await.unwrap();
    let audit = audit.by_user(bench.user.name()).writes().resource("deployments");
    assert_eq!(audit.len(), 1, "only that of the second resource:\n{audit}");
    operator.stop().await.unwrap();
}

#[tokio::test]
async fn a_patch_that_breaks_an_object_or_does_not_apply_is_refused_before_anything_is_written() {
    let Some(bench) = Bench::with_kind("patched").await else {
        return;
    };
    bench.entry("  postRender:\n  - {target: {}, merge: {}}\n  - {target: {kind: Service}, merge: {metadata: {name: other}}}\n");
    let operator = bench.ready_operator().await;
    let mark = bench.cluster.audit_mark().await.unwrap();
    bench.apply_web("shop", json!({})).await;
    let (reason, message) = bench.wait_stalled("shop").await;
    assert_eq!(reason, "RenderFailed");
    let expected = format!(
        "web/templates/workload.yaml: [0].postRender[1] on line 7 of watches.yaml can't be applied to Service {}/shop: it changes \
         `metadata.name`, so it would be another object",
        bench.namespace
    );
    assert!(message.contains(&expected), "{message}");
    let audit = bench.cluster.audit_since(mark).await.unwrap();
    let audit = audit.by_user(bench.user.name()).writes();
    for resource in ["services", "deployments", "configmaps", "clusterroles"] {
        assert!(audit.clone().resource(resource).is_empty(), "{audit}");
    }
    assert!(bench.revisions().await.is_empty());

    // Mended, it goes on by itself.
    bench.entry("  postRender:\n  - {target: {kind: Service}, merge: {metadata: {labels: {a: b}}}}\n");
    bench.wait_revision("shop", 1).await;

    bench.entry(
        "  postRender:\n  - {target: {kind: Service}, patch: [{op: replace, path: /spec/none, value: 1}]}\n",
    );
    let (_, message) = bench.wait_stalled("shop").await;
    contains_all(
        &message,
        &[
            "[0].postRender[0] on line 6",
            "operation 1, `replace /spec/none`: path is invalid",
        ],
    );
    assert_eq!(bench.revisions().await, ["1 deployed"]);
    // What is deployed is kept as it was meanwhile.
    let parameters = PatchParams::default();
    let theirs: Patch<Value> = Patch::Merge(json!({"metadata": {"labels": {"a": "theirs"}}}));
    bench
        .services()
        .patch("shop", &parameters, &theirs)
        .await
        .unwrap();
    bench
        .wait("the label", &bench.services(), "shop", |found| {
            (found["metadata"]["labels"]["a"] == "b").then_some(())
        })
        .await;
    operator.stop().await.unwrap();
}

#[tokio::test]
async fn the_bounds_of_a_watch_are_those_of_what_the_patches_leave() {
    let Some(bench) = Bench::with_kind("patched").await else {
        return;
    };
    bench.entry("  confine: {}\n");
    let operator = bench.ready_operator().await;
    bench.apply_web("shop", json!({})).await;
    let (_, message) = bench.wait_stalled("shop").await;
    assert!(message.contains("ClusterRole"), "{message}");
    bench.entry(
        "  confine: {}\n  postRender:\n  - {target: {kind: ClusterRole}, strategicMerge: {$patch: delete}}\n",
    );
    bench.wait_revision("shop", 1).await;
    bench.deployment().await;
    operator.stop().await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn a_diff_and_a_dry_run_show_what_values_and_patches_make() {
    let Some(bench) = Bench::with_kind("patched").await else {
        return;
    };
    let developer = Developer::of(&bench).await;
    bench.file("web/values-chart.yaml", "message: of the chart's file\n");
    bench.file("values-production.yaml", "replicas: 5\n");
    bench.entry(&everything(2, 81));
    developer.write_resource(&json!({"port": 8}));
    let said = developer.check(&["diff", "-f", "shop.yaml"], 1);
    let of_patches = [
        "+        terminationGracePeriodSeconds: 7",
        "+          image: registry.example.com/web:2",
        "+    patched: \"yes\"",
    ];
    for part in of_patches {
        let part = part.trim_start_matches('+').trim_start();
        assert!(said.contains(part), "no `{part}` in:\n{said}");
    }
    contains_all(
        &said,
        &[
            "replicas: 5",
            "message: of the chart's file",
            "port: 81",
            "NS/shop-extra",
        ],
    );

    let operator = bench.ready_operator().await;
    bench.apply_web("shop", json!({"port": 8})).await;
    bench.wait_revision("shop", 1).await;
    let said = developer.check(&["diff", "-f", "shop.yaml"], 0);
    assert!(said.contains("revision 1 would stay"), "{said}");
    operator.stop().await.unwrap();

    bench.entry(&everything(3, 81));
    let said = developer.check(&["diff", "-f", "shop.yaml"], 1);
    contains_all(
        &said,
        &[
            "would be upgraded to revision 2, as `postRender` has changed",
            "image: registry.example.com/web:3",
        ],
    );
    let operator = bench.operator_with(&["--dry-run"]).await;
    bench
        .wait("the dry run", &bench.webs(), "shop", |web| {
            let summary = web.pointer("/status/dryRun/summary")?.as_str()?;
            summary.contains("as `postRender` has changed").then_some(())
        })
        .await;
    operator.stop().await.unwrap();
}

//! What a watch does about the definitions in its chart's `crds/` folder.

use serde_json::{Value, json};

use crate::bench::{Bench, condition};

const WIDGET: &str = "{{- if .Values.widget }}\napiVersion: GROUP/v1\nkind: Widget\nmetadata: {name: {{ .Release.Name }}}\n{{- end }}\n";

impl Bench {
    fn set_crds(&self, policy: &str, version: &str) {
        let group = &self.group;
        self.watches(&format!(
            "- {{group: {group}, version: v1, kind: Web, chart: web, crds: {policy}}}\n"
        ));
        let text = format!("apiVersion: v2\nname: web\nversion: {version}\n");
        std::fs::write(self.folder.path().join("web/Chart.yaml"), text).unwrap();
    }

    fn write_definition(&self, columns: &Value) {
        let group = &self.group;
        let definition = json!({
            "apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
            "metadata": {"name": format!("widgets.{group}")},
            "spec": {
                "group": group, "scope": "Namespaced",
                "names": {"kind": "Widget", "plural": "widgets", "singular": "widget"},
                "versions": [{"name": "v1", "served": true, "storage": true, "additionalPrinterColumns": columns,
                    "schema": {"openAPIV3Schema": {"type": "object", "x-kubernetes-preserve-unknown-fields": true}}}],
            },
        });
        let path = self.folder.path().join("web/crds/widgets.yaml");
        std::fs::write(path, definition.to_string()).unwrap();
        let path = self.folder.path().join("web/templates/widget.yaml");
        std::fs::write(path, WIDGET.replace("GROUP", group)).unwrap();
    }

    async fn columns(&self) -> String {
        let name = format!("crd/widgets.{}", self.group);
        let path = "-o=jsonpath={.spec.versions[0].additionalPrinterColumns[*].name}";
        self.cluster.kubectl(&["get", &name, path]).await.unwrap()
    }
}

#[tokio::test]
async fn definitions_are_skipped_created_or_replaced_as_the_watch_says() {
    let Some(bench) = Bench::with_kind("crds").await else {
        return;
    };
    bench.write_definition(&json!([]));
    bench.set_crds("skip", "1.0.0");
    let operator = bench.ready_operator().await;
    bench.apply_web("shop", json!({"widget": true})).await;
    let message = bench
        .wait("the failure", &bench.webs(), "shop", |web| {
            condition(web, "ReleaseFailed").map(|(_, _, message)| message)
        })
        .await;
    assert!(message.contains("no matches for kind `Widget`"), "{message}");
    let name = format!("crd/widgets.{}", bench.group);
    assert!(
        bench.cluster.kubectl(&["get", &name]).await.is_err(),
        "{name} is there"
    );
    operator.stop().await.unwrap();

    bench.set_crds("create", "1.0.0");
    let operator = bench.ready_operator().await;
    bench.wait_revision("shop", 1).await;
    let widgets = bench.kind_api("Widget", "widgets");
    widgets.get("shop").await.unwrap();
    operator.stop().await.unwrap();

    let column = json!([{"name": "Size", "type": "string", "jsonPath": ".spec.size"}]);
    bench.write_definition(&column);
    bench.set_crds("Create", "1.1.0");
    let operator = bench.ready_operator().await;
    bench.wait_revision("shop", 2).await;
    assert_eq!(bench.columns().await, "");
    operator.stop().await.unwrap();

    bench.set_crds("CreateReplace", "1.2.0");
    let dry_run = |wish: Value| json!({"metadata": {"annotations": {"steersman.dev/dry-run": wish}}});
    bench.patch_web("shop", dry_run("true".into())).await;
    let operator = bench.ready_operator().await;
    let objects = bench
        .wait("the dry run", &bench.webs(), "shop", |web| {
            web.pointer("/status/dryRun/objects").cloned()
        })
        .await;
    let definition = &objects[0];
    assert_eq!(
        definition["name"],
        format!("widgets.{}", bench.group),
        "{objects}"
    );
    assert_eq!(
        definition["fields"],
        json!(["/spec/versions/0/additionalPrinterColumns"])
    );
    assert_eq!(bench.columns().await, "");
    bench.patch_web("shop", dry_run(Value::Null)).await;
    bench.wait_revision("shop", 3).await;
    assert_eq!(bench.columns().await, "Size");
    widgets.get("shop").await.unwrap();
    operator.stop().await.unwrap();
}

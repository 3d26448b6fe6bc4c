//! What a release takes from, or waits for, outside of itself.

mod cycles;
mod deletion;
mod dependencies;
mod former;
mod values;

use std::fs;

use kube::api::{Api, DynamicObject, Patch, PatchParams};
use serde_json::{Value, json};

use crate::bench::{Bench, condition};

/// A Web depends on the Keeper that its values name.
const DEPENDS_ON: &str = r#"
- group: GROUP
  version: v1
  kind: Web
  chart: web
  dependsOn:
  - {apiVersion: GROUP/v1, kind: Keeper, name: "{{ .Values.keeper | default \"keeper\" }}"}
"#;

/// A bench whose Webs depend on Keepers, which are nobody's.
async fn with_keepers(test: &str) -> Option<Bench> {
    let bench = Bench::with_kind(test).await?;
    bench.define("Keeper", "keepers").await;
    watches(&bench, DEPENDS_ON);
    Some(bench)
}

/// Writes a watches.yaml in which `GROUP` stands for the bench's.
fn watches(bench: &Bench, text: &str) {
    bench.watches(&text.replace("GROUP", &bench.group));
}

fn keepers(bench: &Bench) -> Api<DynamicObject> {
    bench.kind_api("Keeper", "keepers")
}

/// What the controller of a Keeper says of it.
async fn say(bench: &Bench, keeper: &str, ready: &str, message: &str) {
    let condition = json!({
        "type": "Ready", "status": ready, "reason": "Quorum", "message": message,
        "lastTransitionTime": "2026-01-01T00:00:00Z",
    });
    let patch = Patch::Merge(json!({"status": {"conditions": [condition]}}));
    keepers(bench)
        .patch_status(keeper, &PatchParams::default(), &patch)
        .await
        .unwrap();
}

/// Waits until a resource of this kind waits for a dependency and says `words` of it, and gives the resource.
async fn wait_not_ready(bench: &Bench, api: &Api<DynamicObject>, name: &str, words: &str) -> Value {
    let told = |web: &Value| {
        let (status, reason, message) = condition(web, "Reconciling")?;
        let is_so = status == "True" && reason == "DependencyNotReady" && message.contains(words);
        is_so.then(|| web.clone())
    };
    bench.wait(&format!("the word `{words}`"), api, name, told).await
}

/// Leaves the chart with a `ConfigMap` of its message alone.
fn small_chart(bench: &Bench) {
    bench.remove_templates();
    let config = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: {{ .Release.Name }}-config}\ndata: {message: {{ \
                  .Values.message | quote }}}\n";
    bench.add_template("config.yaml", config);
    fs::write(bench.folder.path().join("web/values.yaml"), "message: hello\n").unwrap();
}

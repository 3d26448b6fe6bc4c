//! What would be done is said, and nothing is done.

mod server;

use kube::api::{Patch, PatchParams};
use serde_json::{Value, json};

use crate::bench::Bench;

const ANNOTATION: &str = "steersman.dev/dry-run";

/// Waits until the status says this of a dry run, and gives all that it says.
async fn wait_said(bench: &Bench, summary: &str) -> Value {
    bench
        .wait("the dry run", &bench.webs(), "shop", |web| {
            let said = web.pointer("/status/dryRun")?;
            let current = said["observedGeneration"] == web["metadata"]["generation"];
            let is_it = current && said["summary"].as_str()?.contains(summary);
            is_it.then(|| said.clone())
        })
        .await
}

/// `ConfigMap shop-config would be created null` for each object that would change, with fields or a reason at its end.
fn changes(said: &Value) -> Vec<String> {
    let text = |object: &Value, key: &str| object[key].as_str().unwrap_or_default().to_owned();
    let mut changes: Vec<String> = said["objects"]
        .as_array()
        .unwrap()
        .iter()
        .map(|object| {
            format!(
                "{} {} would {} {}",
                text(object, "kind"),
                text(object, "name"),
                text(object, "would"),
                object
                    .get("fields")
                    .or(object.get("message"))
                    .unwrap_or(&Value::Null)
            )
        })
        .collect();
    changes.sort();
    changes
}

/// What the resource would be told for a dry run, or no longer.
fn asks(wish: Value) -> Value {
    json!({"metadata": {"annotations": {ANNOTATION: wish}}})
}

/// What was written since, but for what the server only tried and the status of resources.
async fn nothing_written(bench: &Bench, mark: steersman_testkit::cluster::AuditMark) {
    let audit = bench.cluster.audit_since(mark).await.unwrap();
    let written = audit.by_user(bench.user.name()).writes().filter(|request| {
        !request.uri.contains("dryRun=All")
            && (request.resource.as_str(), request.subresource.as_str()) != ("webs", "status")
    });
    assert!(written.is_empty(), "{written}");
}

#[tokio::test]
async fn a_resource_can_ask_for_no_more_than_what_would_be_done() {
    let Some(bench) = Bench::with_kind("dry_run").await else {
        return;
    };
    let operator = bench.ready_operator().await;
    let mark = bench.cluster.audit_mark().await.unwrap();
    let object = json!({
        "apiVersion": format!("{}/v1", bench.group), "kind": "Web",
        "metadata": {"name": "shop", "annotations": {ANNOTATION: "true"}},
        "spec": {"extra": true, "password": "canary-in-values"},
    });
    bench
        .webs()
        .create(&Default::default(), &serde_json::from_value(object).unwrap())
        .await
        .unwrap();
    let said = wait_said(&bench, "would be installed").await;
    let role = format!("ClusterRole {}-shop would be created null", bench.namespace);
    assert_eq!(
        changes(&said),
        [
            role.as_str(),
            "ConfigMap shop-config would be created null",
            "ConfigMap shop-extra would be created null",
            "Deployment shop would be created null",
            "Secret shop-secret would be created null",
            "Service shop would be created null",
        ]
    );
    nothing_written(&bench, mark).await;
    let web = bench.webs().get("shop").await.unwrap();
    assert_eq!(web.metadata.finalizers, None);
    assert!(!web.data["status"].to_string().contains("canary"));
    assert!(
        operator
            .log_text()
            .contains("dry run: release shop would be installed")
    );

    bench.patch_web("shop", asks(Value::Null)).await;
    let web = bench.wait_revision("shop", 1).await;
    assert_eq!(web["status"].get("dryRun"), None);

    let mark = bench.cluster.audit_mark().await.unwrap();
    bench.patch_web("shop", asks("true".into())).await;
    wait_said(&bench, "revision 1 would stay; no object would change").await;
    let spec = json!({"extra": false, "message": "later", "password": "canary-of-later"});
    bench.patch_web("shop", json!({ "spec": spec })).await;
    let said = wait_said(
        &bench,
        "would be upgraded to revision 2, as the values have changed",
    )
    .await;
    assert_eq!(
        changes(&said),
        [
            r#"ConfigMap shop-config would be changed ["/data/message","/data/revision"]"#,
            "ConfigMap shop-extra would be deleted null",
            r#"Secret shop-secret would be changed ["/data/password"]"#,
        ]
    );
    bench.patch_web("shop", json!({"spec": {"broken": true}})).await;
    let said = wait_said(&bench, "would fail: ").await;
    assert!(
        said["summary"]
            .as_str()
            .unwrap()
            .contains("the chart was told to fail")
    );
    bench.delete_web("shop").await;
    wait_said(&bench, "is being deleted").await;
    nothing_written(&bench, mark).await;
    assert_eq!(bench.revisions().await, ["1 deployed"]);
    assert!(!operator.log_text().contains("canary"));

    bench.patch_web("shop", asks(Value::Null)).await;
    bench.wait_gone(&bench.webs(), "shop").await;
    operator.stop().await.unwrap();
}

/// What is said of each object is looked through for each secret, whoever waits for the memory meanwhile.
#[tokio::test]
async fn many_objects_and_many_secrets_are_told_of_in_a_moment() {
    let Some(bench) = Bench::with_kind("dry_run_of_many").await else {
        return;
    };
    let template = "{{ range until 300 }}\n---\napiVersion: v1\nkind: ConfigMap\nmetadata: {name: {{ $.Release.Name }}-c{{ . }}}\n{{ end }}";
    bench.add_template("many.yaml", template);
    let operator = bench.ready_operator().await;
    let secrets: Vec<String> = (0..60_000).map(|number| format!("canary{number:05}")).collect();
    let object = json!({
        "apiVersion": format!("{}/v1", bench.group), "kind": "Web",
        "metadata": {"name": "shop", "annotations": {ANNOTATION: "true"}}, "spec": {"passwords": secrets},
    });
    bench
        .webs()
        .create(&Default::default(), &serde_json::from_value(object).unwrap())
        .await
        .unwrap();
    wait_said(&bench, "would be installed").await;
    let log = operator.log_text();
    let lines = log
        .lines()
        .filter(|line| line.contains("dry run: would be created"));
    assert!(lines.count() >= 300);
    operator.stop().await.unwrap();
}

#[tokio::test]
async fn an_operator_can_be_run_to_say_what_it_would_do() {
    let Some(bench) = Bench::with_kind("dry_run").await else {
        return;
    };
    let mark = bench.cluster.audit_mark().await.unwrap();
    let operator = bench.operator_with(&["--dry-run"]).await;
    bench.apply_web("shop", json!({})).await;
    wait_said(&bench, "would be installed").await;
    nothing_written(&bench, mark).await;
    operator.stop().await.unwrap();

    let operator = bench.ready_operator().await;
    let web = bench.wait_revision("shop", 1).await;
    assert_eq!(web["status"].get("dryRun"), None);
    operator.stop().await.unwrap();
}

#[tokio::test]
async fn what_would_not_be_corrected_is_not_said_to_be() {
    let Some(bench) = Bench::with_kind("dry_run").await else {
        return;
    };
    let group = &bench.group;
    let watch = |mode: &str| {
        let drift = format!("driftDetection: {{mode: {mode}}}");
        format!("- {{group: {group}, version: v1, kind: Web, chart: web, {drift}}}\n")
    };
    bench.watches(&watch("warn"));
    let operator = bench.ready_operator().await;
    bench.apply_web("shop", json!({})).await;
    bench.wait_revision("shop", 1).await;
    let theirs = Patch::Merge(json!({"data": {"message": "theirs"}}));
    let parameters = PatchParams::default();
    bench
        .config_maps()
        .patch("shop-config", &parameters, &theirs)
        .await
        .unwrap();
    bench.patch_web("shop", asks("true".into())).await;
    wait_said(&bench, "revision 1 would stay; no object would change").await;
    operator.stop().await.unwrap();
    bench.watches(&watch("enabled"));
    let operator = bench.ready_operator().await;
    let said = wait_said(&bench, "revision 1 would stay; 1 object would change").await;
    assert_eq!(
        changes(&said),
        [r#"ConfigMap shop-config would be changed ["/data/message"]"#]
    );
    operator.stop().await.unwrap();
}

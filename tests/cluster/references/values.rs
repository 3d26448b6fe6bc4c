//! Values from Secrets and `ConfigMap`s.

use std::time::{Duration, Instant};

use kube::api::{DeleteParams, ListParams, Patch, PatchParams};
use serde_json::{Value, json};
use steersman_testkit::cluster::OperatorProcess;

use super::watches;
use crate::bench::{Bench, condition, wait_for_line};

/// What stands in the Secret, and in nothing that anybody is shown.
const CANARY: &str = "canary-in-the-source";

const ENTRY: &str = r#"
- group: GROUP
  version: v1
  kind: Web
  chart: web
  valuesFrom:
  - {kind: ConfigMap, name: "{{ .metadata.name }}-defaults", optional: true}
  - {kind: Secret, name: "{{ .metadata.name }}-credentials", valuesKey: password, targetPath: db.password}
"#;

/// A password in an object that is no Secret, as charts have it, and a message.
const CHART: &str = r"
apiVersion: v1
kind: ConfigMap
metadata: {name: {{ .Release.Name }}-config}
data: {message: {{ .Values.message | quote }}, length: {{ .Values.db.password | toString | len | quote }}}
---
apiVersion: v1
kind: Secret
metadata: {name: {{ .Release.Name }}-db}
stringData: {password: {{ .Values.db.password | quote }}}
";

async fn bench(test: &str, entry: &str) -> Option<Bench> {
    let bench = Bench::with_kind(test).await?;
    bench.remove_templates();
    bench.add_template("web.yaml", CHART);
    let values = bench.folder.path().join("web/values.yaml");
    std::fs::write(values, "message: hello\ndb: {password: \"\"}\n").unwrap();
    watches(&bench, entry);
    Some(bench)
}

async fn put(bench: &Bench, kind: &str, name: &str, data: Value) {
    let field = if kind == "Secret" { "stringData" } else { "data" };
    let object = json!({"apiVersion": "v1", "kind": kind, "metadata": {"name": name}, field: data});
    let api = if kind == "Secret" {
        bench.secrets()
    } else {
        bench.config_maps()
    };
    let parameters = PatchParams::apply("test").force();
    api.patch(name, &parameters, &Patch::Apply(&object))
        .await
        .unwrap();
}

async fn put_password(bench: &Bench, password: &str) {
    put(
        bench,
        "Secret",
        "shop-credentials",
        json!({ "password": password }),
    )
    .await;
}

/// Waits until the object has this message.
async fn wait_message(bench: &Bench, message: &str) {
    let is_so = |map: &Value| (map["data"]["message"] == message).then_some(());
    bench
        .wait(message, &bench.config_maps(), "shop-config", is_so)
        .await;
}

/// Waits until the resource says that its values can't be had, and why.
async fn wait_unusable(bench: &Bench, words: &str) {
    let told = |web: &Value| {
        let (status, reason, message) = condition(web, "Ready")?;
        let is_so = status == "False" && reason == "ErrorGettingValues" && message.contains(words);
        is_so.then_some(())
    };
    bench.wait(words, &bench.webs(), "shop", told).await;
}

/// Nothing that the operator says or stores beside the release's objects has the text.
async fn assert_untold(bench: &Bench, operator: &OperatorProcess, text: &str) {
    assert!(!operator.log_text().contains(text), "the log has it");
    assert!(!operator.metrics().await.unwrap().contains(text));
    assert!(!bench.events().await.contains(text));
    let webs = bench.webs().list(&ListParams::default()).await.unwrap();
    assert!(!serde_json::to_string(&webs.items).unwrap().contains(text));
    let values = ["get", "values", "shop", "-n", &bench.namespace, "-o", "json"];
    let values = bench.cluster.helm(&values).await.unwrap();
    assert!(!values.contains(text), "{values}");
}

#[tokio::test]
async fn values_of_other_objects_lie_under_the_spec_and_their_changes_are_revisions() {
    let Some(bench) = bench("values_from", ENTRY).await else {
        return;
    };
    put_password(&bench, CANARY).await;
    put(
        &bench,
        "ConfigMap",
        "shop-defaults",
        json!({"values.yaml": "message: from the map\n"}),
    )
    .await;
    let operator = bench.released(json!({})).await;
    wait_message(&bench, "from the map").await;
    let secret = bench.secrets().get("shop-db").await.unwrap();
    let encoded = secret.data["data"]["password"].as_str().unwrap();
    let password = String::from_utf8(base64(encoded)).unwrap();
    assert_eq!(password, CANARY);

    // A settled release asks for nothing.
    tokio::time::sleep(Duration::from_secs(2)).await;
    let mark = bench.cluster.audit_mark().await.unwrap();
    let annotation = json!({"metadata": {"annotations": {"example.com/note": "1"}}});
    bench.patch_web("shop", annotation).await;
    tokio::time::sleep(Duration::from_secs(3)).await;
    let audit = bench.cluster.audit_since(mark).await.unwrap();
    let audit = audit.by_user(bench.user.name());
    let others = audit.filter(|request| request.verb != "watch" && request.resource != "leases");
    assert!(others.is_empty(), "{others}");

    let begun = Instant::now();
    let other = "canary-of-another-day";
    put_password(&bench, other).await;
    bench.wait_revision("shop", 2).await;
    assert!(begun.elapsed() < Duration::from_secs(5), "{:?}", begun.elapsed());
    bench.apply_web("shop", json!({"message": "of the spec"})).await;
    bench.wait_revision("shop", 3).await;
    wait_message(&bench, "of the spec").await;
    for text in [CANARY, other] {
        assert_untold(&bench, &operator, text).await;
    }

    // A restart makes no revision of what is as it was.
    operator.kill().await.unwrap();
    let operator = bench.ready_operator().await;
    wait_for_line(&operator, "Reconciled release").await;
    tokio::time::sleep(Duration::from_secs(2)).await;
    assert_eq!(bench.revisions().await.len(), 3);
    operator.stop().await.unwrap();
}

#[tokio::test]
async fn what_can_t_be_had_is_named_and_the_deployed_revision_is_healed() {
    let Some(bench) = bench("values_from_missing", ENTRY).await else {
        return;
    };
    let operator = bench.ready_operator().await;
    bench.apply_web("shop", json!({})).await;
    let key = "key \"password\" of Secret shop-credentials";
    wait_unusable(
        &bench,
        &format!("{key} in namespace {}: it is not there", bench.namespace),
    )
    .await;
    assert_eq!(bench.revisions().await, Vec::<String>::new());
    put(&bench, "Secret", "shop-credentials", json!({"user": CANARY})).await;
    wait_unusable(&bench, "the object has no such key").await;
    put_password(&bench, CANARY).await;
    bench.wait_revision("shop", 1).await;

    let binary = json!({"data": {"password": "gP+A/w=="}});
    let parameters = PatchParams::default();
    bench
        .secrets()
        .patch("shop-credentials", &parameters, &Patch::Merge(binary))
        .await
        .unwrap();
    wait_unusable(&bench, "what is there is no text in UTF-8").await;
    let maps = bench.config_maps();
    maps.delete("shop-config", &DeleteParams::default())
        .await
        .unwrap();
    wait_message(&bench, "hello").await;
    bench.apply_web("shop", json!({"message": "second"})).await;
    wait_unusable(&bench, "what is there is no text in UTF-8").await;
    put(
        &bench,
        "ConfigMap",
        "shop-defaults",
        json!({"values.yaml": format!("- {CANARY}")}),
    )
    .await;
    put_password(&bench, CANARY).await;
    wait_unusable(&bench, "key \"values.yaml\" of ConfigMap shop-defaults").await;
    wait_unusable(&bench, "no map in YAML").await;
    assert_eq!(bench.revisions().await, ["1 deployed"]);
    put(
        &bench,
        "ConfigMap",
        "shop-defaults",
        json!({"values.yaml": "extra: true"}),
    )
    .await;
    bench.wait_revision("shop", 2).await;
    wait_message(&bench, "second").await;
    assert_untold(&bench, &operator, CANARY).await;
    operator.stop().await.unwrap();
}

#[tokio::test]
async fn a_secret_that_changes_each_second_is_a_revision_in_half_a_minute() {
    let Some(bench) = bench("values_from_often", ENTRY).await else {
        return;
    };
    put_password(&bench, "first-of-many").await;
    let operator = bench.released(json!({})).await;
    let begun = Instant::now();
    for number in 0..12 {
        put_password(&bench, &format!("number-{number}")).await;
        tokio::time::sleep(Duration::from_secs(1)).await;
    }
    let revisions = bench.revisions().await.len();
    let most = 2 + begun.elapsed().as_secs() / 30;
    assert!(revisions as u64 <= most, "{revisions} revisions, not {most}");
    let is_last = |secret: &Value| {
        let encoded = secret["data"]["password"].as_str()?;
        (base64(encoded) == b"number-11").then_some(())
    };
    bench
        .wait("the last password", &bench.secrets(), "shop-db", is_last)
        .await;
    let revisions = bench.revisions().await.len();
    let most = 2 + begun.elapsed().as_secs() / 30;
    assert!(
        (3..=most).contains(&(revisions as u64)),
        "{revisions} revisions, not {most}"
    );
    operator.stop().await.unwrap();
}

#[tokio::test]
async fn a_large_source_is_taken_whole() {
    let entry = ENTRY.replace(
        "targetPath: db.password",
        "targetPath: db.password, literal: true",
    );
    let Some(bench) = bench("values_from_large", &entry).await else {
        return;
    };
    bench.add_template("web.yaml", CHART.split("---").next().unwrap());
    put_password(&bench, &"canary ".repeat(145_000)).await;
    let operator = bench.released(json!({})).await;
    let map = bench.config_maps().get("shop-config").await.unwrap();
    assert_eq!(map.data["data"]["length"], "1015000");
    operator.stop().await.unwrap();
}

#[tokio::test]
async fn a_resource_names_sources_where_its_entry_lets_it() {
    let entry = "
- group: GROUP
  version: v1
  kind: Web
  chart: web
  confine: {}
  valuesFrom: {fromResources: true}
";
    let Some(bench) = bench("values_from_annotation", entry).await else {
        return;
    };
    put(
        &bench,
        "ConfigMap",
        "more",
        json!({"values.yaml": "message: more"}),
    )
    .await;
    let operator = bench.released(json!({})).await;
    let named = |text: &str| json!({"metadata": {"annotations": {"steersman.dev/values-from": text}}});
    bench
        .patch_web("shop", named("[{kind: ConfigMap, name: more}]"))
        .await;
    wait_message(&bench, "more").await;
    bench.patch_web("shop", named("[{kind: Pod, name: more}]")).await;
    wait_unusable(&bench, "`Pod` is none of `Secret`, `ConfigMap`").await;
    bench
        .patch_web(
            "shop",
            json!({"metadata": {"annotations": {"steersman.dev/values-from": null}}}),
        )
        .await;
    wait_message(&bench, "hello").await;
    operator.stop().await.unwrap();
}

#[tokio::test]
async fn a_key_of_a_secret_that_the_chart_does_not_name_is_masked() {
    let entry = ENTRY.replace("valuesKey: password, targetPath: db.password", "optional: true");
    let Some(bench) = bench("values_from_keys", &entry).await else {
        return;
    };
    let schema = r#"{"properties": {"extra": {"type": "object", "additionalProperties": false}}}"#;
    std::fs::write(bench.folder.path().join("web/values.schema.json"), schema).unwrap();
    let secret = json!({"values.yaml": "extra: {canary-key-1: 1}"});
    put(&bench, "Secret", "shop-credentials", secret).await;
    let operator = bench.ready_operator().await;
    bench.apply_web("shop", json!({})).await;
    let (_, message) = bench.wait_stalled("shop").await;
    let said = "additional properties '********' not allowed";
    assert!(
        message.contains("'/extra'") && message.contains(said),
        "{message}"
    );
    let said = operator.log_text() + &bench.events().await;
    assert!(!said.contains("canary-key-1"));
    operator.stop().await.unwrap();
}

#[tokio::test]
async fn an_account_reads_what_it_may() {
    let entry = format!("{ENTRY}  serviceAccountName: deployer\n");
    let Some(bench) = bench("values_from_account", &entry).await else {
        return;
    };
    put_password(&bench, CANARY).await;
    let operator = bench.ready_operator().await;
    bench.apply_web("shop", json!({})).await;
    let user = format!("system:serviceaccount:{}:deployer", bench.namespace);
    wait_unusable(&bench, &user).await;
    wait_unusable(&bench, "can't be read").await;
    operator.stop().await.unwrap();
}

fn base64(text: &str) -> Vec<u8> {
    let decoded: k8s_openapi::ByteString = serde_json::from_value(json!(text)).unwrap();
    decoded.0
}

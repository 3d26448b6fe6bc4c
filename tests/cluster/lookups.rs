//! Charts that look things up, and charts that come out differently each time.

use std::time::{Duration, Instant};

use kube::api::DeleteParams;
use serde_json::{Value, json};
use steersman_testkit::cluster::AuditMark;

use crate::bench::{Bench, PATIENCE, condition};

const LOOKUP: &str = r#"
{{- $source := lookup "v1" "ConfigMap" .Release.Namespace "source" }}
{{- if and .Values.required (not $source) }}{{ fail "there is no source" }}{{ end }}
{{- $own := lookup "v1" "Secret" .Release.Namespace (printf "%s-token" .Release.Name) }}
apiVersion: v1
kind: ConfigMap
metadata:
  name: {{ .Release.Name }}-copy
data:
  color: {{ ($source.data | default dict).color | default "none" }}
  {{- if .Values.stamp }}
  stamp: {{ now | quote }}
  {{- end }}
---
apiVersion: v1
kind: Secret
metadata:
  name: {{ .Release.Name }}-token
data:
  token: {{ ($own.data | default dict).token | default (randAlphaNum 20 | b64enc) }}
"#;

async fn bench() -> Option<Bench> {
    let bench = Bench::with_kind("lookups").await?;
    let group = &bench.group;
    bench.watches(&format!(
        "- {{group: {group}, version: v1, kind: Web, chart: web, reconcilePeriod: 1s}}\n"
    ));
    let template = bench.folder.path().join("web/templates/lookup.yaml");
    std::fs::write(template, LOOKUP).unwrap();
    Some(bench)
}

async fn source(bench: &Bench, color: &str, note: &str) {
    let object = json!({"apiVersion": "v1", "kind": "ConfigMap", "data": {"color": color},
        "metadata": {"name": "source", "namespace": bench.namespace, "annotations": {"note": note}}});
    bench.cluster.apply(&object.to_string()).await.unwrap();
}

/// Waits until the operator has looked it up some times since.
async fn looked_up_again(bench: &Bench, mark: AuditMark) {
    let begun = Instant::now();
    loop {
        let audit = bench.cluster.audit_since(mark).await.unwrap();
        let audit = audit
            .by_user(bench.user.name())
            .verb("get")
            .filter(|request| request.name == "source");
        if audit.len() >= 3 {
            return;
        }
        assert!(begun.elapsed() < PATIENCE, "not looked up again");
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
}

async fn color_of(bench: &Bench, name: &str, color: &str) {
    bench
        .wait(
            "the color",
            &bench.config_maps(),
            &format!("{name}-copy"),
            |map| (map["data"]["color"] == color).then_some(()),
        )
        .await;
}

async fn token(bench: &Bench) -> Value {
    let secret = bench.secrets().get("shop-token").await.unwrap();
    secret.data["data"]["token"].clone()
}

#[tokio::test]
async fn what_was_looked_up_is_looked_up_again_and_upgrades_when_it_matters() {
    let Some(bench) = bench().await else { return };
    let operator = bench.ready_operator().await;
    let mark = bench.cluster.audit_mark().unwrap();
    bench.apply_web("shop", json!({"password": "constant"})).await;
    bench.wait_revision("shop", 1).await;
    looked_up_again(&bench, mark).await;
    assert_eq!(
        bench.revisions().await,
        ["1 deployed"],
        "its own Secret is no change"
    );
    let made = token(&bench).await;

    source(&bench, "red", "a").await;
    bench.wait_revision("shop", 2).await;
    color_of(&bench, "shop", "red").await;
    assert_eq!(token(&bench).await, made);

    // What does not come out in the chart is no reason.
    let mark = bench.cluster.audit_mark().unwrap();
    source(&bench, "red", "b").await;
    looked_up_again(&bench, mark).await;
    operator.stop().await.unwrap();
    let operator = bench.ready_operator().await;
    let mark = bench.cluster.audit_mark().unwrap();
    looked_up_again(&bench, mark).await;
    assert_eq!(bench.revisions().await, ["1 superseded", "2 deployed"]);

    bench
        .config_maps()
        .delete("source", &DeleteParams::default())
        .await
        .unwrap();
    bench.wait_revision("shop", 3).await;
    color_of(&bench, "shop", "none").await;
    operator.stop().await.unwrap();
}

#[tokio::test]
async fn a_chart_that_misses_something_is_released_when_it_is_there() {
    let Some(bench) = bench().await else { return };
    let operator = bench.ready_operator().await;
    bench.apply_web("shop", json!({"required": true})).await;
    let message = bench
        .wait("the failure", &bench.webs(), "shop", |web| {
            condition(web, "Stalled").map(|(_, _, message)| message)
        })
        .await;
    assert!(message.contains("there is no source"), "{message}");
    source(&bench, "blue", "").await;
    bench.wait_revision("shop", 1).await;
    color_of(&bench, "shop", "blue").await;
    operator.stop().await.unwrap();
}

#[tokio::test]
async fn a_chart_that_comes_out_differently_each_time_settles_at_one_revision() {
    let Some(bench) = bench().await else { return };
    source(&bench, "green", "").await;
    let operator = bench.ready_operator().await;
    let mark = bench.cluster.audit_mark().unwrap();
    bench.apply_web("shop", json!({"stamp": true})).await;
    bench.wait_revision("shop", 1).await;
    looked_up_again(&bench, mark).await;
    operator.stop().await.unwrap();
    let operator = bench.ready_operator().await;
    let mark = bench.cluster.audit_mark().unwrap();
    looked_up_again(&bench, mark).await;
    assert_eq!(bench.revisions().await, ["1 deployed"]);
    operator.stop().await.unwrap();
}

#[tokio::test]
async fn a_chart_looks_things_up_whatever_the_dry_run_option_says() {
    let Some(bench) = bench().await else { return };
    for option in ["client", "server", "nonsense"] {
        let group = &bench.group;
        bench.watches(&format!(
            "- {{group: {group}, version: v1, kind: Web, chart: web, reconcilePeriod: 1s, dryRunOption: {option}}}\n"
        ));
        source(&bench, "red", "").await;
        let operator = bench.ready_operator().await;
        bench.apply_web(option, json!({"password": "constant"})).await;
        bench.wait_revision(option, 1).await;
        color_of(&bench, option, "red").await;
        source(&bench, "blue", "").await;
        bench.wait_revision(option, 2).await;
        color_of(&bench, option, "blue").await;
        let mark = bench.cluster.audit_mark().unwrap();
        looked_up_again(&bench, mark).await;
        assert_eq!(bench.revisions().await, ["1 superseded", "2 deployed"]);
        bench.delete_web(option).await;
        bench.wait_gone(&bench.webs(), option).await;
        assert_eq!(
            operator
                .log_text()
                .contains("`nonsense` is none of `client`, `server`"),
            option == "nonsense"
        );
        operator.stop().await.unwrap();
    }
}

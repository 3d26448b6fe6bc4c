//! Charts that look things up, and charts that come out differently each time.

use std::time::{Duration, Instant};

use kube::api::DeleteParams;
use serde_json::{Value, json};
use steersman_testkit::cluster::{AuditMark, OperatorCommand, OperatorProcess};

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
  operation: {{ if .Release.IsInstall }}install{{ else }}upgrade{{ end }}
  note: {{ .Values.note | default "none" }}
  {{- if .Values.stamp }}
  stamp: {{ now | quote }}
  random: {{ randAlphaNum 20 }}
  date: {{ now | date "2006" | quote }}
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
    bench.cluster.apply_object(&object).await.unwrap();
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
    let mark = bench.cluster.audit_mark().await.unwrap();
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
    let mark = bench.cluster.audit_mark().await.unwrap();
    source(&bench, "red", "b").await;
    looked_up_again(&bench, mark).await;
    operator.stop().await.unwrap();
    let operator = bench.ready_operator().await;
    let mark = bench.cluster.audit_mark().await.unwrap();
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
async fn a_first_success_after_a_failure_is_compared_as_the_installation_that_it_was() {
    let Some(bench) = bench().await else { return };
    let operator = bench.ready_operator().await;
    source(&bench, "red", "a").await;
    bench
        .apply_web("shop", json!({"password": "constant", "port": 99_999}))
        .await;
    bench.wait_failed("shop", "ReleaseFailed").await;
    bench
        .apply_web("shop", json!({"password": "constant", "port": 80}))
        .await;
    bench.wait_revision("shop", 2).await;
    let copy = bench.config_maps().get("shop-copy").await.unwrap();
    assert_eq!(copy.data["data"]["operation"], "install");
    let mark = bench.cluster.audit_mark().await.unwrap();
    source(&bench, "red", "b").await;
    looked_up_again(&bench, mark).await;
    assert_eq!(bench.revisions().await, ["1 failed", "2 deployed"]);
    operator.stop().await.unwrap();
}

#[tokio::test]
async fn values_that_are_reused_are_those_that_lookups_are_compared_with() {
    let Some(bench) = bench().await else { return };
    let group = &bench.group;
    bench.watches(&format!(
        "- {{group: {group}, version: v1, kind: Web, chart: web, reconcilePeriod: 1s, reuseValues: true}}\n"
    ));
    let operator = bench.ready_operator().await;
    source(&bench, "red", "a").await;
    bench
        .apply_web("shop", json!({"password": "constant", "note": "mine"}))
        .await;
    bench.wait_revision("shop", 1).await;
    bench
        .patch_web("shop", json!({"spec": {"password": null, "note": null}}))
        .await;
    bench.wait_revision("shop", 1).await;
    let mark = bench.cluster.audit_mark().await.unwrap();
    source(&bench, "red", "b").await;
    looked_up_again(&bench, mark).await;
    assert_eq!(bench.revisions().await, ["1 deployed"]);
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
    let mark = bench.cluster.audit_mark().await.unwrap();
    bench.apply_web("shop", json!({"stamp": true})).await;
    bench.wait_revision("shop", 1).await;
    looked_up_again(&bench, mark).await;
    operator.stop().await.unwrap();
    let operator = bench.ready_operator().await;
    let mark = bench.cluster.audit_mark().await.unwrap();
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
        let mark = bench.cluster.audit_mark().await.unwrap();
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

#[tokio::test]
async fn a_chart_with_random_values_is_upgraded_when_what_it_makes_of_its_lookups_changes() {
    let Some(bench) = bench().await else { return };
    source(&bench, "green", "a").await;
    let operator = bench.ready_operator().await;
    bench.apply_web("shop", json!({"stamp": true})).await;
    bench.wait_revision("shop", 1).await;
    for note in ["b", "c"] {
        let mark = bench.cluster.audit_mark().await.unwrap();
        source(&bench, "green", note).await;
        looked_up_again(&bench, mark).await;
    }
    assert_eq!(bench.revisions().await, ["1 deployed"]);
    source(&bench, "red", "d").await;
    bench.wait_revision("shop", 2).await;
    color_of(&bench, "shop", "red").await;
    operator.stop().await.unwrap();
}

/// A kind whose objects can't be read in a version, as the server can't reach what converts them.
async fn unreadable_kind(bench: &Bench, conversion: Value) {
    let group = &bench.group;
    let version = |name: &str, storage: bool| {
        json!({"name": name, "served": true, "storage": storage,
            "schema": {"openAPIV3Schema": {"type": "object", "x-kubernetes-preserve-unknown-fields": true}}})
    };
    let definition = json!({
        "apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
        "metadata": {"name": format!("things.{group}")},
        "spec": {"group": group, "scope": "Namespaced", "conversion": conversion,
            "names": {"kind": "Thing", "listKind": "ThingList", "plural": "things", "singular": "thing"},
            "versions": [version("v1", true), version("v2", false)]},
    });
    bench.cluster.apply_object(&definition).await.unwrap();
}

#[tokio::test]
async fn a_lookup_that_the_server_can_t_answer_is_tried_again_soon() {
    let Some(bench) = Bench::with_kind("lookups").await else {
        return;
    };
    let webhook = json!({"strategy": "Webhook", "webhook": {"conversionReviewVersions": ["v1"],
        "clientConfig": {"url": "https://127.0.0.1:1/convert"}}});
    unreadable_kind(&bench, webhook).await;
    let established = format!("crd/things.{}", bench.group);
    bench
        .cluster
        .kubectl(&["wait", "--for=condition=Established", &established])
        .await
        .unwrap();
    bench.apply_cr("Thing", "things", "one", json!({})).await;
    let template = format!(
        "apiVersion: v1\nkind: ConfigMap\nmetadata: {{name: found}}\ndata:\n  name: {{{{ (lookup \"{}/v2\" \"Thing\" \
         .Release.Namespace \"one\").metadata.name }}}}\n",
        bench.group
    );
    bench.add_template("found.yaml", &template);
    let operator = bench.ready_operator().await;
    bench.apply_web("shop", json!({})).await;
    let web = bench
        .wait("the failure", &bench.webs(), "shop", |web| {
            condition(web, "Reconciling").map(|_| web.clone())
        })
        .await;
    let (_, reason, message) = condition(&web, "Reconciling").unwrap();
    assert_eq!(reason, "ProgressingWithRetry", "{message}");
    assert_eq!(condition(&web, "Stalled"), None);
    let attempt = format!("failed to get things.{} {}/one: ", bench.group, bench.namespace);
    assert!(
        message.contains(&attempt) && message.contains("web/templates/found.yaml"),
        "{message}"
    );
    // The same as nothing but the server gets better.
    unreadable_kind(&bench, json!({"strategy": "None", "webhook": null})).await;
    bench.wait_revision("shop", 1).await;
    operator.stop().await.unwrap();
}

#[tokio::test]
async fn a_lookup_that_is_forbidden_names_what_to_allow() {
    let Some(bench) = Bench::with_kind("lookups").await else {
        return;
    };
    bench.add_template(
        "nodes.yaml",
        "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: nodes}\ndata:\n  n: {{ (lookup \"v1\" \"Node\" \"\" \"\").items | \
         len | quote }}\n",
    );
    let user = bench
        .cluster
        .user(&format!("limited-{}", bench.namespace), &[])
        .unwrap();
    let core = [
        "configmaps",
        "secrets",
        "services",
        "events",
        "pods",
        "namespaces",
    ];
    let groups = [
        "apps",
        "batch",
        "rbac.authorization.k8s.io",
        "coordination.k8s.io",
        "apiextensions.k8s.io",
        "autoscaling",
        bench.group.as_str(),
    ];
    let name = user.name();
    let role = json!({"apiVersion": "v1", "kind": "List", "items": [
        {"apiVersion": "rbac.authorization.k8s.io/v1", "kind": "ClusterRole", "metadata": {"name": name},
            "rules": [{"apiGroups": [""], "resources": core, "verbs": ["*"]}, {"apiGroups": groups, "resources": ["*"], "verbs": ["*"]}]},
        {"apiVersion": "rbac.authorization.k8s.io/v1", "kind": "ClusterRoleBinding", "metadata": {"name": name},
            "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": name},
            "subjects": [{"apiGroup": "rbac.authorization.k8s.io", "kind": "User", "name": name}]}]});
    bench.cluster.apply_object(&role).await.unwrap();
    let operator = OperatorProcess::start(&OperatorCommand {
        binary: std::path::Path::new(env!("CARGO_BIN_EXE_steersman")),
        folder: bench.folder.path(),
        kubeconfig: user.kubeconfig(),
        arguments: &[],
        environment: &[],
        log: &bench.folder.path().join("limited.log"),
    })
    .unwrap();
    operator.wait_until_ready(PATIENCE).await.unwrap();
    bench.apply_web("shop", json!({})).await;
    let (_, _, message) = bench.wait_failed("shop", "ReleaseFailed").await;
    assert!(
        message.contains("failed to list nodes: nodes is forbidden")
            && message.contains("web/templates/nodes.yaml"),
        "{message}"
    );
    let web = bench.webs().get("shop").await.unwrap();
    assert_eq!(condition(&serde_json::to_value(web).unwrap(), "Stalled"), None);
    bench
        .cluster
        .grant_cluster_role(&user, "cluster-admin")
        .await
        .unwrap();
    bench.wait_revision("shop", 1).await;
    operator.stop().await.unwrap();
}

#[tokio::test]
async fn a_lookup_is_no_request_for_something_else() {
    let Some(bench) = Bench::with_kind("lookups").await else {
        return;
    };
    let vault = json!({"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "vault", "namespace": bench.namespace},
        "stringData": {"key": "canary"}});
    bench.cluster.apply_object(&vault).await.unwrap();
    bench.add_template(
        "found.yaml",
        "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: found}\ndata:\n  found: {{ lookup \"v1\" \"ConfigMap\" (printf \
         .Values.namespace .Release.Namespace) .Values.name | toJson | quote }}\n",
    );
    let operator = bench.ready_operator().await;
    let mark = bench.cluster.audit_mark().await.unwrap();
    for (name, namespace, looked_up) in [
        ("namespace", "%s/secrets/vault?", "x"),
        ("name", "%s", "../secrets/vault"),
        ("part", "%s", "kube-root-ca.crt/status"),
    ] {
        let values = json!({"namespace": namespace, "name": looked_up});
        bench.apply_web(name, values).await;
        let (_, _, message) = bench.wait_failed(name, "Stalled").await;
        assert!(message.contains("invalid resource name"), "{message}");
    }
    let audit = bench.cluster.audit_since(mark).await.unwrap();
    let asked = audit
        .by_user(bench.user.name())
        .filter(|request| request.uri.contains("vault") || request.uri.contains("kube-root-ca"));
    assert!(asked.is_empty(), "{asked}");
    operator.stop().await.unwrap();
}

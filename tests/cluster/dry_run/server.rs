//! What the server alone decides is said as it comes out then.

use serde_json::{Value, json};

use super::{asks, changes, wait_said};
use crate::bench::{Bench, condition};
use crate::developer::{Developer, contains_all};
use crate::takeover::helm_as;

/// What a dry run says with this summary, and then nothing is asked for any longer.
async fn said(bench: &Bench, summary: &str) -> Vec<String> {
    bench.patch_web("shop", asks("true".into())).await;
    let said = wait_said(bench, summary).await;
    bench.patch_web("shop", asks(Value::Null)).await;
    changes(&said)
}

fn contains(said: &[String], line: &str) {
    assert!(
        said.iter().any(|said| said.contains(line)),
        "no `{line}` in {said:#?}"
    );
}

impl Bench {
    /// Gives the chart a definition of widgets with these versions, which the server has to have mended, and a template of
    /// one.
    fn write_widgets(&self, chart: &str, policy: &str, versions: &[&str]) {
        let group = &self.group;
        self.watches(&format!(
            "- {{group: {group}, version: v1, kind: Web, chart: web, crds: {policy}}}\n"
        ));
        let versions: Vec<Value> = versions
            .iter()
            .map(|name| {
                json!({"name": name, "served": true, "storage": *name == "v1",
                    "schema": {"openAPIV3Schema": {"type": "object", "x-kubernetes-preserve-unknown-fields": true}}})
            })
            .collect();
        let definition = json!({
            "apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
            "metadata": {"name": format!("widgets.{group}")},
            "spec": {
                "group": group, "scope": "Namespaced", "versions": versions, "unheardOf": true,
                "names": {"kind": "Widget", "plural": "widgets", "singular": "widget"},
            },
            "status": {"storedVersions": ["v0"]},
        });
        let files = [
            (
                "Chart.yaml",
                format!("apiVersion: v2\nname: web\nversion: {chart}\n"),
            ),
            ("crds/widgets.yaml", definition.to_string()),
            (
                "templates/widget.yaml",
                format!(
                    "{{{{- with .Values.widget }}}}\napiVersion: {group}/{{{{ . }}}}\nkind: Widget\n\
                     metadata: {{name: shop}}\n{{{{- end }}}}\n"
                ),
            ),
        ];
        for (file, text) in files {
            std::fs::write(self.folder.path().join("web").join(file), text).unwrap();
        }
    }
}

#[tokio::test]
async fn definitions_and_what_needs_them_are_said_to_come_as_they_do() {
    let Some(bench) = Bench::with_kind("dry_run").await else {
        return;
    };
    let definition = format!("CustomResourceDefinition widgets.{}", bench.group);
    bench.write_widgets("1.0.0", "create", &["v1"]);
    bench.apply_web("shop", json!({"widget": "v1"})).await;
    bench.patch_web("shop", asks("true".into())).await;
    let operator = bench.ready_operator().await;
    let first = said(&bench, "would be installed").await;
    contains(&first, &format!("{definition} would be created"));
    contains(&first, "Widget shop would be created");
    bench.wait_revision("shop", 1).await;
    operator.stop().await.unwrap();

    // One that is there stays, although the chart's has another version.
    bench.write_widgets("1.1.0", "create", &["v1", "v2"]);
    bench.patch_web("shop", asks("true".into())).await;
    bench.patch_web("shop", json!({"spec": {"widget": "v2"}})).await;
    let operator = bench.ready_operator().await;
    let refused = said(&bench, "as the chart has changed").await;
    assert!(
        !refused.iter().any(|said| said.contains(&definition)),
        "{refused:#?}"
    );
    contains(&refused, "Widget shop would be refused");
    let (_, _, message) = bench.wait_failed("shop", "ReleaseFailed").await;
    let reason = "no matches for kind `Widget`";
    contains(&refused, reason);
    assert!(message.contains(reason), "{message}");
    operator.stop().await.unwrap();

    bench.write_widgets("1.2.0", "CreateReplace", &["v1", "v2"]);
    bench.patch_web("shop", asks("true".into())).await;
    let operator = bench.ready_operator().await;
    let replaced = said(&bench, "as the chart has changed").await;
    contains(
        &replaced,
        &format!(r#"{definition} would be changed ["/spec/versions"]"#),
    );
    contains(&replaced, r#"Widget shop would be changed ["/apiVersion"]"#);
    bench.wait_revision("shop", 2).await;
    let widgets = bench.api(&bench.group, "v2", "Widget", "widgets");
    widgets.get("shop").await.unwrap();
    operator.stop().await.unwrap();
}

#[tokio::test]
async fn fields_of_others_and_objects_that_are_there_twice_are_said_to_be_refused() {
    let Some(bench) = Bench::with_kind("dry_run").await else {
        return;
    };
    let group = &bench.group;
    bench.watches(&format!(
        "- {{group: {group}, version: v1, kind: Web, chart: web, conflicts: fail}}\n"
    ));
    bench.add_template(
        "twice.yaml",
        "{{- if .Values.twice }}\n{{- range list 1 2 }}\n---\napiVersion: v1\nkind: ConfigMap\nmetadata: {name: twice}\n\
         {{- end }}\n{{- end }}\n",
    );
    let operator = bench.ready_operator().await;
    bench.apply_web("shop", json!({"message": "ours"})).await;
    bench.wait_revision("shop", 1).await;

    bench.patch_web("shop", asks("true".into())).await;
    let patch = r#"{"data": {"message": "theirs"}}"#;
    let arguments = ["patch", "configmap", "shop-config", "-n", &bench.namespace];
    let manager = ["--field-manager=theirs", "--type=merge", "-p", patch];
    let arguments = [arguments.as_slice(), &manager].concat();
    bench.cluster.kubectl(&arguments).await.unwrap();
    bench.patch_web("shop", json!({"spec": {"message": "new"}})).await;
    let conflict = said(&bench, "would be upgraded to revision 2").await;
    contains(&conflict, "ConfigMap shop-config would be refused");
    let reason = r#"data.message is managed by \"theirs\""#;
    contains(&conflict, reason);
    let (_, _, message) = bench.wait_failed("shop", "ReleaseFailed").await;
    assert!(message.contains(&reason.replace('\\', "")), "{message}");

    bench.patch_web("shop", asks("true".into())).await;
    bench
        .patch_web("shop", json!({"spec": {"message": "theirs", "twice": true}}))
        .await;
    let twice = said(&bench, "would be upgraded to revision 3").await;
    contains(&twice, "ConfigMap twice would be refused");
    let named = format!("ConfigMap {}/twice", bench.namespace);
    let (_, _, message) = bench
        .wait("the duplicate", &bench.webs(), "shop", |web| {
            condition(web, "ReleaseFailed").filter(|(.., message)| message.contains(&named))
        })
        .await;
    let told = twice
        .iter()
        .find(|said| said.contains("ConfigMap twice would be refused"))
        .unwrap();
    let told: String = serde_json::from_str(&told[told.find('"').unwrap()..]).unwrap();
    assert!(message.contains(&told), "{message}\n{told}");
    assert_eq!(bench.revisions().await, ["1 deployed", "2 failed"]);
    operator.stop().await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn what_would_be_created_again_is_shown_as_the_server_would_make_it() {
    let Some(bench) = Bench::with_kind("dry_run").await else {
        return;
    };
    let app = "app: {{ .Values.app | default .Release.Name }}";
    bench.edit("workload.yaml", "app: {{ .Release.Name }}", app);
    bench.edit(
        "workload.yaml",
        "    spec:\n      containers:",
        "    spec:\n      unheardOf: true\n      containers:",
    );
    let developer = Developer::of(&bench).await;
    let operator = bench.ready_operator().await;
    bench.apply_web("shop", json!({"password": "constant"})).await;
    bench.wait_revision("shop", 1).await;
    let force = "helm.sdk.operatorframework.io/upgrade-force";
    bench
        .patch_web("shop", json!({"metadata": {"annotations": {force: "True"}}}))
        .await;
    operator.stop().await.unwrap();

    bench.patch_web("shop", json!({"spec": {"app": "other"}})).await;
    let said = developer.check(&["diff", "web", "shop"], 1);
    contains_all(
        &said,
        &[
            "recreated  Deployment NS/shop",
            "-      app: shop\n+      app: other\n",
        ],
    );
    for same in ["unheardOf", "restartPolicy", "steersman-"] {
        let changed = said
            .lines()
            .filter(|line| line.starts_with(['+', '-']) && line.contains(same));
        assert_eq!(changed.count(), 0, "{same} in {said}");
    }
    let operator = bench.ready_operator().await;
    bench.wait_revision("shop", 2).await;
    let events = bench.events().await;
    assert!(events.contains("ObjectRecreated"), "{events}");
    operator.stop().await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn what_goes_with_a_resource_is_shown_while_it_is_being_deleted() {
    let Some(bench) = Bench::with_kind("dry_run").await else {
        return;
    };
    bench.add_template(
        "last.yaml",
        "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: last\n  annotations: {helm.sh/hook: pre-delete}\n---\n\
         apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: kept\n  annotations: {helm.sh/resource-policy: keep}\n",
    );
    let developer = Developer::of(&bench).await;
    let operator = bench.ready_operator().await;
    bench.apply_web("shop", json!({})).await;
    bench.wait_revision("shop", 1).await;
    bench.patch_web("shop", asks("true".into())).await;
    bench.delete_web("shop").await;
    let said = wait_said(&bench, "is being deleted").await;
    let gone = changes(&said);
    assert_eq!(said["hooks"], json!(["pre-delete ConfigMap last"]));
    contains(&gone, "Deployment shop would be deleted");
    contains(&gone, "ConfigMap shop-config would be deleted");
    assert!(!gone.iter().any(|said| said.contains("kept")), "{gone:#?}");
    let shown = developer.check(&["diff", "web", "shop"], 1);
    contains_all(
        &shown,
        &[
            "is being deleted",
            "pre-delete ConfigMap last",
            "deleted  Deployment NS/shop",
            "kept     ConfigMap NS/kept",
        ],
    );
    bench.patch_web("shop", asks(Value::Null)).await;
    bench.wait_gone(&bench.webs(), "shop").await;
    bench.config_maps().get("kept").await.unwrap();
    operator.stop().await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn hooks_alone_are_a_difference_and_what_is_secret_in_them_is_masked() {
    let Some(bench) = Bench::with_kind("dry_run").await else {
        return;
    };
    bench.add_template(
        "hook.yaml",
        "{{- with .Values.hook }}\napiVersion: v1\nkind: Secret\nmetadata:\n  name: hook\n  \
         annotations: {helm.sh/hook: pre-upgrade}\nstringData: {token: {{ $.Values.label }}}\n{{- end }}\n",
    );
    bench.edit(
        "configmap.yaml",
        "  revision: {{ .Release.Revision | quote }}\n",
        "",
    );
    bench.add_template(
        "label.yaml",
        "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: label}\ndata: {label: {{ .Values.label }}}\n",
    );
    let developer = Developer::of(&bench).await;
    let operator = bench.ready_operator().await;
    let values = json!({"password": "constant", "label": "canary-of-hook"});
    bench.apply_web("shop", values).await;
    bench.wait_revision("shop", 1).await;
    let values = json!({"password": "constant", "label": "canary-of-hook", "hook": true});
    developer.write_resource(&values);
    let said = developer.check(&["diff", "-f", "shop.yaml"], 1);
    contains_all(
        &said,
        &["pre-upgrade Secret hook", "0 created, 0 changed, 0 deleted"],
    );
    let values = json!({"password": "constant", "label": "canary-of-later", "hook": true});
    developer.write_resource(&values);
    let said = developer.check(&["diff", "-f", "shop.yaml"], 1);
    contains_all(&said, &["ConfigMap NS/label"]);
    assert!(!said.contains("canary-of-later"), "{said}");
    operator.stop().await.unwrap();
}

#[tokio::test]
async fn what_the_server_would_not_take_is_not_said_to_be_created() {
    let Some(bench) = Bench::with_kind("dry_run").await else {
        return;
    };
    bench.add_template(
        "elsewhere.yaml",
        "{{- with .Values.nowhere }}\napiVersion: v1\nkind: ConfigMap\nmetadata: {name: lost, namespace: {{ . }}}\n{{- end }}\n\
         {{- with .Values.brought }}\n---\napiVersion: v1\nkind: Namespace\nmetadata: {name: {{ . }}}\n---\n\
         apiVersion: v1\nkind: ConfigMap\nmetadata: {name: brought, namespace: {{ . }}}\n{{- end }}\n",
    );
    let operator = bench.ready_operator().await;
    bench.apply_web("shop", json!({})).await;
    bench.wait_revision("shop", 1).await;
    bench.patch_web("shop", asks("true".into())).await;
    let names = [
        format!("{}-none", bench.namespace),
        format!("{}-new", bench.namespace),
    ];
    bench
        .patch_web(
            "shop",
            json!({"spec": {"nowhere": names[0], "brought": names[1]}}),
        )
        .await;
    let namespaces = changes(&wait_said(&bench, "would be upgraded to revision 2").await);
    contains(&namespaces, "ConfigMap lost would be refused");
    contains(&namespaces, "ConfigMap brought would be created");
    operator.stop().await.unwrap();

    // A definition without a schema is none, so nothing of its kind can be made.
    bench.write_widgets("1.1.0", "create", &["v1"]);
    let file = bench.folder.path().join("web/crds/widgets.yaml");
    let broken = std::fs::read_to_string(&file)
        .unwrap()
        .replace("openAPIV3Schema", "openAPIV4Schema");
    std::fs::write(&file, broken).unwrap();
    bench
        .patch_web(
            "shop",
            json!({"spec": {"nowhere": null, "brought": null, "widget": "v1"}}),
        )
        .await;
    let operator = bench.ready_operator().await;
    let broken = said(&bench, "as the chart has changed").await;
    contains(
        &broken,
        &format!(
            "CustomResourceDefinition widgets.{} would be refused",
            bench.group
        ),
    );
    contains(&broken, "Widget shop would be refused");
    bench.wait_failed("shop", "ReleaseFailed").await;
    operator.stop().await.unwrap();
}

#[tokio::test]
async fn fields_of_a_third_party_are_a_conflict_of_a_release_that_is_taken_over() {
    let Some(bench) = Bench::with_kind("dry_run").await else {
        return;
    };
    let group = &bench.group;
    bench.watches(&format!(
        "- {{group: {group}, version: v1, kind: Web, chart: web, conflicts: fail}}\n"
    ));
    let values = ["install", "--set", "password=constant,message=helms"];
    helm_as(&bench, "helm-operator", &values).await;
    let theirs = r#"{"data": {"revision": "theirs"}}"#;
    let arguments = ["patch", "configmap", "shop-config", "-n", &bench.namespace];
    let manager = ["--field-manager=theirs", "--type=merge", "-p", theirs];
    let arguments = [arguments.as_slice(), &manager].concat();
    bench.cluster.kubectl(&arguments).await.unwrap();
    bench
        .apply_web("shop", json!({"password": "constant", "message": "ours"}))
        .await;
    bench.patch_web("shop", asks("true".into())).await;
    let operator = bench.ready_operator().await;
    let refused = said(&bench, "would be upgraded to revision 2").await;
    contains(&refused, r#"data.revision is managed by \"theirs\""#);
    let (_, _, message) = bench.wait_failed("shop", "ReleaseFailed").await;
    assert!(
        message.contains(r#"data.revision is managed by "theirs""#),
        "{message}"
    );
    operator.stop().await.unwrap();
}

//! `steersman migrate --check`, beside what the switch really does.

use std::fs;

use kube::api::{Patch, PatchParams, PostParams};
use serde_json::{Value, json};

use crate::bench::Bench;
use crate::developer::{Developer, contains_all};
use crate::takeover::{VARIABLE, add_variable, helm_as};

const CHECK: [&str; 2] = ["migrate", "--check"];

#[tokio::test(flavor = "multi_thread")]
async fn the_check_tells_what_the_switch_changes() {
    let Some(bench) = Bench::with_kind("the_check_tells_what_the_switch_changes").await else {
        return;
    };
    let developer = Developer::of(&bench).await;
    let values = [
        "install",
        "--server-side=false",
        "--set",
        "password=canary,message=hi",
    ];
    helm_as(&bench, "helm-operator", &values).await;
    bench
        .apply_web("shop", json!({"password": "canary", "message": "hi"}))
        .await;
    let mark = bench.cluster.audit_mark().await.unwrap();

    let said = developer.check(&CHECK, 0);
    contains_all(
        &said,
        &[
            "./watches.yaml\n  same     1 entries\n",
            "Web NS/shop\n  same     revision 1 would be taken over as it is\n",
            "fields are owned by helm-operator; those of the former operator become ours",
            "0 problems, 0 differences,",
        ],
    );
    assert!(!said.contains("canary"), "{said}");

    // An entry, a resource and an object that are not as they should be.
    let file = bench.folder.path().join("watches.yaml");
    let good = fs::read_to_string(&file).unwrap();
    fs::write(&file, format!("{good}  reconcilePeriods: 1m\n")).unwrap();
    let web = Patch::Merge(
        json!({"metadata": {"annotations": {"helm.sdk.operatorframework.io/misspelt": "true"}},
        "spec": {"message": "bye", "password": "canary-two"}}),
    );
    let web = bench
        .webs()
        .patch("shop", &PatchParams::default(), &web)
        .await
        .unwrap();
    let reference = json!({"apiVersion": format!("{}/v1", bench.group), "kind": "Web", "name": "shop", "uid": web.metadata.uid});
    let stray = json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "left", "ownerReferences": [reference],
        "labels": {"helm.sdk.operatorframework.io/chart": "web"}}});
    let stray = serde_json::from_value(stray).unwrap();
    bench
        .config_maps()
        .create(&PostParams::default(), &stray)
        .await
        .unwrap();
    let said = developer.check(&CHECK, 1);
    contains_all(
        &said,
        &[
            "differs  line 5: [0].reconcilePeriods:",
            "differs  annotation helm.sdk.operatorframework.io/misspelt has no effect",
            "differs  would be upgraded to revision 2: chart or values are not those of the last one",
            "differs  ConfigMap NS/shop-config would change: /data/message, /data/revision\n",
            "differs  Secret NS/shop-secret would change: /data/password\n",
            "differs  ConfigMap NS/left belongs to the resource, and no revision names it",
        ],
    );
    assert!(!said.contains("canary") && !said.contains("Y2FuYXJ5"), "{said}");
    assert!(!developer.has_written(mark).await);

    // Back, and over: as it was told.
    fs::write(&file, good).unwrap();
    bench
        .apply_web("shop", json!({"password": "canary", "message": "hi"}))
        .await;
    developer.check(&CHECK, 1);
    let operator = bench.ready_operator().await;
    bench.wait_revision("shop", 1).await;
    assert_eq!(bench.revisions().await, ["1 deployed"]);
    operator.stop().await.unwrap();
    let said = developer.check(&["migrate", "--check", "--", "--leader-elect"], 2);
    contains_all(
        &said,
        &[
            "flags\n  problem  --leader-elect: needs --leader-election-id",
            "revision 1 is ours already",
        ],
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn what_would_not_work_is_a_problem() {
    let Some(bench) = Bench::with_kind("what_would_not_work_is_a_problem").await else {
        return;
    };
    let developer = Developer::of(&bench).await;
    helm_as(&bench, "helm-operator", &["install", "--server-side=false"]).await;
    bench.apply_web("shop", json!({})).await;
    let theirs = json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "second-config", "namespace": bench.namespace}});
    bench.cluster.apply_object(&theirs).await.unwrap();
    bench.apply_web("second", json!({})).await;
    bench.apply_web("third", json!({"broken": true})).await;
    let broken: Patch<Value> = Patch::Merge(json!({"data": {"release": "bm8="}}));
    bench
        .secrets()
        .patch("sh.helm.release.v1.shop.v1", &PatchParams::default(), &broken)
        .await
        .unwrap();
    let said = developer.check(&CHECK, 2);
    contains_all(
        &said,
        &[
            "Web NS/shop\n  problem  Secret sh.helm.release.v1.shop.v1 is not a release",
            "problem  ConfigMap NS/second-config would be refused",
            "Web NS/third\n  problem  ",
            "the chart was told to fail",
        ],
    );

    fs::write(bench.folder.path().join("watches.yaml"), "- kind: Web\n").unwrap();
    let said = developer.check(&CHECK, 2);
    contains_all(&said, &["problem  ./watches.yaml:1"]);
}

/// What a chart no longer renders goes with the switch, although the former operator owns it, and not what the server
/// had set beside that.
async fn what_is_dropped_is_foreseen(arguments: &[&str]) {
    let Some(bench) = Bench::with_kind("what_is_dropped_is_foreseen").await else {
        return;
    };
    let developer = Developer::of(&bench).await;
    add_variable(&bench);
    bench.edit(
        "configmap.yaml",
        "data:\n  message",
        "data:\n  shared: \"1\"\n  message",
    );
    let values = ["--set", "password=canary"];
    helm_as(
        &bench,
        "helm-operator",
        &[&["install"], arguments, &values].concat(),
    )
    .await;
    // Somebody else has a say in one of the values that go.
    let own = json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "shop-config"}, "data": {"shared": "1"}});
    let patch = PatchParams::apply("somebody").force();
    let maps = bench.config_maps();
    maps.patch("shop-config", &patch, &Patch::Apply(&own))
        .await
        .unwrap();
    bench.edit("workload.yaml", VARIABLE, "");
    bench.edit("configmap.yaml", "  labels:\n    tier: config\n", "");
    bench.edit(
        "configmap.yaml",
        "  revision: {{ .Release.Revision | quote }}\n",
        "",
    );
    bench.edit("configmap.yaml", "  shared: \"1\"\n", "");
    bench.apply_web("shop", json!({"password": "canary"})).await;
    let mark = bench.cluster.audit_mark().await.unwrap();

    let said = developer.check(&CHECK, 1);
    let differences: Vec<&str> = said
        .lines()
        .filter_map(|line| line.trim().strip_prefix("differs  "))
        .collect();
    let lost = "would lose what the former operator has written and the chart does not render:";
    assert_eq!(
        differences,
        [
            "would be upgraded to revision 2: chart or values are not those of the last one",
            "ConfigMap NS/shop-config would change: /data/revision, /metadata/labels",
            &format!("ConfigMap NS/shop-config {lost} /data/revision, /metadata/labels/tier"),
            "Deployment NS/shop would change: /spec/template/spec/containers/0/env",
            &format!("Deployment NS/shop {lost} /spec/template/spec/containers/0/env"),
        ],
        "{said}"
    );
    let said = developer.check(&["diff", &format!("webs.{}/shop", bench.group)], 1);
    contains_all(
        &said,
        &[
            "changed  ConfigMap NS/shop-config\n  the former operator's, no longer rendered: /data/revision, ",
            "\n-  revision: \"1\"\n",
            "\n-    tier: config\n",
            "\n-      - env:\n-        - name: A\n-          value: b\n",
        ],
    );
    assert!(!developer.has_written(mark).await);

    let operator = bench.ready_operator().await;
    bench.wait_revision("shop", 2).await;
    operator.stop().await.unwrap();
    let map = maps.get("shop-config").await.unwrap();
    assert_eq!(map.data["data"], json!({"message": "hello", "shared": "1"}));
    assert_eq!(map.metadata.labels.unwrap().get("tier"), None);
    let now = bench.deployments().get("shop").await.unwrap();
    assert_eq!(now.data.pointer("/spec/template/spec/containers/0/env"), None);
    developer.check(&["diff", &format!("webs.{}/shop", bench.group)], 0);
}

#[tokio::test(flavor = "multi_thread")]
async fn what_the_former_operator_has_written_and_the_chart_drops_is_foreseen() {
    what_is_dropped_is_foreseen(&["--server-side=false"]).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn what_helm_has_applied_and_the_chart_drops_is_foreseen() {
    what_is_dropped_is_foreseen(&[]).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn what_an_entry_waits_for_and_takes_from_elsewhere_is_looked_at() {
    let Some(bench) = Bench::with_kind("what_an_entry_waits_for").await else {
        return;
    };
    let developer = Developer::of(&bench).await;
    helm_as(&bench, "helm-operator", &["install", "--server-side=false"]).await;
    bench.apply_web("shop", json!({})).await;
    let entry = fs::read_to_string(bench.folder.path().join("watches.yaml")).unwrap();
    let stages = "  wait: true\n  stages:\n  - {name: config, objects: [{kind: ConfigMap}]}\n";
    bench.watches(&format!("{entry}{stages}"));
    let said = developer.check(&CHECK, 0);
    contains_all(&said, &["same     revision 1 would be taken over as it is"]);

    let source = "  valuesFrom: [{kind: Secret, name: message, valuesKey: message, targetPath: message}]\n";
    let needs = "  dependsOn: [{apiVersion: v1, kind: ConfigMap, name: needed}]\n";
    bench.watches(&format!("{entry}{stages}{source}{needs}"));
    let said = developer.check(&CHECK, 2);
    contains_all(
        &said,
        &["problem  values from key \"message\" of Secret message in namespace NS: it is not there"],
    );
    let secret = json!({"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "message"}, "stringData": {"message": "canary"}});
    bench.create(&bench.secrets(), secret).await;
    let said = developer.check(&CHECK, 1);
    let waits = "waits for ConfigMap NS/needed: it is not there";
    let upgraded = "differs  would be upgraded to revision 2: chart or values are not those of the last one";
    contains_all(&said, &[upgraded, &format!("differs  {waits}")]);
    let shown = developer.check(&["diff", &format!("webs.{}/shop", bench.group)], 1);
    contains_all(
        &shown,
        &[
            waits,
            "stage    config: 1 object, 300s",
            "-  message: hello\n-  revision: \"1\"\n+  message: ********\n",
        ],
    );
    let needed = json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "needed"}});
    bench.create(&bench.config_maps(), needed).await;
    let said = [said, developer.check(&CHECK, 1)];
    assert!(
        said[1].contains(upgraded) && !said[1].contains("waits for"),
        "{}",
        said[1]
    );
    assert!(!said.concat().contains("canary"), "{said:?}");
}

//! `steersman diff`, beside what really happens.

use std::fs;

use kube::api::{Patch, PatchParams};
use serde_json::json;

use crate::bench::Bench;
use crate::developer::{Developer, contains_all};

#[tokio::test(flavor = "multi_thread")]
async fn a_diff_tells_what_will_happen_and_writes_nothing() {
    let Some(bench) = Bench::with_kind("a_diff_tells_what_will_happen_and_writes_nothing").await else {
        return;
    };
    let developer = Developer::of(&bench).await;
    let mark = bench.cluster.audit_mark().await.unwrap();

    developer.write_resource(&json!({"password": "canary-one"}));
    let said = developer.check(&["diff", "-f", "shop.yaml"], 1);
    contains_all(
        &said,
        &[
            "Web NS/shop: would be installed",
            "created  ConfigMap NS/shop-config",
            "created  Deployment NS/shop\n",
            "+  message: hello",
            "+  password: '***'",
            " created, 0 changed, 0 deleted, 0 unchanged",
        ],
    );
    assert!(!said.contains("canary"), "{said}");

    let operator = bench.ready_operator().await;
    bench.apply_web("shop", json!({"password": "canary-one"})).await;
    bench.wait_revision("shop", 1).await;
    let said = developer.check(&["diff", "-f", "shop.yaml"], 0);
    contains_all(
        &said,
        &[
            "revision 1 would stay",
            "0 created, 0 changed, 0 deleted, 5 unchanged",
        ],
    );

    developer.write_resource(&json!({"password": "canary-two", "message": "bye", "extra": true}));
    let said = developer.check(&["diff", "-f", "shop.yaml"], 1);
    contains_all(
        &said,
        &[
            "would be upgraded to revision 2, as the values have changed",
            "-  message: hello\n",
            "+  message: bye\n",
            "created  ConfigMap NS/shop-extra",
            "-  password: '*** (before)'\n+  password: '*** (after)'\n",
            "1 created, 2 changed, 0 deleted, 3 unchanged",
        ],
    );
    assert!(!said.contains("canary") && !said.contains("Y2FuYXJ5"), "{said}");

    bench
        .apply_web(
            "shop",
            json!({"password": "canary-two", "message": "bye", "extra": true}),
        )
        .await;
    bench.wait_revision("shop", 2).await;
    developer
        .write_resource(&json!({"password": "canary-two", "message": "bye", "extra": false, "hooks": true}));
    let said = developer.check(&["diff", "-f", "shop.yaml"], 1);
    contains_all(
        &said,
        &[
            "deleted  ConfigMap NS/shop-extra",
            "hook     pre-upgrade ConfigMap shop-before",
        ],
    );

    // What others did while no operator ran, and a chart that was edited.
    operator.stop().await.unwrap();
    let edit = Patch::Merge(json!({"data": {"message": "theirs"}}));
    bench
        .config_maps()
        .patch("shop-config", &PatchParams::default(), &edit)
        .await
        .unwrap();
    let said = developer.check(&["diff", "web", "shop"], 1);
    contains_all(
        &said,
        &["revision 2 would stay", "-  message: theirs\n+  message: bye\n"],
    );
    let chart = bench.folder.path().join("web/templates/configmap.yaml");
    let edited = fs::read_to_string(&chart)
        .unwrap()
        .replace("  message:", "  added: \"1\"\n  message:");
    fs::write(&chart, edited).unwrap();
    let said = developer.check(&["diff", &format!("webs.{}/shop", bench.group)], 1);
    contains_all(
        &said,
        &["revision 3, as the chart has changed", "+  added: \"1\"\n"],
    );

    assert!(!developer.has_written(mark).await);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_diff_that_cannot_be_told_ends_with_two() {
    let Some(bench) = Bench::with_kind("a_diff_that_cannot_be_told_ends_with_two").await else {
        return;
    };
    let developer = Developer::of(&bench).await;
    developer.write_resource(&json!({"broken": true}));
    let said = developer.run(&["diff", "-f", "shop.yaml"]);
    assert_eq!(said.code, Some(2), "{}", said.stderr);
    contains_all(&said.stderr, &["configmap.yaml:", "the chart was told to fail"]);

    let theirs = json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "shop-config", "namespace": bench.namespace}});
    bench.cluster.apply_object(&theirs).await.unwrap();
    developer.write_resource(&json!({}));
    let said = developer.run(&["diff", "-f", "shop.yaml"]);
    assert_eq!(said.code, Some(2), "{}", said.stderr);
    contains_all(
        &said.stdout,
        &["refused  ConfigMap", "exists and cannot be imported", "1 refused"],
    );

    let watches = bench.folder.path().join("watches.yaml");
    let all = fs::read_to_string(&watches).unwrap();
    fs::write(
        &watches,
        format!("{all}  selector: {{matchLabels: {{team: a}}}}\n"),
    )
    .unwrap();
    let said = developer.check(&["diff", "-f", "shop.yaml"], 0);
    assert_eq!(
        said,
        "Web NS/shop: is not selected by its watch, so the operator leaves it alone\n\n"
    );
    fs::write(&watches, all).unwrap();

    let said = developer.run(&["diff", "web/none"]);
    assert_eq!(said.code, Some(2), "{}", said.stderr);
    contains_all(&said.stderr, &["error: there is no Web `none` in namespace"]);
    let said = developer.run(&["diff", "configmap/shop-config"]);
    assert_eq!(said.code, Some(2), "{}", said.stderr);
    contains_all(
        &said.stderr,
        &[
            "ConfigMap in v1 is not watched by this watches.yaml",
            "hint: it has Web in",
        ],
    );
}

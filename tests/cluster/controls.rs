//! What the annotations of a custom resource ask for, is done.

use kube::api::{DeleteParams, Patch, PatchParams};
use serde_json::{Value, json};

use crate::bench::{Bench, condition};

async fn annotate(bench: &Bench, name: &str, annotation: &str, value: Value) {
    let patch = json!({ "metadata": { "annotations": { (annotation): value } } });
    bench
        .webs()
        .patch(name, &PatchParams::default(), &Patch::Merge(patch))
        .await
        .unwrap();
}

fn message_of(map: &Value) -> Option<&str> {
    map.pointer("/data/message").and_then(Value::as_str)
}

#[tokio::test]
async fn a_paused_resource_is_left_alone_until_the_pause_is_over() {
    let Some(bench) = Bench::with_kind("controls").await else {
        return;
    };
    let operator = bench.ready_operator().await;
    bench.apply_web("shop", json!({"message": "hi"})).await;
    bench.wait_revision("shop", 1).await;
    // It is written in the background.
    bench.wait_event("ReleaseInstalled").await;
    annotate(&bench, "shop", "steersman.dev/pause", "true".into()).await;
    bench
        .wait("the pause", &bench.webs(), "shop", |web| {
            condition(web, "Paused").filter(|(status, ..)| status == "True")
        })
        .await;
    // The log has the write that says so a moment after the condition can be seen.
    bench.cluster.audit().await.unwrap();
    let mark = bench.cluster.audit_mark().await.unwrap();
    bench.apply_web("shop", json!({"message": "later"})).await;
    bench
        .config_maps()
        .delete("shop-config", &DeleteParams::default())
        .await
        .unwrap();
    // Another resource shows that the operator has had the time.
    bench.apply_web("other", json!({})).await;
    bench.wait_revision("other", 1).await;
    assert!(
        bench
            .config_maps()
            .get_opt("shop-config")
            .await
            .unwrap()
            .is_none(),
        "healed in spite of the pause"
    );
    let audit = bench.cluster.audit_since(mark).await.unwrap();
    let written = audit.by_user(bench.user.name()).writes();
    let touched = written.filter(|request| request.name.contains("shop"));
    assert!(touched.is_empty(), "written to in spite of the pause: {touched}");
    let web = serde_json::to_value(bench.webs().get("shop").await.unwrap()).unwrap();
    assert_eq!(web["status"]["observedGeneration"], 1);
    assert_eq!(condition(&web, "Deployed").unwrap().0, "True");

    annotate(&bench, "shop", "steersman.dev/pause", Value::Null).await;
    let web = bench.wait_revision("shop", 2).await;
    assert_eq!(condition(&web, "Paused"), None);
    let map = serde_json::to_value(bench.config_maps().get("shop-config").await.unwrap()).unwrap();
    assert_eq!(message_of(&map), Some("later"));
    operator.stop().await.unwrap();
}

#[tokio::test]
async fn a_resource_can_go_without_its_objects_and_another_one_takes_them_over() {
    let Some(bench) = Bench::with_kind("controls").await else {
        return;
    };
    let operator = bench.ready_operator().await;
    let orphan = DeleteParams {
        propagation_policy: Some(kube::api::PropagationPolicy::Orphan),
        ..DeleteParams::default()
    };
    for (turn, parameters) in [(1, DeleteParams::default()), (2, orphan)] {
        bench.apply_web("shop", json!({"message": "hi"})).await;
        bench.wait_revision("shop", 1).await;
        let before = bench.config_maps().get("shop-config").await.unwrap();
        if turn == 1 {
            let policy = "steersman.dev/deletion-policy";
            annotate(&bench, "shop", policy, "orphans".into()).await;
            bench.webs().delete("shop", &parameters).await.unwrap();
            let refused = bench
                .wait("the refusal", &bench.webs(), "shop", |web| {
                    condition(web, "ReleaseFailed").map(|(_, _, message)| message)
                })
                .await;
            assert!(refused.contains("steersman.dev/deletion-policy"), "{refused}");
            annotate(&bench, "shop", policy, "orphan".into()).await;
        } else {
            bench.webs().delete("shop", &parameters).await.unwrap();
        }
        bench.wait_gone(&bench.webs(), "shop").await;
        let after = bench.config_maps().get("shop-config").await.unwrap();
        assert_eq!(after.metadata.uid, before.metadata.uid);
        assert_eq!(after.metadata.deletion_timestamp, None);
        assert_eq!(after.metadata.owner_references.unwrap_or_default(), []);
        let labels = after.metadata.labels.unwrap();
        assert!(!labels.contains_key("steersman.dev/owner-uid"), "{labels:?}");
        assert_eq!(bench.revisions().await, ["1 deployed"]);
    }
    bench.apply_web("shop", json!({"message": "hi"})).await;
    bench.wait_revision("shop", 1).await;
    bench.delete_web("shop").await;
    bench.wait_gone(&bench.webs(), "shop").await;
    bench.wait_gone(&bench.config_maps(), "shop-config").await;
    assert_eq!(bench.revisions().await, Vec::<String>::new());
    operator.stop().await.unwrap();
}

#[tokio::test]
async fn hooks_can_be_left_out_and_the_history_says_what_it_is_told() {
    let Some(bench) = Bench::with_kind("controls").await else {
        return;
    };
    let operator = bench.ready_operator().await;
    let object = json!({
        "apiVersion": format!("{}/v1", bench.group), "kind": "Web", "spec": {"hooks": true},
        "metadata": {"name": "shop", "annotations": {
            "helm.sdk.operatorframework.io/install-disable-hooks": "true",
            "helm.sdk.operatorframework.io/uninstall-disable-hooks": "true",
            "helm.sdk.operatorframework.io/install-description": "asked for by a person",
            "steersman.dev/reconcile-at": "first",
        }},
    });
    let parameters = PatchParams::apply("test");
    bench
        .webs()
        .patch("shop", &parameters, &Patch::Apply(&object))
        .await
        .unwrap();
    let web = bench.wait_revision("shop", 1).await;
    assert_eq!(web["status"]["lastHandledReconcileAt"], "first");
    let jobs = bench.api("batch", "v1", "Job", "jobs");
    assert!(jobs.get_opt("shop-job").await.unwrap().is_none());
    let history = bench
        .cluster
        .helm(&["history", "shop", "--namespace", &bench.namespace])
        .await
        .unwrap();
    assert!(history.contains("asked for by a person"), "{history}");

    annotate(&bench, "shop", "steersman.dev/reconcile-at", "second".into()).await;
    bench
        .wait("the wish", &bench.webs(), "shop", |web| {
            (web["status"]["lastHandledReconcileAt"] == "second").then_some(())
        })
        .await;
    bench.delete_web("shop").await;
    bench.wait_gone(&bench.webs(), "shop").await;
    operator.stop().await.unwrap();
}

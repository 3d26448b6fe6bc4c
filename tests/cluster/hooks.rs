//! Hooks run at their moment, and what they wait for is waited for.

use k8s_openapi::api::core::v1::ConfigMap;
use kube::api::{Api, Patch, PatchParams};
use serde_json::{Value, json};

use crate::bench::{Bench, condition};
use crate::node::ended;

/// Does what the job's controller would do, were there nodes.
pub(crate) async fn finish_job(bench: &Bench, condition: &str) {
    finish_job_of(bench, "shop", condition).await;
}

/// The same for the Job of another resource than `shop`.
pub(crate) async fn finish_job_of(bench: &Bench, name: &str, condition: &str) {
    let name = format!("{name}-job");
    let name = name.as_str();
    let jobs = bench.api("batch", "v1", "Job", "jobs");
    let start = bench
        .wait("the job", &jobs, name, |job| {
            job.pointer("/status/startTime").cloned()
        })
        .await;
    let patch = Patch::Merge(json!({ "status": ended(&start, condition) }));
    jobs.patch_status(name, &PatchParams::default(), &patch)
        .await
        .unwrap();
}

#[tokio::test]
async fn a_release_waits_for_its_hooks_before_and_after() {
    let Some(bench) = Bench::with_kind("hooks").await else {
        return;
    };
    let operator = bench.ready_operator().await;
    bench.apply_web("shop", json!({"hooks": true})).await;
    let jobs = bench.api("batch", "v1", "Job", "jobs");
    bench
        .wait("the job", &jobs, "shop-job", |job| job.is_object().then_some(()))
        .await;
    assert_eq!(bench.revisions().await, ["1 pending-install"]);
    assert!(
        bench
            .config_maps()
            .get_opt("shop-config")
            .await
            .unwrap()
            .is_none()
    );
    finish_job(&bench, "Complete").await;
    bench.wait_revision("shop", 1).await;
    assert!(
        bench
            .config_maps()
            .get_opt("shop-before")
            .await
            .unwrap()
            .is_none(),
        "deleted when it succeeded"
    );
    let first = jobs.get("shop-job").await.unwrap().metadata.uid;
    let elsewhere: Api<ConfigMap> = Api::namespaced(bench.client.clone(), "kube-public");
    let left = format!("{}-shop", bench.namespace);
    assert!(elsewhere.get_opt(&left).await.unwrap().is_some());

    bench.delete_web("shop").await;
    bench
        .wait("another job", &jobs, "shop-job", |job| {
            let uid = job.pointer("/metadata/uid").and_then(Value::as_str)?;
            (Some(uid) != first.as_deref()).then_some(())
        })
        .await;
    assert!(
        bench
            .config_maps()
            .get_opt("shop-config")
            .await
            .unwrap()
            .is_some(),
        "deleted before its hook is done"
    );
    finish_job(&bench, "Complete").await;
    bench.wait_gone(&bench.webs(), "shop").await;
    assert!(
        bench
            .config_maps()
            .get_opt("shop-config")
            .await
            .unwrap()
            .is_none()
    );
    assert!(
        elsewhere.get_opt(&left).await.unwrap().is_none(),
        "no garbage collector reaches another namespace"
    );
    operator.stop().await.unwrap();
}

#[tokio::test]
async fn a_hook_that_fails_is_named() {
    let Some(bench) = Bench::with_kind("hooks").await else {
        return;
    };
    let operator = bench.ready_operator().await;
    bench.apply_web("shop", json!({"hooks": true})).await;
    finish_job(&bench, "Failed").await;
    let message = bench
        .wait("the failure", &bench.webs(), "shop", |web| {
            condition(web, "ReleaseFailed").map(|(_, _, message)| message)
        })
        .await;
    assert!(
        message.contains("pre-install hook web/templates/hooks.yaml")
            && message.contains("shop-job failed: Told: by the test"),
        "{message}"
    );
    operator.stop().await.unwrap();
}

#[tokio::test]
async fn a_hook_whose_kind_went_with_the_release_keeps_nothing_back() {
    let Some(bench) = Bench::with_kind("hooks").await else {
        return;
    };
    let operator = bench.ready_operator().await;
    bench.apply_web("shop", json!({"definition": true})).await;
    bench.wait_revision("shop", 1).await;
    let group = format!("{}.example.com", bench.namespace);
    let sprockets = bench.api(&group, "v1", "Sprocket", "sprockets");
    assert!(sprockets.get_opt("shop").await.unwrap().is_some(), "the hook ran");

    operator.stop().await.unwrap();

    let definition = format!("crd/sprockets.{group}");
    bench.cluster.kubectl(&["delete", &definition]).await.unwrap();
    bench.delete_web("shop").await;
    let operator = bench.ready_operator().await;
    bench.wait_gone(&bench.webs(), "shop").await;
    operator.stop().await.unwrap();
}

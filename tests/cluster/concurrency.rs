//! Resources that hang, and those beside them.

use serde_json::json;

use crate::bench::{Bench, PATIENCE, condition};
use crate::hooks::finish_job_of;

#[tokio::test]
async fn a_hook_that_hangs_holds_up_no_other_resource() {
    let Some(bench) = Bench::with_kind("concurrency").await else {
        return;
    };
    let flags = [
        "--max-concurrent-reconciles=1",
        "--max-concurrent-reconciles-in-all=1",
    ];
    let operator = bench.operator_with(&flags).await;
    // Nothing runs on this control plane, so the hook's Job ends when the test says so.
    for name in ["first", "second"] {
        bench.apply_web(name, json!({"hooks": true})).await;
    }
    let jobs = bench.api("batch", "v1", "Job", "jobs");
    for name in ["first-job", "second-job"] {
        bench
            .wait("the hook", &jobs, name, |job| (!job.is_null()).then_some(()))
            .await;
    }
    bench.apply_web("third", json!({})).await;
    bench.wait_revision("third", 1).await;
    assert_eq!(
        bench.revisions().await,
        ["1 deployed", "1 pending-install", "1 pending-install"]
    );
    for name in ["first", "second"] {
        finish_job_of(&bench, name, "Complete").await;
        bench.wait_revision(name, 1).await;
    }
    operator.stop().await.unwrap();
}

#[tokio::test]
async fn a_kind_that_somebody_takes_away_is_named_and_its_objects_come_back_with_it() {
    let Some(bench) = Bench::with_kind("concurrency").await else {
        return;
    };
    let group = format!("parts.{}", bench.group);
    let define = || bench.define_as(&group, "Namespaced", "Part", "parts", &["v1"]);
    define().await;
    bench.add_template(
        "part.yaml",
        &format!("apiVersion: {group}/v1\nkind: Part\nmetadata:\n  name: {{{{ .Release.Name }}}}\n"),
    );
    let operator = bench.ready_operator().await;
    bench.apply_web("shop", json!({})).await;
    bench.wait_revision("shop", 1).await;
    let crd = format!("parts.{group}");
    bench.delete_definition(&crd).await;
    bench
        .wait("the trouble", &bench.webs(), "shop", |web| {
            let (_, reason, message) = condition(web, "Irreconcilable")?;
            (reason == "ReconcileError" && message.contains("no matches for kind `Part`")).then_some(())
        })
        .await;

    // It is looked for ever more seldom, and what is there is healed meanwhile.
    bench
        .cluster
        .kubectl(&["delete", "configmap", "shop-config", "-n", &bench.namespace])
        .await
        .unwrap();
    bench
        .wait("the other object", &bench.config_maps(), "shop-config", |map| {
            (!map.is_null()).then_some(())
        })
        .await;
    let attempts = operator.log_text().matches("Reconciled release").count();
    assert!(attempts < 5, "{}", operator.log_text());

    define().await;
    let parts = bench.api(&group, "v1", "Part", "parts");
    bench
        .wait("the object", &parts, "shop", |part| {
            (!part.is_null()).then_some(())
        })
        .await;
    bench
        .wait("the end of the failure", &bench.webs(), "shop", |web| {
            condition(web, "Irreconcilable").is_none().then_some(())
        })
        .await;
    assert_eq!(bench.revisions().await, ["1 deployed"]);
    bench.delete_web("shop").await;
    tokio::time::timeout(PATIENCE, bench.wait_gone(&bench.webs(), "shop"))
        .await
        .unwrap();
    operator.stop().await.unwrap();
}

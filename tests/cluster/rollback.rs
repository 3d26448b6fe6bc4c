//! What a failed revision has done is undone where that is wanted, and failures do not pile up.

use kube::api::DynamicObject;
use serde_json::{Value, json};

use crate::bench::{Bench, condition};
use crate::hooks::finish_job_of;

/// A bench whose Deployment can be given a selector, which no later revision may change.
async fn bench(test: &str) -> Option<Bench> {
    let bench = Bench::with_kind(test).await?;
    let app = "app: {{ .Values.app | default .Release.Name }}";
    bench.edit("workload.yaml", "app: {{ .Release.Name }}", app);
    Some(bench)
}

async fn message_of(bench: &Bench) -> Value {
    let map = bench.config_maps().get("shop-config").await.unwrap();
    map.data["data"]["message"].clone()
}

#[tokio::test]
async fn a_failed_upgrade_goes_back_where_that_is_wanted() {
    let Some(bench) = bench("rollback").await else {
        return;
    };
    let operator = bench.operator_with(&["--rollback-on-failure"]).await;
    bench.apply_web("shop", json!({"message": "good"})).await;
    bench.wait_revision("shop", 1).await;
    let bad = json!({"message": "bad", "extra": true, "app": "other"});
    bench.apply_web("shop", bad).await;
    let (_, _, message) = bench.wait_failed("shop", "Stalled").await;
    assert!(
        message.contains("spec.selector can't be changed")
            && message.ends_with("; rolled back to revision 1"),
        "{message}"
    );
    assert_eq!(message_of(&bench).await, "good");
    bench.wait_gone(&bench.config_maps(), "shop-extra").await;
    assert_eq!(bench.revisions().await, ["1 deployed", "2 failed"]);
    assert!(bench.events().await.contains("ReleaseRolledBack"));
    let web = serde_json::to_value(bench.webs().get("shop").await.unwrap()).unwrap();
    assert_eq!(condition(&web, "Deployed").unwrap().0, "True");

    // What runs is looked after.
    bench
        .config_maps()
        .delete("shop-config", &Default::default())
        .await
        .unwrap();
    bench
        .wait("the object", &bench.config_maps(), "shop-config", |map| {
            (map["data"]["message"] == "good").then_some(())
        })
        .await;
    assert_eq!(bench.revisions().await, ["1 deployed", "2 failed"]);

    bench.apply_web("shop", json!({"message": "better"})).await;
    bench.wait_revision("shop", 3).await;
    assert_eq!(message_of(&bench).await, "better");
    let revisions = ["1 superseded", "2 failed", "3 deployed"];
    assert_eq!(bench.revisions().await, revisions);
    let arguments = ["history", "shop", "-n", &bench.namespace, "-o", "json"];
    let history: Value = serde_json::from_str(&bench.cluster.helm(&arguments).await.unwrap()).unwrap();
    let statuses: Vec<&str> = history
        .as_array()
        .unwrap()
        .iter()
        .map(|revision| revision["status"].as_str().unwrap())
        .collect();
    assert_eq!(statuses, ["superseded", "failed", "deployed"]);
    operator.stop().await.unwrap();
}

#[tokio::test]
async fn a_failed_upgrade_stays_where_nothing_else_is_wanted() {
    let Some(bench) = bench("rollback").await else {
        return;
    };
    let operator = bench.operator_with(&["--rollback-on-failure"]).await;
    bench.apply_web("shop", json!({"message": "good"})).await;
    bench.wait_revision("shop", 1).await;
    let annotation = json!({"metadata": {"annotations": {"steersman.dev/rollback-on-failure": "false"}}});
    bench.patch_web("shop", annotation).await;
    bench
        .apply_web("shop", json!({"message": "bad", "app": "other"}))
        .await;
    let (_, _, message) = bench.wait_failed("shop", "Stalled").await;
    assert!(!message.contains("rolled back"), "{message}");
    assert_eq!(message_of(&bench).await, "bad");
    operator.stop().await.unwrap();
}

#[tokio::test]
async fn a_failed_installation_is_removed_where_that_is_wanted() {
    let Some(bench) = bench("rollback").await else {
        return;
    };
    let theirs = json!({"apiVersion": "v1", "kind": "Service", "metadata": {"name": "shop"}, "spec": {"ports": [{"port": 1}]}});
    let theirs: DynamicObject = serde_json::from_value(theirs).unwrap();
    let theirs = bench
        .services()
        .create(&Default::default(), &theirs)
        .await
        .unwrap();
    let operator = bench.operator_with(&["--rollback-on-failure"]).await;
    bench.apply_web("shop", json!({})).await;
    let (_, _, message) = bench.wait_failed("shop", "ReleaseFailed").await;
    assert!(
        message.contains("cannot be imported") && message.ends_with("; what it has installed is removed"),
        "{message}"
    );
    bench.wait_gone(&bench.config_maps(), "shop-config").await;
    bench.wait_gone(&bench.secrets(), "shop-secret").await;
    assert_eq!(bench.revisions().await, ["1 failed"]);
    let service = bench.services().get("shop").await.unwrap();
    assert_eq!(service.metadata.uid, theirs.metadata.uid);

    bench
        .services()
        .delete("shop", &Default::default())
        .await
        .unwrap();
    let again = json!({"metadata": {"annotations": {"steersman.dev/reconcile-at": "now"}}});
    bench.patch_web("shop", again).await;
    bench.wait_revision("shop", 1).await;
    assert_eq!(bench.revisions().await, ["1 deployed"]);
    operator.stop().await.unwrap();
}

#[tokio::test]
async fn failures_add_no_revisions_without_end_and_lose_no_object() {
    let Some(bench) = bench("rollback").await else {
        return;
    };
    let operator = bench.operator_with(&["--history-max=3"]).await;
    bench.apply_web("shop", json!({"gadget": true})).await;
    bench.wait_revision("shop", 1).await;
    for round in 0..6 {
        let spec = json!({"app": format!("other-{round}"), "extra": round == 0, "gadget": round == 0});
        bench.apply_web("shop", spec).await;
        bench.wait_failed("shop", "ReleaseFailed").await;
    }
    assert_eq!(bench.revisions().await, ["1 deployed", "6 failed", "7 failed"]);
    // Some more attempts at the same, by an operator that has seen none.
    operator.stop().await.unwrap();
    let operator = bench.operator_with(&["--history-max=3"]).await;
    let begun = std::time::Instant::now();
    while operator.log_text().matches("Release failed").count() < 3 {
        assert!(
            begun.elapsed() < std::time::Duration::from_mins(1),
            "{}",
            operator.log_text()
        );
        tokio::time::sleep(std::time::Duration::from_millis(100)).await;
    }
    assert_eq!(bench.revisions().await, ["1 deployed", "6 failed", "7 failed"]);
    bench.config_maps().get("shop-extra").await.unwrap();

    // No stored revision names it any longer.
    bench.apply_web("shop", json!({"message": "fine"})).await;
    bench.wait_revision("shop", 8).await;
    bench.wait_gone(&bench.config_maps(), "shop-extra").await;
    let gadgets = bench.api("fixtures.example.com", "v1", "Gadget", "gadgets");
    bench.wait_gone(&gadgets, "shop").await;
    assert_eq!(
        bench.revisions().await,
        ["1 superseded", "7 failed", "8 deployed"]
    );
    operator.stop().await.unwrap();
}

#[tokio::test]
async fn hooks_of_the_deployed_revision_run_before_and_after_a_rollback() {
    let Some(bench) = bench("rollback").await else {
        return;
    };
    let hook = |name: &str, event: &str| {
        format!(
            "---\napiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: {name}\n  annotations:\n    \
             helm.sh/hook: {event}\ndata:\n  message: {{{{ .Values.message }}}}\n"
        )
    };
    let hooks = [hook("before", "pre-rollback"), hook("after", "post-rollback")];
    bench.add_template("rollback.yaml", &hooks.concat());
    let operator = bench.operator_with(&["--rollback-on-failure"]).await;
    bench.apply_web("shop", json!({"message": "good"})).await;
    bench.wait_revision("shop", 1).await;
    for name in ["before", "after"] {
        assert!(
            bench.config_maps().get_opt(name).await.unwrap().is_none(),
            "{name}"
        );
    }
    let mark = bench.cluster.audit_mark().await.unwrap();
    bench
        .apply_web("shop", json!({"message": "bad", "app": "other"}))
        .await;
    let (_, _, message) = bench.wait_failed("shop", "Stalled").await;
    assert!(message.ends_with("; rolled back to revision 1"), "{message}");
    for name in ["before", "after"] {
        let hook = bench.config_maps().get(name).await.unwrap();
        assert_eq!(hook.data["data"]["message"], "good", "{name}");
    }
    let audit = bench.cluster.audit_since(mark).await.unwrap();
    let written: Vec<String> = audit
        .by_user(bench.user.name())
        .writes()
        .filter(|request| request.resource == "configmaps" && request.verb == "patch")
        .requests
        .iter()
        .map(|request| request.name.clone())
        .collect();
    let first = written.iter().position(|name| name == "before").unwrap();
    assert_eq!(written[first..], ["before", "shop-config", "after"]);
    operator.stop().await.unwrap();
}

#[tokio::test]
async fn a_rollback_leaves_hooks_out_where_upgrades_do() {
    let Some(bench) = bench("rollback").await else {
        return;
    };
    let hook = "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: before\n  annotations:\n    \
                helm.sh/hook: pre-rollback\n";
    bench.add_template("rollback.yaml", hook);
    let operator = bench.operator_with(&["--rollback-on-failure"]).await;
    bench.apply_web("shop", json!({"message": "good"})).await;
    bench.wait_revision("shop", 1).await;
    let annotation = "helm.sdk.operatorframework.io/upgrade-disable-hooks";
    bench
        .patch_web(
            "shop",
            json!({"metadata": {"annotations": {(annotation): "true"}}}),
        )
        .await;
    bench
        .apply_web("shop", json!({"message": "bad", "app": "other"}))
        .await;
    bench.wait_failed("shop", "Stalled").await;
    assert_eq!(message_of(&bench).await, "good");
    let hook = bench.config_maps().get_opt("before").await.unwrap();
    assert!(hook.is_none());
    operator.stop().await.unwrap();
}

/// A hook that has run before a failure says nothing of what is there after that was undone.
#[tokio::test]
async fn hooks_of_a_revision_that_was_undone_run_again() {
    let Some(bench) = Bench::with_kind("rollback").await else {
        return;
    };
    let job = |name: &str, event: &str| {
        format!(
            "---\napiVersion: batch/v1\nkind: Job\nmetadata: {{name: {name}-job, annotations: {{helm.sh/hook: {event}}}}}\n\
             spec: {{backoffLimit: 0, template: {{spec: {{restartPolicy: Never, containers: [{{name: a, image: \
             registry.example.com/a:1}}]}}}}}}\n"
        )
    };
    let hooks = job("before", "pre-upgrade") + &job("after", "post-upgrade");
    bench.add_template("jobs.yaml", &hooks);
    let operator = bench.operator_with(&["--rollback-on-failure"]).await;
    bench.apply_web("shop", json!({"message": "good"})).await;
    bench.wait_revision("shop", 1).await;
    bench.apply_web("shop", json!({"message": "better"})).await;
    let jobs = bench.api("batch", "v1", "Job", "jobs");
    let mut seen = [None, None];
    for outcome in ["Failed", "Complete"] {
        for (turn, (name, ends)) in [("before", "Complete"), ("after", outcome)]
            .into_iter()
            .enumerate()
        {
            let uid = bench
                .wait("another job", &jobs, &format!("{name}-job"), |job| {
                    let uid = job.pointer("/metadata/uid").and_then(Value::as_str)?;
                    (seen[turn].as_deref() != Some(uid)).then(|| uid.to_owned())
                })
                .await;
            seen[turn] = Some(uid);
            finish_job_of(&bench, name, ends).await;
        }
        if outcome == "Failed" {
            let (_, _, message) = bench.wait_failed("shop", "ReleaseFailed").await;
            assert!(message.ends_with("; rolled back to revision 1"), "{message}");
            assert_eq!(bench.revisions().await, ["1 deployed", "2 failed"]);
            let again = json!({"metadata": {"annotations": {"steersman.dev/reconcile-at": "now"}}});
            bench.patch_web("shop", again).await;
        }
    }
    bench.wait_revision("shop", 2).await;
    assert_eq!(bench.revisions().await, ["1 superseded", "2 deployed"]);
    operator.stop().await.unwrap();
}

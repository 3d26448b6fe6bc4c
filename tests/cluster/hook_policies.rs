//! The order of hooks, their end, and what is left of them.

use k8s_openapi::api::core::v1::ConfigMap;
use kube::api::{Api, DeleteParams, Patch, PatchParams};
use serde_json::{Value, json};

use crate::bench::Bench;

/// A hook that is a `ConfigMap`.
fn hook(name: &str, annotations: &str) -> String {
    format!(
        "---\napiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: {name}\n  annotations:\n    helm.sh/hook: {annotations}\n"
    )
}

#[tokio::test]
async fn hooks_run_by_weight_and_go_by_their_policies() {
    let Some(bench) = Bench::with_kind("hooks").await else {
        return;
    };
    let hooks = [
        hook(
            "a-last",
            "pre-install,pre-upgrade\n    helm.sh/hook-weight: \"7\"",
        ),
        hook(
            "b-first",
            "pre-install,pre-upgrade\n    helm.sh/hook-weight: \"-7\"",
        ),
        hook(
            "c-gone",
            "pre-install\n    helm.sh/hook-delete-policy: hook-succeeded",
        ),
        hook(
            "d-stays",
            "pre-install,pre-upgrade\n    helm.sh/hook-delete-policy: hook-failed",
        ),
    ];
    bench.add_template("ordered.yaml", &hooks.concat());
    let operator = bench.ready_operator().await;
    let mark = bench.cluster.audit_mark().unwrap();
    bench.apply_web("shop", json!({})).await;
    bench.wait_revision("shop", 1).await;
    let audit = bench
        .cluster
        .audit_since(mark)
        .await
        .unwrap()
        .by_user(bench.user.name());
    let names: Vec<String> = audit
        .writes()
        .filter(|request| request.resource == "configmaps")
        .requests
        .iter()
        .map(|request| format!("{} {}", request.verb, request.name))
        .collect();
    let expected = [
        "patch b-first",
        "patch c-gone",
        "patch d-stays",
        "patch a-last",
        "delete c-gone",
        "patch shop-config",
    ];
    assert_eq!(names, expected);

    let uid = async |name: &str| bench.config_maps().get(name).await.unwrap().metadata.uid;
    let (first, stays) = (uid("b-first").await, uid("d-stays").await);
    bench.apply_web("shop", json!({"message": "again"})).await;
    bench.wait_revision("shop", 2).await;
    assert_ne!(uid("b-first").await, first, "deleted before it is created");
    assert_eq!(uid("d-stays").await, stays, "its policy does not say so");
    operator.stop().await.unwrap();
}

#[tokio::test]
async fn a_hook_that_failed_tells_what_its_pod_said_and_goes_if_its_policy_says_so() {
    let Some(bench) = Bench::with_kind("hooks").await else {
        return;
    };
    bench.edit(
        "hooks.yaml",
        "helm.sh/hook-weight: \"5\"",
        "helm.sh/hook-weight: \"5\"\n    helm.sh/hook-delete-policy: hook-failed",
    );
    let operator = bench.ready_operator().await;
    bench
        .apply_web("shop", json!({"hooks": true, "password": "canary"}))
        .await;
    let jobs = bench.api("batch", "v1", "Job", "jobs");
    let pods = bench.api("", "v1", "Pod", "pods");
    let first = bench
        .wait("the job", &jobs, "shop-job", |job| {
            job.pointer("/metadata/uid")
                .and_then(Value::as_str)
                .map(str::to_owned)
        })
        .await;
    let pod = loop {
        let found = pods.list(&Default::default()).await.unwrap();
        if let Some(pod) = found.items.first() {
            break pod.metadata.name.clone().unwrap();
        }
        tokio::time::sleep(std::time::Duration::from_millis(50)).await;
    };
    // Does what the kubelet would do, were there nodes.
    let end = json!({"exitCode": 3, "reason": "Error", "message": "no such table\nfor canary"});
    let container = json!({"name": "job", "image": "job:1", "imageID": "", "ready": false, "restartCount": 0, "state": {"terminated": end}});
    let status = json!({"status": {"phase": "Failed", "containerStatuses": [container]}});
    pods.patch_status(&pod, &PatchParams::default(), &Patch::Merge(status))
        .await
        .unwrap();
    let (_, reason, message) = bench.wait_failed("shop", "ReleaseFailed").await;
    assert_eq!(reason, "InstallError");
    let said = format!("container job of pod {pod} ended with 3: no such table for ********");
    assert!(
        message.contains("pre-install hook web/templates/hooks.yaml: Job ")
            && message.contains("BackoffLimitExceeded")
            && message.contains(&said),
        "{message}"
    );
    bench
        .wait("another job or none", &jobs, "shop-job", |job| {
            let uid = job.pointer("/metadata/uid").and_then(Value::as_str);
            (uid != Some(first.as_str())).then_some(())
        })
        .await;
    operator.stop().await.unwrap();
}

#[tokio::test]
async fn a_hook_takes_no_longer_than_it_may() {
    let Some(bench) = Bench::with_kind("hooks").await else {
        return;
    };
    let operator = bench.operator_with(&["--hook-timeout=1s"]).await;
    bench.apply_web("shop", json!({"hooks": true})).await;
    let (_, _, message) = bench.wait_failed("shop", "ReleaseFailed").await;
    assert!(message.contains("shop-job is not done after 1 s"), "{message}");
    operator.stop().await.unwrap();
}

#[tokio::test]
async fn what_hooks_of_any_revision_have_left_goes_with_the_release() {
    let Some(bench) = Bench::with_kind("hooks").await else {
        return;
    };
    bench.add_template(
        "left.yaml",
        "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: {{ .Release.Namespace }}-{{ .Values.message }}\n  namespace: \
         kube-public\n  annotations:\n    helm.sh/hook: post-install,post-upgrade\n",
    );
    let elsewhere: Api<ConfigMap> = Api::namespaced(bench.client.clone(), "kube-public");
    // The first revisions are no longer stored at the end.
    let operator = bench.operator_with(&["--history-max=2"]).await;
    let messages = ["a", "b", "c", "d"];
    for (message, revision) in messages.into_iter().zip(1..) {
        bench.apply_web("shop", json!({"message": message})).await;
        bench.wait_revision("shop", revision).await;
    }
    assert_eq!(bench.revisions().await, ["3 superseded", "4 deployed"]);
    let names = messages.map(|message| format!("{}-{message}", bench.namespace));
    for name in &names {
        elsewhere.get(name).await.unwrap();
    }
    bench
        .webs()
        .delete("shop", &DeleteParams::default())
        .await
        .unwrap();
    bench.wait_gone(&bench.webs(), "shop").await;
    for name in &names {
        assert!(elsewhere.get_opt(name).await.unwrap().is_none(), "{name} is left");
    }
    operator.stop().await.unwrap();
}

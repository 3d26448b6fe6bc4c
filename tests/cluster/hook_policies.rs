//! The order of hooks, their end, and what is left of them.

use k8s_openapi::api::core::v1::ConfigMap;
use kube::api::{Api, DeleteParams, DynamicObject, Patch, PatchParams};
use kube::runtime::watcher;
use serde_json::{Value, json};

use crate::bench::{Bench, condition};
use crate::hooks::finish_job;

/// A hook that is a `ConfigMap`.
fn hook(name: &str, annotations: &str) -> String {
    format!(
        "---\napiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: {name}\n  annotations:\n    helm.sh/hook: {annotations}\n"
    )
}

/// In which order Helm makes the hooks of the chart at an installation.
async fn order_of_helm(bench: &Bench) -> Vec<String> {
    let chart = bench.folder.path().join("web");
    let chart = chart.to_str().unwrap();
    let namespace = ["-n", bench.namespace.as_str()];
    let mark = bench.cluster.audit_mark().await.unwrap();
    let install = ["install", "judge", chart, "--server-side=false"];
    let helm = async |arguments: &[&str]| {
        let arguments = [arguments, &namespace].concat();
        bench.cluster.helm(&arguments).await.unwrap();
    };
    helm(&install).await;
    let audit = bench.cluster.audit_since(mark).await.unwrap();
    let made = audit.resource("configmaps").filter(|request| {
        request.verb == "create" && request.namespace == bench.namespace && request.name != "judge-config"
    });
    let names = made.requests.iter().map(|request| request.name.clone()).collect();
    helm(&["uninstall", "judge"]).await;
    // Helm leaves them.
    for name in ["a-last", "b-first", "d-stays", "e-odd"] {
        let parameters = DeleteParams::default();
        bench.config_maps().delete(name, &parameters).await.unwrap();
    }
    names
}

#[tokio::test]
async fn hooks_run_by_weight_and_go_by_their_policies() {
    let Some(bench) = Bench::with_kind("hooks").await else {
        return;
    };
    let hooks = [
        // What is no number weighs nothing, and of a document with an unknown event nothing is made.
        hook("e-odd", "pre-install\n    helm.sh/hook-weight: x"),
        hook("f-unknown", "pre-install, pre-instal"),
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
    let by_helm = order_of_helm(&bench).await;
    let operator = bench.ready_operator().await;
    let mark = bench.cluster.audit_mark().await.unwrap();
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
        "patch e-odd",
        "patch a-last",
        "delete c-gone",
        "patch shop-config",
    ];
    assert_eq!(names, expected);
    let made = names.iter().filter_map(|name| name.strip_prefix("patch "));
    let made: Vec<&str> = made.filter(|name| *name != "shop-config").collect();
    assert_eq!(made, by_helm);
    let log = operator.log_text();
    let mut skipped = log.lines().filter(|line| line.contains("Skipping unknown hooks"));
    let skipped = skipped.next().unwrap();
    assert!(
        skipped.contains("web/templates/ordered.yaml") && skipped.contains("pre-install, pre-instal"),
        "{skipped}"
    );

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
        .apply_web("shop", json!({"hooks": true, "password": "correct canary horse"}))
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
    let name = |pod: &Value| pod.pointer("/metadata/name")?.as_str().map(str::to_owned);
    let pod = bench
        .wait_some("the pod", &pods, watcher::Config::default(), name)
        .await;
    // Does what the kubelet would do, were there nodes: it keeps the end of what was printed.
    let words = "nary horse\nno such table\nfor correct canary horse";
    let end = json!({"exitCode": 3, "reason": "Error", "message": words});
    let container = json!({"name": "job", "image": "job:1", "imageID": "", "ready": false, "restartCount": 0, "state": {"terminated": end}});
    let status = json!({"status": {"phase": "Failed", "containerStatuses": [container]}});
    pods.patch_status(&pod, &PatchParams::default(), &Patch::Merge(status))
        .await
        .unwrap();
    let (_, reason, message) = bench.wait_failed("shop", "ReleaseFailed").await;
    assert_eq!(reason, "InstallError");
    let said = format!("container job of pod {pod} ended with 3: ******** no such table for ********");
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
    let (_, reason, message) = bench.wait_failed("shop", "ReleaseFailed").await;
    assert_eq!(reason, "InstallError");
    assert!(
        message.contains("pre-install hook web/templates/hooks.yaml: Job ")
            && message.contains("shop-job is not done after 1 s"),
        "{message}"
    );
    bench.apply_web("beacon", json!({})).await;
    bench.wait_revision("beacon", 1).await;

    // Helm gives it up, too, and both say that the revision has failed.
    let chart = bench.folder.path().join("web");
    let install = [
        "install",
        "judge",
        chart.to_str().unwrap(),
        "--set=hooks=true",
        "--timeout=1s",
        "--server-side=false",
        "-n",
        &bench.namespace,
    ];
    let refused = bench.cluster.helm(&install).await.unwrap_err().to_string();
    assert!(
        refused.contains("failed pre-install") && refused.contains("context deadline exceeded"),
        "{refused}"
    );
    let revisions = ["1 deployed", "1 failed", "1 failed"];
    assert_eq!(bench.revisions().await, revisions);
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

/// A migration that no policy deletes before it runs, and what it works with.
fn migration(policy: &str) -> String {
    let annotations = format!(
        "annotations: {{helm.sh/hook: \"pre-install,pre-upgrade\", helm.sh/hook-delete-policy: {policy}}}"
    );
    format!(
        "apiVersion: v1\nkind: ConfigMap\nmetadata: {{name: script, {annotations}}}\ndata: {{message: \"{{{{ .Values.message \
         }}}}\"}}\n---\napiVersion: batch/v1\nkind: Job\nmetadata: {{name: \"{{{{ .Release.Name }}}}-job\", \
         {annotations}}}\nspec: {{backoffLimit: 0, template: {{spec: {{restartPolicy: Never, containers: [{{name: job, image: \
         \"job:1\", env: [{{name: A, value: a}}, {{name: A, value: b}}]}}]}}}}}}\n"
    )
}

/// Deletes the job that is in the way, so that another one can run.
async fn run_again(bench: &Bench) {
    let jobs = bench.api("batch", "v1", "Job", "jobs");
    let former = jobs.get("shop-job").await.unwrap().metadata.uid;
    jobs.delete("shop-job", &DeleteParams::background())
        .await
        .unwrap();
    bench
        .wait("another job", &jobs, "shop-job", |job| {
            let uid = job.pointer("/metadata/uid").and_then(Value::as_str)?;
            (Some(uid) != former.as_deref()).then_some(())
        })
        .await;
    finish_job(bench, "Complete").await;
}

#[tokio::test]
async fn a_job_of_an_earlier_revision_is_in_the_way_as_in_helm() {
    let Some(bench) = Bench::with_kind("hooks").await else {
        return;
    };
    bench.add_template("migration.yaml", &migration("hook-failed"));
    let chart = bench.folder.path().join("web");
    let helm = async |arguments: &[&str]| {
        let release = [
            "judge",
            chart.to_str().unwrap(),
            "-n",
            &bench.namespace,
            "--server-side=false",
        ];
        bench.cluster.helm(&[arguments, &release].concat()).await
    };
    helm(&["install", "--no-hooks"]).await.unwrap();
    let job = [
        "create",
        "job",
        "judge-job",
        "--image=job:1",
        "-n",
        &bench.namespace,
    ];
    bench.cluster.kubectl(&job).await.unwrap();
    let refused = helm(&["upgrade"]).await.unwrap_err().to_string();
    assert!(refused.contains("\"judge-job\" already exists"), "{refused}");

    let operator = bench.ready_operator().await;
    bench.apply_web("shop", json!({"message": "one"})).await;
    finish_job(&bench, "Complete").await;
    bench.wait_revision("shop", 1).await;
    bench.apply_web("shop", json!({"message": "two"})).await;
    let (_, reason, message) = bench.wait_failed("shop", "ReleaseFailed").await;
    assert_eq!(reason, "UpgradeError");
    assert!(
        message.contains("pre-upgrade hook web/templates/migration.yaml: Job ")
            && message.contains("shop-job exists already, and has run before; delete it"),
        "{message}"
    );
    let web = serde_json::to_value(bench.webs().get("shop").await.unwrap()).unwrap();
    assert_eq!(condition(&web, "Stalled").unwrap().0, "True");
    // One of each is Helm's.
    let revisions = ["1 deployed", "1 deployed", "2 failed", "2 failed"];
    assert_eq!(bench.revisions().await, revisions);

    run_again(&bench).await;
    bench.wait_revision("shop", 2).await;
    let script = bench.config_maps().get("script").await.unwrap();
    assert_eq!(
        script.data["data"]["message"], "two",
        "a hook is what its revision says"
    );
    operator.stop().await.unwrap();
}

#[tokio::test]
async fn a_job_that_has_failed_runs_again_when_it_is_deleted() {
    let Some(bench) = Bench::with_kind("hooks").await else {
        return;
    };
    bench.add_template("migration.yaml", &migration("hook-succeeded"));
    let operator = bench.ready_operator().await;
    bench.apply_web("shop", json!({})).await;
    finish_job(&bench, "Failed").await;
    let says = async |words: &str| {
        bench
            .wait(words, &bench.webs(), "shop", |web| {
                let message = condition(web, "ReleaseFailed")?.2;
                message.contains(words).then_some(())
            })
            .await;
    };
    says("shop-job exists already, and has failed: Told: by the test").await;
    run_again(&bench).await;
    bench.wait_revision("shop", 1).await;
    assert_eq!(bench.revisions().await, ["1 deployed"]);
    operator.stop().await.unwrap();
}

/// Its object tells nothing then, and the revision does.
#[tokio::test]
async fn a_hook_that_has_run_and_is_gone_does_not_run_again_when_its_revision_is_tried_again() {
    let Some(bench) = Bench::with_kind("hooks").await else {
        return;
    };
    bench.edit(
        "hooks.yaml",
        "helm.sh/hook-weight: \"5\"",
        "helm.sh/hook-weight: \"5\"\n    helm.sh/hook-delete-policy: hook-succeeded",
    );
    let theirs = json!({"apiVersion": "v1", "kind": "Service", "metadata": {"name": "shop"}, "spec": {"ports": [{"port": 1}]}});
    let theirs: DynamicObject = serde_json::from_value(theirs).unwrap();
    bench
        .services()
        .create(&Default::default(), &theirs)
        .await
        .unwrap();
    let operator = bench.ready_operator().await;
    let mark = bench.cluster.audit_mark().await.unwrap();
    bench
        .apply_web("shop", json!({"hooks": true, "password": "canary"}))
        .await;
    finish_job(&bench, "Complete").await;
    bench.wait_failed("shop", "ReleaseFailed").await;
    let jobs = bench.api("batch", "v1", "Job", "jobs");
    bench.wait_gone(&jobs, "shop-job").await;
    operator.stop().await.unwrap();

    let operator = bench.ready_operator().await;
    bench
        .services()
        .delete("shop", &Default::default())
        .await
        .unwrap();
    bench.wait_revision("shop", 1).await;
    let audit = bench.cluster.audit_since(mark).await.unwrap();
    let ours = audit.by_user(bench.user.name());
    let made = ours.resource("jobs").filter(|request| request.code == Some(201));
    assert_eq!(made.len(), 1, "{made}");
    bench.delete_web("shop").await;
    finish_job(&bench, "Complete").await;
    bench.wait_gone(&bench.webs(), "shop").await;
    operator.stop().await.unwrap();
}

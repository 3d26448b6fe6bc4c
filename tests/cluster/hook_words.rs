//! What hooks say, of Secrets that nobody but they have anything of, and what becomes of their pods.

use std::time::Duration;

use kube::api::{Api, ApiResource, DeleteParams, DynamicObject, Patch, PatchParams, PostParams};
use kube::core::GroupVersionKind;
use serde_json::{Value, json};
use steersman_testkit::cluster::OperatorProcess;

use crate::bench::{Bench, condition};
use crate::masking::end_hook;
use crate::procedures::pod_of;

const HOOK: &str = r#"
apiVersion: batch/v1
kind: Job
metadata:
  name: {{ .Release.Name }}-before
  annotations: {helm.sh/hook: "pre-install,pre-upgrade", helm.sh/hook-delete-policy: before-hook-creation}
spec:
  backoffLimit: 0
  template:
    spec:
      restartPolicy: Never
      containers: [{name: job, image: "registry.example.com/job:1", envFrom: [{secretRef: {name: outside}}]}]
"#;

const OLD: &str = "amqp-canary-old";
const NEW: &str = "amqp-canary-new";

/// Makes the Secret hold this.
async fn put(bench: &Bench, url: &str) {
    let secret = json!({"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "outside"}, "stringData": {"URL": url}});
    let parameters = PatchParams::apply("test").force();
    let secrets = bench.secrets();
    let patch = Patch::Apply(&secret);
    secrets.patch("outside", &parameters, &patch).await.unwrap();
}

/// Asks for a revision, whose hook is under way then.
async fn begin(bench: &Bench, message: &str) {
    bench.apply_web("shop", json!({"message": message})).await;
    let jobs = bench.api("batch", "v1", "Job", "jobs");
    bench
        .wait("the hook", &jobs, "shop-before", |job| {
            let is_running = job.pointer("/metadata/deletionTimestamp").is_none()
                && job.pointer("/status/conditions").is_none();
            (job.is_object() && is_running).then_some(())
        })
        .await;
}

/// What is told of the hook that has said this at its end.
async fn told(bench: &Bench, words: &str) -> String {
    end_hook(bench, 3, words).await;
    bench
        .wait("its failure", &bench.webs(), "shop", |web| {
            let (_, _, message) = condition(web, "ReleaseFailed")?;
            message.contains("hook").then_some(message)
        })
        .await
}

async fn assert_unshown(bench: &Bench, operator: &OperatorProcess, message: &str) {
    let events = bench.events().await;
    let web = bench.webs().get("shop").await.unwrap().data["status"].to_string();
    for shown in [&operator.log_text(), &events, &web, message] {
        assert!(!shown.contains("canary"), "{shown}");
    }
}

#[tokio::test]
async fn a_hook_says_nothing_of_a_secret_that_it_alone_has() {
    let Some(bench) = Bench::with_kind("hook_words").await else {
        return;
    };
    bench.add_template("before.yaml", HOOK);
    put(&bench, OLD).await;
    let operator = bench.ready_operator().await;
    begin(&bench, "one").await;
    let message = told(&bench, &format!("no answer from {OLD}")).await;
    assert!(
        message.contains("ended with 3: no answer from ********"),
        "{message}"
    );
    assert_unshown(&bench, &operator, &message).await;
    operator.stop().await.unwrap();
}

#[tokio::test]
async fn a_hook_s_words_are_masked_by_another_process_too() {
    let Some(bench) = Bench::with_kind("hook_words_killed").await else {
        return;
    };
    bench.add_template("before.yaml", HOOK);
    put(&bench, OLD).await;
    let operator = bench.ready_operator().await;
    begin(&bench, "one").await;
    operator.kill().await.unwrap();
    let operator = bench.ready_operator().await;
    let message = told(&bench, &format!("no answer from {OLD}")).await;
    assert!(message.contains("no answer from ********"), "{message}");
    assert_unshown(&bench, &operator, &message).await;
    operator.stop().await.unwrap();
}

#[tokio::test]
async fn a_hook_s_words_are_not_shown_where_its_secret_was_changed() {
    let Some(bench) = Bench::with_kind("hook_words_changed").await else {
        return;
    };
    bench.add_template("before.yaml", HOOK);
    put(&bench, OLD).await;
    let operator = bench.ready_operator().await;
    begin(&bench, "one").await;
    put(&bench, NEW).await;
    // What was changed back is not the same.
    put(&bench, OLD).await;
    let message = told(&bench, &format!("no answer from {OLD} or {NEW}")).await;
    assert!(message.contains("what it has said is not shown"), "{message}");
    assert_unshown(&bench, &operator, &message).await;
    operator.stop().await.unwrap();
}

/// Has admission give each pod of the namespace another Secret than its Job names.
pub(crate) async fn inject(bench: &Bench) {
    let named = json!({"kubernetes.io/metadata.name": bench.namespace});
    let rule =
        json!({"apiGroups": [""], "apiVersions": ["v1"], "operations": ["CREATE"], "resources": ["pods"]});
    let expression = r#"[JSONPatch{op: "add", path: "/spec/containers/0/envFrom", value: [{"secretRef": {"name": "injected"}}]}]"#;
    let policy = json!({
        "matchConstraints": {"namespaceSelector": {"matchLabels": named}, "resourceRules": [rule]},
        "failurePolicy": "Fail", "reinvocationPolicy": "Never",
        "mutations": [{"patchType": "JSONPatch", "jsonPatch": {"expression": expression}}],
    });
    let kinds = [
        ("MutatingAdmissionPolicy", "mutatingadmissionpolicies", policy),
        (
            "MutatingAdmissionPolicyBinding",
            "mutatingadmissionpolicybindings",
            json!({"policyName": bench.namespace}),
        ),
    ];
    for (kind, plural, spec) in kinds {
        let kind = GroupVersionKind::gvk("admissionregistration.k8s.io", "v1", kind);
        let resource = ApiResource::from_gvk_with_plural(&kind, plural);
        let api: Api<DynamicObject> = Api::all_with(bench.client.clone(), &resource);
        let made = DynamicObject::new(&bench.namespace, &resource).data(json!({ "spec": spec }));
        api.create(&PostParams::default(), &made).await.unwrap();
    }
    // It counts when the server has taken it in.
    let pods = bench.api("", "v1", "Pod", "pods");
    let trial = json!({"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "trial"},
        "spec": {"containers": [{"name": "a", "image": "a"}]}});
    let dry = PatchParams {
        dry_run: true,
        ..PatchParams::apply("test").force()
    };
    let deadline = tokio::time::Instant::now() + bench.patience;
    loop {
        let made = pods.patch("trial", &dry, &Patch::Apply(&trial)).await.unwrap();
        if made.data.pointer("/spec/containers/0/envFrom").is_some() {
            break;
        }
        assert!(
            tokio::time::Instant::now() < deadline,
            "the policy does not count"
        );
        tokio::time::sleep(std::time::Duration::from_millis(100)).await;
    }
}

#[tokio::test]
async fn a_hook_says_nothing_of_a_secret_that_admission_has_given_its_pod() {
    let Some(bench) = Bench::with_kind("hook_words_injected").await else {
        return;
    };
    bench.add_template(
        "before.yaml",
        &HOOK.replace(", envFrom: [{secretRef: {name: outside}}]", ""),
    );
    inject(&bench).await;
    let operator = bench.ready_operator().await;
    begin(&bench, "one").await;
    let message = told(&bench, "no answer from canary-of-admission").await;
    assert!(message.contains("what it has said is not shown"), "{message}");
    assert_unshown(&bench, &operator, &message).await;
    operator.stop().await.unwrap();
}

/// It may be one of a former Job, which had other Secrets, or somebody's own.
#[tokio::test]
async fn a_hook_s_words_are_not_those_of_a_pod_that_is_not_its_own() {
    let Some(bench) = Bench::with_kind("hook_words_other").await else {
        return;
    };
    bench.add_template("before.yaml", HOOK);
    put(&bench, NEW).await;
    let pods = bench.api("", "v1", "Pod", "pods");
    let labels = json!({"batch.kubernetes.io/job-name": "shop-before"});
    let other = json!({"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "zzz", "labels": labels},
        "spec": {"containers": [{"name": "job", "image": "job:1"}]}});
    bench.create(&pods, other).await;
    end_hook(&bench, 3, &format!("no answer from {OLD}")).await;
    let operator = bench.ready_operator().await;
    begin(&bench, "one").await;
    let message = told(&bench, "its own words").await;
    assert!(message.contains("its own words"), "{message}");
    assert_unshown(&bench, &operator, &message).await;
    operator.stop().await.unwrap();
}

/// Nobody knows what has come of it.
#[tokio::test]
async fn a_hook_whose_job_is_deleted_before_its_end_has_failed() {
    let Some(bench) = Bench::with_kind("hook_deleted").await else {
        return;
    };
    bench.add_template("before.yaml", HOOK);
    put(&bench, OLD).await;
    let operator = bench.ready_operator().await;
    begin(&bench, "one").await;
    let jobs = bench.api("batch", "v1", "Job", "jobs");
    jobs.delete("shop-before", &DeleteParams::background())
        .await
        .unwrap();
    let message = bench
        .wait("its failure", &bench.webs(), "shop", |web| {
            let (_, _, message) = condition(web, "ReleaseFailed")?;
            message.contains("hook").then_some(message)
        })
        .await;
    assert!(message.contains("it was deleted before its end"), "{message}");
    let config = bench.config_maps().get_opt("shop-config").await.unwrap();
    assert!(config.is_none(), "nothing comes behind it");
    operator.stop().await.unwrap();
}

/// Its pod has yet to end, and nobody but the kubelet says when it has.
#[tokio::test]
async fn a_hook_begins_beside_no_pod_of_the_one_before_it() {
    let Some(bench) = Bench::with_kind("hook_pods").await else {
        return;
    };
    let on_a_node = HOOK.replace(
        "restartPolicy: Never",
        "restartPolicy: Never\n      nodeName: '{{ .Release.Namespace }}'",
    );
    bench.add_template("before.yaml", &on_a_node);
    put(&bench, OLD).await;
    let operator = bench.operator_with(&["--hook-timeout=3s"]).await;
    begin(&bench, "one").await;
    let pod = pod_of(&bench, "shop-before").await;
    bench.wait_failed("shop", "ReleaseFailed").await;
    // Another one is wanted in its place.
    bench.apply_web("shop", json!({"message": "two"})).await;
    let jobs = bench.api("batch", "v1", "Job", "jobs");
    let going = |job: &Value| job.pointer("/metadata/deletionTimestamp").map(|_| ());
    bench.wait("its deletion", &jobs, "shop-before", going).await;
    let first = jobs.get("shop-before").await.unwrap().metadata.uid;
    let pods = bench.api("", "v1", "Pod", "pods");
    let ending = |pod: &Value| pod.pointer("/metadata/deletionTimestamp").map(|_| ());
    bench.wait("the end of its pod", &pods, &pod, ending).await;
    tokio::time::sleep(Duration::from_secs(2)).await;
    assert_eq!(jobs.get("shop-before").await.unwrap().metadata.uid, first);
    let at_once = DeleteParams::default().grace_period(0);
    pods.delete(&pod, &at_once).await.unwrap();
    begin(&bench, "two").await;
    assert_ne!(jobs.get("shop-before").await.unwrap().metadata.uid, first);
    operator.stop().await.unwrap();
}

//! What hooks say, of Secrets that nobody but they have anything of.

use kube::api::{Patch, PatchParams};
use serde_json::json;
use steersman_testkit::cluster::OperatorProcess;

use crate::bench::{Bench, condition};
use crate::masking::end_hook;

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

//! Traces of runs, as a receiver of OpenTelemetry gets them, and what those are told who wait for their end.

use std::collections::BTreeMap;

use opentelemetry_proto::tonic::trace::v1::Span;
use serde_json::json;

use super::{MAP, Roles};
use crate::bench::condition;
use crate::traces::{Receiver, attributes, trace_with};

const TASKS: &str = "
- kubernetes.core.k8s_info: {api_version: v1, kind: Secret, name: key, namespace: \"{{ ansible_operator_meta.namespace }}\"}
  register: found
- name: \"say {{ found.resources[0].data.key | b64decode }}\"
  ansible.builtin.fail:
    msg: \"the key is {{ found.resources[0].data.key | b64decode }}\"
  when: broken
";

/// Name, attributes that matter here, and whether it has failed.
fn told(span: &Span, names: &[&str]) -> String {
    let of_span: BTreeMap<String, String> = attributes(&span.attributes);
    let said: Vec<&str> = names
        .iter()
        .filter_map(|name| of_span.get(*name).map(String::as_str))
        .collect();
    let is_error = span.status.as_ref().is_some_and(|status| status.code == 2);
    format!(
        "{} {}{}",
        span.name,
        said.join(" "),
        if is_error { " failed" } else { "" }
    )
}

#[tokio::test(flavor = "multi_thread")]
async fn a_run_is_a_span_with_its_tasks_and_no_secret() {
    let test = "a_run_is_a_span_with_its_tasks_and_no_secret";
    let Some(mut roles) = Roles::new(test, &format!("{MAP}{TASKS}"), "").await else {
        return;
    };
    let receiver = Receiver::default();
    let endpoint = format!("http://127.0.0.1:{}", receiver.listen().await);
    roles.variables = vec![
        ("OTEL_EXPORTER_OTLP_ENDPOINT", endpoint),
        ("OTEL_BSP_SCHEDULE_DELAY", "50".to_owned()),
    ];
    let bench = &roles.bench;
    let secret = json!({"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "key"}, "stringData": {"key": "canary"}});
    bench.create(&bench.secrets(), secret).await;
    let operator = roles.operator().await;
    bench.apply_web("shop", json!({"broken": false})).await;
    roles.wait_done("shop").await;
    let trace = trace_with(&receiver, "run").await;
    let run = trace.iter().find(|span| span.name == "run").unwrap();
    let content = roles.path("roles/web").canonicalize().unwrap();
    let of_run = [
        "steersman.resource.kind",
        "k8s.namespace.name",
        "steersman.resource.name",
        "steersman.run.content",
        "steersman.run.outcome",
        "steersman.run.tasks",
        "steersman.run.changed",
    ];
    assert_eq!(
        told(run, &of_run),
        format!(
            "run Web {} shop {} successful 3 2",
            bench.namespace,
            content.display()
        )
    );
    let root = trace
        .iter()
        .find(|span| span.span_id == run.parent_span_id)
        .unwrap();
    assert_eq!(root.name, "reconcile");
    let mut tasks: Vec<&Span> = trace
        .iter()
        .filter(|span| span.parent_span_id == run.span_id)
        .collect();
    tasks.sort_by_key(|span| span.start_time_unix_nano);
    let names: Vec<String> = tasks
        .iter()
        .map(|span| told(span, &["steersman.task.role", "steersman.task.name"]))
        .collect();
    let expected = [
        "task web ansible.builtin.shell",
        "task web kubernetes.core.k8s",
        "task web kubernetes.core.k8s_info",
    ];
    assert_eq!(names[..3], expected);
    assert!(
        tasks
            .iter()
            .all(|task| task.end_time_unix_nano <= run.end_time_unix_nano)
    );
    for name in ["observe", "report"] {
        assert!(trace.iter().any(|span| span.name == name), "no {name}");
    }

    bench.apply_web("shop", json!({"broken": true})).await;
    let failed =
        |web: &serde_json::Value| condition(web, "Ready").filter(|(_, reason, _)| reason == "RunFailed");
    bench.wait("the failure", &bench.webs(), "shop", failed).await;
    operator.stop().await.unwrap();
    let spans = receiver.spans();
    let outcomes = spans.iter().filter(|span| span.name == "run");
    let outcomes: Vec<String> = outcomes
        .map(|span| told(span, &["steersman.run.outcome"]))
        .collect();
    assert_eq!(outcomes[..2], ["run successful", "run failed failed"]);
    assert!(
        spans
            .iter()
            .any(|span| span.name == "task" && told(span, &[]).ends_with("failed"))
    );
    // What is said in lines of the log is in no span.
    assert!(spans.iter().all(|span| span.events.is_empty()), "{spans:#?}");
    assert!(!format!("{spans:?}").contains("canary"));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_run_that_takes_a_while_says_what_it_does() {
    let tasks = "
- name: wait for the others
  ansible.builtin.pause: {seconds: 7}
";
    let Some(roles) = Roles::new("a_run_that_takes_a_while", &format!("{MAP}{tasks}"), "").await else {
        return;
    };
    let operator = roles.operator().await;
    roles.bench.apply_web("shop", json!({})).await;
    roles.wait_done("shop").await;
    operator.stop().await.unwrap();
    let events = roles.bench.events().await;
    let line = events.lines().find(|line| line.contains("RunProgressing"));
    assert!(
        line.is_some_and(|line| line.contains("wait for the others")),
        "{events}"
    );
}

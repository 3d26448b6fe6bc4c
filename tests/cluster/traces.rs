//! Traces, as a receiver of OpenTelemetry gets them.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use opentelemetry_proto::tonic::collector::trace::v1::ExportTraceServiceRequest;
use opentelemetry_proto::tonic::common::v1::{KeyValue, any_value};
use opentelemetry_proto::tonic::trace::v1::Span;
use opentelemetry_proto::tonic::trace::v1::status::StatusCode;
use prost::Message as _;
use serde_json::json;
use steersman_testkit::cluster::{OperatorCommand, OperatorProcess};
use tokio::io::{AsyncBufReadExt as _, AsyncReadExt as _, AsyncWriteExt as _, BufReader};
use tokio::net::{TcpListener, TcpStream};

use crate::bench::Bench;

const PATIENCE: Duration = Duration::from_mins(1);

/// A receiver that keeps what it gets.
#[derive(Clone, Default)]
pub(crate) struct Receiver {
    received: Arc<Mutex<Vec<ExportTraceServiceRequest>>>,
}

impl Receiver {
    /// Listens on a port of its own, and gives that.
    pub(crate) async fn listen(&self) -> u16 {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let port = listener.local_addr().unwrap().port();
        let receiver = self.clone();
        tokio::spawn(async move {
            loop {
                let (stream, _) = listener.accept().await.unwrap();
                tokio::spawn(receiver.clone().answer(stream));
            }
        });
        port
    }

    /// Answers the requests of one connection.
    async fn answer(self, stream: TcpStream) {
        let mut stream = BufReader::new(stream);
        loop {
            let mut head = String::new();
            while !head.ends_with("\r\n\r\n") {
                if stream.read_line(&mut head).await.unwrap() == 0 {
                    return;
                }
            }
            assert!(head.starts_with("POST /v1/traces HTTP/1.1\r\n"), "{head}");
            let head = head.to_ascii_lowercase();
            assert!(
                head.contains("content-type: application/x-protobuf\r\n"),
                "{head}"
            );
            let length = head
                .split("content-length: ")
                .nth(1)
                .unwrap()
                .split("\r\n")
                .next()
                .unwrap();
            let mut body = vec![0; length.parse().unwrap()];
            stream.read_exact(&mut body).await.unwrap();
            let request = ExportTraceServiceRequest::decode(body.as_slice()).unwrap();
            self.received.lock().unwrap().push(request);
            stream
                .write_all(b"HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n")
                .await
                .unwrap();
        }
    }

    pub(crate) fn spans(&self) -> Vec<Span> {
        let received = self.received.lock().unwrap();
        let scopes = received
            .iter()
            .flat_map(|request| &request.resource_spans)
            .flat_map(|one| &one.scope_spans);
        scopes.flat_map(|scope| scope.spans.clone()).collect()
    }

    fn service(&self) -> String {
        let received = self.received.lock().unwrap();
        let resource = received[0].resource_spans[0].resource.clone().unwrap();
        attributes(&resource.attributes)["service.name"].clone()
    }
}

pub(crate) fn attributes(attributes: &[KeyValue]) -> BTreeMap<String, String> {
    let text = |value: &KeyValue| match value.value.clone().and_then(|value| value.value) {
        Some(any_value::Value::StringValue(text)) => text,
        Some(any_value::Value::IntValue(number)) => number.to_string(),
        other => format!("{other:?}"),
    };
    attributes
        .iter()
        .map(|one| (one.key.clone(), text(one)))
        .collect()
}

/// The operator, which sends its traces to `endpoint` at once.
fn operator(bench: &Bench, endpoint: &str) -> OperatorProcess {
    OperatorProcess::start(&OperatorCommand {
        binary: Path::new(env!("CARGO_BIN_EXE_steersman")),
        folder: bench.folder.path(),
        kubeconfig: bench.user.kubeconfig(),
        arguments: &[],
        environment: &[
            ("OTEL_EXPORTER_OTLP_ENDPOINT", endpoint),
            ("OTEL_BSP_SCHEDULE_DELAY", "50"),
        ],
        log: &bench.folder.path().join("traced.log"),
    })
    .unwrap()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_reconcile_is_a_trace_of_its_steps_and_requests() {
    let Some(bench) = Bench::with_kind("a_reconcile_is_a_trace").await else {
        return;
    };
    let receiver = Receiver::default();
    let port = receiver.listen().await;
    let operator = operator(&bench, &format!("http://127.0.0.1:{port}"));
    operator.wait_until_ready(PATIENCE).await.unwrap();
    bench.apply_web("shop", json!({"password": "canary"})).await;
    bench.wait_revision("shop", 1).await;
    let begun = Instant::now();
    let root = loop {
        let spans = receiver.spans();
        let parents: Vec<_> = spans
            .iter()
            .filter(|span| span.name == "install")
            .map(|span| &span.parent_span_id)
            .collect();
        if let Some(root) = spans.iter().find(|span| parents.contains(&&span.span_id)) {
            break root.clone();
        }
        assert!(
            begun.elapsed() < PATIENCE,
            "no span of an installation in {spans:#?}"
        );
        tokio::time::sleep(Duration::from_millis(100)).await;
    };
    operator.stop().await.unwrap();

    let spans = receiver.spans();
    assert_eq!(receiver.service(), "steersman");
    assert_eq!(root.name, "reconcile");
    let of_root = attributes(&root.attributes);
    assert_eq!(
        (
            of_root["steersman.resource.kind"].as_str(),
            of_root["steersman.resource.name"].as_str()
        ),
        ("Web", "shop")
    );
    assert_eq!(of_root["k8s.namespace.name"], bench.namespace);
    let in_trace: Vec<&Span> = spans
        .iter()
        .filter(|span| span.trace_id == root.trace_id)
        .collect();
    let names: Vec<&str> = in_trace.iter().map(|span| span.name.as_str()).collect();
    for name in ["observe", "install", "render", "PATCH"] {
        assert!(names.contains(&name), "no {name} in {names:?}");
    }
    // The status waits for the first word of the objects' controllers.
    assert!(spans.iter().any(|span| span.name == "report"), "{spans:#?}");
    let created = in_trace.iter().filter(|span| span.name == "PATCH").find(|span| {
        attributes(&span.attributes)
            .get("url.path")
            .is_some_and(|path| path.ends_with("/configmaps/shop-config"))
    });
    let created = created.expect("a request for the ConfigMap");
    assert_eq!(
        path_of(created, &spans),
        "reconcile/install/apply 5/apply kind ConfigMap 1/PATCH"
    );
    assert_eq!(
        attributes(&created.attributes)["http.response.status_code"],
        "201"
    );
    let of_request = attributes(&created.attributes);
    assert_eq!(of_request["http.request.method"], "PATCH");
    let (server, port) = (&of_request["server.address"], &of_request["server.port"]);
    let expected = format!("https://{server}:{port}{}", of_request["url.path"]);
    assert_eq!(of_request["url.full"], expected);
    assert!(!format!("{spans:?}").contains("canary"));
    // The log is the same as without traces.
    let log = operator.log_text();
    assert!(log.contains("\"msg\":\"Installed release\""), "{log}");
    assert!(!log.contains("Traces can't be sent"), "{log}");
}

/// What fails says of which kind that is, and no more.
#[tokio::test(flavor = "multi_thread")]
async fn what_fails_has_the_type_of_its_error() {
    let Some(bench) = Bench::with_kind("what_fails_has_the_type").await else {
        return;
    };
    let refused = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: Not_A_Name}\ndata: {password: '{{ .Values.password }}'}\n";
    bench.add_template("refused.yaml", refused);
    let receiver = Receiver::default();
    let port = receiver.listen().await;
    let operator = operator(&bench, &format!("http://127.0.0.1:{port}"));
    operator.wait_until_ready(PATIENCE).await.unwrap();
    bench.apply_web("shop", json!({"password": "canary"})).await;
    bench.wait_failed("shop", "Ready").await;
    let trace = trace_with(&receiver, "install").await;
    operator.stop().await.unwrap();
    let failed = trace.iter().filter(|span| {
        let status = span.status.as_ref();
        status.is_some_and(|status| status.code() == StatusCode::Error)
    });
    let types: BTreeMap<&str, String> = failed
        .map(|span| {
            let of_span = attributes(&span.attributes);
            (span.name.as_str(), of_span["error.type"].clone())
        })
        .collect();
    assert_eq!(types.get("PATCH").map(String::as_str), Some("422"), "{types:?}");
    assert_eq!(
        types.get("install").map(String::as_str),
        Some("_OTHER"),
        "{types:?}"
    );
    assert!(!format!("{trace:?}").contains("canary"));
}

/// The trace with a span of this name, once that has come whole: its root comes last.
pub(crate) async fn trace_with(receiver: &Receiver, name: &str) -> Vec<Span> {
    let begun = Instant::now();
    loop {
        let spans = receiver.spans();
        let found = spans.iter().find(|span| span.name == name).and_then(|span| {
            let of_trace = spans.iter().filter(|other| other.trace_id == span.trace_id);
            let of_trace: Vec<Span> = of_trace.cloned().collect();
            let is_whole = of_trace.iter().any(|span| span.parent_span_id.is_empty());
            is_whole.then_some(of_trace)
        });
        if let Some(found) = found {
            return found;
        }
        assert!(begun.elapsed() < PATIENCE, "no trace with {name} in {spans:#?}");
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
}

/// Where a span stands in its trace, and what it says of itself.
fn path_of(span: &Span, trace: &[Span]) -> String {
    let parent = trace.iter().find(|parent| parent.span_id == span.parent_span_id);
    let of_span = attributes(&span.attributes);
    let said = [
        "steersman.hook.event",
        "steersman.object.kind",
        "steersman.object",
        "steersman.object.count",
    ];
    let said: Vec<&str> = said
        .iter()
        .filter_map(|key| of_span.get(*key).map(String::as_str))
        .collect();
    let own = [&[span.name.as_str()], said.as_slice()].concat().join(" ");
    match parent {
        Some(parent) => format!("{}/{own}", path_of(parent, trace)),
        None => span.name.clone(),
    }
}

/// The steps of a trace, without its requests, by when they began.
fn steps(bench: &Bench, trace: &[Span]) -> Vec<String> {
    let mut steps: Vec<&Span> = trace
        .iter()
        .filter(|span| span.name != span.name.to_uppercase())
        .collect();
    steps.sort_by_key(|span| span.start_time_unix_nano);
    let paths = steps.iter().map(|span| path_of(span, trace));
    paths.map(|path| path.replace(&bench.namespace, "NS")).collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn hooks_applies_and_prunes_are_steps_of_their_own() {
    let Some(bench) = Bench::with_kind("hooks_applies_and_prunes_are_steps").await else {
        return;
    };
    let receiver = Receiver::default();
    let port = receiver.listen().await;
    bench.add_template(
        "wrong.yaml",
        "{{ if .Values.wrong }}{apiVersion: v1, kind: Service, metadata: {name: wrong}, spec: {ports: [{port: -1}]}}{{ end }}",
    );
    let operator = operator(&bench, &format!("http://127.0.0.1:{port}"));
    operator.wait_until_ready(PATIENCE).await.unwrap();
    bench
        .apply_web("shop", json!({"password": "canary", "extra": true}))
        .await;
    bench.wait_revision("shop", 1).await;
    bench
        .apply_web("shop", json!({"password": "canary-two", "hooks": true}))
        .await;
    bench.wait_revision("shop", 2).await;
    let upgrade = trace_with(&receiver, "upgrade").await;
    let told = steps(&bench, &upgrade);
    let expected = [
        "reconcile/upgrade",
        "reconcile/upgrade/render",
        "reconcile/upgrade/define",
        "reconcile/upgrade/store",
        "reconcile/upgrade/hooks pre-upgrade",
        "reconcile/upgrade/hooks pre-upgrade/hook ConfigMap NS/shop-before",
        "reconcile/upgrade/apply 5",
        "reconcile/upgrade/apply 5/apply kind Secret 1",
        "reconcile/upgrade/apply 5/apply kind ConfigMap 1",
        "reconcile/upgrade/apply 5/apply kind ClusterRole 1",
        "reconcile/upgrade/apply 5/apply kind Service 1",
        "reconcile/upgrade/apply 5/apply kind Deployment 1",
        "reconcile/upgrade/prune 1",
        "reconcile/upgrade/store",
    ];
    let of_upgrade: Vec<&str> = told
        .iter()
        .map(String::as_str)
        .filter(|step| step.starts_with("reconcile/upgrade"))
        .collect();
    assert_eq!(of_upgrade, expected);
    let deleted = upgrade.iter().find(|span| {
        span.name == "DELETE" && attributes(&span.attributes)["url.path"].ends_with("/configmaps/shop-extra")
    });
    let deleted = path_of(deleted.expect("the request of the prune"), &upgrade);
    assert_eq!(deleted, "reconcile/upgrade/prune 1/DELETE");

    // What fails is marked; why, is in the log, and in no trace.
    bench
        .apply_web("shop", json!({"password": "canary-three", "wrong": true}))
        .await;
    bench.wait_failed("shop", "ReleaseFailed").await;
    let begun = Instant::now();
    let failed = loop {
        let spans = receiver.spans();
        let failed = spans
            .iter()
            .filter(|span| span.status.as_ref().is_some_and(|status| status.code == 2));
        let names: Vec<String> = failed.map(|span| span.name.clone()).collect();
        if names.iter().any(|name| name == "upgrade") {
            break names;
        }
        assert!(begun.elapsed() < PATIENCE, "no failure in {spans:#?}");
        tokio::time::sleep(Duration::from_millis(100)).await;
    };
    for name in ["apply kind", "apply", "upgrade"] {
        assert!(
            failed.iter().any(|failed| failed == name),
            "no {name} in {failed:?}"
        );
    }
    bench.delete_web("shop").await;
    let uninstall = steps(&bench, &trace_with(&receiver, "uninstall").await);
    assert!(
        uninstall
            .iter()
            .any(|step| step.starts_with("reconcile/uninstall/delete ")),
        "{uninstall:#?}"
    );
    operator.stop().await.unwrap();
    assert!(!format!("{:?}", receiver.spans()).contains("canary"));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_receiver_that_is_away_is_told_of_once_and_holds_nothing_up() {
    let Some(bench) = Bench::with_kind("a_receiver_that_is_away").await else {
        return;
    };
    let operator = operator(&bench, "http://127.0.0.1:1");
    operator.wait_until_ready(PATIENCE).await.unwrap();
    for revision in 1..4 {
        bench
            .apply_web("shop", json!({"message": revision.to_string()}))
            .await;
        bench.wait_revision("shop", revision).await;
    }
    crate::bench::wait_for_line(&operator, "Traces can't be sent").await;
    operator.stop().await.unwrap();
    let log = operator.log_text();
    assert_eq!(log.matches("Traces can't be sent").count(), 1, "{log}");
}

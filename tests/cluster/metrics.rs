//! /metrics over TLS, for whom the roles of the API server let read it.

use std::path::Path;
use std::time::{Duration, Instant};

use hyper::{Request, StatusCode};
use kube::client::Body;
use serde_json::json;
use steersman_testkit::cluster::{OperatorCommand, OperatorProcess};

use crate::bench::Bench;

/// More than an answer is kept for, on a busy machine.
const PATIENCE: Duration = Duration::from_mins(1);

/// What a reader of /metrics sees.
pub(crate) struct Reader {
    client: kube::Client,
}

impl Reader {
    pub(crate) fn of(operator: &OperatorProcess) -> Self {
        let address = format!("https://127.0.0.1:{}", operator.metrics_port());
        let mut config = kube::Config::new(address.parse().unwrap());
        config.accept_invalid_certs = true;
        let client = kube::Client::try_from(config).unwrap();
        Self { client }
    }

    /// Status and body; no status where nobody listens yet.
    async fn read(&self, token: Option<&str>) -> (Option<StatusCode>, String) {
        let mut request = Request::get("/metrics");
        if let Some(token) = token {
            request = request.header("Authorization", format!("Bearer {token}"));
        }
        match self.client.send(request.body(Body::empty()).unwrap()).await {
            Ok(answer) => {
                let status = answer.status();
                let body = answer.into_body().collect_bytes().await.unwrap();
                (Some(status), String::from_utf8(body.to_vec()).unwrap())
            }
            Err(error) => (None, format!("{error:?}")),
        }
    }

    /// Reads until the status is this one, and gives the body. An answer before it may only be `before`.
    pub(crate) async fn wait_for(
        &self,
        status: StatusCode,
        before: Option<StatusCode>,
        token: Option<&str>,
    ) -> String {
        let begun = Instant::now();
        loop {
            let (found, body) = self.read(token).await;
            if found == Some(status) {
                return body;
            }
            assert_eq!(found, before, "{body}");
            assert!(
                begun.elapsed() < PATIENCE,
                "still {found:?}, not {status}: {body}"
            );
            tokio::time::sleep(Duration::from_millis(100)).await;
        }
    }
}

#[tokio::test]
async fn metrics_are_for_bearers_of_tokens_with_the_role() {
    let Some(bench) = Bench::new("metrics_are_for_bearers_of_tokens_with_the_role").await else {
        return;
    };
    let cluster = bench.cluster;
    let roles = Path::new(env!("CARGO_MANIFEST_DIR")).join("deploy/rbac/metrics_auth_role.yaml");
    cluster
        .apply(&std::fs::read_to_string(roles).unwrap())
        .await
        .unwrap();
    let namespace = bench.namespace.as_str();
    let account = ["create", "serviceaccount", "reader", "-n", namespace];
    cluster.kubectl(&account).await.unwrap();
    let token = cluster
        .kubectl(&["create", "token", "reader", "-n", namespace])
        .await
        .unwrap();
    let token = token.trim();

    // An operator with no rights at all but those that it gets below.
    let user = cluster.user(&format!("metrics-{namespace}"), &[]).unwrap();
    let operator = OperatorProcess::start(&OperatorCommand {
        binary: Path::new(env!("CARGO_BIN_EXE_steersman")),
        folder: bench.folder.path(),
        kubeconfig: user.kubeconfig(),
        arguments: &[
            "--metrics-secure",
            "--metrics-require-rbac",
            "--zap-log-level=debug",
        ],
        environment: &[],
        log: &bench.folder.path().join("operator.log"),
    })
    .unwrap();
    let reader = Reader::of(&operator);

    assert_eq!(
        reader.wait_for(StatusCode::UNAUTHORIZED, None, None).await,
        "unauthorized\n"
    );
    let failed = reader
        .wait_for(StatusCode::INTERNAL_SERVER_ERROR, None, Some(token))
        .await;
    assert_eq!(failed, "internal server error\n");
    // The first failures may be from before the API server was reached.
    let begun = Instant::now();
    while !operator.log_text().contains("failed to create a TokenReview") {
        assert!(begun.elapsed() < PATIENCE, "{}", operator.log_text());
        tokio::time::sleep(Duration::from_millis(100)).await;
        let status = reader.read(Some(token)).await.0;
        assert_eq!(status, Some(StatusCode::INTERNAL_SERVER_ERROR));
    }

    cluster
        .grant_cluster_role(&user, "visitors-operator-metrics-auth")
        .await
        .unwrap();
    let failing = Some(StatusCode::INTERNAL_SERVER_ERROR);
    let forbidden = reader.wait_for(StatusCode::FORBIDDEN, failing, Some(token)).await;
    assert_eq!(forbidden, "forbidden\n");
    let forged = format!("{token}x");
    assert_eq!(reader.read(Some(&forged)).await.0, Some(StatusCode::UNAUTHORIZED));

    let binding = json!({
        "apiVersion": "rbac.authorization.k8s.io/v1", "kind": "ClusterRoleBinding",
        "metadata": {"name": format!("metrics-reader-{namespace}")},
        "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": "visitors-operator-metrics-reader"},
        "subjects": [{"kind": "ServiceAccount", "name": "reader", "namespace": namespace}],
    });
    cluster.apply_object(&binding).await.unwrap();
    let page = reader
        .wait_for(StatusCode::OK, Some(StatusCode::FORBIDDEN), Some(token))
        .await;
    assert!(page.contains("helm_operator_build_info"), "{page}");

    let log = operator.log_text();
    assert!(!log.contains(token), "the token is in the log");
    operator.stop().await.unwrap();
}

/// The families of helm-operator's /metrics that describe its work, with the names of their labels; without those of the
/// Go runtime. A label `priority` without a value is none.
const FAMILIES: &[(&str, &str)] = &[
    ("controller_runtime_active_workers", "controller"),
    ("controller_runtime_max_concurrent_reconciles", "controller"),
    ("controller_runtime_reconcile_errors_total", "controller"),
    ("controller_runtime_reconcile_panics_total", "controller"),
    (
        "controller_runtime_reconcile_time_seconds_bucket",
        "controller,le",
    ),
    ("controller_runtime_reconcile_total", "controller,result"),
    ("controller_runtime_terminal_reconcile_errors_total", "controller"),
    ("helm_operator_build_info", "commit,version"),
    ("process_cpu_seconds_total", ""),
    ("process_network_receive_bytes_total", ""),
    ("process_resident_memory_bytes", ""),
    ("process_virtual_memory_max_bytes", ""),
    ("resource_created_at_seconds", "group,kind,name,namespace,version"),
    ("rest_client_requests_total", "code,host,method"),
    ("workqueue_adds_total", "controller,name"),
    ("workqueue_depth", "controller,name"),
    ("workqueue_longest_running_processor_seconds", "controller,name"),
    ("workqueue_queue_duration_seconds_bucket", "controller,le,name"),
    ("workqueue_retries_total", "controller,name"),
    ("workqueue_unfinished_work_seconds", "controller,name"),
    ("workqueue_work_duration_seconds_bucket", "controller,le,name"),
];

/// The names of the labels of a family's first line.
fn labels(page: &str, family: &str) -> Option<String> {
    let line = page.lines().find(|line| {
        line.strip_prefix(family)
            .is_some_and(|rest| rest.starts_with(['{', ' ']))
    })?;
    let Some((_, labels)) = line.split_once('{') else {
        return Some(String::new());
    };
    let names = labels
        .split("=\"")
        .filter_map(|part| part.rsplit([',', '{', '"']).next());
    let mut names: Vec<&str> = names.filter(|name| !name.contains('}')).collect();
    names.sort_unstable();
    Some(names.join(","))
}

fn value(page: &str, line: &str) -> f64 {
    let found = page.lines().find_map(|other| other.strip_prefix(line));
    found
        .unwrap_or_else(|| panic!("no {line} in:\n{page}"))
        .trim()
        .parse()
        .unwrap()
}

#[tokio::test]
async fn metrics_have_helm_operators_names_and_tell_of_the_work() {
    let Some(bench) = Bench::with_kind("metrics_have_helm_operators_names").await else {
        return;
    };
    let operator = bench.ready_operator().await;
    bench.apply_web("shop", json!({})).await;
    bench.wait_revision("shop", 1).await;
    bench.apply_web("broken", json!({"broken": true})).await;
    let page = || async { operator.metrics().await.unwrap() };
    let failed = r#"controller_runtime_terminal_reconcile_errors_total{controller="web-controller"}"#;
    let begun = Instant::now();
    while value(&page().await, failed) < 1.0 {
        assert!(begun.elapsed() < PATIENCE, "{}", page().await);
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    let stalled = format!(
        r#"steersman_resource_condition{{condition="Stalled",group="{}",kind="Web",name="broken",namespace="{}",reason="RenderFailed",version="v1"}} 1"#,
        bench.group, bench.namespace
    );
    while !page().await.contains(&stalled) {
        assert!(begun.elapsed() < PATIENCE, "{}", page().await);
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    let page = page().await;
    for (family, expect) in FAMILIES {
        assert_eq!(labels(&page, family).as_deref(), Some(*expect), "{family}");
    }
    let of_shop = format!(
        r#"{{group="{}",kind="Web",name="shop",namespace="{}",version="v1"}}"#,
        bench.group, bench.namespace
    );
    assert_eq!(
        value(&page, &format!("steersman_release_revision{of_shop}")) as i64,
        1
    );
    assert_eq!(
        value(&page, &format!("steersman_release_objects{of_shop}")) as i64,
        5
    );
    assert!(
        value(
            &page,
            r#"workqueue_adds_total{controller="web-controller",name="web-controller"}"#
        ) >= 2.0
    );
    let host = bench.cluster.admin().kubeconfig();
    let host = std::fs::read_to_string(host).unwrap();
    let host = host
        .lines()
        .find_map(|line| line.split_once("https://"))
        .unwrap()
        .1
        .trim_matches(['"', ' '])
        .to_owned();
    let writes = format!(r#"rest_client_requests_total{{code="200",host="{host}",method="PATCH"}}"#);
    assert!(value(&page, &writes) >= 5.0, "{page}");
    operator.stop().await.unwrap();
}

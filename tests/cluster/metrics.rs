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
struct Reader {
    client: kube::Client,
}

impl Reader {
    fn of(operator: &OperatorProcess) -> Self {
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
    async fn wait_for(&self, status: StatusCode, before: Option<StatusCode>, token: Option<&str>) -> String {
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
    cluster.apply(&binding.to_string()).await.unwrap();
    let page = reader
        .wait_for(StatusCode::OK, Some(StatusCode::FORBIDDEN), Some(token))
        .await;
    assert!(page.contains("helm_operator_build_info"), "{page}");

    let log = operator.log_text();
    assert!(!log.contains(token), "the token is in the log");
    operator.stop().await.unwrap();
}

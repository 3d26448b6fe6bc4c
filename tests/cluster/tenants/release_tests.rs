//! Tests of releases, as the account of these and within the bounds of their watch.

use serde_json::{Value, json};

use super::{By, Tenants};
use crate::bench::condition;

/// A test that has no end, where values decide its namespace.
const TEST: &str = "
apiVersion: v1
kind: ConfigMap
metadata:
  name: {{ .Release.Name }}-test
  namespace: {{ .Values.place | default .Release.Namespace }}
  annotations: {helm.sh/hook: test}
";

#[tokio::test]
async fn tests_are_made_by_the_account_and_within_its_bounds() {
    let Some(tenants) = Tenants::new("tests_are_made_by_the_account", By::Both).await else {
        return;
    };
    let bench = &tenants.bench;
    bench.add_template("test.yaml", TEST);
    let watches = json!([{"group": bench.group, "version": "v1", "kind": "Web", "chart": "web",
        "serviceAccountName": "deployer", "confine": {}, "test": {}}]);
    bench.watches(&watches.to_string());
    tenants.generate_roles().await;
    let operator = tenants.operator(&[]).await;
    let mark = bench.cluster.audit_mark().await.unwrap();
    for (place, revision, expect) in [(None, 1, "True"), (Some(&tenants.other), 2, "False")] {
        bench.apply_web("shop", json!({ "place": place })).await;
        bench.wait_revision("shop", revision).await;
        let request = revision.to_string();
        let annotation = json!({"metadata": {"annotations": {"steersman.dev/test": request}}});
        bench.patch_web("shop", annotation).await;
        let tested = |web: &Value| {
            let said = condition(web, "TestSuccess").filter(|(status, _, _)| status != "Unknown")?;
            (web["status"]["lastHandledTest"] == request.as_str()).then_some(said)
        };
        let (status, _, message) = bench.wait("the tests", &bench.webs(), "shop", tested).await;
        assert_eq!(status, expect, "{message}");
        if place.is_some() {
            assert!(message.contains("may not be part of the release"), "{message}");
        }
    }
    let sent = tenants.sent_since(mark).await;
    let of_test = sent.filter(|request| request.name == "shop-test");
    assert!(!of_test.requests.is_empty(), "it was made");
    let account = Tenants::account(&bench.namespace);
    for request in &of_test.requests {
        let sent_as = (&request.user, &request.namespace);
        assert_eq!(sent_as, (&account, &bench.namespace), "{request:?}");
    }
    operator.stop().await.unwrap();
}

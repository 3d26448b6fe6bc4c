//! What users may write into a resource, its status, its annotations, and Secrets: each mistake is told in the status of that
//! resource, others are served, and nothing of what was planted is said anywhere.

use kube::api::{DynamicObject, Patch, PatchParams, PostParams};
use serde_json::{Value, json};
use steersman_testkit::cluster::{Fault, OperatorProcess};

use crate::bench::{Bench, condition, wait_for_line};
use crate::faults::Lane;

/// A value whose key says that it is secret, so that nothing may show it.
const CANARY: &str = "canary-4711";

const PERIOD: &str = "helm.sdk.operatorframework.io/reconcile-period";

/// Posts a resource as text: what a client of its own may send.
async fn post(bench: &Bench, name: &str, spec: &str) {
    let group = &bench.group;
    let text = format!(
        r#"{{"apiVersion": "{group}/v1", "kind": "Web", "metadata": {{"name": "{name}"}}, "spec": {spec}}}"#
    );
    let path = format!("/apis/{group}/v1/namespaces/{}/webs", bench.namespace);
    let request = hyper::Request::post(path).header("Content-Type", "application/json");
    let request = request.body(text.into_bytes()).unwrap();
    bench.client.request_text(request).await.unwrap();
}

/// Why a resource is stalled, as kubectl tells it, which reads what is nested without end.
async fn stalled(bench: &Bench, name: &str) -> String {
    let path = r#"jsonpath={.status.conditions[?(@.type=="Stalled")].message}"#;
    let kind = format!("webs.{}", bench.group);
    let stalled = [
        "wait",
        "--for=condition=Stalled",
        &kind,
        name,
        "-n",
        &bench.namespace,
        "--timeout=60s",
    ];
    bench.cluster.kubectl(&stalled).await.unwrap();
    let arguments = ["get", &kind, name, "-n", &bench.namespace, "-o", path];
    bench.cluster.kubectl(&arguments).await.unwrap()
}

/// Waits until the release of a resource has failed with a message that has this part.
async fn failed(bench: &Bench, name: &str, said: &str) {
    let has_said = |web: &Value| {
        let (_, _, message) = condition(web, "Irreconcilable")?;
        message.contains(said).then_some(())
    };
    bench
        .wait(&format!("`{said}`"), &bench.webs(), name, has_said)
        .await;
}

/// A resource that nothing is wrong with is released.
async fn serves_others(bench: &Bench, name: &str) {
    bench.apply_web(name, json!({})).await;
    bench.wait_revision(name, 1).await;
}

/// What was planted is in no line of the log, no event, no status and no metric.
async fn says_nothing_of_the_canary(bench: &Bench, operator: &OperatorProcess) {
    let kind = format!("webs.{}", bench.group);
    let arguments = [
        "get",
        &kind,
        "-n",
        &bench.namespace,
        "-o",
        "jsonpath={.items[*].status}",
    ];
    let statuses = bench.cluster.kubectl(&arguments).await.unwrap();
    let metrics = operator.metrics().await.unwrap();
    for said in [operator.log_text(), bench.events().await, metrics, statuses] {
        assert!(!said.contains(CANARY), "{said}");
    }
}

#[tokio::test]
async fn specs_of_any_shape_are_refused_and_stop_nobody() {
    let Some(bench) = Bench::with_kind("bad_inputs").await else {
        return;
    };
    let operator = bench.ready_operator().await;
    for (name, spec) in [
        ("list", format!("[\"{CANARY}\"]")),
        ("text", format!("\"{CANARY}\"")),
        ("number", "7".to_owned()),
    ] {
        post(&bench, name, &spec).await;
        assert_eq!(
            stalled(&bench, name).await,
            "failed to read the spec: it must be a map",
            "{name}"
        );
    }
    let nested = |levels: usize| {
        format!(
            "{}{{\"password\": \"{CANARY}\"}}{}",
            "{\"a\": ".repeat(levels),
            "}".repeat(levels)
        )
    };
    for levels in [101, 500, 2000] {
        let name = format!("deep-{levels}");
        post(&bench, &name, &nested(levels)).await;
        let said = "failed to read the spec: it is nested deeper than 100 levels";
        assert_eq!(stalled(&bench, &name).await, said);
    }
    post(&bench, "deep-enough", &nested(90)).await;
    bench.wait_revision("deep-enough", 1).await;
    // A number that no float has, and half a letter.
    post(
        &bench,
        "odd",
        &format!(r#"{{"message": "\\ud800", "password": "{CANARY}", "big": 12345678901234567890}}"#),
    )
    .await;
    bench.wait_revision("odd", 1).await;
    let long = format!(
        r#"{{"password": "{CANARY}", "message": "{}"}}"#,
        "x".repeat(1_200_000)
    );
    post(&bench, "long", &long).await;
    let (_, _, message) = bench.wait_failed("long", "ReleaseFailed").await;
    assert!(
        message.contains("ConfigMap bench") || message.contains("long-config"),
        "{message}"
    );
    assert!(message.contains("Too long") && message.len() < 2000, "{message}");
    serves_others(&bench, "beacon").await;
    says_nothing_of_the_canary(&bench, &operator).await;
    operator.stop().await.unwrap();

    // A list with all of them is read, too.
    let operator = bench.ready_operator().await;
    serves_others(&bench, "another").await;
    says_nothing_of_the_canary(&bench, &operator).await;
    let kind = format!("webs.{}", bench.group);
    for name in ["deep-2000", "list"] {
        let arguments = ["delete", &kind, name, "-n", &bench.namespace, "--timeout=60s"];
        bench.cluster.kubectl(&arguments).await.unwrap();
    }
    operator.stop().await.unwrap();
}

#[tokio::test]
async fn names_that_objects_cannot_have_lead_nowhere() {
    let Some(bench) = Bench::with_kind("bad_inputs").await else {
        return;
    };
    bench.add_template(
        "placed.yaml",
        "{{- if .Values.object }}\napiVersion: v1\nkind: ConfigMap\nmetadata: {{ .Values.object | toJson }}\n{{- end }}\n",
    );
    let operator = bench.ready_operator().await;
    let cannot_be =
        |text: &str, field: &str| format!("`{text}` cannot be the `metadata.{field}` of an object");
    for (name, object, said) in [
        (
            "upper",
            json!({"name": "A_B"}),
            "a lowercase RFC 1123 subdomain".to_owned(),
        ),
        (
            "missing",
            json!({"name": "a", "namespace": "not-there"}),
            "not-there".to_owned(),
        ),
        (
            "nameless",
            json!({"labels": {"a": "b"}}),
            "the document has no `metadata.name`".to_owned(),
        ),
        (
            "nowhere",
            json!({"name": "a", "namespace": "No Where"}),
            cannot_be("No Where", "namespace"),
        ),
        (
            "inside",
            json!({"name": "a/status"}),
            cannot_be("a/status", "name"),
        ),
        (
            "query",
            json!({"name": "a?dryRun=All"}),
            cannot_be("a?dryRun=All", "name"),
        ),
        (
            "upwards",
            json!({"name": "a", "namespace": "../kube-system"}),
            cannot_be("../kube-system", "namespace"),
        ),
    ] {
        bench
            .apply_web(name, json!({"object": object, "password": CANARY}))
            .await;
        failed(&bench, name, &said).await;
    }
    serves_others(&bench, "beacon").await;
    says_nothing_of_the_canary(&bench, &operator).await;
    operator.stop().await.unwrap();
}

#[tokio::test]
async fn annotations_that_mean_nothing_are_named_and_change_nothing() {
    let Some(bench) = Bench::with_kind("bad_inputs").await else {
        return;
    };
    let operator = bench.ready_operator().await;
    serves_others(&bench, "shop").await;
    for period in ["soon", "-1h", "1e9h", "", "999999999999h"] {
        bench
            .patch_web("shop", json!({"metadata": {"annotations": {PERIOD: period}}}))
            .await;
    }
    let flags = json!({"helm.sdk.operatorframework.io/upgrade-force": "perhaps", "steersman.dev/pause": "canary\u{1b}[31m",
        PERIOD: "1ns"});
    bench
        .patch_web("shop", json!({"metadata": {"annotations": flags}}))
        .await;
    wait_for_line(&operator, "upgrade-force is ignored").await;
    assert!(!operator.log_text().contains('\u{1b}'));
    // The shortest period is no busy loop.
    let mark = bench.cluster.audit_mark().await.unwrap();
    serves_others(&bench, "beacon").await;
    let asked = bench
        .cluster
        .audit_since(mark)
        .await
        .unwrap()
        .by_user(bench.user.name());
    let about_shop = asked.filter(|request| request.name == "shop" && request.verb != "watch");
    assert!(about_shop.len() < 20, "{about_shop}");
    bench.apply_web("shop", json!({"message": "new"})).await;
    bench.wait_revision("shop", 2).await;
    operator.stop().await.unwrap();
}

#[tokio::test]
async fn a_status_that_a_user_has_written_becomes_ours() {
    let Some(bench) = Bench::with_kind("bad_inputs").await else {
        return;
    };
    let many: Vec<Value> = (0..500)
        .map(|number| json!({"type": format!("Odd{number}"), "status": number}))
        .collect();
    for (name, status) in [
        (
            "text",
            json!({"conditions": "none", "deployedRelease": 7, "revision": "x"}),
        ),
        ("many", json!({"conditions": many, "observedGeneration": 1e300})),
        (
            "nested",
            json!({"conditions": [[{"type": {}}], null, 1], "health": [1], "dryRun": "x"}),
        ),
    ] {
        bench.apply_web(name, json!({})).await;
        let (parameters, patch) = (PatchParams::default(), Patch::Merge(json!({"status": status})));
        bench
            .webs()
            .patch_status(name, &parameters, &patch)
            .await
            .unwrap();
        bench
            .patch_web(name, json!({"metadata": {"finalizers": ["example.com/unknown"]}}))
            .await;
    }
    let operator = bench.ready_operator().await;
    for name in ["text", "many", "nested"] {
        let web = bench.wait_revision(name, 1).await;
        assert_eq!(condition(&web, "Deployed").unwrap().0, "True", "{name}");
        // A finalizer of others keeps the resource, and nothing of the release.
        bench.delete_web(name).await;
        let ours_is_gone = |web: &Value| {
            (web.pointer("/metadata/finalizers") == Some(&json!(["example.com/unknown"]))).then_some(())
        };
        bench.wait("our end", &bench.webs(), name, ours_is_gone).await;
        bench
            .patch_web(name, json!({"metadata": {"finalizers": null}}))
            .await;
        bench.wait_gone(&bench.webs(), name).await;
    }
    assert_eq!(bench.revisions().await, [""; 0]);
    operator.stop().await.unwrap();
}

/// Lines of the log, events and conditions can't be forged by what a chart or a value says.
#[tokio::test]
async fn a_message_of_a_chart_forges_no_line_of_the_log() {
    let Some(bench) = Bench::with_kind("bad_inputs").await else {
        return;
    };
    bench.add_template(
        "loud.yaml",
        "{{- if .Values.say }}\n{{ fail .Values.say }}\n{{- end }}\n",
    );
    let operator = bench.ready_operator().await;
    let forged = "no\n{\"level\":\"info\",\"msg\":\"forged\"}\r\n\u{1b}[31mred\u{9b}0m\u{7}";
    let spec = json!({"say": forged, "password": CANARY});
    post(&bench, "shop", &spec.to_string()).await;
    let (_, _, message) = bench.wait_failed("shop", "ReleaseFailed").await;
    assert!(
        message.contains("forged") && !message.contains(char::is_control),
        "{message:?}"
    );
    serves_others(&bench, "beacon").await;
    for line in operator.log_text().lines() {
        let line: Value = serde_json::from_str(line).unwrap_or_else(|error| panic!("{error}: {line}"));
        assert_ne!(line["msg"], "forged", "{line}");
    }
    assert!(!operator.log_text().contains(['\u{1b}', '\u{9b}']));
    says_nothing_of_the_canary(&bench, &operator).await;
    operator.stop().await.unwrap();
}

/// Two revisions say that they are deployed, and one between them is gone.
#[tokio::test]
async fn a_history_with_a_gap_and_two_deployed_revisions_goes_on() {
    let Some(bench) = Bench::with_kind("bad_inputs").await else {
        return;
    };
    let operator = bench.ready_operator().await;
    for (message, revision) in [("one", 1), ("two", 2), ("three", 3)] {
        bench.apply_web("shop", json!({"message": message})).await;
        bench.wait_revision("shop", revision).await;
    }
    operator.stop().await.unwrap();
    let secrets = bench.secrets();
    let mut third = secrets.get("sh.helm.release.v1.shop.v3").await.unwrap();
    secrets
        .delete("sh.helm.release.v1.shop.v2", &Default::default())
        .await
        .unwrap();
    // A copy under a name of a later revision holds another one.
    third.metadata.name = Some("sh.helm.release.v1.shop.v9".to_owned());
    third.metadata.uid = None;
    third.metadata.resource_version = None;
    third.metadata.managed_fields = None;
    secrets.create(&PostParams::default(), &third).await.unwrap();
    let operator = bench.ready_operator().await;
    let message = stalled(&bench, "shop").await;
    assert!(
        message.contains("Secret sh.helm.release.v1.shop.v9 holds a release that is not its own"),
        "{message}"
    );
    secrets
        .delete("sh.helm.release.v1.shop.v9", &Default::default())
        .await
        .unwrap();
    bench.apply_web("shop", json!({"message": "four"})).await;
    bench.wait_revision("shop", 4).await;
    assert_eq!(
        bench.revisions().await,
        ["1 superseded", "3 superseded", "4 deployed"]
    );
    operator.stop().await.unwrap();
}

/// An answer that can't be read is not quoted: it may be of Secrets.
#[tokio::test]
async fn an_answer_that_breaks_off_is_not_quoted() {
    let Some(lane) = Lane::ready("an_answer_that_breaks_off").await else {
        return;
    };
    let bench = &lane.bench;
    bench.apply_web("shop", json!({"password": CANARY})).await;
    bench.wait_revision("shop", 1).await;
    lane.stop().await;
    let vault = json!({"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "vault"}, "stringData": {"a": CANARY}});
    let vault: DynamicObject = serde_json::from_value(vault).unwrap();
    bench
        .secrets()
        .create(&PostParams::default(), &vault)
        .await
        .unwrap();
    let broken = json!({"kind": "Secret", "stringData": {"password": CANARY}}).to_string();
    let broken = &broken[..broken.len() - 1];
    let faults = ["get", "list"].map(|verb| {
        let fault = Fault::on(verb, "secrets").times(2).answer(200, broken);
        lane.proxy.inject(fault)
    });
    lane.start().await;
    bench
        .apply_web("shop", json!({"password": CANARY, "message": "new"}))
        .await;
    bench.wait_revision("shop", 2).await;
    assert!(faults.iter().any(|fault| lane.proxy.struck(*fault) > 0));
    let log = lane.log().await;
    assert!(!log.contains(CANARY), "{log}");
    lane.stop().await;
}

#[tokio::test]
async fn a_lease_of_a_strange_holder_is_waited_for_and_taken() {
    let Some(bench) = Bench::with_kind("bad_inputs").await else {
        return;
    };
    let leases = bench.api("coordination.k8s.io", "v1", "Lease", "leases");
    for (number, spec) in [
        json!({}),
        json!({"holderIdentity": ""}),
        json!({"holderIdentity": "\u{1b}[31m\n{}", "leaseDurationSeconds": 1, "renewTime": "2001-01-01T00:00:00.000000Z"}),
        json!({"holderIdentity": "somebody", "leaseDurationSeconds": 1}),
    ]
    .into_iter()
    .enumerate()
    {
        let name = format!("lease-{number}");
        let lease = json!({"apiVersion": "coordination.k8s.io/v1", "kind": "Lease", "metadata": {"name": name}, "spec": spec});
        let lease: DynamicObject = serde_json::from_value(lease).unwrap();
        leases.create(&PostParams::default(), &lease).await.unwrap();
        let id = format!("--leader-election-id={name}");
        let namespace = format!("--leader-election-namespace={}", bench.namespace);
        let operator = bench.operator_with(&["--leader-elect", &id, &namespace]).await;
        serves_others(&bench, &format!("shop-{number}")).await;
        assert!(!operator.log_text().contains('\u{1b}'));
        operator.stop().await.unwrap();
    }
}

/// What `diff` shows of a Secret hides what others have put there, too.
#[tokio::test]
async fn a_diff_shows_no_value_of_a_secret_whoever_has_set_it() {
    let Some(bench) = Bench::with_kind("bad_inputs").await else {
        return;
    };
    let operator = bench.ready_operator().await;
    bench.apply_web("shop", json!({"password": CANARY})).await;
    bench.wait_revision("shop", 1).await;
    let applied = json!({"data": {"other": CANARY}}).to_string();
    let mut theirs = json!({"apiVersion": "v1", "kind": "Secret",
        "metadata": {"name": "shop", "annotations": {"kubectl.kubernetes.io/last-applied-configuration": applied}},
        "stringData": {"other": CANARY}});
    let mut of_release = bench
        .secrets()
        .list(&Default::default())
        .await
        .unwrap()
        .items
        .into_iter();
    let secret = of_release.find(|secret| secret.data["type"] == "Opaque").unwrap();
    let name = secret.metadata.name.unwrap();
    theirs["metadata"]["name"] = json!(name);
    let parameters = PatchParams::apply("another").force();
    bench
        .secrets()
        .patch(&name, &parameters, &Patch::Apply(&theirs))
        .await
        .unwrap();
    let file = bench.folder.path().join("shop.yaml");
    let spec = json!({"password": "canary-4712", "message": "new"});
    let resource = json!({"apiVersion": format!("{}/v1", bench.group), "kind": "Web",
        "metadata": {"name": "shop", "namespace": bench.namespace}, "spec": spec});
    std::fs::write(&file, resource.to_string()).unwrap();
    let output = tokio::process::Command::new(env!("CARGO_BIN_EXE_steersman"))
        .args(["diff", "-f", "shop.yaml"])
        .env("KUBECONFIG", bench.user.kubeconfig())
        .current_dir(bench.folder.path())
        .output()
        .await
        .unwrap();
    let said = format!(
        "{}{}",
        String::from_utf8_lossy(&output.stdout),
        String::from_utf8_lossy(&output.stderr)
    );
    assert!(said.contains("message: new") || said.contains("new"), "{said}");
    assert!(!said.contains("canary") && !said.contains("Y2FuYXJ5"), "{said}");
    operator.stop().await.unwrap();
}

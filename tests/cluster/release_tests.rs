//! The hooks of `helm test`, which run where a resource or its watch asks for them.

use std::time::Duration;

use kube::api::{Api, DynamicObject, Patch, PatchParams};
use serde_json::{Value, json};
use steersman_testkit::cluster::{AuditMark, Fault};

use crate::bench::{Bench, condition};
use crate::developer::Developer;
use crate::faults::lane::Lane;

/// A test that is a Pod, as most are, with a map before it, and one behind it that goes where it has succeeded.
const TESTS: &str = r#"apiVersion: v1
kind: Pod
metadata:
  name: {{ .Release.Name }}-test
  annotations: {helm.sh/hook: test}
spec:
  restartPolicy: Never
  containers: [{name: test, image: "registry.example.com/test:{{ .Values.tag | default 1 }}"}]
---
apiVersion: v1
kind: ConfigMap
metadata:
  name: {{ .Release.Name }}-test-conf
  annotations: {helm.sh/hook: test, helm.sh/hook-weight: "-1"}
data: {key: value}
---
apiVersion: v1
kind: Pod
metadata:
  name: {{ .Release.Name }}-later
  annotations: {helm.sh/hook: "test", helm.sh/hook-weight: "1", helm.sh/hook-delete-policy: "hook-succeeded,hook-failed"}
spec:
  restartPolicy: Never
  containers: [{name: test, image: "registry.example.com/test:1"}]
---
apiVersion: v1
kind: ConfigMap
metadata: {name: {{ .Release.Name }}}
data: {message: {{ .Values.message | default "hello" | quote }}}
"#;

pub(crate) fn chart(bench: &Bench) {
    bench.remove_templates();
    bench.add_template("tests.yaml", TESTS);
}

pub(crate) fn pods(bench: &Bench) -> Api<DynamicObject> {
    bench.api("", "v1", "Pod", "pods")
}

/// Waits until another pod of this name than `before` is there, and gives its UID.
pub(crate) async fn wait_pod(bench: &Bench, name: &str, before: Option<&str>) -> String {
    let other = |pod: &Value| {
        let uid = pod.pointer("/metadata/uid")?.as_str()?;
        let is_going = pod.pointer("/metadata/deletionTimestamp").is_some();
        (Some(uid) != before && !is_going).then(|| uid.to_owned())
    };
    bench.wait("the test", &pods(bench), name, other).await
}

/// Ends a pod with this code.
pub(crate) async fn end_pod(bench: &Bench, name: &str, code: i32) {
    write_end(&pods(bench), name, code).await;
}

async fn write_end(pods: &Api<DynamicObject>, name: &str, code: i32) {
    let phase = if code == 0 { "Succeeded" } else { "Failed" };
    let ended = json!({"exitCode": code, "reason": "Ended", "message": "these are its last words"});
    let status = json!({"status": {"phase": phase, "containerStatuses": [
        {"name": "test", "image": "i", "imageID": "", "ready": false, "restartCount": 0, "state": {"terminated": ended}},
    ]}});
    pods.patch_status(name, &PatchParams::default(), &Patch::Merge(status))
        .await
        .unwrap();
}

pub(crate) async fn ask(bench: &Bench, name: &str, request: &str) {
    let annotation = json!({"metadata": {"annotations": {"steersman.dev/test": request}}});
    bench.patch_web(name, annotation).await;
}

/// Waits until the tests of this request have come to an end, and gives status, reason and message.
pub(crate) async fn wait_tested(
    bench: &Bench,
    name: &str,
    request: Option<&str>,
) -> (String, String, String) {
    bench
        .wait("the end of the tests", &bench.webs(), name, |web| {
            let said = condition(web, "TestSuccess").filter(|(status, _, _)| status != "Unknown")?;
            (web["status"]["lastHandledTest"].as_str() == request).then_some(said)
        })
        .await
}

/// How often the operator has made an object of this name since `mark`.
pub(crate) async fn times_made(bench: &Bench, mark: AuditMark, name: &str) -> usize {
    let audit = bench.cluster.audit_since(mark).await.unwrap();
    let made = audit
        .by_user(bench.user.name())
        .filter(|request| request.name == name && request.code == Some(201));
    made.requests.len()
}

#[tokio::test]
async fn tests_run_once_for_each_request_and_say_how_they_ended() {
    let Some(bench) = Bench::with_kind("release_tests").await else {
        return;
    };
    chart(&bench);
    let operator = bench.ready_operator().await;
    let mark = bench.cluster.audit_mark().await.unwrap();
    bench.apply_web("shop", json!({})).await;
    let web = bench.wait_revision("shop", 1).await;
    assert_eq!(condition(&web, "TestSuccess"), None);
    assert_eq!(
        times_made(&bench, mark, "shop-test").await,
        0,
        "nobody has asked for it"
    );

    ask(&bench, "shop", "1").await;
    let first = wait_pod(&bench, "shop-test", None).await;
    let running = |web: &Value| condition(web, "TestSuccess").filter(|(status, _, _)| status == "Unknown");
    let (_, reason, message) = bench.wait("the tests", &bench.webs(), "shop", running).await;
    assert_eq!(
        (reason.as_str(), message.as_str()),
        ("Progressing", "the tests of revision 1 are running")
    );
    assert!(
        bench
            .config_maps()
            .get_opt("shop-test-conf")
            .await
            .unwrap()
            .is_some()
    );
    end_pod(&bench, "shop-test", 0).await;
    wait_pod(&bench, "shop-later", None).await;
    end_pod(&bench, "shop-later", 0).await;
    let (status, reason, _) = wait_tested(&bench, "shop", Some("1")).await;
    assert_eq!((status.as_str(), reason.as_str()), ("True", "TestSucceeded"));
    bench.wait_gone(&pods(&bench), "shop-later").await;
    assert_eq!(bench.revisions().await, ["1 deployed"]);

    // Neither a restart nor another revision is a reason to run them again.
    operator.stop().await.unwrap();
    let mark = bench.cluster.audit_mark().await.unwrap();
    let operator = bench.ready_operator().await;
    bench.apply_web("shop", json!({"message": "bye"})).await;
    let web = bench.wait_revision("shop", 2).await;
    assert_eq!(condition(&web, "TestSuccess"), None, "this one was not tested");
    bench.apply_web("shop", json!({"message": "hello again"})).await;
    bench.wait_revision("shop", 3).await;
    assert_eq!(times_made(&bench, mark, "shop-test").await, 0);

    // A test that fails fails no release.
    ask(&bench, "shop", "2").await;
    wait_pod(&bench, "shop-test", Some(&first)).await;
    end_pod(&bench, "shop-test", 3).await;
    let (status, reason, message) = wait_tested(&bench, "shop", Some("2")).await;
    assert_eq!((status.as_str(), reason.as_str()), ("False", "TestFailed"));
    assert!(
        message.contains("container test of pod shop-test ended with 3")
            && message.contains("these are its last words"),
        "{message}"
    );
    let web = serde_json::to_value(bench.webs().get("shop").await.unwrap()).unwrap();
    assert_eq!(condition(&web, "Ready").unwrap().0, "True");
    assert_eq!(
        bench.revisions().await,
        ["1 superseded", "2 superseded", "3 deployed"]
    );
    assert!(
        pods(&bench).get_opt("shop-later").await.unwrap().is_none(),
        "it comes after the one that failed"
    );
    let events = bench.events().await;
    assert!(
        events.contains("TestSucceeded") && events.contains("TestFailed"),
        "{events}"
    );
    bench.delete_web("shop").await;
    bench.wait_gone(&bench.webs(), "shop").await;
    bench.wait_gone(&pods(&bench), "shop-test").await;
    operator.stop().await.unwrap();
}

#[tokio::test]
async fn each_revision_is_tested_where_the_watch_wants_it() {
    let Some(bench) = Bench::with_kind("release_tests").await else {
        return;
    };
    chart(&bench);
    let watches = json!([{"group": bench.group, "version": "v1", "kind": "Web", "chart": "web",
        "test": {"enable": true, "timeout": "1s"}}]);
    bench.watches(&watches.to_string());
    let operator = bench.ready_operator().await;
    bench.apply_web("shop", json!({})).await;
    let first = wait_pod(&bench, "shop-test", None).await;
    // One that does not end in time has failed.
    let (status, reason, message) = wait_tested(&bench, "shop", None).await;
    assert_eq!((status.as_str(), reason.as_str()), ("False", "TestFailed"));
    assert!(message.contains("is not done after 1 s"), "{message}");
    bench.apply_web("shop", json!({"message": "bye"})).await;
    wait_pod(&bench, "shop-test", Some(&first)).await;
    bench.wait_revision("shop", 2).await;
    operator.stop().await.unwrap();
}

#[tokio::test]
async fn a_test_holds_up_no_deletion() {
    let Some(bench) = Bench::with_kind("release_tests").await else {
        return;
    };
    chart(&bench);
    let operator = bench.released(json!({})).await;
    ask(&bench, "shop", "1").await;
    wait_pod(&bench, "shop-test", None).await;
    bench.delete_web("shop").await;
    bench.wait_gone(&bench.webs(), "shop").await;
    bench.wait_gone(&pods(&bench), "shop-test").await;
    operator.stop().await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn the_command_waits_for_the_tests_and_says_how_they_ended() {
    let Some(bench) = Bench::with_kind("release_tests").await else {
        return;
    };
    chart(&bench);
    let operator = bench.released(json!({})).await;
    let resource = format!("webs.{}/shop", bench.group);
    let developer = Developer::of(&bench).await;
    for code in [0, 1] {
        let ending = tokio::spawn(end_tests(pods(&bench), code));
        let said = tokio::task::block_in_place(|| developer.run(&["test-release", &resource]));
        ending.await.unwrap();
        assert_eq!(said.code, Some(code), "{}{}", said.stdout, said.stderr);
        assert!(said.stderr.contains("run"), "{}", said.stderr);
        let end = ["have succeeded", "these are its last words"][usize::from(code == 1)];
        assert!(said.stdout.contains(end), "{}", said.stdout);
    }
    let said = developer.run(&["test-release", &resource, "--timeout", "1ms"]);
    assert_eq!(said.code, Some(2), "{}", said.stdout);
    assert!(
        said.stderr.contains("the tests have not ended"),
        "{}",
        said.stderr
    );
    operator.stop().await.unwrap();
}

/// Ends each pod that has not ended with this code, until one has failed or the last has succeeded.
async fn end_tests(pods: Api<DynamicObject>, code: i32) {
    for name in ["shop-test", "shop-later"] {
        loop {
            let found = pods.get_opt(name).await.unwrap();
            let is_new = |pod: &DynamicObject| {
                pod.data["status"]["phase"] == "Pending" && pod.metadata.deletion_timestamp.is_none()
            };
            if found.is_some_and(|pod| is_new(&pod)) {
                break;
            }
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
        write_end(&pods, name, code).await;
        if code != 0 {
            return;
        }
    }
}

/// What is done about the tests of a release is killed at each of its writes: no test runs twice.
#[tokio::test]
async fn no_test_runs_twice_whenever_the_operator_is_killed() {
    let Some(lane) = Lane::new("no_test_runs_twice").await else {
        return;
    };
    let bench = &lane.bench;
    chart(bench);
    lane.start().await;
    // The revision says that tests have begun, that one has run, another one, and what has come of them.
    let of_revision = [1, 2, 3, 4].map(|nth| ("secrets", nth));
    let writes = of_revision.into_iter().chain([("pods", 1), ("configmaps", 1)]);
    for (number, (resource, nth)) in writes.enumerate() {
        let name = format!("run-{number}");
        let mark = bench.cluster.audit_mark().await.unwrap();
        bench.apply_web(&name, json!({})).await;
        bench.wait_revision(&name, 1).await;
        let target = match resource {
            "secrets" => format!("sh.helm.release.v1.{name}.v1"),
            "pods" => format!("{name}-test"),
            _ => format!("{name}-test-conf"),
        };
        let fault = Fault::on("patch", resource).name(&target).nth(nth).kill_after();
        let fault = lane.proxy.inject(fault);
        ask(bench, &name, "1").await;
        let tested = async {
            for pod in [format!("{name}-test"), format!("{name}-later")] {
                wait_pod(bench, &pod, None).await;
                end_pod(bench, &pod, 0).await;
            }
            wait_tested(bench, &name, Some("1")).await
        };
        let alive = async {
            loop {
                lane.keep_alive().await;
                tokio::time::sleep(std::time::Duration::from_millis(50)).await;
            }
        };
        let (status, reason, _) = tokio::select! {
            said = tested => said,
            () = alive => unreachable!("it goes on for ever"),
        };
        assert_eq!(
            (status.as_str(), reason.as_str()),
            ("True", "TestSucceeded"),
            "{name}"
        );
        assert_eq!(lane.proxy.struck(fault), 1, "{resource} {nth}");
        for pod in [
            format!("{name}-test"),
            format!("{name}-later"),
            format!("{name}-test-conf"),
        ] {
            assert_eq!(times_made(bench, mark, &pod).await, 1, "{resource} {nth}: {pod}");
        }
    }
    lane.stop().await;
}

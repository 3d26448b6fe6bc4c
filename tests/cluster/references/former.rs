//! What a Secret had that values come from is as secret as what it has.

use std::time::Duration;

use kube::api::{DeleteParams, Patch, PatchParams};
use serde_json::{Value, json};
use steersman_testkit::cluster::OperatorProcess;

use super::watches;
use crate::bench::{Bench, condition, wait_for_line};
use crate::developer::{Developer, contains_all};
use crate::masking::end_hook;

const ENTRY: &str = r"
- group: GROUP
  version: v1
  kind: Web
  chart: web
  manifestInStatus: true
  valuesFrom:
  - {kind: Secret, name: credentials, valuesKey: password, targetPath: word}
";

/// A password where many charts have it, and an object whose controller speaks of it.
const CHART: &str = r"
apiVersion: v1
kind: ConfigMap
metadata: {name: {{ .Release.Name }}-config}
data: {word: {{ .Values.word | quote }}, port: {{ .Values.port | quote }}}
---
apiVersion: GROUP/v1
kind: Database
metadata: {name: a}
";

const HOOK: &str = r#"
apiVersion: batch/v1
kind: Job
metadata:
  name: {{ .Release.Name }}-migrate
  annotations: {helm.sh/hook: "HOOK", helm.sh/hook-delete-policy: before-hook-creation}
spec:
  backoffLimit: 0
  template: {spec: {restartPolicy: Never, containers: [{name: job, image: "job:1", args: [{{ .Values.word | quote }}]}]}}
"#;

const FIRST: &str = "canary-of-the-first-day";
const SECOND: &str = "another-canary-of-the-second";
const THIRD: &str = "the-third-of-all-canaries";

/// Ends each hook with these words until something is there: another revision may come in between, with a hook of its own.
async fn ending_hooks<T>(bench: &Bench, words: &str, until: impl Future<Output = T>) -> T {
    let ending = async {
        loop {
            end_hook(bench, 3, words).await;
            tokio::time::sleep(Duration::from_millis(200)).await;
        }
    };
    tokio::select! {
        () = ending => unreachable!("hooks are ended until then"),
        there = until => there,
    }
}

async fn bench(test: &str) -> Option<Bench> {
    let bench = Bench::with_kind(test).await?;
    bench.define("Database", "databases").await;
    bench.remove_templates();
    bench.add_template("web.yaml", &CHART.replace("GROUP", &bench.group));
    let values = bench.folder.path().join("web/values.yaml");
    std::fs::write(values, "word: \"\"\nport: 8080\n").unwrap();
    watches(&bench, ENTRY);
    Some(bench)
}

async fn put(bench: &Bench, word: &str) {
    let object = json!({"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "credentials"},
        "stringData": {"password": word}});
    let parameters = PatchParams::apply("test").force();
    let patch = Patch::Apply(&object);
    let secrets = bench.secrets();
    secrets.patch("credentials", &parameters, &patch).await.unwrap();
}

async fn patch_status(bench: &Bench, kind: (&str, &str), name: &str, status: Value) {
    let api = bench.kind_api(kind.0, kind.1);
    let patch = Patch::Merge(json!({ "status": status }));
    api.patch_status(name, &PatchParams::default(), &patch)
        .await
        .unwrap();
}

/// The controller of the database says this.
async fn say(bench: &Bench, words: &str) {
    let not_ready = json!({"type": "Ready", "status": "False", "reason": "Failed", "message": words});
    let database = ("Database", "databases");
    patch_status(bench, database, "a", json!({ "conditions": [not_ready] })).await;
}

/// The same, and waits until the resource says this of it.
async fn tell(bench: &Bench, words: &str, part: &str) {
    say(bench, words).await;
    wait_message(bench, part).await;
}

/// Waits until the resource says this of itself.
async fn wait_message(bench: &Bench, part: &str) -> String {
    let told = |web: &Value| {
        let (_, _, message) = condition(web, "Ready")?;
        message.contains(part).then_some(message)
    };
    bench.wait(part, &bench.webs(), "shop", told).await
}

/// No word of the Secret is in what the operator has said.
async fn assert_untold(bench: &Bench, operator: &OperatorProcess) {
    let web = bench.webs().get("shop").await.unwrap();
    let said = [
        operator.log_text(),
        bench.events().await,
        web.data["status"].to_string(),
    ];
    let said = said.concat();
    let at = said.find("canar");
    let around = at.map(|at| &said[said.floor_char_boundary(at.saturating_sub(300))..at + 10]);
    assert!(at.is_none(), "{around:?}");
}

async fn wait_manifest(bench: &Bench, part: &str) {
    let webs = bench.webs();
    let shown = bench.wait(part, &webs, "shop", |web| {
        let manifest = web.pointer("/status/deployedRelease/manifest")?.as_str()?;
        manifest.contains(part).then_some(())
    });
    shown.await;
}

async fn lose_manifest(bench: &Bench) {
    let lost = json!({"deployedRelease": {"manifest": null}});
    patch_status(bench, ("Web", "webs"), "shop", lost).await;
    let at = json!({"metadata": {"annotations": {"example.com/look": "again"}}});
    bench.patch_web("shop", at).await;
}

#[tokio::test]
async fn what_a_source_had_is_masked_for_as_long_as_revisions_have_it() {
    let Some(bench) = bench("former_sources").await else {
        return;
    };
    put(&bench, FIRST).await;
    let operator = bench.released(json!({})).await;
    tell(
        &bench,
        &format!("first: {FIRST} was refused"),
        "first: ******** was",
    )
    .await;
    put(&bench, SECOND).await;
    bench.wait_revision("shop", 2).await;
    tell(
        &bench,
        &format!("second: {FIRST} was refused"),
        "second: ******** was",
    )
    .await;

    // Another one waits for half a minute.
    put(&bench, THIRD).await;
    wait_for_line(&operator, "Reconciled release").await;
    tell(
        &bench,
        &format!("third: {SECOND} was refused"),
        "third: ******** was",
    )
    .await;
    lose_manifest(&bench).await;
    wait_manifest(&bench, "word: ********").await;
    assert_eq!(bench.revisions().await.len(), 2);
    assert_untold(&bench, &operator).await;
    operator.stop().await.unwrap();

    // Nobody knows any longer what the first two revisions have.
    let operator = bench.ready_operator().await;
    bench.wait_revision("shop", 3).await;
    tell(&bench, &format!("fourth: {FIRST} was refused"), "not shown").await;
    wait_manifest(&bench, "word: ********").await;
    bench
        .secrets()
        .delete("credentials", &DeleteParams::default())
        .await
        .unwrap();
    operator.stop().await.unwrap();
    let operator = bench.ready_operator().await;
    wait_message(&bench, "it is not there").await;
    lose_manifest(&bench).await;
    say(&bench, &format!("fifth: {THIRD} was refused")).await;
    tokio::time::sleep(Duration::from_secs(2)).await;
    assert_untold(&bench, &operator).await;
    operator.stop().await.unwrap();
}

#[tokio::test]
async fn what_is_too_much_to_be_remembered_is_not_shown_either() {
    let Some(bench) = bench("former_is_large").await else {
        return;
    };
    put(&bench, &"canary ".repeat(3000)).await;
    let operator = bench.released(json!({})).await;
    wait_manifest(&bench, "# not shown").await;
    tell(&bench, &format!("it has {FIRST}"), "not shown").await;
    assert_untold(&bench, &operator).await;
    operator.stop().await.unwrap();
}

#[tokio::test]
async fn a_hook_says_nothing_of_what_a_source_had_after_a_kill() {
    let Some(bench) = bench("former_of_hooks").await else {
        return;
    };
    bench.add_template("hook.yaml", &HOOK.replace("HOOK", "pre-upgrade,post-delete"));
    put(&bench, FIRST).await;
    let operator = bench.ready_operator().await;
    let annotations = json!({"metadata": {"annotations": {"steersman.dev/rollback-on-failure": "true"}}});
    bench.apply_web("shop", json!({})).await;
    bench.wait_revision("shop", 1).await;
    bench.patch_web("shop", annotations).await;
    put(&bench, SECOND).await;
    end_hook(&bench, 3, &format!("bad {FIRST} and {SECOND}")).await;
    let said = wait_message(&bench, "rolled back to revision 1").await;
    assert!(said.contains("bad ******** and ********"), "{said}");
    assert_untold(&bench, &operator).await;

    bench.apply_web("shop", json!({"port": 8081})).await;
    wait_for_line(&operator, "pre-upgrade").await;
    bench
        .wait(
            "the hook",
            &bench.api("batch", "v1", "Job", "jobs"),
            "shop-migrate",
            |job| (job.pointer("/status/active") == Some(&json!(1))).then_some(()),
        )
        .await;
    operator.kill().await.unwrap();
    put(&bench, THIRD).await;
    let operator = bench.ready_operator().await;
    let told = wait_message(&bench, "not shown");
    ending_hooks(&bench, &format!("worse {FIRST} and {SECOND}"), told).await;
    assert_untold(&bench, &operator).await;
    operator.kill().await.unwrap();

    bench
        .secrets()
        .delete("credentials", &DeleteParams::default())
        .await
        .unwrap();
    let operator = bench.ready_operator().await;
    // It has looked for the Secret.
    tokio::time::sleep(Duration::from_secs(2)).await;
    bench.delete_web("shop").await;
    let webs = bench.webs();
    let told = bench.wait("the failure", &webs, "shop", |web| {
        let status = web["status"].to_string();
        (status.contains("post-delete") || status.contains("not shown")).then_some(())
    });
    ending_hooks(&bench, &format!("worst {FIRST} and {SECOND}"), told).await;
    tokio::time::sleep(Duration::from_secs(2)).await;
    assert_untold(&bench, &operator).await;
    operator.stop().await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn a_diff_does_not_show_what_a_source_had() {
    let Some(bench) = bench("former_in_diffs").await else {
        return;
    };
    put(&bench, FIRST).await;
    let operator = bench.released(json!({})).await;
    operator.stop().await.unwrap();
    put(&bench, SECOND).await;
    let developer = Developer::of(&bench).await;
    developer.write_resource(&json!({"port": 8081}));
    let shown = developer.check(&["diff", "-f", "shop.yaml"], 1);
    let parts = [
        "-  port: '***'",
        "+  port: \"8081\"",
        "-  word: '***'",
        "+  word: ********",
    ];
    contains_all(&shown, &parts);
    assert!(!shown.contains("canar"), "{shown}");
    let shown = developer.check(&["diff", &format!("webs.{}/shop", bench.group)], 1);
    contains_all(&shown, &["-  word: '***'", "+  word: ********", "masked"]);
    assert!(!shown.contains("canar"), "{shown}");
}

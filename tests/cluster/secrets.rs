//! What is secret of a release stays so in what is said of it later: by its objects' controllers, after a restart, in dry
//! runs; and however many secrets there are.

use std::time::Instant;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use kube::api::{Patch, PatchParams};
use serde_json::{Value, json};
use steersman_testkit::cluster::OperatorProcess;

use crate::bench::{Bench, PATIENCE, condition};

/// Releases what the spec lists, templates and all.
const TEMPLATE: &str = "{{- range .Values.objects }}\n---\n{{ tpl (toYaml .) $ }}\n{{- end }}\n";
const NOTES: &str = r#"{{ tpl (.Values.notes | default "none") . }}"#;
const LOOKED_UP: &str =
    r#"{{ (lookup "v1" "Secret" .Release.Namespace "existing").data.password | b64dec }}"#;

async fn bench(switches: &str) -> Option<Bench> {
    let bench = Bench::with_kind("secrets").await?;
    bench.remove_templates();
    bench.add_template("objects.yaml", TEMPLATE);
    bench.add_template("NOTES.txt", NOTES);
    let group = &bench.group;
    bench.watches(&format!(
        "- {{group: {group}, version: v1, kind: Web, chart: web{switches}}}\n"
    ));
    Some(bench)
}

fn config_map(name: &str, value: &str) -> Value {
    json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name}, "data": {"a": value}})
}

/// A Service that the server refuses, and whose type it quotes.
fn refused_service(name: &str, kind: &str) -> Value {
    json!({"apiVersion": "v1", "kind": "Service", "metadata": {"name": name}, "spec": {"type": kind, "ports": [{"port": 80}]}})
}

/// A Secret of a hook.
fn hook_secret(name: &str, value: &str) -> Value {
    json!({"apiVersion": "v1", "kind": "Secret", "stringData": {"pin": value},
        "metadata": {"name": name, "annotations": {"helm.sh/hook": "pre-install"}}})
}

/// Waits until the condition has a message that has this part, and gives the message.
async fn message(bench: &Bench, name: &str, kind: &str, part: &str) -> String {
    let webs = bench.webs();
    let found = bench.wait(part, &webs, name, |web| {
        let (_, _, message) = condition(web, kind)?;
        message.contains(part).then_some(message)
    });
    found.await
}

async fn patch_status(bench: &Bench, kind: (&str, &str), name: &str, status: Value) {
    let api = bench.kind_api(kind.0, kind.1);
    let patch = Patch::Merge(json!({ "status": status }));
    api.patch_status(name, &PatchParams::default(), &patch)
        .await
        .unwrap();
}

/// As after a restore: the resource has lost what its status said, and the process is another.
async fn restart_without_status(bench: &Bench, operator: OperatorProcess, names: &[&str]) -> OperatorProcess {
    operator.stop().await.unwrap();
    for name in names {
        let lost = json!({"revision": null, "conditions": null, "deployedRelease": null});
        patch_status(bench, ("Web", "webs"), name, lost).await;
    }
    bench.ready_operator().await
}

async fn status(bench: &Bench, name: &str) -> String {
    let web = bench.webs().get(name).await.unwrap();
    web.data["status"].to_string()
}

/// No part of a secret is in what was said.
async fn assert_nothing_is_shown(bench: &Bench, operator: &OperatorProcess, names: &[&str]) {
    let mut said = operator.log_text() + &bench.events().await;
    for name in names {
        said.push_str(&status(bench, name).await);
    }
    let at = said.find("canary");
    let around = at.map(|at| &said[said.floor_char_boundary(at.saturating_sub(300))..at + 10]);
    assert!(at.is_none(), "{around:?}");
}

/// Its controller says of the database `a` that it has failed, in these words.
async fn tell_of_database(bench: &Bench, words: &str) {
    let not_ready = json!({"type": "Ready", "status": "False", "reason": "Failed", "message": words});
    let said = json!({ "conditions": [not_ready] });
    patch_status(bench, ("Database", "databases"), "a", said).await;
}

#[tokio::test]
async fn words_about_objects_are_masked_whenever_they_come() {
    let Some(bench) = bench("").await else { return };
    bench.define("Database", "databases").await;
    let operator = bench.ready_operator().await;
    let database =
        json!({"apiVersion": format!("{}/v1", bench.group), "kind": "Database", "metadata": {"name": "a"}});
    let secret = json!({"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "generated"},
        "stringData": {"word": "canary-{{ randAlphaNum 12 }}"}});
    let spec = json!({"password": "canary-in-the-spec-abcdefgh", "objects": [secret, database]});
    bench.apply_web("shop", spec).await;
    bench.wait_revision("shop", 1).await;
    let secret = bench
        .wait("the Secret", &bench.secrets(), "generated", |secret| {
            secret["data"]["word"].as_str().map(str::to_owned)
        })
        .await;
    let generated = decoded(&secret);
    let tell = async |words: &str| tell_of_database(&bench, words).await;

    tell(&format!("first: no connection to db://app:{generated}@db")).await;
    let said = message(&bench, "shop", "Ready", "first: ").await;
    assert!(said.contains("db://app:********@db"), "{said}");
    // The password is where the message is cut.
    tell(&format!(
        "second: {} canary-in-the-spec-abcdefgh",
        "x".repeat(266)
    ))
    .await;
    message(&bench, "shop", "Ready", "second: ").await;
    assert_nothing_is_shown(&bench, &operator, &["shop"]).await;
    operator.stop().await.unwrap();

    let operator = bench.ready_operator().await;
    tell(&format!("third: no connection to db://app:{generated}@db")).await;
    let said = message(&bench, "shop", "Ready", "third: ").await;
    assert!(said.contains("db://app:********@db"), "{said}");
    assert_nothing_is_shown(&bench, &operator, &["shop"]).await;
    operator.stop().await.unwrap();
}

/// The first revision is not deployed yet: nothing else is known of the release.
#[tokio::test]
async fn words_about_objects_are_masked_while_their_revision_waits_for_them() {
    let Some(bench) = bench(", wait: {timeout: 5m}").await else {
        return;
    };
    bench.define("Database", "databases").await;
    let operator = bench.ready_operator().await;
    let database =
        json!({"apiVersion": format!("{}/v1", bench.group), "kind": "Database", "metadata": {"name": "a"}});
    let secret = json!({"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "own"},
        "stringData": {"word": "canary-in-waiting"}});
    bench
        .apply_web("shop", json!({"objects": [secret, database]}))
        .await;
    let databases = bench.kind_api("Database", "databases");
    let is_there = |database: &Value| (!database.is_null()).then_some(());
    bench.wait("the database", &databases, "a", is_there).await;
    for words in ["first:", "second:"] {
        tell_of_database(&bench, &format!("{words} no canary-in-waiting here")).await;
        let shown = format!("{words} no ******** here");
        let is_told = |web: &Value| {
            web["status"]
                .to_string()
                .contains(words)
                .then(|| web["status"].to_string())
        };
        let said = bench.wait(words, &bench.webs(), "shop", is_told).await;
        assert!(said.contains(&shown), "{said}");
    }
    assert_nothing_is_shown(&bench, &operator, &["shop"]).await;
    operator.stop().await.unwrap();
}

#[tokio::test]
async fn words_about_objects_are_masked_for_what_former_revisions_had() {
    let Some(bench) = bench("").await else { return };
    bench.define("Database", "databases").await;
    let operator = bench.ready_operator().await;
    let database =
        json!({"apiVersion": format!("{}/v1", bench.group), "kind": "Database", "metadata": {"name": "a"}});
    for (revision, word) in [
        (1, "canary-of-before"),
        (2, "another-word"),
        (3, "the-third-word"),
    ] {
        let secret = json!({"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "own"},
            "stringData": {"word": word}});
        bench
            .apply_web("shop", json!({"objects": [secret, database]}))
            .await;
        bench.wait_revision("shop", revision).await;
    }
    let tell = async |words: &str| {
        tell_of_database(&bench, words).await;
        let first = words.split(' ').next().unwrap();
        message(&bench, "shop", "Ready", first).await
    };
    let said = tell("first: canary-of-before was refused").await;
    assert!(said.contains("first: ******** was refused"), "{said}");
    assert_nothing_is_shown(&bench, &operator, &["shop"]).await;
    operator.stop().await.unwrap();
    let operator = bench.ready_operator().await;
    let said = tell("second: canary-of-before was refused").await;
    assert!(said.contains("second: ******** was refused"), "{said}");
    assert_nothing_is_shown(&bench, &operator, &["shop"]).await;
    operator.stop().await.unwrap();
}

/// The chart may not look it up any longer.
#[tokio::test]
async fn a_manifest_with_what_is_not_known_any_longer_is_not_shown() {
    let Some(bench) = bench("").await else { return };
    let existing = json!({"apiVersion": "v1", "kind": "Secret", "stringData": {"password": "looked-up-canary"},
        "metadata": {"name": "existing", "namespace": bench.namespace}});
    bench.cluster.apply_object(&existing).await.unwrap();
    let operator = bench.ready_operator().await;
    let spec = json!({"objects": [config_map("told", LOOKED_UP)]});
    bench.apply_web("told", spec).await;
    bench.wait_revision("told", 1).await;
    let group = &bench.group;
    let entry = format!(
        "group: {group}, version: v1, kind: Web, chart: web, manifestInStatus: true, confine: {{lookup: none}}"
    );
    operator.stop().await.unwrap();
    bench.watches(&format!("- {{{entry}}}\n"));
    let operator = bench.ready_operator().await;
    let webs = bench.webs();
    let manifest = bench.wait("the manifest", &webs, "told", |web| {
        let manifest = web.pointer("/status/deployedRelease/manifest")?.as_str()?;
        (!manifest.is_empty()).then(|| manifest.to_owned())
    });
    let manifest = manifest.await;
    assert!(manifest.contains("# not shown: "), "{manifest}");
    assert_nothing_is_shown(&bench, &operator, &["told"]).await;
    operator.stop().await.unwrap();
}

fn decoded(text: &str) -> String {
    let bytes = STANDARD.decode(text).unwrap();
    String::from_utf8(bytes).unwrap()
}

#[tokio::test]
async fn notes_and_manifest_are_masked_after_the_status_was_lost() {
    let Some(bench) = bench(", reuseValues: true, manifestInStatus: true").await else {
        return;
    };
    let operator = bench.ready_operator().await;
    let hooked = json!({"pin": "hook-canary", "notes": "the pin is {{ .Values.pin }}", "objects": [
        config_map("hooked", "{{ .Values.pin }}"), hook_secret("hook", "{{ .Values.pin }}")]});
    bench.apply_web("hooked", hooked).await;
    let reused = json!({"db": {"password": "reused-canary"}, "notes": "the word is {{ .Values.db.password }}",
        "objects": [config_map("reused", "x")]});
    bench.apply_web("reused", reused).await;
    message(&bench, "hooked", "Deployed", "the pin is ********").await;
    message(&bench, "reused", "Deployed", "the word is ********").await;
    bench.wait_revision("reused", 1).await;
    bench.patch_web("reused", json!({"spec": null})).await;
    bench
        .wait("the spec that is gone", &bench.webs(), "reused", |web| {
            (web["status"]["observedGeneration"] == web["metadata"]["generation"]).then_some(())
        })
        .await;

    let operator = restart_without_status(&bench, operator, &["hooked", "reused"]).await;
    message(&bench, "hooked", "Deployed", "the pin is ********").await;
    message(&bench, "reused", "Deployed", "the word is ********").await;
    let manifest = status(&bench, "hooked").await;
    assert!(manifest.contains("a: ********"), "{manifest}");
    assert_nothing_is_shown(&bench, &operator, &["hooked", "reused"]).await;
    operator.stop().await.unwrap();
}

#[tokio::test]
async fn what_a_chart_looks_up_is_masked_as_its_own_secrets_are() {
    let Some(bench) = bench(", manifestInStatus: true").await else {
        return;
    };
    let existing = json!({"apiVersion": "v1", "kind": "Secret", "stringData": {"password": "looked-up-canary"},
        "metadata": {"name": "existing", "namespace": bench.namespace}});
    bench.cluster.apply_object(&existing).await.unwrap();
    let operator = bench.ready_operator().await;
    let told =
        json!({"notes": format!("the word is {LOOKED_UP}"), "objects": [config_map("told", LOOKED_UP)]});
    bench.apply_web("told", told).await;
    let refused = json!({"objects": [refused_service("refused", LOOKED_UP)]});
    bench.apply_web("refused", refused).await;
    let tried = json!({"apiVersion": format!("{}/v1", bench.group), "kind": "Web",
        "metadata": {"name": "tried", "annotations": {"steersman.dev/dry-run": "true"}},
        "spec": {"objects": [refused_service("tried", LOOKED_UP)]}});
    let parameters = PatchParams::apply("test").force();
    let created = bench.webs();
    created
        .patch("tried", &parameters, &Patch::Apply(&tried))
        .await
        .unwrap();
    message(&bench, "told", "Deployed", "the word is ********").await;
    message(&bench, "refused", "ReleaseFailed", "********").await;
    // It is tried again, from what is stored.
    bench
        .wait("another try", &bench.webs(), "refused", |_| {
            (operator.log_text().matches("Release failed").count() > 2).then_some(())
        })
        .await;
    bench
        .wait("the dry run", &bench.webs(), "tried", |web| {
            web["status"]["dryRun"]
                .to_string()
                .contains("********")
                .then_some(())
        })
        .await;
    let names = ["told", "refused", "tried"];
    assert_nothing_is_shown(&bench, &operator, &names).await;

    let operator = restart_without_status(&bench, operator, &names).await;
    message(&bench, "told", "Deployed", "the word is ********").await;
    message(&bench, "refused", "ReleaseFailed", "********").await;
    assert!(status(&bench, "told").await.contains("a: ********"));
    assert_nothing_is_shown(&bench, &operator, &names).await;
    operator.stop().await.unwrap();
}

#[tokio::test]
async fn a_dry_run_masks_what_only_hooks_hold() {
    let Some(bench) = bench("").await else { return };
    let operator = bench.operator_with(&["--dry-run"]).await;
    let spec = json!({"pin": "hook-canary", "objects": [
        hook_secret("hook", "{{ .Values.pin }}"), refused_service("refused", "{{ .Values.pin }}")]});
    bench.apply_web("shop", spec).await;
    bench
        .wait("the dry run", &bench.webs(), "shop", |web| {
            web["status"]["dryRun"]
                .to_string()
                .contains("********")
                .then_some(())
        })
        .await;
    assert_nothing_is_shown(&bench, &operator, &["shop"]).await;
    operator.stop().await.unwrap();
}

#[tokio::test]
async fn many_secrets_and_a_long_refusal_keep_nobody_waiting() {
    let Some(bench) = bench("").await else { return };
    let operator = bench.ready_operator().await;
    let passwords: Vec<String> = (0..40_000_u32)
        .map(|number| format!("{:08x}", number.wrapping_mul(0x9e37_79b1)))
        .collect();
    let small = |value: usize| json!({"objects": [config_map("small", &value.to_string())]});
    for name in ["one", "two"] {
        let spec = json!({"passwords": passwords, "objects": [refused_service(name, &"x".repeat(150_000))]});
        let web = json!({"apiVersion": format!("{}/v1", bench.group), "kind": "Web", "metadata": {"name": name}, "spec": spec});
        // Without managed fields, which would be as large again.
        let web = serde_json::from_value(web).unwrap();
        bench.webs().create(&Default::default(), &web).await.unwrap();
    }
    // Both are at it while another resource changes again and again.
    let begun = Instant::now();
    let mut value = 0;
    while begun.elapsed() < PATIENCE {
        value += 1;
        bench.apply_web("small", small(value)).await;
        bench
            .wait("the change", &bench.config_maps(), "small", |found| {
                (found["data"]["a"] == json!(value.to_string())).then_some(())
            })
            .await;
        operator.probe("/healthz").await.unwrap();
        let [one, two] = [status(&bench, "one").await, status(&bench, "two").await];
        if one.contains("ReleaseFailed") && two.contains("ReleaseFailed") {
            break;
        }
    }
    for name in ["one", "two"] {
        let said = message(&bench, name, "ReleaseFailed", "Unsupported value").await;
        assert!(said.len() < 40_000, "{} bytes are said", said.len());
    }
    operator.stop().await.unwrap();
}

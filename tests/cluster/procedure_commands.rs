//! `steersman procedure`, with a test in the place of the operator.

use std::process::{Child, Command, Output, Stdio};

use kube::api::{Api, DynamicObject, Patch, PatchParams};
use serde_json::{Value, json};

use crate::bench::{Bench, definitions};
use crate::developer::contains_all;

/// A bench with the kinds Web and `WebBackup`, and the resource `shop`.
async fn shop(test: &str) -> Option<Bench> {
    let bench = Bench::with_kind(test).await?;
    bench.define("WebBackup", "webbackups").await;
    let field = |kind: &str| json!({"type": kind});
    let spec = json!({"type": "object", "required": ["resource"], "properties": {
        "resource": field("string"), "depth": field("integer"), "note": field("string"),
    }});
    let status = json!({"type": "object", "x-kubernetes-preserve-unknown-fields": true});
    let schema = json!({"type": "object", "properties": {"spec": spec, "status": status}});
    let version = json!({"name": "v1", "served": true, "storage": true, "subresources": {"status": {}},
        "schema": {"openAPIV3Schema": schema}});
    let change = json!({"spec": {
        "names": {"categories": ["procedures", "webs-backup"]}, "versions": [version],
    }});
    let definitions = definitions(&bench.client);
    let name = format!("webbackups.{}", bench.group);
    definitions
        .patch(&name, &PatchParams::default(), &Patch::Merge(change))
        .await
        .unwrap();
    let is_accepted = |definition: &Value| {
        let names = definition.pointer("/status/acceptedNames/categories")?;
        names.as_array().map(drop)
    };
    bench
        .wait("the categories", &definitions, &name, is_accepted)
        .await;
    bench.apply_web("shop", json!({})).await;
    // Discovery follows a moment later.
    let mut tries_left = 50;
    while said(&bench, &["list", &web(&bench)]).0 != Some(0) {
        tries_left -= 1;
        assert!(tries_left > 0, "{:?}", said(&bench, &["list", &web(&bench)]));
        tokio::time::sleep(std::time::Duration::from_millis(200)).await;
    }
    Some(bench)
}

fn web(bench: &Bench) -> String {
    format!("webs.{}/shop", bench.group)
}

fn backup(bench: &Bench, name: &str) -> String {
    format!("webbackups.{}/{name}", bench.group)
}

fn backups(bench: &Bench) -> Api<DynamicObject> {
    bench.kind_api("WebBackup", "webbackups")
}

fn start(bench: &Bench, words: &[&str]) -> Child {
    Command::new(env!("CARGO_BIN_EXE_steersman"))
        .arg("procedure")
        .args(words)
        .args(["-n", &bench.namespace])
        .env("KUBECONFIG", bench.user.kubeconfig())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap()
}

/// The exit code, and what is printed.
fn ended(started: Child) -> (Option<i32>, String) {
    let Output {
        status,
        stdout,
        stderr,
    } = started.wait_with_output().unwrap();
    let text = String::from_utf8([stdout, stderr].concat()).unwrap();
    (status.code(), text)
}

fn said(bench: &Bench, words: &[&str]) -> (Option<i32>, String) {
    ended(start(bench, words))
}

fn check(bench: &Bench, words: &[&str], code: i32, parts: &[&str]) -> String {
    let (found, text) = said(bench, words);
    assert_eq!(found, Some(code), "{words:?}\n{text}");
    contains_all(&text, parts);
    text
}

async fn write_status(bench: &Bench, name: &str, status: Value) {
    let patch = Patch::Merge(json!({ "status": status }));
    let api = backups(bench);
    api.patch_status(name, &PatchParams::default(), &patch)
        .await
        .unwrap();
}

async fn annotations(api: &Api<DynamicObject>, name: &str) -> Value {
    let object = api.get(name).await.unwrap();
    json!(object.metadata.annotations.unwrap_or_default())
}

#[tokio::test]
async fn a_run_is_made_of_what_the_command_says() {
    let Some(bench) = shop("procedure-made").await else {
        return;
    };
    let web = web(&bench);
    let refused = |words: &[&str], parts: &[&str]| {
        let words = [["run"].as_slice(), words].concat();
        check(&bench, &words, 2, parts);
    };
    refused(
        &["restore", &web],
        &["error: Web has no procedure `restore`", "hint: there are backup"],
    );
    let other = web.replace("/shop", "/other");
    refused(&["backup", &other], &["there is no Web `other`"]);
    refused(
        &["backup", &web, "--set", "deep=2"],
        &["failed to make a run of backup", "unknown field \"spec.deep\""],
    );
    refused(
        &["backup", &web, "--set", "note=2026"],
        &[
            "spec.note",
            "must be of type string",
            "hint: --set-string gives a text",
        ],
    );
    refused(
        &["backup", "namespaces/default"],
        &["knows no procedures of Namespace"],
    );
    check(&bench, &["list", &other], 1, &["there is no Web `other`"]);
    check(
        &bench,
        &["list", &web],
        0,
        &["there are no runs", "hint: `steersman procedure run backup"],
    );

    let words = [
        "run",
        "backup",
        &web,
        "--set",
        "depth=2",
        "--set-string",
        "note=2026",
        "--confirm",
    ];
    let text = check(&bench, &words, 0, &["WebBackup/shop-backup-", " created"]);
    let name = text
        .trim()
        .trim_start_matches("WebBackup/")
        .trim_end_matches(" created");
    let run = backups(&bench).get(name).await.unwrap();
    assert_eq!(
        run.data["spec"],
        json!({"resource": "shop", "depth": 2, "note": "2026"})
    );
    assert_eq!(
        json!(run.metadata.labels),
        json!({"steersman.dev/procedure": "backup"})
    );
    assert_eq!(
        json!(run.metadata.annotations),
        json!({"steersman.dev/trigger": "command", "steersman.dev/confirm": "true"})
    );
    check(
        &bench,
        &["list", &web],
        0,
        &["RUN", &format!("WebBackup/{name}  Pending")],
    );

    let webs = bench.webs();
    let held = Patch::Merge(json!({"metadata": {"finalizers": ["example.com/held"]}}));
    webs.patch("shop", &PatchParams::default(), &held).await.unwrap();
    bench.delete_web("shop").await;
    refused(&["backup", &web], &["Web shop is being deleted"]);
    let free = Patch::Merge(json!({"metadata": {"finalizers": null}}));
    webs.patch("shop", &PatchParams::default(), &free).await.unwrap();
}

#[tokio::test]
async fn a_run_is_followed_to_its_end() {
    let Some(bench) = shop("procedure-followed").await else {
        return;
    };
    let web = web(&bench);
    let wait = |name: &str| start(&bench, &["run", "backup", &web, "--name", name, "--wait"]);
    let is_there = |run: &Value| run.get("spec").map(drop);
    let at = "2026-01-02T03:00:00Z";
    let dump = |state: &str| json!({"name": "dump", "state": state, "attempt": 1, "job": "gone", "startedAt": at, "endedAt": at, "message": "exit code 1"});

    let good = wait("good");
    bench.wait("the run", &backups(&bench), "good", is_there).await;
    write_status(
        &bench,
        "good",
        json!({"phase": "Running", "step": "dump", "steps": [dump("Running")]}),
    )
    .await;
    tokio::time::sleep(std::time::Duration::from_millis(1500)).await;
    let ending = json!({"phase": "Succeeded", "startedAt": at, "endedAt": at, "steps": [dump("Succeeded")], "result": {"size": 3}});
    write_status(&bench, "good", ending).await;
    let (code, text) = ended(good);
    assert_eq!(code, Some(0), "{text}");
    let expect = [
        "WebBackup/good created",
        "2026-01-02T03:00:00Z  step dump begins, job gone",
        "2026-01-02T03:00:00Z  step dump has succeeded after 0s",
        "result: {\"size\":3}",
        "WebBackup/good has succeeded after 0s\n",
    ];
    assert_eq!(text, expect.join("\n"));

    let bad = wait("bad");
    bench.wait("the run", &backups(&bench), "bad", is_there).await;
    let ending = json!({"phase": "Failed", "message": "step dump has failed", "steps": [dump("Failed")]});
    write_status(&bench, "bad", ending).await;
    let (code, text) = ended(bad);
    assert_eq!(code, Some(1), "{text}");
    contains_all(
        &text,
        &[
            "step dump has failed after 0s: exit code 1",
            "error: WebBackup/bad has failed: step dump has failed",
            "hint: `steersman procedure logs WebBackup/bad`",
        ],
    );

    let words = [
        "run",
        "backup",
        &web,
        "--name",
        "slow",
        "--wait",
        "--timeout",
        "1s",
    ];
    check(
        &bench,
        &words,
        1,
        &["error: no operator has acted on WebBackup/slow in time"],
    );
    let gone = wait("gone");
    bench.wait("the run", &backups(&bench), "gone", is_there).await;
    backups(&bench).delete("gone", &Default::default()).await.unwrap();
    let (code, text) = ended(gone);
    assert_eq!(code, Some(2), "{text}");
    contains_all(&text, &["WebBackup gone was deleted before its end was seen"]);

    let listed = check(&bench, &["list", &web, "-o", "json"], 0, &[]);
    let listed: Vec<Value> = serde_json::from_str(&listed).unwrap();
    let names: Vec<&str> = listed.iter().filter_map(|run| run["name"].as_str()).collect();
    assert_eq!(names, ["slow", "bad", "good"]);
    assert_eq!(listed[2]["result"], json!({"size": 3}));
    cancel_and_read(&bench).await;
}

/// Of the runs `bad`, which has ended, and `slow`, which has not begun.
async fn cancel_and_read(bench: &Bench) {
    let (bad, slow) = (backup(bench, "bad"), backup(bench, "slow"));
    check(
        bench,
        &["cancel", &bad],
        1,
        &["WebBackup/bad has ended already: it is Failed"],
    );
    check(
        bench,
        &["cancel", &slow],
        0,
        &["WebBackup/slow is asked to end\n"],
    );
    let annotations = annotations(&backups(bench), "slow").await;
    assert_eq!(annotations["steersman.dev/cancel"], "true");
    check(
        bench,
        &["cancel", &web(bench)],
        2,
        &["Web is no kind of runs of a procedure"],
    );

    check(bench, &["logs", &slow], 0, &["no step has made a Job"]);
    check(
        bench,
        &["logs", &bad],
        0,
        &["step dump, job gone: the Job is gone, and what it has written with it\n"],
    );
    let unknown = ["logs", &bad, "--step", "send"];
    check(
        bench,
        &unknown,
        1,
        &["has no step `send`", "hint: there are dump"],
    );
}

#[tokio::test]
async fn schedules_are_taken_out_of_effect_and_back() {
    let Some(bench) = shop("procedure-suspended").await else {
        return;
    };
    let web = web(&bench);
    let webs = bench.webs();
    let key = "steersman.dev/suspend-procedures";
    let unknown = ["suspend", &web, "restore"];
    check(&bench, &unknown, 2, &["Web has no procedure `restore`"]);
    for (words, says, value) in [
        (
            ["suspend", "backup"].as_slice(),
            "backup does not begin by its schedule",
            json!("backup"),
        ),
        (&["suspend"], "no procedure begins by its schedule", json!("true")),
        (
            &["resume", "backup"],
            "all procedures begin by their schedules",
            Value::Null,
        ),
        (
            &["resume"],
            "all procedures begin by their schedules",
            Value::Null,
        ),
    ] {
        let words = [&[words[0], &web], &words[1..]].concat();
        check(&bench, &words, 0, &[&format!("{web}: {says}\n")]);
        assert_eq!(annotations(&webs, "shop").await[key], value, "{words:?}");
    }
}

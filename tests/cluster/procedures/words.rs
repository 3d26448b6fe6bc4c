//! Runs that can't be carried out: each says why.

use std::time::Duration;

use kube::api::{DynamicObject, Patch, PatchParams, ValidationDirective};
use serde_json::{Value, json};

use crate::bench::{Bench, definitions};
use crate::hook_words::inject;

use super::{
    BACKUP, annotate, begin, end_pod, jobs, pod_of, released, runs, wait_job, wait_phase, with_procedures,
};

async fn try_begin(bench: &Bench, name: &str, spec: &Value) -> Result<(), kube::Error> {
    let run = json!({
        "apiVersion": format!("{}/v1", bench.group), "kind": "WebBackup", "metadata": {"name": name}, "spec": spec,
    });
    let parameters = PatchParams {
        field_validation: Some(ValidationDirective::Strict),
        ..PatchParams::apply("test").force()
    };
    let applied = runs(bench, "WebBackup")
        .patch(name, &parameters, &Patch::Apply(&run))
        .await;
    applied.map(|_| ())
}

#[tokio::test]
async fn what_cannot_be_done_is_said_in_the_run() {
    let procedures =
        "  - {name: backup, job: procedures/job.yaml, parameters: {tag: {type: string}}, timeout: 1h}
  - {name: vacuum, steps: [{name: late, job: procedures/job.yaml, timeout: 2s}]}
";
    let kinds = ["WebBackup", "WebVacuum"];
    let Some(bench) = with_procedures("procedurewords", &kinds, procedures).await else {
        return;
    };
    let operator = released(&bench).await;
    // The API server counts letters.
    let long = json!({"tag": "é".repeat(3000)});
    begin(&bench, "WebBackup", "mistyped", long).await;
    let run = wait_phase(&bench, "WebBackup", "mistyped", "Failed").await;
    assert_eq!(
        run["status"]["message"],
        "parameter `tag` is not a text of at most 4096 bytes"
    );
    // What its definition knows, the API server refuses, and so does it another spec.
    for spec in [
        json!({"resource": "shop", "other": "a"}),
        json!({"resource": "shop", "tag": 7}),
        json!({"tag": "a"}),
    ] {
        let refused = try_begin(&bench, "refused", &spec).await;
        assert!(refused.is_err(), "{spec}");
    }
    let changed = try_begin(&bench, "mistyped", &json!({"resource": "shop", "tag": "b"})).await;
    let message = changed.unwrap_err().to_string();
    assert!(
        message.contains("a run does not change: make another one"),
        "{message}"
    );
    // A name that is none would be another path.
    let (definitions, name) = (definitions(&bench.client), format!("webbackups.{}", bench.group));
    let resource = "/spec/versions/0/schema/openAPIV3Schema/properties/spec/properties/resource/pattern";
    let refused = try_begin(&bench, "path", &json!({"resource": ".."})).await;
    assert!(refused.is_err());
    let without = json!([{"op": "remove", "path": resource}]);
    let without = Patch::<DynamicObject>::Json(serde_json::from_value(without).unwrap());
    definitions
        .patch(&name, &PatchParams::default(), &without)
        .await
        .unwrap();
    while try_begin(&bench, "path", &json!({"resource": ".."}))
        .await
        .is_err()
    {
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
    let run = wait_phase(&bench, "WebBackup", "path", "Failed").await;
    let message = run["status"]["message"].as_str().unwrap();
    assert!(message.starts_with("invalid release name `..`"), "{message}");
    bench
        .apply_cr("WebBackup", "webbackups", "lost", json!({"resource": "nowhere"}))
        .await;
    let run = wait_phase(&bench, "WebBackup", "lost", "Failed").await;
    assert_eq!(run["status"]["message"], "there is no Web nowhere");

    begin(&bench, "WebVacuum", "slow", json!({})).await;
    let run = wait_phase(&bench, "WebVacuum", "slow", "Failed").await;
    assert_eq!(run["status"]["message"], "step late: its time is over");
    let left = jobs(&bench).list(&Default::default()).await.unwrap();
    assert!(left.items.is_empty(), "it was stopped");

    let api = runs(&bench, "WebBackup");
    begin(&bench, "WebBackup", "fine", json!({})).await;
    let job = wait_job(&bench, "WebBackup", "fine", "job", 1).await;
    let patch = json!({"metadata": {"finalizers": null}});
    let patch = kube::api::Patch::Merge(patch);
    jobs(&bench)
        .patch(&job, &Default::default(), &patch)
        .await
        .unwrap();
    jobs(&bench).delete(&job, &Default::default()).await.unwrap();
    let run = wait_phase(&bench, "WebBackup", "fine", "Failed").await;
    let message = run["status"]["message"].as_str().unwrap();
    assert!(message.contains("its Job is gone, and nobody knows"), "{message}");

    // A copy of a run that has begun, as from a backup of the cluster, does nothing.
    let mut copy = api.get("fine").await.unwrap();
    copy.metadata = serde_json::from_value(json!({
        "name": "copy", "annotations": copy.metadata.annotations,
    }))
    .unwrap();
    copy.data.as_object_mut().unwrap().remove("status");
    api.create(&Default::default(), &copy).await.unwrap();
    let run = wait_phase(&bench, "WebBackup", "copy", "Failed").await;
    let message = run["status"]["message"].as_str().unwrap();
    assert!(
        message.starts_with("it is a copy of a run that was begun"),
        "{message}"
    );
    operator.stop().await.unwrap();
}

/// Stands for words of which nobody knows all that is secret.
const NOT_SHOWN: &str = "(not shown: what is secret in it is not known)";

/// The file of the Job has this text in the place of that.
fn edit_job(bench: &Bench, from: &str, to: &str) {
    let file = bench.folder.path().join("web/procedures/job.yaml");
    let text = std::fs::read_to_string(&file).unwrap();
    assert!(text.contains(from), "{text}");
    std::fs::write(&file, text.replace(from, to)).unwrap();
}

async fn make_login(bench: &Bench) {
    let secret = json!({"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "login"},
        "stringData": {"password": "canary-of-a-secret"}});
    bench.create(&bench.secrets(), secret).await;
}

async fn set_password(bench: &Bench, password: &str) {
    let other = Patch::Merge(json!({"stringData": {"password": password}}));
    let (secrets, parameters) = (bench.secrets(), PatchParams::default());
    secrets.patch("login", &parameters, &other).await.unwrap();
}

#[tokio::test]
async fn a_job_says_no_secrets() {
    let Some(bench) = with_procedures("proceduresecrets", &["WebBackup"], BACKUP).await else {
        return;
    };
    let env = "        image: none\n        env:\n        - name: PASSWORD\n          valueFrom: {secretKeyRef: {name: login, key: \
               password}}\n";
    edit_job(&bench, "        image: none\n", env);
    make_login(&bench).await;
    let operator = bench.ready_operator().await;
    bench
        .apply_web("shop", json!({"message": "one", "apiToken": "canary-of-a-value"}))
        .await;
    bench.wait_revision("shop", 1).await;
    begin(&bench, "WebBackup", "told", json!({})).await;
    let job = wait_job(&bench, "WebBackup", "told", "job", 1).await;
    let said = "{\"url\": \"https://canary-of-a-value:canary-of-a-secret@host\"}";
    end_pod(&bench, &job, "Succeeded", said).await;
    let run = wait_phase(&bench, "WebBackup", "told", "Succeeded").await;
    assert_eq!(run["status"]["result"]["url"], "https://********:********@host");
    begin(&bench, "WebBackup", "failing", json!({})).await;
    let job = wait_job(&bench, "WebBackup", "failing", "job", 1).await;
    end_pod(&bench, &job, "Failed", "refused: canary-of-a-secret").await;
    let run = wait_phase(&bench, "WebBackup", "failing", "Failed").await;
    let message = run["status"]["message"].as_str().unwrap();
    assert!(message.contains("refused: ********"), "{message}");
    // What was in a Secret when the Job was made is not known any longer.
    begin(&bench, "WebBackup", "rotated", json!({})).await;
    let job = wait_job(&bench, "WebBackup", "rotated", "job", 1).await;
    set_password(&bench, "another-one").await;
    let parameters = PatchParams::default();
    end_pod(&bench, &job, "Succeeded", "canary-of-a-secret").await;
    let run = wait_phase(&bench, "WebBackup", "rotated", "Succeeded").await;
    assert_eq!(run["status"]["result"], NOT_SHOWN);
    // A result that somebody else has written does not stay.
    let forged = json!({"status": {"result": "forged"}});
    let api = runs(&bench, "WebBackup");
    api.patch_status("rotated", &parameters, &Patch::Merge(forged))
        .await
        .unwrap();
    annotate(&api, "rotated", "example.com/roused", "now").await;
    bench
        .wait("the result", &api, "rotated", |run| {
            (run["status"]["result"] == NOT_SHOWN).then_some(())
        })
        .await;
    let web = serde_json::to_string(&bench.webs().get("shop").await.unwrap().data["status"]).unwrap();
    let events = bench.events().await;
    for text in [&web, &events, &operator.log_text()] {
        assert!(!text.contains("canary-of-a-secret"), "{text}");
    }
    operator.stop().await.unwrap();
}

#[tokio::test]
async fn a_job_says_nothing_of_a_secret_that_admission_has_given_its_pod() {
    let Some(bench) = with_procedures("procedureinjected", &["WebBackup"], BACKUP).await else {
        return;
    };
    inject(&bench).await;
    let operator = released(&bench).await;
    for (name, phase) in [("told", "Succeeded"), ("failing", "Failed")] {
        begin(&bench, "WebBackup", name, json!({})).await;
        let job = wait_job(&bench, "WebBackup", name, "job", 1).await;
        end_pod(&bench, &job, phase, "canary-of-a-secret").await;
        let run = wait_phase(&bench, "WebBackup", name, phase).await;
        let status = run["status"].to_string();
        assert!(
            status.contains(NOT_SHOWN) && !status.contains("canary"),
            "{status}"
        );
    }
    operator.stop().await.unwrap();
}

/// Makes a pod with the labels of a Job and this owner, which has ended with these words.
async fn make_pod(bench: &Bench, name: &str, (job, owner): (&str, Value), words: &str) {
    let uid = jobs(bench).get(job).await.unwrap().metadata.uid.unwrap();
    let pod = json!({"apiVersion": "v1", "kind": "Pod", "metadata": {"name": name, "ownerReferences": [owner],
        "labels": {"batch.kubernetes.io/controller-uid": uid}}, "spec": {"containers": [{"name": "main", "image": "none"}]}});
    let pods = bench.api("", "v1", "Pod", "pods");
    bench.create(&pods, pod).await;
    let ended = json!({"status": {"phase": "Succeeded", "containerStatuses": [{"name": "main", "image": "none", "imageID": "none",
        "ready": false, "restartCount": 0, "state": {"terminated": {"exitCode": 0, "message": words}}}]}});
    pods.patch_status(name, &PatchParams::default(), &Patch::Merge(ended))
        .await
        .unwrap();
}

#[tokio::test]
async fn of_several_pods_of_a_job_the_one_that_was_made_last_is_heard() {
    let Some(bench) = with_procedures("procedureseveral", &["WebBackup"], BACKUP).await else {
        return;
    };
    let operator = released(&bench).await;
    begin(&bench, "WebBackup", "told", json!({})).await;
    let job = wait_job(&bench, "WebBackup", "told", "job", 1).await;
    pod_of(&bench, &job).await;
    // The server tells times in seconds.
    tokio::time::sleep(Duration::from_millis(1100)).await;
    let owner = json!({"apiVersion": "batch/v1", "kind": "Job", "name": job, "controller": true,
        "uid": jobs(&bench).get(&job).await.unwrap().metadata.uid});
    make_pod(&bench, "aaa", (&job, owner), "later").await;
    end_pod(&bench, &job, "Succeeded", "earlier").await;
    let run = wait_phase(&bench, "WebBackup", "told", "Succeeded").await;
    assert_eq!(run["status"]["result"], "later");
    operator.stop().await.unwrap();
}

/// Whoever may make pods can give one the labels of a Job.
#[tokio::test]
async fn a_job_says_nothing_by_a_pod_that_is_not_its_own() {
    let Some(bench) = with_procedures("procedureforeign", &["WebBackup"], BACKUP).await else {
        return;
    };
    let operator = released(&bench).await;
    begin(&bench, "WebBackup", "told", json!({})).await;
    let job = wait_job(&bench, "WebBackup", "told", "job", 1).await;
    let owner = json!({"apiVersion": "v1", "kind": "ConfigMap", "name": "shop-map", "controller": true,
        "uid": bench.config_maps().get("shop-map").await.unwrap().metadata.uid});
    make_pod(&bench, "zzz", (&job, owner), "forged").await;
    end_pod(&bench, &job, "Succeeded", "real").await;
    let run = wait_phase(&bench, "WebBackup", "told", "Succeeded").await;
    assert_eq!(run["status"]["result"], "real");
    operator.stop().await.unwrap();
}

#[tokio::test]
async fn a_job_says_nothing_of_a_secret_that_was_looked_up_for_it() {
    let Some(bench) = with_procedures("procedurelooks", &["WebBackup"], BACKUP).await else {
        return;
    };
    let found = "{{ (lookup \"v1\" \"Secret\" .Release.Namespace \"login\").data.password | b64dec }}";
    edit_job(&bench, "{{ .Procedure.name }}", found);
    make_login(&bench).await;
    let operator = released(&bench).await;
    begin(&bench, "WebBackup", "told", json!({})).await;
    let job = wait_job(&bench, "WebBackup", "told", "job", 1).await;
    end_pod(&bench, &job, "Succeeded", "with canary-of-a-secret").await;
    let run = wait_phase(&bench, "WebBackup", "told", "Succeeded").await;
    assert_eq!(run["status"]["result"], "with ********");
    begin(&bench, "WebBackup", "rotated", json!({})).await;
    let job = wait_job(&bench, "WebBackup", "rotated", "job", 1).await;
    set_password(&bench, "another-one").await;
    end_pod(&bench, &job, "Succeeded", "with canary-of-a-secret").await;
    let run = wait_phase(&bench, "WebBackup", "rotated", "Succeeded").await;
    assert_eq!(run["status"]["result"], NOT_SHOWN);
    operator.stop().await.unwrap();
}

#[tokio::test]
async fn a_job_says_nothing_of_what_its_values_had_before() {
    let from = "  valuesFrom: [{kind: Secret, name: login, valuesKey: password, targetPath: password}]\n";
    let Some(bench) = with_procedures("procedurehad", &["WebBackup"], &format!("{BACKUP}{from}")).await
    else {
        return;
    };
    make_login(&bench).await;
    let operator = released(&bench).await;
    let said = "canary-of-a-secret, or another-one";
    begin(&bench, "WebBackup", "told", json!({})).await;
    let job = wait_job(&bench, "WebBackup", "told", "job", 1).await;
    end_pod(&bench, &job, "Succeeded", "canary-of-a-secret").await;
    let run = wait_phase(&bench, "WebBackup", "told", "Succeeded").await;
    assert_eq!(run["status"]["result"], "********");
    // It was changed, and changed back.
    begin(&bench, "WebBackup", "rotated", json!({})).await;
    let job = wait_job(&bench, "WebBackup", "rotated", "job", 1).await;
    set_password(&bench, "another-one").await;
    set_password(&bench, "canary-of-a-secret").await;
    end_pod(&bench, &job, "Succeeded", said).await;
    let run = wait_phase(&bench, "WebBackup", "rotated", "Succeeded").await;
    assert_eq!(run["status"]["result"], NOT_SHOWN);
    operator.stop().await.unwrap();
}

#[tokio::test]
async fn a_job_says_nothing_of_a_secret_that_its_file_looks_up_no_longer() {
    let Some(bench) = with_procedures("procedureonce", &["WebBackup"], BACKUP).await else {
        return;
    };
    let found = "{{ if eq .Values.message \"one\" }}{{ (lookup \"v1\" \"Secret\" .Release.Namespace \"login\").data.password | b64dec }}{{ \
                 end }}";
    let env = "        image: none\n        env:\n        - name: PASSWORD\n          valueFrom: {secretKeyRef: {name: later, key: \
               password, optional: true}}\n";
    edit_job(&bench, "{{ .Procedure.name }}", found);
    make_login(&bench).await;
    let operator = released(&bench).await;
    begin(&bench, "WebBackup", "told", json!({})).await;
    let job = wait_job(&bench, "WebBackup", "told", "job", 1).await;
    bench.apply_web("shop", json!({"message": "two"})).await;
    bench.wait_revision("shop", 2).await;
    end_pod(
        &bench,
        &job,
        "Failed",
        "with {\"a\": \"canary-of\\u002da-secret\"}",
    )
    .await;
    let run = wait_phase(&bench, "WebBackup", "told", "Failed").await;
    let message = run["status"]["message"].as_str().unwrap();
    assert!(message.ends_with("with {\"a\":\"********\"}"), "{message}");
    // Who may note something on the Job can't have its words shown.
    bench.apply_web("shop", json!({"message": "one"})).await;
    bench.wait_revision("shop", 3).await;
    begin(&bench, "WebBackup", "forged", json!({})).await;
    let job = wait_job(&bench, "WebBackup", "forged", "job", 1).await;
    let api = super::jobs(&bench);
    let note = api.get(&job).await.unwrap().metadata.annotations.unwrap()["steersman.dev/secrets"].clone();
    let without = note.replace(&format!("\"{}/login\"", bench.namespace), "");
    assert_ne!(note, without);
    annotate(&api, &job, "steersman.dev/secrets", &without).await;
    end_pod(&bench, &job, "Succeeded", "with canary-of-a-secret").await;
    let run = wait_phase(&bench, "WebBackup", "forged", "Succeeded").await;
    assert_eq!(run["status"]["result"], NOT_SHOWN);
    // One that is not there when the Job is made may be there later.
    edit_job(&bench, "        image: none\n", env);
    operator.stop().await.unwrap();
    let operator = bench.ready_operator().await;
    begin(&bench, "WebBackup", "later", json!({})).await;
    let job = wait_job(&bench, "WebBackup", "later", "job", 1).await;
    end_pod(&bench, &job, "Succeeded", "with another-canary").await;
    let run = wait_phase(&bench, "WebBackup", "later", "Succeeded").await;
    assert_eq!(run["status"]["result"], NOT_SHOWN);
    operator.stop().await.unwrap();
}

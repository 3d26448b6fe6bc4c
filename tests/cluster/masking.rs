//! No secret value reaches the log, an event, a status or a metric, in whatever writing.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use futures::StreamExt as _;
use kube::api::{Api, DynamicObject, Patch, PatchParams};
use kube::runtime::watcher;
use serde_json::{Value, json};
use steersman_testkit::cluster::OperatorProcess;

use crate::bench::{Bench, PATIENCE, condition, has_ended};
use crate::watched::changes;

const KEY: &str =
    "-----BEGIN PRIVATE KEY-----\nMIIcanaryfirst+line/1\nMIIcanarysecond+line=\n-----END PRIVATE KEY-----\n";

/// Values whose keys do not tell that they are secret; the chart puts them into a Secret.
fn spec(more: Value) -> Value {
    let mut spec = json!({"alpha": "canary-plain/1+?", "beta": KEY, "gamma": "a\"canary\"\\quoted", "delta": 87_654_321,
        "password": "canary-password", "apiKey": "canary-api"});
    let all = spec.as_object_mut().unwrap();
    all.extend(more.as_object().cloned().unwrap());
    spec
}

const TEMPLATE: &str = r#"
apiVersion: v1
kind: Secret
metadata: {name: {{ .Release.Name }}-vault}
stringData:
  alpha: {{ .Values.alpha | quote }}
  beta: {{ .Values.beta | quote }}
  gamma: {{ .Values.gamma | quote }}
  delta: {{ .Values.delta | quote }}
  {{- if .Values.number }}
  number: {{ .Values.delta }}
  {{- end }}
  epsilon: {{ .Values.epsilon | quote }}
  generated: {{ printf "canary-%s" (randAlphaNum 20) | quote }}
---
apiVersion: v1
kind: ConfigMap
metadata: {name: {{ .Release.Name }}-picky}
data:
  {{- if .Values.loud }}
  a: {{ fail (printf "bad: %s %q %v %s" .Values.alpha .Values.gamma (int .Values.delta) .Values.beta) }}
  {{- end }}
  a: b
---
apiVersion: batch/v1
kind: Job
metadata:
  name: {{ .Release.Name }}-before
  annotations: {helm.sh/hook: "pre-install,pre-upgrade,pre-delete", helm.sh/hook-delete-policy: before-hook-creation}
spec:
  backoffLimit: 0
  template: {spec: {restartPolicy: Never, containers: [{name: job, image: "registry.example.com/job:1"}]}}
"#;

/// Fails where no Secret is.
const LOUDER: &str = r#"
{{- if .Values.louder }}
{{ fail (printf "worse: %s %q %v %s" .Values.alpha .Values.gamma (float64 .Values.delta) .Values.beta) }}
{{- end }}
"#;

const SCHEMA: &str = r#"{"properties": {
    "strict": {"const": false},
    "alpha": {"type": "string"}
  },
  "if": {"properties": {"strict": {"const": true}}, "required": ["strict"]},
  "then": {"properties": {"alpha": {"pattern": "^x*$"}, "gamma": {"format": "ipv4"}, "delta": {"maximum": 3}, "beta": {"enum": ["x"]}}}
}"#;

/// Every way to write the secrets that anything may fall back on.
fn said(generated: &str) -> String {
    let mut said = vec![generated.to_owned()];
    for secret in [
        "canary-plain/1+?",
        KEY,
        "a\"canary\"\\quoted",
        "87654321",
        "canary-password",
        "canary-env",
        generated,
    ] {
        let hex: String = secret
            .bytes()
            .fold(String::new(), |hex, byte| hex + &format!("{byte:02x}"));
        said.extend([
            secret.to_owned(),
            format!("{secret:?}"),
            STANDARD.encode(secret),
            hex,
        ]);
    }
    said.push("canary-plain%2F1%2B%3F".to_owned());
    said.join("\n")
}

/// Lets the pod of the next hook end with these last words, as the kubelet would, were there nodes.
pub(crate) async fn end_hook(bench: &Bench, code: i32, words: &str) {
    let pods = bench.api("", "v1", "Pod", "pods");
    let pod = bench
        .wait_some("a pod that runs", &pods, of_jobs(), running)
        .await;
    end_pod(&pods, &pod, code, words).await;
}

fn of_jobs() -> watcher::Config {
    watcher::Config::default().labels("batch.kubernetes.io/job-name")
}

/// The name of a pod that has not ended.
fn running(pod: &Value) -> Option<String> {
    let ended = [Some(&json!("Failed")), Some(&json!("Succeeded"))];
    let is_running = pod.pointer("/metadata/deletionTimestamp").is_none()
        && !ended.contains(&pod.pointer("/status/phase"));
    let name = pod.pointer("/metadata/name").filter(|_| is_running)?;
    name.as_str().map(str::to_owned)
}

async fn end_pod(pods: &Api<DynamicObject>, pod: &str, code: i32, words: &str) {
    let end = json!({"exitCode": code, "reason": "Ended", "message": words});
    let container = json!({"name": "job", "image": "job:1", "imageID": "", "ready": false, "restartCount": 0,
        "state": {"terminated": end}});
    let phase = if code == 0 { "Succeeded" } else { "Failed" };
    let status = json!({"status": {"phase": phase, "containerStatuses": [container]}});
    match pods
        .patch_status(pod, &PatchParams::default(), &Patch::Merge(status))
        .await
    {
        Err(kube::Error::Api(status)) if status.is_not_found() => {}
        patched => drop(patched.unwrap()),
    }
}

/// Does `work` while all hooks succeed.
async fn while_hooks_succeed<T>(bench: &Bench, work: impl Future<Output = T>) -> T {
    let pods = bench.api("", "v1", "Pod", "pods");
    let succeed = async {
        let mut changed = changes(&pods, of_jobs());
        while let Some(pod) = changed.next().await {
            if let Some(name) = running(&serde_json::to_value(pod).unwrap()) {
                end_pod(&pods, &name, 0, "").await;
            }
        }
    };
    tokio::select! {
        done = work => done,
        () = succeed => unreachable!("there is no end of hooks"),
    }
}

/// Waits for a failure whose message has this part, and adds the status to what was shown.
async fn failed(bench: &Bench, part: &str, shown: &mut String) {
    let status = bench
        .wait(
            &format!("a failure with `{part}`"),
            &bench.webs(),
            "shop",
            |web| {
                let (_, _, message) = condition(web, "Ready")?;
                message.contains(part).then(|| web["status"].to_string())
            },
        )
        .await;
    shown.push_str(&status);
}

/// Everything that the operator shows besides the status.
async fn shown_elsewhere(bench: &Bench, operator: &OperatorProcess) -> String {
    let arguments = ["get", "events", "-n", &bench.namespace, "-o", "json"];
    let events: Value = serde_json::from_str(&bench.cluster.kubectl(&arguments).await.unwrap()).unwrap();
    let ours = |event: &&Value| event["source"]["component"] == "steersman";
    let events: Vec<String> = events["items"]
        .as_array()
        .unwrap()
        .iter()
        .filter(ours)
        .map(Value::to_string)
        .collect();
    assert!(!events.is_empty());
    let metrics = operator.metrics().await.unwrap();
    [operator.log_text(), metrics, events.concat()].concat()
}

#[tokio::test]
async fn no_secret_is_shown_whatever_fails() {
    let Some(bench) = Bench::with_kind("masking").await else {
        return;
    };
    bench.add_template("vault.yaml", TEMPLATE);
    bench.add_template("louder.yaml", LOUDER);
    std::fs::write(bench.folder.path().join("web/values.schema.json"), SCHEMA).unwrap();
    bench.watches(&format!(
        "- group: {}\n  version: v1\n  kind: Web\n  chart: web\n  overrideValues:\n    epsilon: ${{SOURCE}}\n    \
         dbPassword: canary-db\n    message: shown\n",
        bench.group
    ));
    let environment = [("SOURCE", "canary-env")];
    let operator = bench.operator_in(bench.folder.path(), &environment);
    operator.wait_until_ready(PATIENCE).await.unwrap();
    let mut shown = String::new();

    bench.apply_web("shop", spec(json!({"strict": true}))).await;
    failed(
        &bench,
        "at '/alpha': the value does not match pattern '^x*$'",
        &mut shown,
    )
    .await;
    bench.apply_web("shop", spec(json!({"loud": true}))).await;
    failed(&bench, "bad: ********", &mut shown).await;
    bench.apply_web("shop", spec(json!({"louder": true}))).await;
    failed(
        &bench,
        "worse: ******** \"********\" ******** ********",
        &mut shown,
    )
    .await;
    bench.apply_web("shop", spec(json!({}))).await;
    end_hook(&bench, 3, &said("canary-env")).await;
    failed(&bench, "ended with 3: ", &mut shown).await;
    bench.apply_web("shop", spec(json!({"number": true}))).await;
    while_hooks_succeed(&bench, failed(&bench, "shop-vault", &mut shown)).await;
    bench.apply_web("shop", spec(json!({"extra": true}))).await;
    let webs = bench.webs();
    let deployed = bench.wait("the release", &webs, "shop", |web| {
        condition(web, "Deployed").filter(|_| has_ended(web) && condition(web, "ReleaseFailed").is_none())?;
        Some(web.clone())
    });
    let web = while_hooks_succeed(&bench, deployed).await;
    shown.push_str(&web["status"].to_string());
    let events = bench.events().await;
    assert!(
        events.contains(r#"Chart value "epsilon" overridden to "****""#)
            && events.contains(r#"Chart value "message" overridden to "shown""#),
        "{events}"
    );
    shown.push_str(&shown_elsewhere(&bench, &operator).await);
    operator.stop().await.unwrap();

    // Another process has not seen the release being made.
    let secret = bench.secrets().get("shop-vault").await.unwrap();
    let generated = STANDARD
        .decode(secret.data["data"]["generated"].as_str().unwrap())
        .unwrap();
    let generated = String::from_utf8(generated).unwrap();
    bench.patch_web("shop", json!({"spec": null})).await;
    bench.delete_web("shop").await;
    let operator = bench.operator_in(bench.folder.path(), &environment);
    operator.wait_until_ready(PATIENCE).await.unwrap();
    end_hook(&bench, 3, &said(&generated)).await;
    failed(&bench, "pre-delete hook", &mut shown).await;
    shown.push_str(&shown_elsewhere(&bench, &operator).await);
    operator.stop().await.unwrap();

    let lower = shown.to_lowercase();
    for secret in [
        "canary",
        "87654321",
        "63616e617279",
        "3837363534333231",
        &generated.to_lowercase(),
    ] {
        assert!(
            !lower.contains(secret),
            "{secret} is in {}",
            around(&lower, secret)
        );
    }
    for encoded in ["Y2FuYXJ5", "NhbmFye", "jYW5hcn", "ODc2NTQzMj"] {
        assert!(
            !shown.contains(encoded),
            "{encoded} is in {}",
            around(&shown, encoded)
        );
    }
}

/// The part of a text that shows what must not be in it.
fn around(text: &str, part: &str) -> String {
    let at = text.find(part).unwrap_or_default();
    let (start, end) = (
        text.floor_char_boundary(at.saturating_sub(600)),
        text.ceil_char_boundary(at + 300),
    );
    text[start..end].to_owned()
}

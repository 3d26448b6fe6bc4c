//! What a revision waits for: all its objects, or those of one stage after the other.
//!
//! An Ingress is ready when it has an address, which nobody on the control plane gives it but the tests.

mod annotated;
mod behind;
mod by_helm;
mod expiring;
mod forged;
mod healing;
mod judged;
mod pravega;
mod staged;
mod told;
mod undone;
mod waiting;
mod words;

use std::fmt::Write as _;
use std::process::Command;

use kube::api::{Api, DynamicObject, Patch, PatchParams};
use serde_json::{Value, json};

use crate::bench::{Bench, condition};

/// An Ingress of this part of the site, another one for each value, and a map that stays.
fn part(name: &str) -> String {
    format!(
        "apiVersion: networking.k8s.io/v1\nkind: Ingress\nmetadata:\n  name: {{{{ .Release.Name }}}}-{name}-{{{{ .Values.{name} \
         | default \"1\" }}}}\nspec:\n  defaultBackend: {{service: {{name: web, port: {{number: 80}}}}}}\n---\napiVersion: \
         v1\nkind: ConfigMap\nmetadata:\n  name: {{{{ .Release.Name }}}}-{name}\ndata:\n  value: {{{{ .Values.{name} | default \
         \"1\" | quote }}}}\n"
    )
}

/// A bench whose chart has these parts, and whose entry has these lines besides.
pub(crate) async fn site(test: &str, parts: &[&str], entry: &str) -> Option<Bench> {
    let bench = Bench::with_kind(test).await?;
    bench.remove_templates();
    for name in parts {
        bench.add_template(&format!("{name}.yaml"), &part(name));
    }
    let group = &bench.group;
    bench.watches(&format!(
        "- group: {group}\n  version: v1\n  kind: Web\n  chart: web\n{entry}"
    ));
    Some(bench)
}

/// The stages of a site with these parts.
pub(crate) fn stages(parts: &[&str]) -> String {
    let mut entry = "  stages:\n".to_owned();
    for name in parts {
        let _ = writeln!(
            entry,
            "  - name: {name}\n    objects: [{{name: '.*-{name}(-.*)?'}}]"
        );
    }
    entry
}

/// `entry` with a stage that waits for somebody's word.
fn approved(entry: &str, part: &str) -> String {
    let name = format!("- name: {part}\n");
    entry.replace(&name, &format!("{name}    approve: true\n"))
}

/// Waits until the first revision of a site with these parts is deployed.
async fn install(bench: &Bench, web: &str, parts: &[&str]) {
    bench.apply_web(web, json!({})).await;
    for part in parts {
        give_address(bench, &format!("{web}-{part}-1")).await;
    }
    bench.wait_revision(web, 1).await;
}

fn ingresses(bench: &Bench) -> Api<DynamicObject> {
    bench.api("networking.k8s.io", "v1", "Ingress", "ingresses")
}

/// Waits until the Ingress is there, and gives it an address.
pub(crate) async fn give_address(bench: &Bench, name: &str) {
    let ingresses = ingresses(bench);
    bench
        .wait("the Ingress", &ingresses, name, |found| {
            (!found.is_null()).then_some(())
        })
        .await;
    set_addresses(bench, name, json!([{"ip": "192.0.2.1"}])).await;
}

/// Has an Ingress that is there have these addresses, or none where this is null.
async fn set_addresses(bench: &Bench, name: &str, addresses: Value) {
    let status = json!({"status": {"loadBalancer": {"ingress": addresses}}});
    let patch = Patch::Merge(&status);
    ingresses(bench)
        .patch_status(name, &PatchParams::default(), &patch)
        .await
        .unwrap();
}

async fn is_there(bench: &Bench, ingress: &str) -> bool {
    ingresses(bench).get_opt(ingress).await.unwrap().is_some()
}

/// Waits until the condition has this reason, and gives its message.
pub(crate) async fn wait_reason(bench: &Bench, web: &str, kind: &str, reason: &str) -> String {
    let what = format!("{kind} because of {reason}");
    bench
        .wait(&what, &bench.webs(), web, |web| {
            let (status, found, message) = condition(web, kind)?;
            (status == "True" && found == reason).then_some(message)
        })
        .await
}

/// What the status says of stages: `a 1 Ready, b 1 Progressing`.
fn shown_stages(web: &Value) -> String {
    let stages = web.pointer("/status/stages").and_then(Value::as_array);
    let shown = stages.into_iter().flatten().map(|stage| {
        let text = |key: &str| stage[key].as_str().unwrap_or_default();
        format!("{} {} {}", text("name"), stage["revision"], text("state"))
    });
    shown.collect::<Vec<_>>().join(", ")
}

/// Waits until the status says this of stages.
pub(crate) async fn wait_stages(bench: &Bench, web: &str, expect: &str) -> Value {
    bench
        .wait(&format!("stages {expect}"), &bench.webs(), web, |web| {
            (shown_stages(web) == expect).then(|| web.clone())
        })
        .await
}

/// Sets an annotation of the resource.
async fn annotate(bench: &Bench, web: &str, name: &str, value: &str) {
    let annotations = json!({"metadata": {"annotations": {(name): value}}});
    bench.patch_web(web, annotations).await;
}

/// Says a word with `steersman stage`: the exit code, and what is printed.
fn say(bench: &Bench, words: &[&str]) -> (Option<i32>, String) {
    let mut command = Command::new(env!("CARGO_BIN_EXE_steersman"));
    let command = command
        .arg("stage")
        .args(words)
        .env("KUBECONFIG", bench.user.kubeconfig())
        .args(["-n", &bench.namespace]);
    let output = command.output().unwrap();
    let text = [output.stdout, output.stderr].concat();
    (output.status.code(), String::from_utf8(text).unwrap())
}

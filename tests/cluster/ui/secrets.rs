//! What is secret in a release beside what its chart says is masked on each page.

use kube::api::{Patch, PatchParams};
use serde_json::{Value, json};
use steersman_testkit::cluster::{Fault, FaultProxy};

use super::{Page, WATCHED, site};
use crate::bench::Bench;

const CANARIES: [&str; 4] = [
    "canary-of-file",
    "canary-in-list",
    "canary-filled-later",
    "canary-of-flow",
];

/// The Secret that the entry has values from.
const VALUES: &str = "shop-values";

/// A chart that shows what it is given, and has a Secret that others fill.
async fn released(bench: &Bench) {
    bench.add_template("web.yaml", WATCHED);
    bench.add_template(
        "map.yaml",
        "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: shop-map}\ndata: {word: '{{ .Values.inner.word }}', \
         first: '{{ index .Values.list 0 }}', flow: '{{ .Values.flow.note }}'}\n---\napiVersion: v1\nkind: Secret\n\
         metadata: {name: shop-own}\nstringData: {own: canary-own}\n",
    );
    let watches = json!([{"group": bench.group, "version": "v1", "kind": "Web", "chart": "web",
        "valuesFrom": [{"kind": "Secret", "name": VALUES}]}]);
    bench.watches(&watches.to_string());
    let file = "inner:\n  word: canary-of-file\nlist: [canary-in-list]\nflow: {note: \"canary-of-flow\"}\n";
    let values = json!({"apiVersion": "v1", "kind": "Secret", "metadata": {"name": VALUES},
        "stringData": {"values.yaml": file}});
    bench.create(&bench.secrets(), values).await;
    let operator = bench.ready_operator().await;
    bench
        .apply_web(
            "shop",
            json!({"note": "canary-of-file", "said": "canary-in-list"}),
        )
        .await;
    bench.wait_revision("shop", 1).await;
    operator.stop().await.unwrap();
    let filled = Patch::Merge(json!({"stringData": {"late": "canary-filled-later"}}));
    let secrets = bench.secrets();
    secrets
        .patch("shop-own", &PatchParams::default(), &filled)
        .await
        .unwrap();
}

// The page is waited for while the proxy answers it.
#[tokio::test(flavor = "multi_thread")]
async fn values_of_files_in_secrets_and_what_others_have_put_into_secrets_are_masked() {
    let Some(bench) = site("ui_secrets").await else {
        return;
    };
    released(&bench).await;
    let all = CANARIES.join(" ");
    let event = json!({"apiVersion": "v1", "kind": "Event", "metadata": {"name": "told", "namespace": bench.namespace},
        "involvedObject": {"apiVersion": "v1", "kind": "ConfigMap", "name": "shop-map", "namespace": bench.namespace},
        "reason": "Told", "message": format!("it says {all}"), "type": "Warning"});
    bench.create(&bench.api("", "v1", "Event", "events"), event).await;
    let condition = |kind: &str| {
        json!({"type": kind, "status": "True", "reason": "canary-in-list", "message": all,
        "lastTransitionTime": "2026-01-01T00:00:00Z"})
    };
    let status: Value = json!({"conditions": [condition("Stalled"), condition("Ready")],
        "stages": [{"name": "a", "revision": 1, "state": "Failed", "message": all}],
        "drift": {"total": 1, "objects": [all], "message": all}});
    let status = Patch::Merge(json!({ "status": status }));
    let webs = bench.webs();
    webs.patch_status("shop", &PatchParams::default(), &status)
        .await
        .unwrap();

    let proxy = FaultProxy::start(bench.cluster, &bench.user).await.unwrap();
    let page = Page::start_as(&bench, proxy.user().kubeconfig(), &[]);
    let cookie = page.log_in().await;
    let address = format!("/releases/webs.{}/{}/shop", bench.group, bench.namespace);
    let object = format!(
        "{address}/object?group=&kind=ConfigMap&namespace={}&name=shop-map",
        bench.namespace
    );
    let values = format!("{address}/values");
    page.wait(&address, &cookie, "Told").await;
    let own = format!("/secrets/{VALUES}");
    for status in [None, Some(500)] {
        // What can't be read for a moment has all be masked.
        let fault = |status| Fault::on("get", "secrets").part(&own).refuse(status).always();
        let fault = status.map(|status| proxy.inject(fault(status)));
        for path in [&address, &object, &values] {
            let body = page.get(path, &cookie).await.body;
            let instead = status.map_or("********", |_| "(not shown: it may have secrets");
            assert!(body.contains(instead), "{path}: {body}");
            no_canary(path, &body);
        }
        if let Some(fault) = fault {
            proxy.take_back(fault);
        }
    }

    // What the Secret has no longer is secret still where the first revision has it.
    let file = "inner:\n  word: another\nlist: [another]\nflow: {note: another}\n";
    let changed = Patch::Merge(json!({"stringData": {"values.yaml": file}}));
    let secrets = bench.secrets();
    secrets
        .patch(VALUES, &PatchParams::default(), &changed)
        .await
        .unwrap();
    bench.apply_web("shop", json!({"note": "plain"})).await;
    let operator = bench.ready_operator().await;
    bench.wait_revision("shop", 2).await;
    operator.stop().await.unwrap();
    for below in ["compare?from=1&to=2", "actions/roll-back?revision=1"] {
        let path = format!("{address}/{below}");
        let body = page.get(&path, &cookie).await.body;
        assert!(body.contains("note"), "{path}: {body}");
        no_canary(&path, &body);
    }
}

fn no_canary(path: &str, body: &str) {
    for canary in CANARIES {
        assert!(!body.contains(canary), "{path} has {canary}: {body}");
    }
}

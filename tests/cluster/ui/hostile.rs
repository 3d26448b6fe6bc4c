//! What strangers have written, wherever they can, is text on each page.

use kube::api::{Api, DynamicObject, Patch, PatchParams};
use serde_json::{Value, json};

use super::{Page, WATCHED, between, site};
use crate::bench::Bench;
use crate::procedures::{define_runs, pod_with, put_procedures, runs};

/// Begins an element, and turns the text around.
const HOSTILE: &str = "\"'><img src=x onerror=alert(1)>\u{202e}{{7*7}}</script><script>alert(2)</script>";
/// Of a tag that only a stranger has begun.
const TAGS: [&str; 4] = ["<img", "alert(2)</script>", "<script>alert", "\u{202e}"];

const BACKUP: &str = "  - {name: backup, job: procedures/job.yaml}\n";

async fn write_status(api: &Api<DynamicObject>, name: &str, status: Value) {
    let patch = Patch::Merge(json!({ "status": status }));
    api.patch_status(name, &PatchParams::default(), &patch)
        .await
        .unwrap();
}

/// A release whose chart, values, objects, pods, events, runs and status have it, with no operator that mends that. Gives its pod.
async fn written_on(bench: &Bench) -> String {
    put_procedures(bench, &[], BACKUP).await;
    bench.add_template("web.yaml", WATCHED);
    define_runs(bench, &["WebBackup"]).await;
    let group = &bench.group;
    let notes = format!(
        "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: shop-notes\n  annotations: {{note: {0}}}\ndata: {{text: {0}}}\n",
        json!(HOSTILE).to_string().replace("{{", "{{ `{{` }}")
    );
    bench.add_template("notes.yaml", &notes);
    let map = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: shop-map}\ndata: {message: {{ .Values.message | quote }}}\n";
    bench.add_template("map.yaml", map);
    let operator = bench.ready_operator().await;
    bench
        .apply_web("shop", json!({"message": HOSTILE, "other": {"<b>key": HOSTILE}}))
        .await;
    bench.wait_revision("shop", 1).await;
    bench
        .apply_web("shop", json!({"message": format!("{HOSTILE} again")}))
        .await;
    bench.wait_revision("shop", 2).await;
    operator.stop().await.unwrap();

    let pods = bench.api("", "v1", "Pod", "pods");
    let pod = pod_with(bench, "app=shop").await;
    let waiting = json!({"waiting": {"reason": HOSTILE, "message": HOSTILE}});
    let ended = json!({"terminated": {"exitCode": 1, "reason": HOSTILE, "message": HOSTILE}});
    let ready = json!({"type": "Ready", "status": "False", "reason": HOSTILE, "message": HOSTILE});
    write_status(&pods, &pod, json!({"phase": "Pending", "message": HOSTILE, "reason": HOSTILE, "conditions": [ready],
        "containerStatuses": [{"name": "web", "image": "none", "imageID": "", "ready": false, "restartCount": 7, "state": waiting,
            "lastState": ended}]}))
    .await;
    let run = json!({"apiVersion": format!("{group}/v1"), "kind": "WebBackup", "metadata": {"name": "by-hand"}, "spec": {"resource": "shop"}});
    bench.create(&runs(bench, "WebBackup"), run).await;
    write_status(
        &runs(bench, "WebBackup"),
        "by-hand",
        json!({"phase": "Failed", "message": HOSTILE, "result": {HOSTILE: HOSTILE},
        "steps": [{"name": HOSTILE, "state": HOSTILE, "job": HOSTILE, "message": HOSTILE}]}),
    )
    .await;
    let conditions = json!([{"type": "Stalled", "status": "True", "reason": HOSTILE, "message": HOSTILE, "lastTransitionTime": "2026-01-01T00:00:00Z"},
        {"type": "Reconciling", "status": "False", "reason": HOSTILE, "message": HOSTILE, "lastTransitionTime": "2026-01-01T00:00:00Z"}]);
    write_status(
        &bench.webs(),
        "shop",
        json!({"conditions": conditions, "chart": {"name": HOSTILE, "version": HOSTILE}}),
    )
    .await;
    for (name, version, kind, of) in [
        ("hostile", format!("{group}/v1"), "Web", "shop"),
        ("hostile-pod", "v1".to_owned(), "Pod", &pod),
    ] {
        let event = json!({"apiVersion": "v1", "kind": "Event", "metadata": {"name": name, "namespace": bench.namespace},
            "involvedObject": {"apiVersion": version, "kind": kind, "name": of, "namespace": bench.namespace},
            "reason": HOSTILE, "message": HOSTILE, "type": "Warning", "source": {"component": HOSTILE}, "count": 3});
        bench.create(&bench.api("", "v1", "Event", "events"), event).await;
    }
    let owner = PatchParams::apply("<img src=x>").force();
    let mine = json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "shop-notes"}, "data": {"mine": HOSTILE}});
    bench
        .config_maps()
        .patch("shop-notes", &owner, &Patch::Apply(&mine))
        .await
        .unwrap();
    pod
}

#[tokio::test]
async fn what_strangers_have_written_is_text_on_each_page() {
    let Some(bench) = site("ui_hostile").await else {
        return;
    };
    let pod = written_on(&bench).await;
    let page = Page::start(&bench, &[]);
    let cookie = page.log_in().await;
    let address = format!("/releases/webs.{}/{}/shop", bench.group, bench.namespace);
    page.wait("/", &cookie, "Stalled").await;
    let object = |kind: &str, name: &str| {
        format!(
            "{address}/object?group=&kind={kind}&namespace={}&name={name}",
            bench.namespace
        )
    };
    let asked = "%22%3E%3Cimg%20src%3Dx%3E";
    let shows = [
        ("/".to_owned(), 200),
        (format!("/?search={asked}&namespace={asked}"), 200),
        (address.clone(), 200),
        (format!("{address}/values"), 200),
        (format!("{address}/compare?from=1&to=2"), 200),
        (format!("{address}/plan"), 200),
        (object("ConfigMap", "shop-notes"), 200),
        (object("Pod", &pod), 200),
        (object("ConfigMap", asked), 404),
        (
            format!("{address}/logs?namespace={asked}&pod={asked}&container={asked}"),
            404,
        ),
        (format!("{address}/actions/pause?"), 200),
        (format!("{address}/actions/run?procedure=backup"), 200),
        (format!("{address}/actions/roll-back?revision=1"), 200),
        (format!("/releases/{asked}/{asked}/{asked}"), 404),
        (format!("/login?code={asked}"), 303),
    ];
    for (path, status) in shows {
        let answer = page.get(&path, &cookie).await;
        assert_eq!(answer.status, status, "{path}: {}", answer.body);
        for tag in TAGS {
            assert!(!answer.body.contains(tag), "{path} has {tag}: {}", answer.body);
        }
        let is_quoted = answer.body.contains("&lt;img") || answer.body.contains("&#60;img");
        let is_of_it = path.starts_with(&address)
            && status == 200
            && !path.contains("actions/pause")
            && !path.contains("actions/run")
            && !path.ends_with("/plan");
        assert!(
            is_quoted || !is_of_it,
            "{path} shows nothing of it: {}",
            answer.body
        );
    }
    let of_pod = page.get(&object("Pod", &pod), &cookie).await.body;
    let of_web = between(&of_pod, "<tr><th scope=\"row\">web</th>", "</tr>");
    for part in ["Waiting: ", "exit code 1", "<td>7 (", "before its last start"] {
        assert!(of_web.contains(part), "no {part}: {of_web}");
    }
    let events = between(&of_pod, "id=\"events\"", "</section>");
    assert!(events.contains(&format!("Pod {pod}")), "{events}");
    let of_release = page.get(&address, &cookie).await.body;
    let events = between(&of_release, "id=\"events\"", "</section>");
    assert!(events.contains(&format!("Pod {pod}")), "{events}");
}

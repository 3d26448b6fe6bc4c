//! What the operator keeps of what others write, while it looks at more of it and from one reconcile to the next.

use futures::StreamExt as _;
use kube::api::{Patch, PatchParams};
use serde_json::json;

use super::Campaign;
use crate::bench::Bench;

/// So many requests of a test are under way at a time.
const PARALLEL: usize = 16;

fn with_any_template(bench: &Bench) {
    bench.add_template(
        "any.yaml",
        "{{- with .Values.template }}\n{{ tpl . $ }}\n{{- end }}\n",
    );
}

/// A template that looks up so many Secrets by these names.
fn looking_up(count: usize, name: &str) -> String {
    format!(
        "{{{{ range until {count} }}}}{{{{ $_ := lookup \"v1\" \"Secret\" $.Release.Namespace (printf \"{name}\" .) }}}}{{{{ end }}}}"
    )
}

impl Campaign {
    /// How many kilobytes the process has of its own.
    fn own(&self) -> u64 {
        self.status("RssAnon:").parse().unwrap()
    }

    /// How many it has had at most, with what is of the program.
    fn most(&self) -> u64 {
        self.status("VmHWM:").parse().unwrap()
    }
}

/// Does something so many times, each with its number.
async fn in_parallel(count: usize, one: impl AsyncFn(usize)) {
    let all = futures::stream::iter(0..count).map(|number| one(number));
    all.buffer_unordered(PARALLEL).collect::<()>().await;
}

#[tokio::test]
async fn secrets_that_are_looked_up_again_are_not_kept() {
    let begun = Campaign::begin("secrets_that_are_looked_up_again", async |bench: &Bench| {
        with_any_template(bench);
    });
    let Some(campaign) = begun.await else { return };
    let bench = &campaign.bench;
    let count = if campaign.is_whole { 250 } else { 60 };
    let template = looking_up(count, "large-%d");
    bench.apply_web("looker", json!({"template": template})).await;
    bench.wait_revision("looker", 1).await;
    let before = campaign.most();
    let text = "x".repeat(340_000);
    in_parallel(count, async |number| {
        let name = format!("large-{number}");
        let secret = json!({"apiVersion": "v1", "kind": "Secret", "metadata": {"name": name}, "stringData": {"text": text}});
        bench.create(&bench.secrets(), secret).await;
    })
    .await;
    let again = json!({"metadata": {"labels": {"again": "yes"}}});
    bench.patch_web("looker", again).await;
    campaign.fails("looker", &["Secret", "MiB of memory"]).await;
    let after = campaign.most();
    assert!(after < before + 30 * 1024, "{before} kB have become {after}");
    campaign.goes_on("secrets looked up again").await;
    campaign.operator.stop().await.unwrap();
}

/// Secrets that say they are a release's, of which nothing but the metadata is large, or which are many.
#[tokio::test]
async fn secrets_that_are_no_revisions_are_not_kept() {
    let Some(campaign) = Campaign::begin("secrets_of_no_revisions", async |_: &Bench| {}).await else {
        return;
    };
    let bench = &campaign.bench;
    let (large, small) = if campaign.is_whole {
        (500, 40_000)
    } else {
        (200, 0)
    };
    let before = campaign.most();
    let note = "x".repeat(240_000);
    for (release, count, note) in [("large", large, note.as_str()), ("small", small, "")] {
        in_parallel(count, async |number| {
            let metadata = json!({"name": format!("{release}-{number}"), "annotations": {"note": note},
                "labels": {"owner": "helm", "name": release}});
            let secret = json!({"apiVersion": "v1", "kind": "Secret", "metadata": metadata, "type": "helm.sh/release.v1"});
            bench.create(&bench.secrets(), secret).await;
        })
        .await;
        if count > 0 {
            bench.apply_web(release, json!({})).await;
            campaign.fails(release, &[]).await;
        }
    }
    let after = campaign.most();
    assert!(after < before + 30 * 1024, "{before} kB have become {after}");
    campaign.goes_on("secrets of no revisions").await;
    campaign.operator.stop().await.unwrap();
}

#[tokio::test]
async fn names_that_no_object_can_have_are_not_kept() {
    let Some(bench) = Bench::with_kind("names_that_no_object_can_have").await else {
        return;
    };
    with_any_template(&bench);
    let operator = bench.ready_operator().await;
    let template = looking_up(100, &format!("{}-%d", "x".repeat(7000)));
    bench.apply_web("looker", json!({"template": template})).await;
    bench.wait_revision("looker", 1).await;
    let record = bench.secrets().get("sh.helm.release.v1.looker.v1").await.unwrap();
    let snapshot = record.data["data"].as_object().unwrap();
    let lengths = snapshot.values().filter_map(|value| Some(value.as_str()?.len()));
    assert!(lengths.sum::<usize>() < 40_000);
    let mark = bench.cluster.audit_mark().await.unwrap();
    let again = json!({"metadata": {"labels": {"again": "yes"}}});
    bench.patch_web("looker", again).await;
    bench.apply_web("looker", json!({"template": "# nothing"})).await;
    bench.wait_revision("looker", 2).await;
    let audit = bench.cluster.audit_since(mark).await.unwrap();
    let asked = audit
        .by_user(bench.user.name())
        .filter(|request| request.name.len() > 253);
    assert!(asked.is_empty(), "{asked}");
    operator.stop().await.unwrap();
}

#[tokio::test]
async fn objects_of_resources_that_nobody_knows_are_not_kept() {
    let begun = Campaign::begin("objects_of_nobody", async |_: &Bench| {});
    let Some(campaign) = begun.await else { return };
    let bench = &campaign.bench;
    bench.apply_web("shop", json!({})).await;
    bench.wait_revision("shop", 1).await;
    let before = campaign.own();
    let count = if campaign.is_whole { 45_000 } else { 3_000 };
    let maps = bench.config_maps();
    in_parallel(count, async |number| {
        let name = format!("of-nobody-{number}");
        let labels = json!({"steersman.dev/owner-uid": format!("11111111-2222-3333-4444-{number:012}"),
            "helm.sdk.operatorframework.io/chart": "web"});
        let map =
            json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name, "labels": labels}});
        let parameters = PatchParams::apply("steersman");
        let patch = Patch::Apply(&map);
        maps.patch(&name, &parameters, &patch).await.unwrap();
    })
    .await;
    campaign.goes_on("objects of nobody").await;
    let after = campaign.own();
    assert!(after < before + 3 * 1024, "{before} kB have become {after}");
    campaign.operator.stop().await.unwrap();
}

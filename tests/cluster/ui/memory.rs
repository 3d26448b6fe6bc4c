//! With the memory that its pod has, nothing that strangers write ends the page, however many look.
//!
//! `STEERSMAN_MEMORY=FILE` does that with another program, and prints what it took.

use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::Command;

use futures::StreamExt as _;
use futures::future::join_all;
use kube::api::{Api, DynamicObject, Patch, PatchParams, PostParams};
use serde_json::{Value, json};
use steersman_testkit::cluster::MemoryGroup;

use super::tokens::{account, accounts, log_in_by, token_of};
use super::{Page, site};
use crate::bench::Bench;

/// Half of what docs/how-to/ui.md gives it: sessions that have many rows take the other half.
const LIMIT: u64 = 128 << 20;
/// What may be used of it.
const MOST: u64 = 115 << 20;
/// So many objects of a kind are a megabyte each.
const LARGE: usize = 24;
const USERS: usize = 3;
/// Each of them has so many tabs.
const TABS: usize = 2;

async fn many(of: &Api<DynamicObject>, object: impl Fn(usize) -> Value) {
    let made = futures::stream::iter(0..LARGE).map(|number| {
        let object = serde_json::from_value(object(number)).unwrap();
        async move {
            of.create(&PostParams::default(), &object).await.unwrap();
        }
    });
    made.buffer_unordered(8).collect::<Vec<()>>().await;
}

/// Resources, events, and pods with the labels of those of the release, each as large as the server takes them.
async fn strangers(bench: &Bench) {
    let large = "x".repeat(1 << 20);
    many(&bench.webs(), |number| {
        json!({"apiVersion": format!("{}/v1", bench.group), "kind": "Web", "metadata": {"name": format!("large-{number}")},
            "spec": {"message": large}})
    })
    .await;
    many(&bench.api("", "v1", "Pod", "pods"), |number| {
        json!({"apiVersion": "v1", "kind": "Pod", "metadata": {"name": format!("large-{number}"), "labels": {"app": "shop"}},
            "spec": {"containers": [{"name": "web", "image": "none", "env": [{"name": "LARGE", "value": large}]}]}})
    })
    .await;
    many(&bench.api("", "v1", "Event", "events"), |number| {
        json!({"apiVersion": "v1", "kind": "Event", "message": large, "reason": "Large", "type": "Normal",
            "metadata": {"name": format!("large-{number}"), "namespace": bench.namespace},
            "involvedObject": {"apiVersion": "apps/v1", "kind": "Deployment", "name": "shop", "namespace": bench.namespace}})
    })
    .await;
}

/// A release, and one with a history that takes more than the usual share, and an object that is larger than an answer may be.
async fn released(bench: &Bench) {
    bench.add_template(
        "map.yaml",
        "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: '{{ .Release.Name }}-map'}\ndata: {message: '{{ .Values.message }}'}\n",
    );
    let operator = bench.ready_operator().await;
    bench.apply_web("shop", json!({})).await;
    bench.wait_revision("shop", 1).await;
    for revision in 1..=5 {
        let message = format!("{revision}{}", "x".repeat(300_000));
        bench.apply_web("fat", json!({ "message": message })).await;
        bench.wait_revision("fat", revision).await;
    }
    operator.stop().await.unwrap();
    // In JSON each takes six bytes.
    let escaped = "\u{1}".repeat(240_000);
    for key in ["a", "b", "c"] {
        let more = Patch::Merge(json!({"data": { (key): escaped }}));
        let maps = bench.config_maps();
        maps.patch("fat-map", &PatchParams::default(), &more)
            .await
            .unwrap();
    }
}

/// What is too large takes nothing else with it, and who waits for memory does not hold what is waited for.
async fn large(bench: &Bench, page: &Page) {
    let cookie = &log_in_by(page, &token_of(bench, "looker-0").await).await;
    let address = format!("/releases/webs.{}/{}/fat", bench.group, bench.namespace);
    let shown = page.get(&address, cookie).await;
    let text = shown.body.replace("&#39;", "'");
    for part in [
        "Deployment fat",
        "it can't be read: the answer of the API server is larger than",
    ] {
        assert!(shown.status == 200 && text.contains(part), "no {part}: {text}");
    }
    let confirmed = page.get(&format!("{address}/actions/reconcile?"), cookie).await;
    assert!(
        confirmed.status == 200 && confirmed.body.contains("name=\"token\""),
        "{}",
        confirmed.body
    );
}

/// Everybody logs in at once, and looks at the release in several tabs.
async fn look(bench: &Bench, page: &Page) {
    let address = &format!("/releases/webs.{}/{}/shop", bench.group, bench.namespace);
    let users = (0..USERS).map(async |number| {
        let token = token_of(bench, &format!("looker-{number}")).await;
        let cookie = &log_in_by(page, &token).await;
        // A machine that has much else to do may take longer than a look may.
        join_all((0..TABS).map(|_| page.wait(address, cookie, "Deployment shop"))).await;
        page.wait("/", cookie, "Web large-0").await;
        page.wait("/?q=shop", cookie, "Web shop").await;
    });
    join_all(users).await;
}

#[tokio::test]
async fn what_strangers_write_does_not_end_the_page_of_a_pod() {
    let Some(mut bench) = site("ui_memory").await else {
        return;
    };
    bench.patience *= 4;
    let Some(group) = MemoryGroup::new_or_say("ui_memory", LIMIT) else {
        return;
    };
    released(&bench).await;
    strangers(&bench).await;
    accounts(&bench).await;
    for number in 0..USERS {
        account(&bench, &format!("looker-{number}")).await;
    }

    let released = std::env::var_os("STEERSMAN_MEMORY").map(PathBuf::from);
    let usual = Path::new(env!("CARGO_BIN_EXE_steersman"));
    let program = group
        .entering(released.as_deref().unwrap_or(usual), bench.folder.path())
        .unwrap();
    let arguments = ["--login", "token", "--namespace", &bench.namespace];
    let mut program = Command::new(program);
    // As images have it.
    program.env("MALLOC_ARENA_MAX", "1");
    let mut page = Page::start_by(&mut program, &bench, bench.user.kubeconfig(), &arguments);
    look(&bench, &page).await;
    large(&bench, &page).await;
    assert_eq!(group.kills().unwrap_or_default(), 0);
    assert!(page.child.try_wait().unwrap().is_none(), "it has ended");
    if released.is_some() {
        let peak = group.peak().unwrap_or_default();
        let line = format!("the page: peak {} MiB of the group\n", peak >> 20);
        std::io::stderr().write_all(line.as_bytes()).unwrap();
        assert!(peak <= MOST, "{} MiB", peak >> 20);
    }
}

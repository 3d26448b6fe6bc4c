//! Many resources, and many who look.

use std::fs;
use std::time::{Duration, Instant};

use futures::StreamExt as _;
use kube::api::{Patch, PatchParams};
use serde_json::json;
use steersman_testkit::cluster::number_of_sessions;
use tokio::io::AsyncReadExt as _;

use super::tokens::{account, accounts, log_in_by, token_of};
use super::{Page, read_until, site};
use crate::bench::{Bench, PATIENCE};

const RESOURCES: usize = 5000;
/// `STEERSMAN_SESSIONS` says another number.
const SESSIONS: usize = 4;
/// What a session may take, in bytes: its rows, and what keeps them up to date.
const MOST_OF_SESSION: u64 = 8 << 20;
/// Of the resources, so many are stalled, with as many words as there may be.
const STALLED: usize = 60;
/// What a browser loads for the first page, in bytes, whatever is said in its rows.
const MOST_LOADED: usize = 100_000;

/// How much memory the program has, in bytes.
fn resident(page: &Page) -> u64 {
    let status = fs::read_to_string(format!("/proc/{}/status", page.child.id())).unwrap();
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"));
    let kilobytes = line.unwrap().trim().trim_end_matches(" kB");
    kilobytes.parse::<u64>().unwrap() * 1024
}

/// Resources that nobody has looked at, but for some that are stalled.
async fn resources(bench: &Bench) {
    let webs = bench.webs();
    let made = futures::stream::iter(0..RESOURCES).map(|number| {
        let web = json!({"apiVersion": format!("{}/v1", bench.group), "kind": "Web",
            "metadata": {"name": format!("web-{number:04}")}, "spec": {"message": "x".repeat(500)}});
        let web = serde_json::from_value(web).unwrap();
        let webs = webs.clone();
        async move { webs.create(&Default::default(), &web).await.map(|_| ()).unwrap() }
    });
    made.buffer_unordered(16).collect::<Vec<()>>().await;
    let long = "<&".repeat(1000);
    for number in RESOURCES - STALLED..RESOURCES {
        let condition = json!({"type": "Stalled", "status": "True", "reason": "x".repeat(1000), "message": long,
            "lastTransitionTime": "2026-01-01T00:00:00Z"});
        let status = json!({"status": {"observedGeneration": 1, "revision": 1, "conditions": [condition],
            "chart": {"name": long, "version": long}}});
        let (name, parameters) = (format!("web-{number:04}"), PatchParams::default());
        let patch = Patch::Merge(status);
        webs.patch_status(&name, &parameters, &patch).await.unwrap();
    }
}

/// The first page, when all rows are there.
async fn first_page(page: &Page, cookie: &str) -> String {
    let begun = Instant::now();
    let lowest = format!("Web web-{}", RESOURCES - STALLED + 49);
    loop {
        let list = page.get("/", cookie).await.body;
        // It has rows as they come.
        if list.contains(&lowest) {
            return list;
        }
        assert!(begun.elapsed() < PATIENCE, "{list}");
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
}

/// How much of a file a browser loads.
async fn packed_size(page: &Page, asset: &str) -> usize {
    let head = [
        format!("Host: {}", page.host),
        "Accept-Encoding: br, gzip".to_owned(),
    ];
    let mut stream = page.send(&format!("GET /assets/{asset}"), &head).await;
    let mut answer = Vec::new();
    stream.read_to_end(&mut answer).await.unwrap();
    let end = answer.windows(4).position(|bytes| bytes == b"\r\n\r\n").unwrap() + 4;
    let head = String::from_utf8_lossy(&answer[..end]).to_lowercase();
    assert!(head.contains("content-encoding: gzip"), "{head}");
    answer.len() - end
}

#[expect(clippy::print_stdout, reason = "what a session takes is to be seen")]
#[tokio::test]
async fn a_session_costs_its_rows_and_a_page_has_fifty_of_them() {
    let Some(bench) = site("ui_many").await else {
        return;
    };
    resources(&bench).await;
    let page = Page::start(&bench, &["--login", "token", "--namespace", &bench.namespace]);
    accounts(&bench).await;
    let (sessions, mut before) = (number_of_sessions(SESSIONS), 0);
    let mut open = Vec::new();
    // Each is somebody else: of one, some sessions are kept.
    for number in 0..=sessions {
        let name = format!("looker-{number}");
        account(&bench, &name).await;
        let cookie = log_in_by(&page, &token_of(&bench, &name).await).await;
        let list = first_page(&page, &cookie).await;
        assert_eq!(list.matches("<tr>").count(), 50 + 1, "with the head");
        assert!(list.contains("100 pages") || list.contains("of 100,"), "{list}");
        let stalled = list.matches("health stalled").count();
        assert_eq!(stalled, 50, "the worst of all");
        let mut loaded = list.len();
        for asset in ["htmx.js", "htmx-sse.js", "style.css", "icon.svg"] {
            loaded += packed_size(&page, asset).await;
        }
        assert!(loaded <= MOST_LOADED, "{loaded}");
        if number == 0 {
            println!(
                "{loaded} bytes for the first page, {} of them its own",
                list.len()
            );
        }
        let mut stream = page.send("GET /events?", &page.own(&cookie)).await;
        read_until(&mut stream, "web-4940").await;
        open.push((cookie, stream));
        if number == 0 {
            // What is there for everybody.
            before = resident(&page);
        }
    }
    let each = resident(&page).saturating_sub(before) / sessions as u64;
    println!(
        "{} KiB before the sessions, {} KiB for each of {sessions}",
        before >> 10,
        each >> 10
    );
    assert!(each <= MOST_OF_SESSION, "{each} bytes for each session");
    for (cookie, _) in &open {
        assert_eq!(page.get("/", cookie).await.status, 200);
    }
}

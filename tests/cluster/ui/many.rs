//! Many resources, and many who look.

use std::fs;

use futures::StreamExt as _;
use serde_json::json;

use super::tokens::{account, log_in_by, token};
use super::{Page, site};
use crate::bench::PATIENCE;

const RESOURCES: usize = 5000;
const SESSIONS: usize = 20;
/// What a session may take, in bytes: its rows, and what keeps them up to date.
const MOST_OF_SESSION: u64 = 10 << 20;
/// What a browser loads for the first page, in bytes.
const MOST_LOADED: usize = 100_000;

/// How much memory the program has, in bytes.
fn resident(page: &Page) -> u64 {
    let status = fs::read_to_string(format!("/proc/{}/status", page.child.id())).unwrap();
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"));
    let kilobytes = line.unwrap().trim().trim_end_matches(" kB");
    kilobytes.parse::<u64>().unwrap() * 1024
}

#[tokio::test]
async fn a_session_costs_its_rows_and_a_page_has_fifty_of_them() {
    let Some(bench) = site("ui_many").await else {
        return;
    };
    let webs = bench.webs();
    let made = futures::stream::iter(0..RESOURCES).map(|number| {
        let web = json!({"apiVersion": format!("{}/v1", bench.group), "kind": "Web",
            "metadata": {"name": format!("web-{number:04}")}, "spec": {"message": "x".repeat(500)}});
        let web = serde_json::from_value(web).unwrap();
        let webs = webs.clone();
        async move { webs.create(&Default::default(), &web).await.map(|_| ()).unwrap() }
    });
    made.buffer_unordered(16).collect::<Vec<()>>().await;
    let page = Page::start(&bench, &["--login", "token", "--namespace", &bench.namespace]);
    account(&bench, &bench.namespace).await;
    let mut before = 0;
    for number in 0..=SESSIONS {
        let token = token(&bench).await;
        let cookie = log_in_by(&page, &token).await;
        let begun = std::time::Instant::now();
        let list = loop {
            let list = page.get("/", &cookie).await.body;
            if list.contains("100 pages") || list.contains("of 100,") {
                break list;
            }
            assert!(begun.elapsed() < PATIENCE, "{list}");
        };
        assert_eq!(list.matches("<tr>").count(), 50 + 1, "with the head");
        let mut loaded = list.len();
        for asset in ["htmx.js", "htmx-sse.js", "style.css", "icon.svg"] {
            loaded += page.get(&format!("/assets/{asset}"), &cookie).await.body.len();
        }
        assert!(loaded <= MOST_LOADED, "{loaded}");
        if number == 0 {
            // What is there for everybody.
            before = resident(&page);
        }
    }
    let each = resident(&page).saturating_sub(before) / SESSIONS as u64;
    assert!(each <= MOST_OF_SESSION, "{each} bytes for each session");
}

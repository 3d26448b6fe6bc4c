//! The pictures of the documents are what the page looks like.

use std::path::Path;

use serde_json::json;
use steersman_testkit::browser::Browser;

use super::{Page, site};
use crate::bench::Bench;
use crate::procedures::{begin, define_runs, end_pod, put_procedures, wait_job, wait_phase};

/// So much of a picture may differ from the one that is kept: less than a column of the list takes.
const TOLERANCE: f64 = 0.003;

const BACKUP: &str = "  - {name: backup, job: procedures/job.yaml, schedule: {cron: \"0 3 1 1 *\"}}\n";

/// Puts what is the same each time in the place of times and of names that are drawn.
fn settle(bench: &Bench) -> String {
    let (namespace, group) = (&bench.namespace, &bench.group);
    format!(
        "const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
        while (walker.nextNode()) {{
            const node = walker.currentNode;
            node.data = node.data.replaceAll('{group}', 'example.com').replaceAll('{namespace}', 'shops')
                .replace(/127[.]0[.]0[.]1:[0-9]+|https?:[^ ]+/g, 'cluster')
                .replace(/[0-9]{{4}}-[0-9-]+T[0-9:.]+Z/g, '2026-01-01T00:00:00Z')
                .replace(/-[0-9a-f]{{8,10}}/g, '-19cfe46379')
                .replace(/\\b[0-9]+ (s|min)\\b/g, '5 min');
        }}
        return document.title;"
    )
}

/// Compares a page with its picture, or makes that where `UPDATE_EXPECT` is set.
async fn check(browser: &Browser, bench: &Bench, page: &Page, (path, name): (&str, &str)) {
    browser.goto(&format!("http://{}{path}", page.host)).await;
    browser.wait("main", |text| !text.is_empty()).await;
    browser.script(&settle(bench)).await;
    let shown = browser.picture().await;
    let file = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("docs/images")
        .join(name);
    if std::env::var_os("UPDATE_EXPECT").is_some() {
        std::fs::write(&file, &shown).unwrap();
    }
    let kept = std::fs::read(&file).unwrap_or_else(|error| panic!("{}: {error}", file.display()));
    let differs = browser.difference(&shown, &kept).await;
    if differs > TOLERANCE {
        let seen = std::env::temp_dir().join(name);
        std::fs::write(&seen, &shown).unwrap();
        panic!(
            "{differs:.3} of {} differs from {}: UPDATE_EXPECT=1 makes it anew",
            seen.display(),
            file.display()
        );
    }
}

#[tokio::test]
async fn the_pictures_of_the_documents_are_what_the_page_looks_like() {
    let Some(bench) = site("ui_pictures").await else {
        return;
    };
    let Some(browser) = Browser::start().await else {
        return;
    };
    put_procedures(&bench, &[], BACKUP).await;
    define_runs(&bench, &["WebBackup"]).await;
    let operator = bench.ready_operator().await;
    for name in ["books", "shop"] {
        bench.apply_web(name, json!({"message": "one"})).await;
        bench.wait_revision(name, 1).await;
    }
    bench.apply_web("shop", json!({"message": "two"})).await;
    bench.wait_revision("shop", 2).await;
    bench.apply_web("toys", json!("no values")).await;
    begin(&bench, "WebBackup", "by-hand", json!({})).await;
    let job = wait_job(&bench, "WebBackup", "by-hand", "job", 1).await;
    end_pod(
        &bench,
        &job,
        "Succeeded",
        "{\"snapshot\": \"monday\", \"bytes\": 20480}",
    )
    .await;
    wait_phase(&bench, "WebBackup", "by-hand", "Succeeded").await;
    operator.stop().await.unwrap();
    let page = Page::start(&bench, &[]);
    browser
        .goto(&format!("http://{}/login?code={}", page.host, page.code))
        .await;
    browser.wait("table.releases", |text| text.contains("toys")).await;
    browser.resize(1100, 620).await;
    let address = format!("/releases/webs.{}/{}/shop", bench.group, bench.namespace);
    for (path, name) in [
        ("/", "ui-list.png"),
        (address.as_str(), "ui-release.png"),
        (&format!("{address}/compare?from=1&to=2"), "ui-compare.png"),
    ] {
        check(&browser, &bench, &page, (path, name)).await;
    }
    // What is compared with itself is the same, and one word more is not.
    browser.goto(&format!("http://{}/", page.host)).await;
    browser.script(&settle(&bench)).await;
    let shown = browser.picture().await;
    browser
        .script("document.querySelector('h1').append(' and something more');")
        .await;
    let other = browser.picture().await;
    let differs = browser.difference(&shown, &shown).await;
    assert!(differs <= 0.0, "{differs}");
    let differs = browser.difference(&shown, &other).await;
    assert!(differs > TOLERANCE, "{differs}");
}

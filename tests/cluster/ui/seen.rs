//! The page as people see it, in a real browser.

use serde_json::json;
use steersman_testkit::browser::Browser;

use super::{Page, site};
use crate::bench::Bench;

/// A phone, and a wide screen.
const WIDTHS: [u32; 2] = [390, 1600];

pub(super) async fn check(browser: &Browser, page: &Page, path: &str) {
    browser.goto(&format!("http://{}{path}", page.host)).await;
    for is_dark in [false, true] {
        browser.dark(is_dark).await;
        for width in WIDTHS {
            browser.resize(width, 900).await;
            let faults = browser.violations().await;
            assert!(
                faults.is_empty(),
                "{path} at {width}, dark {is_dark}: {faults:#?}"
            );
            let over = "document.documentElement.scrollWidth > document.documentElement.clientWidth";
            let over = browser.script(&format!("return {over};")).await;
            assert_eq!(over, json!(false), "{path} is wider than {width}");
        }
    }
}

async fn release(bench: &Bench) {
    bench
        .apply_web("broken", json!({"broken": "<script>alert(1)</script>"}))
        .await;
    bench.apply_web("shop", json!({"message": "one"})).await;
    bench.wait_revision("shop", 1).await;
    bench.apply_web("shop", json!({"message": "two"})).await;
    bench.wait_revision("shop", 2).await;
    bench.wait_failed("broken", "Stalled").await;
}

#[tokio::test]
async fn everybody_can_read_the_page_and_sees_changes_without_a_reload() {
    let Some(bench) = site("ui_seen").await else {
        return;
    };
    let Some(browser) = Browser::start().await else {
        return;
    };
    let operator = bench.ready_operator().await;
    release(&bench).await;
    let page = Page::start(&bench, &[]);
    browser.goto(&page.begin()).await;
    browser
        .wait("table.releases", |text| text.contains("Web broken"))
        .await;

    let address = format!("/releases/webs.{}/{}/shop", bench.group, bench.namespace);
    let object = format!(
        "{address}/object?group=apps&kind=Deployment&namespace={}&name=shop",
        bench.namespace
    );
    for path in [
        "/".to_owned(),
        address.clone(),
        format!("{address}/values"),
        format!("{address}/plan"),
        format!("{address}/compare?from=1&to=2"),
        object,
        format!("{address}/actions/roll-back?revision=1"),
        "/nothing".to_owned(),
    ] {
        check(&browser, &page, &path).await;
    }

    // What changes is shown in the page that is open.
    browser.goto(&format!("http://{}/", page.host)).await;
    browser.script("window.isTheSame = true; return true;").await;
    bench.apply_web("later", json!({})).await;
    browser
        .wait("table.releases", |text| text.contains("Web later"))
        .await;
    assert_eq!(
        browser.script("return window.isTheSame === true;").await,
        json!(true)
    );
    // An action, from its button to its end.
    browser.goto(&format!("http://{}{address}", page.host)).await;
    browser.click("nav.tools a.button:last-child").await;
    browser.wait("h1", |text| text.contains("Pause")).await;
    browser.click("button.main").await;
    browser.wait("nav.tools", |text| text.contains("Resume")).await;
    let paused = bench.webs().get("shop").await.unwrap().metadata.annotations;
    assert_eq!(paused.unwrap_or_default()["steersman.dev/pause"], "true");
    let errors = browser.errors().await;
    let errors: Vec<_> = errors.iter().filter(|error| !error.contains("404")).collect();
    assert!(errors.is_empty(), "{errors:#?}");
    operator.stop().await.unwrap();
}

//! Runs, as the dashboard and the page show them.

use std::fs;

use serde_json::json;
use steersman_testkit::browser::Browser;
use steersman_testkit::prometheus::PrometheusPrograms;

use super::{MAP, Roles, says};
use crate::bench::condition;
use crate::dashboard::Watched;
use crate::ui::Page;

/// An element, where it is not shown as text.
const HOSTILE: &str = "<img src=x onerror=window.isHurt=true><b id=hurt>slow</b>";

#[tokio::test]
async fn each_panel_of_roles_has_an_answer_and_a_run_that_fails_fires_its_alert() {
    let Some(programs) = PrometheusPrograms::find_or_skip() else {
        return;
    };
    let tasks = format!("{MAP}- ansible.builtin.fail: {{}}\n  when: message_text == 'bad'\n");
    let test = "each_panel_of_roles_has_an_answer";
    let Some(roles) = Roles::new(test, &tasks, "").await else {
        return;
    };
    let operator = roles.operator().await;
    let watched = Watched::start(&programs, &operator);
    watched.answer("ansible_operator_reconciles_count").await;
    roles.bench.apply_web("shop", says("hello")).await;
    roles.wait_done("shop").await;
    watched.fills_panels(true).await;
    roles.bench.apply_web("broken", says("bad")).await;
    watched
        .fires("name=\"broken\"", &[("SteersmanAnsibleRunFailing", "broken")])
        .await;
    operator.stop().await.unwrap();
}

/// What is written meanwhile comes into the page that is open, beside another kind with a chart.
#[tokio::test]
async fn a_run_is_shown_task_by_task_and_its_words_are_text() {
    let path = "{{ runs_file }}.go";
    let tasks = format!(
        "- name: {name}\n  ansible.builtin.wait_for: {{path: '{path}'}}\n\
         - ansible.builtin.fail: {{msg: {message}}}\n  when: message_text == 'bad'\n",
        name = json!(HOSTILE),
        message = json!(format!("{HOSTILE}\n\nevent: message\ndata: {HOSTILE}\n\n")),
    );
    let Some(roles) = Roles::new("a_run_is_shown_task_by_task", &tasks, "").await else {
        return;
    };
    let Some(browser) = Browser::start().await else {
        return;
    };
    let bench = &roles.bench;
    let entries = fs::read_to_string(roles.path("watches.yaml")).unwrap();
    let other = format!(
        "- {{group: {}, version: v1, kind: Shop, chart: web}}\n",
        bench.group
    );
    bench.watches(&format!("{entries}{other}"));
    bench.define("Shop", "shops").await;
    let operator = roles.operator().await;
    bench.apply_cr("Shop", "shops", "beside", json!({})).await;

    let page = Page::start(bench, &[]);
    browser.goto(&page.begin()).await;
    let both = |text: &str| text.contains("Shop beside") && text.contains("Web shop");
    bench.apply_web("shop", says("good")).await;
    browser.wait("table.releases", both).await;
    let address = format!(
        "http://{}/releases/webs.{}/{}/shop",
        page.host(),
        bench.group,
        bench.namespace
    );
    browser.goto(&address).await;
    browser.script("window.isTheSame = true; return true;").await;
    browser.wait("main", |text| text.contains(HOSTILE)).await;
    fs::write(roles.path("runs.go"), "").unwrap();
    browser
        .wait("h1", |text| text.ends_with("Ready") && !text.contains("Not"))
        .await;
    check_text(&browser).await;

    browser.goto(&format!("http://{}/", page.host())).await;
    browser.script("window.isTheSame = true; return true;").await;
    bench.apply_web("shop", says("bad")).await;
    browser
        .wait("table.releases", |text| {
            text.contains(HOSTILE) && text.contains("Shop beside")
        })
        .await;
    check_text(&browser).await;
    let web = bench.webs().get("shop").await.unwrap();
    let (status, ..) = condition(&serde_json::to_value(web).unwrap(), "Failure").unwrap();
    assert_eq!(status, "True");
    operator.stop().await.unwrap();
}

/// The page is the one that was loaded, and has no element that strangers have written.
async fn check_text(browser: &Browser) {
    let well = "return window.isTheSame === true && window.isHurt === undefined && document.getElementById('hurt') === null;";
    assert_eq!(browser.script(well).await, json!(true));
    let errors = browser.errors().await;
    assert!(errors.is_empty(), "{errors:#?}");
}

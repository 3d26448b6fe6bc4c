//! An API server that fails for a while, and clients that take nothing.

use std::time::{Duration, Instant};

use serde_json::json;
use steersman_testkit::cluster::{Fault, FaultProxy};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpSocket;

use super::{Page, read_until, site};
use crate::bench::PATIENCE;

/// As many as there are connections, and some that wait.
const CLIENTS: usize = 520;
/// What each asks for is more than the system keeps for it.
const REQUESTS: usize = 200;
/// How long the page may take for an answer, whatever the API server does. The machine may be busy.
const PROMPT: Duration = Duration::from_secs(20);

/// Waits until the list does not say something, and gives it.
async fn wait_without(page: &Page, cookie: &str, what: &str) -> String {
    let begun = Instant::now();
    loop {
        let list = page.get("/", cookie).await.body;
        if !list.contains(what) {
            return list;
        }
        assert!(begun.elapsed() < PATIENCE, "still {what} in {list}");
        tokio::time::sleep(Duration::from_millis(200)).await;
    }
}

// The page is waited for while the proxy answers it.
#[tokio::test(flavor = "multi_thread")]
async fn what_can_not_be_looked_at_for_a_while_is_there_when_it_can_be_again() {
    let Some(bench) = site("ui_outage").await else {
        return;
    };
    let proxy = FaultProxy::start(bench.cluster, &bench.user).await.unwrap();
    let other = bench.cluster.unique_namespace("ui-outage").await.unwrap();
    bench.apply_web("shop", json!({})).await;
    let named = format!("{},{other}", bench.namespace);
    let page = Page::start_as(&bench, proxy.user().kubeconfig(), &["--namespace", &named]);
    let cookie = page.log_in().await;
    page.wait("/", &cookie, "Web shop").await;
    wait_without(&page, &cookie, "be looked at").await;

    let path = format!("/namespaces/{}/webs", bench.namespace);
    for (status, is_shown) in [(500, true), (403, false)] {
        let refused = |verb| Fault::on(verb, "webs").part(&path).refuse(status).always();
        let faults = ["list", "watch"].map(|verb| proxy.inject(refused(verb)));
        let ended = proxy.inject(Fault::on("watch", "webs").fail_event("ADDED", status));
        bench.apply_web(&format!("later-{status}"), json!({})).await;
        let list = page.wait("/", &cookie, "be looked at").await;
        if is_shown {
            assert!(list.contains("Web shop"), "it is not forbidden: {list}");
        } else {
            wait_without(&page, &cookie, "Web shop").await;
        }
        for fault in faults.into_iter().chain([ended]) {
            proxy.take_back(fault);
        }
        // Nothing changes any more, so that no event comes.
        let list = wait_without(&page, &cookie, "be looked at").await;
        let later = format!("Web later-{status}");
        assert!(
            list.contains("Web shop") && list.contains(&later),
            "{status}: {list}"
        );
    }
}

// The page is waited for while the proxy answers it.
#[tokio::test(flavor = "multi_thread")]
async fn an_api_server_that_does_not_say_who_looks_keeps_nobody_waiting_and_is_not_trusted_for_long() {
    let Some(bench) = site("ui_silent").await else {
        return;
    };
    let proxy = FaultProxy::start(bench.cluster, &bench.user).await.unwrap();
    let arguments = ["--namespace", &bench.namespace];
    let page = Page::start_as(&bench, proxy.user().kubeconfig(), &arguments);
    let cookie = page.log_in().await;
    let mut tab = page.send("GET /events?", &page.own(&cookie)).await;
    read_until(&mut tab, "200 OK").await;
    let silent = proxy.inject(Fault::on("get", "").path("/version").hang().always());
    let statuses = [(503, Some(silent)), (200, None)];
    for (wanted, hung) in statuses {
        let begun = Instant::now();
        loop {
            let asked = Instant::now();
            let answer = page.get("/", &cookie).await;
            assert!(asked.elapsed() < PROMPT, "{:?}", asked.elapsed());
            if answer.status == wanted {
                break;
            }
            assert!(matches!(answer.status, 200 | 503), "{}", answer.body);
            assert!(begun.elapsed() < PATIENCE, "{}", answer.body);
            tokio::time::sleep(Duration::from_millis(500)).await;
        }
        if let Some(hung) = hung {
            // Nor is anything told.
            let ended = tokio::time::timeout(PATIENCE, tab.read_to_end(&mut Vec::new())).await;
            assert!(ended.is_ok(), "it goes on");
            proxy.take_back(hung);
        }
    }
}

#[tokio::test]
async fn who_takes_nothing_keeps_others_out_for_a_while_alone() {
    let Some(bench) = site("ui_takes_nothing").await else {
        return;
    };
    let page = Page::start(&bench, &["--namespace", &bench.namespace]);
    let cookie = page.log_in().await;
    let mut tab = page.send("GET /events?", &page.own(&cookie)).await;
    read_until(&mut tab, "200 OK").await;
    let one = format!("GET /assets/htmx.js HTTP/1.1\r\nHost: {}\r\n\r\n", page.host);
    let (asked, address) = (one.repeat(REQUESTS), page.host.parse().unwrap());
    let mut deaf = Vec::new();
    for _ in 0..CLIENTS {
        let socket = TcpSocket::new_v4().unwrap();
        socket.set_recv_buffer_size(4096).unwrap();
        let mut stream = socket.connect(address).await.unwrap();
        stream.write_all(asked.as_bytes()).await.unwrap();
        deaf.push(stream);
    }
    let head = [format!("Host: {}", page.host)];
    let probe = tokio::time::timeout(PATIENCE, page.ask_with("GET /healthz", &head)).await;
    assert_eq!(probe.map(|answer| answer.status), Ok(200));
    // Who takes what comes is told of changes still.
    bench.apply_web("later", json!({})).await;
    read_until(&mut tab, "Web later").await;
}

//! Who gets in.

use std::process::Command;
use std::time::Instant;

use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};

use super::{Page, read_until, site};
use crate::bench::PATIENCE;

const POLICY: &str = "content-security-policy: default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; \
                      connect-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'";

#[tokio::test]
async fn the_page_is_for_who_has_started_it_alone() {
    let Some(bench) = site("ui_closed").await else {
        return;
    };
    let page = Page::start(&bench, &[]);
    let other = Page::start(&bench, &[]);
    assert!(
        page.host.starts_with("127.0.0.1:") && page.host != other.host,
        "{}",
        other.host
    );
    drop(other);
    let own = format!("Host: {}", page.host);
    let port = page.host.rsplit(':').next().unwrap();

    // Nobody else has a session, a code counts once, and other names lead nowhere.
    for path in [
        "/",
        "/events",
        "/releases/a/b/c",
        "/releases/a/b/c/events",
        "/nothing",
    ] {
        let answer = page
            .ask_with(&format!("GET {path}"), std::slice::from_ref(&own))
            .await;
        assert_eq!(answer.status, 401, "{path}");
        assert!(!answer.body.contains(&bench.group), "{path}");
    }
    let wrong = page
        .ask_with("GET /login?code=1", std::slice::from_ref(&own))
        .await;
    assert_eq!(wrong.status, 401);
    let rebound = format!("Host: rebound.example.com:{port}");
    let login = format!("GET /login?code={}", page.code);
    assert_eq!(
        page.ask_with(&login, std::slice::from_ref(&rebound)).await.status,
        421
    );
    // Who looks whether it is there does not take the code.
    let looked = page
        .ask_with(&login.replace("GET", "HEAD"), std::slice::from_ref(&own))
        .await;
    assert!(
        looked.status == 200 && !looked.head.contains("set-cookie"),
        "{}",
        looked.head
    );
    let cookie = page.log_in().await;
    assert_eq!(
        page.ask_with(&login, std::slice::from_ref(&own)).await.status,
        401
    );
    let with_cookie = format!("Cookie: {cookie}");
    assert_eq!(
        page.ask_with("GET /", &[rebound, with_cookie.clone()])
            .await
            .status,
        421
    );
    assert_eq!(
        page.ask_with("GET /", std::slice::from_ref(&with_cookie))
            .await
            .status,
        421
    );

    // Other pages are refused, although their browser has the cookie.
    for foreign in [
        "Origin: http://evil.example.com",
        "Origin: null",
        "Sec-Fetch-Site: cross-site",
    ] {
        let head = [own.clone(), with_cookie.clone(), foreign.to_owned()];
        assert_eq!(page.ask_with("GET /events", &head).await.status, 403, "{foreign}");
    }
    // A form says where it comes from.
    assert_eq!(page.ask_with("POST /", &page.own(&cookie)).await.status, 403);
    assert_eq!(page.post("/", &cookie, "", &[]).await.status, 405);

    let answer = page.get("/", &cookie).await;
    assert_eq!(answer.status, 200);
    assert!(answer.body.contains("\"allowEval\":false"), "{}", answer.body);
    assert_eq!(
        answer.body.matches("sse-connect").count(),
        1,
        "one stream for a page"
    );
    check_policy(&page, &cookie).await;
    for said in [
        "cache-control: no-store",
        "x-content-type-options: nosniff",
        "referrer-policy: same-origin",
    ] {
        assert!(answer.head.contains(said), "{said}: {}", answer.head);
    }
    bounds(&page, &cookie).await;
    // Nothing of another host, and no code within the page.
    for forbidden in ["https://", "http://", "onclick", "<style", "javascript:"] {
        assert!(!answer.body.contains(forbidden), "{forbidden}: {}", answer.body);
    }
    let outside = Command::new(env!("CARGO_BIN_EXE_steersman"))
        .args(["ui", "--address", "0.0.0.0:0"])
        .current_dir(bench.folder.path())
        .output()
        .unwrap();
    assert_eq!(outside.status.code(), Some(2));
}

/// Not even an error has another policy.
async fn check_policy(page: &Page, cookie: &str) {
    for path in [
        "/",
        "/nothing",
        "/login?code=1",
        "/assets/htmx.js",
        "/releases/a/b/c",
    ] {
        let answer = page.get(path, cookie).await;
        let policies: Vec<&str> = answer
            .head
            .lines()
            .filter(|line| line.starts_with("content-security-policy"))
            .collect();
        assert_eq!(policies, [POLICY], "{path}");
    }
}

/// Nobody keeps others out by what they open.
async fn bounds(page: &Page, cookie: &str) {
    // So many tabs are told of changes, and another one when one of them is closed.
    let mut tabs = Vec::new();
    for _ in 0..32 {
        let mut tab = page.send("GET /events?", &page.own(cookie)).await;
        read_until(&mut tab, "200 OK").await;
        tabs.push(tab);
    }
    assert_eq!(page.get("/events?", cookie).await.status, 429);
    tabs.pop();
    let begun = Instant::now();
    loop {
        let mut tab = page.send("GET /events?", &page.own(cookie)).await;
        let mut status = [0; 12];
        tab.read_exact(&mut status).await.unwrap();
        if &status == b"HTTP/1.1 200" {
            break;
        }
        assert!(begun.elapsed() < PATIENCE);
    }
    drop(tabs);
    // A head without an end is not waited for, nor is one that is too long.
    let mut silent = tokio::net::TcpStream::connect(&page.host).await.unwrap();
    silent.write_all(b"GET / HTTP/1.1\r\nHost: ").await.unwrap();
    let mut long = page.send("GET /", &[format!("X: {}", "x".repeat(100_000))]).await;
    for stream in [&mut silent, &mut long] {
        let mut said = Vec::new();
        let read = tokio::time::timeout(PATIENCE, stream.read_to_end(&mut said)).await;
        assert!(read.is_ok(), "it is held open");
    }
}

//! The browser, on pages of a server of its own.

#![expect(
    clippy::unwrap_used,
    reason = "a test that cannot set up its world should panic"
)]

use std::io::{BufRead as _, BufReader, Write as _};
use std::net::{TcpListener, TcpStream};
use std::path::Path;
use std::thread;
use std::time::{Duration, Instant};

use serde_json::json;
use steersman_testkit::browser::{Browser, Key};
use steersman_testkit::processes;

/// Everything it has against others.
const POLICY: &str =
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'";

const GOOD: &str = r#"<!doctype html>
<html lang="en">
<head><title>Orders</title><link rel="stylesheet" href="/page.css"></head>
<body><main>
<h1>Orders</h1>
<p><label>Name <input id="name"></label> <button>Order</button></p>
<ul><li>first</li><li>second</li></ul>
<p><output>nothing yet</output></p>
</main><script src="/page.js"></script></body>
</html>"#;

const STYLE: &str = "body { color: black; background: white }
@media (prefers-color-scheme: dark) { body { color: white; background: black } }";

const SCRIPT: &str = r#"
const say = text => setTimeout(() => document.querySelector("output").textContent = text, 200);
document.querySelector("button").onclick = () => say(`ordered: ${document.querySelector("input").value}`);
document.querySelector("input").onkeydown = ({key}) => { if (key === "Enter") say("entered"); };
"#;

/// Has one against scripts in a page, a picture that says nothing to who does not see it, and a script that fails.
fn bad() -> String {
    GOOD.replace("<ul>", r#"<img src="/dot.svg"><script>alert(1)</script><ul>"#)
        .replace("/page.js", "/broken.js")
}

/// Serves the pages until the test ends, and gives the address.
fn serve() -> String {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = format!("http://{}", listener.local_addr().unwrap());
    thread::spawn(move || {
        for connection in listener.incoming() {
            thread::spawn(|| answer(connection.unwrap()));
        }
    });
    address
}

fn answer(mut connection: TcpStream) {
    let mut lines = BufReader::new(connection.try_clone().unwrap()).lines();
    let Some(Ok(first)) = lines.next() else { return };
    let _ = lines.map_while(Result::ok).find(String::is_empty);
    let path = first.split(' ').nth(1).unwrap();
    let (status, kind, body) = match path {
        "/" => ("200 OK", "text/html", GOOD.to_owned()),
        "/bad" => ("200 OK", "text/html", bad()),
        "/page.css" => ("200 OK", "text/css", STYLE.to_owned()),
        "/page.js" => ("200 OK", "text/javascript", SCRIPT.to_owned()),
        "/broken.js" => (
            "200 OK",
            "text/javascript",
            "throw Error('broken on purpose')".to_owned(),
        ),
        "/favicon.ico" => ("204 No Content", "image/png", String::new()),
        _ => ("404 Not Found", "text/plain", String::new()),
    };
    let _ = write!(
        connection,
        "HTTP/1.1 {status}\r\nContent-Type: {kind}; charset=utf-8\r\nContent-Security-Policy: {POLICY}\r\n\
         Content-Length: {}\r\nConnection: close\r\n\r\n{body}",
        body.len()
    );
}

/// The width and height of a PNG.
fn size_of(picture: &[u8]) -> (u32, u32) {
    assert!(picture.starts_with(b"\x89PNG\r\n\x1a\n"), "it is no PNG");
    let number = |at: usize| u32::from_be_bytes(picture[at..at + 4].try_into().unwrap());
    (number(16), number(20))
}

#[tokio::test]
async fn a_page_is_read_and_used_as_by_a_person() {
    let Some(browser) = Browser::start().await else {
        return;
    };
    browser.goto(&serve()).await;
    assert_eq!(browser.text("h1").await, "Orders");
    assert_eq!(browser.texts("li").await, ["first", "second"]);
    assert!(browser.texts("table").await.is_empty());

    browser.fill("#name", "old").await;
    browser.fill("#name", "two Ätzgründe").await;
    browser.click("button").await;
    let said = browser.wait("output", |text| text.starts_with("ordered")).await;
    assert_eq!(said, "ordered: two Ätzgründe");

    browser.click("#name").await;
    browser.press(&(Key::Control + "a")).await;
    browser.press(&("x".to_owned() + &Key::Enter)).await;
    browser.wait("output", |text| text == "entered").await;
    let value = browser
        .script("return document.querySelector('input').value")
        .await;
    assert_eq!(value, "x");
    browser.press(&Key::Tab.to_string()).await;
    let focus = browser.script("return document.activeElement.tagName").await;
    assert_eq!(focus, "BUTTON");
    assert!(browser.errors().await.is_empty());
}

#[tokio::test]
async fn a_page_is_seen_in_its_size_and_in_the_colours_that_are_preferred() {
    let Some(browser) = Browser::start().await else {
        return;
    };
    browser.goto(&serve()).await;
    let light = browser.picture().await;
    assert_eq!(size_of(&light), (1280, 800));
    assert!(browser.picture().await == light, "pictures differ");

    browser.dark(true).await;
    let colour = "return getComputedStyle(document.body).backgroundColor";
    assert_eq!(browser.script(colour).await, "rgb(0, 0, 0)");
    assert!(browser.picture().await != light, "it is not dark");
    browser.reload().await;
    assert_eq!(browser.script(colour).await, "rgb(0, 0, 0)");
    browser.dark(false).await;
    assert_eq!(browser.script(colour).await, "rgb(255, 255, 255)");

    browser.resize(390, 844).await;
    let size = browser.script("return [innerWidth, innerHeight]").await;
    assert_eq!(size, json!([390, 844]));
    assert_eq!(size_of(&browser.picture().await), (390, 844));
}

#[tokio::test]
async fn what_is_wrong_with_a_page_is_found() {
    let Some(browser) = Browser::start().await else {
        return;
    };
    let address = serve();
    browser.goto(&address).await;
    assert_eq!(browser.violations().await, [""; 0]);
    assert_eq!(browser.errors().await, [""; 0]);

    browser.goto(&format!("{address}/bad")).await;
    let violations = browser.violations().await;
    assert_eq!(violations, ["image-alt: Images must have alternative text: img"]);
    let errors = browser.errors().await;
    for expected in ["broken on purpose", "Content Security Policy", "404"] {
        let found = errors.iter().any(|error| error.contains(expected));
        assert!(found, "no error has {expected:?}: {errors:#?}");
    }
    assert_eq!(browser.errors().await, errors, "errors are kept");
}

#[tokio::test]
async fn it_ends_with_the_value_and_leaves_nothing() {
    let Some(browser) = Browser::start().await else {
        return;
    };
    let debugged = format!("{browser:?}");
    let folder = debugged
        .split('"')
        .find(|part| part.contains("steersman-browser-"));
    let folder = folder.unwrap().to_owned();
    let running = || processes::all().any(|process| processes::words(process).contains(&folder));
    assert!(running() && Path::new(&folder).exists());
    drop(browser);
    assert!(!Path::new(&folder).exists(), "{folder} is left");
    let dropped = Instant::now();
    while running() {
        assert!(dropped.elapsed() < Duration::from_secs(10), "a process is left");
        thread::sleep(Duration::from_millis(50));
    }
}

#[tokio::test]
async fn it_reaches_this_machine_only() {
    let Some(browser) = Browser::start().await else {
        return;
    };
    browser.goto(&serve()).await;
    // All other addresses are treated as this one, which would refuse a connection.
    browser.script("location.href = 'http://127.0.0.2/'").await;
    let text = browser.wait("body", |text| text.contains("ERR_")).await;
    assert!(text.contains("ERR_NAME_NOT_RESOLVED"), "{text}");
}

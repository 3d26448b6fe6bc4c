//! The page, as a browser asks for it.

use std::io::{BufRead as _, BufReader};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use serde_json::json;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;

use crate::bench::{Bench, PATIENCE, condition};

/// `steersman ui` of a bench.
struct Page {
    child: Child,
    host: String,
    code: String,
}

impl Drop for Page {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// What was answered.
struct Answer {
    status: u16,
    head: String,
    body: String,
}

impl Page {
    fn start(bench: &Bench, arguments: &[&str]) -> Self {
        let kubeconfig = bench.user.kubeconfig().to_str().unwrap();
        let mut child = Command::new(env!("CARGO_BIN_EXE_steersman"))
            .args(["ui", "--kubeconfig", kubeconfig])
            .args(arguments)
            .current_dir(bench.folder.path())
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let mut line = String::new();
        BufReader::new(child.stdout.take().unwrap())
            .read_line(&mut line)
            .unwrap();
        let (host, path) = line
            .trim()
            .strip_prefix("http://")
            .unwrap()
            .split_once('/')
            .unwrap();
        Self {
            child,
            host: host.to_owned(),
            code: path.strip_prefix("login?code=").unwrap().to_owned(),
        }
    }

    /// A request with these lines in its head.
    async fn send(&self, request: &str, head: &[String]) -> TcpStream {
        let mut stream = TcpStream::connect(&self.host).await.unwrap();
        let text = format!(
            "{request} HTTP/1.1\r\nConnection: close\r\n{}\r\n\r\n",
            head.join("\r\n")
        );
        stream.write_all(text.as_bytes()).await.unwrap();
        stream
    }

    async fn ask_with(&self, request: &str, head: &[String]) -> Answer {
        let mut bytes = Vec::new();
        self.send(request, head)
            .await
            .read_to_end(&mut bytes)
            .await
            .unwrap();
        let text = String::from_utf8(bytes).unwrap();
        let (head, body) = text.split_once("\r\n\r\n").unwrap();
        Answer {
            status: head.split(' ').nth(1).unwrap().parse().unwrap(),
            head: head.to_lowercase(),
            body: body.to_owned(),
        }
    }

    fn own(&self, cookie: &str) -> Vec<String> {
        vec![format!("Host: {}", self.host), format!("Cookie: {cookie}")]
    }

    /// Begins a session, and gives its cookie.
    async fn log_in(&self) -> String {
        let request = format!("GET /login?code={}", self.code);
        let answer = self.ask_with(&request, &[format!("Host: {}", self.host)]).await;
        assert_eq!(answer.status, 303, "{}", answer.body);
        let set = answer
            .head
            .lines()
            .find_map(|line| line.strip_prefix("set-cookie: "))
            .unwrap();
        assert!(
            set.contains("httponly") && set.contains("samesite=strict"),
            "{set}"
        );
        set.split(';').next().unwrap().to_owned()
    }

    async fn get(&self, path: &str, cookie: &str) -> Answer {
        self.ask_with(&format!("GET {path}"), &self.own(cookie)).await
    }

    /// Waits until the page at a path says something.
    async fn wait(&self, path: &str, cookie: &str, what: &str) -> String {
        let begun = std::time::Instant::now();
        loop {
            let answer = self.get(path, cookie).await;
            if answer.body.contains(what) {
                return answer.body;
            }
            assert!(begun.elapsed() < PATIENCE, "no {what} in {}", answer.body);
            tokio::time::sleep(Duration::from_millis(200)).await;
        }
    }
}

/// Reads a stream of events until it says something.
async fn read_until(stream: &mut TcpStream, what: &str) {
    let mut text = String::new();
    let read = async {
        let mut bytes = [0; 4096];
        while !text.contains(what) {
            let count = stream.read(&mut bytes).await.unwrap();
            assert_ne!(count, 0, "it ended without {what}: {text}");
            text.push_str(&String::from_utf8_lossy(&bytes[..count]));
        }
    };
    let ended = tokio::time::timeout(PATIENCE, read).await;
    assert!(ended.is_ok(), "no {what}");
}

const WATCHED: &str = "{{ if .Values.broken }}{{ fail .Values.broken }}{{ end }}
apiVersion: apps/v1
kind: Deployment
metadata: {name: '{{ .Release.Name }}'}
spec:
  replicas: 1
  selector: {matchLabels: {app: '{{ .Release.Name }}'}}
  template:
    metadata: {labels: {app: '{{ .Release.Name }}'}}
    spec: {containers: [{name: web, image: none}]}
";

async fn site(test: &str) -> Option<Bench> {
    let bench = Bench::with_kind(test).await?;
    bench.remove_templates();
    bench.add_template("web.yaml", WATCHED);
    Some(bench)
}

#[tokio::test]
async fn the_list_and_a_release_say_what_kubectl_says_and_change_by_themselves() {
    let Some(bench) = site("ui_list").await else {
        return;
    };
    let operator = bench.ready_operator().await;
    let hostile = "<script>alert(1)</script><img src=x onerror=alert(2)>";
    bench.apply_web("broken", json!({ "broken": hostile })).await;
    bench.apply_web("shop", json!({})).await;
    let ready = bench.wait_revision("shop", 1).await;
    bench.wait_failed("broken", "Stalled").await;

    let page = Page::start(&bench, &[]);
    let cookie = page.log_in().await;
    let list = page.wait("/", &cookie, "Web shop").await;
    let list = page.wait("/", &cookie, "Web broken").await + &list[..0];
    let (broken, shop) = (list.find("Web broken").unwrap(), list.find("Web shop").unwrap());
    assert!(broken < shop, "the worst comes first: {list}");
    assert!(
        !list.contains("<script>alert") && !list.contains("<img"),
        "{list}"
    );
    assert!(
        list.contains("&#60;script&#62;") || list.contains("&lt;script&gt;"),
        "{list}"
    );
    let (_, reason, _) = condition(&ready, "Ready").unwrap();
    assert!(list.contains(&reason), "{reason}: {list}");
    let found = page.get("/?search=brok&health=stalled", &cookie).await.body;
    assert!(
        found.contains("Web broken") && !found.contains("Web shop"),
        "{found}"
    );

    let address = format!("/releases/webs.{}/{}/shop", bench.group, bench.namespace);
    let release = page.wait(&address, &cookie, "Deployment shop").await;
    for part in [
        "ReplicaSet shop-",
        "Pod shop-",
        "Revision 1 of chart web",
        "History",
    ] {
        assert!(release.contains(part), "{part}: {release}");
    }
    let gone = page.get(&address.replace("/shop", "/nobody"), &cookie).await;
    assert_eq!(gone.status, 404, "{}", gone.body);

    // Without a reload.
    let mut of_list = page.send("GET /events?", &page.own(&cookie)).await;
    let mut of_release = page
        .send(&format!("GET {address}/events"), &page.own(&cookie))
        .await;
    read_until(&mut of_list, "Web shop").await;
    read_until(&mut of_release, "Deployment shop").await;
    bench.apply_web("later", json!({})).await;
    read_until(&mut of_list, "Web later").await;
    bench.apply_web("shop", json!({"message": "two"})).await;
    read_until(&mut of_release, "Revision 2 of chart web").await;
    bench.delete_web("shop").await;
    operator.stop().await.unwrap();
}

#[tokio::test]
async fn the_page_is_for_who_has_started_it_alone() {
    let Some(bench) = site("ui_closed").await else {
        return;
    };
    let page = Page::start(&bench, &[]);
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
    assert_eq!(page.ask_with("POST /", &page.own(&cookie)).await.status, 405);

    let answer = page.get("/", &cookie).await;
    assert_eq!(answer.status, 200);
    for said in [
        "script-src 'self'",
        "frame-ancestors 'none'",
        "default-src 'none'",
        "cache-control: no-store",
        "x-content-type-options: nosniff",
        "referrer-policy: no-referrer",
    ] {
        assert!(answer.head.contains(said), "{said}: {}", answer.head);
    }
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

//! The page, as a browser asks for it.

mod actions;
mod closed;
mod going;
mod hostile;
mod list;
mod many;
mod memory;
mod outage;
mod pictures;
mod release;
mod rights;
mod secrets;
mod seen;
mod stages;
mod tokens;

use std::io::{BufRead as _, BufReader};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;

use crate::bench::{Bench, PATIENCE};

/// `steersman ui` of a bench.
pub(crate) struct Page {
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
    pub(crate) fn start(bench: &Bench, arguments: &[&str]) -> Self {
        Self::start_as(bench, bench.user.kubeconfig(), arguments)
    }

    fn start_as(bench: &Bench, kubeconfig: &Path, arguments: &[&str]) -> Self {
        let mut program = Command::new(env!("CARGO_BIN_EXE_steersman"));
        Self::start_by(&mut program, bench, kubeconfig, arguments)
    }

    fn start_by(program: &mut Command, bench: &Bench, kubeconfig: &Path, arguments: &[&str]) -> Self {
        let kubeconfig = kubeconfig.to_str().unwrap();
        let mut child = program
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
            code: path.strip_prefix("login?code=").unwrap_or_default().to_owned(),
        }
    }

    pub(crate) fn host(&self) -> &str {
        &self.host
    }

    /// Where a session begins, once.
    pub(crate) fn begin(&self) -> String {
        format!("http://{}/login?code={}", self.host, self.code)
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
        answer(bytes)
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

    /// Sends a form, as the page's own form does where `head` says nothing else.
    async fn post(&self, path: &str, cookie: &str, form: &str, head: &[String]) -> Answer {
        let own = vec![format!("Origin: http://{}", self.host)];
        let mut all = self.own(cookie);
        all.extend_from_slice(if head.is_empty() { &own } else { head });
        all.push("Content-Type: application/x-www-form-urlencoded".to_owned());
        all.push(format!("Content-Length: {}", form.len()));
        // What follows the head is the form.
        let text = format!("{}\r\n\r\n{form}", all.pop().unwrap_or_default());
        all.push(text);
        let mut bytes = Vec::new();
        let mut stream = self.send(&format!("POST {path}"), &all).await;
        stream.read_to_end(&mut bytes).await.unwrap();
        answer(bytes)
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

fn answer(bytes: Vec<u8>) -> Answer {
    let text = String::from_utf8(bytes).unwrap();
    let (head, body) = text.split_once("\r\n\r\n").unwrap();
    Answer {
        status: head.split(' ').nth(1).unwrap().parse().unwrap(),
        head: head.to_lowercase(),
        body: body.to_owned(),
    }
}

/// What stands in a page between two texts.
fn between<'a>(page: &'a str, from: &str, to: &str) -> &'a str {
    let (_, rest) = page
        .split_once(from)
        .unwrap_or_else(|| panic!("no {from}: {page}"));
    rest.split_once(to).unwrap().0
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

/// What the form of a page carries, unseen.
fn form_of(page: &str) -> String {
    let value = |name: &str| between(page, &format!("name=\"{name}\" value=\""), "\"").to_owned();
    format!("token={}&shown={}", value("token"), value("shown"))
}

async fn site(test: &str) -> Option<Bench> {
    let bench = Bench::with_kind(test).await?;
    bench.remove_templates();
    bench.add_template("web.yaml", WATCHED);
    Some(bench)
}

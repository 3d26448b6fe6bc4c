//! A door before a registry whose blobs are in all of its repositories: behind it, each has its own.

use std::collections::BTreeSet;
use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::sync::{Arc, Mutex};

/// Knows which blobs were pushed to a repository or taken there from another one.
pub(crate) struct Neighbour {
    pub(crate) address: String,
    requests: Arc<Mutex<Vec<String>>>,
}

struct Door {
    registry: String,
    /// The repository that has its own blobs, such as `team/operator`.
    repository: String,
    has: Mutex<BTreeSet<String>>,
    requests: Arc<Mutex<Vec<String>>>,
}

impl Neighbour {
    /// Stands before the registry at this address.
    pub(crate) fn before(registry: &str, repository: &str) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap().to_string();
        let requests = Arc::default();
        let door = Arc::new(Door {
            registry: registry.to_owned(),
            repository: repository.to_owned(),
            has: Mutex::default(),
            requests: Arc::clone(&requests),
        });
        std::thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                let door = Arc::clone(&door);
                // Whoever goes away in the middle is no concern of the others.
                std::thread::spawn(move || door.pass(stream));
            }
        });
        Self { address, requests }
    }

    /// The first lines of the requests until now.
    pub(crate) fn requests(&self) -> Vec<String> {
        self.requests.lock().unwrap().clone()
    }
}

impl Door {
    /// Answers one request, or has it answered by the registry.
    fn pass(&self, mut stream: TcpStream) -> std::io::Result<()> {
        let mut reader = BufReader::new(stream.try_clone()?);
        let mut head = String::new();
        while reader.read_line(&mut head)? > 2 {}
        let first = head.lines().next().unwrap_or_default().to_owned();
        if first.is_empty() {
            return Ok(());
        }
        self.requests.lock().unwrap().push(first.clone());
        let mut words = first.split(' ');
        let (method, path) = (words.next().unwrap_or_default(), words.next().unwrap_or_default());
        let own = format!("/v2/{}/blobs/", self.repository);
        let blob = path.strip_prefix(&own).unwrap_or_default().replace("%3A", ":");
        let status = match method {
            "HEAD" if !blob.is_empty() && !self.has.lock().unwrap().contains(&blob) => Some("404 Not Found"),
            "POST" if self.is_mounted(&blob) => Some("201 Created"),
            "PUT" => {
                let digest = blob.split("digest=").nth(1).unwrap_or_default();
                self.has.lock().unwrap().insert(digest.to_owned());
                None
            }
            _ => None,
        };
        if let Some(status) = status {
            write!(
                stream,
                "HTTP/1.1 {status}\r\nContent-Length: 0\r\nConnection: close\r\n\r\n"
            )?;
            return Ok(());
        }
        let mut registry = TcpStream::connect(&self.registry)?;
        // One request, one connection: the next one is looked at, too.
        let head = head.replacen("\r\n", "\r\nConnection: close\r\n", 1);
        registry.write_all(head.as_bytes())?;
        let length = length(&head);
        let mut back = registry.try_clone()?;
        let answer = std::thread::spawn(move || std::io::copy(&mut back, &mut stream));
        std::io::copy(&mut reader.take(length), &mut registry)?;
        let _ = answer.join();
        Ok(())
    }

    /// Whether a POST takes a blob from a repository that has it; then this one has it, too.
    fn is_mounted(&self, upload: &str) -> bool {
        let upload = upload.replace("%2F", "/");
        let Some((digest, from)) = upload
            .strip_prefix("uploads/?mount=")
            .and_then(|rest| rest.split_once("&from="))
        else {
            return false;
        };
        let is_there = is_there(&self.registry, from, digest).unwrap_or_default();
        if is_there {
            self.has.lock().unwrap().insert(digest.to_owned());
        }
        is_there
    }
}

fn is_there(registry: &str, repository: &str, digest: &str) -> std::io::Result<bool> {
    let mut stream = TcpStream::connect(registry)?;
    write!(
        stream,
        "HEAD /v2/{repository}/blobs/{digest} HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n"
    )?;
    let mut answer = String::new();
    stream.read_to_string(&mut answer)?;
    Ok(answer.starts_with("HTTP/1.1 200"))
}

/// How long the body of a request is.
fn length(head: &str) -> u64 {
    let lower = head.to_ascii_lowercase();
    let value = lower
        .lines()
        .find_map(|line| line.strip_prefix("content-length: "));
    value.map_or(0, |value| value.trim().parse().unwrap())
}

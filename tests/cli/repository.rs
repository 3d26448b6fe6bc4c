//! A repository of charts on this machine, served over HTTP.

use std::io::{BufRead as _, BufReader, Write as _};
use std::net::{TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};

use sha2::{Digest as _, Sha256};

use crate::helm::Helm;
use crate::program::Project;

/// A server of files, until the test ends.
pub(crate) struct Repository {
    pub(crate) url: String,
    requests: Arc<Mutex<Vec<String>>>,
}

impl Repository {
    /// Serves a folder. What a registry has is given for a token where there is a file `token`, and is at another server
    /// where a file `redirect` names one. What a file `endless` names goes on until nobody listens any longer.
    pub(crate) fn serve(folder: &Path) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        let requests = Arc::default();
        let (folder, seen) = (folder.to_owned(), Arc::clone(&requests));
        std::thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                answer(stream, &folder, &seen);
            }
        });
        Self { url, requests }
    }

    /// The requests until now: path, and what came as `Authorization`.
    pub(crate) fn requests(&self) -> Vec<String> {
        self.requests.lock().unwrap().clone()
    }
}

fn answer(mut stream: TcpStream, folder: &Path, seen: &Mutex<Vec<String>>) {
    let mut lines = BufReader::new(stream.try_clone().unwrap())
        .lines()
        .map_while(Result::ok);
    let first = lines.next().unwrap_or_default();
    let mut words = first.split(' ');
    let is_head = words.next() == Some("HEAD");
    let path = words.next().unwrap_or_default().to_owned();
    let authorization = lines.take_while(|line| !line.is_empty()).find_map(|line| {
        Some(line.split_once(": ")?)
            .filter(|(name, _)| name.eq_ignore_ascii_case("authorization"))
            .map(|(_, value)| value.to_owned())
    });
    let authorization = authorization.unwrap_or_default();
    seen.lock()
        .unwrap()
        .push(format!("{path} {authorization}").trim_end().to_owned());
    let endless = std::fs::read_to_string(folder.join("endless")).unwrap_or_default();
    if !endless.is_empty() && path.ends_with(&endless) {
        let head = b"HTTP/1.1 200 OK\r\nConnection: close\r\n\r\n";
        let mut sent = stream.write_all(head);
        while sent.is_ok() {
            sent = stream.write_all(&[0; 4096]);
        }
        return;
    }
    let file = folder.join(path.split('?').next().unwrap_or_default().trim_start_matches('/'));
    let needs_token =
        path.starts_with("/v2/") && folder.join("token").exists() && authorization != "Bearer canary";
    let elsewhere = std::fs::read_to_string(folder.join("redirect")).ok();
    let elsewhere = elsewhere.filter(|_| path.starts_with("/v2/"));
    let (status, content) = match std::fs::read(file) {
        _ if elsewhere.is_some() => ("307 Temporary Redirect", Vec::new()),
        _ if needs_token => ("401 Unauthorized", Vec::new()),
        Ok(content) => ("200 OK", content),
        Err(_) => ("404 Not Found", Vec::new()),
    };
    let kind = match path.as_str() {
        path if path.contains("/manifests/") => "application/vnd.oci.image.manifest.v1+json",
        path if path.contains("/tags/") || path.starts_with("/token") => "application/json",
        _ => "application/octet-stream",
    };
    let more = if let Some(server) = elsewhere {
        format!("Location: {server}{path}\r\n")
    } else if needs_token {
        let address = stream.local_addr().unwrap();
        format!("WWW-Authenticate: Bearer realm=\"http://{address}/token\",service=\"test\"\r\n")
    } else {
        String::new()
    };
    let length = content.len();
    let head = format!(
        "HTTP/1.1 {status}\r\n{more}Content-Type: {kind}\r\nContent-Length: {length}\r\nConnection: close\r\n\r\n"
    );
    let body = if is_head { &[][..] } else { &content };
    let _ = stream.write_all(&[head.as_bytes(), body].concat());
}

/// What a registry calls this content.
pub(crate) fn digest(content: &[u8]) -> String {
    let bytes = Sha256::digest(content);
    bytes
        .iter()
        .fold("sha256:".to_owned(), |text, byte| format!("{text}{byte:02x}"))
}

/// Lays a folder of archives out as a registry has them: `charts/web` with a tag for each version.
pub(crate) fn lay_out_registry(folder: &Path) {
    let base = folder.join("v2/charts/web");
    for part in ["manifests", "blobs", "tags"] {
        std::fs::create_dir_all(base.join(part)).unwrap();
    }
    for version in ["1.0.0", "1.2.0", "2.0.0"] {
        let archive = std::fs::read(folder.join(format!("web-{version}.tgz"))).unwrap();
        let config = format!("{{\"name\": \"web\", \"version\": \"{version}\"}}").into_bytes();
        let manifest = serde_json::json!({
            "schemaVersion": 2,
            "config": {
                "mediaType": "application/vnd.cncf.helm.config.v1+json",
                "digest": digest(&config),
                "size": config.len(),
            },
            "layers": [{
                "mediaType": "application/vnd.cncf.helm.chart.content.v1.tar+gzip",
                "digest": digest(&archive),
                "size": archive.len(),
            }],
        });
        let manifest = manifest.to_string().into_bytes();
        for content in [&archive, &config] {
            std::fs::write(base.join("blobs").join(digest(content)), content).unwrap();
        }
        for name in [version, &digest(&manifest)] {
            std::fs::write(base.join("manifests").join(name), &manifest).unwrap();
        }
    }
    let tags = r#"{"name": "charts/web", "tags": ["latest", "1.0.0", "2.0.0", "1.2.0"]}"#;
    std::fs::write(base.join("tags/list"), tags).unwrap();
}

/// A folder of archives of a chart `web` in three versions, with the index that Helm makes.
pub(crate) fn folder_of_charts(helm: &Helm, project: &Project) -> PathBuf {
    for version in ["1.0.0", "1.2.0", "2.0.0"] {
        project.write(
            "source/web/Chart.yaml",
            &format!("apiVersion: v2\nname: web\nversion: {version}\n"),
        );
        project.write(
            "source/web/templates/a.yaml",
            "kind: ConfigMap\nmetadata: {name: {{ .Chart.Version }}}\n",
        );
        helm.must(project, &["package", "source/web", "-d", "repository"]);
    }
    helm.must(project, &["repo", "index", "repository"]);
    project.path().join("repository")
}

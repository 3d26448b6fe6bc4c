//! A server of bytes, and a proxy before it.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use steersman_cluster::PrimaryResource;
use steersman_proxy::{Admission, Port, Proxy, Run, Settings, Upstream};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinHandle;
use tokio::time::timeout;

/// Longer than anything takes here.
pub(crate) const SOON: Duration = Duration::from_secs(20);

/// Answers every connection with the same bytes, and notes what it has got.
pub(crate) struct Server {
    pub(crate) address: String,
    got: Arc<Mutex<Vec<String>>>,
    serving: JoinHandle<()>,
}

impl Server {
    /// The answer is sent when the head of a request is there; the connection is closed behind it.
    pub(crate) async fn answering(answer: &'static str) -> Self {
        Self::serving(move |mut stream, head| async move {
            let _ = stream.write_all(answer.as_bytes()).await;
            drop(head);
        })
        .await
    }

    /// `serve` gets each connection with the head that has come over it.
    pub(crate) async fn serving<F>(serve: impl Fn(TcpStream, String) -> F + Send + Sync + 'static) -> Self
    where
        F: Future<Output = ()> + Send + 'static,
    {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = format!("http://{}", listener.local_addr().unwrap());
        let got = Arc::<Mutex<Vec<String>>>::default();
        let (noted, serve) = (Arc::clone(&got), Arc::new(serve));
        let serving = tokio::spawn(async move {
            loop {
                let (mut stream, _) = listener.accept().await.unwrap();
                let (noted, serve) = (Arc::clone(&noted), Arc::clone(&serve));
                tokio::spawn(async move {
                    let head = read_head(&mut stream).await;
                    noted.lock().unwrap().push(head.clone());
                    serve(stream, head).await;
                });
            }
        });
        Self {
            address,
            got,
            serving,
        }
    }

    /// The heads of the requests so far, in small letters.
    pub(crate) fn got(&self) -> Vec<String> {
        self.got
            .lock()
            .unwrap()
            .iter()
            .map(|head| head.to_lowercase())
            .collect()
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.serving.abort();
    }
}

/// As much as is there until an empty line.
pub(crate) async fn read_head(stream: &mut TcpStream) -> String {
    let mut head = Vec::new();
    while !head.ends_with(b"\r\n\r\n") {
        match stream.read_u8().await {
            Ok(byte) => head.push(byte),
            Err(_) => break,
        }
    }
    String::from_utf8(head).unwrap()
}

/// A run of a proxy before a server.
pub(crate) struct Client {
    pub(crate) port: u16,
    pub(crate) admission: Option<Admission>,
    serving: JoinHandle<()>,
}

impl Drop for Client {
    fn drop(&mut self) {
        self.serving.abort();
    }
}

impl Client {
    pub(crate) async fn of(address: &str) -> Self {
        let mut configuration = kube::Config::new(address.parse().unwrap());
        configuration.auth_info.token = Some("of-the-operator".to_owned().into());
        let settings = Settings {
            field_manager: "roles".to_owned(),
            fence: Arc::new(()),
            observer: Arc::new(()),
        };
        let proxy = Proxy::new(Upstream::new(&configuration).unwrap(), settings);
        let port = Port::bind(0).await.unwrap();
        let number = port.number();
        let serving = tokio::spawn(port.serve(proxy.clone()));
        let owner = PrimaryResource {
            api_version: "example.com/v1".to_owned(),
            kind: "Shop".to_owned(),
            namespace: None,
            name: "toys".to_owned(),
            uid: "u-1".to_owned(),
        };
        let admission = proxy.admit(Run::new(owner, None)).unwrap();
        Self {
            port: number,
            admission: Some(admission),
            serving,
        }
    }

    pub(crate) fn secret(&self) -> String {
        self.admission.as_ref().unwrap().credential().secret().to_owned()
    }

    /// A connection over which this has been sent, with the credential.
    pub(crate) async fn send(&self, request_line: &str, headers: &[&str], body: &[u8]) -> TcpStream {
        let mut stream = TcpStream::connect(("127.0.0.1", self.port)).await.unwrap();
        let secret = self.secret();
        let mut head = format!("{request_line} HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer {secret}\r\n");
        for header in headers {
            head.push_str(header);
            head.push_str("\r\n");
        }
        stream.write_all(format!("{head}\r\n").as_bytes()).await.unwrap();
        // The proxy may have answered, and closed, before it has all of it.
        let _ = stream.write_all(body).await;
        stream
    }

    /// All of the answer to a request, over a connection of its own.
    pub(crate) async fn ask(&self, request_line: &str, headers: &[&str], body: &[u8]) -> String {
        let length = format!("Content-Length: {}", body.len());
        let mut all = vec!["Connection: close", &length];
        all.extend(headers);
        read_all(self.send(request_line, &all, body).await).await
    }
}

pub(crate) async fn read_all(mut stream: TcpStream) -> String {
    let mut answer = Vec::new();
    let _ = timeout(SOON, stream.read_to_end(&mut answer))
        .await
        .expect("an answer that ends");
    String::from_utf8(answer).unwrap()
}

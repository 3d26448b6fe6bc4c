//! Sessions in pods, of which the proxy knows nothing but their bytes.

use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;
use tokio::time::timeout;

use crate::server::{Client, SOON, Server, read_head};

const EXEC: &str = "/api/v1/namespaces/a/pods/b/exec?command=cat&stdin=true";

/// Agrees to every session, and gives back what it gets, in capitals, until the client has ended.
async fn echo() -> Server {
    Server::serving(|mut stream, head| async move {
        let protocol = head.lines().find_map(|line| line.to_lowercase().strip_prefix("upgrade: ").map(str::to_owned));
        let agreed = format!(
            "HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: {}\r\nX-Stream-Protocol-Version: v4\r\n\r\n",
            protocol.unwrap()
        );
        let _ = stream.write_all(agreed.as_bytes()).await;
        let mut bytes = [0; 1024];
        while let Ok(length @ 1..) = stream.read(&mut bytes).await {
            bytes.make_ascii_uppercase();
            if stream.write_all(&bytes[..length]).await.is_err() {
                return;
            }
        }
        let _ = stream.write_all(b"bye").await;
    })
    .await
}

async fn session(client: &Client, method: &str, protocol: &str) -> (String, TcpStream) {
    let upgrade = format!("Upgrade: {protocol}");
    let headers = [
        "Connection: Upgrade",
        &upgrade,
        "Content-Length: 0",
        "Sec-WebSocket-Key: abc",
    ];
    let mut stream = client.send(&format!("{method} {EXEC}"), &headers, b"").await;
    (read_head(&mut stream).await, stream)
}

#[tokio::test]
async fn both_protocols_are_copied_both_ways() {
    let server = echo().await;
    let client = Client::of(&server.address).await;
    for (method, protocol) in [("POST", "SPDY/3.1"), ("GET", "websocket")] {
        let (head, mut stream) = session(&client, method, protocol).await;
        let head = head.to_lowercase();
        assert!(head.starts_with("http/1.1 101"), "{head}");
        assert!(
            head.contains(&format!("upgrade: {}\r\n", protocol.to_lowercase())),
            "{head}"
        );
        assert!(
            head.contains("connection: upgrade\r\n") && head.contains("x-stream-protocol-version: v4"),
            "{head}"
        );
        for text in ["hello", "again"] {
            stream.write_all(text.as_bytes()).await.unwrap();
            let mut back = [0; 5];
            timeout(SOON, stream.read_exact(&mut back))
                .await
                .unwrap()
                .unwrap();
            assert_eq!(back.as_slice(), text.to_uppercase().as_bytes());
        }
        // The end of one side is not that of the other.
        stream.shutdown().await.unwrap();
        let mut rest = String::new();
        timeout(SOON, stream.read_to_string(&mut rest))
            .await
            .unwrap()
            .unwrap();
        assert_eq!(rest, "bye");
    }
    let got = server.got();
    assert!(
        got.iter()
            .all(|head| head.contains("connection: upgrade\r\n") && head.contains("sec-websocket-key: abc")),
        "{got:?}"
    );
    assert!(
        got[0].starts_with("post ") && !got[0].contains("fieldmanager"),
        "{got:?}"
    );
}

#[tokio::test]
async fn a_session_ends_with_its_run() {
    let server = echo().await;
    let mut client = Client::of(&server.address).await;
    let (head, mut stream) = session(&client, "POST", "SPDY/3.1").await;
    assert!(head.starts_with("HTTP/1.1 101"), "{head}");
    stream.write_all(b"a").await.unwrap();
    assert_eq!(timeout(SOON, stream.read_u8()).await.unwrap().unwrap(), b'A');
    client.admission = None;
    let mut rest = Vec::new();
    let _ = timeout(SOON, stream.read_to_end(&mut rest))
        .await
        .expect("the session has ended");
    assert!(rest.is_empty());
}

#[tokio::test]
async fn there_are_no_sessions_but_with_pods() {
    let server = Server::answering("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok").await;
    let client = Client::of(&server.address).await;
    let headers = ["Connection: Upgrade, close", "Upgrade: websocket"];
    let mut stream = client.send("GET /api/v1/secrets?watch=true", &headers, b"").await;
    let head = read_head(&mut stream).await;
    assert!(head.starts_with("HTTP/1.1 200"), "{head}");
    assert!(!server.got()[0].contains("upgrade"), "{:?}", server.got());
}

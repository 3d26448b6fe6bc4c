//! What clients do not do well.

use std::time::Duration;

use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;
use tokio::time::timeout;

use crate::server::{Client, SOON, Server, read_all};

const OK: &str = "HTTP/1.1 200 OK\r\nContent-Length: 2\r\nConnection: close\r\n\r\nok";
const MAPS: &str = "/api/v1/namespaces/a/configmaps";

#[tokio::test]
async fn a_body_that_is_too_large_is_refused() {
    let resources = "HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 77\r\n\r\n{\"resources\":[{\"name\":\"configmaps\",\"verbs\":[\"get\",\"list\",\"watch\",\"create\"]}]}";
    let server = Server::answering(resources).await;
    let client = Client::of(&server.address).await;
    let large = vec![b' '; (3 << 20) + 1];
    let answer = client.ask(&format!("POST {MAPS}"), &[], &large).await;
    assert!(answer.starts_with("HTTP/1.1 413"), "{answer}");
    assert!(
        answer.contains(r#""reason":"RequestEntityTooLarge""#) && answer.contains("larger than 3 MiB"),
        "{answer}"
    );
    let chunk = [
        format!("{:x}\r\n", large.len()).as_bytes(),
        &large,
        b"\r\n0\r\n\r\n",
    ]
    .concat();
    let headers = ["Transfer-Encoding: chunked", "Connection: close"];
    let answer = read_all(client.send(&format!("PUT {MAPS}/b"), &headers, &chunk).await).await;
    assert!(answer.starts_with("HTTP/1.1 413"), "{answer}");
    let got = server.got();
    assert!(got.iter().all(|head| head.starts_with("get /api/v1 ")), "{got:?}");
}

#[tokio::test]
async fn a_head_that_is_too_large_is_refused() {
    let server = Server::answering(OK).await;
    let client = Client::of(&server.address).await;
    let large = format!("X-Large: {}", "x".repeat(1 << 20));
    let answer = client.ask("GET /version", &[&large], b"").await;
    assert!(
        answer.starts_with("HTTP/1.1 431") || answer.is_empty(),
        "{answer}"
    );
    assert!(server.got().is_empty());
    assert!(
        client.ask("GET /version", &[], b"").await.ends_with("ok"),
        "others are answered"
    );
}

#[tokio::test]
async fn what_is_no_request_is_refused() {
    let server = Server::answering(OK).await;
    let client = Client::of(&server.address).await;
    for request_line in ["CONNECT example.com:443", "OPTIONS *"] {
        let answer = client.ask(request_line, &[], b"").await;
        assert!(answer.starts_with("HTTP/1.1 400"), "{request_line}: {answer}");
    }
    let mut stream = TcpStream::connect(("127.0.0.1", client.port)).await.unwrap();
    stream.write_all(b"\x16\x03\x01 hello\r\n\r\n").await.unwrap();
    let answer = read_all(stream).await;
    assert!(answer.starts_with("HTTP/1.1 400"), "{answer}");
    // Whatever server the line names, it is the API server that is asked.
    let answer = client.ask("GET http://example.com/version", &[], b"").await;
    assert!(answer.ends_with("ok"), "{answer}");
    let got = server.got();
    assert!(got.len() == 1 && got[0].starts_with("get /version "), "{got:?}");
}

#[tokio::test]
async fn a_client_that_goes_ends_its_request() {
    let (closed, mut closings) = tokio::sync::mpsc::unbounded_channel();
    let server = Server::serving(move |mut stream, _| {
        let closed = closed.clone();
        async move {
            let _ = stream
                .write_all(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n1\r\na\r\n")
                .await;
            let mut rest = Vec::new();
            // Returns when the proxy has closed its side.
            let _ = stream.read_to_end(&mut rest).await;
            let _ = closed.send(());
        }
    })
    .await;
    let client = Client::of(&server.address).await;
    let mut watch = client.send(&format!("GET {MAPS}?watch=true"), &[], b"").await;
    let mut begin = [0; 12];
    watch.read_exact(&mut begin).await.unwrap();
    drop(watch);
    timeout(SOON, closings.recv())
        .await
        .expect("the server sees the end")
        .unwrap();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn idle_connections_make_room() {
    let server = Server::answering(OK).await;
    let client = Client::of(&server.address).await;
    let mut idle = Vec::new();
    for _ in 0..600 {
        idle.push(TcpStream::connect(("127.0.0.1", client.port)).await.unwrap());
    }
    for _ in 0..5 {
        let asked = timeout(Duration::from_secs(5), client.ask("GET /version", &[], b""));
        assert!(asked.await.expect("an answer").ends_with("ok"));
    }
}

#[tokio::test(start_paused = true)]
async fn a_client_that_sends_nothing_more_is_given_up() {
    let resources = "HTTP/1.1 404 Not Found\r\nConnection: close\r\nContent-Length: 0\r\n\r\n";
    let server = Server::answering(resources).await;
    let client = Client::of(&server.address).await;
    let stream = client
        .send(
            &format!("POST {MAPS}"),
            &["Content-Length: 10", "Connection: close"],
            b"{",
        )
        .await;
    let answer = read_all_within(stream, Duration::from_mins(5)).await;
    assert!(answer.starts_with("HTTP/1.1 408"), "{answer}");
    let mut stream = TcpStream::connect(("127.0.0.1", client.port)).await.unwrap();
    stream.write_all(b"GET /version HTTP/1.1\r\nHos").await.unwrap();
    assert_eq!(read_all_within(stream, Duration::from_mins(5)).await, "");
}

async fn read_all_within(mut stream: TcpStream, patience: Duration) -> String {
    let mut answer = String::new();
    let _ = timeout(patience, stream.read_to_string(&mut answer))
        .await
        .expect("an end");
    answer
}

//! What the server does not do well.

use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};

use crate::server::{Client, Server};

const MAP: &str = "/api/v1/namespaces/a/configmaps/b";

#[tokio::test]
async fn refusals_of_the_server_are_passed_on_once() {
    for (answer, code) in [
        (
            "HTTP/1.1 429 Too Many Requests\r\nRetry-After: 1\r\nContent-Length: 4\r\n\r\nslow",
            "429",
        ),
        (
            "HTTP/1.1 503 Service Unavailable\r\nRetry-After: 1\r\nContent-Length: 4\r\n\r\ndown",
            "503",
        ),
        ("HTTP/1.1 504 Gateway Timeout\r\nContent-Length: 0\r\n\r\n", "504"),
    ] {
        let server = Server::answering(answer).await;
        let client = Client::of(&server.address).await;
        let answer = client.ask(&format!("DELETE {MAP}"), &[], b"").await;
        assert!(answer.starts_with(&format!("HTTP/1.1 {code}")), "{answer}");
        assert_eq!(answer.contains("retry-after: 1"), code != "504", "{answer}");
        assert_eq!(server.got().len(), 1);
    }
}

#[tokio::test]
async fn a_look_that_is_refused_is_the_answer() {
    let server =
        Server::answering("HTTP/1.1 429 Too Many Requests\r\nRetry-After: 7\r\nContent-Length: 0\r\n\r\n")
            .await;
    let client = Client::of(&server.address).await;
    let answer = client.ask(&format!("PUT {MAP}"), &[], b"{}").await;
    assert!(
        answer.starts_with("HTTP/1.1 429") && answer.contains("retry-after: 7"),
        "{answer}"
    );
    let got = server.got();
    assert!(got.len() == 1 && got[0].starts_with("get "), "{got:?}");
}

#[tokio::test]
async fn a_server_that_is_not_there_is_a_bad_gateway() {
    let client = Client::of("http://127.0.0.1:1").await;
    let answer = client.ask("GET /version", &[], b"").await;
    assert!(answer.starts_with("HTTP/1.1 502"), "{answer}");
    assert!(
        answer.contains("failed to reach the API server: client error (Connect)"),
        "{answer}"
    );
    assert!(!answer.contains("of-the-operator"), "{answer}");
}

#[tokio::test]
async fn what_breaks_off_is_no_success() {
    let begun = "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 50\r\n\r\n{\"kind\":\"ConfigMap\"";
    let chunked = "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n5\r\n{\"a\":\r\n";
    for path in [
        MAP,
        "/api/v1/configmaps",
        "/api/v1/configmaps?watch=true",
        "/api/v1/secrets",
    ] {
        let server = Server::answering(begun).await;
        let answer = Client::of(&server.address)
            .await
            .ask(&format!("GET {path}"), &[], b"")
            .await;
        // An answer that was to be read as a whole may be cut before its first byte.
        let is_cut = answer.contains("content-length: 50") && answer.ends_with("\"ConfigMap\"");
        assert!(is_cut || answer.is_empty(), "{path}: {answer}");
        let server = Server::answering(chunked).await;
        let answer = Client::of(&server.address)
            .await
            .ask(&format!("GET {path}"), &[], b"")
            .await;
        assert!(!answer.ends_with("0\r\n\r\n"), "{path}: {answer}");
    }
    let silent = Server::answering("").await;
    let answer = Client::of(&silent.address)
        .await
        .ask(&format!("GET {MAP}"), &[], b"")
        .await;
    assert!(answer.starts_with("HTTP/1.1 502"), "{answer}");
}

#[tokio::test]
async fn the_server_sees_the_operator_and_nothing_of_the_client() {
    let server = Server::answering(
        "HTTP/1.1 200 OK\r\nContent-Length: 2\r\nKeep-Alive: timeout=5\r\nX-Other: y\r\n\r\nok",
    )
    .await;
    let client = Client::of(&server.address).await;
    let headers = [
        "Impersonate-User: admin",
        "X-Remote-Group: system:masters",
        "Keep-Alive: 5",
        "X-Kept: yes",
        "Expect: 100-continue",
    ];
    let answer = client.ask("GET /version?x=%20y", &headers, b"").await;
    assert!(
        answer.ends_with("ok") && answer.contains("x-other: y") && !answer.contains("keep-alive"),
        "{answer}"
    );
    let got = server.got().remove(0);
    assert!(got.starts_with("get /version?x=%20y http/1.1\r\n"), "{got}");
    assert!(
        got.contains("authorization: bearer of-the-operator\r\n") && got.contains("x-kept: yes"),
        "{got}"
    );
    let host = server.address.trim_start_matches("http://");
    assert!(got.contains(&format!("host: {host}\r\n")), "{got}");
    for gone in [
        "impersonate",
        "x-remote",
        "keep-alive",
        "expect",
        &client.secret(),
    ] {
        assert!(!got.contains(gone), "{gone}: {got}");
    }
}

#[tokio::test]
async fn answers_of_any_size_pass() {
    // Longer than what is read of an object, in two chunks.
    const HALF: usize = 2 << 20;
    let server = Server::serving(|mut stream, _| async move {
        let head = "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n";
        let chunk = format!("{HALF:x}\r\n{}\r\n", "x".repeat(HALF));
        let _ = stream
            .write_all(format!("{head}{chunk}{chunk}0\r\n\r\n").as_bytes())
            .await;
    })
    .await;
    let client = Client::of(&server.address).await;
    let answer = client.ask(&format!("GET {MAP}"), &[], b"").await;
    assert_eq!(answer.matches('x').count(), 2 * HALF);
    assert!(answer.ends_with("0\r\n\r\n"));
}

#[tokio::test]
async fn bodies_are_not_waited_for() {
    // An echo, piece by piece: it sends nothing before it has got something.
    let server = Server::serving(|mut stream, _| async move {
        let _ = stream
            .write_all(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n")
            .await;
        let mut bytes = [0; 1024];
        while let Ok(length @ 1..) = stream.read(&mut bytes).await {
            if stream.write_all(&bytes[..length]).await.is_err() {
                return;
            }
        }
    })
    .await;
    let client = Client::of(&server.address).await;
    let request = "POST /api/v1/namespaces/a/services/b/proxy/echo";
    let mut stream = client.send(request, &["Transfer-Encoding: chunked"], b"").await;
    let head = crate::server::read_head(&mut stream).await;
    assert!(head.starts_with("HTTP/1.1 200"), "{head}");
    for piece in ["one", "two"] {
        stream
            .write_all(format!("3\r\n{piece}\r\n").as_bytes())
            .await
            .unwrap();
        let mut back = [0; 8];
        let reading = stream.read_exact(&mut back);
        tokio::time::timeout(crate::server::SOON, reading)
            .await
            .unwrap()
            .unwrap();
        assert_eq!(&back, format!("3\r\n{piece}\r\n").as_bytes());
    }
}

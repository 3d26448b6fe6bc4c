//! Values for metrics, as roles send them: `POST /metrics` with JSON.

use std::time::Duration;

use http_body_util::{BodyExt as _, LengthLimitError, Limited};
use hyper::body::{Bytes, Incoming};
use hyper::header::ORIGIN;
use hyper::http::request;
use hyper::{Method, StatusCode};

use super::answer::{Answer, text};
use crate::metrics::Metrics;

/// What `osdk_metric` sends is a few hundred bytes.
const LARGEST: usize = 16 << 10;

/// How long a client may take to send the body of a request.
const BODY_TIMEOUT: Duration = Duration::from_secs(10);

/// Takes a value, or says why not.
pub(super) async fn answer(metrics: &Metrics, head: &request::Parts, body: Incoming) -> Answer {
    if head.uri.path() != "/metrics" {
        return text(StatusCode::NOT_FOUND, "404 page not found\n");
    }
    if head.method != Method::POST {
        return text(StatusCode::METHOD_NOT_ALLOWED, "Method not allowed\n");
    }
    // No role sends it, and a browser does so with whatever a page of somebody else makes it send to this machine.
    if head.headers.contains_key(ORIGIN) {
        return text(StatusCode::FORBIDDEN, "pages of browsers have no metrics here\n");
    }
    let body = match whole(body).await {
        Ok(body) => body,
        Err(refusal) => return refusal,
    };
    match metrics.take_role_metric(&body) {
        Ok(()) => text(StatusCode::OK, ""),
        Err(error) => {
            tracing::info!(%error, "The value of a metric was refused");
            text(StatusCode::BAD_REQUEST, format!("{error}\n"))
        }
    }
}

async fn whole(body: Incoming) -> Result<Bytes, Answer> {
    let reading = Limited::new(body, LARGEST).collect();
    match tokio::time::timeout(BODY_TIMEOUT, reading).await {
        Ok(Ok(body)) => Ok(body.to_bytes()),
        Ok(Err(error)) if error.is::<LengthLimitError>() => Err(text(
            StatusCode::PAYLOAD_TOO_LARGE,
            format!("the value of a metric takes no more than {LARGEST} bytes\n"),
        )),
        Ok(Err(error)) => Err(text(
            StatusCode::BAD_REQUEST,
            format!("failed to read the request: {error}\n"),
        )),
        Err(_) => Err(text(StatusCode::REQUEST_TIMEOUT, "the request takes too long\n")),
    }
}

#[cfg(test)]
mod tests {
    use std::net::SocketAddr;

    use expect_test::{Expect, expect};
    use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
    use tokio::net::TcpStream;

    use super::LARGEST;
    use crate::metrics::Metrics;
    use crate::server::Port;

    /// The status and the text of the answer to one request.
    async fn ask(address: SocketAddr, head: &str, body: &str) -> String {
        let mut stream = TcpStream::connect(address).await.unwrap();
        let length = body.len();
        let request = format!(
            "{head} HTTP/1.1\r\nHost: x\r\nConnection: close\r\nContent-Length: {length}\r\n\r\n{body}"
        );
        stream.write_all(request.as_bytes()).await.unwrap();
        let mut answer = String::new();
        stream.read_to_string(&mut answer).await.unwrap();
        let (head, text) = answer.split_once("\r\n\r\n").unwrap();
        format!("{}\n{text}", head.lines().next().unwrap_or_default())
    }

    async fn check(head: &str, body: &str, expect: &Expect) {
        let port = Port::role_metrics(0, Metrics::new([]).unwrap()).await.unwrap();
        let address = port.address().unwrap();
        assert!(address.ip().is_loopback());
        let server = tokio::spawn(port.serve());
        expect.assert_eq(&ask(address, head, body).await);
        server.abort();
    }

    #[tokio::test]
    async fn a_value_appears_beside_the_metrics_of_the_operator() {
        let metrics = Metrics::new([]).unwrap();
        let port = Port::role_metrics(0, metrics.clone()).await.unwrap();
        let address = port.address().unwrap();
        let server = tokio::spawn(port.serve());
        let body = r#"{"name": "backups_total", "description": "Backups.", "counter": {"increment": true}}"#;
        for _ in 0..2 {
            assert_eq!(ask(address, "POST /metrics", body).await, "HTTP/1.1 200 OK\n");
        }
        server.abort();
        let page = String::from_utf8(metrics.encode().unwrap()).unwrap();
        assert!(
            page.contains("# TYPE backups_total counter\nbackups_total 2\n"),
            "{page}"
        );
    }

    #[tokio::test]
    async fn what_is_no_value_is_refused_with_the_reason() {
        check(
            "POST /metrics",
            "{",
            &expect![[r"
                HTTP/1.1 400 Bad Request
                failed to read the value of a metric: EOF while parsing an object at line 1 column 1
            "]],
        )
        .await;
        check(
            "POST /metrics",
            r#"{"name": "process_cpu_seconds_total", "counter": {"add": 1}}"#,
            &expect![[r"
                HTTP/1.1 400 Bad Request
                there is a metric of the name `process_cpu_seconds_total` already, or one whose lines are called so
            "]],
        )
        .await;
        check(
            "POST /metrics",
            "\u{0}\u{1b}",
            &expect![[r"
            HTTP/1.1 400 Bad Request
            failed to read the value of a metric: expected value at line 1 column 1
        "]],
        )
        .await;
    }

    #[tokio::test]
    async fn other_paths_methods_and_pages_of_browsers_are_refused() {
        check(
            "GET /metrics",
            "",
            &expect![[r"
            HTTP/1.1 405 Method Not Allowed
            Method not allowed
        "]],
        )
        .await;
        check(
            "POST /",
            "{}",
            &expect![[r"
            HTTP/1.1 404 Not Found
            404 page not found
        "]],
        )
        .await;
        check(
            "POST /metrics HTTP/1.1\r\nOrigin: https://example.com\r\nX-Rest:",
            r#"{"name": "a", "gauge": {}}"#,
            &expect![[r"
                HTTP/1.1 403 Forbidden
                pages of browsers have no metrics here
            "]],
        )
        .await;
    }

    #[tokio::test]
    async fn a_body_without_end_is_not_read() {
        let body = "x".repeat(LARGEST + 1);
        check(
            "POST /metrics",
            &body,
            &expect![[r"
            HTTP/1.1 413 Payload Too Large
            the value of a metric takes no more than 16384 bytes
        "]],
        )
        .await;
    }
}

//! The server of the event API.

use std::io;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use http_body_util::{BodyExt as _, Empty};
use hyper::body::{Bytes, Incoming};
use hyper::header::CONTENT_TYPE;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper::{Method, Request, Response, StatusCode};
use hyper_util::rt::{TokioIo, TokioTimer};
use serde_json::Value;
use tokio::net::{UnixListener, UnixStream};
use tokio::task::{JoinHandle, JoinSet};

use super::cut::Cut;
use super::{Detail, Event, Sender};

/// Where events are posted to, as in ansible-operator.
pub(crate) const PATH: &str = "/events/";

/// The most that is kept of an event, in bytes, while it is read.
const LARGEST: usize = 2 << 20;
/// What [`Event`] has fields for is at most so deep: the elements of `event_data.res.msg`.
const DEEPEST: usize = 4;
/// Deeper than this no log is read.
const DEEPEST_OF_EVERYTHING: usize = 32;
/// ansible-runner sends one event after the other.
const MOST_CONNECTIONS: usize = 8;
const HEADERS: Duration = Duration::from_secs(5);

/// How much of what was posted has got lost on its way.
#[derive(Debug, Default)]
pub(crate) struct Counters {
    /// Events that were too large, even cut, or no JSON.
    pub(crate) unreadable: AtomicU64,
    /// Events that the log had no room for.
    pub(crate) unlogged: AtomicU64,
}

/// Receives events until it is dropped.
#[derive(Debug)]
pub(crate) struct Receiver {
    task: JoinHandle<()>,
}

impl Drop for Receiver {
    fn drop(&mut self) {
        self.task.abort();
    }
}

impl Receiver {
    /// Listens on a new socket, hands each event to `note`, and puts it into the queue.
    ///
    /// # Errors
    /// The socket can't be made: its path is longer than 107 bytes, for one.
    pub(crate) fn listen(
        socket: &Path,
        detail: Detail,
        counters: Arc<Counters>,
        note: impl Fn(&Event) + Send + Sync + 'static,
        queue: Sender,
    ) -> io::Result<Self> {
        let listener = UnixListener::bind(socket)?;
        let handler = Arc::new(Handler {
            detail,
            counters,
            note,
            queue,
        });
        let task = tokio::spawn(async move {
            let mut connections = JoinSet::new();
            loop {
                while connections.len() >= MOST_CONNECTIONS {
                    connections.join_next().await;
                }
                match listener.accept().await {
                    Ok((stream, _)) => _ = connections.spawn(serve(stream, Arc::clone(&handler))),
                    // Too many files are open, as a rule.
                    Err(_) => tokio::time::sleep(Duration::from_millis(50)).await,
                }
                while connections.try_join_next().is_some() {}
            }
        });
        Ok(Self { task })
    }
}

struct Handler<N> {
    detail: Detail,
    counters: Arc<Counters>,
    note: N,
    queue: Sender,
}

async fn serve<N: Fn(&Event) + Send + Sync + 'static>(stream: UnixStream, handler: Arc<Handler<N>>) {
    let service = service_fn(|request| {
        let handler = Arc::clone(&handler);
        async move {
            let mut response = Response::new(Empty::<Bytes>::new());
            *response.status_mut() = handler.receive(request).await;
            Ok::<_, std::convert::Infallible>(response)
        }
    });
    // A connection that breaks is an event that is lost: ansible-runner was killed.
    let _ = http1::Builder::new()
        .timer(TokioTimer::new())
        .header_read_timeout(HEADERS)
        .serve_connection(TokioIo::new(stream), service)
        .await;
}

impl<N: Fn(&Event)> Handler<N> {
    async fn receive(&self, request: Request<Incoming>) -> StatusCode {
        if request.uri().path() != PATH {
            return StatusCode::NOT_FOUND;
        }
        if request.method() != Method::POST {
            return StatusCode::METHOD_NOT_ALLOWED;
        }
        if !is_json(&request) {
            return StatusCode::UNSUPPORTED_MEDIA_TYPE;
        }
        let event = match self.read(request.into_body()).await {
            Ok(event) => event,
            Err(status) => {
                self.counters.unreadable.fetch_add(1, Ordering::Relaxed);
                return status;
            }
        };
        let Some(event) = event else {
            return StatusCode::NO_CONTENT;
        };
        (self.note)(&event);
        if !self.queue.send(event).await {
            self.counters.unlogged.fetch_add(1, Ordering::Relaxed);
            return StatusCode::INTERNAL_SERVER_ERROR;
        }
        StatusCode::NO_CONTENT
    }

    /// Reads a body to its end, however long it is: ansible-runner would stop at a connection that was closed before.
    async fn read(&self, mut body: Incoming) -> Result<Option<Event>, StatusCode> {
        let mut whole = (self.detail == Detail::Everything).then(|| Cut::new(DEEPEST_OF_EVERYTHING, LARGEST));
        // Of what is too large to be logged as a whole the outcome still depends on this.
        let mut needed = Cut::new(DEEPEST, LARGEST);
        while let Some(frame) = body.frame().await {
            let frame = frame.map_err(|_| StatusCode::BAD_REQUEST)?;
            if let Some(bytes) = frame.data_ref() {
                needed.push(bytes);
                if let Some(whole) = &mut whole {
                    whole.push(bytes);
                }
            }
        }
        let text = whole.and_then(Cut::finish).or_else(|| needed.finish());
        let text = text.ok_or(StatusCode::PAYLOAD_TOO_LARGE)?;
        let text = String::from_utf8_lossy(&text);
        let event: Value = serde_json::from_str(&text).map_err(|_| StatusCode::BAD_REQUEST)?;
        let mut event = Event::parse(event);
        if let Some(event) = &mut event
            && self.detail == Detail::Tasks
        {
            event.data = None;
        }
        Ok(event)
    }
}

fn is_json(request: &Request<Incoming>) -> bool {
    let value = request.headers().get(CONTENT_TYPE);
    let text = value.and_then(|value| value.to_str().ok()).unwrap_or_default();
    text.split(';').next().map(str::trim) == Some("application/json")
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::Ordering;
    use std::sync::{Arc, Mutex};

    use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
    use tokio::net::UnixStream;

    use super::{Counters, Receiver};
    use crate::events::{Detail, Event, Events, channel};

    struct Set {
        folder: tempfile::TempDir,
        counters: Arc<Counters>,
        noted: Arc<Mutex<Vec<Event>>>,
        events: Events,
        _receiver: Receiver,
    }

    impl Set {
        fn listen(detail: Detail) -> Self {
            let folder = tempfile::tempdir().expect("a folder");
            let counters = Arc::new(Counters::default());
            let noted: Arc<Mutex<Vec<Event>>> = Arc::default();
            let (queue, events) = channel();
            let note = {
                let noted = Arc::clone(&noted);
                move |event: &Event| noted.lock().expect("no panic").push(event.clone())
            };
            let socket = folder.path().join("events");
            let receiver = Receiver::listen(&socket, detail, Arc::clone(&counters), note, queue);
            Self {
                folder,
                counters,
                noted,
                events,
                _receiver: receiver.expect("a socket"),
            }
        }

        /// The status of the answer to a request, whose body comes in pieces.
        async fn ask(&self, line: &str, kind: &str, body: impl Iterator<Item = Vec<u8>>) -> String {
            let socket = self.folder.path().join("events");
            let mut stream = UnixStream::connect(socket).await.expect("a connection");
            let head = format!(
                "{line} HTTP/1.1\r\nHost: x\r\nContent-Type: {kind}\r\nConnection: close\r\n\
                 Transfer-Encoding: chunked\r\n\r\n"
            );
            stream.write_all(head.as_bytes()).await.expect("written");
            for piece in body {
                let mut chunk = format!("{:x}\r\n", piece.len()).into_bytes();
                chunk.extend(piece);
                chunk.extend(b"\r\n");
                stream.write_all(&chunk).await.expect("written");
            }
            stream.write_all(b"0\r\n\r\n").await.expect("written");
            let mut answer = String::new();
            stream.read_to_string(&mut answer).await.expect("an answer");
            answer.split(' ').nth(1).unwrap_or_default().to_owned()
        }

        async fn post(&self, body: &str) -> String {
            let body = std::iter::once(body.as_bytes().to_vec());
            self.ask("POST /events/", "application/json; charset=utf-8", body)
                .await
        }
    }

    #[tokio::test]
    async fn requests_that_are_no_events_are_refused_as_by_ansible_operator() {
        let set = Set::listen(Detail::Tasks);
        let empty = || std::iter::empty::<Vec<u8>>();
        assert_eq!(set.ask("POST /other", "application/json", empty()).await, "404");
        assert_eq!(set.ask("GET /events/", "application/json", empty()).await, "405");
        assert_eq!(set.ask("POST /events/", "text/plain", empty()).await, "415");
        assert_eq!(set.post("{").await, "400");
        assert_eq!(set.counters.unreadable.load(Ordering::Relaxed), 1);
        assert_eq!(set.post(r#"{"status": "running", "env": {}}"#).await, "204");
        assert!(set.noted.lock().expect("no panic").is_empty());
    }

    #[tokio::test]
    async fn events_come_in_their_order_and_without_what_makes_them_large() {
        let mut set = Set::listen(Detail::Tasks);
        assert_eq!(
            set.post(r#"{"uuid": "1", "stdout": "\udcff", "event_data": {"host": "a"}}"#)
                .await,
            "204"
        );
        // Eight megabytes of facts, a text of two, and what is to be known behind them.
        let facts = std::iter::repeat_n(br#"{"a": [1, "fact"]}, "#.repeat(50_000), 8);
        let text = std::iter::repeat_n(b"x".repeat(1 << 20), 2);
        let body = std::iter::once(br#"{"uuid": "2", "event_data": {"res": {"facts": {"a": ["#.to_vec())
            .chain(facts)
            .chain([br#"0]}, "stdout": ""#.to_vec()])
            .chain(text)
            .chain([br#"", "msg": "there"}}}"#.to_vec()]);
        assert_eq!(set.ask("POST /events/", "application/json", body).await, "204");
        let first = set.events.next().await.expect("an event");
        assert_eq!((first.uuid.as_str(), first.stdout.as_str()), ("1", "\u{fffd}"));
        assert_eq!(first.data, None);
        let second = set.events.next().await.expect("an event");
        let message = second.result.and_then(|result| result.message);
        assert_eq!((second.uuid.as_str(), message.as_deref()), ("2", Some("there")));
        assert_eq!(set.noted.lock().expect("no panic").len(), 2);
    }

    #[tokio::test]
    async fn what_is_too_large_to_be_logged_as_a_whole_is_logged_without_its_depths() {
        let mut set = Set::listen(Detail::Everything);
        assert_eq!(
            set.post(r#"{"uuid": "1", "event_data": {"res": {"a": {"b": {"c": 1}}}}}"#)
                .await,
            "204"
        );
        let event = set.events.next().await.expect("an event");
        assert_eq!(event.data.expect("data")["res"]["a"]["b"]["c"], 1);
        let numbers = "1234567, ".repeat(400_000);
        let data = format!(r#"{{"res": {{"msg": "a", "b": {{"c": [{numbers} 0]}}}}}}"#);
        assert_eq!(
            set.post(&format!(r#"{{"uuid": "2", "event_data": {data}}}"#))
                .await,
            "204"
        );
        let event = set.events.next().await.expect("an event");
        assert_eq!(
            event.data.expect("data")["res"]["b"]["c"],
            serde_json::Value::Null
        );

        let wide = format!(r#"{{"uuid": "3", "event_data": [{numbers} 0]}}"#);
        assert_eq!(set.post(&wide).await, "413");
        assert_eq!(set.counters.unreadable.load(Ordering::Relaxed), 1);
    }

    #[tokio::test(start_paused = true)]
    async fn a_log_that_does_not_keep_up_loses_events_and_the_outcome_none() {
        let set = Set::listen(Detail::Tasks);
        let text = "x".repeat(60 << 10);
        let event = format!(r#"{{"uuid": "1", "stdout": "{text}"}}"#);
        let mut refused = 0;
        for _ in 0..150 {
            refused += u64::from(set.post(&event).await == "500");
        }
        assert_eq!(set.counters.unlogged.load(Ordering::Relaxed), refused);
        assert!((10..30).contains(&refused), "8 MiB wait to be read: {refused}");
        assert_eq!(set.noted.lock().expect("no panic").len(), 150);
        drop(set.events);
    }

    #[tokio::test]
    async fn without_a_log_nothing_waits() {
        let mut set = Set::listen(Detail::Tasks);
        set.events = channel().1;
        for _ in 0..1100 {
            assert_eq!(set.post(r#"{"uuid": "1"}"#).await, "204");
        }
        assert_eq!(set.noted.lock().expect("no panic").len(), 1100);
    }
}

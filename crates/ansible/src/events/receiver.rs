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

/// What was not received.
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
        let deepest = match self.detail {
            Detail::Tasks => DEEPEST,
            Detail::Everything => DEEPEST_OF_EVERYTHING,
        };
        let mut cut = Cut::new(deepest, LARGEST);
        while let Some(frame) = body.frame().await {
            let frame = frame.map_err(|_| StatusCode::BAD_REQUEST)?;
            if let Some(bytes) = frame.data_ref() {
                cut.push(bytes);
            }
        }
        let text = cut.finish().ok_or(StatusCode::PAYLOAD_TOO_LARGE)?;
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

//! What the operator gets: the API server's answer, or what a fault makes of it.

use std::sync::Arc;
use std::time::Duration;

use futures::{Stream, StreamExt as _};
use http::header::{CONTENT_LENGTH, CONTENT_TYPE, HeaderValue, RETRY_AFTER};
use http::{Response, StatusCode};
use http_body_util::combinators::UnsyncBoxBody;
use http_body_util::{BodyExt as _, Full, StreamBody};
use hyper::body::{Bytes, Frame};
use serde_json::Value;
use tokio::sync::mpsc;

use super::call::Call;
use super::fault::{Answer, EventAction};
use super::script::Script;

/// Why a connection is closed.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
pub(super) struct Closed(pub(super) String);

pub(super) type Body = UnsyncBoxBody<Bytes, Closed>;

/// An answer that is passed on as it comes.
pub(super) fn passed(answer: Response<kube::client::Body>) -> Response<Body> {
    answer.map(|body| body.map_err(closed).boxed_unsync())
}

/// An answer of the proxy's own.
pub(super) fn made(answer: &Answer) -> Response<Body> {
    let mut response = Response::new(whole(Bytes::from(answer.body.clone())));
    *response.status_mut() = StatusCode::from_u16(answer.status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
    let json = HeaderValue::from_static("application/json");
    response.headers_mut().insert(CONTENT_TYPE, json);
    if let Some(seconds) = answer.retry_after {
        response.headers_mut().insert(RETRY_AFTER, seconds.into());
    }
    response
}

/// The first half of an answer, and the end of the connection.
pub(super) async fn truncated(answer: Response<kube::client::Body>) -> Result<Response<Body>, Closed> {
    let (head, text) = collected(answer).await?;
    let half = text.slice(..text.len() / 2);
    let frames = futures::stream::iter([Ok(half), Err(Closed("the answer is cut".to_owned()))]);
    Ok(streamed(head, frames))
}

/// An answer in pieces, each after a pause.
pub(super) async fn trickled(
    answer: Response<kube::client::Body>,
    pieces: usize,
    pause: Duration,
) -> Result<Response<Body>, Closed> {
    let (head, text) = collected(answer).await?;
    let size = text.len().div_ceil(pieces).max(1);
    let chunks: Vec<Bytes> = text.chunks(size).map(Bytes::copy_from_slice).collect();
    let frames = futures::stream::iter(chunks).then(move |chunk| async move {
        tokio::time::sleep(pause).await;
        Ok(chunk)
    });
    Ok(streamed(head, frames))
}

/// The events of a watch, but for what faults do to them.
pub(super) fn watched(
    answer: Response<kube::client::Body>,
    call: Call,
    script: Arc<Script>,
) -> Response<Body> {
    let (head, body) = answer.into_parts();
    let (sender, mut receiver) = mpsc::channel(1);
    tokio::spawn(async move {
        let mut events = body.into_data_stream();
        let mut text = Vec::new();
        loop {
            let chunk = tokio::select! {
                chunk = events.next() => chunk,
                // Nobody listens any longer.
                () = sender.closed() => return,
            };
            match chunk {
                Some(Ok(chunk)) => text.extend_from_slice(&chunk),
                Some(Err(error)) => {
                    let _ = sender.send(Err(closed(error))).await;
                    return;
                }
                None => return,
            }
            while let Some(end) = text.iter().position(|byte| *byte == b'\n') {
                let line: Vec<u8> = text.drain(..=end).collect();
                if !deliver(&line, &call, &script, &sender).await {
                    return;
                }
            }
        }
    });
    let chunks = futures::stream::poll_fn(move |context| receiver.poll_recv(context));
    streamed(head, chunks)
}

/// Delivers one event, or does what the script has for it; `false` when the watch ends.
async fn deliver(
    line: &[u8],
    call: &Call,
    script: &Script,
    sender: &mpsc::Sender<Result<Bytes, Closed>>,
) -> bool {
    let event: Value = serde_json::from_slice(line).unwrap_or_default();
    let kind = event["type"].as_str().unwrap_or_default();
    let name = event.pointer("/object/metadata/name").and_then(Value::as_str);
    let text = Bytes::copy_from_slice(line);
    let delivered = match script.met_event(call, kind, name.unwrap_or_default()) {
        None => sender.send(Ok(text)).await,
        Some((_, EventAction::Skip)) => Ok(()),
        Some((_, EventAction::Repeat)) => match sender.send(Ok(text.clone())).await {
            Ok(()) => sender.send(Ok(text)).await,
            gone => gone,
        },
        Some((fault, EventAction::Hold)) => {
            script.taken_back(fault).await;
            sender.send(Ok(text)).await
        }
        Some((_, EventAction::Cut)) => {
            let _ = sender.send(Ok(text.slice(..text.len() / 2))).await;
            let _ = sender.send(Err(Closed("the event is cut".to_owned()))).await;
            return false;
        }
        Some((_, EventAction::Fail(status))) => {
            let object: Value = serde_json::from_str(&Answer::error(status, None).body).unwrap_or_default();
            let error = serde_json::json!({ "type": "ERROR", "object": object });
            let _ = sender.send(Ok(Bytes::from(format!("{error}\n")))).await;
            return false;
        }
    };
    delivered.is_ok()
}

async fn collected(answer: Response<kube::client::Body>) -> Result<(http::response::Parts, Bytes), Closed> {
    let (mut head, body) = answer.into_parts();
    let text = body.collect().await.map_err(closed)?.to_bytes();
    head.headers.remove(CONTENT_LENGTH);
    Ok((head, text))
}

fn streamed(
    head: http::response::Parts,
    chunks: impl Stream<Item = Result<Bytes, Closed>> + Send + 'static,
) -> Response<Body> {
    let frames = chunks.map(|chunk| chunk.map(Frame::data));
    Response::from_parts(head, StreamBody::new(frames).boxed_unsync())
}

fn whole(text: Bytes) -> Body {
    Full::new(text).map_err(|never| match never {}).boxed_unsync()
}

pub(super) fn closed(error: impl std::fmt::Display) -> Closed {
    Closed(error.to_string())
}

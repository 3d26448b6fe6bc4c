//! Answers that fit into memory.
//!
//! A custom resource of 1.5 MB may become 150 MB of values, and whoever may create one could end the operator with it. So
//! answers are weighed while they arrive. One that is too large is an error. An object in a list or a watch that is too
//! large loses what it has too much of, as all others of its kind come the same way: it keeps its metadata, and says itself
//! how large it is ([`weight_of_cut`]).

use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use futures::future::{BoxFuture, FutureExt as _};
use hyper::body::{Body as HttpBody, Bytes, Frame};
use hyper::header::CONTENT_TYPE;
use hyper::http::{Request, Response};
use kube::client::Body;
use serde_json::Value;
use steersman_model::chain;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::time::Sleep;
use tower::{Layer, Service};

use super::cut_json::{Cut, Shape};
use super::deadline::{is_log, is_watch};
use crate::too_large::{SMALL, TooLarge};

/// So many answers that are not small are read at a time for all who share their memory.
const AT_ONCE: usize = 2;

/// How long such an answer may take, as others wait.
const TURN: Duration = Duration::from_secs(10);

/// The field of an object that was cut, with how many bytes it would take.
pub(super) const CUT: &str = "steersman.dev~weight";

type BoxError = Box<dyn std::error::Error + Send + Sync>;

/// How large answers may be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AnswerLimits {
    /// The text of an answer, or of an event of a watch.
    pub bytes: usize,
    /// The values of an object.
    pub object: usize,
    /// The values of all objects of a list.
    pub list: usize,
}

/// How many bytes an object would take that was cut, as it was too large for a list or a watch.
///
/// ```
/// use serde_json::json;
/// use steersman_cluster::client::weight_of_cut;
///
/// assert_eq!(weight_of_cut(&json!({"spec": {}, "steersman.dev~weight": 150_000_000})), Some(150_000_000));
/// assert_eq!(weight_of_cut(&json!({"spec": {}})), None);
/// ```
pub fn weight_of_cut(object: &Value) -> Option<usize> {
    usize::try_from(object.get(CUT)?.as_u64().unwrap_or(u64::MAX)).ok()
}

/// The memory that clients of several users share: of answers that are not small, one of each client is read at a time, and two of
/// all. Such an answer is given up where it has not come in ten seconds, as others wait for its place: an answer that is too
/// large, of which a shorter list may do.
#[derive(Clone, Debug)]
pub struct SharedMemory {
    limits: AnswerLimits,
    places: Arc<Semaphore>,
}

impl SharedMemory {
    /// Nothing of it is taken yet. An answer may be so large.
    pub fn new(limits: AnswerLimits) -> Self {
        let places = Arc::new(Semaphore::new(AT_ONCE));
        Self { limits, places }
    }
}

/// Weighs answers.
#[derive(Clone, Debug)]
pub(super) struct Bounded {
    limits: AnswerLimits,
    /// Absent where nothing is weighed.
    places: Option<Places>,
}

/// For answers that are not small.
#[derive(Clone, Debug)]
struct Places {
    own: Arc<Semaphore>,
    /// With other clients.
    shared: Option<Arc<Semaphore>>,
}

impl Bounded {
    pub(super) fn new(limits: AnswerLimits) -> Self {
        Self::with(limits, None)
    }

    pub(super) fn sharing(memory: &SharedMemory) -> Self {
        Self::with(memory.limits, Some(Arc::clone(&memory.places)))
    }

    /// Weighs nothing. Only a text that is longer than this is given up: one user's own machine has room for what becomes of others, and
    /// waits less for it.
    pub(super) fn of_text(bytes: usize) -> Self {
        let limits = AnswerLimits {
            bytes,
            object: usize::MAX,
            list: usize::MAX,
        };
        Self { limits, places: None }
    }

    fn with(limits: AnswerLimits, shared: Option<Arc<Semaphore>>) -> Self {
        let own = Arc::new(Semaphore::new(1));
        let places = Some(Places { own, shared });
        Self { limits, places }
    }
}

impl Places {
    /// Waits for the own place first: who has many answers waits for those, and keeps others from nothing.
    async fn take(self) -> Held {
        // None is ever closed.
        let own = self.own.acquire_owned().await.ok();
        let Some(shared) = self.shared else {
            return Held {
                _places: (own, None),
                until: None,
            };
        };
        let shared = shared.acquire_owned().await.ok();
        Held {
            _places: (own, shared),
            until: Some(Box::pin(tokio::time::sleep(TURN))),
        }
    }
}

/// Places, which are given back when they are dropped.
struct Held {
    _places: (Option<OwnedSemaphorePermit>, Option<OwnedSemaphorePermit>),
    /// Until when they may be kept.
    until: Option<Pin<Box<Sleep>>>,
}

impl Held {
    fn poll_overdue(&mut self, context: &mut Context<'_>) -> Poll<TooLarge> {
        match &mut self.until {
            Some(until) => until.as_mut().poll(context).map(|()| TooLarge::Slow(TURN)),
            None => Poll::Pending,
        }
    }
}

impl<S> Layer<S> for Bounded {
    type Service = BoundedService<S>;

    fn layer(&self, inner: S) -> Self::Service {
        BoundedService {
            inner,
            bounded: self.clone(),
        }
    }
}

/// A client whose answers fit into memory.
#[derive(Clone, Debug)]
pub(super) struct BoundedService<S> {
    inner: S,
    bounded: Bounded,
}

impl<S, B> Service<Request<Body>> for BoundedService<S>
where
    S: Service<Request<Body>, Response = Response<B>>,
    S::Future: Send + 'static,
{
    type Response = Response<BoundedBody<B>>;
    type Error = S::Error;
    type Future = BoxFuture<'static, Result<Self::Response, S::Error>>;

    fn poll_ready(&mut self, context: &mut Context<'_>) -> Poll<Result<(), S::Error>> {
        self.inner.poll_ready(context)
    }

    fn call(&mut self, request: Request<Body>) -> Self::Future {
        let shape = if is_watch(&request) {
            Shape::Watch
        } else if is_of_list(&request) {
            Shape::List
        } else if request.uri().path().ends_with("/status") {
            Shape::Status
        } else {
            Shape::Object
        };
        let Bounded { mut limits, places } = self.bounded.clone();
        let is_weighing = places.is_some();
        let mut turn = places.map_or(Turn::None, Turn::Small);
        if is_log(&request) {
            // It is passed on as it comes.
            (limits.bytes, turn) = (usize::MAX, Turn::None);
        }
        let answer = self.inner.call(request);
        async move {
            let answer = answer.await?;
            let kind = answer.headers().get(CONTENT_TYPE);
            let is_json = kind.is_some_and(|kind| kind.as_bytes().starts_with(b"application/json"));
            Ok(answer.map(|inner| BoundedBody {
                inner: Box::pin(inner),
                limits,
                shape,
                cut: (is_json && is_weighing).then(|| Cut::new(shape, limits.object)),
                read: 0,
                turn,
            }))
        }
        .boxed()
    }
}

/// Whether a list is asked for: of a kind, everywhere or in a namespace.
fn is_of_list(request: &Request<Body>) -> bool {
    let path = request.uri().path().trim_matches('/');
    let mut parts = path.split('/');
    // `api/v1/…`, or `apis/GROUP/VERSION/…`.
    let version = match parts.next() {
        Some("api") => parts.next(),
        Some("apis") => parts.nth(1),
        _ => None,
    };
    let rest: Vec<&str> = parts.collect();
    let is_list = matches!(rest.as_slice(), ["namespaces", _, _] | [_]);
    version.is_some() && is_list && request.method() == hyper::Method::GET
}

/// Whether an answer may be read although it is not small.
enum Turn {
    /// It needs none.
    None,
    Small(Places),
    Waiting(BoxFuture<'static, Held>),
    Ours(Held),
}

/// A body that is weighed.
pub(super) struct BoundedBody<B> {
    inner: Pin<Box<B>>,
    limits: AnswerLimits,
    shape: Shape,
    /// Absent where the body is no JSON.
    cut: Option<Cut>,
    /// The bytes of this answer, or of this event.
    read: usize,
    turn: Turn,
}

impl<B> BoundedBody<B> {
    /// The next part of the text, without what is too much.
    fn weigh(&mut self, bytes: Bytes) -> Result<Bytes, TooLarge> {
        let newline = bytes.iter().rposition(|&byte| byte == b'\n');
        self.read = match (self.shape, newline) {
            (Shape::Watch, Some(at)) => bytes.len() - at,
            _ => self.read.saturating_add(bytes.len()),
        };
        if self.read > self.limits.bytes {
            return Err(TooLarge::Text(self.limits.bytes));
        }
        let Some(cut) = &mut self.cut else {
            return Ok(bytes);
        };
        let bytes = cut.pass(bytes);
        match self.shape {
            Shape::Object if cut.heaviest() > self.limits.object => Err(TooLarge::Values(self.limits.object)),
            Shape::List if cut.sum() > self.limits.list => Err(TooLarge::Values(self.limits.list)),
            _ => Ok(bytes),
        }
    }

    /// Waits where the answer is not small and another one is read. Watches go on for ever, and have small events.
    fn poll_turn(&mut self, context: &mut Context<'_>) -> Poll<()> {
        loop {
            self.turn = match &mut self.turn {
                Turn::Small(places) if self.read > SMALL && self.shape != Shape::Watch => {
                    Turn::Waiting(places.clone().take().boxed())
                }
                Turn::Waiting(held) => Turn::Ours(ready!(held.as_mut().poll(context))),
                Turn::None | Turn::Small(_) | Turn::Ours(_) => return Poll::Ready(()),
            }
        }
    }
}

impl<B> HttpBody for BoundedBody<B>
where
    B: HttpBody<Data = Bytes>,
    B::Error: Into<BoxError>,
{
    type Data = Bytes;
    type Error = BoxError;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, BoxError>>> {
        ready!(self.poll_turn(context));
        let frame = match self.inner.as_mut().poll_frame(context) {
            Poll::Ready(Some(frame)) => frame,
            Poll::Ready(None) => return Poll::Ready(None),
            Poll::Pending => {
                let Turn::Ours(held) = &mut self.turn else {
                    return Poll::Pending;
                };
                let overdue = ready!(held.poll_overdue(context));
                return Poll::Ready(Some(Err(overdue.into())));
            }
        };
        let weighed = frame
            .map_err(Into::into)
            .and_then(|frame| match frame.into_data() {
                Ok(bytes) => self.weigh(bytes).map(Frame::data).map_err(Into::into),
                Err(frame) => Ok(frame),
            });
        if let Err(error) = &weighed {
            tracing::debug!(error = chain(error.as_ref()), "an answer is given up");
        }
        Poll::Ready(Some(weighed))
    }

    fn is_end_stream(&self) -> bool {
        self.inner.is_end_stream()
    }
}

#[cfg(test)]
mod tests {
    use std::convert::Infallible;

    use futures::{StreamExt as _, stream};
    use http_body_util::{BodyExt as _, StreamBody};
    use tower::service_fn;

    use super::*;
    use crate::{RequestError, is_too_large};

    const LIMITS: AnswerLimits = AnswerLimits {
        bytes: 2 << 20,
        object: 100_000,
        list: 250_000,
    };

    /// What comes of an answer of the server, which arrives in pieces.
    async fn answer(layer: &Bounded, path: &str, text: &str) -> Result<Value, BoxError> {
        let pieces: Vec<Bytes> = text.as_bytes().chunks(1000).map(Bytes::copy_from_slice).collect();
        let server = service_fn(move |_: Request<Body>| {
            let pieces = pieces.clone().into_iter();
            let frames = stream::iter(pieces.map(|piece| Ok::<_, Infallible>(Frame::data(piece))));
            let answer = Response::builder().header(CONTENT_TYPE, "application/json");
            async move { Ok::<_, Infallible>(answer.body(StreamBody::new(frames)).unwrap()) }
        });
        let request = Request::get(path).body(Body::empty()).unwrap();
        let answer = layer.layer(server).call(request).await?;
        let whole = answer.into_body().collect().await?.to_bytes();
        Ok(serde_json::from_slice(&whole)?)
    }

    fn heavy(maps: usize) -> Value {
        serde_json::json!({"apiVersion": "a/v1", "kind": "A", "metadata": {"name": "heavy", "uid": "u"},
            "spec": {"maps": vec![serde_json::json!({"": 0}); maps]}})
    }

    const OBJECT: &str = "/apis/a/v1/namespaces/default/as/heavy";
    const LIST: &str = "/apis/a/v1/namespaces/default/as?limit=25";

    #[tokio::test]
    async fn one_object_is_whole_or_an_error() {
        let layer = Bounded::new(LIMITS);
        let whole = answer(&layer, OBJECT, &heavy(50).to_string()).await.unwrap();
        assert_eq!(whole, heavy(50));
        let error = answer(&layer, OBJECT, &heavy(500).to_string()).await.unwrap_err();
        assert!(is_too_large(error.as_ref()));
        assert_eq!(
            error.to_string(),
            "the answer of the API server takes more than 98 KiB of memory"
        );
        let layer = Bounded::new(AnswerLimits {
            bytes: 50_000,
            ..LIMITS
        });
        let text = "x".repeat(60_000);
        let error = answer(&layer, OBJECT, &format!("\"{text}\"")).await.unwrap_err();
        assert_eq!(
            error.to_string(),
            "the answer of the API server is larger than 49 KiB"
        );
        let error = RequestError::from(kube::Error::Service(error));
        assert_eq!(
            error.to_string(),
            "the answer of the API server is larger than 49 KiB"
        );
    }

    #[tokio::test]
    async fn an_object_of_a_list_that_is_too_large_leaves_the_others_as_they_are() {
        let list = |items: &[Value]| serde_json::json!({"kind": "AList", "metadata": {"continue": "x"}, "items": items});
        let layer = Bounded::new(LIMITS);
        let text = list(&[heavy(1), heavy(200), heavy(2)]).to_string();
        let found = answer(&layer, LIST, &text).await.unwrap();
        assert_eq!(found["items"][0], heavy(1));
        assert_eq!(found["items"][2], heavy(2));
        let cut = &found["items"][1];
        assert_eq!(cut["metadata"], heavy(1)["metadata"]);
        assert!(weight_of_cut(cut).unwrap() > 130_000);
        let error = answer(
            &layer,
            LIST,
            &list(&[heavy(90), heavy(90), heavy(90), heavy(90)]).to_string(),
        )
        .await;
        assert!(is_too_large(error.unwrap_err().as_ref()), "a shorter list does");
    }

    /// An answer of the server that is not small, and stops at its half where `stops` says so.
    async fn half_of(layer: &Bounded, stops: bool) -> Result<usize, BoxError> {
        let server = service_fn(move |_: Request<Body>| {
            let half = || Ok::<_, Infallible>(Frame::data(Bytes::from(vec![b' '; SMALL + 1])));
            let begin = stream::iter([half()]);
            let rest = if stops {
                stream::pending().boxed()
            } else {
                stream::iter([half()]).boxed()
            };
            async move { Ok::<_, Infallible>(Response::new(StreamBody::new(begin.chain(rest)))) }
        });
        let request = Request::get(LIST).body(Body::empty()).unwrap();
        let answer = layer.layer(server).call(request).await?;
        Ok(answer.into_body().collect().await?.to_bytes().len())
    }

    #[tokio::test(start_paused = true)]
    async fn who_has_slow_answers_keeps_others_from_theirs_for_seconds_alone() {
        let memory = SharedMemory::new(LIMITS);
        let [slow, other] = [(); 2].map(|()| Bounded::sharing(&memory));
        let both = async { tokio::join!(half_of(&slow, true), half_of(&slow, true)) };
        let begun = tokio::time::Instant::now();
        let beside = async {
            assert_eq!(half_of(&other, false).await.unwrap(), 2 * (SMALL + 1));
            begun.elapsed()
        };
        let ((first, second), waited) = tokio::join!(both, beside);
        assert!(waited < TURN / 2, "one has one place at most: {waited:?}");
        for error in [first, second] {
            assert!(
                is_too_large(error.unwrap_err().as_ref()),
                "a shorter list may come"
            );
        }
        assert!(begun.elapsed() < 3 * TURN);
        // Without others nobody is in a hurry.
        let alone = Bounded::new(LIMITS);
        let waits = tokio::time::timeout(6 * TURN, half_of(&alone, true)).await;
        assert!(waits.is_err());
    }

    #[tokio::test]
    async fn the_log_of_a_container_goes_on_for_ever_and_takes_no_place() {
        let layer = Bounded::new(LIMITS);
        let _taken = layer.places.clone().unwrap().take().await;
        let text = format!("\"{}\"", "x".repeat(3 << 20));
        let log = "/api/v1/namespaces/default/pods/web-0/log?follow=true";
        assert!(answer(&layer, log, &text).await.is_ok());
    }

    #[test]
    fn lists_are_told_from_objects_by_their_path() {
        let check = |path: &str, expect: bool| {
            let request = Request::get(path).body(Body::empty()).unwrap();
            assert_eq!(is_of_list(&request), expect, "{path}");
        };
        check("/api/v1/secrets", true);
        check("/api/v1/namespaces/a/secrets?limit=5", true);
        check("/apis/apps/v1/deployments", true);
        check("/api/v1/namespaces", true);
        check("/api/v1/namespaces/a", false);
        check("/api/v1/namespaces/a/secrets/b", false);
        check("/apis/a/v1/namespaces/b/c/d/status", false);
        check("/apis", false);
        check("/apis/apps/v1", false);
        check("/version", false);
    }
}

//! An end to every request: what is not answered in time has failed, and may be tried again.

use std::error::Error;
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;

use futures::future::{BoxFuture, FutureExt as _};
use hyper::body::{Body as HttpBody, Frame, SizeHint};
use hyper::http::{Request, Response};
use kube::client::Body;
use tokio::time::{Instant, Sleep, timeout_at};
use tower::{Layer, Service};

type BoxError = Box<dyn Error + Send + Sync>;

/// Gives a request up when its answer has not come, whole, in time. A watch goes on, and so does the log of a container; only
/// their beginning is waited for as long as this.
///
/// Attempts that the client makes again by itself count together.
#[derive(Clone, Copy, Debug)]
pub(super) struct Deadline(pub(super) Duration);

impl<S> Layer<S> for Deadline {
    type Service = DeadlineService<S>;

    fn layer(&self, inner: S) -> Self::Service {
        DeadlineService {
            inner,
            timeout: self.0,
        }
    }
}

/// A client that waits for an answer only until its timeout.
#[derive(Clone, Debug)]
pub(super) struct DeadlineService<S> {
    inner: S,
    timeout: Duration,
}

/// The answer has not come, whole, in time.
#[derive(Debug, thiserror::Error)]
#[error("not answered within {} seconds", .0.as_secs())]
struct TimedOut(Duration);

impl<S, B> Service<Request<Body>> for DeadlineService<S>
where
    S: Service<Request<Body>, Response = Response<B>>,
    S::Future: Send + 'static,
    S::Error: Into<BoxError>,
{
    type Response = Response<DeadlineBody<B>>;
    type Error = BoxError;
    type Future = BoxFuture<'static, Result<Self::Response, BoxError>>;

    fn poll_ready(&mut self, context: &mut Context<'_>) -> Poll<Result<(), BoxError>> {
        self.inner.poll_ready(context).map_err(Into::into)
    }

    fn call(&mut self, request: Request<Body>) -> Self::Future {
        let timeout = self.timeout;
        let end = Instant::now() + timeout;
        let goes_on = is_watch(&request) || is_log(&request);
        let answer = self.inner.call(request);
        async move {
            let answer = timeout_at(end, answer)
                .await
                .map_err(|_| TimedOut(timeout))?
                .map_err(Into::into)?;
            Ok(answer.map(|inner| DeadlineBody {
                inner: Box::pin(inner),
                timeout,
                end: (!goes_on).then(|| Box::pin(tokio::time::sleep_until(end))),
            }))
        }
        .boxed()
    }
}

pub(super) fn is_watch(request: &Request<Body>) -> bool {
    let query = request.uri().query().unwrap_or_default();
    query
        .split('&')
        .any(|part| matches!(part, "watch=true" | "watch=1"))
}

/// Whether what a container has written is asked for, which may be long, or followed.
pub(super) fn is_log(request: &Request<Body>) -> bool {
    let path = request.uri().path().trim_matches('/');
    let parts: Vec<&str> = path.split('/').collect();
    matches!(parts.as_slice(), ["api", "v1", "namespaces", _, "pods", _, "log"])
}

/// A body that must have come by then.
#[derive(Debug)]
pub(super) struct DeadlineBody<B> {
    inner: Pin<Box<B>>,
    timeout: Duration,
    end: Option<Pin<Box<Sleep>>>,
}

impl<B> HttpBody for DeadlineBody<B>
where
    B: HttpBody,
    B::Error: Into<BoxError>,
{
    type Data = B::Data;
    type Error = BoxError;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Self::Data>, BoxError>>> {
        if let Poll::Ready(frame) = self.inner.as_mut().poll_frame(context) {
            return Poll::Ready(frame.map(|frame| frame.map_err(Into::into)));
        }
        let overdue = TimedOut(self.timeout);
        match &mut self.end {
            Some(end) => end.as_mut().poll(context).map(|()| Some(Err(overdue.into()))),
            None => Poll::Pending,
        }
    }

    fn is_end_stream(&self) -> bool {
        self.inner.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.inner.size_hint()
    }
}

#[cfg(test)]
mod tests {
    use std::convert::Infallible;

    use futures::stream;
    use http_body_util::{BodyExt as _, StreamBody};
    use hyper::body::Bytes;
    use tower::service_fn;

    use super::*;

    const PATIENCE: Duration = Duration::from_mins(1);

    /// The answer of a server that sends a piece of it each `pause`, for ever.
    async fn answer(uri: &str, pause: Duration) -> Result<Bytes, String> {
        let server = service_fn(move |_: Request<Body>| async move {
            tokio::time::sleep(pause).await;
            let pieces = stream::unfold((), move |()| async move {
                tokio::time::sleep(pause).await;
                Some((Ok::<_, Infallible>(Frame::data(Bytes::from_static(b" "))), ()))
            });
            Ok::<_, Infallible>(Response::new(StreamBody::new(pieces)))
        });
        let request = Request::get(uri).body(Body::empty()).unwrap();
        let answer = Deadline(PATIENCE).layer(server).call(request).await;
        let body = answer.map_err(|error| error.to_string())?.into_body();
        let whole = body.collect().await.map_err(|error| error.to_string())?;
        Ok(whole.to_bytes())
    }

    #[tokio::test(start_paused = true)]
    async fn a_silent_server_and_a_slow_one_are_given_up_after_a_minute() {
        for pause in [Duration::from_hours(1), Duration::from_secs(1)] {
            let begun = Instant::now();
            let error = answer("/api/v1/secrets?limit=1", pause).await.unwrap_err();
            assert_eq!(error, "not answered within 60 seconds");
            assert_eq!(begun.elapsed(), PATIENCE);
        }
    }

    #[tokio::test(start_paused = true)]
    async fn a_watch_and_a_log_go_on_when_they_have_begun() {
        for uri in [
            "/api/v1/secrets?watch=true",
            "/api/v1/namespaces/a/pods/b/log?&follow=true",
        ] {
            let day = Duration::from_hours(24);
            let watched = tokio::time::timeout(day, answer(uri, Duration::from_secs(1))).await;
            assert!(watched.is_err(), "{watched:?}");
            answer(uri, Duration::from_hours(1)).await.unwrap_err();
        }
        answer("/api/v1/namespaces/pods/secrets/log", Duration::from_secs(1))
            .await
            .unwrap_err();
    }
}

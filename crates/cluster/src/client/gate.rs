//! Requests that are not sent, as a rule speaks against them.

use std::error::Error;
use std::task::{Context, Poll};

use futures::future::{BoxFuture, FutureExt as _};
use hyper::http::{Request, Response};
use kube::client::Body;
use tower::{Layer, Service};

pub(super) type BoxError = Box<dyn Error + Send + Sync>;

/// What a request has to be like to be sent.
pub(super) trait Rule: Clone {
    /// # Errors
    /// The request must not be sent.
    fn check(&self, request: &Request<Body>) -> Result<(), BoxError>;
}

/// Lets through what a rule allows.
#[derive(Clone, Debug)]
pub(super) struct Gate<R>(pub(super) R);

impl<S, R: Rule> Layer<S> for Gate<R> {
    type Service = GatedService<S, R>;

    fn layer(&self, inner: S) -> Self::Service {
        GatedService {
            inner,
            rule: self.0.clone(),
        }
    }
}

/// A client that sends what a rule allows.
#[derive(Clone, Debug)]
pub(super) struct GatedService<S, R> {
    inner: S,
    rule: R,
}

impl<S, R, B> Service<Request<Body>> for GatedService<S, R>
where
    S: Service<Request<Body>, Response = Response<B>>,
    S::Future: Send + 'static,
    S::Error: Into<BoxError>,
    R: Rule,
{
    type Response = Response<B>;
    type Error = BoxError;
    type Future = BoxFuture<'static, Result<Self::Response, BoxError>>;

    fn poll_ready(&mut self, context: &mut Context<'_>) -> Poll<Result<(), BoxError>> {
        self.inner.poll_ready(context).map_err(Into::into)
    }

    fn call(&mut self, request: Request<Body>) -> Self::Future {
        if let Err(refusal) = self.rule.check(&request) {
            return async { Err(refusal) }.boxed();
        }
        let answer = self.inner.call(request);
        async move { answer.await.map_err(Into::into) }.boxed()
    }
}

//! Counting and tracing the requests to the API server.

use std::sync::Arc;
use std::task::{Context, Poll};

use futures::future::{BoxFuture, FutureExt as _};
use hyper::http::{Request, Response};
use kube::client::Body;
use tower::{Layer, Service};
use tracing::Instrument as _;
use tracing::field::Empty;

use crate::TRACE;

/// Called for every answer: with its status or `<error>`, the method, and the host that was asked.
pub type OnAnswer = Arc<dyn Fn(&str, &str, &str) + Send + Sync>;

/// Calls `on_answer` for every answer.
#[derive(Clone)]
pub(super) struct AnswerLayer {
    pub(super) host: Arc<str>,
    pub(super) on_answer: OnAnswer,
}

impl<S> Layer<S> for AnswerLayer {
    type Service = AnswerService<S>;

    fn layer(&self, inner: S) -> Self::Service {
        AnswerService {
            inner,
            layer: self.clone(),
        }
    }
}

/// A client whose answers are counted, each in a span of its own.
#[derive(Clone)]
pub(super) struct AnswerService<S> {
    inner: S,
    layer: AnswerLayer,
}

impl<S, B> Service<Request<Body>> for AnswerService<S>
where
    S: Service<Request<Body>, Response = Response<B>>,
    S::Future: Send + 'static,
    S::Error: Send + 'static,
    B: Send + 'static,
{
    type Response = S::Response;
    type Error = S::Error;
    type Future = BoxFuture<'static, Result<S::Response, S::Error>>;

    fn poll_ready(&mut self, context: &mut Context<'_>) -> Poll<Result<(), Self::Error>> {
        self.inner.poll_ready(context)
    }

    fn call(&mut self, request: Request<Body>) -> Self::Future {
        let method = request.method().clone();
        let uri = request.uri();
        let address = self.layer.host.as_ref();
        let (server, port) = address.rsplit_once(':').unwrap_or((address, "443"));
        let span = tracing::info_span!(
            target: TRACE,
            "request",
            otel.name = %method,
            otel.kind = "client",
            http.request.method = %method,
            server.address = server,
            server.port = port.parse::<u16>().unwrap_or_default(),
            url.full = %format_args!("https://{address}{}", uri.path()),
            url.path = uri.path(),
            http.response.status_code = Empty,
            otel.status_code = Empty,
            error.type = Empty,
        );
        let AnswerLayer { host, on_answer } = self.layer.clone();
        let answer = self.inner.call(request);
        let recorded = span.clone();
        let work = async move {
            let answer = answer.await;
            let failed = |kind: &str| {
                recorded.record("otel.status_code", "ERROR");
                recorded.record("error.type", kind);
            };
            if let Ok(answer) = &answer {
                let status = answer.status();
                recorded.record("http.response.status_code", status.as_u16());
                if status.is_client_error() || status.is_server_error() {
                    failed(status.as_str());
                }
                on_answer(status.as_str(), method.as_str(), &host);
            } else {
                failed("_OTHER");
                on_answer("<error>", method.as_str(), &host);
            }
            answer
        };
        work.instrument(span).boxed()
    }
}

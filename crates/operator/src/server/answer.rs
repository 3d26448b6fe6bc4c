//! What is answered to a request, by the port that it comes to and its path.

use http_body_util::Full;
use hyper::body::{Bytes, Incoming};
use hyper::header::{CONTENT_TYPE, HeaderMap, HeaderValue, WWW_AUTHENTICATE};
use hyper::http::request;
use hyper::{Method, Response, StatusCode};

use super::access::{Guard, Verdict};
use super::readiness::Readiness;
use super::role_metrics;
use crate::metrics::Metrics;

/// Everything that is served is short, and known as a whole before it is sent.
pub(super) type Answer = Response<Full<Bytes>>;

/// What a port serves.
#[derive(Clone, Debug)]
pub(super) enum Content {
    Health(Readiness),
    Metrics(Metrics, Option<Guard>),
    RoleMetrics(Metrics),
}

impl Content {
    pub(super) async fn answer(&self, head: &request::Parts, body: Incoming) -> Answer {
        if let Self::RoleMetrics(metrics) = self {
            return role_metrics::answer(metrics, head, body).await;
        }
        // No other path reads it.
        drop(body);
        if !matches!(head.method, Method::GET | Method::HEAD) {
            return text(StatusCode::METHOD_NOT_ALLOWED, "method not allowed\n");
        }
        match (self, head.uri.path()) {
            (Self::Health(_), "/healthz" | "/healthz/" | "/healthz/ping") => text(StatusCode::OK, "ok"),
            (Self::Health(readiness), "/readyz" | "/readyz/") => {
                readiness_answer(readiness, head.uri.query())
            }
            (Self::Metrics(metrics, guard), "/metrics") => {
                let refusal = match guard {
                    Some(guard) => refusal(guard, &head.headers).await,
                    None => None,
                };
                refusal.unwrap_or_else(|| metrics_answer(metrics))
            }
            _ => text(StatusCode::NOT_FOUND, "404 page not found\n"),
        }
    }
}

fn readiness_answer(readiness: &Readiness, query: Option<&str>) -> Answer {
    let verbose = query.is_some_and(|query| query.split('&').any(|part| part.starts_with("verbose")));
    let report = readiness.report(verbose);
    let status = if report.is_ready {
        StatusCode::OK
    } else {
        StatusCode::INTERNAL_SERVER_ERROR
    };
    text(status, report.text)
}

fn metrics_answer(metrics: &Metrics) -> Answer {
    match metrics.encode() {
        Ok(page) => {
            let mut answer = Response::new(Full::from(page));
            let kind = HeaderValue::from_static("text/plain; version=0.0.4; charset=utf-8");
            answer.headers_mut().insert(CONTENT_TYPE, kind);
            answer
        }
        Err(error) => text(StatusCode::INTERNAL_SERVER_ERROR, format!("{error}\n")),
    }
}

/// The answer to who is not let in. It does not say why.
async fn refusal(guard: &Guard, headers: &HeaderMap) -> Option<Answer> {
    match guard.judge(headers).await {
        Ok(Verdict::Allowed) => None,
        Ok(Verdict::Forbidden) => Some(text(StatusCode::FORBIDDEN, "forbidden\n")),
        Ok(Verdict::Unauthenticated) => {
            let mut answer = text(StatusCode::UNAUTHORIZED, "unauthorized\n");
            let scheme = HeaderValue::from_static("Bearer");
            answer.headers_mut().insert(WWW_AUTHENTICATE, scheme);
            Some(answer)
        }
        Err(error) => {
            tracing::error!(
                error = &error as &dyn std::error::Error,
                "Failed to find out who may read /metrics"
            );
            Some(text(StatusCode::INTERNAL_SERVER_ERROR, "internal server error\n"))
        }
    }
}

pub(super) fn text(status: StatusCode, body: impl Into<Bytes>) -> Answer {
    let mut answer = Response::new(Full::new(body.into()));
    *answer.status_mut() = status;
    answer.headers_mut().insert(
        CONTENT_TYPE,
        HeaderValue::from_static("text/plain; charset=utf-8"),
    );
    answer
}

//! Answers of our own, as the API server would give them.

use std::time::Duration;

use hyper::header::{CONTENT_TYPE, HeaderName, HeaderValue, RETRY_AFTER, WWW_AUTHENTICATE};
use hyper::{Response, StatusCode};
use serde_json::json;
use steersman_model::chain;

use crate::body::{Body, BoxError, Unread, full};

/// How large a body may be that is marked: what the API server takes, too.
pub(crate) const MAX_BODY: usize = 3 << 20;

/// How long the API server may take to begin an answer. It gives up itself after a minute.
pub(crate) const ANSWER: Duration = Duration::from_secs(75);

/// When a client may come again.
const RETRY_SECONDS: u16 = 5;

/// Why a request has no answer of the API server. No text of these holds anything of a body or of a credential.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Refusal {
    #[error(
        "this is the proxy of an operator: the credential of a run is missing, unknown or no longer valid"
    )]
    Unauthorized,
    #[error("the request has no path of the Kubernetes API")]
    NoPath,
    #[error("the body of the request is larger than {} MiB", MAX_BODY >> 20)]
    TooLarge,
    #[error("the body of the request has not come within a minute")]
    TooSlow,
    #[error("the body of the request breaks off")]
    Cut,
    #[error("the body of the request can't be read as an object: {0}")]
    NoObject(String),
    #[error(
        "objects of type `{0}` can't be marked as those of the resource that is reconciled: send them as application/json"
    )]
    Unmarkable(String),
    #[error(
        "the values of Secrets are looked for in what passes, so they are given as application/json alone"
    )]
    NotAsJson,
    #[error("nothing is written any more, as this operator does not hold its lease")]
    Fenced,
    #[error("failed to reach the API server")]
    Unreachable(#[source] BoxError),
    #[error("the API server has not answered within {} seconds", ANSWER.as_secs())]
    Late,
    #[error("failed to read what the API server says of {what}: {reason}")]
    Unreadable { what: String, reason: String },
}

impl From<Unread> for Refusal {
    fn from(unread: Unread) -> Self {
        match unread {
            Unread::TooLarge => Self::TooLarge,
            Unread::TooSlow => Self::TooSlow,
            Unread::Cut => Self::Cut,
        }
    }
}

impl Refusal {
    /// The code, and the word that Kubernetes has for it.
    fn status(&self) -> (StatusCode, &'static str) {
        match self {
            Self::Unauthorized => (StatusCode::UNAUTHORIZED, "Unauthorized"),
            Self::NoPath | Self::Cut | Self::NoObject(_) => (StatusCode::BAD_REQUEST, "BadRequest"),
            Self::TooLarge => (StatusCode::PAYLOAD_TOO_LARGE, "RequestEntityTooLarge"),
            Self::TooSlow => (StatusCode::REQUEST_TIMEOUT, "Timeout"),
            Self::Unmarkable(_) => (StatusCode::UNSUPPORTED_MEDIA_TYPE, "UnsupportedMediaType"),
            Self::NotAsJson => (StatusCode::NOT_ACCEPTABLE, "NotAcceptable"),
            Self::Fenced => (StatusCode::SERVICE_UNAVAILABLE, "ServiceUnavailable"),
            Self::Unreachable(_) | Self::Unreadable { .. } => (StatusCode::BAD_GATEWAY, "InternalError"),
            Self::Late => (StatusCode::GATEWAY_TIMEOUT, "Timeout"),
        }
    }

    /// Headers that go with the code.
    fn header(&self) -> Option<(HeaderName, HeaderValue)> {
        match self {
            Self::Unauthorized => Some((
                WWW_AUTHENTICATE,
                HeaderValue::from_static("Basic realm=\"steersman\""),
            )),
            Self::Fenced => Some((RETRY_AFTER, HeaderValue::from(RETRY_SECONDS))),
            _ => None,
        }
    }

    /// The answer: a `Status`, which every client of Kubernetes reads.
    pub(crate) fn answer(&self) -> Response<Body> {
        let (code, reason) = self.status();
        let mut status = json!({
            "kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Failure",
            "message": chain(self), "reason": reason, "code": code.as_u16(),
        });
        if matches!(self, Self::Fenced) {
            status["details"] = json!({"retryAfterSeconds": RETRY_SECONDS});
        }
        let mut answer = Response::new(full(status.to_string()));
        *answer.status_mut() = code;
        let headers = answer.headers_mut();
        headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
        headers.extend(self.header());
        answer
    }
}

#[cfg(test)]
mod tests {
    use http_body_util::BodyExt as _;

    use super::*;

    #[tokio::test]
    async fn refusals_are_those_of_kubernetes() {
        let answer = Refusal::Fenced.answer();
        assert_eq!(answer.status(), 503);
        assert_eq!(answer.headers()[RETRY_AFTER], "5");
        let body = answer.into_body().collect().await.unwrap().to_bytes();
        let status: serde_json::Value = serde_json::from_slice(&body).unwrap();
        assert_eq!(status["kind"], "Status");
        assert_eq!(status["code"], 503);
        assert_eq!(status["details"]["retryAfterSeconds"], 5);
        let message = status["message"].as_str().unwrap();
        assert!(message.contains("does not hold its lease"), "{message}");
    }
}

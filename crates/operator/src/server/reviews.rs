//! The API server's word on who may read /metrics.

use std::sync::{Arc, OnceLock};

use futures::future::BoxFuture;
use k8s_openapi::api::authentication::v1::{TokenReview, TokenReviewSpec, UserInfo};
use k8s_openapi::api::authorization::v1::{
    NonResourceAttributes, SubjectAccessReview, SubjectAccessReviewSpec,
};
use kube::Client;
use kube::api::PostParams;
use kube::core::Request;
use serde::Serialize;
use serde::de::DeserializeOwned;
use steersman_model::chain;

use super::access::{Review, ReviewError, Verdict};

const TOKEN_REVIEWS: &str = "/apis/authentication.k8s.io/v1/tokenreviews";
const ACCESS_REVIEWS: &str = "/apis/authorization.k8s.io/v1/subjectaccessreviews";

/// Asks the API server whose a token is, and whether that user may `get` the path `/metrics`. Clones share the
/// connection.
///
/// The port opens before the API server is reached; until [`ApiReviews::connected`] nobody is let in.
#[derive(Clone, Default)]
pub struct ApiReviews {
    client: Arc<OnceLock<Client>>,
}

impl ApiReviews {
    /// Gives the way to the API server. Only the first one counts.
    pub fn connected(&self, client: Client) {
        // A second one would lead to the same server.
        let _ = self.client.set(client);
    }

    async fn judge(&self, token: &str) -> Result<Verdict, ReviewError> {
        let client = self.client.get().ok_or(ReviewError::NotConnected)?;
        let Some(user) = user_of(client, token).await? else {
            return Ok(Verdict::Unauthenticated);
        };
        Ok(if may_read(client, user).await? {
            Verdict::Allowed
        } else {
            Verdict::Forbidden
        })
    }
}

impl Review for ApiReviews {
    fn review<'a>(&'a self, token: &'a str) -> BoxFuture<'a, Result<Verdict, ReviewError>> {
        Box::pin(self.judge(token))
    }
}

impl std::fmt::Debug for ApiReviews {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("ApiReviews")
    }
}

async fn user_of(client: &Client, token: &str) -> Result<Option<UserInfo>, ReviewError> {
    let review = TokenReview {
        spec: TokenReviewSpec {
            token: token.to_owned(),
            ..TokenReviewSpec::default()
        },
        ..TokenReview::default()
    };
    let answer = create(client, "TokenReview", TOKEN_REVIEWS, &review).await;
    let answer = answer.map_err(|reason| ReviewError::Failed {
        kind: "TokenReview",
        // What refuses a review may quote from it.
        reason: reason.replace(token, "[token]"),
    })?;
    let status = answer.status.unwrap_or_default();
    Ok(status.user.filter(|_| status.authenticated == Some(true)))
}

async fn may_read(client: &Client, user: UserInfo) -> Result<bool, ReviewError> {
    let review = SubjectAccessReview {
        spec: SubjectAccessReviewSpec {
            user: user.username,
            uid: user.uid,
            groups: user.groups,
            extra: user.extra,
            non_resource_attributes: Some(NonResourceAttributes {
                path: Some("/metrics".to_owned()),
                verb: Some("get".to_owned()),
            }),
            ..SubjectAccessReviewSpec::default()
        },
        ..SubjectAccessReview::default()
    };
    let kind = "SubjectAccessReview";
    let answer = create(client, kind, ACCESS_REVIEWS, &review).await;
    let answer = answer.map_err(|reason| ReviewError::Failed { kind, reason })?;
    Ok(answer
        .status
        .is_some_and(|status| status.allowed && status.denied != Some(true)))
}

/// Creates an object and gives the answer, or what is wrong.
///
/// Not by [`kube::Api`], which logs an answer that it cannot read: the answer to a `TokenReview` repeats the token.
async fn create<T>(client: &Client, kind: &str, path: &str, object: &T) -> Result<T, String>
where
    T: Serialize + DeserializeOwned,
{
    let body = serde_json::to_vec(object).map_err(|error| error.to_string())?;
    let request = Request::new(path)
        .create(&PostParams::default(), body)
        .map_err(|error| chain(&error))?;
    let answer = client
        .request_text(request)
        .await
        .map_err(|error| chain(&error))?;
    serde_json::from_str(&answer).map_err(|_| format!("the answer is no {kind}"))
}

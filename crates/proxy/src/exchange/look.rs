//! What is there before an object is written: whose it is decides which marks it gets.

use hyper::StatusCode;
use hyper::http::uri::PathAndQuery;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use serde::Deserialize;

use super::{Exchange, Halt};
use crate::body::{passing, read_answer};
use crate::observe::Origin;
use crate::refusal::Refusal;
use crate::request::{Call, to_client};
use crate::run::ActiveRun;

/// Metadata alone where the server can, all of the object from one that can't.
const METADATA: &str = "application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1,application/json";

/// How large the answer may be: an object at most.
const MAX_OBJECT: usize = 4 << 20;

#[derive(Deserialize)]
struct Looked {
    metadata: ObjectMeta,
}

impl Exchange {
    /// The metadata of the object that is about to be written, by the rights of the run; `None` where it is not there.
    ///
    /// What can't be looked at is not written: the answer to the look is the one that the client gets.
    pub(super) async fn look(&self, run: &ActiveRun, call: &Call) -> Result<Option<ObjectMeta>, Halt> {
        let path: PathAndQuery = call.path.parse().map_err(|_| Refusal::NoPath)?;
        let answer = self
            .upstream
            .get(path, METADATA, run.impersonated.as_ref())
            .await?;
        let status = answer.status();
        self.tell(run, Origin::Proxy, &call.look(), status.as_u16(), None);
        match status {
            StatusCode::OK => {
                let (text, _) = read_answer(answer.into_body(), MAX_OBJECT, &self.answers).await;
                let read = |text| serde_json::from_slice::<Looked>(text).map_err(|error| error.to_string());
                let looked = text
                    .as_deref()
                    .map_or(Err("it breaks off, or is too large".to_owned()), read);
                let unreadable = |reason| Refusal::Unreadable {
                    what: call.path.clone(),
                    reason,
                };
                Ok(Some(looked.map_err(unreadable)?.metadata))
            }
            StatusCode::NOT_FOUND => Ok(None),
            _ => {
                let (mut head, body) = answer.into_parts();
                head.headers = to_client(&head.headers);
                Err(Halt::Answered(hyper::Response::from_parts(head, passing(body))))
            }
        }
    }
}

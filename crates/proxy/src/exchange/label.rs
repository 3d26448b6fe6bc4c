//! The label on objects of the owner that lack it: those that were made before there was this proxy, or were patched.
//!
//! They are labelled when their run is over. In its midst each label would be a version more, and the next request of the
//! run, which was made for the version before, a conflict.

use hyper::header::{CONTENT_TYPE, HeaderMap, HeaderValue};
use hyper::{Method, Uri};
use serde_json::json;
use steersman_cluster::OWNER_UID_LABEL;

use super::Exchange;
use super::learn::{MAX_READ, is_json};
use crate::body::{full, read_answer};
use crate::observe::{Origin, SeenObject};
use crate::refusal::Refusal;
use crate::request::Call;
use crate::run::ActiveRun;
use crate::upstream::Patience;

impl Exchange {
    /// Labels what a run has read or patched of its owner's, by its rights, and gives the number of objects. What is refused is
    /// left out: the next run that reads the object comes back to it.
    ///
    /// # Cancellation
    /// Safe to drop, with the same consequence.
    pub(crate) async fn label_all(&self, run: &ActiveRun) -> usize {
        let mut labelled = 0;
        for (path, uid) in run.take_unlabelled() {
            match self.label(run, &path, &uid).await {
                Ok(true) => labelled += 1,
                Ok(false) => {}
                // The next one would wait as long for nothing.
                Err(refusal) => {
                    tracing::debug!(
                        error = &refusal as &dyn std::error::Error,
                        "Objects are left without label"
                    );
                    break;
                }
            }
        }
        labelled
    }

    /// Whether the server has taken it. An object of another UID is another object.
    async fn label(&self, run: &ActiveRun, path: &str, uid: &str) -> Result<bool, Refusal> {
        let uri: Uri = path.parse().map_err(|_| Refusal::NoPath)?;
        let call = Call::new(&Method::PATCH, &uri).ok_or(Refusal::NoPath)?;
        let wanted = json!({"metadata": {"uid": uid, "labels": {OWNER_UID_LABEL: run.run.owner.uid}}});
        let kind = HeaderValue::from_static("application/merge-patch+json");
        let headers = HeaderMap::from_iter([(CONTENT_TYPE, kind)]);
        let request = self.request(&call, Method::PATCH, headers, full(wanted.to_string()))?;
        self.ask_fence(&call)?;
        let answer = self
            .upstream
            .send(request, run.impersonated.as_ref(), Patience::Usual)
            .await?;
        let (head, body) = answer.into_parts();
        let text = if head.status.is_success() && is_json(&head.headers) {
            read_answer(body, MAX_READ, &self.answers).await.0
        } else {
            None
        };
        let object = text.and_then(|text| SeenObject::read(&text, &run.run.owner));
        self.tell(run, Origin::Proxy, &call, head.status.as_u16(), object.as_ref());
        Ok(head.status.is_success())
    }
}

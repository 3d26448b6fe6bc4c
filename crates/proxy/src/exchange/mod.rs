//! One request and its answer.

mod label;
mod learn;
mod look;
mod prepare;
mod upgrade;

use std::sync::Arc;

use hyper::body::Incoming;
use hyper::http::uri::Uri;
use hyper::{HeaderMap, Method, Request, Response};
pub(crate) use upgrade::Session;

use crate::body::{Body, Budget};
use crate::kinds::Kinds;
use crate::observe::{Observer, Origin, Seen, SeenObject};
use crate::refusal::Refusal;
use crate::request::{Call, accept_json, to_server, upgrade_of};
use crate::run::{ActiveRun, RunId};
use crate::upstream::{Patience, Upstream};

/// Says whether anything may be written now.
///
/// ```
/// use steersman_cluster::client::Tenure;
/// use steersman_proxy::Fence;
///
/// let tenure = Tenure::default();
/// assert!(tenure.may_write());
/// tenure.extend(tokio::time::Instant::now());
/// assert!(!tenure.may_write());
/// ```
pub trait Fence: Send + Sync {
    /// Asked for each write, right before it is sent.
    fn may_write(&self) -> bool;
}

impl Fence for steersman_cluster::client::Tenure {
    fn may_write(&self) -> bool {
        !self.is_over()
    }
}

/// Everything may be written at any time.
impl Fence for () {
    fn may_write(&self) -> bool {
        true
    }
}

/// What all requests have in common.
pub(crate) struct Exchange {
    pub(crate) upstream: Upstream,
    pub(crate) kinds: Kinds,
    /// For bodies of requests.
    pub(crate) bodies: Budget,
    /// For answers. They have their own: who has room for a body waits for that of its answer.
    pub(crate) answers: Budget,
    pub(crate) field_manager: String,
    pub(crate) fence: Arc<dyn Fence>,
    pub(crate) observer: Arc<dyn Observer>,
}

/// What becomes of a request: an answer, and a session where the client goes on with another protocol.
pub(crate) type Outcome = (Response<Body>, Option<Session>);

/// Why a request does not go on.
enum Halt {
    Refused(Refusal),
    /// The API server has answered already: the object can't be looked at.
    Answered(Response<Body>),
}

impl From<Refusal> for Halt {
    fn from(refusal: Refusal) -> Self {
        Self::Refused(refusal)
    }
}

/// A request that was sent. A write of which this is dropped before its answer counts as one without.
struct Sent<'a> {
    observer: &'a dyn Observer,
    run: RunId,
    is_open: bool,
}

impl<'a> Sent<'a> {
    fn of(exchange: &'a Exchange, run: &ActiveRun, call: &Call) -> Self {
        Self {
            observer: exchange.observer.as_ref(),
            run: run.id,
            is_open: call.is_write() && !call.is_dry_run(),
        }
    }

    fn has_answer(mut self) {
        self.is_open = false;
    }
}

impl Drop for Sent<'_> {
    fn drop(&mut self) {
        if self.is_open {
            self.observer.unanswered(self.run);
        }
    }
}

impl Exchange {
    /// Sends a request of a run on, and gives the answer to it. What can't be sent is refused.
    pub(crate) async fn answer(&self, run: &Arc<ActiveRun>, request: Request<Incoming>) -> Outcome {
        match self.try_answer(run, request).await {
            Ok(outcome) => outcome,
            Err(Halt::Answered(answer)) => (answer, None),
            Err(Halt::Refused(refusal)) => {
                tracing::debug!(error = &refusal as &dyn std::error::Error, "A request is refused");
                (refusal.answer(), None)
            }
        }
    }

    async fn try_answer(&self, run: &Arc<ActiveRun>, request: Request<Incoming>) -> Result<Outcome, Halt> {
        let call = Call::new(request.method(), request.uri()).ok_or(Refusal::NoPath)?;
        if call.is_connect()
            && let Some(protocol) = upgrade_of(request.headers())
        {
            return Ok(self.upgrade(run, &call, request, protocol).await?);
        }
        let (head, body) = request.into_parts();
        let mut headers = to_server(&head.headers);
        if (call.is_of_secrets() || call.has_one_object() || call.is_of_token())
            && !accept_json(&mut headers)
            && (call.is_of_secrets() || call.is_of_token())
        {
            return Err(Refusal::NotAsJson.into());
        }
        let (body, room) = self.prepare(run, &call, &mut headers, body).await?;
        let request = self.request(&call, head.method, headers, body)?;
        self.ask(run, &call)?;
        let patience = if call.is_open_ended() {
            Patience::Endless
        } else {
            Patience::Usual
        };
        let sent = Sent::of(self, run, &call);
        let answer = self
            .upstream
            .send(request, run.impersonated.as_ref(), patience)
            .await?;
        sent.has_answer();
        drop(room);
        Ok((self.learn(run, &call, answer).await, None))
    }

    fn request(
        &self,
        call: &Call,
        method: Method,
        headers: HeaderMap,
        body: Body,
    ) -> Result<Request<Body>, Refusal> {
        let path = call.path_and_query(&self.field_manager).ok_or(Refusal::NoPath)?;
        let mut request = Request::new(body);
        *request.method_mut() = method;
        *request.uri_mut() = Uri::from(path);
        *request.headers_mut() = headers;
        Ok(request)
    }

    /// Whether a request may be sent at all, right before it is.
    fn ask(&self, run: &ActiveRun, call: &Call) -> Result<(), Refusal> {
        if run.end.is_cancelled() {
            return Err(Refusal::Unauthorized);
        }
        self.ask_fence(call)
    }

    fn ask_fence(&self, call: &Call) -> Result<(), Refusal> {
        if call.is_write() && !self.fence.may_write() {
            return Err(Refusal::Fenced);
        }
        Ok(())
    }

    fn tell(&self, run: &ActiveRun, origin: Origin, call: &Call, status: u16, object: Option<&SeenObject>) {
        self.observer.answered(&Seen {
            run: run.id,
            owner: &run.run.owner,
            account: run.run.account.as_ref(),
            origin,
            verb: &call.verb,
            resource: call.resource.as_ref(),
            path: &call.path,
            is_dry_run: call.is_dry_run(),
            is_write: call.is_write(),
            status,
            object,
        });
    }
}

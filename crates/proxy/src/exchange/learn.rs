//! What an answer says, before the client has it.

use std::sync::Arc;

use hyper::body::Incoming;
use hyper::header::CONTENT_TYPE;
use hyper::{HeaderMap, Response};
use serde::Deserialize;

use super::Exchange;
use crate::body::{Body, passing, read_answer};
use crate::mark::{Marks, Standing};
use crate::observe::{Origin, SeenObject};
use crate::request::{Call, Verb, to_client};
use crate::run::ActiveRun;

/// How large an answer may be to be read. Objects are seldom larger than that, and those go on unread.
pub(super) const MAX_READ: usize = 2 << 20;

/// What of an answer to a request for a token counts.
#[derive(Deserialize)]
struct TokenRequest {
    status: TokenStatus,
}

#[derive(Deserialize)]
struct TokenStatus {
    token: String,
}

impl Exchange {
    /// Tells the observer of an answer, and gives it as the client gets it.
    pub(super) async fn learn(
        &self,
        run: &Arc<ActiveRun>,
        call: &Call,
        answer: Response<Incoming>,
    ) -> Response<Body> {
        let (mut head, body) = answer.into_parts();
        let is_read = head.status.is_success() && is_json(&head.headers);
        let (text, mut body) = if is_read && (call.has_one_object() || call.is_of_token()) {
            read_answer(body, MAX_READ, &self.answers).await
        } else {
            (None, passing(body))
        };
        if call.is_of_secrets() {
            body = self.scanned(run, body);
        }
        let mut object = None;
        if let Some(text) = &text {
            if call.is_of_token() {
                self.learn_token(run, text);
            } else {
                object = SeenObject::read(text, &run.run.owner);
            }
        }
        if let Some(object) = &object {
            note(run, call, object);
        }
        self.tell(run, Origin::Client, call, head.status.as_u16(), object.as_ref());
        head.headers = to_client(&head.headers);
        Response::from_parts(head, body)
    }

    fn learn_token(&self, run: &ActiveRun, text: &[u8]) {
        if let Ok(request) = serde_json::from_slice::<TokenRequest>(text) {
            self.observer.secret(run.id, request.status.token.as_bytes());
        }
    }
}

/// Notes whether an object of the owner lacks its label.
fn note(run: &ActiveRun, call: &Call, object: &SeenObject) {
    let Some((target, name, uid)) = named(call, object) else {
        return;
    };
    if run.run.marks == Marks::None || call.is_dry_run() {
        return;
    }
    let is_going = call.verb == Verb::Delete || object.metadata.deletion_timestamp.is_some();
    match object.standing {
        Standing::Owned { is_labelled } => run.note(&target.object_path(name), uid, is_labelled || is_going),
        Standing::Primary | Standing::Another | Standing::Unowned => {}
    }
}

fn named<'a>(call: &'a Call, object: &'a SeenObject) -> Option<(&'a crate::ResourcePath, &'a str, &'a str)> {
    let metadata = &object.metadata;
    Some((
        call.resource.as_ref()?,
        metadata.name.as_deref()?,
        metadata.uid.as_deref()?,
    ))
}

pub(super) fn is_json(headers: &HeaderMap) -> bool {
    let kind = headers.get(CONTENT_TYPE);
    kind.is_some_and(|kind| kind.as_bytes().starts_with(b"application/json"))
}

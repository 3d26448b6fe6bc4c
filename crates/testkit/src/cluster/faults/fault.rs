//! Which request suffers what.

use std::time::Duration;

use super::call::Call;

/// A fault: the requests that it is meant for, and what becomes of them.
///
/// It strikes once unless [`Fault::nth`], [`Fault::times`] or [`Fault::always`] say otherwise. What is not said of a
/// request, may be anything.
#[derive(Clone, Debug)]
pub struct Fault {
    verb: String,
    resource: String,
    name: Option<String>,
    part: String,
    path: Option<String>,
    /// How many matching requests are let through before.
    pub(super) skip: usize,
    /// It strikes one in so many of the rest; 1 for each.
    pub(super) every: usize,
    pub(super) times: usize,
    pub(super) action: Action,
}

/// What becomes of a request.
#[derive(Clone, Debug)]
pub(super) enum Action {
    /// The API server does not hear of it; the operator gets this answer.
    Answer(Answer),
    /// The API server does not hear of it, and the connection is closed.
    Drop,
    /// It is carried out, and the connection is closed without an answer.
    Lose,
    /// It is carried out, and this answer takes the place of the real one.
    Replace(Answer),
    /// It is passed on after a while.
    Delay(Duration),
    /// It is never answered, as long as the operator waits.
    Hang,
    /// It is passed on when the fault is taken back.
    Hold,
    /// It is carried out, and the connection is closed in the middle of the answer.
    Truncate,
    /// It is carried out, and the answer comes in so many pieces, with a pause before each.
    Trickle(usize, Duration),
    /// The operator is killed, and the API server does not hear of it.
    KillBefore,
    /// It is carried out, and the operator is killed.
    KillAfter,
    /// Events of a watch.
    Event(EventFault),
}

/// An answer of the proxy's own.
#[derive(Clone, Debug)]
pub(super) struct Answer {
    pub(super) status: u16,
    pub(super) retry_after: Option<u32>,
    pub(super) body: String,
}

/// What becomes of an event of a watch.
#[derive(Clone, Debug)]
pub(super) struct EventFault {
    /// `ADDED`, `MODIFIED`, `DELETED`; empty for any.
    pub(super) kind: String,
    pub(super) action: EventAction,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum EventAction {
    /// It is not delivered.
    Skip,
    /// It and all after it are delivered when the fault is taken back.
    Hold,
    /// Half of it is delivered, and the connection is closed.
    Cut,
    /// In its place comes an error with this code, and the end of the watch.
    Fail(u16),
    /// It is delivered twice.
    Repeat,
}

impl Fault {
    /// A fault of requests with this verb: `get`, `list`, `watch`, `create`, `update`, `patch`, `delete`, or `write`
    /// for any that asks for a change, or nothing for any at all. The resource is its plural, with the subresource
    /// where there is one, or nothing for any.
    ///
    /// Until another method says something else, the connection is closed.
    #[must_use]
    pub fn on(verb: &str, resource: &str) -> Self {
        Self {
            verb: verb.to_owned(),
            resource: resource.to_owned(),
            name: None,
            part: String::new(),
            path: None,
            skip: 0,
            every: 1,
            times: 1,
            action: Action::Drop,
        }
    }

    /// Only where the object has this name.
    #[must_use]
    pub fn name(self, name: &str) -> Self {
        Self {
            name: Some(name.to_owned()),
            ..self
        }
    }

    /// Only where path and query, or the name in the body, have this part.
    #[must_use]
    pub fn part(self, part: &str) -> Self {
        Self {
            part: part.to_owned(),
            ..self
        }
    }

    /// Only for exactly this path, without the query: `/api/v1/namespaces`.
    #[must_use]
    pub fn path(self, path: &str) -> Self {
        Self {
            path: Some(path.to_owned()),
            ..self
        }
    }

    /// One request in so many, until the fault is taken back.
    #[must_use]
    pub fn every(self, number: usize) -> Self {
        Self {
            every: number.max(1),
            ..self.always()
        }
    }

    /// Only the request of this number, from 1.
    #[must_use]
    pub fn nth(self, number: usize) -> Self {
        Self {
            skip: number.saturating_sub(1),
            ..self
        }
    }

    /// So many requests in a row.
    #[must_use]
    pub fn times(self, times: usize) -> Self {
        Self { times, ..self }
    }

    /// Every request, until the fault is taken back.
    #[must_use]
    pub fn always(self) -> Self {
        self.times(usize::MAX)
    }

    /// The API server does not hear of it; it is answered with an error, as an API server words it.
    #[must_use]
    pub fn refuse(self, status: u16) -> Self {
        self.acting(Action::Answer(Answer::error(status, None)))
    }

    /// As [`Fault::refuse`], with the wish to be left alone for so many seconds.
    #[must_use]
    pub fn refuse_for(self, status: u16, seconds: u32) -> Self {
        self.acting(Action::Answer(Answer::error(status, Some(seconds))))
    }

    /// The API server does not hear of it; it is answered with this text.
    #[must_use]
    pub fn answer(self, status: u16, body: &str) -> Self {
        self.acting(Action::Answer(Answer::new(status, body)))
    }

    /// It is carried out; another text is the answer.
    #[must_use]
    pub fn replace_answer(self, status: u16, body: &str) -> Self {
        self.acting(Action::Replace(Answer::new(status, body)))
    }

    /// It is carried out, and the connection is closed without an answer.
    #[must_use]
    pub fn lose_answer(self) -> Self {
        self.acting(Action::Lose)
    }

    /// It is carried out, and the connection is closed in the middle of the answer.
    #[must_use]
    pub fn truncate_answer(self) -> Self {
        self.acting(Action::Truncate)
    }

    /// It is carried out; the answer comes in so many pieces, with a pause before each.
    #[must_use]
    pub fn trickle_answer(self, pieces: usize, pause: Duration) -> Self {
        self.acting(Action::Trickle(pieces.max(1), pause))
    }

    /// It is passed on after a while.
    #[must_use]
    pub fn delay(self, pause: Duration) -> Self {
        self.acting(Action::Delay(pause))
    }

    /// It is never answered.
    #[must_use]
    pub fn hang(self) -> Self {
        self.acting(Action::Hang)
    }

    /// Every such request is passed on when the fault is taken back.
    #[must_use]
    pub fn hold(self) -> Self {
        self.acting(Action::Hold).always()
    }

    /// The operator is killed before the API server hears of it.
    #[must_use]
    pub fn kill_before(self) -> Self {
        self.acting(Action::KillBefore)
    }

    /// The operator is killed when it has been carried out.
    #[must_use]
    pub fn kill_after(self) -> Self {
        self.acting(Action::KillAfter)
    }

    /// Events of this type (`ADDED`, `MODIFIED`, `DELETED`, or nothing for any) are not delivered by watches.
    #[must_use]
    pub fn skip_event(self, kind: &str) -> Self {
        self.event(kind, EventAction::Skip)
    }

    /// Such an event, and all that follow in its watch, are delivered when the fault is taken back.
    #[must_use]
    pub fn hold_event(self, kind: &str) -> Self {
        self.event(kind, EventAction::Hold).always()
    }

    /// The connection of the watch is closed in the middle of such an event.
    #[must_use]
    pub fn cut_event(self, kind: &str) -> Self {
        self.event(kind, EventAction::Cut)
    }

    /// In place of such an event the watch ends with an error: 410 says that it can't be resumed.
    #[must_use]
    pub fn fail_event(self, kind: &str, status: u16) -> Self {
        self.event(kind, EventAction::Fail(status))
    }

    /// Such an event is delivered twice.
    #[must_use]
    pub fn repeat_event(self, kind: &str) -> Self {
        self.event(kind, EventAction::Repeat)
    }

    fn event(self, kind: &str, action: EventAction) -> Self {
        let kind = kind.to_owned();
        self.acting(Action::Event(EventFault { kind, action }))
    }

    fn acting(self, action: Action) -> Self {
        Self { action, ..self }
    }

    /// Whether it is meant for this request.
    pub(super) fn is_for(&self, call: &Call) -> bool {
        self.is_for_kind_of(call)
            && self.name.as_ref().is_none_or(|name| *name == call.name)
            && (call.uri.contains(&self.part) || call.name.contains(&self.part))
            && self
                .path
                .as_ref()
                .is_none_or(|path| call.uri.split('?').next() == Some(path))
    }

    /// Whether it is meant for this event of a watch.
    pub(super) fn is_for_event(&self, watch: &Call, kind: &str, name: &str) -> Option<EventAction> {
        let Action::Event(fault) = &self.action else {
            return None;
        };
        let matches = self.is_for_kind_of(watch)
            && (fault.kind.is_empty() || fault.kind == kind)
            && self.name.as_ref().is_none_or(|wanted| wanted == name)
            && name.contains(&self.part);
        matches.then_some(fault.action)
    }

    fn is_for_kind_of(&self, call: &Call) -> bool {
        let verb = match self.verb.as_str() {
            "" => true,
            "write" => call.is_write(),
            verb => verb == call.verb,
        };
        verb && (self.resource.is_empty() || self.resource == call.resource)
    }
}

impl Answer {
    fn new(status: u16, body: &str) -> Self {
        Self {
            status,
            retry_after: None,
            body: body.to_owned(),
        }
    }

    /// The words of an API server.
    pub(super) fn error(status: u16, retry_after: Option<u32>) -> Self {
        let reason = match status {
            401 => "Unauthorized",
            403 => "Forbidden",
            404 => "NotFound",
            409 => "Conflict",
            410 => "Expired",
            429 => "TooManyRequests",
            504 => "Timeout",
            503 => "ServiceUnavailable",
            _ => "InternalError",
        };
        let mut body = serde_json::json!({
            "kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Failure",
            "message": format!("fault {status} of the test"), "reason": reason, "code": status,
        });
        if let Some(seconds) = retry_after {
            body["details"] = serde_json::json!({ "retryAfterSeconds": seconds });
        }
        Self {
            status,
            retry_after,
            body: body.to_string(),
        }
    }
}

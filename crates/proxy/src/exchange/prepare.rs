//! The body of a request as it goes on: marked, or as it came.

use std::sync::Arc;

use hyper::HeaderMap;
use hyper::body::{Bytes, Incoming};
use hyper::header::{CONTENT_TYPE, HeaderValue};

use super::{Exchange, Halt};
use crate::body::{Body, Room, drain, from_client, full, read, watched};
use crate::mark::{Format, Marker, Marks, Way, mark_body};
use crate::refusal::{MAX_BODY, Refusal};
use crate::request::{Call, ResourcePath, Verb};
use crate::run::ActiveRun;
use crate::secrets::SecretScanner;

impl Exchange {
    /// The body, with room for what of it is in memory; `headers` say how it is written.
    pub(super) async fn prepare(
        &self,
        run: &Arc<ActiveRun>,
        call: &Call,
        headers: &mut HeaderMap,
        body: Incoming,
    ) -> Result<(Body, Room), Halt> {
        let marked = way(run, call, headers);
        if let Some((way, target)) = marked
            && (way != Way::Create || self.kinds.is_kept(&self.upstream, target).await?)
        {
            let (bytes, room) = self.mark(run, call, target, way, headers, body).await?;
            if call.is_of_secrets() {
                let mut scanner = SecretScanner::default();
                scanner.feed(&bytes, &mut |value| self.observer.secret(run.id, value));
            }
            return Ok((full(bytes), room));
        }
        let body = from_client(body);
        let body = if call.is_of_secrets() {
            self.scanned(run, body)
        } else {
            body
        };
        Ok((body, None))
    }

    async fn mark(
        &self,
        run: &Arc<ActiveRun>,
        call: &Call,
        target: &ResourcePath,
        way: Way,
        headers: &mut HeaderMap,
        body: Incoming,
    ) -> Result<(Bytes, Room), Halt> {
        let format = match Format::of(headers) {
            Ok(format) => format,
            Err(name) => {
                drain(body).await;
                return Err(Refusal::Unmarkable(name).into());
            }
        };
        let (bytes, room) = read(body, MAX_BODY, &self.bodies).await.map_err(Refusal::from)?;
        let live = match way {
            Way::Create => None,
            Way::Replace | Way::Apply => self.look(run, call).await?,
        };
        let marker = Marker {
            owner: &run.run.owner,
            marks: run.run.marks,
            unowned: run.run.unowned,
            namespace: target.namespace.as_deref(),
        };
        let object = mark_body(&bytes, format, &marker, way, live.as_ref()).map_err(Refusal::NoObject)?;
        if format == Format::Yaml && way != Way::Apply {
            headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
        }
        Ok((object, room))
    }

    /// A body of Secrets, of whose values the observer is told as they pass.
    pub(super) fn scanned(&self, run: &Arc<ActiveRun>, body: Body) -> Body {
        let (observer, run) = (Arc::clone(&self.observer), run.id);
        let mut scanner = SecretScanner::default();
        watched(body, move |bytes| {
            scanner.feed(bytes, &mut |value| observer.secret(run, value));
        })
    }
}

/// How a request writes an object that is to be marked; `None` for all others.
fn way<'a>(run: &ActiveRun, call: &'a Call, headers: &HeaderMap) -> Option<(Way, &'a ResourcePath)> {
    let target = call.resource.as_ref()?;
    if run.run.marks == Marks::None || target.subresource.is_some() || is_event(target) {
        return None;
    }
    let way = match (&call.verb, &target.name) {
        (Verb::Create, None) => Way::Create,
        (Verb::Update, Some(_)) => Way::Replace,
        (Verb::Patch, Some(_)) if Format::is_apply(headers) => Way::Apply,
        _ => return None,
    };
    Some((way, target))
}

/// Events tell of an object, and go by themselves.
fn is_event(target: &ResourcePath) -> bool {
    target.resource == "events" && matches!(target.group.as_str(), "" | "events.k8s.io")
}

//! Bodies that pass: as they come, with a bound to what is kept of them.

use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use http_body_util::combinators::UnsyncBoxBody;
use http_body_util::{BodyExt as _, Empty, Full};
use hyper::body::{Body as HttpBody, Bytes, Frame, Incoming, SizeHint};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::time::{Instant, Sleep};

pub(crate) type BoxError = Box<dyn std::error::Error + Send + Sync>;

/// A body in either direction.
pub(crate) type Body = UnsyncBoxBody<Bytes, BoxError>;

/// How long a client may take between two pieces of a body.
const PAUSE: Duration = Duration::from_mins(1);

/// How long it may take for a body that is read as a whole.
const PATIENCE: Duration = Duration::from_mins(1);

/// How many bytes of bodies are in memory at a time, in kibibytes, in each direction; who needs more waits.
const BUDGET: u32 = 32 << 10;

pub(crate) fn empty() -> Body {
    Empty::new().map_err(|never| match never {}).boxed_unsync()
}

pub(crate) fn full(bytes: impl Into<Bytes>) -> Body {
    Full::new(bytes.into())
        .map_err(|never| match never {})
        .boxed_unsync()
}

/// The body of an answer, as it comes.
pub(crate) fn passing(body: Incoming) -> Body {
    body.map_err(BoxError::from).boxed_unsync()
}

/// The body of a request, as it comes, if it comes.
pub(crate) fn from_client(body: Incoming) -> Body {
    if body.is_end_stream() {
        return empty();
    }
    let body = Patient {
        inner: body,
        pause: Box::pin(tokio::time::sleep(PAUSE)),
    };
    body.boxed_unsync()
}

/// A body of which each piece is shown to `look` before it goes on. What `look` holds is dropped with the body.
pub(crate) fn watched(body: Body, look: impl FnMut(&[u8]) + Send + Unpin + 'static) -> Body {
    Watched { inner: body, look }.boxed_unsync()
}

struct Watched<F> {
    inner: Body,
    look: F,
}

impl<F: FnMut(&[u8]) + Unpin> HttpBody for Watched<F> {
    type Data = Bytes;
    type Error = BoxError;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, BoxError>>> {
        let frame = ready!(Pin::new(&mut self.inner).poll_frame(context));
        if let Some(bytes) = frame.as_ref().and_then(|frame| frame.as_ref().ok()?.data_ref()) {
            (self.look)(bytes);
        }
        Poll::Ready(frame)
    }

    fn is_end_stream(&self) -> bool {
        self.inner.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.inner.size_hint()
    }
}

/// A client that sends no more.
#[derive(Debug, thiserror::Error)]
#[error("the client has sent nothing for {} seconds", PAUSE.as_secs())]
struct Silent;

/// A body that ends with an error when its client is silent for too long.
struct Patient {
    inner: Incoming,
    pause: Pin<Box<Sleep>>,
}

impl HttpBody for Patient {
    type Data = Bytes;
    type Error = BoxError;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, BoxError>>> {
        if let Poll::Ready(frame) = Pin::new(&mut self.inner).poll_frame(context) {
            self.pause.as_mut().reset(Instant::now() + PAUSE);
            return Poll::Ready(frame.map(|frame| frame.map_err(BoxError::from)));
        }
        ready!(self.pause.as_mut().poll(context));
        Poll::Ready(Some(Err(Silent.into())))
    }

    fn is_end_stream(&self) -> bool {
        self.inner.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.inner.size_hint()
    }
}

/// How much of all bodies may be in memory. Clones share it.
#[derive(Clone, Debug)]
pub(crate) struct Budget(Arc<Semaphore>);

impl Default for Budget {
    fn default() -> Self {
        Self(Arc::new(Semaphore::new(BUDGET as usize)))
    }
}

/// Room for a body, until this is dropped.
pub(crate) type Room = Option<OwnedSemaphorePermit>;

impl Budget {
    /// Waits for room for what a body says that it is long, or for the most that it may be.
    async fn room(&self, body: &impl HttpBody, most: usize) -> Room {
        let bytes = body
            .size_hint()
            .upper()
            .map_or(most, |upper| most.min(upper as usize));
        let kibibytes = u32::try_from(bytes.div_ceil(1024)).unwrap_or(BUDGET).min(BUDGET);
        Arc::clone(&self.0).acquire_many_owned(kibibytes).await.ok()
    }
}

/// As much of a room as is needed. What the API server sends in pieces could be as long as it may.
fn shrunk(room: Room, bytes: usize) -> Room {
    let mut room = room?;
    let needed = bytes.div_ceil(1024).max(1).min(room.num_permits());
    room.split(needed)
}

/// Why the body of a request is not there as a whole.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Unread {
    TooLarge,
    TooSlow,
    /// The client has gone in its middle.
    Cut,
}

/// Reads the body of a request as a whole, if it has at most so many bytes. What is left of a longer one is taken, too.
pub(crate) async fn read(mut body: Incoming, most: usize, budget: &Budget) -> Result<(Bytes, Room), Unread> {
    let reading = async {
        if body.size_hint().lower() > most as u64 {
            return Err(Unread::TooLarge);
        }
        let room = budget.room(&body, most).await;
        let mut bytes = Vec::new();
        while let Some(frame) = body.frame().await {
            let frame = frame.map_err(|_| Unread::Cut)?;
            bytes.extend_from_slice(frame.data_ref().map_or(&[], |bytes| bytes));
            if bytes.len() > most {
                return Err(Unread::TooLarge);
            }
        }
        let room = shrunk(room, bytes.len());
        Ok((bytes.into(), room))
    };
    let read = tokio::time::timeout(PATIENCE, reading)
        .await
        .unwrap_or(Err(Unread::TooSlow));
    if matches!(read, Err(Unread::TooLarge)) {
        drain(body).await;
    }
    read
}

/// An answer as a whole with its room, or as it comes where it is longer than that.
pub(crate) async fn read_answer(body: Incoming, most: usize, budget: &Budget) -> (Option<Bytes>, Body) {
    if body.size_hint().lower() > most as u64 {
        return (None, passing(body));
    }
    let room = budget.room(&body, most).await;
    match head_of(passing(body), most).await {
        Head::Whole(bytes) => {
            let room = shrunk(room, bytes.len());
            let body = Parts {
                head: Some(bytes.clone()),
                rest: None,
                end: None,
                room,
            };
            (Some(bytes), body.boxed_unsync())
        }
        Head::Longer(head, rest) => {
            let body = Parts {
                head: Some(head),
                rest: Some(rest),
                end: None,
                room,
            };
            (None, body.boxed_unsync())
        }
        // What was cut stays cut: the client has to see it.
        Head::Cut(head, error) => {
            let body = Parts {
                head: Some(head),
                rest: None,
                end: Some(error),
                room,
            };
            (None, body.boxed_unsync())
        }
    }
}

/// As much of a body as was to be read.
enum Head {
    Whole(Bytes),
    Longer(Bytes, Body),
    Cut(Bytes, BoxError),
}

async fn head_of(mut body: Body, most: usize) -> Head {
    let mut head = Vec::new();
    while let Some(frame) = body.frame().await {
        match frame {
            Ok(frame) => head.extend_from_slice(frame.data_ref().map_or(&[], |bytes| bytes)),
            Err(error) => return Head::Cut(head.into(), error),
        }
        if head.len() > most {
            return Head::Longer(head.into(), body);
        }
    }
    Head::Whole(head.into())
}

/// What was read of a body, and what follows.
struct Parts {
    head: Option<Bytes>,
    rest: Option<Body>,
    end: Option<BoxError>,
    #[expect(dead_code, reason = "it is given back when it is dropped")]
    room: Room,
}

impl HttpBody for Parts {
    type Data = Bytes;
    type Error = BoxError;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, BoxError>>> {
        if let Some(head) = self.head.take().filter(|head| !head.is_empty()) {
            return Poll::Ready(Some(Ok(Frame::data(head))));
        }
        if let Some(error) = self.end.take() {
            return Poll::Ready(Some(Err(error)));
        }
        match &mut self.rest {
            Some(rest) => Pin::new(rest).poll_frame(context),
            None => Poll::Ready(None),
        }
    }

    fn is_end_stream(&self) -> bool {
        self.head.as_ref().is_none_or(Bytes::is_empty) && self.end.is_none() && self.rest.is_none()
    }

    fn size_hint(&self) -> SizeHint {
        match &self.head {
            Some(head) if self.rest.is_none() && self.end.is_none() => {
                SizeHint::with_exact(head.len() as u64)
            }
            _ => SizeHint::default(),
        }
    }
}

/// Takes what is left of a body that was refused, within bounds: a client that is still sending would see its connection
/// break, and not the answer.
pub(crate) async fn drain(mut body: Incoming) {
    const MOST: usize = 16 << 20;
    const WITHIN: Duration = Duration::from_secs(5);
    let draining = async {
        let mut taken = 0;
        while let Some(Ok(frame)) = body.frame().await {
            taken += frame.data_ref().map_or(0, Bytes::len);
            if taken > MOST {
                return;
            }
        }
    };
    let _ = tokio::time::timeout(WITHIN, draining).await;
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn the_end_of_a_body_is_kept() {
        let parts = |end: Option<BoxError>, rest: Option<Body>| {
            let head = Some(Bytes::from_static(b"abc"));
            Parts {
                head,
                rest,
                end,
                room: None,
            }
        };
        let whole = parts(None, None);
        assert_eq!(whole.size_hint().exact(), Some(3));
        assert_eq!(whole.collect().await.unwrap().to_bytes(), "abc");
        let longer = parts(None, Some(full("def")));
        assert_eq!(longer.size_hint().exact(), None);
        assert_eq!(longer.collect().await.unwrap().to_bytes(), "abcdef");
        let cut = parts(Some(Silent.into()), None);
        assert!(cut.collect().await.is_err());
    }

    #[tokio::test]
    async fn who_needs_more_room_waits() {
        let budget = Budget::default();
        let half = (BUDGET as usize) << 9;
        let first = budget.room(&full(vec![0; half]), usize::MAX).await;
        let second = budget.room(&full(vec![0; half]), usize::MAX).await;
        let third = full("a");
        let waiting = budget.room(&third, 1);
        assert!(
            tokio::time::timeout(Duration::from_millis(10), waiting)
                .await
                .is_err()
        );
        let first = shrunk(first, 1);
        assert_eq!(first.as_ref().map(OwnedSemaphorePermit::num_permits), Some(1));
        assert!(budget.room(&third, 1).await.is_some());
        drop(second);
    }
}

//! What goes along with a request to a registry.

use std::io::{self, Read as _};
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use bytes::Bytes;
use http_body::{Body, Frame, SizeHint};
use steersman_image::{Blob, BlobReader};

use crate::client::{FetchError, LAYER, WHOLE};

/// How much of a blob is in memory at a time.
const CHUNK: usize = 128 << 10;

/// What goes along with a request. It may have to be sent once more, with a login.
#[derive(Clone, Copy, Debug)]
pub(super) enum Content<'a> {
    Nothing,
    /// No bytes, where some could be.
    Empty,
    /// Nothing, and the answer is a layer.
    AskForLayer,
    Blob(&'a Blob),
}

impl Content<'_> {
    pub(super) fn body(self) -> Result<Option<reqwest::Body>, FetchError> {
        let blob = match self {
            Content::Nothing | Content::AskForLayer => return Ok(None),
            Content::Empty => return Ok(Some(Vec::new().into())),
            Content::Blob(blob) => blob,
        };
        if let Some(content) = blob.content() {
            return Ok(Some(Bytes::from_owner(Arc::clone(content)).into()));
        }
        let reader = blob.open().map_err(|source| FetchError::Content {
            digest: blob.digest().to_owned(),
            source,
        })?;
        Ok(Some(reqwest::Body::wrap(Upload {
            reader,
            left: blob.size(),
        })))
    }

    /// How long the exchange may take.
    pub(super) fn duration(self) -> Duration {
        match self {
            Content::Nothing | Content::Empty => WHOLE,
            Content::AskForLayer | Content::Blob(_) => LAYER,
        }
    }
}

/// A blob that is read while it is sent. Reading blocks the thread, which has nothing else to do: a command sends one blob
/// at a time.
struct Upload {
    reader: BlobReader,
    left: u64,
}

impl Body for Upload {
    type Data = Bytes;
    type Error = io::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        _context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, io::Error>>> {
        if self.left == 0 {
            return Poll::Ready(None);
        }
        let mut chunk = vec![0; usize::try_from(self.left).map_or(CHUNK, |left| left.min(CHUNK))];
        let frame = match self.reader.read(&mut chunk) {
            Ok(0) => Err(io::ErrorKind::UnexpectedEof.into()),
            Ok(length) => {
                chunk.truncate(length);
                self.left -= length as u64;
                Ok(Frame::data(chunk.into()))
            }
            Err(error) => Err(error),
        };
        Poll::Ready(Some(frame))
    }

    fn is_end_stream(&self) -> bool {
        self.left == 0
    }

    fn size_hint(&self) -> SizeHint {
        SizeHint::with_exact(self.left)
    }
}

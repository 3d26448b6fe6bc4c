//! Answers that are not nested too deeply to be read.
//!
//! `serde_json` reads 127 levels, the API server keeps thousands. One object of that depth in a list would keep all others
//! of the list from being read: whoever may create it would stop its kind for everybody. So what is nested deeper than
//! [`MAX_LEVELS`] is `null` here, and who reads a value that reaches so deep refuses it.

use std::pin::Pin;
use std::task::{Context, Poll, ready};

use futures::future::{BoxFuture, FutureExt as _};
use hyper::body::{Body as HttpBody, Bytes, Frame};
use hyper::header::CONTENT_TYPE;
use hyper::http::{Request, Response};
use kube::client::Body;
use tower::{Layer, Service};

/// How many levels of an answer are left, of 127 that can be read.
const MAX_LEVELS: usize = 120;

/// Takes what is nested too deeply out of answers in JSON.
#[derive(Clone, Copy, Debug)]
pub(super) struct Flatten;

impl<S> Layer<S> for Flatten {
    type Service = FlattenService<S>;

    fn layer(&self, inner: S) -> Self::Service {
        FlattenService { inner }
    }
}

/// A client whose answers can be read.
#[derive(Clone, Debug)]
pub(super) struct FlattenService<S> {
    inner: S,
}

impl<S, B> Service<Request<Body>> for FlattenService<S>
where
    S: Service<Request<Body>, Response = Response<B>>,
    S::Future: Send + 'static,
{
    type Response = Response<FlatBody<B>>;
    type Error = S::Error;
    type Future = BoxFuture<'static, Result<Self::Response, S::Error>>;

    fn poll_ready(&mut self, context: &mut Context<'_>) -> Poll<Result<(), S::Error>> {
        self.inner.poll_ready(context)
    }

    fn call(&mut self, request: Request<Body>) -> Self::Future {
        let answer = self.inner.call(request);
        async move {
            let answer = answer.await?;
            let kind = answer.headers().get(CONTENT_TYPE);
            let is_json = kind.is_some_and(|kind| kind.as_bytes().starts_with(b"application/json"));
            Ok(answer.map(|inner| FlatBody {
                inner: Box::pin(inner),
                levels: is_json.then(Levels::default),
            }))
        }
        .boxed()
    }
}

/// A body without what is nested too deeply.
#[derive(Debug)]
pub(super) struct FlatBody<B> {
    inner: Pin<Box<B>>,
    /// Absent where the body is no JSON.
    levels: Option<Levels>,
}

impl<B: HttpBody<Data = Bytes>> HttpBody for FlatBody<B> {
    type Data = Bytes;
    type Error = B::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, B::Error>>> {
        let frame = ready!(self.inner.as_mut().poll_frame(context));
        let levels = &mut self.levels;
        let flat = |bytes: Bytes| match levels {
            Some(levels) => levels.flatten(bytes),
            None => bytes,
        };
        Poll::Ready(frame.map(|frame| frame.map(|frame| frame.map_data(flat))))
    }

    fn is_end_stream(&self) -> bool {
        self.inner.is_end_stream()
    }
}

/// Where in a text of JSON the next byte is. A stream has one text after the other, each of which ends where it began.
#[derive(Debug, Default)]
struct Levels {
    depth: usize,
    in_string: bool,
    /// After a backslash.
    is_escaped: bool,
}

impl Levels {
    /// The next part of the text, with `null` in the place of maps and lists that are too deep.
    fn flatten(&mut self, bytes: Bytes) -> Bytes {
        if self.depth <= MAX_LEVELS && !self.leads_too_deep(&bytes) {
            return bytes;
        }
        let mut flat = Vec::with_capacity(bytes.len());
        for &byte in &bytes {
            let before = self.depth;
            self.step(byte);
            match (before > MAX_LEVELS, self.depth > MAX_LEVELS) {
                (false, true) => flat.extend_from_slice(b"null"),
                (false, false) => flat.push(byte),
                // The end of what was left out is left out, too.
                (true, _) => {}
            }
        }
        flat.into()
    }

    /// Whether these bytes reach too deep. If not, they are behind us.
    fn leads_too_deep(&mut self, bytes: &[u8]) -> bool {
        let (depth, in_string, is_escaped) = (self.depth, self.in_string, self.is_escaped);
        for &byte in bytes {
            self.step(byte);
            if self.depth > MAX_LEVELS {
                *self = Self {
                    depth,
                    in_string,
                    is_escaped,
                };
                return true;
            }
        }
        false
    }

    fn step(&mut self, byte: u8) {
        if self.in_string {
            match byte {
                _ if self.is_escaped => self.is_escaped = false,
                b'\\' => self.is_escaped = true,
                b'"' => self.in_string = false,
                _ => {}
            }
            return;
        }
        match byte {
            b'"' => self.in_string = true,
            b'{' | b'[' => self.depth += 1,
            b'}' | b']' => self.depth = self.depth.saturating_sub(1),
            _ => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::Value;

    use super::*;

    /// A map in a map, and so on, with more maps behind the innermost value.
    fn nested(levels: usize) -> String {
        let deep = r#"{"a":"#.repeat(levels - 1);
        let end = r#","b":{}}"#.repeat(levels - 1);
        format!(r#"{deep}{{"text":"}}]\"{{"}}{end}"#)
    }

    fn depth(value: &Value) -> usize {
        match value {
            Value::Object(map) => 1 + map.values().map(depth).max().unwrap_or_default(),
            _ => 0,
        }
    }

    /// However the text is cut into pieces, it comes out the same.
    fn check(text: &str, expect: &str) {
        for size in [1, 7, 4096, usize::MAX] {
            let mut levels = Levels::default();
            let pieces = text.as_bytes().chunks(size.min(text.len()));
            let flat: Vec<u8> = pieces
                .flat_map(|piece| levels.flatten(Bytes::copy_from_slice(piece)))
                .collect();
            assert_eq!(String::from_utf8(flat).unwrap(), expect);
            assert_eq!(levels.depth, 0);
        }
    }

    #[test]
    fn what_can_be_read_stays_as_it_is() {
        for text in [
            nested(1),
            nested(MAX_LEVELS),
            nested(3) + "\n" + &nested(MAX_LEVELS) + "\n[]",
        ] {
            check(&text, &text);
        }
    }

    #[test]
    fn what_is_too_deep_is_null_and_all_around_it_stays() {
        for levels in [MAX_LEVELS + 1, 200, 5000] {
            let begin = r#"{"a":"#.repeat(MAX_LEVELS);
            let end = r#","b":{}}"#.repeat(MAX_LEVELS - 1);
            // The innermost map that stays has two values that are too deep.
            let expect = format!(r#"{begin}null,"b":null}}{end}"#);
            check(&nested(levels), &expect);
            let read: Value = serde_json::from_str(&expect).unwrap();
            assert_eq!(depth(&read), MAX_LEVELS);
        }
        assert!(serde_json::from_str::<Value>(&nested(200)).is_err());
    }
}

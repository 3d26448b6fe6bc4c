//! Go's strings: immutable bytes, nearly always UTF-8.

use std::borrow::{Borrow, Cow};
use std::cmp::Ordering;
use std::fmt;
use std::hash::{Hash, Hasher};
use std::sync::Arc;

/// An immutable string that is cheap to clone and can be shared by threads.
///
/// Go's strings are bytes, and functions such as `trunc` or `b64dec` make ones that are not
/// UTF-8; those keep their bytes. Order and equality are those of the bytes.
///
/// ```
/// use steersman_gotemplate::Str;
///
/// let cut = Str::from_bytes(vec![b'a', 0xc3]);
/// assert_eq!(cut.as_str(), None);
/// assert_eq!(cut.text(), "a\u{fffd}");
/// assert_eq!(cut.len(), 2);
/// ```
#[derive(Clone)]
pub struct Str(Bytes);

#[derive(Clone)]
enum Bytes {
    Text(Arc<str>),
    /// Never valid UTF-8, so that equal strings have equal variants. A thin pointer, so that
    /// the rare variant does not make each string larger.
    Binary(Arc<Vec<u8>>),
}

impl Str {
    /// Bytes as they are: they need not be UTF-8.
    #[must_use]
    pub fn from_bytes(bytes: Vec<u8>) -> Self {
        match String::from_utf8(bytes) {
            Ok(text) => text.into(),
            Err(error) => Self(Bytes::Binary(Arc::new(error.into_bytes()))),
        }
    }

    /// What Go sees: `len` counts these, and `index` takes one of them.
    #[must_use]
    pub fn as_bytes(&self) -> &[u8] {
        match &self.0 {
            Bytes::Text(text) => text.as_bytes(),
            Bytes::Binary(bytes) => bytes,
        }
    }

    /// The text, where the bytes are UTF-8.
    #[must_use]
    pub fn as_str(&self) -> Option<&str> {
        match &self.0 {
            Bytes::Text(text) => Some(text),
            Bytes::Binary(_) => None,
        }
    }

    /// The text, with U+FFFD in place of each byte that is not part of UTF-8.
    #[must_use]
    pub fn text(&self) -> Cow<'_, str> {
        match &self.0 {
            Bytes::Text(text) => Cow::Borrowed(text),
            Bytes::Binary(bytes) => String::from_utf8_lossy(bytes),
        }
    }

    /// Whether this is the only handle of the bytes.
    pub(super) fn is_unshared(&self) -> bool {
        match &self.0 {
            Bytes::Text(text) => Arc::strong_count(text) == 1,
            Bytes::Binary(bytes) => Arc::strong_count(bytes) == 1,
        }
    }

    /// The number of bytes.
    #[must_use]
    pub fn len(&self) -> usize {
        self.as_bytes().len()
    }

    /// Whether there are no bytes.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.as_bytes().is_empty()
    }
}

impl Default for Str {
    fn default() -> Self {
        Self::from("")
    }
}

impl From<&str> for Str {
    fn from(text: &str) -> Self {
        Self(Bytes::Text(text.into()))
    }
}

impl From<String> for Str {
    fn from(text: String) -> Self {
        Self(Bytes::Text(text.into()))
    }
}

impl From<Arc<str>> for Str {
    fn from(text: Arc<str>) -> Self {
        Self(Bytes::Text(text))
    }
}

impl From<Cow<'_, str>> for Str {
    fn from(text: Cow<'_, str>) -> Self {
        Self(Bytes::Text(text.into()))
    }
}

impl PartialEq for Str {
    fn eq(&self, other: &Self) -> bool {
        self.as_bytes() == other.as_bytes()
    }
}

impl Eq for Str {}

impl PartialEq<str> for Str {
    fn eq(&self, other: &str) -> bool {
        self.as_bytes() == other.as_bytes()
    }
}

impl PartialEq<&str> for Str {
    fn eq(&self, other: &&str) -> bool {
        self.as_bytes() == other.as_bytes()
    }
}

impl PartialOrd for Str {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Str {
    fn cmp(&self, other: &Self) -> Ordering {
        self.as_bytes().cmp(other.as_bytes())
    }
}

impl Hash for Str {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.as_bytes().hash(state);
    }
}

impl Borrow<[u8]> for Str {
    fn borrow(&self) -> &[u8] {
        self.as_bytes()
    }
}

impl fmt::Display for Str {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text())
    }
}

impl fmt::Debug for Str {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(&self.text(), f)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_that_are_not_text_are_kept() {
        let cut = Str::from_bytes("é".as_bytes()[..1].to_vec());
        assert_eq!(cut.as_bytes(), &[0xc3]);
        assert_eq!(cut.as_str(), None);
        assert_eq!(cut.text(), "\u{fffd}");
    }

    #[test]
    fn bytes_that_are_text_equal_the_text() {
        assert_eq!(Str::from_bytes(b"abc".to_vec()), Str::from("abc"));
        assert_eq!(Str::from_bytes(b"abc".to_vec()).as_str(), Some("abc"));
    }
}

//! All matches of an expression, one after the other.

use regex::bytes::{Captures, Match, Regex};

/// The matches in `text` from left to right. An empty one is left out right after another match,
/// and inside of a character.
pub(super) fn matches<'t>(regex: &Regex, text: &'t [u8]) -> impl Iterator<Item = Match<'t>> {
    Search::new(text, move |from| {
        let found = regex.find_at(text, from)?;
        Some((found, found.start(), found.end()))
    })
}

/// Like [`matches()`], with the groups of each match.
pub(super) fn captures<'t>(regex: &Regex, text: &'t [u8]) -> impl Iterator<Item = Captures<'t>> {
    Search::new(text, move |from| {
        let captures = regex.captures_at(text, from)?;
        let (start, end) = captures.get(0).map(|found| (found.start(), found.end()))?;
        Some((captures, start, end))
    })
}

struct Search<'t, F> {
    text: &'t [u8],
    is_utf8: bool,
    /// Finds the first match from a place on, and says where it starts and ends.
    find: F,
    from: usize,
    last_end: Option<usize>,
}

impl<'t, T, F: FnMut(usize) -> Option<(T, usize, usize)>> Search<'t, F> {
    fn new(text: &'t [u8], find: F) -> Self {
        Self {
            text,
            is_utf8: std::str::from_utf8(text).is_ok(),
            find,
            from: 0,
            last_end: None,
        }
    }

    /// Whether a character ends or starts here.
    fn is_boundary(&self, place: usize) -> bool {
        !self.is_utf8 || self.text.get(place).is_none_or(|byte| byte & 0xc0 != 0x80)
    }
}

impl<T, F: FnMut(usize) -> Option<(T, usize, usize)>> Iterator for Search<'_, F> {
    type Item = T;

    fn next(&mut self) -> Option<T> {
        while self.from <= self.text.len() {
            let (found, start, end) = (self.find)(self.from)?;
            if start == end && (self.last_end == Some(end) || !self.is_boundary(end)) {
                self.from = end + 1;
                continue;
            }
            self.from = end;
            self.last_end = Some(end);
            return Some(found);
        }
        None
    }
}

//! Masking what a redactor knows.

use steersman_model::{CUT, CUT_OFF};

use super::forms::{for_each_form, lines, longest_form};
use super::text_index::TextIndex;
use super::{MASK, Redactor, SHORTEST_LINE};

/// The longest text that is looked through. A longer one is not shown.
const LONGEST_TEXT: usize = 1024 * 1024;
/// So many marks of a cut are looked at in a text.
const MOST_CUTS: usize = 4;
/// What stands between texts that are looked through together. It is in no text.
const BETWEEN: u8 = 0xff;

impl Redactor {
    /// `text` with every secret replaced, however it is written: as it is, on one line, line by line,
    /// quoted, in base64, hexadecimal, or as in a URL.
    ///
    /// A text of more than a megabyte is replaced by a sentence that says so, and so is every text if more secrets were
    /// learnt than can be looked for.
    pub fn mask(&self, text: &str) -> String {
        self.mask_all(&[text]).concat()
    }

    /// The same with each of `texts`. It takes not much longer than with one of them.
    pub fn mask_all(&self, texts: &[&str]) -> Vec<String> {
        if self.overflown {
            // Nothing says nothing.
            let untold = |text: &&str| if text.is_empty() { String::new() } else { untold() };
            return texts.iter().map(untold).collect();
        }
        if self.secrets.is_empty() {
            return texts
                .iter()
                .map(|text| text.replace([CUT, CUT_OFF], ""))
                .collect();
        }
        let mut masked = Vec::with_capacity(texts.len());
        let mut rest = texts;
        while let Some((first, _)) = rest.split_first() {
            let mut length = 0;
            let fits = rest.iter().take_while(|text| {
                length += text.len() + 1;
                length <= LONGEST_TEXT
            });
            let (together, others) = rest.split_at(fits.count());
            if together.is_empty() {
                masked.push(too_long(first));
                rest = rest.get(1..).unwrap_or_default();
            } else {
                masked.extend(self.mask_together(together));
                rest = others;
            }
        }
        masked
    }

    /// The start of `text` with every secret replaced, about `shown` bytes of it. What is looked through is no more than that
    /// and the longest secret, so that none is cut before it is found.
    pub fn mask_start(&self, text: &str, shown: usize) -> String {
        if self.overflown {
            return untold();
        }
        let looked_through = shown.saturating_add(self.longest_form());
        let start = text.floor_char_boundary(looked_through.min(text.len()));
        let Some(start) = text.get(..start).filter(|start| start.len() < LONGEST_TEXT) else {
            return too_long(text);
        };
        let longest = self.longest_at(start.as_bytes());
        replaced(
            start,
            &longest,
            start.floor_char_boundary(shown),
            text.len() > shown,
        )
    }

    /// Whether a text that was cut before it came here at more than `length` bytes may end with a part of a secret that begins
    /// in its first `shown` bytes.
    pub fn may_reach(&self, shown: usize, length: usize) -> bool {
        self.overflown || shown.saturating_add(self.longest_form()) > length
    }

    /// No writing of a secret is longer.
    pub(super) fn longest_form(&self) -> usize {
        let longest = self.secrets.iter().map(|secret| longest_form(secret)).max();
        longest.unwrap_or_default()
    }

    fn mask_together(&self, texts: &[&str]) -> Vec<String> {
        let mut joined = Vec::with_capacity(texts.iter().map(|text| text.len() + 1).sum());
        for text in texts {
            joined.extend_from_slice(text.as_bytes());
            joined.push(BETWEEN);
        }
        let longest = self.longest_at(&joined);
        let mut rest = longest.as_slice();
        let masked = texts.iter().map(|text| {
            let (own, others) = rest.split_at(text.len());
            rest = others.get(1..).unwrap_or_default();
            replaced(text, own, text.len(), false)
        });
        masked.collect()
    }

    /// For each place of a text, how long the longest writing of a secret is that begins there.
    fn longest_at(&self, text: &[u8]) -> Vec<u32> {
        if self.secrets.is_empty() {
            return vec![0; text.len()];
        }
        let mut index = TextIndex::new(text, text.len().min(self.longest_form()));
        let mut find = |form: &str| index.find(form.as_bytes());
        for secret in &self.secrets {
            for_each_form(secret, text.len(), &mut find);
            for line in lines(secret).filter(|line| line.len() >= SHORTEST_LINE) {
                for_each_form(line, text.len(), &mut find);
            }
        }
        let mut longest = index.longest();
        for at in cuts(text) {
            let tail = self.tail_at_start(text.get(at..).unwrap_or_default());
            if let Some(length) = longest.get_mut(at) {
                *length = (*length).max(tail as u32);
            }
        }
        // No secret that was cut at such a place begins further before it.
        let reach = self.longest_form();
        for end in ends(text) {
            let before = text.get(end.saturating_sub(reach)..end).unwrap_or_default();
            let own = before.rsplit(|byte| *byte == BETWEEN).next().unwrap_or_default();
            // Its first bytes may be the rest of a character.
            let whole = own.iter().position(|byte| byte & 0xc0 != 0x80);
            let from = end - own.len() + whole.unwrap_or(own.len());
            if let Some(length) = longest.get_mut(from) {
                *length = (*length).max((end - from) as u32);
            }
        }
        longest
    }
}

/// The first `end` bytes of `text` with a mask for what is `longest` at each place.
fn replaced(text: &str, longest: &[u32], end: usize, is_cut: bool) -> String {
    let mut masked = String::with_capacity(end);
    let mut shown = 0;
    let found = longest
        .iter()
        .take(end)
        .enumerate()
        .filter(|(_, length)| **length > 0);
    for (at, &length) in found {
        // One that reaches into the former is hidden with it.
        if at >= shown {
            masked.push_str(text.get(shown..at).unwrap_or_default());
            masked.push_str(MASK);
        }
        shown = shown.max(at + length as usize);
    }
    masked.push_str(text.get(shown..end).unwrap_or_default());
    if is_cut {
        masked.push('…');
    }
    masked.replace([CUT, CUT_OFF], "")
}

/// Where the start of a text may be missing. Others may write the mark, too, and no more of these are looked at than we have in
/// a text.
fn cuts(text: &[u8]) -> impl Iterator<Item = usize> {
    marks(text, CUT).map(|at| at + CUT.len_utf8()).take(MOST_CUTS)
}

/// Where the end of a text may be missing.
fn ends(text: &[u8]) -> impl Iterator<Item = usize> {
    marks(text, CUT_OFF)
}

fn marks(text: &[u8], mark: char) -> impl Iterator<Item = usize> {
    let is_mark =
        move |window: &[u8]| std::str::from_utf8(window).is_ok_and(|window| window.starts_with(mark));
    let starts = text
        .windows(mark.len_utf8())
        .enumerate()
        .filter(move |(_, window)| is_mark(window));
    starts.map(|(at, _)| at)
}

pub(super) fn untold() -> String {
    "(not shown: it may have secrets that can't be looked for in it)".to_owned()
}

fn too_long(text: &str) -> String {
    format!(
        "(not shown: {} bytes are more than can be looked through for secrets)",
        text.len()
    )
}

//! Cutting what is too long or too deep out of JSON while it arrives.

/// The longest text that is kept whole, in bytes.
const LONGEST_TEXT: usize = 64 << 10;
/// Stands for the rest of a text, as JSON has it: [`steersman_model::CUT_OFF`] and an ellipsis.
const REST: &[u8] = b"\\u2061\\u2026";
/// Stands for half of a surrogate pair, as Python writes bytes that are no text. JSON's readers refuse these.
const REPLACEMENT: &[u8] = b"\\ufffd";

/// Passes JSON on piece by piece: without collections that are too deep, which become `null`, without the ends of texts
/// that are too long, and without halves of surrogate pairs.
///
/// What is no JSON comes out as something that is none.
#[derive(Debug)]
pub(super) struct Cut {
    deepest: usize,
    limit: usize,
    depth: usize,
    /// The text that is open, if one is.
    text: Option<Text>,
    out: Vec<u8>,
    is_too_large: bool,
}

#[derive(Debug, Default)]
struct Text {
    /// Bytes that were passed on.
    length: usize,
    is_cut: bool,
    /// What follows a backslash, with it.
    escape: Vec<u8>,
    /// The first half of a surrogate pair.
    high: Option<Vec<u8>>,
}

impl Cut {
    /// Keeps `deepest` collections inside of each other, and at most `limit` bytes.
    pub(super) fn new(deepest: usize, limit: usize) -> Self {
        Self {
            deepest,
            limit,
            depth: 0,
            text: None,
            out: Vec::new(),
            is_too_large: false,
        }
    }

    pub(super) fn push(&mut self, bytes: &[u8]) {
        for byte in bytes {
            if self.text.is_some() {
                self.push_in_text(*byte);
            } else {
                self.push_outside(*byte);
            }
        }
    }

    /// What is left, unless it is more than the limit.
    pub(super) fn finish(self) -> Option<Vec<u8>> {
        (!self.is_too_large).then_some(self.out)
    }

    fn push_outside(&mut self, byte: u8) {
        match byte {
            b'"' => {
                self.emit(b"\"");
                self.text = Some(Text::default());
            }
            b'{' | b'[' => {
                self.depth += 1;
                if self.depth == self.deepest + 1 {
                    self.emit_at(self.deepest, b"null");
                }
                self.emit(&[byte]);
            }
            b'}' | b']' => {
                self.emit(&[byte]);
                self.depth = self.depth.saturating_sub(1);
            }
            _ => self.emit(&[byte]),
        }
    }

    fn push_in_text(&mut self, byte: u8) {
        let Some(text) = &mut self.text else { return };
        if !text.escape.is_empty() {
            text.escape.push(byte);
            let length = if text.escape[1] == b'u' { 6 } else { 2 };
            if text.escape.len() == length {
                let escape = std::mem::take(&mut text.escape);
                self.push_escape(escape);
            }
            return;
        }
        if byte == b'\\' {
            text.escape.push(byte);
            return;
        }
        let high = text.high.take();
        if high.is_some() {
            self.emit_in_text(REPLACEMENT);
        }
        if byte == b'"' {
            self.text = None;
            self.emit(b"\"");
        } else {
            self.emit_in_text(&[byte]);
        }
    }

    fn push_escape(&mut self, escape: Vec<u8>) {
        let Some(text) = &mut self.text else { return };
        let high = text.high.take();
        match (half(&escape), high) {
            (Some(Half::High), before) => {
                text.high = Some(escape);
                if before.is_some() {
                    self.emit_in_text(REPLACEMENT);
                }
            }
            (Some(Half::Low), Some(high)) => self.emit_in_text(&[high, escape].concat()),
            (Some(Half::Low), None) => self.emit_in_text(REPLACEMENT),
            (None, before) => {
                if before.is_some() {
                    self.emit_in_text(REPLACEMENT);
                }
                self.emit_in_text(&escape);
            }
        }
    }

    /// A character of a text, which is kept whole or not at all.
    fn emit_in_text(&mut self, character: &[u8]) {
        let Some(text) = &mut self.text else { return };
        if text.is_cut {
            return;
        }
        text.length += character.len();
        text.is_cut = text.length > LONGEST_TEXT;
        let is_cut = text.is_cut;
        self.emit(if is_cut { REST } else { character });
    }

    fn emit(&mut self, bytes: &[u8]) {
        self.emit_at(self.depth, bytes);
    }

    fn emit_at(&mut self, depth: usize, bytes: &[u8]) {
        if depth > self.deepest || self.is_too_large {
            return;
        }
        if self.out.len() + bytes.len() > self.limit {
            self.is_too_large = true;
            self.out = Vec::new();
            return;
        }
        self.out.extend_from_slice(bytes);
    }
}

enum Half {
    High,
    Low,
}

/// Which half of a surrogate pair `\uXXXX` is, if any.
fn half(escape: &[u8]) -> Option<Half> {
    match escape {
        [
            b'\\',
            b'u',
            b'd' | b'D',
            b'8' | b'9' | b'a' | b'b' | b'A' | b'B',
            ..,
        ] => Some(Half::High),
        [b'\\', b'u', b'd' | b'D', b'c'..=b'f' | b'C'..=b'F', ..] => Some(Half::Low),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};
    use steersman_model::CUT_OFF;

    use super::{Cut, LONGEST_TEXT};

    /// What is left of a text that comes in pieces of each length.
    fn cut(deepest: usize, text: &str) -> String {
        let results: Vec<Vec<u8>> = [1, 2, 3, 7, usize::MAX]
            .map(|size| {
                let mut cut = Cut::new(deepest, 1 << 20);
                text.as_bytes()
                    .chunks(size.min(text.len().max(1)))
                    .for_each(|piece| cut.push(piece));
                cut.finish().expect("less than the limit")
            })
            .into();
        assert!(results.windows(2).all(|pair| pair[0] == pair[1]));
        String::from_utf8(results[0].clone()).expect("text")
    }

    fn value(text: &str) -> Value {
        serde_json::from_str(text).expect("JSON")
    }

    #[test]
    fn what_is_small_is_passed_on_as_it_is() {
        for text in [
            "",
            "null",
            r#" {"a": [1, -2.5e3, true, {"b\"}": "\\ \u00e4 \ud83d\ude00 ä😀 ]"}]} "#,
            "no JSON } ] \" \\u12",
        ] {
            assert_eq!(
                cut(8, text).trim_end_matches("\\u12"),
                text.trim_end_matches("\\u12")
            );
        }
    }

    #[test]
    fn collections_that_are_too_deep_become_null() {
        let text = r#"{"a": {"b": {"c": "}", "d": [{}]}, "e": [1]}, "f": 2}"#;
        assert_eq!(value(&cut(2, text)), json!({"a": {"b": null, "e": null}, "f": 2}));
        assert_eq!(value(&cut(1, text)), json!({"a": null, "f": 2}));
        assert_eq!(value(&cut(0, text)), Value::Null);
    }

    #[test]
    fn bytes_that_are_no_text_are_replaced() {
        let text = r#"["\udcff", "\ud800x", "\ud800\ud83d\ude00", "\ud800\n", "\ud800", "\uDBFF\uDFFF"]"#;
        assert_eq!(
            value(&cut(8, text)),
            json!([
                "\u{fffd}",
                "\u{fffd}x",
                "\u{fffd}😀",
                "\u{fffd}\n",
                "\u{fffd}",
                "\u{10ffff}"
            ])
        );
    }

    #[test]
    fn long_texts_lose_their_ends() {
        let long = "x".repeat(LONGEST_TEXT);
        let text = format!(r#"{{"a": "{long}", "b": "{long}y", "c": "{long}\u00e4\"", "d": 1}}"#);
        let ends = format!("{long}{CUT_OFF}…");
        assert_eq!(
            value(&cut(8, &text)),
            json!({"a": long, "b": ends, "c": ends, "d": 1})
        );
    }

    #[test]
    fn what_is_too_large_takes_no_memory() {
        let mut cut = Cut::new(8, 1000);
        cut.push(b"[");
        for _ in 0..1000 {
            cut.push(b"1234567890,");
            assert!(cut.out.len() <= 1000);
        }
        assert_eq!(cut.finish(), None);
    }
}

//! How much memory a text of JSON takes as values.

use serde_json::Value;

/// What a value takes in a list that grows: there is room for twice as many as it holds.
const ELEMENT: usize = 2 * size_of::<Value>();
/// What a list has room for as soon as there is something in it.
const LIST: usize = 4 * size_of::<Value>();
/// A node of a map has room for eleven entries, and is there for the first one.
const MAP: usize = 512;
/// What each entry takes in nodes that are half full.
const ENTRY: usize = 128;
/// The smallest piece that an allocator gives for a text.
const TEXT: usize = 32;

/// About how many bytes the values of a JSON text take, counted piece by piece while it arrives: never less than the text
/// itself, and for lists of numbers or small maps many times as much.
///
/// ```
/// use steersman_model::Weight;
///
/// let mut weight = Weight::default();
/// weight.add(br#"{"data": "#);
/// weight.add(br#"[0,0,0,0]}"#);
/// assert!(weight.bytes() > 500);
/// assert!(Weight::of(&"[{\"a\":0},".repeat(1000).as_bytes()) > 600_000, "a map for each seven bytes");
/// let text = format!("\"{}\"", "x".repeat(100_000));
/// assert!(Weight::of(text.as_bytes()) < 101_000);
/// ```
#[derive(Clone, Copy, Debug, Default)]
pub struct Weight {
    bytes: usize,
    in_string: bool,
    /// After a backslash.
    is_escaped: bool,
    /// What the collection costs that begins here, should there be anything in it.
    opened: usize,
}

impl Weight {
    /// The weight of a whole text.
    pub fn of(text: &[u8]) -> usize {
        let mut weight = Self::default();
        weight.add(text);
        weight.bytes
    }

    /// Counts the next piece of the text.
    pub fn add(&mut self, piece: &[u8]) {
        for &byte in piece {
            self.step(byte);
        }
    }

    /// Counts the next byte of the text.
    pub fn step(&mut self, byte: u8) {
        self.bytes = self.bytes.saturating_add(1);
        if self.in_string {
            match byte {
                _ if self.is_escaped => self.is_escaped = false,
                b'\\' => self.is_escaped = true,
                b'"' => self.in_string = false,
                _ => {}
            }
            return;
        }
        let costs = match byte {
            b' ' | b'\n' | b'\r' | b'\t' => return,
            b'}' | b']' => {
                self.opened = 0;
                return;
            }
            b'"' => {
                self.in_string = true;
                TEXT
            }
            b',' => ELEMENT,
            b':' => ENTRY,
            _ => 0,
        };
        self.bytes = self.bytes.saturating_add(costs + self.opened);
        self.opened = match byte {
            b'{' => MAP,
            b'[' => LIST,
            _ => 0,
        };
    }

    /// What was counted so far.
    pub fn bytes(&self) -> usize {
        self.bytes
    }

    /// Whether the next byte is a part of a string.
    pub fn is_in_string(&self) -> bool {
        self.in_string
    }
}

/// About how many bytes a value takes, counted as [`Weight`] does. What holds a value has room for it.
pub fn weight_of(value: &Value) -> usize {
    match value {
        Value::Null | Value::Bool(_) | Value::Number(_) => 1,
        Value::String(text) => TEXT + text.len(),
        Value::Array(items) if items.is_empty() => 1,
        Value::Array(items) => items.iter().fold(LIST - ELEMENT, |sum, item| {
            sum.saturating_add(ELEMENT + weight_of(item))
        }),
        Value::Object(map) if map.is_empty() => 1,
        Value::Object(map) => map.iter().fold(MAP, |sum, (key, item)| {
            sum.saturating_add(ENTRY + TEXT + key.len() + weight_of(item))
        }),
    }
}

/// A number of bytes as people say it: `16 MiB`, `1.5 MiB`, `700 KiB`.
///
/// ```
/// use steersman_model::in_words;
///
/// assert_eq!([16 << 20, 3 << 19, 700 << 10, 12].map(in_words), ["16 MiB", "1.5 MiB", "700 KiB", "1 KiB"]);
/// ```
pub fn in_words(bytes: usize) -> String {
    const MEBIBYTE: usize = 1 << 20;
    let tenths = (bytes.saturating_mul(10) / MEBIBYTE) % 10;
    match bytes {
        MEBIBYTE.. if tenths == 0 => format!("{} MiB", bytes / MEBIBYTE),
        MEBIBYTE.. => format!("{}.{tenths} MiB", bytes / MEBIBYTE),
        _ => format!("{} KiB", bytes.div_ceil(1024)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// However a text is cut into pieces, it weighs the same, and at least as much as its values do.
    fn check(text: &str) {
        let whole = Weight::of(text.as_bytes());
        for size in [1, 3, 7] {
            let mut weight = Weight::default();
            text.as_bytes().chunks(size).for_each(|piece| weight.add(piece));
            assert_eq!(weight.bytes(), whole, "{size}");
            assert!(!weight.is_in_string());
        }
        let value: Value = serde_json::from_str(text).unwrap();
        assert!(whole >= weight_of(&value), "{whole} < {}", weight_of(&value));
    }

    #[test]
    fn a_text_weighs_no_less_than_its_values() {
        let many = |one: &str| format!("[{}]", vec![one; 1000].join(","));
        for text in [
            r#"{"a": {"b": [1, "x, y: [{", null]}, "c": {}, "d": []}"#.to_owned(),
            many("0"),
            many("[]"),
            many("{}"),
            many(r#"{"":0}"#),
            many(r#"{"a":"b\"{[,","c":[[1]]}"#),
            many("\"\""),
            many("[0]"),
            format!("{}{}", "[".repeat(100), "]".repeat(100)),
        ] {
            check(&text);
        }
    }

    #[test]
    fn what_is_quoted_is_only_text() {
        let text = format!("\"{}\"", "{[,:".repeat(1000));
        assert!(Weight::of(text.as_bytes()) < 5000);
    }
}

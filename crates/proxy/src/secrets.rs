//! Values of Secrets, found in texts that pass.
//!
//! Objects, lists and events of watches have them at the same names. They are found while the text passes, so that a list of
//! any size takes no more memory than its largest value.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;

/// How long a value may be to be told. A Secret is at most a mebibyte, which base64 makes a third longer.
const MAX_VALUE: usize = 2 << 20;

/// How long a name may be to be looked at.
const MAX_NAME: usize = 64;

/// How deep values lie: in a map of an item of a list of an object.
const DEEPEST: usize = 4;

/// Reads JSON piece by piece, and tells the values of the Secrets in it.
#[derive(Debug, Default)]
pub(crate) struct SecretScanner {
    /// Maps and lists around the place, outermost first, no more than can lead to a value.
    around: Vec<Level>,
    /// Levels below those, which are only counted.
    deeper: usize,
    text: Option<Text>,
}

#[derive(Debug)]
struct Level {
    is_map: bool,
    /// Whether a name comes next.
    at_name: bool,
    name: Name,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Name {
    Items,
    Object,
    Data,
    StringData,
    Other,
}

/// A text that has begun.
#[derive(Debug)]
struct Text {
    /// With its quotes, as far as it is kept.
    bytes: Vec<u8>,
    use_of: Use,
    is_escaped: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Use {
    Name,
    Value(Name),
    Nothing,
}

impl SecretScanner {
    /// Reads on, and calls `tell` for each value that ends here.
    pub(crate) fn feed(&mut self, bytes: &[u8], tell: &mut dyn FnMut(&[u8])) {
        for &byte in bytes {
            match &mut self.text {
                Some(text) => {
                    if text.push(byte)
                        && let Some(text) = self.text.take()
                    {
                        self.end_text(text, tell);
                    }
                }
                None => self.step(byte),
            }
        }
    }

    fn step(&mut self, byte: u8) {
        match byte {
            b'"' => {
                self.text = Some(Text {
                    bytes: vec![byte],
                    use_of: self.use_here(),
                    is_escaped: false,
                });
            }
            b'{' | b'[' if self.around.len() < DEEPEST && self.deeper == 0 => {
                let is_map = byte == b'{';
                self.around.push(Level {
                    is_map,
                    at_name: is_map,
                    name: Name::Other,
                });
            }
            b'{' | b'[' => self.deeper += 1,
            b'}' | b']' if self.deeper > 0 => self.deeper -= 1,
            b'}' | b']' => drop(self.around.pop()),
            b',' if self.deeper == 0 => {
                if let Some(level) = self.around.last_mut() {
                    level.at_name = level.is_map;
                }
            }
            _ => {}
        }
    }

    fn use_here(&self) -> Use {
        match self.around.last() {
            Some(level) if self.deeper == 0 && level.at_name => Use::Name,
            Some(level) if self.deeper == 0 && level.is_map => self.value_here(),
            _ => Use::Nothing,
        }
    }

    /// Whether the map that we are in is one of values: `data` of an object, of an item, or of an event's object.
    fn value_here(&self) -> Use {
        let Some((_, above)) = self.around.split_last() else {
            return Use::Nothing;
        };
        let Some((holder, path)) = above.split_last() else {
            return Use::Nothing;
        };
        let names: Vec<Name> = path.iter().map(|level| level.name).collect();
        let is_object = matches!(names.as_slice(), [] | [Name::Object] | [Name::Items, Name::Other]);
        match holder.name {
            name @ (Name::Data | Name::StringData) if is_object => Use::Value(name),
            _ => Use::Nothing,
        }
    }

    fn end_text(&mut self, text: Text, tell: &mut dyn FnMut(&[u8])) {
        let read = || serde_json::from_slice::<String>(&text.bytes).ok();
        match text.use_of {
            Use::Name => {
                let name = match read().as_deref() {
                    Some("items") => Name::Items,
                    Some("object") => Name::Object,
                    Some("data") => Name::Data,
                    Some("stringData") => Name::StringData,
                    _ => Name::Other,
                };
                if let Some(level) = self.around.last_mut() {
                    (level.name, level.at_name) = (name, false);
                }
            }
            Use::Value(name) => {
                if let Some(value) = read().filter(|value| !value.is_empty()) {
                    tell_value(name, &value, tell);
                }
            }
            Use::Nothing => {}
        }
    }
}

impl Text {
    /// Whether it ends with this byte. A longer one than is looked at is left out.
    fn push(&mut self, byte: u8) -> bool {
        let most = match self.use_of {
            Use::Name => MAX_NAME,
            Use::Value(_) => MAX_VALUE,
            Use::Nothing => 0,
        };
        if self.bytes.len() < most {
            self.bytes.push(byte);
        } else if self.use_of != Use::Name {
            (self.use_of, self.bytes) = (Use::Nothing, Vec::new());
        }
        let ends = byte == b'"' && !self.is_escaped;
        self.is_escaped = byte == b'\\' && !self.is_escaped;
        ends
    }
}

fn tell_value(name: Name, value: &str, tell: &mut dyn FnMut(&[u8])) {
    match STANDARD.decode(value) {
        Ok(bytes) if name == Name::Data => tell(&bytes),
        _ => tell(value.as_bytes()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(text: &str, piece: usize) -> Vec<String> {
        let mut scanner = SecretScanner::default();
        let mut values = Vec::new();
        for bytes in text.as_bytes().chunks(piece) {
            scanner.feed(bytes, &mut |value| {
                values.push(String::from_utf8(value.to_vec()).unwrap());
            });
        }
        values
    }

    fn check(text: &str, expect: &[&str]) {
        for piece in [1, 7, 10_000] {
            assert_eq!(found(text, piece), expect, "in pieces of {piece}: {text}");
        }
    }

    #[test]
    fn values_are_found_in_objects_lists_and_events() {
        let secret = r#"{"kind":"Secret","metadata":{"name":"x","annotations":{"data":"no"}},"data":{"a":"aHVudGVyMg==","b":""},"type":"Opaque"}"#;
        check(secret, &["hunter2"]);
        let list = format!(r#"{{"kind":"SecretList","metadata":{{}},"items":[{secret}, {secret}]}}"#);
        check(&list, &["hunter2", "hunter2"]);
        let event = format!("{{\"type\":\"ADDED\",\"object\":{secret}}}\n");
        check(&event.repeat(3), &["hunter2", "hunter2", "hunter2"]);
        check(
            r#"{"stringData":{"a\"b":"hun\"ter\\","c":"aHVudGVyMg=="}}"#,
            &["hun\"ter\\", "aHVudGVyMg=="],
        );
        check(r#"{"data":{"a":"not base64"}}"#, &["not base64"]);
    }

    #[test]
    fn other_texts_are_no_values() {
        check(r#"{"metadata":{"data":{"a":"aHVudGVyMg=="}}}"#, &[]);
        check(r#"{"items":[{"spec":{"data":{"a":"aHVudGVyMg=="}}}]}"#, &[]);
        check(r#"{"data":[{"a":"x"}, {"b": {"c": "d"}}]}"#, &[]);
        check(r#"{"data":{"a":{"b":"x"}},"x":[[[[["data"]]]]]}"#, &[]);
        check(r#"["data", {"data":{"a":"b"}}]"#, &[]);
        check(r#"}}]] {"data":{"a":"aHVudGVyMg=="}}"#, &["hunter2"]);
    }

    #[test]
    fn what_is_too_long_takes_no_memory() {
        let mut scanner = SecretScanner::default();
        let mut told = 0;
        scanner.feed(br#"{"data":{"a":""#, &mut |_| told += 1);
        for _ in 0..3 {
            scanner.feed(&vec![b'a'; 1 << 20], &mut |_| told += 1);
        }
        assert!(scanner.text.as_ref().is_some_and(|text| text.bytes.is_empty()));
        scanner.feed(br#"","b":"aHVudGVyMg=="}}"#, &mut |_| told += 1);
        assert_eq!(told, 1);
    }
}

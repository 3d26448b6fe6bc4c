//! JSON into values.

use steersman_gotemplate::stack::grow;
use steersman_gotemplate::{Map, MapType, Str, Value};

use crate::MAXIMUM_DEPTH;

/// Why a text is not JSON, in Go's words.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum DecodeError {
    /// The text ends too early.
    #[error("unexpected end of JSON input")]
    UnexpectedEnd,
    /// A character that cannot be here; the context says what was wanted.
    #[error("invalid character {character} {context}")]
    InvalidCharacter {
        /// The character, quoted.
        character: String,
        /// What Go's parser was doing.
        context: &'static str,
    },
    /// Values nested more than [`MAXIMUM_DEPTH`] deep.
    #[error("exceeded max depth")]
    TooDeep,
    /// A number that no float64 can hold.
    #[error("json: cannot unmarshal number {0} into Go value of type float64")]
    NumberRange(String),
}

/// The value that `source` stands for: maps, lists, strings, float64 numbers, booleans and nil.
///
/// # Errors
/// `source` is not one JSON value.
pub fn decode(source: &[u8]) -> Result<Value, DecodeError> {
    let mut decoder = Decoder {
        source,
        place: 0,
        depth: 0,
        unfit: None,
    };
    let value = decoder.value()?;
    if let Some(byte) = decoder.next_token() {
        return Err(invalid(byte, "after top-level value"));
    }
    match decoder.unfit {
        None => Ok(value),
        Some(number) => Err(DecodeError::NumberRange(number)),
    }
}

const VALUE_START: &str = "looking for beginning of value";

struct Decoder<'a> {
    source: &'a [u8],
    place: usize,
    depth: usize,
    /// The first number that does not fit: Go first checks that the whole text is JSON.
    unfit: Option<String>,
}

impl Decoder<'_> {
    /// The byte here, if there is one.
    fn peek(&self) -> Option<u8> {
        self.source.get(self.place).copied()
    }

    /// The next byte that is not white space, without passing it.
    fn next_token(&mut self) -> Option<u8> {
        while let Some(b' ' | b'\t' | b'\r' | b'\n') = self.peek() {
            self.place += 1;
        }
        self.peek()
    }

    /// Passes the byte here, which must be there.
    fn take(&mut self) -> Result<u8, DecodeError> {
        let byte = self.peek().ok_or(DecodeError::UnexpectedEnd)?;
        self.place += 1;
        Ok(byte)
    }

    /// Passes the byte here. Inside of a word, number or escape Go takes the end of the text for a
    /// space, which cannot be there.
    fn take_inside(&mut self) -> u8 {
        self.take().unwrap_or(b' ')
    }

    fn value(&mut self) -> Result<Value, DecodeError> {
        match self.next_token().ok_or(DecodeError::UnexpectedEnd)? {
            b'{' => self.nested(Self::object),
            b'[' => self.nested(Self::array),
            b'"' => Ok(self.string()?.into()),
            b't' => self.literal("true", "in literal true (expecting 'r')", Value::Bool(true)),
            b'f' => self.literal("false", "in literal false (expecting 'a')", Value::Bool(false)),
            b'n' => self.literal("null", "in literal null (expecting 'u')", Value::Nil),
            b'-' | b'0'..=b'9' => self.number(),
            byte => Err(invalid(byte, VALUE_START)),
        }
    }

    fn nested(&mut self, read: fn(&mut Self) -> Result<Value, DecodeError>) -> Result<Value, DecodeError> {
        if self.depth == MAXIMUM_DEPTH {
            return Err(DecodeError::TooDeep);
        }
        self.depth += 1;
        self.place += 1;
        let value = grow(|| read(self))?;
        self.depth -= 1;
        Ok(value)
    }

    fn object(&mut self) -> Result<Value, DecodeError> {
        const KEY_START: &str = "looking for beginning of object key string";
        let map = Map::new(MapType::Any);
        if self.next_token() == Some(b'}') {
            self.place += 1;
            return Ok(map.into());
        }
        loop {
            match self.next_token().ok_or(DecodeError::UnexpectedEnd)? {
                b'"' => {}
                byte => return Err(invalid(byte, KEY_START)),
            }
            let key = self.string()?;
            self.next_token();
            match self.take()? {
                b':' => {}
                byte => return Err(invalid(byte, "after object key")),
            }
            let value = self.value()?;
            map.insert(key, value);
            self.next_token();
            match self.take()? {
                b',' => {}
                b'}' => return Ok(map.into()),
                byte => return Err(invalid(byte, "after object key:value pair")),
            }
        }
    }

    fn array(&mut self) -> Result<Value, DecodeError> {
        let mut items = Vec::new();
        if self.next_token() == Some(b']') {
            self.place += 1;
            return Ok(Value::list(items));
        }
        loop {
            items.push(self.value()?);
            self.next_token();
            match self.take()? {
                b',' => {}
                b']' => return Ok(Value::list(items)),
                byte => return Err(invalid(byte, "after array element")),
            }
        }
    }

    fn literal(
        &mut self,
        word: &'static str,
        first_context: &'static str,
        value: Value,
    ) -> Result<Value, DecodeError> {
        for (place, expected) in word.bytes().enumerate() {
            let byte = self.take_inside();
            if byte != expected {
                return Err(invalid(
                    byte,
                    literal_context(word, place).unwrap_or(first_context),
                ));
            }
        }
        Ok(value)
    }

    fn number(&mut self) -> Result<Value, DecodeError> {
        let start = self.place;
        if self.peek() == Some(b'-') {
            self.place += 1;
        }
        match self.take_inside() {
            b'0' => {}
            b'1'..=b'9' => self.digits(),
            byte => return Err(invalid(byte, "in numeric literal")),
        }
        if self.peek() == Some(b'.') {
            self.place += 1;
            self.first_digit("after decimal point in numeric literal")?;
        }
        if matches!(self.peek(), Some(b'e' | b'E')) {
            self.place += 1;
            if matches!(self.peek(), Some(b'+' | b'-')) {
                self.place += 1;
            }
            self.first_digit("in exponent of numeric literal")?;
        }
        let text = String::from_utf8_lossy(self.source.get(start..self.place).unwrap_or_default());
        match text.parse::<f64>() {
            Ok(number) if number.is_finite() => Ok(number.into()),
            _ => {
                self.unfit.get_or_insert(text.into_owned());
                Ok(Value::Nil)
            }
        }
    }

    fn first_digit(&mut self, context: &'static str) -> Result<(), DecodeError> {
        match self.take_inside() {
            b'0'..=b'9' => self.digits(),
            byte => return Err(invalid(byte, context)),
        }
        Ok(())
    }

    fn digits(&mut self) {
        while self.peek().is_some_and(|byte| byte.is_ascii_digit()) {
            self.place += 1;
        }
    }

    /// The string that starts here with its quote.
    fn string(&mut self) -> Result<Str, DecodeError> {
        self.place += 1;
        let mut text = Vec::new();
        loop {
            let plain_from = self.place;
            while self
                .peek()
                .is_some_and(|byte| !matches!(byte, b'"' | b'\\' | 0..=0x1f))
            {
                self.place += 1;
            }
            text.extend_from_slice(self.source.get(plain_from..self.place).unwrap_or_default());
            match self.take()? {
                b'"' => break,
                b'\\' => self.escape(&mut text)?,
                byte => return Err(invalid(byte, "in string literal")),
            }
        }
        Ok(match String::from_utf8(text) {
            Ok(text) => text.into(),
            Err(error) => replace_invalid(error.as_bytes()).into(),
        })
    }

    fn escape(&mut self, text: &mut Vec<u8>) -> Result<(), DecodeError> {
        let plain = match self.take_inside() {
            byte @ (b'"' | b'\\' | b'/') => byte,
            b'b' => 8,
            b'f' => 12,
            b'n' => b'\n',
            b'r' => b'\r',
            b't' => b'\t',
            b'u' => {
                let character = self.unicode_escape()?;
                text.extend_from_slice(character.encode_utf8(&mut [0; 4]).as_bytes());
                return Ok(());
            }
            byte => return Err(invalid(byte, "in string escape code")),
        };
        text.push(plain);
        Ok(())
    }

    /// The character of the digits here; U+FFFD for half a surrogate pair.
    fn unicode_escape(&mut self) -> Result<char, DecodeError> {
        let high = self.four_digits()?;
        if let Some(character) = char::from_u32(high) {
            return Ok(character);
        }
        let after_high = self.place;
        if (0xd800..0xdc00).contains(&high) && self.source.get(self.place..self.place + 2) == Some(b"\\u") {
            self.place += 2;
            let low = self.four_digits()?;
            if (0xdc00..0xe000).contains(&low) {
                let code = 0x10000 + ((high - 0xd800) << 10) + (low - 0xdc00);
                return Ok(char::from_u32(code).unwrap_or('\u{fffd}'));
            }
            self.place = after_high;
        }
        Ok('\u{fffd}')
    }

    fn four_digits(&mut self) -> Result<u32, DecodeError> {
        let mut code = 0;
        for _ in 0..4 {
            let byte = self.take_inside();
            let Some(digit) = char::from(byte).to_digit(16) else {
                return Err(invalid(byte, "in \\u hexadecimal character escape"));
            };
            code = code << 4 | digit;
        }
        Ok(code)
    }
}

/// Each byte that is not part of UTF-8 becomes a U+FFFD of its own, as in Go.
fn replace_invalid(bytes: &[u8]) -> String {
    let mut text = String::with_capacity(bytes.len());
    for chunk in bytes.utf8_chunks() {
        text.push_str(chunk.valid());
        text.extend(chunk.invalid().iter().map(|_| '\u{fffd}'));
    }
    text
}

fn literal_context(word: &str, place: usize) -> Option<&'static str> {
    Some(match (word, place) {
        ("true", 2) => "in literal true (expecting 'u')",
        ("true", 3) => "in literal true (expecting 'e')",
        ("false", 2) => "in literal false (expecting 'l')",
        ("false", 3) => "in literal false (expecting 's')",
        ("false", 4) => "in literal false (expecting 'e')",
        ("null", 2 | 3) => "in literal null (expecting 'l')",
        _ => return None,
    })
}

fn invalid(byte: u8, context: &'static str) -> DecodeError {
    let character = match byte {
        b'\'' => r"'\''".to_owned(),
        b'"' => "'\"'".to_owned(),
        b'\\' => r"'\\'".to_owned(),
        b'\n' => r"'\n'".to_owned(),
        b'\r' => r"'\r'".to_owned(),
        b'\t' => r"'\t'".to_owned(),
        0x07 => r"'\a'".to_owned(),
        0x08 => r"'\b'".to_owned(),
        0x0b => r"'\v'".to_owned(),
        0x0c => r"'\f'".to_owned(),
        0..0x20 | 0x7f => format!("'\\x{byte:02x}'"),
        0x80..0xa0 | 0xad => format!("'\\u{byte:04x}'"),
        byte => format!("'{}'", char::from(byte)),
    };
    DecodeError::InvalidCharacter { character, context }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::json::{Escape, Layout, encode};

    #[track_caller]
    fn check(source: &str, expect: &str) {
        let shown = match decode(source.as_bytes()) {
            Ok(value) => encode(&value, Escape::Needed, Layout::Compact).unwrap(),
            Err(error) => format!("error: {error}"),
        };
        assert_eq!(shown, expect, "{source}");
    }

    #[test]
    fn values_are_read() {
        check(
            r#" {"b":[1,2.5,-3e2,true,false,null],"a":{"c":"d"}} "#,
            r#"{"a":{"c":"d"},"b":[1,2.5,-300,true,false,null]}"#,
        );
        check(r#"{"a":1,"a":2}"#, r#"{"a":2}"#);
        check("[]", "[]");
        check("{}", "{}");
    }

    #[test]
    fn escapes_are_read() {
        check(r#""\u00e9\n\/\ud83d\ude00""#, "\"é\\n/😀\"");
        check(r#""\ud83dx\ud83d\u0041""#, "\"\u{fffd}x\u{fffd}A\"");
    }

    #[test]
    fn errors_have_gos_words() {
        check("", "error: unexpected end of JSON input");
        check("{", "error: unexpected end of JSON input");
        check(
            "bad",
            "error: invalid character 'b' looking for beginning of value",
        );
        check(
            "{a}",
            "error: invalid character 'a' looking for beginning of object key string",
        );
        check("[1 2]", "error: invalid character '2' after array element");
        check(r#"{"a" 1}"#, "error: invalid character '1' after object key");
        check(
            r#"{"a":1 "b"}"#,
            "error: invalid character '\"' after object key:value pair",
        );
        check("1 2", "error: invalid character '2' after top-level value");
        check(
            "nul",
            "error: invalid character ' ' in literal null (expecting 'l')",
        );
        check("\"a", "error: unexpected end of JSON input");
        check("-", "error: invalid character ' ' in numeric literal");
        check(
            "nux",
            "error: invalid character 'x' in literal null (expecting 'l')",
        );
        check(
            "1.x",
            "error: invalid character 'x' after decimal point in numeric literal",
        );
        check(
            "1e999",
            "error: json: cannot unmarshal number 1e999 into Go value of type float64",
        );
        check("1e999-", "error: invalid character '-' after top-level value");
        check(r#""\x""#, "error: invalid character 'x' in string escape code");
    }

    #[test]
    fn depth_is_limited() {
        check(&"[".repeat(100_000), "error: exceeded max depth");
    }
}

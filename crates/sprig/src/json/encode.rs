//! Values into JSON.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use steersman_gotemplate::format::float;
use steersman_gotemplate::stack::grow;
use steersman_gotemplate::{Encoded, Str, Value};

use crate::MAXIMUM_DEPTH;

/// Which characters of strings are written as escapes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Escape {
    /// Those that JSON demands, and `<`, `>`, `&`.
    Html,
    /// Only those that JSON demands.
    Needed,
}

/// Where white space goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Layout {
    /// Nowhere: one line, as `toJson` gives it.
    Compact,
    /// Each item on a line of its own, indented by two spaces a level.
    Indented,
}

/// Why a value cannot be written as JSON.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum EncodeError {
    /// Infinity or not a number.
    #[error("json: unsupported value: {0}")]
    UnsupportedFloat(&'static str),
    /// Values nested more than [`MAXIMUM_DEPTH`] deep, such as a map that contains itself.
    #[error("json: unsupported value: values are nested too deep")]
    TooDeep,
    /// A text of more than 16 MiB, as values that share others many times over can become.
    #[error("json: unsupported value: its text is too large")]
    TooLarge,
}

/// The most bytes that one value is written as.
const GREATEST_SIZE: usize = 16 << 20;

/// The value as JSON.
///
/// # Errors
/// It contains a float that is not finite, is nested too deep, or becomes too large.
pub fn encode(value: &Value, escape: Escape, layout: Layout) -> Result<String, EncodeError> {
    let mut text = Vec::new();
    encode_into(&mut text, value, escape, layout)?;
    Ok(String::from_utf8(text).unwrap_or_default())
}

/// Like [`encode`], at the end of `text`, which stays as far as it got if this fails.
///
/// # Errors
/// See [`encode`].
pub fn encode_into(
    text: &mut Vec<u8>,
    value: &Value,
    escape: Escape,
    layout: Layout,
) -> Result<(), EncodeError> {
    Encoder {
        limit: text.len().saturating_add(GREATEST_SIZE),
        text,
        escape,
        layout,
        depth: 0,
    }
    .value(value)
}

struct Encoder<'a> {
    text: &'a mut Vec<u8>,
    escape: Escape,
    layout: Layout,
    depth: usize,
    /// How long the text may get.
    limit: usize,
}

impl Encoder<'_> {
    fn value(&mut self, value: &Value) -> Result<(), EncodeError> {
        if self.text.len() > self.limit {
            return Err(EncodeError::TooLarge);
        }
        match value {
            Value::Invalid | Value::Nil => self.raw("null"),
            Value::Bool(true) => self.raw("true"),
            Value::Bool(false) => self.raw("false"),
            Value::Int(number) | Value::Int64(number) => self.raw(&number.to_string()),
            Value::Uint64(number) => self.raw(&number.to_string()),
            Value::Byte(number) => self.raw(&number.to_string()),
            Value::Float(number) => self.raw(&format_float(*number)?),
            Value::Str(text) => self.string(text),
            Value::Bytes(bytes) => self.raw(&format!("\"{}\"", STANDARD.encode(bytes))),
            Value::List(list) if list.is_nil() => self.raw("null"),
            Value::List(list) => self.array(list.items())?,
            Value::Map(map) if map.is_nil() => self.raw("null"),
            Value::Map(map) => self.object(&map.entries())?,
            Value::Object(object) => match object.encoded() {
                Encoded::Plain(plain) => grow(|| self.value(&plain))?,
                Encoded::Fields(fields) => self.object(&fields)?,
            },
        }
        Ok(())
    }

    fn raw(&mut self, text: &str) {
        self.text.extend_from_slice(text.as_bytes());
    }

    fn nested(
        &mut self,
        write: impl FnOnce(&mut Self) -> Result<(), EncodeError>,
    ) -> Result<(), EncodeError> {
        if self.depth == MAXIMUM_DEPTH {
            return Err(EncodeError::TooDeep);
        }
        self.depth += 1;
        grow(|| write(self))?;
        self.depth -= 1;
        Ok(())
    }

    fn array(&mut self, items: &[Value]) -> Result<(), EncodeError> {
        if items.is_empty() {
            self.raw("[]");
            return Ok(());
        }
        self.raw("[");
        self.nested(|encoder| {
            for (place, item) in items.iter().enumerate() {
                encoder.separate(place);
                encoder.value(item)?;
            }
            Ok(())
        })?;
        self.line();
        self.raw("]");
        Ok(())
    }

    fn object(&mut self, entries: &[(Str, Value)]) -> Result<(), EncodeError> {
        if entries.is_empty() {
            self.raw("{}");
            return Ok(());
        }
        self.raw("{");
        self.nested(|encoder| {
            for (place, (key, value)) in entries.iter().enumerate() {
                encoder.separate(place);
                encoder.string(key);
                encoder.raw(if encoder.layout == Layout::Indented {
                    ": "
                } else {
                    ":"
                });
                encoder.value(value)?;
            }
            Ok(())
        })?;
        self.line();
        self.raw("}");
        Ok(())
    }

    /// What comes before the item at `place`.
    fn separate(&mut self, place: usize) {
        if place > 0 {
            self.raw(",");
        }
        self.line();
    }

    fn line(&mut self) {
        if self.layout == Layout::Indented {
            self.text.push(b'\n');
            self.text.resize(self.text.len() + 2 * self.depth, b' ');
        }
    }

    fn string(&mut self, text: &Str) {
        self.text.push(b'"');
        if let Some(text) = text.as_str() {
            self.characters(text);
        } else {
            for chunk in text.as_bytes().utf8_chunks() {
                self.characters(chunk.valid());
                for _ in chunk.invalid() {
                    self.raw("\\ufffd");
                }
            }
        }
        self.text.push(b'"');
    }

    fn characters(&mut self, text: &str) {
        let mut plain_from = 0;
        for (place, character) in text.char_indices() {
            let Some(escaped) = self.escaped(character) else {
                continue;
            };
            self.raw(text.get(plain_from..place).unwrap_or_default());
            self.raw(&escaped);
            plain_from = place + character.len_utf8();
        }
        self.raw(text.get(plain_from..).unwrap_or_default());
    }

    fn escaped(&self, character: char) -> Option<std::borrow::Cow<'static, str>> {
        let short = match character {
            '"' => "\\\"",
            '\\' => "\\\\",
            '\u{8}' => "\\b",
            '\u{c}' => "\\f",
            '\n' => "\\n",
            '\r' => "\\r",
            '\t' => "\\t",
            '\0'..' ' | '\u{2028}' | '\u{2029}' => {
                return Some(format!("\\u{:04x}", u32::from(character)).into());
            }
            '<' if self.escape == Escape::Html => "\\u003c",
            '>' if self.escape == Escape::Html => "\\u003e",
            '&' if self.escape == Escape::Html => "\\u0026",
            _ => return None,
        };
        Some(short.into())
    }
}

/// The float as Go writes it in JSON: with the fewest digits, and an exponent only when it is
/// below -6 or above 20.
///
/// # Errors
/// The float is not finite.
pub fn format_float(number: f64) -> Result<String, EncodeError> {
    if !number.is_finite() {
        return Err(EncodeError::UnsupportedFloat(if number.is_nan() {
            "NaN"
        } else if number < 0.0 {
            "-Inf"
        } else {
            "+Inf"
        }));
    }
    let magnitude = number.abs();
    if magnitude == 0.0 || (1e-6..1e21).contains(&magnitude) {
        return Ok(float(number, b'f', None));
    }
    // Unlike everywhere else, a negative exponent has no zero in front.
    Ok(float(number, b'e', None).replace("e-0", "e-"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::test_runtime::{check, int};

    #[test]
    fn floats_have_an_exponent_only_at_the_extremes() {
        for (number, expect) in [
            (1.0, "1"),
            (1.5, "1.5"),
            (1e20, "100000000000000000000"),
            (1e21, "1e+21"),
            (1.5e300, "1.5e+300"),
            (1e-6, "0.000001"),
            (1e-7, "1e-7"),
            (-0.0, "-0"),
            (0.1, "0.1"),
            (8_301_207_505_988_097.0 / 4.0, "2075301876497024.2"),
        ] {
            assert_eq!(format_float(number).unwrap(), expect);
        }
        assert!(format_float(f64::INFINITY).is_err());
    }

    #[test]
    fn html_is_escaped_unless_raw() {
        check(
            "toJson",
            &["<a&b>\u{2028}\n\u{1}".into()],
            r#""\u003ca\u0026b\u003e\u2028\n\u0001""#,
        );
        check("toRawJson", &["<a&b>".into()], r#""<a&b>""#);
        let cut = Str::from_bytes(b"a\xc3".to_vec());
        check("toJson", &[cut.into()], r#""a\ufffd""#);
    }

    #[test]
    fn containers_are_laid_out() {
        let value = Value::map([
            ("b", Value::list(vec![int(1), Value::Nil])),
            ("a", Value::map::<Str>([])),
        ]);
        check("toJson", &[value.clone()], r#"{"a":{},"b":[1,null]}"#);
        check(
            "toPrettyJson",
            &[value],
            "{\n  \"a\": {},\n  \"b\": [\n    1,\n    null\n  ]\n}",
        );
    }

    #[test]
    fn what_cannot_be_written_is_empty_or_fails() {
        check("toJson", &[f64::NAN.into()], "");
        check(
            "mustToJson",
            &[f64::NAN.into()],
            "error: json: unsupported value: NaN",
        );
    }

    #[test]
    fn values_that_share_others_stay_bounded() {
        let mut value = Value::list(vec!["shared".into()]);
        for _ in 0..40 {
            value = Value::list(vec![value.clone(), value]);
        }
        assert_eq!(
            encode(&value, Escape::Html, Layout::Compact),
            Err(EncodeError::TooLarge)
        );
    }

    #[test]
    fn an_empty_list_from_nothing_is_null() {
        check(
            "toJson",
            &[crate::test_runtime::call("rest", &[Value::list(vec![])]).unwrap()],
            "null",
        );
    }
}

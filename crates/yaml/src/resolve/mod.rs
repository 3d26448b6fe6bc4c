//! The type of a scalar, from its tag or its looks.

mod timestamp;

use crate::Content;
use crate::number::{self, Integer};
use std::borrow::Cow;

/// What `tag:yaml.org,2002:` names are abbreviated to, in texts and in goyaml's messages.
const YAML_NAMESPACE: &str = "tag:yaml.org,2002:";

/// What a plain scalar looks like.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum Looks {
    Null,
    Bool(bool),
    Int(i64),
    Uint(u64),
    Float(f64),
    /// A date: quoted when written, and a string when read.
    Timestamp,
    Text,
}

impl Looks {
    /// The abbreviated tag.
    fn tag(self) -> &'static str {
        match self {
            Self::Null => "null",
            Self::Bool(_) => "bool",
            Self::Int(_) | Self::Uint(_) => "int",
            Self::Float(_) => "float",
            Self::Timestamp => "timestamp",
            Self::Text => "str",
        }
    }

    fn content(self, text: Cow<'_, str>) -> Content {
        match self {
            Self::Null => Content::Null,
            Self::Bool(value) => Content::Bool(value),
            Self::Int(value) => Content::Int(value),
            Self::Uint(value) => Content::Uint(value),
            Self::Float(value) => Content::Float(value),
            Self::Timestamp | Self::Text => Content::String(text.into_owned()),
        }
    }
}

/// What plain words and dates are.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) enum Words {
    /// All of YAML 1.1's booleans are some, and dates are text, as in goyaml v2.
    #[default]
    V2,
    /// `true` and `false` alone are booleans, and dates are times, as in goyaml v3.
    V3,
}

/// The value of a plain scalar without a tag.
pub(crate) fn plain(text: Cow<'_, str>, words: Words) -> Content {
    if words == Words::V2 {
        return looks(&text, Dates::Text).content(text);
    }
    match looks(&text, Dates::Timestamps) {
        Looks::Bool(_) if !is_true_or_false(&text) => Content::String(text.into_owned()),
        Looks::Timestamp => time(text),
        looks => looks.content(text),
    }
}

/// A timestamp that is read as a time becomes the text that Go's JSON has for it.
fn time(text: Cow<'_, str>) -> Content {
    Content::String(timestamp::in_json(&text).unwrap_or_else(|| text.into_owned()))
}

fn is_true_or_false(text: &str) -> bool {
    matches!(text, "true" | "True" | "TRUE" | "false" | "False" | "FALSE")
}

/// The value of a scalar with a tag, or what is wrong with it. Tags that goyaml does not know leave a string.
pub(crate) fn tagged(tag: &str, text: Cow<'_, str>, words: Words) -> Result<Content, String> {
    let name = tag.strip_prefix(YAML_NAMESPACE).unwrap_or_default();
    let looks = match name {
        "binary" => {
            return match decode_base64(text.as_bytes()) {
                Some(bytes) => Ok(Content::String(go_text(&bytes))),
                None => Err("!!binary value contains invalid base64 data".to_owned()),
            };
        }
        "bool" | "int" | "float" | "null" => looks(&text, Dates::Text),
        "timestamp" => looks(&text, Dates::Timestamps),
        _ => return Ok(Content::String(text.into_owned())),
    };
    match looks {
        Looks::Int(value) if name == "float" => Ok(Content::Float(value as f64)),
        Looks::Timestamp if words == Words::V3 => Ok(time(text)),
        looks if looks.tag() == name => Ok(looks.content(text)),
        looks => Err(format!("cannot decode !!{} `{text}` as a !!{name}", looks.tag())),
    }
}

/// Whether a date is told from text: a reader has strings in either case.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Dates {
    Timestamps,
    Text,
}

/// The type that a scalar has for its looks alone.
pub(crate) fn looks(text: &str, dates: Dates) -> Looks {
    let Some(first) = text.bytes().next() else {
        return Looks::Null;
    };
    match first {
        b'y' | b'Y' | b'n' | b'N' | b't' | b'T' | b'f' | b'F' | b'o' | b'O' | b'~' => word(text),
        b'.' => point(text),
        b'0'..=b'9' | b'+' | b'-' => number(text, dates),
        _ => Looks::Text,
    }
}

fn word(text: &str) -> Looks {
    match text {
        "y" | "Y" | "yes" | "Yes" | "YES" | "true" | "True" | "TRUE" | "on" | "On" | "ON" => {
            Looks::Bool(true)
        }
        "n" | "N" | "no" | "No" | "NO" | "false" | "False" | "FALSE" | "off" | "Off" | "OFF" => {
            Looks::Bool(false)
        }
        "~" | "null" | "Null" | "NULL" => Looks::Null,
        _ => Looks::Text,
    }
}

fn point(text: &str) -> Looks {
    match text {
        ".nan" | ".NaN" | ".NAN" => Looks::Float(f64::NAN),
        ".inf" | ".Inf" | ".INF" => Looks::Float(f64::INFINITY),
        _ => number::float_from_point(text).map_or(Looks::Text, Looks::Float),
    }
}

fn number(text: &str, dates: Dates) -> Looks {
    match text {
        "+.inf" | "+.Inf" | "+.INF" => return Looks::Float(f64::INFINITY),
        "-.inf" | "-.Inf" | "-.INF" => return Looks::Float(f64::NEG_INFINITY),
        _ => {}
    }
    // The longest spelling of a number is a float with many digits; anything with a letter beyond hexadecimal
    // and the base prefixes is none.
    if !text
        .bytes()
        .all(|byte| byte.is_ascii_hexdigit() || b"+-._xXoO".contains(&byte))
    {
        return if dates == Dates::Timestamps && timestamp::is_timestamp(text) {
            Looks::Timestamp
        } else {
            Looks::Text
        };
    }
    if dates == Dates::Timestamps && timestamp::is_timestamp(text) {
        return Looks::Timestamp;
    }
    let digits: Cow<'_, str> = if text.contains('_') {
        text.replace('_', "").into()
    } else {
        Cow::Borrowed(text)
    };
    let found = number::integer(&digits)
        .map(Looks::from)
        .or_else(|| number::float(&digits).map(Looks::Float))
        .or_else(|| signed_after_prefix(&digits).map(Looks::from));
    found.unwrap_or(Looks::Text)
}

impl From<Integer> for Looks {
    fn from(value: Integer) -> Self {
        match value {
            Integer::Signed(value) => Self::Int(value),
            Integer::Unsigned(value) => Self::Uint(value),
        }
    }
}

/// goyaml reads what follows `0b` by itself once Go has refused the whole, and so takes a second sign:
/// `0b-1`.
fn signed_after_prefix(digits: &str) -> Option<Integer> {
    number::integer_in_base(digits.strip_prefix("0b")?, 2)
}

fn decode_base64(text: &[u8]) -> Option<Vec<u8>> {
    let mut bytes = Vec::with_capacity(text.len() / 4 * 3);
    let mut group = 0_u32;
    let mut count = 0;
    let mut padding = 0;
    for byte in text {
        let value = match byte {
            b'\r' | b'\n' => continue,
            b'=' if count >= 2 && count + padding < 4 => {
                padding += 1;
                continue;
            }
            _ if padding > 0 => return None,
            b'A'..=b'Z' => byte - b'A',
            b'a'..=b'z' => byte - b'a' + 26,
            b'0'..=b'9' => byte - b'0' + 52,
            b'+' => 62,
            b'/' => 63,
            _ => return None,
        };
        group = group << 6 | u32::from(value);
        count += 1;
        if count == 4 {
            bytes.extend([(group >> 16) as u8, (group >> 8) as u8, group as u8]);
            (group, count) = (0, 0);
        }
    }
    match (count, padding) {
        (0, 0) => {}
        (2, 2) => bytes.push((group >> 4) as u8),
        (3, 1) => bytes.extend([(group >> 10) as u8, (group >> 2) as u8]),
        _ => return None,
    }
    Some(bytes)
}

/// Bytes as text, each invalid byte replaced: what Go's JSON makes of a string.
fn go_text(bytes: &[u8]) -> String {
    let mut text = String::with_capacity(bytes.len());
    for chunk in bytes.utf8_chunks() {
        text.push_str(chunk.valid());
        text.extend(chunk.invalid().iter().map(|_| char::REPLACEMENT_CHARACTER));
    }
    text
}

#[cfg(test)]
mod tests {
    use super::{Dates, Looks, Words, looks, tagged};
    use crate::Content;

    #[test]
    fn plain_scalars_have_the_types_of_yaml_1_1() {
        for (text, expect) in [
            ("", Looks::Null),
            ("~", Looks::Null),
            ("NULL", Looks::Null),
            ("nULL", Looks::Text),
            ("y", Looks::Bool(true)),
            ("Off", Looks::Bool(false)),
            ("oFF", Looks::Text),
            ("0777", Looks::Int(511)),
            ("08", Looks::Float(8.0)),
            ("0o17", Looks::Int(15)),
            ("1_000", Looks::Int(1000)),
            ("0b-1", Looks::Int(-1)),
            ("-0b11", Looks::Int(-3)),
            ("0x_F", Looks::Int(15)),
            ("12:30:45", Looks::Text),
            ("1e3", Looks::Float(1000.0)),
            (".5", Looks::Float(0.5)),
            ("-.INF", Looks::Float(f64::NEG_INFINITY)),
            ("1e400", Looks::Text),
            ("2001-01-01", Looks::Timestamp),
            ("2001-02-30", Looks::Text),
            ("2001-01-01 1:2:3.5", Looks::Timestamp),
            ("<<", Looks::Text),
            ("-", Looks::Text),
            ("18446744073709551615", Looks::Uint(u64::MAX)),
            ("18446744073709551616", Looks::Float(18_446_744_073_709_551_616.0)),
        ] {
            assert_eq!(looks(text, Dates::Timestamps), expect, "{text}");
        }
    }

    #[test]
    fn tags_convert_or_refuse() {
        let string = |text: &str| Ok(Content::String(text.to_owned()));
        for (tag, text, expect) in [
            ("tag:yaml.org,2002:str", "1", string("1")),
            ("tag:yaml.org,2002:float", "1", Ok(Content::Float(1.0))),
            (
                "tag:yaml.org,2002:int",
                "1.5",
                Err("cannot decode !!float `1.5` as a !!int".to_owned()),
            ),
            ("tag:yaml.org,2002:binary", "aGk=", string("hi")),
            (
                "tag:yaml.org,2002:binary",
                "a",
                Err("!!binary value contains invalid base64 data".to_owned()),
            ),
            ("tag:yaml.org,2002:timestamp", "2001-01-01", string("2001-01-01")),
            ("!mine", "1", string("1")),
        ] {
            assert_eq!(tagged(tag, text.into(), Words::V2), expect, "{tag} {text}");
        }
    }
}

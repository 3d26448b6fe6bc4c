//! `html`, `js` and `urlquery`.

use std::fmt::Write as _;

use crate::format::{self, is_printable};
use crate::function::{Failure, Runtime};
use crate::value::{Str, Value};

/// The arguments as one text; what is missing is written as a template writes it.
fn joined(runtime: &mut dyn Runtime, arguments: &[Value]) -> Result<Str, Failure> {
    if let [Value::Str(text)] = arguments {
        return Ok(text.clone());
    }
    let shown: Vec<Value> = arguments
        .iter()
        .map(|value| match value {
            Value::Invalid | Value::Nil => Value::from("<no value>"),
            value => value.clone(),
        })
        .collect();
    let text = format::try_sprint(&shown).ok_or_else(|| Failure::exhausted("value is too large to print"))?;
    runtime.reserve(text.len())?;
    Ok(text)
}

fn escaped(
    runtime: &mut dyn Runtime,
    arguments: &[Value],
    escape: fn(&[u8], &mut Vec<u8>),
) -> Result<Value, Failure> {
    let text = joined(runtime, arguments)?;
    let mut out = Vec::with_capacity(text.len());
    escape(text.as_bytes(), &mut out);
    runtime.reserve(out.len())?;
    Ok(Value::Str(Str::from_bytes(out)))
}

pub(super) fn html(runtime: &mut dyn Runtime, arguments: &[Value]) -> Result<Value, Failure> {
    escaped(runtime, arguments, |text, out| {
        for byte in text {
            match byte {
                0 => out.extend_from_slice("\u{fffd}".as_bytes()),
                b'"' => out.extend_from_slice(b"&#34;"),
                b'\'' => out.extend_from_slice(b"&#39;"),
                b'&' => out.extend_from_slice(b"&amp;"),
                b'<' => out.extend_from_slice(b"&lt;"),
                b'>' => out.extend_from_slice(b"&gt;"),
                other => out.push(*other),
            }
        }
    })
}

pub(super) fn js(runtime: &mut dyn Runtime, arguments: &[Value]) -> Result<Value, Failure> {
    escaped(runtime, arguments, |text, out| {
        for chunk in text.utf8_chunks() {
            let mut escaped = String::with_capacity(chunk.valid().len());
            for character in chunk.valid().chars() {
                push_javascript(&mut escaped, character);
            }
            out.extend_from_slice(escaped.as_bytes());
            // Each byte that is not part of UTF-8 is a replacement character, which is
            // printable and so stays the byte that it is.
            out.extend_from_slice(chunk.invalid());
        }
    })
}

fn push_javascript(out: &mut String, character: char) {
    match character {
        '\\' => out.push_str("\\\\"),
        '\'' => out.push_str("\\'"),
        '"' => out.push_str("\\\""),
        '<' | '>' | '&' | '=' | '\0'..'\x20' => _ = write!(out, "\\u{:04X}", u32::from(character)),
        // The delete character is neither special nor printable.
        '\x7f' => out.push(character),
        _ if is_printable(character) => out.push(character),
        _ => _ = write!(out, "\\u{:04X}", u32::from(character)),
    }
}

pub(super) fn urlquery(runtime: &mut dyn Runtime, arguments: &[Value]) -> Result<Value, Failure> {
    escaped(runtime, arguments, |text, out| {
        for byte in text {
            match byte {
                b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'-' | b'_' | b'.' | b'~' => out.push(*byte),
                b' ' => out.push(b'+'),
                other => {
                    const DIGITS: &[u8; 16] = b"0123456789ABCDEF";
                    let (high, low) = (usize::from(other >> 4), usize::from(other & 15));
                    out.extend_from_slice(&[b'%', DIGITS[high], DIGITS[low]]);
                }
            }
        }
    })
}

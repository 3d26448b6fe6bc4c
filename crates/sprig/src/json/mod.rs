//! JSON as Go's `encoding/json` writes and reads it.
//!
//! ```
//! use steersman_sprig::json::{Escape, Layout, decode, encode};
//!
//! let value = decode(br#"{"b": 1.0, "a": "x < y"}"#)?;
//! assert_eq!(encode(&value, Escape::Needed, Layout::Compact)?, r#"{"a":"x < y","b":1}"#);
//! assert_eq!(encode(&value, Escape::Html, Layout::Compact)?, r#"{"a":"x \u003c y","b":1}"#);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod decode;
mod encode;

use steersman_gotemplate::{Failure, Runtime, Str, Value};

use crate::Outcome;
use crate::arguments::{any, bytes};

pub use decode::{DecodeError, decode};
pub use encode::{EncodeError, Escape, Layout, encode, encode_into, format_float};

/// The value written for a template, with the memory it takes announced.
fn written(
    runtime: &mut dyn Runtime,
    arguments: &[Value],
    escape: Escape,
    layout: Layout,
) -> Result<Value, Failure> {
    let mut text = Vec::new();
    encode_into(&mut text, any(arguments, 0), escape, layout).map_err(|error| match error {
        EncodeError::TooDeep | EncodeError::TooLarge => Failure::exhausted(error.to_string()),
        EncodeError::UnsupportedFloat(_) => Failure::new(error.to_string()),
    })?;
    runtime.reserve(text.len())?;
    Ok(Str::from_bytes(text).into())
}

/// The empty text for a value that cannot be written.
fn or_empty(outcome: Outcome) -> Outcome {
    outcome.or_else(|failure| {
        if failure.exhausted {
            Err(failure)
        } else {
            Ok("".into())
        }
    })
}

pub(crate) fn to_json(runtime: &mut dyn Runtime, arguments: &[Value]) -> Outcome {
    or_empty(must_to_json(runtime, arguments))
}

pub(crate) fn must_to_json(runtime: &mut dyn Runtime, arguments: &[Value]) -> Outcome {
    written(runtime, arguments, Escape::Html, Layout::Compact)
}

pub(crate) fn to_pretty_json(runtime: &mut dyn Runtime, arguments: &[Value]) -> Outcome {
    or_empty(must_to_pretty_json(runtime, arguments))
}

pub(crate) fn must_to_pretty_json(runtime: &mut dyn Runtime, arguments: &[Value]) -> Outcome {
    written(runtime, arguments, Escape::Html, Layout::Indented)
}

pub(crate) fn must_to_raw_json(runtime: &mut dyn Runtime, arguments: &[Value]) -> Outcome {
    written(runtime, arguments, Escape::Needed, Layout::Compact)
}

pub(crate) fn from_json(runtime: &mut dyn Runtime, arguments: &[Value]) -> Outcome {
    match must_from_json(runtime, arguments) {
        Err(failure) if !failure.exhausted => Ok(Value::Nil),
        outcome => outcome,
    }
}

pub(crate) fn must_from_json(runtime: &mut dyn Runtime, arguments: &[Value]) -> Outcome {
    let source = bytes(arguments, 0);
    runtime.reserve(decoded_bytes(source))?;
    decode(source).map_err(|error| Failure::new(error.to_string()))
}

/// About how many bytes the values take that a text of JSON, YAML or TOML becomes: itself, and a
/// value for whatever could begin one.
pub fn decoded_bytes(source: &[u8]) -> usize {
    const BYTES_PER_VALUE: usize = 64;
    let values = source
        .iter()
        .filter(|byte| matches!(byte, b',' | b':' | b'[' | b'{' | b'\n'))
        .count();
    source
        .len()
        .saturating_add(values.saturating_mul(BYTES_PER_VALUE))
}

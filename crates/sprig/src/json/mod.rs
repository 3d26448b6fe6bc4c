//! JSON as Go's `encoding/json` writes and reads it.

mod decode;
mod encode;

use steersman_gotemplate::{Failure, Runtime, Str, Value};

use crate::arguments::{any, bytes};
use crate::table::Outcome;

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
    // The worst that a few bytes can become is a map of one short entry.
    runtime.reserve(source.len().saturating_mul(8))?;
    decode(source).map_err(|error| Failure::new(error.to_string()))
}

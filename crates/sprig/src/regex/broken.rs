//! Texts that are no UTF-8.
//!
//! Go's expressions see each byte that is part of no character as a character of its own. Here it is
//! hidden in one of a range that Unicode leaves to private use, and shown again in the result.

use bstr::{ByteSlice, ByteVec};
use steersman_gotemplate::{List, Str, Value};

/// The character that stands for byte 0; those of the other bytes come after it.
const FIRST: u32 = 0x10_ff00;

/// The text with a character for each byte that is part of none.
pub(super) fn hidden(text: &[u8]) -> String {
    let mut result = String::with_capacity(text.len());
    for chunk in text.utf8_chunks() {
        result.push_str(chunk.valid());
        let bytes = chunk.invalid().iter();
        result.extend(bytes.filter_map(|byte| char::from_u32(FIRST + u32::from(*byte))));
    }
    result
}

/// The value with its bytes back in place.
pub(super) fn shown(value: Value) -> Value {
    match value {
        Value::Str(text) => Value::Str(restored(&text)),
        Value::List(list) if !list.is_nil() => {
            let items = list.items().iter().cloned().map(shown).collect();
            List::new(list.list_type(), items).into()
        }
        other => other,
    }
}

fn restored(text: &Str) -> Str {
    let mut result = Vec::with_capacity(text.len());
    for (start, end, character) in text.as_bytes().char_indices() {
        match (character as u32).checked_sub(FIRST).map(u8::try_from) {
            Some(Ok(byte)) => result.push(byte),
            _ => result.push_str(text.as_bytes().get(start..end).unwrap_or_default()),
        }
    }
    Str::from_bytes(result)
}

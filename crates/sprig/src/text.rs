//! Values as text, and the case of characters, as Go has them.

use std::borrow::Cow;

use steersman_gotemplate::format::{quote_bytes, try_print_value};
use steersman_gotemplate::{Failure, List, Runtime, Str, Value};

/// What Go's `%v` prints, with the memory that it takes announced.
///
/// # Errors
/// An exhausted failure for a value that is too large, as one that contains itself.
pub(crate) fn printed(runtime: &mut dyn Runtime, value: &Value) -> Result<Str, Failure> {
    if let Value::Str(text) = value {
        return Ok(text.clone());
    }
    let text = try_print_value(value).ok_or_else(|| Failure::exhausted("value is too large to print"))?;
    runtime.reserve(text.len())?;
    Ok(text)
}

/// The text as a Go string literal.
pub(crate) fn quoted(text: &Str) -> String {
    quote_bytes(text.as_bytes())
}

/// Sprig's idea of a value as text: `%v`, but the characters of a `[]byte`.
pub(crate) fn strval(runtime: &mut dyn Runtime, value: &Value) -> Result<Str, Failure> {
    match value {
        Value::Bytes(bytes) => {
            runtime.reserve(bytes.len())?;
            Ok(Str::from_bytes(bytes.to_vec()))
        }
        other => printed(runtime, other),
    }
}

/// The texts of the items that are not nil, of a slice; of anything else its own.
pub(crate) fn strings(runtime: &mut dyn Runtime, value: &Value) -> Result<Vec<Str>, Failure> {
    match items(value) {
        Some(items) => items
            .iter()
            .filter(|item| !item.is_nil())
            .map(|item| strval(runtime, item))
            .collect(),
        None if value.is_nil() => Ok(Vec::new()),
        None => Ok(vec![strval(runtime, value)?]),
    }
}

/// The items, where the value is a slice.
pub(crate) fn items(value: &Value) -> Option<Cow<'_, [Value]>> {
    match value {
        Value::List(list) => Some(Cow::Borrowed(List::items(list))),
        Value::Bytes(bytes) => Some(bytes.iter().copied().map(Value::Byte).collect()),
        Value::Object(object) => object.items().map(Cow::Owned),
        _ => None,
    }
}

/// The character's one upper-case character, or itself; never a longer text, as `ß` has.
pub(crate) fn upper(character: char) -> char {
    let mut mapped = character.to_uppercase();
    match (mapped.next(), mapped.next()) {
        (Some(only), None) => only,
        _ => character,
    }
}

/// The character's one lower-case character, or itself.
pub(crate) fn lower(character: char) -> char {
    if character == 'İ' {
        return 'i';
    }
    let mut mapped = character.to_lowercase();
    match (mapped.next(), mapped.next()) {
        (Some(only), None) => only,
        _ => character,
    }
}

/// The character's title case: upper case, but for the few letters that have a case of their own.
pub(crate) fn title(character: char) -> char {
    match character {
        'Ǆ'..='ǆ' => 'ǅ',
        'Ǉ'..='ǉ' => 'ǈ',
        'Ǌ'..='ǌ' => 'ǋ',
        'Ǳ'..='ǳ' => 'ǲ',
        '\u{10d0}'..='\u{10ff}' => character,
        other => upper(other),
    }
}

/// Whether the character is a title-case letter.
pub(crate) fn is_title(character: char) -> bool {
    matches!(
        character,
        'ǅ' | 'ǈ' | 'ǋ' | 'ǲ' | '\u{1f88}'..='\u{1f8f}' | '\u{1f98}'..='\u{1f9f}' | '\u{1fa8}'..='\u{1faf}' | '\u{1fbc}' | '\u{1fcc}' | '\u{1ffc}'
    )
}

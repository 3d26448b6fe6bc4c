//! References inside of a schema.

use serde_json::Value;

/// The schema that a reference inside of the document names.
pub(super) fn resolve<'a>(document: &'a Value, reference: &str) -> Option<&'a Value> {
    let own_name = document
        .get("$id")
        .or_else(|| document.get("id"))
        .and_then(Value::as_str)
        .unwrap_or_default();
    let reference = match own_name.trim_end_matches('#') {
        "" => reference,
        name => reference.strip_prefix(name).unwrap_or(reference),
    };
    let fragment = reference
        .strip_prefix('#')
        .or(reference.is_empty().then_some(""))?;
    if fragment.is_empty() || fragment.starts_with('/') {
        return document.pointer(&percent_decoded(fragment)?);
    }
    ["definitions", "$defs"].iter().find_map(|keyword| {
        let schemas = document.get(*keyword)?.as_object()?;
        schemas.values().find(|schema| {
            schema.get("$anchor").and_then(Value::as_str) == Some(fragment)
                || ["$id", "id"]
                    .iter()
                    .any(|key| schema.get(*key).and_then(Value::as_str) == Some(reference))
        })
    })
}

fn percent_decoded(text: &str) -> Option<String> {
    if !text.contains('%') {
        return Some(text.to_owned());
    }
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.bytes();
    while let Some(byte) = rest.next() {
        if byte == b'%' {
            let digits = [rest.next()?, rest.next()?];
            bytes.push(u8::from_str_radix(std::str::from_utf8(&digits).ok()?, 16).ok()?);
        } else {
            bytes.push(byte);
        }
    }
    String::from_utf8(bytes).ok()
}

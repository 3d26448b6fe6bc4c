//! What Jobs have said, without what is secret in it.

use serde_json::Value;
use steersman_model::{CUT, CUT_OFF};

use super::report::result_of;
use crate::status::Redactor;

/// So much of what a Job says is looked at, in bytes: the kubelet takes no more of a container.
const MOST_SAID: usize = 4096;
/// So deep JSON is looked for in the texts of JSON.
const DEPTH: usize = 3;

/// What a Job has said, masked as it is written, and once more where it is JSON, in which a secret may be written in many ways.
pub(super) fn masked_result(said: &str, redactor: &Redactor) -> Value {
    masked_value(result_of(&redactor.mask(&bounded(said))), redactor, DEPTH)
}

/// The same, as a text.
pub(super) fn masked_words(said: &str, redactor: &Redactor) -> String {
    match masked_result(said, redactor) {
        Value::String(text) => text,
        value => value.to_string(),
    }
}

fn masked_value(value: Value, redactor: &Redactor, depth: usize) -> Value {
    match value {
        Value::String(text) => masked_text(&text, redactor, depth).into(),
        Value::Array(items) => items
            .into_iter()
            .map(|item| masked_value(item, redactor, depth))
            .collect(),
        Value::Object(map) => {
            let masked = map
                .into_iter()
                .map(|(key, item)| (redactor.mask(&key), masked_value(item, redactor, depth)));
            Value::Object(masked.collect())
        }
        other => other,
    }
}

/// A text, with JSON anywhere in it: what that has in another writing is masked, too.
fn masked_text(text: &str, redactor: &Redactor, depth: usize) -> String {
    let text = redactor.mask(text);
    let Some(depth) = depth.checked_sub(1) else {
        return text;
    };
    let mut masked = String::with_capacity(text.len());
    let mut rest = text.as_str();
    while let Some((before, from)) = rest
        .find(['{', '[', '"'])
        .and_then(|at| rest.split_at_checked(at))
    {
        masked.push_str(before);
        let mut values = serde_json::Deserializer::from_str(from).into_iter::<Value>();
        let value = values.next().and_then(Result::ok);
        let end = if value.is_some() { values.byte_offset() } else { 1 };
        let (json, others) = from.split_at_checked(end).unwrap_or((from, ""));
        // Without a backslash all is written as it is.
        let value = value.filter(|_| json.contains('\\'));
        let shown = value.map(|value| (masked_value(value.clone(), redactor, depth), value));
        match shown.filter(|(shown, value)| shown != value) {
            Some((shown, _)) => masked.push_str(&shown.to_string()),
            None => masked.push_str(json),
        }
        rest = others;
    }
    masked.push_str(rest);
    masked
}

/// What a Job has said, as far as it is looked at: either end may lie within a secret.
fn bounded(text: &str) -> String {
    let end = text.floor_char_boundary(MOST_SAID);
    let start = text.get(..end).unwrap_or_default();
    let cut_off = if end < text.len() {
        CUT_OFF.to_string()
    } else {
        String::new()
    };
    format!("{CUT}{start}{cut_off}")
}

/// The word for why a Job has failed, of a reason with its message: all that may be told of it where it is not known what is secret.
pub(super) fn reason_alone(why: &str) -> &str {
    why.split_once(": ").map_or(why, |(reason, _)| reason)
}

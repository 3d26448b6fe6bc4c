//! What a schema asks of a value itself: choices, bounds, lengths, patterns.

use serde_json::{Map, Number, Value};

use super::super::node::{Bound, Limits, plain, plain_value};
use super::super::notice::Notices;

/// Formats that mean the same to Helm and to the API server. Others are said by a pattern, if at all.
const FORMATS: [&str; 8] = [
    "int32",
    "int64",
    "float",
    "double",
    "ipv4",
    "ipv6",
    "date",
    "date-time",
];

/// What a schema asks of a value itself, as far as a structural schema can say it.
pub(super) fn limits(schema: &Map<String, Value>, notices: &mut Notices) -> Limits {
    let count = |key: &str| schema.get(key).and_then(whole);
    let mut limits = Limits {
        choice: schema
            .get("enum")
            .and_then(Value::as_array)
            .map(|values| values.iter().map(plain_value).collect()),
        minimum: bound(schema, "minimum", "exclusiveMinimum"),
        maximum: bound(schema, "maximum", "exclusiveMaximum"),
        multiple_of: schema.get("multipleOf").and_then(number),
        min_length: count("minLength"),
        max_length: count("maxLength"),
        pattern: schema.get("pattern").and_then(Value::as_str).map(str::to_owned),
        format: schema.get("format").and_then(Value::as_str).map(str::to_owned),
        min_items: count("minItems"),
        max_items: count("maxItems"),
        max_properties: count("maxProperties"),
    };
    if let Some(constant) = schema.get("const") {
        limits.choice = Some(vec![plain_value(constant)]);
    }
    if limits.choice.as_ref().is_some_and(Vec::is_empty) {
        limits.choice = None;
    }
    if limits
        .choice
        .iter()
        .flatten()
        .any(|value| value.is_object() || value.is_array())
    {
        notices.add("a choice among lists or maps is not checked");
        limits.choice = None;
    }
    if let Some(pattern) = limits
        .pattern
        .take_if(|pattern| !steersman_chart::is_expression(pattern))
    {
        notices.add(format!(
            "the pattern {pattern} is no regular expression of the API server's and is not checked"
        ));
    }
    if let Some(format) = limits
        .format
        .take_if(|format| !FORMATS.contains(&format.as_str()))
    {
        notices.add(format!("the format {format} is not checked"));
    }
    limits
}

fn number(value: &Value) -> Option<Number> {
    value.as_number().map(plain)
}

fn whole(value: &Value) -> Option<u64> {
    number(value)
        .and_then(|number| number.as_u64())
        .filter(|number| i64::try_from(*number).is_ok())
}

/// A bound in the spelling of draft 4, where exclusiveness is a boolean beside it, or of later drafts.
fn bound(schema: &Map<String, Value>, inclusive: &str, exclusive: &str) -> Option<Bound> {
    let at = |key: &str| schema.get(key).and_then(number);
    let is_exclusive = schema.get(exclusive) == Some(&Value::Bool(true));
    let own = at(inclusive).map(|number| Bound {
        number,
        exclusive: is_exclusive,
    });
    let other = at(exclusive).map(|number| Bound {
        number,
        exclusive: true,
    });
    other.or(own)
}

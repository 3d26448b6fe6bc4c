//! Helm's functions on spans of time.

#![expect(clippy::unnecessary_wraps, reason = "functions share one signature")]

use std::rc::Rc;

use steersman_gotemplate::{Failure, Runtime, Value, format};
use steersman_sprig::date::Duration;

use super::{Outcome, argument};

const SECOND: i64 = 1_000_000_000;
const MINUTE: i64 = 60 * SECOND;
const HOUR: i64 = 60 * MINUTE;

pub(super) fn must_to_duration(_: &mut dyn Runtime, arguments: &[Value]) -> Outcome {
    duration(argument(arguments, 0)).map(object).map_err(Failure::new)
}

pub(super) fn seconds(_: &mut dyn Runtime, arguments: &[Value]) -> Outcome {
    Ok(Value::Float(in_units(length(arguments), SECOND)))
}

pub(super) fn milliseconds(_: &mut dyn Runtime, arguments: &[Value]) -> Outcome {
    Ok(Value::Int64(length(arguments) / 1_000_000))
}

pub(super) fn microseconds(_: &mut dyn Runtime, arguments: &[Value]) -> Outcome {
    Ok(Value::Int64(length(arguments) / 1_000))
}

pub(super) fn nanoseconds(_: &mut dyn Runtime, arguments: &[Value]) -> Outcome {
    Ok(Value::Int64(length(arguments)))
}

pub(super) fn minutes(_: &mut dyn Runtime, arguments: &[Value]) -> Outcome {
    Ok(Value::Float(in_units(length(arguments), MINUTE)))
}

pub(super) fn hours(_: &mut dyn Runtime, arguments: &[Value]) -> Outcome {
    Ok(Value::Float(in_units(length(arguments), HOUR)))
}

pub(super) fn days(_: &mut dyn Runtime, arguments: &[Value]) -> Outcome {
    Ok(Value::Float(in_units(length(arguments), HOUR) / 24.0))
}

pub(super) fn weeks(_: &mut dyn Runtime, arguments: &[Value]) -> Outcome {
    Ok(Value::Float(in_units(length(arguments), HOUR) / 24.0 / 7.0))
}

pub(super) fn round_to(_: &mut dyn Runtime, arguments: &[Value]) -> Outcome {
    Ok(to_multiple(arguments, Duration::round))
}

pub(super) fn truncate_to(_: &mut dyn Runtime, arguments: &[Value]) -> Outcome {
    Ok(to_multiple(arguments, Duration::truncate))
}

fn to_multiple(arguments: &[Value], adjust: fn(Duration, Duration) -> Duration) -> Value {
    let Ok(whole) = duration(argument(arguments, 0)) else {
        return object(Duration::default());
    };
    match duration(argument(arguments, 1)) {
        Ok(unit) => object(adjust(whole, unit)),
        Err(_) => object(whole),
    }
}

fn object(duration: Duration) -> Value {
    Value::Object(Rc::new(duration))
}

/// The nanoseconds of the first argument; none for what is no duration.
fn length(arguments: &[Value]) -> i64 {
    duration(argument(arguments, 0)).map_or(0, |duration| duration.nanoseconds)
}

/// As Go divides: the whole units and the rest apart, which keeps more digits.
fn in_units(nanoseconds: i64, unit: i64) -> f64 {
    (nanoseconds / unit) as f64 + (nanoseconds % unit) as f64 / unit as f64
}

fn duration(value: &Value) -> Result<Duration, String> {
    match value {
        Value::Str(text) => from_text(&text.text()),
        Value::Invalid | Value::Nil => Err("invalid duration".to_owned()),
        Value::Int(seconds) | Value::Int64(seconds) => from_seconds(*seconds),
        Value::Uint64(seconds) => match i64::try_from(*seconds) {
            Ok(seconds) => from_seconds(seconds),
            Err(_) => Err(format!("duration seconds overflow: {seconds}")),
        },
        Value::Byte(seconds) => from_seconds(i64::from(*seconds)),
        Value::Float(seconds) => from_float(*seconds),
        Value::Object(object) => match (object.as_any().downcast_ref::<Duration>(), object.integer()) {
            (Some(duration), _) => Ok(*duration),
            (None, Some(seconds)) => from_seconds(seconds),
            (None, None) => Err(unsupported(value)),
        },
        _ => Err(unsupported(value)),
    }
}

fn unsupported(value: &Value) -> String {
    format!("unsupported duration type {}", value.type_name())
}

fn from_text(text: &str) -> Result<Duration, String> {
    let trimmed = text.trim();
    if trimmed.is_empty() {
        return Err("empty duration".to_owned());
    }
    if let Ok(duration) = Duration::parse(trimmed) {
        return Ok(duration);
    }
    match trimmed.parse() {
        Ok(seconds) => from_float(seconds),
        Err(_) => Err(format!("could not parse duration {}", format::quote(text))),
    }
}

fn from_seconds(seconds: i64) -> Result<Duration, String> {
    match seconds.checked_mul(SECOND) {
        Some(nanoseconds) => Ok(Duration { nanoseconds }),
        None => Err(format!("duration seconds overflow: {seconds}")),
    }
}

fn from_float(seconds: f64) -> Result<Duration, String> {
    let shown = || format::float(seconds, b'g', None);
    if !seconds.is_finite() {
        return Err(format!("invalid duration seconds: {}", shown()));
    }
    let nanoseconds = seconds * SECOND as f64;
    if nanoseconds.abs() > i64::MAX as f64 {
        return Err(format!("duration seconds overflow: {}", shown()));
    }
    Ok(Duration {
        nanoseconds: nanoseconds as i64,
    })
}

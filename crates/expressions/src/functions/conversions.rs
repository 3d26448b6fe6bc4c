//! Values of one type made of those of another, as Go makes them.

use base64::Engine as _;
use base64::alphabet::STANDARD;
use base64::engine::{DecodePaddingMode, GeneralPurpose, GeneralPurposeConfig};
use base64::prelude::BASE64_STANDARD;
use jiff::Timestamp;

use super::wrong;
use crate::durations::{duration_text, parse_duration};
use crate::error::EvaluationError;
use crate::moment::{in_range, parse_time, time_text};
use crate::resources::Resources;
use crate::value::{Text, Val};

/// Base64 with or without its padding, as the extension reads it.
const LENIENT: GeneralPurpose = GeneralPurpose::new(
    &STANDARD,
    GeneralPurposeConfig::new().with_decode_padding_mode(DecodePaddingMode::Indifferent),
);

impl Resources {
    pub(super) fn converted<'a>(
        &mut self,
        name: &'static str,
        value: &Val<'a>,
    ) -> Result<Val<'a>, EvaluationError> {
        let unusable = EvaluationError::Unusable(name);
        if let Val::Text(text) = value {
            self.budget.read(text.as_str().len())?;
        }
        match (name, value) {
            ("dyn", value)
            | ("bool", value @ Val::Bool(_))
            | ("int", value @ Val::Int(_))
            | ("uint", value @ Val::Uint(_))
            | ("double", value @ Val::Double(_))
            | ("string", value @ Val::Text(_))
            | ("bytes", value @ Val::Bytes(_))
            | ("duration", value @ Val::Duration(_))
            | ("timestamp", value @ Val::Time(_)) => Ok(value.clone()),
            ("bool", Val::Text(text)) => match text.as_str() {
                "1" | "t" | "T" | "true" | "TRUE" | "True" => Ok(Val::Bool(true)),
                "0" | "f" | "F" | "false" | "FALSE" | "False" => Ok(Val::Bool(false)),
                _ => Err(unusable),
            },
            ("bytes", Val::Text(text)) => {
                let bytes = text.as_str().as_bytes();
                self.budget.allocate(bytes.len())?;
                Ok(Val::Bytes(bytes.into()))
            }
            ("int", value) => integer(value),
            ("uint", value) => unsigned(value),
            ("double", Val::Int(number)) => Ok(Val::Double(*number as f64)),
            ("double", Val::Uint(number)) => Ok(Val::Double(*number as f64)),
            ("double", Val::Text(text)) => text.as_str().parse().map(Val::Double).map_err(|_| unusable),
            ("string", value) => self.string(value),
            ("duration", Val::Text(text)) => parse_duration(text.as_str()).map(Val::Duration).ok_or(unusable),
            ("timestamp", Val::Text(text)) => parse_time(text.as_str()).map(Val::Time).ok_or(unusable),
            ("timestamp", Val::Int(seconds)) => {
                let time = Timestamp::from_second(*seconds).ok();
                time.and_then(in_range).map(Val::Time).ok_or(unusable)
            }
            ("base64.encode", Val::Bytes(bytes)) => {
                self.budget.allocate(bytes.len() * 2)?;
                Ok(Val::text(&BASE64_STANDARD.encode(bytes)))
            }
            ("base64.decode", Val::Text(text)) => {
                self.budget.allocate(text.as_str().len())?;
                let bytes = LENIENT.decode(text.as_str()).map_err(|_| unusable)?;
                Ok(Val::Bytes(bytes.into()))
            }
            _ => Err(wrong(name, std::slice::from_ref(value))),
        }
    }

    fn string<'a>(&mut self, value: &Val<'a>) -> Result<Val<'a>, EvaluationError> {
        let text = match value {
            Val::Bool(value) => value.to_string(),
            Val::Int(number) => number.to_string(),
            Val::Uint(number) => number.to_string(),
            Val::Double(number) => double_text(*number),
            Val::Time(time) => time_text(*time),
            Val::Duration(length) => duration_text(*length),
            Val::Bytes(bytes) => {
                self.budget.allocate(bytes.len())?;
                let text = std::str::from_utf8(bytes).map_err(|_| EvaluationError::Unusable("string"))?;
                return Ok(Val::Text(Text::Made(text.into())));
            }
            other => return Err(wrong("string", std::slice::from_ref(other))),
        };
        Ok(Val::text(&text))
    }
}

fn integer<'a>(value: &Val<'a>) -> Result<Val<'a>, EvaluationError> {
    let number = match value {
        Val::Uint(number) => i64::try_from(*number).ok(),
        Val::Double(number) => {
            let fits = *number > -9_223_372_036_854_775_808.0 && *number < 9_223_372_036_854_775_808.0;
            fits.then_some(*number as i64)
        }
        Val::Text(text) => text.as_str().parse().ok(),
        Val::Time(time) => Some(time.as_nanosecond().div_euclid(1_000_000_000) as i64),
        other => return Err(wrong("int", std::slice::from_ref(other))),
    };
    number.map(Val::Int).ok_or(EvaluationError::Unusable("int"))
}

fn unsigned<'a>(value: &Val<'a>) -> Result<Val<'a>, EvaluationError> {
    let number = match value {
        Val::Int(number) => u64::try_from(*number).ok(),
        Val::Double(number) => {
            let fits = *number >= 0.0 && *number < 18_446_744_073_709_551_616.0;
            fits.then_some(*number as u64)
        }
        Val::Text(text) => text
            .as_str()
            .parse()
            .ok()
            .filter(|_| !text.as_str().starts_with('+')),
        other => return Err(wrong("uint", std::slice::from_ref(other))),
    };
    number.map(Val::Uint).ok_or(EvaluationError::Unusable("uint"))
}

/// The shortest text that is this double, with an exponent where Go's `%g` has one.
fn double_text(number: f64) -> String {
    if number.is_nan() {
        return "NaN".to_owned();
    }
    if number.is_infinite() {
        return if number > 0.0 { "+Inf" } else { "-Inf" }.to_owned();
    }
    let scientific = format!("{number:e}");
    let (digits, exponent) = scientific.split_once('e').unwrap_or((&scientific, "0"));
    let exponent: i32 = exponent.parse().unwrap_or(0);
    if number == 0.0 || (-4..6).contains(&exponent) {
        return format!("{number}");
    }
    let sign = if exponent < 0 { '-' } else { '+' };
    format!("{digits}e{sign}{:02}", exponent.unsigned_abs())
}

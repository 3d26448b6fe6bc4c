//! Parts of timestamps and durations. Time zones are offsets: the names of zones would have to be looked up outside.

use jiff::tz::{Offset, TimeZone};

use super::wrong;
use crate::error::EvaluationError;
use crate::value::Val;

/// A part of a date, such as `getMonth`.
pub(super) fn part<'a>(name: &'static str, arguments: &[Val<'a>]) -> Result<Val<'a>, EvaluationError> {
    let (Some(Val::Time(time)), rest) = (arguments.first(), arguments.get(1)) else {
        return Err(wrong(name, arguments));
    };
    let zone = match rest {
        None => TimeZone::UTC,
        Some(Val::Text(zone)) => zone_of(zone.as_str()).ok_or(EvaluationError::Unusable(name))?,
        Some(_) => return Err(wrong(name, arguments)),
    };
    let at = time.to_zoned(zone);
    Ok(Val::Int(match name {
        "getFullYear" => i64::from(at.year()),
        "getMonth" => i64::from(at.month()) - 1,
        "getDate" => i64::from(at.day()),
        "getDayOfMonth" => i64::from(at.day()) - 1,
        "getDayOfYear" => i64::from(at.day_of_year()) - 1,
        "getDayOfWeek" => i64::from(at.weekday().to_sunday_zero_offset()),
        "getHours" => i64::from(at.hour()),
        "getMinutes" => i64::from(at.minute()),
        "getSeconds" => i64::from(at.second()),
        _ => i64::from(at.millisecond()),
    }))
}

/// A part of a time of day, or all of a duration in that unit.
pub(super) fn part_or_length<'a>(
    name: &'static str,
    arguments: &[Val<'a>],
) -> Result<Val<'a>, EvaluationError> {
    let [Val::Duration(length)] = arguments else {
        return part(name, arguments);
    };
    Ok(Val::Int(match name {
        "getHours" => length / 3_600_000_000_000,
        "getMinutes" => length / 60_000_000_000,
        "getSeconds" => length / 1_000_000_000,
        _ => length / 1_000_000,
    }))
}

/// `UTC`, or an offset such as `+02:00`.
fn zone_of(zone: &str) -> Option<TimeZone> {
    if matches!(zone, "" | "UTC") {
        return Some(TimeZone::UTC);
    }
    let (is_west, size) = match zone.as_bytes().first()? {
        b'-' => (true, zone.get(1..)?),
        b'+' => (false, zone.get(1..)?),
        _ => (false, zone),
    };
    let (hours, minutes) = size.split_once(':')?;
    let two = |digits: &str| {
        let is_number = digits.len() == 2 && digits.bytes().all(|byte| byte.is_ascii_digit());
        is_number.then(|| digits.parse::<i32>().ok()).flatten()
    };
    let seconds = two(hours)? * 3600 + two(minutes)? * 60;
    let offset = Offset::from_seconds(if is_west { -seconds } else { seconds }).ok()?;
    Some(TimeZone::fixed(offset))
}

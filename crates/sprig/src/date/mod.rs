//! Times and durations: Go's values, layouts and time zones.
//!
//! The local time zone is UTC: what a template gives must not depend on the machine.

mod calendar;
mod duration;
mod format;
mod layout;
mod parse;
mod time;
mod zone;

use std::rc::Rc;

use steersman_gotemplate::{Failure, Runtime, Value};

use crate::Outcome;
use crate::arguments::{any, text};
use crate::cast::{IntegerError, parse_int};

pub use duration::{Duration, DurationError};
pub use parse::TimeError;
pub use time::Time;
pub use zone::Zone;

pub(crate) const TIME: &str = time::TYPE_NAME;

fn present(runtime: &dyn Runtime) -> Time {
    let now = runtime.world().now();
    Time::new(now.seconds, now.nanoseconds, Zone::Local)
}

/// The moment that the value is: a time, or seconds since 1970; anything else is now.
fn moment(runtime: &dyn Runtime, value: &Value) -> Time {
    match value {
        Value::Int(seconds) | Value::Int64(seconds) => Time::new(*seconds, 0, Zone::Local),
        other => time_in(other).cloned().unwrap_or_else(|| present(runtime)),
    }
}

fn time_in(value: &Value) -> Option<&Time> {
    match value {
        Value::Object(object) => object.as_any().downcast_ref(),
        _ => None,
    }
}

/// The `time.Time` at `place`; the zero time if it is missing, which a template cannot bring about.
fn time_argument(arguments: &[Value], place: usize) -> Time {
    time_in(any(arguments, place)).cloned().unwrap_or_else(Time::zero)
}

fn time_value(time: Time) -> Value {
    Value::Object(Rc::new(time))
}

pub(crate) fn now(runtime: &mut dyn Runtime, _: &[Value]) -> Outcome {
    Ok(time_value(present(runtime)))
}

const DAY_LAYOUT: &str = "2006-01-02";

fn written(runtime: &dyn Runtime, layout: &str, value: &Value, zone: &str) -> Outcome {
    let zone = Zone::named(zone).unwrap_or(Zone::Utc);
    Ok(moment(runtime, value).in_zone(zone).format(layout).into())
}

pub(crate) fn date(runtime: &mut dyn Runtime, arguments: &[Value]) -> Outcome {
    written(runtime, &text(arguments, 0), any(arguments, 1), "Local")
}

pub(crate) fn date_in_zone(runtime: &mut dyn Runtime, arguments: &[Value]) -> Outcome {
    written(
        runtime,
        &text(arguments, 0),
        any(arguments, 1),
        &text(arguments, 2),
    )
}

pub(crate) fn html_date(runtime: &mut dyn Runtime, arguments: &[Value]) -> Outcome {
    written(runtime, DAY_LAYOUT, any(arguments, 0), "Local")
}

pub(crate) fn html_date_in_zone(runtime: &mut dyn Runtime, arguments: &[Value]) -> Outcome {
    written(runtime, DAY_LAYOUT, any(arguments, 0), &text(arguments, 1))
}

pub(crate) fn date_modify(_: &mut dyn Runtime, arguments: &[Value]) -> Outcome {
    let time = time_argument(arguments, 1);
    Ok(time_value(match Duration::parse(&text(arguments, 0)) {
        Ok(duration) => time.add(duration),
        Err(_) => time,
    }))
}

pub(crate) fn must_date_modify(_: &mut dyn Runtime, arguments: &[Value]) -> Outcome {
    let duration = Duration::parse(&text(arguments, 0)).map_err(|error| Failure::new(error.to_string()))?;
    Ok(time_value(time_argument(arguments, 1).add(duration)))
}

pub(crate) fn to_date(_: &mut dyn Runtime, arguments: &[Value]) -> Outcome {
    let time = Time::parse(&text(arguments, 0), &text(arguments, 1));
    Ok(time_value(time.unwrap_or_else(|_| Time::zero())))
}

pub(crate) fn must_to_date(_: &mut dyn Runtime, arguments: &[Value]) -> Outcome {
    Time::parse(&text(arguments, 0), &text(arguments, 1))
        .map(time_value)
        .map_err(|error| Failure::new(error.to_string()))
}

pub(crate) fn unix_epoch(_: &mut dyn Runtime, arguments: &[Value]) -> Outcome {
    Ok(time_argument(arguments, 0).seconds().to_string().into())
}

pub(crate) fn ago(runtime: &mut dyn Runtime, arguments: &[Value]) -> Outcome {
    let elapsed = present(runtime).since(&moment(runtime, any(arguments, 0)));
    Ok(elapsed.round(Duration::SECOND).to_string().into())
}

pub(crate) fn duration(_: &mut dyn Runtime, arguments: &[Value]) -> Outcome {
    let seconds = match any(arguments, 0) {
        Value::Int64(seconds) => *seconds,
        Value::Str(text) => match parse_int(&text.text(), 10) {
            Ok(number) | Err(IntegerError::Range(number)) => number,
            Err(IntegerError::Syntax) => 0,
        },
        _ => 0,
    };
    let nanoseconds = seconds.wrapping_mul(Duration::SECOND.nanoseconds);
    Ok(Duration { nanoseconds }.to_string().into())
}

pub(crate) fn duration_round(runtime: &mut dyn Runtime, arguments: &[Value]) -> Outcome {
    const SECOND: u64 = 1_000_000_000;
    const UNITS: [(u64, &str); 6] = [
        (365 * 24 * 3600, "y"),
        (30 * 24 * 3600, "mo"),
        (24 * 3600, "d"),
        (3600, "h"),
        (60, "m"),
        (1, "s"),
    ];
    let value = any(arguments, 0);
    let duration = match value {
        Value::Int64(nanoseconds) => Duration {
            nanoseconds: *nanoseconds,
        },
        Value::Str(text) => Duration::parse(&text.text()).unwrap_or_default(),
        other => time_in(other).map_or_else(Duration::default, |time| present(runtime).since(time)),
    };
    let magnitude = duration.nanoseconds.unsigned_abs();
    let unit = UNITS.iter().find(|(seconds, _)| magnitude > seconds * SECOND);
    Ok(match unit {
        Some((seconds, name)) => format!("{}{name}", magnitude / (seconds * SECOND)).into(),
        None => "0s".into(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::test_runtime::{call, check, int};

    #[test]
    fn the_clock_is_the_worlds() {
        check("now", &[], "2021-02-03 04:05:06 +0000 UTC");
        check("htmlDate", &["anything".into()], "2021-02-03");
        check("ago", &[int(1_612_325_000)], "1m46s");
    }

    #[test]
    fn moments_are_written_in_zones() {
        let layout = || Value::from("Mon Jan _2 15:04:05 MST 2006");
        check(
            "dateInZone",
            &[layout(), int(1_500_000_000), "UTC".into()],
            "Fri Jul 14 02:40:00 UTC 2017",
        );
        check(
            "dateInZone",
            &[layout(), int(1_500_000_000), "America/New_York".into()],
            "Thu Jul 13 22:40:00 EDT 2017",
        );
        check("dateInZone", &["15".into(), int(0), "Nope/Zone".into()], "00");
    }

    #[test]
    fn times_are_read_and_moved() {
        let time = call("toDate", &["2006-01-02".into(), "2017-12-31".into()]).unwrap();
        check("unixEpoch", &[time.clone()], "1514678400");
        check(
            "dateModify",
            &["24h".into(), time.clone()],
            "2018-01-01 00:00:00 +0000 UTC",
        );
        check(
            "dateModify",
            &["bad".into(), time.clone()],
            "2017-12-31 00:00:00 +0000 UTC",
        );
        check(
            "mustDateModify",
            &["bad".into(), time],
            "error: time: invalid duration \"bad\"",
        );
        check(
            "toDate",
            &["2006-01-02".into(), "bad".into()],
            "0001-01-01 00:00:00 +0000 UTC",
        );
    }

    #[test]
    fn durations_are_written() {
        check("duration", &["95".into()], "1m35s");
        check("duration", &[int(95)], "0s");
        check("duration", &[Value::Int64(3600)], "1h0m0s");
        check("durationRound", &["2400h10m5s".into()], "3mo");
        check("durationRound", &["1s".into()], "0s");
        check("durationRound", &["59s".into()], "59s");
    }
}

//! TOML into values.

use std::rc::Rc;

use steersman_gotemplate::{List, ListType, Map, MapType, Value};
use steersman_sprig::date::{Time, Zone};
use toml::value::{Datetime, Offset};

/// The map that `text` stands for, or what is wrong with it.
pub(super) fn toml(text: &str) -> Result<Value, String> {
    match text.parse::<toml::Table>() {
        Ok(table) => Ok(Value::Map(map(table))),
        Err(error) => {
            let before = error
                .span()
                .and_then(|span| text.get(..span.start))
                .unwrap_or_default();
            let line = before.matches('\n').count() + 1;
            Err(format!("toml: line {line}: {}", error.message()))
        }
    }
}

fn map(table: toml::Table) -> Map {
    Map::from_entries(
        MapType::Any,
        table.into_iter().map(|(key, entry)| (key, value(entry))),
    )
}

fn value(of: toml::Value) -> Value {
    match of {
        toml::Value::String(text) => Value::from(text),
        toml::Value::Integer(number) => Value::Int64(number),
        toml::Value::Float(number) => Value::Float(number),
        toml::Value::Boolean(flag) => Value::Bool(flag),
        toml::Value::Datetime(datetime) => Value::Object(Rc::new(time(datetime))),
        toml::Value::Array(items) => {
            let is_tables = !items.is_empty() && items.iter().all(toml::Value::is_table);
            let list_type = if is_tables {
                ListType::Named("[]map[string]interface {}")
            } else {
                ListType::Any
            };
            List::new(list_type, items.into_iter().map(value).collect()).into()
        }
        toml::Value::Table(table) => Value::Map(map(table)),
    }
}

/// The moment; a date or time without the other part is on the first day or at midnight, and one
/// without a zone is in UTC.
fn time(of: Datetime) -> Time {
    let (year, month, day) = of
        .date
        .map_or((0, 1, 1), |date| (date.year, date.month, date.day));
    let time = of.time;
    let (hour, minute) = time.map_or((0, 0), |time| (time.hour, time.minute));
    let second = time.and_then(|time| time.second).unwrap_or(0);
    let nanosecond = time.and_then(|time| time.nanosecond).unwrap_or(0);
    let offset = match of.offset {
        Some(Offset::Custom { minutes }) => i64::from(minutes) * 60,
        _ => 0,
    };
    let seconds = days_since_epoch(i64::from(year), i64::from(month), i64::from(day)) * 86_400
        + i64::from(hour) * 3600
        + i64::from(minute) * 60
        + i64::from(second)
        - offset;
    Time::new(seconds, nanosecond, Zone::Utc)
}

/// The days from 1970-01-01 to a date of the Gregorian calendar.
fn days_since_epoch(year: i64, month: i64, day: i64) -> i64 {
    // Years begin in March here, so that a leap day is the last day of one.
    let (year, month) = if month <= 2 {
        (year - 1, month + 9)
    } else {
        (year, month - 3)
    };
    let era = year.div_euclid(400);
    let year_of_era = year.rem_euclid(400);
    let day_of_year = (153 * month + 2) / 5 + day - 1;
    let day_of_era = year_of_era * 365 + year_of_era / 4 - year_of_era / 100 + day_of_year;
    era * 146_097 + day_of_era - 719_468
}

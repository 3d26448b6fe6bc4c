//! Go's `time.Time`.

use std::any::Any;
use std::cmp::Ordering;
use std::rc::Rc;

use steersman_gotemplate::{Encoded, Failure, List, ListType, Object, Parameter, Signature, Str, Value};

use super::calendar::{Date, SECONDS_PER_DAY, month_name, weekday_name};
use super::duration::{Duration, PARAMETER};
use super::zone::Zone;

const NANOSECONDS: i128 = 1_000_000_000;
pub(crate) const TYPE_NAME: &str = "time.Time";

/// A moment, seen from a time zone.
///
/// ```
/// use steersman_sprig::date::{Duration, Time, Zone};
///
/// let start = Time::parse("2006-01-02 15:04", "2026-01-31 23:30")?;
/// let end = start.add(Duration::parse("1h15m")?);
/// assert_eq!(end.format("Mon, 02 Jan 2006 15:04"), "Sun, 01 Feb 2026 00:45");
///
/// let berlin = Zone::named("Europe/Berlin").expect("the database has it");
/// assert_eq!(end.in_zone(berlin).format("15:04 MST"), "01:45 CET");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug)]
pub struct Time {
    seconds: i64,
    nanoseconds: u32,
    zone: Zone,
}

/// A moment's parts in its zone.
pub(super) struct Clock {
    pub(super) day: Date,
    pub(super) hour: i64,
    pub(super) minute: i64,
    pub(super) second: i64,
    pub(super) zone_name: String,
    pub(super) offset: i64,
}

impl Time {
    /// So many seconds and nanoseconds after 1970 began, seen from `zone`.
    #[must_use]
    pub fn new(seconds: i64, nanoseconds: u32, zone: Zone) -> Self {
        Self {
            seconds,
            nanoseconds: nanoseconds.min(999_999_999),
            zone,
        }
    }

    /// Go's zero time: the first of January of the year 1.
    #[must_use]
    pub fn zero() -> Self {
        Self::new(-62_135_596_800, 0, Zone::Utc)
    }

    /// Whole seconds since 1970 began.
    #[must_use]
    pub fn seconds(&self) -> i64 {
        self.seconds
    }

    /// The zone that the moment is seen from.
    #[must_use]
    pub fn zone(&self) -> &Zone {
        &self.zone
    }

    pub(super) fn nanosecond(&self) -> u32 {
        self.nanoseconds
    }

    /// The same moment seen from another zone.
    #[must_use]
    pub fn in_zone(&self, zone: Zone) -> Self {
        Self { zone, ..self.clone() }
    }

    /// The moment so much later.
    #[must_use]
    pub fn add(&self, duration: Duration) -> Self {
        let total = self.total() + i128::from(duration.nanoseconds);
        Self {
            seconds: i64::try_from(total.div_euclid(NANOSECONDS)).unwrap_or(i64::MAX),
            nanoseconds: total.rem_euclid(NANOSECONDS) as u32,
            zone: self.zone.clone(),
        }
    }

    /// How much later than `earlier` this is, as far as a duration can say.
    #[must_use]
    pub fn since(&self, earlier: &Self) -> Duration {
        let difference = self.total() - earlier.total();
        let nanoseconds = difference.clamp(i128::from(i64::MIN), i128::from(i64::MAX)) as i64;
        Duration { nanoseconds }
    }

    /// Nanoseconds since 1970 began.
    fn total(&self) -> i128 {
        i128::from(self.seconds) * NANOSECONDS + i128::from(self.nanoseconds)
    }

    pub(super) fn clock(&self) -> Clock {
        let (zone_name, offset) = self.zone.at(self.seconds);
        let local = self.seconds.saturating_add(offset);
        let of_day = local.rem_euclid(SECONDS_PER_DAY);
        Clock {
            day: Date::of_number(local.div_euclid(SECONDS_PER_DAY)),
            hour: of_day / 3600,
            minute: of_day / 60 % 60,
            second: of_day % 60,
            zone_name,
            offset,
        }
    }

    /// The time of these parts in a zone. Parts out of their ranges count on.
    pub(super) fn from_parts(day: Date, clock: [i64; 3], nanoseconds: u32, zone: Zone) -> Self {
        let [hour, minute, second] = clock;
        let local = day
            .number()
            .saturating_mul(SECONDS_PER_DAY)
            .saturating_add(hour * 3600 + minute * 60 + second);
        // The offset before a change of it is tried first, and then the one that results.
        let guess = local.saturating_sub(zone.at(local).1);
        let seconds = local.saturating_sub(zone.at(guess).1);
        Self::new(seconds, nanoseconds, zone)
    }

    fn add_date(&self, years: i64, months: i64, days: i64) -> Self {
        let clock = self.clock();
        let day = Date {
            year: clock.day.year.saturating_add(years),
            month: clock.day.month.saturating_add(months),
            day: clock.day.day.saturating_add(days),
        };
        Self::from_parts(
            day,
            [clock.hour, clock.minute, clock.second],
            self.nanoseconds,
            self.zone.clone(),
        )
    }

    fn compared(&self, arguments: &[Value]) -> Ordering {
        match super::time_in(crate::arguments::any(arguments, 0)) {
            Some(other) => self.total().cmp(&other.total()),
            None => Ordering::Equal,
        }
    }

    /// What Go calls for a method without arguments, if it has one of this name.
    fn part(&self, name: &str) -> Option<Value> {
        let clock = self.clock();
        let day = clock.day;
        let time = |zone: Zone| Value::Object(Rc::new(self.in_zone(zone)));
        Some(match name {
            "Year" => Value::Int(day.year),
            "Month" => named_integer("time.Month", day.month, month_name(day.month)),
            "Day" => Value::Int(day.day),
            "Weekday" => named_integer("time.Weekday", day.weekday(), weekday_name(day.weekday())),
            "YearDay" => Value::Int(day.of_year()),
            "Hour" => Value::Int(clock.hour),
            "Minute" => Value::Int(clock.minute),
            "Second" => Value::Int(clock.second),
            "Nanosecond" => Value::Int(i64::from(self.nanoseconds)),
            "Unix" => Value::Int64(self.seconds),
            "UnixMilli" => Value::Int64((self.total() / 1_000_000) as i64),
            "UnixMicro" => Value::Int64((self.total() / 1_000) as i64),
            "UnixNano" => Value::Int64(self.total() as i64),
            "String" => self.shown().into(),
            "UTC" => time(Zone::Utc),
            "Local" => time(Zone::Local),
            "IsZero" => (self.total() == Self::zero().total()).into(),
            "IsDST" => self.zone.is_daylight_saving(self.seconds).into(),
            "Location" => location(&self.zone),
            "GoString" => self.go_syntax().into(),
            "MarshalText" => Value::Bytes(self.json_text().as_bytes().into()),
            "MarshalJSON" => Value::Bytes(format!("\"{}\"", self.json_text()).as_bytes().into()),
            _ => return None,
        })
    }

    /// RFC 3339, with as many digits behind the second as there are: `2026-01-31T12:00:00.5Z`.
    fn json_text(&self) -> String {
        self.format("2006-01-02T15:04:05.999999999Z07:00")
    }

    /// The time as an expression of Go.
    fn go_syntax(&self) -> String {
        let clock = self.clock();
        let location = match &self.zone {
            Zone::Utc => "time.UTC".to_owned(),
            Zone::Local => "time.Local".to_owned(),
            other => format!("time.Location({})", super::parse::quote(other.name())),
        };
        format!(
            "time.Date({}, time.{}, {}, {}, {}, {}, {}, {location})",
            clock.day.year,
            month_name(clock.day.month),
            clock.day.day,
            clock.hour,
            clock.minute,
            clock.second,
            self.nanoseconds,
        )
    }

    fn shown(&self) -> String {
        self.format("2006-01-02 15:04:05.999999999 -0700 MST")
    }
}

impl Object for Time {
    fn type_name(&self) -> &'static str {
        TYPE_NAME
    }

    fn kind_name(&self) -> &'static str {
        "struct"
    }

    fn as_any(&self) -> &dyn Any {
        self
    }

    fn method(&self, name: &str) -> Option<Signature> {
        let parameters: &'static [Parameter] = match name {
            "Format" => &[Parameter::String],
            "AppendFormat" => &[Parameter::Named("[]uint8"), Parameter::String],
            "Add" | "Round" | "Truncate" => &[PARAMETER],
            "In" => &[Parameter::Named(LOCATION)],
            "Sub" | "After" | "Before" | "Equal" | "Compare" => &[Parameter::Named(TYPE_NAME)],
            "AddDate" => &[Parameter::Int, Parameter::Int, Parameter::Int],
            other if self.part(other).is_some() => &[],
            other => return refusal(other).map(Signature::refused),
        };
        Some(Signature::new(parameters))
    }

    fn call(&self, name: &str, arguments: &[Value]) -> Result<Value, Failure> {
        if let Some(part) = self.part(name) {
            return Ok(part);
        }
        let integer = |place| crate::arguments::integer(arguments, place);
        let duration = Duration::argument(arguments);
        let object = |time: Self| Value::Object(Rc::new(time));
        let since_zero = self.since_zero(duration);
        Ok(match name {
            "Format" => self.format(&crate::arguments::text(arguments, 0)).into(),
            "AppendFormat" => {
                let shown = self.format(&crate::arguments::text(arguments, 1));
                let before: &[u8] = match arguments.first() {
                    Some(Value::Bytes(bytes)) => bytes,
                    _ => &[],
                };
                Value::Bytes([before, shown.as_bytes()].concat().into())
            }
            "Add" => object(self.add(duration)),
            "In" => match arguments.first() {
                Some(Value::Object(place)) => match place.as_any().downcast_ref::<Location>() {
                    Some(location) => object(self.in_zone(location.zone.clone())),
                    None => return Err(Failure::new("time: missing Location in call to Time.In")),
                },
                _ => return Err(Failure::new("time: missing Location in call to Time.In")),
            },
            "AddDate" => object(self.add_date(integer(0), integer(1), integer(2))),
            "Sub" => match super::time_in(crate::arguments::any(arguments, 0)) {
                Some(other) => Value::Object(Rc::new(self.since(other))),
                None => Value::Object(Rc::new(Duration::default())),
            },
            "After" => self.compared(arguments).is_gt().into(),
            "Before" => self.compared(arguments).is_lt().into(),
            "Equal" => self.compared(arguments).is_eq().into(),
            "Compare" => Value::Int(self.compared(arguments) as i64),
            "Truncate" => object(self.add(Duration {
                nanoseconds: since_zero.wrapping_neg(),
            })),
            "Round" => {
                let rounds_down = since_zero < duration.nanoseconds.saturating_sub(since_zero);
                let up = duration.nanoseconds.saturating_sub(since_zero);
                object(self.add(Duration {
                    nanoseconds: if rounds_down || duration.nanoseconds <= 0 {
                        since_zero.wrapping_neg()
                    } else {
                        up
                    },
                }))
            }
            _ => return Err(Failure::new(format!("{TYPE_NAME} has no method {name}"))),
        })
    }

    fn text(&self) -> Option<Str> {
        Some(self.shown().into())
    }

    fn go_syntax(&self) -> Option<Str> {
        Some(Self::go_syntax(self).into())
    }

    fn members(&self) -> Option<Vec<(&'static str, Value)>> {
        Some(vec![
            ("wall", Value::Uint64(u64::from(self.nanoseconds))),
            (
                "ext",
                Value::Int64(self.seconds.saturating_sub(Self::zero().seconds)),
            ),
            ("loc", location(&self.zone)),
        ])
    }

    fn encoded(&self) -> Encoded {
        Encoded::Plain(self.json_text().into())
    }
}

impl Time {
    /// How far past a multiple of `unit` after the zero time this is; nothing if there is no unit.
    fn since_zero(&self, unit: Duration) -> i64 {
        if unit.nanoseconds <= 0 {
            return 0;
        }
        let past = self.total() - Self::zero().total();
        past.rem_euclid(i128::from(unit.nanoseconds)) as i64
    }
}

/// A month or a day of the week: an integer that prints as its name.
#[derive(Debug)]
struct NamedInteger {
    type_name: &'static str,
    number: i64,
    name: String,
}

fn named_integer(type_name: &'static str, number: i64, name: &str) -> Value {
    Value::Object(Rc::new(NamedInteger {
        type_name,
        number,
        name: name.to_owned(),
    }))
}

impl Object for NamedInteger {
    fn type_name(&self) -> &'static str {
        self.type_name
    }

    fn kind_name(&self) -> &'static str {
        "int"
    }

    fn as_any(&self) -> &dyn Any {
        self
    }

    fn method(&self, name: &str) -> Option<Signature> {
        (name == "String").then_some(Signature::new(&[]))
    }

    fn call(&self, _: &str, _: &[Value]) -> Result<Value, Failure> {
        Ok(self.name.as_str().into())
    }

    fn text(&self) -> Option<Str> {
        Some(self.name.as_str().into())
    }

    fn is_true(&self) -> bool {
        self.number != 0
    }

    fn integer(&self) -> Option<i64> {
        Some(self.number)
    }

    fn encoded(&self) -> Encoded {
        Encoded::Plain(Value::Int(self.number))
    }
}

const LOCATION: &str = "*time.Location";

/// A `*time.Location`, which prints as its name.
#[derive(Debug)]
struct Location {
    zone: Zone,
}

fn location(zone: &Zone) -> Value {
    Value::Object(Rc::new(Location { zone: zone.clone() }))
}

/// Why Go's templates do not call a method, if that is why.
fn refusal(name: &str) -> Option<&'static str> {
    Some(match name {
        "Zone" => "invalid function signature for Zone: second return value should be error; is int",
        "ISOWeek" => "invalid function signature for ISOWeek: second return value should be error; is int",
        "ZoneBounds" => {
            "invalid function signature for ZoneBounds: second return value should be error; is time.Time"
        }
        "Clock" => "function Clock has 3 return values; should be 1 or 2",
        "Date" => "function Date has 3 return values; should be 1 or 2",
        _ => return None,
    })
}

impl Object for Location {
    fn type_name(&self) -> &'static str {
        LOCATION
    }

    fn kind_name(&self) -> &'static str {
        "ptr"
    }

    fn as_any(&self) -> &dyn Any {
        self
    }

    fn method(&self, name: &str) -> Option<Signature> {
        (name == "String").then_some(Signature::new(&[]))
    }

    fn call(&self, _: &str, _: &[Value]) -> Result<Value, Failure> {
        Ok(self.zone.name().into())
    }

    fn text(&self) -> Option<Str> {
        Some(self.zone.name().into())
    }

    fn members(&self) -> Option<Vec<(&'static str, Value)>> {
        let none = |name| Value::List(List::nil(ListType::Named(name)));
        Some(vec![
            ("name", self.zone.name().into()),
            ("zone", none("[]time.zone")),
            ("tx", none("[]time.zoneTrans")),
            ("extend", "".into()),
            ("cacheStart", Value::Int64(0)),
            ("cacheEnd", Value::Int64(0)),
            ("cacheZone", Value::Nil),
        ])
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(name: &str, arguments: &[Value], expect: &str) {
        let time = Time::new(1_514_678_400, 0, Zone::Utc);
        let value = time.call(name, arguments).unwrap();
        assert_eq!(
            steersman_gotemplate::format::print_value(&value),
            expect,
            "{name}"
        );
    }

    #[test]
    fn methods_see_the_parts() {
        check("Year", &[], "2017");
        check("Month", &[], "December");
        check("Weekday", &[], "Sunday");
        check("YearDay", &[], "365");
        check("Format", &["Jan 2".into()], "Dec 31");
        check("Unix", &[], "1514678400");
    }

    #[test]
    fn dates_overflow_into_the_next_month() {
        let parts = [0, 2, 0].map(Value::Int);
        check("AddDate", &parts, "2018-03-03 00:00:00 +0000 UTC");
    }

    #[test]
    fn json_has_the_time_as_text() {
        let time = Time::new(0, 500_000_000, Zone::Utc);
        assert!(
            matches!(time.encoded(), Encoded::Plain(Value::Str(text)) if text == "1970-01-01T00:00:00.5Z")
        );
    }
}

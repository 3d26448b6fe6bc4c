//! Times written by layouts.

use std::fmt::Write as _;

use super::calendar::{month_name, weekday_name};
use super::layout::{Element, OffsetShape, next_piece};
use super::time::{Clock, Time};

impl Time {
    /// The time as `layout` says.
    #[must_use]
    pub fn format(&self, layout: &str) -> String {
        let clock = self.clock();
        let mut text = String::with_capacity(layout.len() + 10);
        let mut rest = layout;
        while let Some(piece) = next_piece(rest) {
            text.push_str(piece.before);
            write_element(&mut text, piece.element, &clock, self.nanosecond());
            rest = piece.rest;
        }
        text.push_str(rest);
        text
    }
}

/// The number with at least `width` digits.
fn push_number(text: &mut String, number: i64, width: usize) {
    let sign = if number < 0 { "-" } else { "" };
    // Writing to a String cannot fail.
    let _ = write!(text, "{sign}{:0width$}", number.unsigned_abs());
}

fn write_element(text: &mut String, element: Element, clock: &Clock, nanosecond: u32) {
    let day = clock.day;
    let hour12 = if clock.hour % 12 == 0 { 12 } else { clock.hour % 12 };
    let short = |name: &'static str| name.get(..3).unwrap_or(name);
    match element {
        Element::LongYear => push_number(text, day.year, 4),
        Element::Year => push_number(text, day.year.abs() % 100, 2),
        Element::LongMonth => text.push_str(month_name(day.month)),
        Element::Month => text.push_str(short(month_name(day.month))),
        Element::ZeroMonth => push_number(text, day.month, 2),
        Element::NumberMonth => push_number(text, day.month, 1),
        Element::LongWeekday => text.push_str(weekday_name(day.weekday())),
        Element::Weekday => text.push_str(short(weekday_name(day.weekday()))),
        Element::Day => push_number(text, day.day, 1),
        Element::UnderDay => {
            let _ = write!(text, "{:>2}", day.day);
        }
        Element::ZeroDay => push_number(text, day.day, 2),
        Element::ZeroYearDay => push_number(text, day.of_year(), 3),
        Element::UnderYearDay => {
            let _ = write!(text, "{:>3}", day.of_year());
        }
        Element::Hour => push_number(text, clock.hour, 2),
        Element::Hour12 => push_number(text, hour12, 1),
        Element::ZeroHour12 => push_number(text, hour12, 2),
        Element::Minute => push_number(text, clock.minute, 1),
        Element::ZeroMinute => push_number(text, clock.minute, 2),
        Element::Second => push_number(text, clock.second, 1),
        Element::ZeroSecond => push_number(text, clock.second, 2),
        Element::UpperPm => text.push_str(if clock.hour >= 12 { "PM" } else { "AM" }),
        Element::LowerPm => text.push_str(if clock.hour >= 12 { "pm" } else { "am" }),
        Element::ZoneName if clock.zone_name.is_empty() => {
            push_offset(text, clock.offset, OffsetShape::Minutes);
        }
        Element::ZoneName => text.push_str(&clock.zone_name),
        Element::Offset { z_for_utc: true, .. } if clock.offset == 0 => text.push('Z'),
        Element::Offset { shape, .. } => push_offset(text, clock.offset, shape),
        Element::Fraction {
            separator,
            digits,
            trimmed,
        } => push_fraction(text, nanosecond, separator, digits, trimmed),
    }
}

fn push_offset(text: &mut String, offset: i64, shape: OffsetShape) {
    // Go looks at whole minutes for the sign.
    text.push(if offset / 60 < 0 { '-' } else { '+' });
    let magnitude = offset.abs();
    let is_colon = matches!(shape, OffsetShape::ColonMinutes | OffsetShape::ColonSeconds);
    let colon = if is_colon { ":" } else { "" };
    push_number(text, magnitude / 3600, 2);
    if shape != OffsetShape::Hours {
        text.push_str(colon);
        push_number(text, magnitude / 60 % 60, 2);
    }
    if matches!(shape, OffsetShape::Seconds | OffsetShape::ColonSeconds) {
        text.push_str(colon);
        push_number(text, magnitude % 60, 2);
    }
}

fn push_fraction(text: &mut String, nanosecond: u32, separator: char, digits: usize, trimmed: bool) {
    let all = format!("{nanosecond:09}");
    let mut shown = all.get(..digits).unwrap_or(&all);
    if trimmed {
        shown = shown.trim_end_matches('0');
        if shown.is_empty() {
            return;
        }
    }
    text.push(separator);
    text.push_str(shown);
}

#[cfg(test)]
mod tests {
    use crate::date::{Time, Zone};

    #[track_caller]
    fn check(layout: &str, expect: &str) {
        let zone = Zone::named("Asia/Kolkata").unwrap();
        let time = Time::new(1_500_000_000, 120_000_000, zone);
        assert_eq!(time.format(layout), expect, "{layout}");
    }

    #[test]
    fn elements_are_written() {
        check("Monday, 02-Jan-06 15:04:05 MST", "Friday, 14-Jul-17 08:10:00 IST");
        check(
            "3:04PM .000 -0700 Z0700 __2 002",
            "8:10AM .120 +0530 +0530 195 195",
        );
        check("2006-01-02T15:04:05.999Z07:00", "2017-07-14T08:10:00.12+05:30");
        check("Janet Month _2006 _2 1/2/06", "Janet Month _2017 14 7/14/17");
        check("pm 03 4 5 -07 -07:00:00", "am 08 10 0 +05 +05:30:00");
        check(".05 ,000", ".00 ,120");
    }
}

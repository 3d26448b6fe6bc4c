//! Times read by layouts.

use std::fmt::Write as _;

use super::calendar::{Date, MONTHS, WEEKDAYS, days_in_month};
use super::layout::{Element, OffsetShape, next_piece};
use super::time::Time;
use super::zone::Zone;

/// Why a text is not a time of a layout, in Go's words.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum TimeError {
    /// A part of the text is not what the layout has there.
    #[error(
        "parsing time {} as {}: cannot parse {} as {}",
        quote(.text), quote(.layout), quote(.part), quote(.element)
    )]
    Mismatch {
        /// The whole text.
        text: String,
        /// The whole layout.
        layout: String,
        /// What is left of the text.
        part: String,
        /// The element of the layout that did not fit, such as `Jan`.
        element: String,
    },
    /// The text says a time that does not exist, or goes on after it.
    #[error("parsing time {}: {problem}", quote(.text))]
    Problem {
        /// The whole text.
        text: String,
        /// In Go's words, such as `day out of range`.
        problem: String,
    },
}

/// The text in quotes as Go's package `time` shows it.
pub(super) fn quote(text: &str) -> String {
    let mut quoted = String::from('"');
    for character in text.chars() {
        match character {
            '"' | '\\' => quoted.extend(['\\', character]),
            ' '..='~' => quoted.push(character),
            _ => {
                for byte in character.encode_utf8(&mut [0; 4]).bytes() {
                    // Writing to a String cannot fail.
                    let _ = write!(quoted, "\\x{byte:02x}");
                }
            }
        }
    }
    quoted.push('"');
    quoted
}

/// What was wrong with one element.
enum ElementError {
    /// It is not written like the layout.
    Mismatch,
    /// It is written well, but no calendar has it: the 32nd of a month.
    OutOfRange(&'static str),
}

/// What was read so far.
#[derive(Default)]
struct Parts {
    year: i64,
    month: Option<i64>,
    day: Option<i64>,
    year_day: Option<i64>,
    hour: i64,
    minute: i64,
    second: i64,
    nanosecond: u32,
    is_pm: bool,
    is_am: bool,
    is_utc: bool,
    offset: Option<i64>,
    zone_name: String,
}

impl Time {
    /// The time that `text` says by `layout`, in UTC unless it names a zone.
    ///
    /// # Errors
    /// `text` is not written like `layout`, or says a time that does not exist.
    pub fn parse(layout: &str, text: &str) -> Result<Self, TimeError> {
        let mismatch = |part: &str, element: &str| TimeError::Mismatch {
            text: text.to_owned(),
            layout: layout.to_owned(),
            part: part.to_owned(),
            element: element.to_owned(),
        };
        let problem = |problem: String| TimeError::Problem {
            text: text.to_owned(),
            problem,
        };
        let mut parts = Parts::default();
        let mut rest = text;
        let mut rest_of_layout = layout;
        while let Some(piece) = next_piece(rest_of_layout) {
            rest = skip(rest, piece.before).map_err(|rest| mismatch(rest, piece.before))?;
            rest = parts
                .read(piece.element, rest, piece.rest)
                .map_err(|error| match error {
                    ElementError::Mismatch => mismatch(rest, piece.written),
                    ElementError::OutOfRange(what) => problem(format!("{what} out of range")),
                })?;
            rest_of_layout = piece.rest;
        }
        rest = skip(rest, rest_of_layout).map_err(|rest| mismatch(rest, rest_of_layout))?;
        if !rest.is_empty() {
            return Err(problem(format!("extra text: {}", quote(rest))));
        }
        parts.time().map_err(|wrong| problem(wrong.to_owned()))
    }
}

/// What comes after `prefix` in `text`, where any number of spaces is like any other; or what is
/// left where they differ.
fn skip<'a>(mut text: &'a str, mut prefix: &str) -> Result<&'a str, &'a str> {
    while let Some(expected) = prefix.chars().next() {
        if expected == ' ' {
            if !text.is_empty() && !text.starts_with(' ') {
                return Err(text);
            }
            prefix = prefix.trim_start_matches(' ');
            text = text.trim_start_matches(' ');
            continue;
        }
        text = text.strip_prefix(expected).ok_or(text)?;
        prefix = prefix.strip_prefix(expected).unwrap_or_default();
    }
    Ok(text)
}

/// The number of at least `least` and at most `most` digits at the start, and what follows.
fn number(text: &str, least: usize, most: usize) -> Result<(i64, &str), ElementError> {
    let count = text.bytes().take(most).take_while(u8::is_ascii_digit).count();
    if count < least {
        return Err(ElementError::Mismatch);
    }
    let (digits, rest) = text.split_at(count);
    Ok((digits.parse().map_err(|_| ElementError::Mismatch)?, rest))
}

/// Like [`number`], for one that must be less than `limit`.
fn number_below<'a>(
    text: &'a str,
    least: usize,
    limit: i64,
    what: &'static str,
) -> Result<(i64, &'a str), ElementError> {
    let (number, rest) = number(text, least, 2)?;
    if number >= limit {
        return Err(ElementError::OutOfRange(what));
    }
    Ok((number, rest))
}

/// The place of the name that `text` starts with, whatever its case, and what follows.
fn named<'a>(text: &'a str, names: &[&str], length: Option<usize>) -> Result<(i64, &'a str), ElementError> {
    for (place, name) in names.iter().enumerate() {
        let name = name.get(..length.unwrap_or(name.len())).unwrap_or(name);
        if let Some(start) = text.get(..name.len())
            && start.eq_ignore_ascii_case(name)
        {
            return Ok((place as i64, text.get(name.len()..).unwrap_or_default()));
        }
    }
    Err(ElementError::Mismatch)
}

impl Parts {
    /// Reads one element from `text`, and gives what follows it.
    fn read<'a>(
        &mut self,
        element: Element,
        text: &'a str,
        layout_after: &str,
    ) -> Result<&'a str, ElementError> {
        let rest;
        match element {
            Element::Year => {
                let (year, after) = number(text, 2, 2)?;
                self.year = year + if year >= 69 { 1900 } else { 2000 };
                rest = after;
            }
            Element::LongYear => (self.year, rest) = number(text, 4, 4)?,
            Element::Month | Element::LongMonth => {
                let length = (element == Element::Month).then_some(3);
                let (place, after) = named(text, &MONTHS, length)?;
                self.month = Some(place + 1);
                rest = after;
            }
            Element::NumberMonth | Element::ZeroMonth => {
                let least = if element == Element::ZeroMonth { 2 } else { 1 };
                let (month, after) = number(text, least, 2)?;
                if !(1..=12).contains(&month) {
                    return Err(ElementError::OutOfRange("month"));
                }
                self.month = Some(month);
                rest = after;
            }
            Element::Weekday => (_, rest) = named(text, &WEEKDAYS, Some(3))?,
            Element::LongWeekday => (_, rest) = named(text, &WEEKDAYS, None)?,
            Element::Day | Element::UnderDay | Element::ZeroDay => {
                let text = match element {
                    Element::UnderDay => text.strip_prefix(' ').unwrap_or(text),
                    _ => text,
                };
                let least = if element == Element::ZeroDay { 2 } else { 1 };
                let (day, after) = number(text, least, 2)?;
                self.day = Some(day);
                rest = after;
            }
            Element::UnderYearDay | Element::ZeroYearDay => {
                let (text, least) = match element {
                    Element::UnderYearDay => {
                        let once = text.strip_prefix(' ').unwrap_or(text);
                        (once.strip_prefix(' ').unwrap_or(once), 1)
                    }
                    _ => (text, 3),
                };
                let (day, after) = number(text, least, 3)?;
                self.year_day = Some(day);
                rest = after;
            }
            Element::Hour => (self.hour, rest) = number_below(text, 1, 24, "hour")?,
            Element::Hour12 => (self.hour, rest) = number_below(text, 1, 13, "hour")?,
            Element::ZeroHour12 => (self.hour, rest) = number_below(text, 2, 13, "hour")?,
            Element::Minute => (self.minute, rest) = number_below(text, 1, 60, "minute")?,
            Element::ZeroMinute => (self.minute, rest) = number_below(text, 2, 60, "minute")?,
            Element::Second | Element::ZeroSecond => {
                let least = if element == Element::ZeroSecond { 2 } else { 1 };
                let (second, after) = number_below(text, least, 60, "second")?;
                self.second = second;
                rest = self.unasked_fraction(after, layout_after)?;
            }
            Element::UpperPm | Element::LowerPm => rest = self.read_pm(element, text)?,
            Element::ZoneName => rest = self.read_zone_name(text)?,
            Element::Offset { z_for_utc, shape } => match text.strip_prefix('Z').filter(|_| z_for_utc) {
                Some(after) => {
                    self.is_utc = true;
                    rest = after;
                }
                None => rest = self.read_offset(text, shape)?,
            },
            Element::Fraction { trimmed: true, .. } => {
                rest = match fraction_length(text) {
                    0 => text,
                    length => self.read_fraction(text, length)?,
                };
            }
            Element::Fraction { digits, .. } => rest = self.read_fraction(text, digits)?,
        }
        Ok(rest)
    }

    /// A fraction after seconds is read even where the layout has none.
    fn unasked_fraction<'a>(&mut self, text: &'a str, layout_after: &str) -> Result<&'a str, ElementError> {
        let length = fraction_length(text);
        let is_asked =
            next_piece(layout_after).is_some_and(|piece| matches!(piece.element, Element::Fraction { .. }));
        if length == 0 || is_asked {
            return Ok(text);
        }
        self.read_fraction(text, length)
    }

    /// A point or comma and so many digits, of which nine count.
    fn read_fraction<'a>(&mut self, text: &'a str, length: usize) -> Result<&'a str, ElementError> {
        let digits = text.get(1..=length).ok_or(ElementError::Mismatch)?;
        if !text.starts_with(['.', ',']) || !digits.bytes().all(|byte| byte.is_ascii_digit()) {
            return Err(ElementError::Mismatch);
        }
        let nine: String = digits.chars().chain("000000000".chars()).take(9).collect();
        self.nanosecond = nine.parse().map_err(|_| ElementError::Mismatch)?;
        Ok(text.get(length + 1..).unwrap_or_default())
    }

    fn read_pm<'a>(&mut self, element: Element, text: &'a str) -> Result<&'a str, ElementError> {
        let (am, pm) = match element {
            Element::UpperPm => ("AM", "PM"),
            _ => ("am", "pm"),
        };
        if let Some(rest) = text.strip_prefix(pm) {
            self.is_pm = true;
            return Ok(rest);
        }
        self.is_am = true;
        text.strip_prefix(am).ok_or(ElementError::Mismatch)
    }

    /// Go looks at the ranges of all numbers, the last one first, before it looks at the sign and
    /// at digits.
    fn read_offset<'a>(&mut self, text: &'a str, shape: OffsetShape) -> Result<&'a str, ElementError> {
        let (colon, count) = match shape {
            OffsetShape::Hours => ("", 1),
            OffsetShape::Minutes => ("", 2),
            OffsetShape::ColonMinutes => (":", 2),
            OffsetShape::Seconds => ("", 3),
            OffsetShape::ColonSeconds => (":", 3),
        };
        let mut rest = text.get(1..).ok_or(ElementError::Mismatch)?;
        let mut parts = [0; 3];
        let mut are_numbers = true;
        for (place, part) in parts.iter_mut().take(count).enumerate() {
            if place > 0 {
                rest = rest.strip_prefix(colon).ok_or(ElementError::Mismatch)?;
            }
            let (digits, after) = rest.split_at_checked(2).ok_or(ElementError::Mismatch)?;
            match number(digits, 2, 2) {
                Ok((number, _)) if are_numbers => *part = number,
                _ => are_numbers = false,
            }
            rest = after;
        }
        let [hours, minutes, seconds] = parts;
        let wrong = [
            (seconds > 60, "time zone offset second"),
            (minutes > 60, "time zone offset minute"),
            (hours > 24, "time zone offset hour"),
        ];
        if let Some((_, what)) = wrong.into_iter().find(|(is_wrong, _)| *is_wrong) {
            return Err(ElementError::OutOfRange(what));
        }
        let sign = match text.as_bytes().first() {
            Some(b'+') if are_numbers => 1,
            Some(b'-') if are_numbers => -1,
            _ => return Err(ElementError::Mismatch),
        };
        self.offset = Some(sign * (hours * 3600 + minutes * 60 + seconds));
        Ok(rest)
    }

    fn read_zone_name<'a>(&mut self, text: &'a str) -> Result<&'a str, ElementError> {
        if let Some(rest) = text.strip_prefix("UTC") {
            self.is_utc = true;
            return Ok(rest);
        }
        let length = zone_name_length(text).ok_or(ElementError::Mismatch)?;
        let (name, rest) = text.split_at_checked(length).ok_or(ElementError::Mismatch)?;
        name.clone_into(&mut self.zone_name);
        Ok(rest)
    }

    /// The time of what was read, or what is wrong with it.
    fn time(self) -> Result<Time, &'static str> {
        let hour = match self.hour {
            hour if self.is_pm && hour < 12 => hour + 12,
            12 if self.is_am => 0,
            hour => hour,
        };
        let day = self.date()?;
        let clock = [hour, self.minute, self.second];
        let in_utc = Time::from_parts(day, clock, self.nanosecond, Zone::Utc);
        if self.is_utc {
            return Ok(in_utc);
        }
        if let Some(offset) = self.offset {
            let zone = if offset == 0 && matches!(&*self.zone_name, "" | "UTC") {
                Zone::Local
            } else {
                Zone::Fixed {
                    name: self.zone_name,
                    offset,
                }
            };
            return Ok(Time::from_parts(day, clock, self.nanosecond, zone));
        }
        if self.zone_name.is_empty() {
            return Ok(in_utc.in_zone(Zone::Local));
        }
        // Of abbreviations only `GMT+3` says its offset, and Go shows the time by it, but reads the
        // time as if it were UTC.
        let hours = self
            .zone_name
            .strip_prefix("GMT")
            .and_then(|hours| hours.parse().ok());
        Ok(in_utc.in_zone(Zone::Fixed {
            offset: hours.unwrap_or(0) * 3600,
            name: self.zone_name,
        }))
    }

    fn date(&self) -> Result<Date, &'static str> {
        let year = self.year;
        if let Some(year_day) = self.year_day {
            let first = Date {
                year,
                month: 1,
                day: 1,
            }
            .number();
            let found = Date::of_number(first + year_day - 1);
            if year_day < 1 || found.year != year {
                return Err("day-of-year out of range");
            }
            if self.month.is_some_and(|month| month != found.month) {
                return Err("day-of-year does not match month");
            }
            if self.day.is_some_and(|day| day != found.day) {
                return Err("day-of-year does not match day");
            }
            return Ok(found);
        }
        let (month, day) = (self.month.unwrap_or(1), self.day.unwrap_or(1));
        if day < 1 || day > days_in_month(year, month) {
            return Err("day out of range");
        }
        Ok(Date { year, month, day })
    }
}

/// How many digits follow a point or comma at the start of `text`.
fn fraction_length(text: &str) -> usize {
    if !text.starts_with(['.', ',']) {
        return 0;
    }
    text.bytes().skip(1).take_while(u8::is_ascii_digit).count()
}

/// How long the abbreviation of a time zone at the start of `text` is.
fn zone_name_length(text: &str) -> Option<usize> {
    if text.starts_with("ChST") || text.starts_with("MeST") {
        return Some(4);
    }
    if let Some(after) = text.strip_prefix("GMT") {
        return Some(3 + signed_hours_length(after));
    }
    if text.starts_with(['+', '-']) {
        return Some(signed_hours_length(text)).filter(|length| text.len() >= 3 && *length > 0);
    }
    let upper = text.bytes().take(6).take_while(u8::is_ascii_uppercase).count();
    let ends_in_t = |length: usize| text.as_bytes().get(length - 1) == Some(&b'T');
    match upper {
        3 => Some(3),
        4 if ends_in_t(4) || text.starts_with("WITA") => Some(4),
        5 if ends_in_t(5) => Some(5),
        _ => None,
    }
}

/// How long the sign and hours at the start of `text` are; 0 if there are none up to 23.
fn signed_hours_length(text: &str) -> usize {
    if !text.starts_with(['+', '-']) {
        return 0;
    }
    let digits = text.bytes().skip(1).take_while(u8::is_ascii_digit).count();
    let hours: Option<u64> = text.get(1..=digits).and_then(|digits| digits.parse().ok());
    if hours.is_some_and(|hours| hours <= 23) {
        1 + digits
    } else {
        0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(layout: &str, text: &str, expect: &str) {
        let shown = match Time::parse(layout, text) {
            Ok(time) => time.format("2006-01-02T15:04:05.999999999 -0700 MST"),
            Err(error) => format!("error: {error}"),
        };
        assert_eq!(shown, expect, "{text} by {layout}");
    }

    #[test]
    fn elements_are_read() {
        check("2006-01-02", "2017-12-31", "2017-12-31T00:00:00 +0000 UTC");
        check(
            "2006-01-02T15:04:05Z07:00",
            "2020-02-29T01:02:03.456+05:30",
            "2020-02-29T01:02:03.456 +0530 +0530",
        );
        check(
            "Mon Jan _2 3:04PM 2006",
            "tue Feb  3 4:05PM 2021",
            "2021-02-03T16:05:00 +0000 UTC",
        );
        check("2006 002", "2020 060", "2020-02-29T00:00:00 +0000 UTC");
        check("2006 MST", "2020 GMT+3", "2020-01-01T03:00:00 +0300 GMT+3");
        check("06 1 2", "69 2 3", "1969-02-03T00:00:00 +0000 UTC");
    }

    #[test]
    fn errors_have_gos_words() {
        check(
            "2006-01-02",
            "bad",
            r#"error: parsing time "bad" as "2006-01-02": cannot parse "bad" as "2006""#,
        );
        check(
            "2006-01-02",
            "2017-13-01",
            r#"error: parsing time "2017-13-01": month out of range"#,
        );
        check(
            "2006-01-02",
            "2017-02-30",
            r#"error: parsing time "2017-02-30": day out of range"#,
        );
        check("2006", "2017x", r#"error: parsing time "2017x": extra text: "x""#);
    }
}

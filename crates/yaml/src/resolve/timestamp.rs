//! Dates, as goyaml takes them for timestamps.

/// Whether goyaml takes a text for a timestamp: `2006-1-2`, alone, followed by a time of day after spaces, or
/// by a time of day and a zone after `T` or `t`. Each field may have one digit or two, as in Go's
/// `time.Parse`.
pub(super) fn is_timestamp(text: &str) -> bool {
    Timestamp::read(text).is_some()
}

/// A timestamp as Go's `encoding/json` writes a `time.Time`: in RFC 3339, `2001-01-02T00:00:00Z` for `2001-1-2`.
/// Nothing for a text that is no timestamp, and for zones that JSON's times cannot have.
pub(super) fn in_json(text: &str) -> Option<String> {
    let Timestamp {
        date: [year, month, day],
        time,
        zone,
    } = Timestamp::read(text)?;
    let [hour, minute, second] = time.fields;
    let mut json = format!("{year:04}-{month:02}-{day:02}T{hour:02}:{minute:02}:{second:02}");
    let nanoseconds = time
        .fraction
        .get(..9)
        .unwrap_or(time.fraction)
        .trim_end_matches('0');
    if !nanoseconds.is_empty() {
        json.push('.');
        json.push_str(nanoseconds);
    }
    let Zone { sign, hours, minutes } = zone;
    match (hours, minutes) {
        (0, 0) => Some(json + "Z"),
        (0..24, 0..60) => Some(format!("{json}{sign}{hours:02}:{minutes:02}")),
        _ => None,
    }
}

struct Timestamp<'a> {
    /// Year, month, day.
    date: [u32; 3],
    time: TimeOfDay<'a>,
    zone: Zone,
}

#[derive(Default)]
struct TimeOfDay<'a> {
    /// Hour, minute, second.
    fields: [u32; 3],
    /// The digits behind the second's point.
    fraction: &'a str,
}

struct Zone {
    sign: char,
    hours: u32,
    minutes: u32,
}

const UTC: Zone = Zone {
    sign: '+',
    hours: 0,
    minutes: 0,
};

impl<'a> Timestamp<'a> {
    fn read(text: &'a str) -> Option<Self> {
        let (year, rest) = text.split_at_checked(4)?;
        if !year.bytes().all(|byte| byte.is_ascii_digit()) {
            return None;
        }
        let year = year.parse().ok()?;
        let (month, rest) = field(rest.strip_prefix('-')?)?;
        let (day, rest) = field(rest.strip_prefix('-')?)?;
        if !(1..=12).contains(&month) || day < 1 || day > days_in(month, year) {
            return None;
        }
        let date = [year, month, day];
        let Some(separator) = rest.chars().next() else {
            return Some(Self {
                date,
                time: TimeOfDay::default(),
                zone: UTC,
            });
        };
        match separator {
            'T' | 't' => {
                let (time, rest) = time_of_day(&rest[1..])?;
                Some(Self {
                    date,
                    time,
                    zone: zone(rest)?,
                })
            }
            ' ' => {
                let (time, rest) = time_of_day(rest.trim_start_matches(' '))?;
                rest.is_empty().then_some(Self {
                    date,
                    time,
                    zone: UTC,
                })
            }
            _ => None,
        }
    }
}

fn time_of_day(text: &str) -> Option<(TimeOfDay<'_>, &str)> {
    let (hour, rest) = field(text)?;
    let (minute, rest) = field(rest.strip_prefix(':')?)?;
    let (second, rest) = field(rest.strip_prefix(':')?)?;
    if hour > 23 || minute > 59 || second > 59 {
        return None;
    }
    let fields = [hour, minute, second];
    if let Some(behind) = rest.strip_prefix(['.', ',']) {
        let (fraction, rest) = behind.split_at(digits(behind));
        if !fraction.is_empty() {
            return Some((TimeOfDay { fields, fraction }, rest));
        }
    }
    Some((TimeOfDay { fields, fraction: "" }, rest))
}

fn zone(text: &str) -> Option<Zone> {
    if text == "Z" {
        return Some(UTC);
    }
    let sign = text.chars().next().filter(|sign| matches!(sign, '+' | '-'))?;
    let (hours, minutes) = text[1..].split_once(':')?;
    let two_digits = |text: &str| {
        (text.len() == 2 && digits(text) == 2)
            .then(|| text.parse().ok())
            .flatten()
    };
    let (hours, minutes) = (two_digits(hours)?, two_digits(minutes)?);
    (hours <= 24 && minutes <= 60).then_some(Zone { sign, hours, minutes })
}

/// A number of one digit or two.
fn field(text: &str) -> Option<(u32, &str)> {
    let (number, rest) = text.split_at(digits(text).min(2));
    Some((number.parse().ok()?, rest))
}

/// How many digits a text begins with.
fn digits(text: &str) -> usize {
    text.bytes().take_while(u8::is_ascii_digit).count()
}

fn days_in(month: u32, year: u32) -> u32 {
    match month {
        2 if year.is_multiple_of(4) && (!year.is_multiple_of(100) || year.is_multiple_of(400)) => 29,
        2 => 28,
        4 | 6 | 9 | 11 => 30,
        _ => 31,
    }
}

#[cfg(test)]
mod tests {
    use super::{in_json, is_timestamp};

    #[test]
    fn dates_are_told_from_other_text() {
        for text in [
            "2001-1-2",
            "2000-02-29",
            "2001-01-02T03:04:05Z",
            "2001-01-02t3:4:5.123456789+01:30",
            "2001-01-02   3:4:5",
            "2001-01-02 3:4:5,5",
        ] {
            assert!(is_timestamp(text), "{text}");
        }
        for text in [
            "2001-1",
            "1900-02-29",
            "2001-13-01",
            "2001-01-02T03:04:05",
            "2001-01-02 24:00:00",
            "2001-01-02 3:4",
            "2001-01-02x",
            "20011-1-1",
            "2001-01-02 3:4:5 Z",
        ] {
            assert!(!is_timestamp(text), "{text}");
        }
    }

    #[test]
    fn json_has_them_in_rfc_3339() {
        for (text, json) in [
            ("2001-1-2", "2001-01-02T00:00:00Z"),
            ("2001-01-02 3:4:5,5", "2001-01-02T03:04:05.5Z"),
            ("2001-01-02t3:4:5.120+01:30", "2001-01-02T03:04:05.12+01:30"),
            (
                "2001-01-02T03:04:05.1234567891-00:00",
                "2001-01-02T03:04:05.123456789Z",
            ),
        ] {
            assert_eq!(in_json(text).as_deref(), Some(json));
        }
        assert_eq!(in_json("2001-01-02T03:04:05+24:00"), None);
        assert_eq!(in_json("2001-13-01"), None);
    }
}

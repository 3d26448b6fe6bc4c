//! Timestamps, as CEL has them.

use jiff::Timestamp;
use jiff::tz::TimeZone;

/// A timestamp of the years that CEL has, 1 to 9999.
pub(crate) fn in_range(time: Timestamp) -> Option<Timestamp> {
    let year = time.to_zoned(TimeZone::UTC).year();
    (1..=9999).contains(&year).then_some(time)
}

pub(crate) fn time_text(time: Timestamp) -> String {
    time.to_string()
}

/// A timestamp of RFC 3339.
pub(crate) fn parse_time(text: &str) -> Option<Timestamp> {
    // What jiff reads besides: spaces, signs, zones in brackets.
    let is_strict = text.len() <= 40
        && text.as_bytes().get(10) == Some(&b'T')
        && text
            .bytes()
            .all(|byte| byte.is_ascii_digit() || b"TZ:.+-".contains(&byte));
    is_strict.then(|| text.parse().ok()).flatten().and_then(in_range)
}

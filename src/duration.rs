//! Go's notation of durations, which watches.yaml, flags and annotations use.

use std::time::Duration;

/// Why a text is no duration.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum DurationError {
    /// The text is not in Go's notation.
    #[error("`{0}` is not a duration such as `30s`, `1m30s` or `2h`")]
    Syntax(String),
    /// A unit is missing, as in `60`.
    #[error("`{0}` has no unit; write `{0}s`, `{0}m` or `{0}h`")]
    MissingUnit(String),
    /// The duration is below zero.
    #[error("`{0}` is negative")]
    Negative(String),
    /// The duration is longer than Go can express, about 292 years.
    #[error("`{0}` is too long")]
    TooLong(String),
}

/// Reads what Go's `time.ParseDuration` reads (`300ms`, `1.5h`, `2h45m`), without the negative ones.
///
/// # Errors
/// The text is in another notation, negative, or longer than Go's durations can be.
pub fn parse_duration(text: &str) -> Result<Duration, DurationError> {
    let unsigned = match text.as_bytes().first() {
        Some(b'-') => return Err(negative(text)),
        Some(b'+') => &text[1..],
        _ => text,
    };
    if unsigned == "0" {
        return Ok(Duration::ZERO);
    }
    if unsigned.is_empty() {
        return Err(DurationError::Syntax(text.to_owned()));
    }
    let mut rest = unsigned;
    let mut nanoseconds = 0_u128;
    while !rest.is_empty() {
        let (part, after) = component(rest, text)?;
        nanoseconds = nanoseconds.saturating_add(part);
        rest = after;
    }
    match i64::try_from(nanoseconds) {
        Ok(nanoseconds) => Ok(Duration::from_nanos(nanoseconds.unsigned_abs())),
        Err(_) => Err(DurationError::TooLong(text.to_owned())),
    }
}

/// One number with its unit, in nanoseconds, and what follows it.
fn component<'a>(rest: &'a str, whole: &str) -> Result<(u128, &'a str), DurationError> {
    let syntax = || DurationError::Syntax(whole.to_owned());
    let (integer, rest) = split_at_first_not(rest, |c| c.is_ascii_digit());
    let (fraction, rest) = match rest.strip_prefix('.') {
        Some(rest) => split_at_first_not(rest, |c| c.is_ascii_digit()),
        None => ("", rest),
    };
    if integer.is_empty() && fraction.is_empty() {
        return Err(syntax());
    }
    let (unit, rest) = split_at_first_not(rest, |c| c != '.' && !c.is_ascii_digit());
    let scale: u128 = match unit {
        "ns" => 1,
        "us" | "µs" | "μs" => 1_000,
        "ms" => 1_000_000,
        "s" => 1_000_000_000,
        "m" => 60 * 1_000_000_000,
        "h" => 3600 * 1_000_000_000,
        "" => return Err(DurationError::MissingUnit(whole.to_owned())),
        _ => return Err(syntax()),
    };
    let too_long = || DurationError::TooLong(whole.to_owned());
    let whole_units = if integer.is_empty() {
        0
    } else {
        integer.parse().map_err(|_| too_long())?
    };
    let nanoseconds = scale.checked_mul(whole_units).ok_or_else(too_long)?;
    // Nine digits are more than a nanosecond of any unit but hours and minutes, where Go keeps eighteen.
    let digits = fraction.get(..fraction.len().min(18)).unwrap_or(fraction);
    let fraction: u128 = if digits.is_empty() {
        0
    } else {
        digits.parse().map_err(|_| too_long())?
    };
    let nanoseconds = nanoseconds.checked_add(scale * fraction / 10_u128.pow(digits.len() as u32));
    Ok((nanoseconds.ok_or_else(too_long)?, rest))
}

fn split_at_first_not(text: &str, accept: impl Fn(char) -> bool) -> (&str, &str) {
    text.split_at(text.find(|c| !accept(c)).unwrap_or(text.len()))
}

fn negative(text: &str) -> DurationError {
    match parse_duration(text.trim_start_matches('-')) {
        Ok(duration) if duration.is_zero() => DurationError::Syntax(text.to_owned()),
        Ok(_) => DurationError::Negative(text.to_owned()),
        Err(_) => DurationError::Syntax(text.to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use super::parse_duration;
    use expect_test::{Expect, expect};

    fn check(text: &str, expect: &Expect) {
        expect.assert_eq(&match parse_duration(text) {
            Ok(duration) => format!("{duration:?}"),
            Err(error) => error.to_string(),
        });
    }

    #[test]
    fn durations_are_read_as_go_reads_them() {
        check("0", &expect!["0ns"]);
        check("1m", &expect!["60s"]);
        check("1m30s", &expect!["90s"]);
        check("1.5h", &expect!["5400s"]);
        check(".5s", &expect!["500ms"]);
        check("+1s", &expect!["1s"]);
        check("1us", &expect!["1µs"]);
        check("3µs", &expect!["3µs"]);
        check("1.s", &expect!["1s"]);
        check("2562047h47m16.854775807s", &expect!["9223372036.854775807s"]);
    }

    #[test]
    fn other_texts_are_refused() {
        check(
            "",
            &expect!["`` is not a duration such as `30s`, `1m30s` or `2h`"],
        );
        check("60", &expect!["`60` has no unit; write `60s`, `60m` or `60h`"]);
        check("-1s", &expect!["`-1s` is negative"]);
        check(
            "soon",
            &expect!["`soon` is not a duration such as `30s`, `1m30s` or `2h`"],
        );
        check(
            "1d",
            &expect!["`1d` is not a duration such as `30s`, `1m30s` or `2h`"],
        );
        check(
            ".s",
            &expect!["`.s` is not a duration such as `30s`, `1m30s` or `2h`"],
        );
        check("1000000000h", &expect!["`1000000000h` is too long"]);
        check(
            "99999999999999999999999999999999999999999h",
            &expect!["`99999999999999999999999999999999999999999h` is too long"],
        );
        check(
            "1 s",
            &expect!["`1 s` is not a duration such as `30s`, `1m30s` or `2h`"],
        );
    }
}

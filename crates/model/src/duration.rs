//! Go's notation of durations, which watches.yaml, flags and annotations use.

use std::time::Duration;

use steersman_sprig::date::{Duration as GoDuration, DurationError as GoError};

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
/// ```
/// use std::time::Duration;
///
/// assert_eq!(steersman_model::parse_duration("1m30s"), Ok(Duration::from_secs(90)));
/// assert!(steersman_model::parse_duration("90").is_err());
/// ```
///
/// # Errors
/// The text is in another notation, negative, or longer than Go's durations can be.
pub fn parse_duration(text: &str) -> Result<Duration, DurationError> {
    let text_of = || text.to_owned();
    let nanoseconds = match GoDuration::parse(text) {
        Ok(duration) => duration.nanoseconds,
        Err(GoError::TooLong(_)) => return Err(DurationError::TooLong(text_of())),
        Err(GoError::MissingUnit(_)) => return Err(DurationError::MissingUnit(text_of())),
        Err(GoError::Invalid(_) | GoError::UnknownUnit { .. }) => {
            return Err(DurationError::Syntax(text_of()));
        }
    };
    match u64::try_from(nanoseconds) {
        Ok(0) if text.starts_with('-') => Err(DurationError::Syntax(text_of())),
        Ok(nanoseconds) => Ok(Duration::from_nanos(nanoseconds)),
        Err(_) => Err(DurationError::Negative(text_of())),
    }
}

#[cfg(test)]
mod tests {
    use expect_test::{Expect, expect};

    use super::parse_duration;

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

//! Go's `time.Duration`.

use std::any::Any;
use std::fmt::{self, Write as _};
use std::rc::Rc;

use steersman_gotemplate::{Encoded, Failure, Object, Parameter, Signature, Str, Value};

use super::parse::quote;

/// A span of time.
///
/// ```
/// use steersman_sprig::date::Duration;
///
/// let wait = Duration::parse("90m1.5s")?;
/// assert_eq!(wait.to_string(), "1h30m1.5s");
/// assert_eq!(wait.truncate(Duration::SECOND).to_string(), "1h30m1s");
/// # Ok::<(), steersman_sprig::date::DurationError>(())
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Duration {
    /// The whole length; negative where it goes back.
    pub nanoseconds: i64,
}

/// Why a text is not a duration, in Go's words.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum DurationError {
    /// It is not written like one.
    #[error("time: invalid duration {}", quote(.0))]
    Invalid(String),
    /// It is longer than 2⁶³ nanoseconds, about 292 years.
    #[error("time: invalid duration {}", quote(.0))]
    TooLong(String),
    /// A number has no unit.
    #[error("time: missing unit in duration {}", quote(.0))]
    MissingUnit(String),
    /// A number has a unit that does not exist.
    #[error("time: unknown unit {} in duration {}", quote(.unit), quote(.text))]
    UnknownUnit {
        /// What stands behind the number, such as `days`.
        unit: String,
        /// The whole text.
        text: String,
    },
}

/// The type of a parameter that takes durations.
pub(super) const PARAMETER: Parameter = Parameter::NamedInt64("time.Duration");

impl Duration {
    /// The duration that the first argument is.
    pub(super) fn argument(arguments: &[Value]) -> Self {
        match arguments.first() {
            Some(Value::Int64(nanoseconds)) => Self {
                nanoseconds: *nanoseconds,
            },
            Some(Value::Object(object)) => object.as_any().downcast_ref().copied().unwrap_or_default(),
            _ => Self::default(),
        }
    }

    /// What `ago` rounds to.
    pub const SECOND: Self = Self {
        nanoseconds: 1_000_000_000,
    };

    /// The duration that `text` is, such as `-1h30m` or `1.5s`.
    ///
    /// # Errors
    /// `text` is not written like a duration, or does not fit.
    pub fn parse(text: &str) -> Result<Self, DurationError> {
        let invalid = || DurationError::Invalid(text.to_owned());
        let too_long = || DurationError::TooLong(text.to_owned());
        let (negative, unsigned) = match text.strip_prefix('-') {
            Some(unsigned) => (true, unsigned),
            None => (false, text.strip_prefix('+').unwrap_or(text)),
        };
        if unsigned == "0" {
            return Ok(Self::default());
        }
        if unsigned.is_empty() {
            return Err(invalid());
        }
        let mut total = 0_u64;
        let mut rest = unsigned;
        while !rest.is_empty() {
            let (amount, after) = Amount::split(rest).ok_or_else(invalid)?;
            let is_unit = |character: char| character != '.' && !character.is_ascii_digit();
            let end = after.find(|character| !is_unit(character)).unwrap_or(after.len());
            let (unit, after) = after.split_at(end);
            if unit.is_empty() {
                return Err(DurationError::MissingUnit(text.to_owned()));
            }
            let Some(scale) = unit_nanoseconds(unit) else {
                return Err(DurationError::UnknownUnit {
                    unit: unit.to_owned(),
                    text: text.to_owned(),
                });
            };
            total = amount
                .nanoseconds(scale)
                .and_then(|part| total.checked_add(part))
                .filter(|total| *total <= 1 << 63)
                .ok_or_else(too_long)?;
            rest = after;
        }
        if negative {
            return Ok(Self {
                nanoseconds: (total as i64).wrapping_neg(),
            });
        }
        let nanoseconds = i64::try_from(total).map_err(|_| too_long())?;
        Ok(Self { nanoseconds })
    }

    /// The nearest multiple of `unit`, halves away from zero; the same if `unit` is not positive.
    #[must_use]
    pub fn round(self, unit: Self) -> Self {
        let unit = unit.nanoseconds;
        if unit <= 0 {
            return self;
        }
        let remainder = self.nanoseconds % unit;
        let down = self.nanoseconds - remainder;
        let is_less_than_half = remainder.unsigned_abs() < unit.unsigned_abs() - remainder.unsigned_abs();
        let nanoseconds = if is_less_than_half {
            down
        } else if self.nanoseconds < 0 {
            down.saturating_sub(unit)
        } else {
            down.saturating_add(unit)
        };
        Self { nanoseconds }
    }

    /// The next multiple of `unit` towards zero; the same if `unit` is not positive.
    #[must_use]
    pub fn truncate(self, unit: Self) -> Self {
        if unit.nanoseconds <= 0 {
            return self;
        }
        Self {
            nanoseconds: self.nanoseconds - self.nanoseconds % unit.nanoseconds,
        }
    }

    /// The length in units of so many nanoseconds, with a fraction.
    #[must_use]
    pub fn in_units(self, nanoseconds: i64) -> f64 {
        let unit = nanoseconds.max(1);
        (self.nanoseconds / unit) as f64 + (self.nanoseconds % unit) as f64 / unit as f64
    }
}

/// A number of a duration, before its unit.
struct Amount {
    /// `None` where the digits do not fit.
    whole: Option<u64>,
    fraction: u64,
    /// What the fraction is divided by.
    scale: f64,
}

impl Amount {
    fn split(text: &str) -> Option<(Self, &str)> {
        let digits = |text: &str| text.bytes().take_while(u8::is_ascii_digit).count();
        let (whole, after) = text.split_at(digits(text));
        let (fraction, rest) = match after.strip_prefix('.') {
            Some(fraction) => fraction.split_at(digits(fraction)),
            None => ("", after),
        };
        if whole.is_empty() && fraction.is_empty() {
            return None;
        }
        let mut amount = Self {
            whole: Some(0),
            fraction: 0,
            scale: 1.0,
        };
        if !whole.is_empty() {
            amount.whole = whole.parse().ok().filter(|whole| *whole <= 1 << 63);
        }
        // Digits that no longer fit are too small to matter.
        for digit in fraction.bytes() {
            let next = amount
                .fraction
                .checked_mul(10)
                .and_then(|fraction| fraction.checked_add(u64::from(digit - b'0')));
            let Some(next) = next.filter(|next| *next <= 1 << 63) else {
                break;
            };
            amount.fraction = next;
            amount.scale *= 10.0;
        }
        Some((amount, rest))
    }

    fn nanoseconds(&self, unit: u64) -> Option<u64> {
        let fraction = (self.fraction as f64 * (unit as f64 / self.scale)) as u64;
        self.whole?.checked_mul(unit)?.checked_add(fraction)
    }
}

fn unit_nanoseconds(unit: &str) -> Option<u64> {
    Some(match unit {
        "ns" => 1,
        "us" | "µs" | "μs" => 1000,
        "ms" => 1_000_000,
        "s" => 1_000_000_000,
        "m" => 60_000_000_000,
        "h" => 3_600_000_000_000,
        _ => return None,
    })
}

impl fmt::Display for Duration {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let magnitude = self.nanoseconds.unsigned_abs();
        if magnitude == 0 {
            return f.write_str("0s");
        }
        if self.nanoseconds < 0 {
            f.write_char('-')?;
        }
        match magnitude {
            0..1_000 => write!(f, "{magnitude}ns"),
            1_000..1_000_000 => write!(f, "{}µs", with_fraction(magnitude, 1_000)),
            1_000_000..1_000_000_000 => write!(f, "{}ms", with_fraction(magnitude, 1_000_000)),
            _ => {
                let seconds = magnitude / 1_000_000_000;
                if seconds >= 3600 {
                    write!(f, "{}h", seconds / 3600)?;
                }
                if seconds >= 60 {
                    write!(f, "{}m", seconds / 60 % 60)?;
                }
                let rest = magnitude % 60_000_000_000;
                write!(f, "{}s", with_fraction(rest, 1_000_000_000))
            }
        }
    }
}

/// `number` divided by `unit`, a power of ten, with the digits that are not zero.
fn with_fraction(number: u64, unit: u64) -> String {
    let (whole, fraction) = (number / unit, number % unit);
    if fraction == 0 {
        return whole.to_string();
    }
    let width = unit.ilog10() as usize;
    let digits = format!("{fraction:0width$}");
    format!("{whole}.{}", digits.trim_end_matches('0'))
}

impl Object for Duration {
    fn type_name(&self) -> &'static str {
        "time.Duration"
    }

    fn kind_name(&self) -> &'static str {
        "int64"
    }

    fn as_any(&self) -> &dyn Any {
        self
    }

    fn method(&self, name: &str) -> Option<Signature> {
        let parameters: &'static [Parameter] = match name {
            "Hours" | "Minutes" | "Seconds" | "Milliseconds" | "Microseconds" | "Nanoseconds" | "String"
            | "Abs" => &[],
            "Round" | "Truncate" => &[PARAMETER],
            _ => return None,
        };
        Some(Signature::new(parameters))
    }

    fn call(&self, name: &str, arguments: &[Value]) -> Result<Value, Failure> {
        let unit = Self::argument(arguments);
        let whole = |unit: i64| Value::Int64(self.nanoseconds / unit);
        let object = |duration: Self| Value::Object(Rc::new(duration));
        Ok(match name {
            "Hours" => self.in_units(3_600_000_000_000).into(),
            "Minutes" => self.in_units(60_000_000_000).into(),
            "Seconds" => self.in_units(1_000_000_000).into(),
            "Milliseconds" => whole(1_000_000),
            "Microseconds" => whole(1_000),
            "Nanoseconds" => whole(1),
            "String" => self.to_string().into(),
            "Abs" => object(Self {
                nanoseconds: self.nanoseconds.saturating_abs(),
            }),
            "Round" => object(self.round(unit)),
            "Truncate" => object(self.truncate(unit)),
            _ => return Err(Failure::new(format!("time.Duration has no method {name}"))),
        })
    }

    fn text(&self) -> Option<Str> {
        Some(self.to_string().into())
    }

    fn is_true(&self) -> bool {
        self.nanoseconds != 0
    }

    fn integer(&self) -> Option<i64> {
        Some(self.nanoseconds)
    }

    fn encoded(&self) -> Encoded {
        Encoded::Plain(Value::Int64(self.nanoseconds))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(text: &str, expect: &str) {
        let shown = match Duration::parse(text) {
            Ok(duration) => duration.to_string(),
            Err(error) => format!("error: {error}"),
        };
        assert_eq!(shown, expect, "{text}");
    }

    #[test]
    fn durations_are_read_and_written() {
        check("1h30m", "1h30m0s");
        check("-1.5s", "-1.5s");
        check("90s", "1m30s");
        check("1500us", "1.5ms");
        check("1ns", "1ns");
        check("0", "0s");
        check("1h2m3.004s", "1h2m3.004s");
        check(".5m", "30s");
    }

    #[test]
    fn others_are_refused() {
        check("", "error: time: invalid duration \"\"");
        check("bad", "error: time: invalid duration \"bad\"");
        check("1", "error: time: missing unit in duration \"1\"");
        check("2d", "error: time: unknown unit \"d\" in duration \"2d\"");
        check("9999999h", "error: time: invalid duration \"9999999h\"");
    }

    #[test]
    fn rounding_goes_to_the_nearest() {
        let duration = Duration::parse("1.5s").unwrap();
        assert_eq!(duration.round(Duration::SECOND).to_string(), "2s");
        assert_eq!(duration.truncate(Duration::SECOND).to_string(), "1s");
    }
}

//! Values as numbers, the way the library `cast` and Go's `strconv` make them.

use steersman_gotemplate::Value;

/// What `int64` makes of a value; 0 for what is no number.
pub(crate) fn to_int64(value: &Value) -> i64 {
    match value {
        Value::Int(number) | Value::Int64(number) => *number,
        Value::Uint64(number) => *number as i64,
        Value::Byte(number) => i64::from(*number),
        Value::Float(number) => float_to_int(*number),
        Value::Bool(truth) => i64::from(*truth),
        Value::Str(text) => text
            .as_str()
            .and_then(|text| parse_int(without_zero_fraction(text), 0).ok())
            .unwrap_or(0),
        Value::Object(object) if is_calendar_name(object.type_name()) => object.integer().unwrap_or(0),
        _ => 0,
    }
}

/// What `float64` makes of a value; 0 for what is no number.
pub(crate) fn to_float64(value: &Value) -> f64 {
    match value {
        Value::Int(number) | Value::Int64(number) => *number as f64,
        Value::Uint64(number) => *number as f64,
        Value::Byte(number) => f64::from(*number),
        Value::Float(number) => *number,
        Value::Bool(truth) => f64::from(u8::from(*truth)),
        Value::Str(text) => text.as_str().and_then(parse_float).unwrap_or(0.0),
        Value::Object(object) if is_calendar_name(object.type_name()) => object.integer().unwrap_or(0) as f64,
        _ => 0.0,
    }
}

/// The named integer types that the library knows; others, such as durations, it does not.
fn is_calendar_name(type_name: &str) -> bool {
    matches!(type_name, "time.Month" | "time.Weekday")
}

/// Go's `int64(number)` on the machines that Helm runs on: what does not fit is the least number.
pub(crate) fn float_to_int(number: f64) -> i64 {
    const LIMIT: f64 = 9_223_372_036_854_775_808.0;
    if (-LIMIT..LIMIT).contains(&number) {
        number as i64
    } else {
        i64::MIN
    }
}

/// `1.0` and `1.` followed by zeros without their fraction.
fn without_zero_fraction(text: &str) -> &str {
    let whole = text.trim_end_matches('0');
    match whole.strip_suffix('.') {
        Some(integer) if whole.len() < text.len() => integer,
        _ => text,
    }
}

/// Why a text is not an integer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum IntegerError {
    /// It is not written like one.
    Syntax,
    /// It is one, but does not fit; this is the nearest that does.
    Range(i64),
}

/// The integer that `text` is in this base; base 0 reads the prefixes `0x`, `0o`, `0b` and `0`,
/// and underscores between digits.
pub(crate) fn parse_int(text: &str, base: u32) -> Result<i64, IntegerError> {
    let (negative, unsigned) = match text.as_bytes() {
        [b'-', ..] => (true, text.get(1..).unwrap_or_default()),
        [b'+', ..] => (false, text.get(1..).unwrap_or_default()),
        _ => (false, text),
    };
    let magnitude = match parse_uint(unsigned, base) {
        Ok(magnitude) => Some(magnitude),
        Err(IntegerError::Range(_)) => None,
        Err(syntax) => return Err(syntax),
    };
    let limit = 1_u64 << 63;
    match magnitude {
        Some(magnitude) if negative && magnitude <= limit => Ok((magnitude as i64).wrapping_neg()),
        Some(magnitude) if !negative && magnitude < limit => Ok(magnitude as i64),
        _ if negative => Err(IntegerError::Range(i64::MIN)),
        _ => Err(IntegerError::Range(i64::MAX)),
    }
}

/// The digits `text` as a number; see [`parse_int`].
pub(crate) fn parse_uint(text: &str, base: u32) -> Result<u64, IntegerError> {
    let (radix, digits) = match base {
        0 => prefixed(text),
        radix => (radix, text),
    };
    if digits.is_empty() || (base == 0 && !underscores_are_between_digits(text)) {
        return Err(IntegerError::Syntax);
    }
    let mut number = Some(0_u64);
    for character in digits.chars() {
        if character == '_' && base == 0 {
            continue;
        }
        let digit = character.to_digit(radix).ok_or(IntegerError::Syntax)?;
        number = number
            .and_then(|number| number.checked_mul(u64::from(radix)))
            .and_then(|number| number.checked_add(u64::from(digit)));
    }
    number.ok_or(IntegerError::Range(i64::MAX))
}

/// The base that the prefix of `text` says, and the digits after the prefix.
fn prefixed(text: &str) -> (u32, &str) {
    let rest = |from: usize| text.get(from..).unwrap_or_default();
    match text.as_bytes() {
        [b'0', b'x' | b'X', _, ..] => (16, rest(2)),
        [b'0', b'o' | b'O', _, ..] => (8, rest(2)),
        [b'0', b'b' | b'B', _, ..] => (2, rest(2)),
        [b'0', _, ..] => (8, rest(1)),
        _ => (10, text),
    }
}

/// Whether each underscore follows a digit or a prefix and precedes a digit.
fn underscores_are_between_digits(text: &str) -> bool {
    if !text.contains('_') {
        return true;
    }
    let (radix, digits) = prefixed(text);
    let after_prefix = radix != 10;
    (after_prefix || !digits.starts_with('_')) && !digits.ends_with('_') && !digits.contains("__")
}

/// The number that `text` is, decimal or hexadecimal; nothing for what does not fit.
pub(crate) fn parse_float(text: &str) -> Option<f64> {
    let unsigned = text.trim_start_matches(['+', '-']);
    if text.len() > unsigned.len() + 1 {
        return None;
    }
    if text.contains('_') {
        let digits = without_underscores(text)?;
        return parse_float(&digits);
    }
    if let Some(digits) = unsigned
        .strip_prefix("0x")
        .or_else(|| unsigned.strip_prefix("0X"))
    {
        let magnitude = parse_hexadecimal_float(digits)?;
        return Some(if text.starts_with('-') {
            -magnitude
        } else {
            magnitude
        });
    }
    let number: f64 = text.parse().ok()?;
    let says_infinite = unsigned.starts_with(['i', 'I']);
    (number.is_finite() || number.is_nan() || says_infinite).then_some(number)
}

/// The number without the underscores that stand between digits; nothing if others are there.
fn without_underscores(text: &str) -> Option<String> {
    let is_hexadecimal = text.contains(['x', 'X']);
    let is_digit = |byte: Option<&u8>| match byte {
        Some(byte) if is_hexadecimal => byte.is_ascii_hexdigit(),
        Some(byte) => byte.is_ascii_digit(),
        None => false,
    };
    let bytes = text.as_bytes();
    let are_between_digits = bytes.iter().enumerate().all(|(place, byte)| {
        let before = place.checked_sub(1).and_then(|place| bytes.get(place));
        let follows_prefix = is_hexadecimal && matches!(before, Some(b'x' | b'X'));
        *byte != b'_' || ((is_digit(before) || follows_prefix) && is_digit(bytes.get(place + 1)))
    });
    are_between_digits.then(|| text.replace('_', ""))
}

/// The number `digits.digits p exponent`, which is exact for up to 16 digits.
fn parse_hexadecimal_float(text: &str) -> Option<f64> {
    let (mantissa, exponent) = text.split_once(['p', 'P'])?;
    let exponent: i32 = exponent.parse().ok()?;
    let (whole, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
    let digits = format!("{whole}{fraction}");
    let significant = u64::from_str_radix(&digits, 16).ok()?;
    let places = i32::try_from(fraction.len()).ok()?.checked_mul(4)?;
    let number = significant as f64 * 2_f64.powi(exponent.checked_sub(places)?);
    number.is_finite().then_some(number)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(text: &str, expect: i64) {
        assert_eq!(to_int64(&Value::from(text)), expect, "{text}");
    }

    #[test]
    fn text_is_read_with_prefixes_and_underscores() {
        check("42", 42);
        check("-5", -5);
        check("+5", 5);
        check("0x1F", 31);
        check("0b11", 3);
        check("0o17", 15);
        check("017", 15);
        check("1_000", 1000);
        check("0_7", 7);
    }

    #[test]
    fn text_that_is_no_integer_is_zero() {
        for text in [
            "",
            "abc",
            "08",
            "3.7",
            "1e3",
            "1__0",
            "_1",
            "1_",
            "99999999999999999999",
            "0x",
            " 1",
        ] {
            check(text, 0);
        }
    }

    #[test]
    fn a_fraction_of_zeros_is_dropped() {
        check("3.0", 3);
        check("3.00", 3);
        check("3.", 0);
        check("30", 30);
    }

    #[test]
    fn floats_that_do_not_fit_are_the_least_integer() {
        assert_eq!(float_to_int(1e21), i64::MIN);
        assert_eq!(float_to_int(f64::NAN), i64::MIN);
        assert_eq!(float_to_int(-1.9), -1);
    }

    #[test]
    fn floats_are_read_as_go_reads_them() {
        assert_eq!(parse_float("1e3"), Some(1000.0));
        assert_eq!(parse_float("-0x1p-2"), Some(-0.25));
        assert_eq!(parse_float("1e999"), None);
        assert_eq!(parse_float("1_0"), Some(10.0));
        assert_eq!(parse_float("1__0"), None);
        assert_eq!(parse_float("--1"), None);
        assert_eq!(parse_float("Inf"), Some(f64::INFINITY));
    }
}

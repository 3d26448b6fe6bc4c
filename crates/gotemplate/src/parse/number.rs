//! Numeric and character constants.

use crate::format::{Complex, quote_bytes, unquote_character};
use crate::tree::Number;

use super::lex::Kind;

/// The constant that `text`, which starts at `position`, stands for in each type.
///
/// # Errors
/// Go's message for what is not a number, or too large a one.
pub(super) fn number(text: &str, position: u32, kind: Kind) -> Result<Number, String> {
    let mut number = Number {
        text: position..position + text.len() as u32,
        int: None,
        uint: None,
        float: None,
        complex: None,
    };
    if kind == Kind::CharConstant {
        return character(text, number);
    }
    if kind == Kind::Complex || text.ends_with('i') {
        return complex(text, number);
    }
    number.uint = parse_uint(text);
    number.int = parse_int(text);
    if number.int == Some(0) {
        number.uint = Some(0);
    }
    if let Some(int) = number.int {
        number.float = Some(int as f64);
    } else if let Some(uint) = number.uint {
        number.float = Some(uint as f64);
    } else if let Some(float) = parse_float(text) {
        if !text.contains(['.', 'e', 'E', 'p', 'P']) {
            return Err(format!("integer overflow: {}", quote_bytes(text.as_bytes())));
        }
        number.float = Some(float);
        number.int =
            whole(float, -9_223_372_036_854_775_808.0, 9_223_372_036_854_775_808.0).then_some(float as i64);
        number.uint = whole(float, 0.0, 18_446_744_073_709_551_616.0).then_some(float as u64);
    } else {
        return Err(format!("illegal number syntax: {}", quote_bytes(text.as_bytes())));
    }
    Ok(number)
}

fn set_float(number: &mut Number, float: f64) {
    number.float = Some(float);
    number.int =
        whole(float, -9_223_372_036_854_775_808.0, 9_223_372_036_854_775_808.0).then_some(float as i64);
    number.uint = whole(float, 0.0, 18_446_744_073_709_551_616.0).then_some(float as u64);
}

/// A number such as `2i` or `1+2i`, which is also a float where the imaginary part is zero.
fn complex(text: &str, mut number: Number) -> Result<Number, String> {
    let body = text.strip_suffix('i').unwrap_or(text);
    // The sign between the parts is the last one that does not belong to an exponent.
    let is_exponent = |index: usize| body[..index].ends_with(['e', 'E', 'p', 'P']);
    let split = body
        .rmatch_indices(['+', '-'])
        .map(|(index, _)| index)
        .find(|index| *index > 0 && !is_exponent(*index))
        .unwrap_or(0);
    let (real, imaginary) = body.split_at(split);
    let real = if real.is_empty() {
        Some(0.0)
    } else {
        parse_float(real)
    };
    let (Some(real), Some(imaginary)) = (real, parse_float(imaginary)) else {
        if split > 0 {
            return Err("syntax error scanning complex number".to_owned());
        }
        return Err(format!("illegal number syntax: {}", quote_bytes(text.as_bytes())));
    };
    number.complex = Some(Complex { real, imaginary });
    if imaginary == 0.0 {
        set_float(&mut number, real);
    }
    Ok(number)
}

fn character(text: &str, mut number: Number) -> Result<Number, String> {
    let (code, tail) = unquote_character(text).map_err(|error| error.to_string())?;
    if tail != "'" {
        return Err(format!("malformed character constant: {text}"));
    }
    number.int = Some(i64::from(code));
    number.uint = Some(u64::from(code));
    number.float = Some(f64::from(code));
    Ok(number)
}

fn whole(float: f64, from: f64, below: f64) -> bool {
    float.fract() == 0.0 && float >= from && float < below
}

/// Go's `strconv.ParseUint` with base 0.
pub(crate) fn parse_uint(text: &str) -> Option<u64> {
    let lower = text.to_ascii_lowercase();
    let (digits, radix) = match lower.as_bytes() {
        [b'0', b'x', ..] => (&lower[2..], 16),
        [b'0', b'o', ..] => (&lower[2..], 8),
        [b'0', b'b', ..] => (&lower[2..], 2),
        [b'0', _, ..] => (&lower[1..], 8),
        _ => (lower.as_str(), 10),
    };
    if !underscores_are_right(text) {
        return None;
    }
    let digits = digits.replace('_', "");
    if !digits.chars().all(|digit| digit.is_digit(radix)) {
        return None;
    }
    u64::from_str_radix(&digits, radix).ok()
}

/// Go's `strconv.ParseInt` with base 0.
fn parse_int(text: &str) -> Option<i64> {
    match text.strip_prefix('-') {
        Some(digits) => 0_i64.checked_sub_unsigned(parse_uint(digits)?),
        None => i64::try_from(parse_uint(text.strip_prefix('+').unwrap_or(text))?).ok(),
    }
}

/// Go's `strconv.ParseFloat`, without infinities and NaN, which no token is.
fn parse_float(text: &str) -> Option<f64> {
    if !underscores_are_right(text) {
        return None;
    }
    let plain = text.replace('_', "").to_ascii_lowercase();
    let (sign, digits) = match plain.strip_prefix('-') {
        Some(digits) => (-1.0, digits),
        None => (1.0, plain.strip_prefix('+').unwrap_or(&plain)),
    };
    let float = match digits.strip_prefix("0x") {
        Some(hexadecimal) => parse_hexadecimal_float(hexadecimal)?,
        None if digits.starts_with(|c: char| c.is_ascii_digit() || c == '.') => digits.parse().ok()?,
        None => return None,
    };
    f64::is_finite(float).then_some(sign * float)
}

fn parse_hexadecimal_float(text: &str) -> Option<f64> {
    let (mantissa, exponent) = text.split_once('p')?;
    let (whole, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
    let mut exponent: i32 = exponent.parse().ok()?;
    let mut value = 0_u64;
    let mut seen = false;
    for (index, digit) in whole.chars().chain(fraction.chars()).enumerate() {
        let digit = u64::from(digit.to_digit(16)?);
        seen = true;
        let of_fraction = index >= whole.len();
        if value >> 58 == 0 {
            value = value << 4 | digit;
            exponent = exponent.saturating_sub(if of_fraction { 4 } else { 0 });
        } else {
            // Only whether anything was cut off matters for rounding.
            value |= u64::from(digit != 0);
            exponent = exponent.saturating_add(if of_fraction { 0 } else { 4 });
        }
    }
    seen.then(|| value as f64 * 2_f64.powi(exponent.clamp(-2000, 2000)))
}

/// Underscores may only separate digits, or follow the prefix of a base.
fn underscores_are_right(text: &str) -> bool {
    let text = text.trim_start_matches(['+', '-']).as_bytes();
    let (mut previous_is_digit, digits, hexadecimal) = match text {
        [b'0', b'x' | b'X', digits @ ..] => (true, digits, true),
        [b'0', b'b' | b'B' | b'o' | b'O', digits @ ..] => (true, digits, false),
        _ => (false, text, false),
    };
    let mut previous_is_underscore = false;
    for byte in digits {
        let is_digit = byte.is_ascii_digit() || hexadecimal && byte.is_ascii_hexdigit();
        if *byte == b'_' {
            if !previous_is_digit {
                return false;
            }
        } else if previous_is_underscore && !is_digit {
            return false;
        }
        previous_is_underscore = *byte == b'_';
        previous_is_digit = is_digit;
    }
    !previous_is_underscore
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(text: &str, int: Option<i64>, uint: Option<u64>, float: Option<f64>) {
        let kind = if text.starts_with('\'') {
            Kind::CharConstant
        } else {
            Kind::Number
        };
        let found = number(text, 0, kind).unwrap();
        assert_eq!((found.int, found.uint, found.float), (int, uint, float), "{text}");
    }

    #[test]
    fn constants_have_every_type_that_can_hold_them() {
        check("42", Some(42), Some(42), Some(42.0));
        check("-0", Some(0), Some(0), Some(0.0));
        check("-7", Some(-7), None, Some(-7.0));
        check("0x1F", Some(31), Some(31), Some(31.0));
        check("0b1_01", Some(5), Some(5), Some(5.0));
        check("017", Some(15), Some(15), Some(15.0));
        check("0o17", Some(15), Some(15), Some(15.0));
        check("1_000", Some(1000), Some(1000), Some(1000.0));
        check("1e3", Some(1000), Some(1000), Some(1000.0));
        check("1.5", None, None, Some(1.5));
        check("0x1p4", Some(16), Some(16), Some(16.0));
        check("0x1.8p1", Some(3), Some(3), Some(3.0));
        check(
            "18446744073709551615",
            None,
            Some(u64::MAX),
            Some(1.844_674_407_370_955_2e19),
        );
        check(
            "-9223372036854775808",
            Some(i64::MIN),
            None,
            Some(-9.223_372_036_854_776e18),
        );
        check("'a'", Some(97), Some(97), Some(97.0));
    }

    #[test]
    fn what_is_not_a_number_is_refused() {
        for (text, want) in [
            ("08", r#"integer overflow: "08""#),
            (
                "18446744073709551616",
                r#"integer overflow: "18446744073709551616""#,
            ),
            ("1__0", r#"illegal number syntax: "1__0""#),
            ("1e400", r#"illegal number syntax: "1e400""#),
            ("+", r#"illegal number syntax: "+""#),
            ("0x", r#"illegal number syntax: "0x""#),
        ] {
            assert_eq!(number(text, 0, Kind::Number).unwrap_err(), want);
        }
    }
}
